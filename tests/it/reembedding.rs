//! The f32 form of the model takes over a memory that the int8 form has filled: the real binary
//! with both real models, killed on the way.

use std::fs;
use std::path::Path;

use reprise_tests::{assert_contains, assert_fields};
use serde_json::{Value, json};

use crate::models::ConfiguredMemory;

/// What each question is about is said in other words in one note.
const ASKED: [(&str, &str); 6] = [
    (
        "users are logged out at random",
        "Sessions end by themselves and people must sign in anew",
    ),
    (
        "customers pay twice",
        "The card was charged a second time for one order",
    ),
    (
        "where do we stay in Lisbon",
        "The hotel near the Tejo has rooms for the whole team",
    ),
    (
        "the site is slow in the morning",
        "Pages take seconds to load before nine o'clock",
    ),
    (
        "who repairs the coffee machine",
        "The espresso maker is fixed by the facility people",
    ),
    (
        "a backup could not be restored",
        "The dump from Sunday does not come back into the database",
    ),
];

/// Notes about nothing that is asked, so many that one request does not embed them all.
const OTHERS: usize = 150;

impl ConfiguredMemory {
    fn stats(&self) -> Value {
        self.json(&["stats", "--user", "ada", "--json"])
    }

    /// Every question finds its note, by its meaning, and nothing had to be done without.
    fn assert_found(&self, when: &str) {
        for (question, note) in ASKED {
            let asked = [
                "recall", "--user", "ada", "--json", "--limit", "3", question,
            ];
            let answer = self.json(&asked);
            assert_eq!(answer["degraded"], json!([]), "{when}: {answer}");
            assert_eq!(answer["results"][0]["text"], *note, "{when}: {answer}");
            let distance = answer["results"][0]["why"]["raw_distance"].as_f64();
            assert!(
                distance.is_some_and(|distance| distance < 0.8),
                "{when}: {answer}"
            );
        }
    }
}

fn use_model(desk: &ConfiguredMemory, name: &str) {
    let text = format!("[memory]\nmodel = \"{name}\"\n");
    fs::write(Path::new(&desk.path("config.toml")), text).expect("written");
}

#[test]
fn another_model_takes_over_while_both_are_searched() {
    let desk = ConfiguredMemory::new();
    use_model(&desk, "int8");
    let others = (0..OTHERS).map(|n| format!("Row {n} of the ledger was booked on the {n}th"));
    let notes = others.chain(ASKED.map(|(_, note)| note.to_owned()));
    let lines = notes.map(|text| json!({ "text": text }).to_string());
    let lines = lines.collect::<Vec<_>>().join("\n");
    fs::write(Path::new(&desk.path("notes.jsonl")), lines).expect("written");
    let kept = desk.json(&[
        "--json",
        "ingest",
        "--user",
        "ada",
        "--jsonl",
        &desk.path("notes.jsonl"),
    ]);
    assert_eq!(kept["inserted"], OTHERS + ASKED.len());
    desk.assert_found("before");
    assert_eq!(desk.stats()["space"], "all-MiniLM-L6-v2/int8-1");

    use_model(&desk, "f32");
    desk.assert_found("nothing is made yet");
    let whose = ["--user", "ada"];
    let some = desk.json(&["call", "reembed", whose[0], whose[1]]);
    assert_fields!(some, "embedded": 128, "goes_on": true);
    let left = OTHERS + ASKED.len() - 128;
    let other = json!([{ "space": "all-MiniLM-L6-v2/int8-1", "records": left }]);
    assert_eq!(some["other_spaces"], other);
    desk.assert_found("in the middle");
    let shown = desk.run(&["stats", whose[0], whose[1]]);
    assert_contains!(shown.stdout, "re-embedding  82 % done");

    // Killed at once: what was on its way is made again, what was made stays.
    let mut killed = desk
        .command(&["doctor", "reembed", whose[0], whose[1]])
        .spawn()
        .expect("it runs");
    killed.kill().expect("killed");
    killed.wait().expect("ended");
    desk.assert_found("after the kill");
    desk.run(&["doctor", "reembed", whose[0], whose[1]])
        .expect_code(0);
    let stats = desk.stats();
    assert_eq!(stats["space"], "all-MiniLM-L6-v2/f32-1");
    assert_eq!(
        (&stats["unembedded"], stats.get("other_spaces")),
        (&json!(0), None)
    );
    desk.assert_found("after");
    let compacted = desk.json(&["doctor", "compact", whose[0], whose[1], "--json"]);
    let (before, after) = (
        compacted["bytes_before"].as_u64(),
        compacted["bytes_after"].as_u64(),
    );
    let vectors = 4 * 384 * (OTHERS + ASKED.len()) as u64;
    assert!(
        after
            .zip(before)
            .is_some_and(|(after, before)| after + vectors <= before)
    );
    desk.assert_found("compacted");
    desk.run(&["doctor", "check", whose[0], whose[1]])
        .expect_code(0);
}

#[test]
fn what_a_run_leaves_has_a_vector_as_everything_else() {
    let desk = ConfiguredMemory::new();
    use_model(&desk, "int8");
    let lines = desk.path("lines.jsonl");
    let note = json!({ "external_id": "note", "text": ASKED[0].1 });
    fs::write(&lines, note.to_string()).expect("written");
    desk.json(&["--json", "ingest", "--user", "ada", &lines]);
    let run = json!({ "query": ASKED[0].0, "used": ["note"], "quality": 0.9, "run_id": "r1" });
    fs::write(&lines, run.to_string()).expect("written");
    desk.json(&["--json", "outcome", "--user", "ada", "--jsonl", &lines]);
    let stats = desk.stats();
    let of = |name: &str| stats[name].as_u64();
    assert_eq!(
        (of("live"), of("embedded"), of("unembedded")),
        (Some(2), Some(2), Some(0))
    );
}
