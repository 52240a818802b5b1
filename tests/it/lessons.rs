//! The lessons of the document that asked for them, from the command line.

use std::fmt::Write as _;

use reprise_tests::{assert_contains, assert_fields};
use serde_json::json;

use crate::home::Home;

/// Lessons that share words, tags and both with the one that is looked for.
fn others(count: usize) -> String {
    let systems = [
        "Jira",
        "GitHub",
        "Confluence",
        "Slack",
        "GitLab",
        "Linear",
        "Trello",
    ];
    let things = [
        "workflow", "board", "webhook", "issue", "status", "filter", "sprint", "field",
    ];
    let acts = [
        "needs an id instead of a name",
        "answers 429 after a hundred requests a minute",
        "is cached for five minutes",
        "returns pages of fifty",
        "takes times in UTC alone",
        "is slow on Mondays",
    ];
    let mut lines = String::new();
    for number in 0..count {
        let system = systems[number % systems.len()];
        let thing = things[number / systems.len() % things.len()];
        let act = acts[number % acts.len()];
        let title = format!("{system} {thing} {act}");
        let content = format!("Case {number}: the {thing} endpoint of {system} {act}.");
        let line = json!({
            "external_id": format!("other-{number}"),
            "text": format!("{title}\n\n{content}"),
            "source": "worker_result",
            "kind": "finding",
            "tags": [system, "api", "gotcha"],
            "details": {"type": "lesson", "title": title, "content": content},
        });
        writeln!(lines, "{line}").expect("a text takes lines");
    }
    lines
}

const JIRA: [&str; 19] = [
    "learn",
    "--title",
    "Jira workflow updates delete missing statuses",
    "--content",
    "When calling PUT /rest/api/3/workflows, you must include ALL existing statuses and \
     transitions. Any omitted items are deleted, not preserved. Always GET the workflow first and \
     merge changes.",
    "--tags",
    "jira,api,gotcha,destructive",
    "--context",
    "updating existing workflows",
    "--anti-context",
    "creating new workflows",
    "--source",
    "tested",
    "--source-notes",
    "Lost 3 statuses on HSP project, had to recreate manually",
    "--confidence",
    "high",
    "--derived-from-experiment",
    "goal-7",
];

/// The memory of ada, with so many others.
fn with_others(count: usize) -> Home {
    let ada = Home::with(&["--no-daemon", "--user", "ada"]);
    let file = ada.write("others.jsonl", &others(count));
    ada.run_ok(&["ingest", &file]);
    ada
}

#[test]
fn the_jira_lesson_comes_first_among_five_hundred_and_says_where_it_does_not_hold() {
    let ada = with_others(500);
    let id = ada.run_json(&JIRA)["id"].clone();
    let ask = ["recall", "jira workflow update", "--tags", "api"];
    let found = ada.run_json(&ask);
    let first = &found["results"][0];
    assert_eq!(first["id"], id);
    let lesson = &first["lesson"];
    assert_fields!(lesson, "confidence": "high", "evidence": "tested");
    assert_eq!(lesson["contexts"], json!(["updating existing workflows"]));
    assert!(lesson.get("warning").is_none());
    let text = ada.run(&ask).stdout;
    let first: String = text.lines().take(9).collect::<Vec<_>>().join("\n");
    // The document's own form: `[high] Title`, Context, Source, and how the content begins.
    let mut rest = first.as_str();
    for part in [
        "[high] Jira workflow updates delete missing statuses\n",
        "\n    Context: updating existing workflows\n",
        "\n    Source: tested\n",
        "\n    \"When calling PUT /rest/api/3/workflows, you must include ALL existing statuses",
    ] {
        let place = rest.find(part).unwrap_or_else(|| panic!("{part}: {first}"));
        rest = &rest[place + part.len() - 1..];
    }
    assert_eq!(
        first.matches("updating existing workflows").count(),
        1,
        "contexts once"
    );
    assert_eq!(
        first.matches("delete missing statuses").count(),
        1,
        "{first}"
    );
    let shown = ada.run_json(&["show", id.as_str().expect("an id")]);
    let details = &shown["records"][0]["details"];
    assert_eq!(details["derived_from_experiment"], "goal-7");
    assert!(
        details["source_notes"]
            .as_str()
            .is_some_and(|notes| notes.contains("HSP"))
    );

    // Elsewhere it is shown, and says that it does not hold; or is left out where that is asked
    // for.
    let elsewhere = [&ask[..], &["--context", "I create a new workflow"]].concat();
    let found = ada.run_json(&elsewhere);
    let first = &found["results"][0];
    assert_eq!(
        (&first["id"], &first["lesson"]["applies"]),
        (&id, &json!(false))
    );
    assert!(
        ada.run(&elsewhere)
            .stdout
            .contains("WARNING: does not apply here: creating new workflows")
    );
    let found = ada.run_json(&[&elsewhere[..], &["--applying"]].concat());
    let results = found["results"].as_array().expect("results");
    assert!(
        results.len() == 5 && results.iter().all(|hit| hit["id"] != id),
        "{results:?}"
    );
}

