//! The cost of a pass over texts that repeat the beginning of a rule, at one, two, four and eight
//! times a length. It is measured in processor time of this thread, which other work on the machine
//! does not change much; the bounds leave room for that.

use std::collections::BTreeSet;
use std::time::Duration;

use reprise_redact::Redactor;
use rustix::time::{ClockId, clock_gettime};

/// Bytes of the shortest text.
const ONCE: usize = 4 * 1024;
/// Largest factor of time for twice the text, and the difference that is too short to measure.
const GROWTH_MAX: f64 = 2.5;
const UNSURE: Duration = Duration::from_millis(20);
/// Most processor time for the longest text, which is four times a record's; the build of the
/// tests, which is hardly optimised, has twenty times as much.
const LONGEST: usize = 256 * 1024;
const LONGEST_MAX: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });
/// The most costly openings, which are tried at that length.
const TRIED: usize = 12;
const ROUNDS: usize = 3;

/// Texts that no rule has, but that the code for URLs, tags, tables, labels and escapes searches
/// for.
const READ_BY_CODE: [&str; 34] = [
    "://",
    "://a:",
    "://a:b@",
    "<",
    "< ",
    "</",
    "<private",
    "<private ",
    "<private>",
    "<private></private>",
    "</private>",
    "|",
    "|key",
    "|key|\n",
    "|key|x|\n|a|b|\n",
    "key,user\n",
    "key\t",
    "password:\n",
    "password:\n\n\n",
    "key.",
    "key-",
    "key_",
    "key=(",
    "key=\"",
    "key='\\\\",
    "token=token",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEow\n",
    "eyJaaaaaaaaaa.",
    "QUJDREVGR0hJSktMTU5PUFFS ",
    "&quot;",
    "\\u0077",
    "\u{ff1a}key",
    "\u{200b}<",
];

#[test]
fn twice_the_text_is_twice_the_work_whatever_it_repeats() {
    let rules: toml_edit::DocumentMut = include_str!("../src/rules.toml").parse().unwrap();
    let mut openings: BTreeSet<String> = READ_BY_CODE.map(str::to_owned).into();
    for (table, field) in [("token", "starts"), ("phrase", "words"), ("name", "ends")] {
        for rule in rules[table].as_array_of_tables().unwrap() {
            let words = rule[field].as_array().unwrap().iter();
            openings.extend(words.map(|word| word.as_str().unwrap().to_owned()));
        }
    }
    assert!(openings.len() > 300);
    let mut costs: Vec<(Duration, String)> = Vec::new();
    let mut slow = Vec::new();
    for opening in openings {
        for after in ["", "= ", ": \"a1"] {
            let unit = format!("{opening}{after}");
            let grows = |pair: &[Duration]| pair[1] > pair[0].mul_f64(GROWTH_MAX) + UNSURE;
            let longest = cost(&unit, 8 * ONCE, 1);
            costs.push((longest, unit.clone()));
            // Where the longest text takes less than this difference, no two can differ by more.
            if longest <= UNSURE || !times(&unit, 1).windows(2).any(grows) {
                continue;
            }
            let took = times(&unit, ROUNDS);
            if took.windows(2).any(grows) {
                slow.push((unit, took));
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
    costs.sort();
    for (took, unit) in costs.iter().rev().take(TRIED) {
        let longest = cost(unit, LONGEST, 1);
        assert!(
            longest <= LONGEST_MAX,
            "{unit:?}: {took:?}, then {longest:?}"
        );
    }
    println!("{:?}", costs.iter().rev().take(TRIED).collect::<Vec<_>>());
}

fn times(unit: &str, rounds: usize) -> [Duration; 4] {
    [1, 2, 4, 8].map(|times| cost(unit, times * ONCE, rounds))
}

/// Returns the processor time of a pass over repetitions of `unit`, the least of a few rounds.
fn cost(unit: &str, bytes: usize, rounds: usize) -> Duration {
    let text = unit.repeat(bytes / unit.len() + 1);
    let rounds = (0..rounds).map(|_| {
        let began = thread_time();
        std::hint::black_box(Redactor::new().redact_text(std::hint::black_box(&text)));
        thread_time().saturating_sub(began)
    });
    rounds.min().unwrap_or_default()
}

/// Returns the processor time that this thread has used.
fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
