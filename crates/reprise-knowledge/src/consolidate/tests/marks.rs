//! Texts that differ in a mark alone, and duplicates whose marks say nothing.

use super::{Judgement, judge_texts};

/// `(one, other)`: a mark alone tells them apart.
const OPPOSITES: &[(&str, &str)] = &[
    ("use == in config checks", "use != in config checks"),
    (
        "x < 5 retries allowed in the uploader",
        "x > 5 retries allowed in the uploader",
    ),
    ("pin the crate to ~> 1.2", "pin the crate to >= 1.2"),
    ("pin the gem to < 3.0", "pin the gem to > 3.0"),
    (
        "compare ids with = in the filter",
        "compare ids with == in the filter",
    ),
    (
        "the price is 5 $ a month for all",
        "the price is 5 € a month for all",
    ),
    (
        "chain the commands with && in make",
        "chain the commands with || in make",
    ),
    (
        "redirect the log with > into out.txt",
        "redirect the log with >> into out.txt",
    ),
    (
        "glob the sources as *.rs in build",
        "glob the sources as **/*.rs in build",
    ),
    ("release gate status ✅", "release gate status ❌"),
    ("Ann said 👍 to the plan", "Ann said 👎 to the plan"),
    ("margin a + b is used here", "margin a - b is used here"),
    (
        "mask flags with & in the driver",
        "mask flags with | in the driver",
    ),
    (
        "run tar with -x flag on backups",
        "run tar with +x flag on backups",
    ),
    ("read ~/config at start up", "read /config at start up"),
    (
        "set PATH from $HOME at login",
        "set PATH from HOME at login",
    ),
    (
        "negate with !ready in the loop",
        "negate with ready in the loop",
    ),
    ("if (!ok) retry the upload", "if (ok) retry the upload"),
    (
        "retries x ≤ 5 stay valid there",
        "retries x ≥ 5 stay valid there",
    ),
    (
        "orders → billing is the flow",
        "orders ← billing is the flow",
    ),
    ("is the cache on in staging?", "is the cache on in staging!"),
    // More than were found.
    (
        "the loader reads ../config first",
        "the loader reads ./config first",
    ),
    (
        "the loader reads ../config first",
        "the loader reads /config first",
    ),
    ("commit the .env file to git", "commit the env file to git"),
    (
        "copy the tree with cp -r . out",
        "copy the tree with cp -r .. out",
    ),
    (
        "the parser returns {} when empty",
        "the parser returns [] when empty",
    ),
    (
        "the parser returns () when empty",
        "the parser returns [] when empty",
    ),
    (
        "ports lie in [1, 9] there now",
        "ports lie in [1, 9) there now",
    ),
    (
        "the total is (a + b) * rate here",
        "the total is a + (b * rate) here",
    ),
    (
        "guard with !open && ready in loops",
        "guard with open && !ready in loops",
    ),
    (
        "queue a < b keeps the order stable",
        "queue b < a keeps the order stable",
    ),
    (
        "pass *args to the worker pool",
        "pass **args to the worker pool",
    ),
    (
        "free *node after the worker ends",
        "free node after the worker ends",
    ),
    (
        "reset with git checkout -- notes",
        "reset with git checkout notes",
    ),
    (
        "stream it with tar cf - backups",
        "stream it with tar cf backups",
    ),
    (
        "import std:: items in the worker",
        "import std items in the worker",
    ),
    (
        "deploy status of the gateway 🟢",
        "deploy status of the gateway 🔴",
    ),
    ("sprint mood in the team 🙂", "sprint mood in the team 🙁"),
    ("weather at the rack ☀", "weather at the rack ☁"),
    (
        "the disk is 5' from the rack",
        "the disk is 5\" from the rack",
    ),
    (
        "the join is a ∪ b over shards",
        "the join is a ∩ b over shards",
    ),
    (
        "the key is in ∈ the shard set",
        "the key is in ∉ the shard set",
    ),
    ("trend of the error rate ↑", "trend of the error rate ↓"),
    ("trend of the error rate ▲", "trend of the error rate ▼"),
    (
        "merge policy a ⇒ b holds there",
        "merge policy a ⇔ b holds there",
    ),
    (
        "fallback value uses ?? in the client",
        "fallback value uses || in the client",
    ),
    (
        "mark a parameter as name? in types",
        "mark a parameter as name in types",
    ),
    (
        "log with println! from the worker",
        "log with println from the worker",
    ),
    (
        "sort users by `save!` in rails code",
        "sort users by `save` in rails code",
    ),
    (
        "combine masks using ^ in the driver",
        "combine masks using & in the driver",
    ),
    (
        "divide the quota with / per shard",
        "divide the quota with % per shard",
    ),
    (
        "run the job in the background with &",
        "run the job in the background with &&",
    ),
    (
        "write the type as <T> in docs",
        "write the type as [T] in docs",
    ),
    (
        "the task list shows [x] for backups",
        "the task list shows [ ] for backups",
    ),
    (
        "tickets are tagged with # in titles",
        "tickets are tagged with @ in titles",
    ),
    ("rating of the vendor ★★", "rating of the vendor ★"),
    (
        "pages 3 – 5 of the manual count",
        "pages 3, 5 of the manual count",
    ),
    (
        "# export the token in the shell",
        "export the token in the shell",
    ),
    ("> 5 retries are normal there", "5 retries are normal there"),
];

