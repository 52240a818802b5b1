//! Questions in a batch, and memory as a text for a prompt, never over its budget.

use std::fs;
use std::path::{Path, PathBuf};

use reprise_tests::assert_contains;
use tempfile::TempDir;

use crate::global::run;
use crate::home::rows;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lab/tests/data/jsonl")
}

/// The fixture's folder of one user, ingested.
fn filled() -> (TempDir, PathBuf) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let folder = fixtures().join("anna");
    let records = folder.join("records.jsonl");
    let records = records.to_string_lossy();
    let finished = run(
        data.path(),
        &[
            "ingest", "--user", "anna", "--jsonl", &records, "--group", "3",
        ],
    );
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    (data, folder)
}

#[test]
fn a_prompt_gets_no_more_than_its_budget() {
    let (data, _) = filled();
    let block = |budget: &str| {
        let ask = [
            "recall",
            "--user",
            "anna",
            "--budget",
            budget,
            "who fixed the boiler?",
        ];
        let finished = run(data.path(), &ask).expect_code(0);
        rows(&finished.stdout).remove(0)
    };
    let wide = block("1000");
    let text = wide["text"].as_str().expect("a text");
    assert_contains!(text, "Session session_3\n", "2024-02-20");
    assert_eq!(wide["counted_by"], "bytes_over_four");
    for budget in [0_u64, 1, 30, 60] {
        let narrow = block(&budget.to_string());
        assert!(
            narrow["tokens"].as_u64().expect("a count") <= budget,
            "{narrow}"
        );
    }
    assert_eq!(block("0")["text"], "");
}

#[test]
fn a_vector_handed_over_with_a_question_is_checked() {
    let (data, _) = filled();
    let space = r#""embedding_space":{"model":"m","version":"1","dimensions":2}"#;
    let line = |vector: &str, more: &str| {
        format!("{{\"query_id\":\"q\",\"query\":\"boiler\",\"embedding\":{vector}{more}}}\n")
    };
    for (line, said) in [
        (line("[0.6,0.8]", ""), "needs its embedding_space"),
        (line("[0.6]", &format!(",{space}")), "1 numbers"),
        (line("[3.0,4.0]", &format!(",{space}")), "not 1"),
    ] {
        let path = data.path().join("queries.jsonl");
        fs::write(&path, line).expect("the file is written");
        let path = path.to_string_lossy().into_owned();
        let finished = run(
            data.path(),
            &["recall", "--user", "anna", "--queries", &path],
        )
        .expect_code(1);
        assert_contains!(finished.stderr, said);
    }
}