#[test]
fn a_kind_of_evidence_comes_into_use_is_reviewed_and_merged() {
    let ada = with_others(1);
    let learn = |words: &str, more: &[&str]| {
        let lesson = ["learn", "--content", words, "--source", "Trial and error"];
        ada.run_json(&[&lesson[..], more].concat())
    };
    let first = learn("The proxy needs HTTP/1.1.", &[]);
    let doubt = first["evidence"].as_str().expect("a doubt");
    assert_contains!(doubt, "`tested`", "`observed`");
    learn("The mirror needs a trailing slash.", &[]);
    let strict = ["learn", "x y", "--source", "gut-feeling", "--strict"];
    assert_contains!(ada.run(&strict).expect_code(2).stderr, "unknown evidence `");

    let review = ada.run_json(&["tags", "sources", "--review"]);
    assert_eq!(review["evidence"].as_array().map(Vec::len), Some(1));
    assert_eq!(review["evidence"][0]["name"], "trial-and-error");
    assert_eq!(review["evidence"][0]["count"], 2);
    ada.run_json(&[
        "tags",
        "sources",
        "--add",
        "field-report",
        "--description",
        "A customer wrote it",
    ]);
    let all = ada.run_json(&["tags", "sources"]);
    let kind = |name: &str| {
        let kinds = all["evidence"].as_array().expect("kinds");
        kinds
            .iter()
            .find(|kind| kind["name"] == name)
            .cloned()
            .expect("it is there")
    };
    assert_eq!(kind("field-report")["description"], "A customer wrote it");
    assert_eq!(kind("tested")["typical_confidence"], "high");
    assert_eq!(kind("inferred")["typical_confidence"], "low-medium");

    let merged = ada.run_json(&["tags", "sources", "--merge", "trial-and-error", "tested"]);
    assert_eq!(merged["merged"], 2);
    let third = learn("The cache wants a key.", &[]);
    assert!(
        third.get("evidence").is_none(),
        "the word means `tested` now: {third}"
    );
    let shown = ada.run_json(&["show", third["id"].as_str().expect("an id")]);
    assert_eq!(shown["records"][0]["evidence"], "tested");
    assert_eq!(
        ada.run_json(&["tags", "sources", "--review"])["evidence"],
        json!([])
    );
    ada.run(&["tags", "sources", "--merge", "tested", "observed"])
        .expect_code(2);
    let unknown = ada.run(&["tags", "--merge", "no-such-tag", "cache"]);
    assert_contains!(unknown.stdout, "no memory has tag `no-such-tag`");
}

