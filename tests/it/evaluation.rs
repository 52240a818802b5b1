//! `reprise eval` and the batch contract through processes: they answer alike; and memory as a text
//! for a prompt, never over its budget.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use reprise_tests::says;
use serde_json::Value;
use tempfile::TempDir;

use crate::global::run;
use crate::home::rows;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../reprise-eval/tests/data/jsonl")
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
fn eval_and_the_batch_contract_find_the_same() {
    let (data, folder) = filled();
    let path = folder.to_string_lossy().into_owned();
    let finished = run(data.path(), &["eval", "jsonl", "--data", &path]).ended(0);
    let report = rows(&finished.stdout).remove(0);
    assert_eq!(report["judged"], 5);

    let queries = folder.join("queries.jsonl");
    let queries = queries.to_string_lossy();
    let top = ["--top-k", "20"];
    let ask = ["recall", "--user", "anna", "--queries", &queries];
    let finished = run(data.path(), &[&ask[..], &top[..]].concat());
    let answers = rows(&finished.stdout);
    let gold = fs::read_to_string(folder.join("gold.jsonl")).expect("the gold is there");
    let mut shares = Vec::new();
    for line in rows(&gold) {
        let wanted: BTreeSet<&str> = texts(&line["gold"], None).into_iter().collect();
        if wanted.is_empty() || line["category"] == 5 {
            continue;
        }
        let answer = answers.iter().find(|a| a["query_id"] == line["query_id"]);
        let results = &answer.expect("every query is answered")["results"];
        let found: BTreeSet<&str> = texts(results, Some("external_id"))
            .into_iter()
            .take(5)
            .collect();
        shares.push(wanted.intersection(&found).count() as f64 / wanted.len() as f64);
    }
    let expected = 100.0 * shares.iter().sum::<f64>() / shares.len() as f64;
    let got = report["systems"][0]["turn"]["recall"]["5"]
        .as_f64()
        .expect("a figure");
    assert!((got - expected).abs() < 0.01, "{got} is not {expected}");
}

/// The texts of an array, or of one field of its objects.
fn texts<'v>(array: &'v Value, field: Option<&str>) -> Vec<&'v str> {
    let values = array.as_array().expect("an array").iter();
    let named = values.map(|value| field.map_or(value, |field| &value[field]));
    named.map(|value| value.as_str().expect("a text")).collect()
}

#[test]
fn a_protocol_of_others_says_what_a_document_is_and_one_that_a_set_lacks_is_refused() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let types = fixtures().with_file_name("longmemeval_types.json");
    let beam = fixtures().with_file_name("beam");
    // The documents of each, and how many there are.
    for (set, path, protocol, records) in [
        ("longmemeval", &types, "turns", 9),
        ("longmemeval", &types, "sessions", 6),
        ("longmemeval", &types, "user-sessions", 6),
        ("beam", &beam, "turns", 11),
        ("beam", &beam, "rounds", 6),
    ] {
        let path = path.to_string_lossy();
        let asked = ["eval", set, "--protocol", protocol, "--data", &path];
        let finished = run(data.path(), &asked);
        assert_eq!(finished.code, Some(0), "{asked:?}: {}", finished.stderr);
        let report = rows(&finished.stdout).remove(0);
        assert_eq!(
            (&report["set"], &report["documents"]),
            (&set.into(), &protocol.into())
        );
        assert_eq!(report["records"], records, "{asked:?}");
        let head = report["protocol"][0].as_str().expect("a description");
        let is_told = protocol == "turns" || head.starts_with(&format!("{set}, {protocol}: "));
        assert!(is_told, "{head}");
    }
    let path = beam.to_string_lossy();
    let asked = ["eval", "beam", "--protocol", "sessions", "--data", &path];
    let finished = run(data.path(), &asked);
    assert_eq!((finished.code, &*finished.stdout), (Some(2), ""));
    says!(finished.stderr, "turns, rounds");
}

#[test]
fn what_eval_cannot_do_is_said() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let path = fixtures().to_string_lossy().into_owned();
    for (arguments, said) in [
        (vec!["eval", "beam", "--data", &path], "chat.json"),
        (vec!["eval", "locomo", "--data", "/nowhere"], "/nowhere"),
        (
            vec!["eval", "jsonl", "--data", &path, "--without", "charm"],
            "`charm`",
        ),
        (vec!["eval", "gossip", "--data", &path], "longmemeval"),
    ] {
        let finished = run(data.path(), &arguments);
        assert_eq!(finished.code, Some(2), "{arguments:?}");
        assert!(
            finished.stderr.contains(said),
            "{arguments:?}: {}",
            finished.stderr
        );
        assert_eq!(finished.stdout, "", "{arguments:?}");
    }
}

/// A server of `OpenAI`'s form that says one thing, and what it heard.
fn model(says: &'static str) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/v1", listener.local_addr().expect("bound"));
    let (tell, heard) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.expect("a client"));
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let mut line = String::new();
                stream.read_line(&mut line).expect("a line");
                if let Some(size) = line.to_lowercase().strip_prefix("content-length:") {
                    length = size.trim().parse().expect("a length");
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).expect("a body");
            let body = String::from_utf8(body).expect("UTF-8");
            if tell.send(head + &body).is_err() {
                return;
            }
            let answer = serde_json::json!({ "choices": [{ "message": { "content": says } }] });
            let answer = answer.to_string();
            let reply = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                answer.len()
            );
            let _gone = stream.get_mut().write_all(reply.as_bytes());
        }
    });
    (address, heard)
}

#[test]
fn answers_are_judged_by_the_models_that_are_configured_and_no_other() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let set = fixtures().with_file_name("longmemeval_types.json");
    let set = set.to_string_lossy().into_owned();
    let ask = ["eval", "answer", "--data", &set, "--limit", "1"];
    let none = run(data.path(), &ask).ended(2);
    says!(none.stderr, "[eval.answer]");

    let (answers, asked) = model("You own two.");
    let (judges, judged) = model("yes");
    let config = data.path().join("config.toml");
    let table = |name: &str, url: &str| {
        format!("[eval.{name}]\nurl = \"{url}\"\nmodel = \"{name}-model\"\nkey = \"k-{name}\"\n")
    };
    let both = table("answer", &answers) + &table("judge", &judges);
    fs::write(&config, both).expect("written");
    let config = config.to_string_lossy().into_owned();
    let finished = run(data.path(), &[&["--config", &config], &ask[..]].concat()).ended(0);
    let report = rows(&finished.stdout).remove(0);
    assert_eq!(report["all"]["percent"], 100.0);
    assert_eq!(report["answers"][0]["hypothesis"], "You own two.");
    let asked = asked.recv().expect("asked once");
    assert!(asked.contains("Bearer k-answer") && asked.contains("answer-model"));
    says!(asked, "red kayak");
    let judged = judged.recv().expect("judged once");
    says!(judged, "Model Response: You own two.");
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
        let finished = run(data.path(), &ask).ended(0);
        rows(&finished.stdout).remove(0)
    };
    let wide = block("1000");
    let text = wide["text"].as_str().expect("a text");
    says!(text, "Session session_3\n", "2024-02-20");
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
        .ended(1);
        says!(finished.stderr, said);
    }
}
