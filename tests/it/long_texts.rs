//! What is longer than a record keeps is cut, and every way in says so; a record at its own limit
//! can be published.

use reprise_tests::{RunOutput, assert_fields};
use serde_json::{Value, json};

use crate::home::Home;

const LIMIT: usize = 64 * 1024;

fn ingest(home: &Home, lines: &[Value], more: &[&str]) -> RunOutput {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let file = home.write("long.jsonl", &lines.join("\n"));
    home.run(&[&["ingest", "--json", "--user", "ada", &file], more].concat())
}

/// The second line is as long as one may be sent, and the third has more than a request may have,
/// in another field.
fn lines() -> Vec<Value> {
    let long = format!("x{}", "\u{e9}".repeat((1 << 20) - 1));
    let mut lines = vec![
        json!({ "external_id": "short", "text": "a short one" }),
        json!({ "external_id": "long", "text": long }),
        json!({ "external_id": "marked", "text": "t", "metadata": { "k": "v".repeat(33 << 20) } }),
    ];
    lines.extend((0..60).map(|_| json!({ "text": "\u{1}".repeat(LIMIT + 9) })));
    lines
}

#[test]
fn a_long_text_is_cut_and_said_alike_with_and_without_a_daemon() {
    let mut told = Vec::new();
    for with_daemon in [false, true] {
        let home = Home::new();
        if with_daemon {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime
                .block_on(home.client().ensure_running())
                .expect("it starts");
        }
        let finished = ingest(&home, &lines(), &[]).expect_code(1);
        let counts: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        assert_eq!(
            counts,
            json!({ "inserted": 62, "duplicate": 0, "rejected": 1, "truncated": 61 })
        );
        let said: Vec<&str> = finished.stderr.lines().collect();
        for expected in [
            "line 2 (`long`): its text has 2097151 bytes; only the first 65536 are stored",
            "refused line 3: `k` has more than 1048576 bytes; send less",
        ] {
            assert!(said[..2].contains(&expected), "{:?}", &said[..2]);
        }
        assert_eq!(
            said[2],
            "line 4: its text has 65545 bytes; only the first 65536 are stored"
        );
        assert_eq!(said.len(), 12, "{}", finished.stderr);
        let kept = home.run_json(&["show", "--user", "ada", "long"]);
        let kept = &kept["records"][0];
        // Before the character that the limit falls into.
        assert_eq!(kept["text"].as_str().map(str::len), Some(LIMIT - 1));
        assert_eq!(kept["metadata"]["truncated_from_bytes"], 2_097_151);
        told.push(finished.stderr);
    }
    assert_eq!(told[0], told[1]);
}

#[test]
fn every_way_in_says_what_it_cut() {
    let home = Home::new();
    let long = "so long ".repeat(9_000);
    // As over HTTP.
    let record = json!({ "text": long, "external_id": "one" });
    let call = |operation: &str, arguments: &Value| -> Value {
        home.run_json(&["call", operation, &arguments.to_string(), "--user", "ada"])
    };
    let report = call(
        "observe",
        &json!({ "records": [record, { "text": "short" }] }),
    );
    assert_fields!(report, "inserted": 2, "truncated": 1);
    assert_eq!(report["outcomes"][0]["truncated_from_bytes"], long.len());
    assert_eq!(report["outcomes"][1].get("truncated_from_bytes"), None);
    let seen = call("record", &json!({ "type": "learning", "content": long }));
    assert_eq!(seen["truncated_from_bytes"], long.len());

    // A correction.
    let shorter = call("revise", &json!({ "id": "one", "text": "not so long" }));
    assert_eq!(shorter["metadata"].get("truncated_from_bytes"), None);
    let longer = call("revise", &json!({ "id": shorter["id"], "text": long }));
    assert_eq!(longer["metadata"]["truncated_from_bytes"], long.len());
    let updated = call(
        "update",
        &json!({ "id": longer["id"], "content": format!("{long}!") }),
    );
    assert_eq!(updated["truncated_from_bytes"], long.len() + 1);
    let tagged = call(
        "update",
        &json!({ "id": updated["id"], "tags": ["a"], "confidence": "high" }),
    );
    assert_eq!(tagged.get("truncated_from_bytes"), None);

    // Another program's file.
    let frame = json!({ "id": "e-1", "content": long, "frame_type": "error", "metadata": {},
        "timestamp": "2026-01-10T11:00:00+00:00", "session_id": "s", "tags": [] });
    let frames = home.write("frames.jsonl", &frame.to_string());
    for more in [&["--dry-run"][..], &[]] {
        let import = [
            &["import", "--user", "bob", "--from", "frames", &frames],
            more,
        ]
        .concat();
        let report = home.run_json(&import);
        assert_eq!(report["truncated"], 1, "{report}");
        let said = report["lines"][0]["why"].as_str().unwrap_or_default();
        assert!(said.contains("the first 65536 are stored"), "{report}");
    }
}

#[test]
fn a_record_at_its_limit_can_be_published() {
    let home = Home::new();
    let zero = format!("nul\0{}", "y ".repeat(LIMIT));
    for (name, text) in [("long", &"word ".repeat(LIMIT)), ("zero", &zero)] {
        ingest(&home, &[json!({ "external_id": name, "text": text })], &[]).expect_code(0);
        let title = "A title of its own";
        let publish = [
            "share", "publish", name, "--user", "ada", "--yes", "--title", title,
        ];
        let published = home.run_json(&publish);
        let id = published["published"][0]["id"].as_str().expect("an id");
        let found = home.run_json(&["recall", title, "--user", "bob", "--scope", "global"]);
        let found = found["results"].as_array().expect("results");
        assert!(found.iter().any(|hit| hit["id"] == id), "{id}");
    }
}