#[test]
fn links_lead_from_one_domain_to_another() {
    let ada = with_others(1);
    let learn = |title: &str, tags: &str| {
        let options = ["--title", title, "--content", title, "--tags", tags];
        let kept = ada.run_json(&[&["learn"][..], &options].concat());
        kept["id"].as_str().map(str::to_owned).expect("an id")
    };
    let gotcha = learn("Jira workflow updates delete missing statuses", "jira,api");
    let pattern = learn(
        "Always fetch before update to avoid data loss",
        "pattern,safety",
    );
    let concept = learn("PUT vs PATCH semantics in REST", "rest");
    let alone = learn("Tea is best at eighty degrees", "kitchen");
    ada.run_json(&[
        "tags",
        "link",
        &gotcha,
        &pattern,
        "--relation",
        "learned_from",
    ]);
    ada.run_json(&[
        "tags",
        "link",
        &pattern,
        &concept,
        "--relation",
        "instance_of",
    ]);
    ada.run_json(&[
        "tags",
        "link",
        &concept,
        &gotcha,
        "--relation",
        "contradicts",
    ]);
    ada.run_json(&[
        "call",
        "unlink",
        &json!({"from": concept, "to": gotcha, "relation": "contradicts"}).to_string(),
    ]);

    let path = ada.run_json(&["tags", "path", &gotcha, &concept]);
    let words: Vec<&str> = path["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|step| step["relation"].as_str())
        .collect();
    assert_eq!(words, ["learned_from", "instance_of"]);
    assert_eq!(
        ada.run_json(&["tags", "path", &gotcha, &alone])["connected"],
        false
    );
    let bridges = ada.run_json(&["tags", "bridges", "jira", "rest"]);
    assert_eq!(bridges["bridges"][0]["id"], json!(pattern));
    let clusters = ada.run_json(&["tags", "clusters"]);
    assert_eq!(clusters["clusters"][0]["size"], 3);
    let around = ada.run_json(&["tags", "clusters", &gotcha, "--depth", "1"]);
    assert_eq!(
        around["clusters"][0]["links"].as_array().map(Vec::len),
        Some(1)
    );
    let related = |more: &[&str]| {
        let found = ada.run_json(&[&["tags", "related", &pattern], more].concat());
        found["related"].as_array().map(Vec::len)
    };
    assert_eq!(related(&[]), Some(1), "outgoing, as the document asks");
    assert_eq!(related(&["--direction", "in"]), Some(1));
    assert_eq!(related(&["--direction", "both"]), Some(2));
    assert_eq!(
        related(&["--relation", "learned_from", "--direction", "out"]),
        Some(0)
    );
}

#[test]
fn a_run_that_used_an_earlier_version_counts_for_the_memory() {
    let home = Home::with(&["--no-daemon", "--no-model"]);
    home.run_ok(&["learn", "the cache needs a lifetime of ten seconds"]);
    let earlier = home.run_json(&["list"])["id"].as_str().unwrap().to_owned();
    home.run_ok(&["edit", &earlier, "the cache needs a lifetime of a minute"]);
    let line = json!({"query": "cache", "used": [earlier], "quality": 1.0, "run_id": "one"});
    let runs = home.write("runs.jsonl", &format!("{line}\n"));
    home.run_ok(&["outcome", "--jsonl", &runs]);
    let now = home.run_json(&["list", "--kind", "finding"])["id"].clone();
    let told = home.run_json(&["call", "runs"]);
    assert_eq!(told["runs"][0]["used"], json!([now]), "{told}");
}

#[test]
fn a_lesson_with_another_amount_is_told_of_the_one_that_it_contradicts() {
    let home = Home::with(&["--no-daemon", "--no-model"]);
    home.run_ok(&["learn", "Claims over 50 000 need two signatures"]);
    let said = home.run_ok(&["learn", "Claims over 80 000 need two signatures"]);
    assert_contains!(said, "may contradict", "50 000");
}

#[test]
fn an_edit_that_changes_nothing_makes_no_version() {
    let home = Home::with(&["--no-daemon", "--no-model"]);
    let text = "the cache needs a lifetime of ten seconds";
    home.run_ok(&["learn", text]);
    let id = home.run_json(&["list"])["id"].as_str().unwrap().to_owned();
    let said = home.run_ok(&["edit", &id, text]);
    assert_contains!(said, "nothing changed");
    assert_eq!(home.run_json(&["list"])["id"], json!(id));
    let said = home.run_ok(&["edit", &id, "--content", text]);
    assert_contains!(said, "nothing changed");
}