/// `(one, other)`: the marks say nothing.
const DUPLICATES: &[(&str, &str)] = &[
    (
        "The mail worker drains the retry queue.",
        "the mail worker drains the retry queue",
    ),
    (
        "The mail worker drains the retry queue!",
        "The mail worker drains the retry queue",
    ),
    (
        "- The mail worker drains the retry queue",
        "* The mail worker drains the retry queue.",
    ),
    (
        "• The mail worker drains the retry queue",
        "The mail worker drains the retry queue",
    ),
    (
        "Run `make check` before the release",
        "Run make check before the release.",
    ),
    (
        "Run \"make check\" before the release",
        "Run “make check” before the release",
    ),
    (
        "Run 'make check' before the release",
        "Run ‘make check’ before the release",
    ),
    (
        "## Rule\nUse `make check` in the mail worker",
        "Rule: use make check in the mail worker",
    ),
    (
        "The worker **never** drains the queue",
        "The worker never drains the queue",
    ),
    (
        "**The mail worker drains the queue.**",
        "The mail worker drains the queue",
    ),
    (
        "The mail worker *slowly* drains the queue",
        "The mail worker slowly drains the queue",
    ),
    (
        "The mail worker (in staging) drains the queue",
        "The mail worker in staging drains the queue",
    ),
    (
        "The mail worker drains the queue; restart it daily",
        "The mail worker drains the queue, restart it daily",
    ),
    (
        "The mail worker drains the queue — restart it daily",
        "The mail worker drains the queue, restart it daily",
    ),
    (
        "Careful! The mail worker drains the queue...",
        "Careful: the mail worker drains the queue…",
    ),
    (
        "Guard with `a && b` in the mail worker.",
        "guard with a && b in the mail worker",
    ),
    (
        "If a >= 5 is read, restart the mail worker",
        "Restart the mail worker if a >= 5 is read.",
    ),
    (
        "The mail worker’s queue is “full”, it says",
        "The mail worker's queue is \"full\", it says.",
    ),
    (
        "Status of the mail worker ✔\u{fe0f} today",
        "status of the mail worker ✔ today.",
    ),
];

#[test]
fn what_differs_in_a_mark_alone_is_never_the_same() {
    let is_same =
        |(a, b): &&(&str, &str)| [judge_texts(a, b), judge_texts(b, a)].contains(&Judgement::Same);
    let wrong: Vec<_> = OPPOSITES.iter().filter(is_same).collect();
    assert!(wrong.is_empty(), "{} merged: {wrong:#?}", wrong.len());
    let missed: Vec<_> = DUPLICATES.iter().filter(|pair| !is_same(pair)).collect();
    assert!(missed.is_empty(), "not merged: {missed:#?}");
}

#[test]
fn a_line_of_many_open_stresses_is_read_in_one_pass() {
    for (words, marks) in [("*a ", 100_000), ("*a a* ", 0), ("**a *b ", 200_000)] {
        let text = words.repeat(100_000);
        assert_eq!(
            super::super::marks::extract_marks(&text).len(),
            marks,
            "{words}"
        );
    }
    let (open, closed) = ("*a ".repeat(100_000), "a* ".repeat(100_000));
    assert_eq!(
        super::super::marks::extract_marks(&(open + &closed)).len(),
        0
    );
}
