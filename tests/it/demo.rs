//! The README's first command as a test: the recorded week, with the real model.
//!
//! What a person has to see in the demo's output.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use reprise_tests::{finish, reprise, says};
use serde_json::{Value, json};

#[test]
fn the_demo_brings_back_the_race_of_three_days_ago() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let finished = finish(
        reprise(folder.path())
            .expect("reprise is built")
            .arg("demo"),
    )
    .expect("the demo runs")
    .ended(0);
    assert!(
        !finished.stdout.contains("degraded"),
        "{}{}",
        finished.stdout,
        finished.stderr
    );
    let (_, answer) = finished
        .stdout
        .split_once("request:")
        .expect("a request is shown");
    let race = |line: &str| line.contains("race condition") && line.contains("auth");
    let lines: Vec<String> = answer.lines().map(str::to_lowercase).collect();
    assert!(
        lines.iter().any(|line| race(line)),
        "the race is not there: {answer}"
    );
    // What fixed it comes first, and is likely.
    let mut hits = answer.split("\n 1  ").skip(1);
    let first = hits.next().and_then(|rest| rest.split("\n 2  ").next());
    let first = first.expect("a first result");
    assert!(first.contains("fixed with a mutex"), "{answer}");
    let score = first.split_whitespace().nth(1);
    let score = score.and_then(|score| score.parse::<f32>().ok());
    assert!(score > Some(0.5), "{answer}");
    assert!(answer.contains("3 days ago"), "when it happened: {answer}");
    assert!(answer.contains("in meaning"), "why: {answer}");
    assert!(finished.stdout.contains("kill -9"), "{}", finished.stdout);
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().expect(name)
}

#[test]
fn each_of_three_weeks_is_helped_by_what_the_weeks_before_it_learned() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut command = reprise(folder.path()).expect("reprise is built");
    let finished = finish(command.args(["demo", "week", "--json"])).expect("the demo runs");
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code, Some(0), "{said}");
    let story: Value = serde_json::from_str(&finished.stdout).expect("one JSON object");
    let weeks = list(&story, "weeks");
    assert_eq!(weeks.len(), 3);
    assert!(list(&weeks[0], "recall").is_empty(), "nothing was known");
    for week in weeks {
        let runs = list(week, "runs");
        assert!(
            runs.iter().all(|run| run["status"] == "completed"),
            "{week}"
        );
        let (with, without) = (&week["first_try"], &week["first_try_without_memory"]);
        assert_eq!(without.as_u64(), Some(0), "{week}");
        assert!(
            2 * with.as_u64().expect("a number") > runs.len() as u64,
            "{week}"
        );
    }
    // Week 2 ranks by what week 1 taught, and says which of its requests did.
    let moved: Vec<&Value> = list(&weeks[1], "recall")
        .iter()
        .filter(|one| one["sona_score"].as_f64() > one["score"].as_f64())
        .collect();
    assert!(!moved.is_empty(), "{}", weeks[1]["recall"]);
    for one in moved {
        says!(
            one["text"].as_str().expect("a text"),
            "`tests inline`: worked"
        );
        let teachers = list(one, "taught_by");
        let asked = |run: &Value| {
            run["request"]
                .as_str()
                .is_some_and(|asked| asked.contains("Rust"))
        };
        assert!(!teachers.is_empty() && teachers.iter().all(asked), "{one}");
    }
    // From the second week on the adapter moves what comes first (M61, M66): its part is shown, is
    // the greater one, and puts first what stood far below (M68).
    for week in &weeks[1..] {
        let first = &list(week, "recall")[0];
        let part = |name: &str| first["learning"][name].as_f64().expect(name);
        assert!(
            part("adapter_gate") >= 1.0 && part("adapter") > part("evidence"),
            "{first}"
        );
        assert!(
            part("adapter") + part("evidence") <= part("cap") + 1e-6,
            "{first}"
        );
    }
    assert!(
        list(&weeks[2], "recall")[0]["place_before"].as_u64() > Some(1),
        "{}",
        weeks[2]
    );
    assert_eq!(
        weeks[2]["brings_back"],
        json!([1, 2]),
        "both weeks before it"
    );
    // From the second week on memory has something to say on every turn of everybody (M42).
    for run in weeks[1..].iter().flat_map(|week| list(week, "runs")) {
        assert_eq!(run["turns"], run["turns_with_memory"], "{run}");
    }
    // Memory on every turn of the last run, the conductor's and each worker's (M42).
    let turns = list(&story, "trace");
    for actor in ["conductor", "researcher", "terminal", "writer"] {
        assert!(turns.iter().any(|turn| turn["actor"] == actor), "{actor}");
    }
    for turn in turns {
        assert!(turn["injected_bytes"].as_u64() > Some(0), "{turn}");
        assert_eq!(turn["memory"]["state"], "answered", "{turn}");
    }
}

/// The request of a client of the `OpenAI` form, and its answer: a plan by what the context says of
/// earlier runs.
fn answer_as_model(stream: &mut TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    let context = body["messages"][0]["content"].as_str().expect("a context");
    let knows = context.contains("by `the short way`: worked");
    let failed = context.contains("- `the long way`:");
    let (plan, command) = if knows || failed {
        ("the short way", "echo fine")
    } else {
        ("the long way", "echo 'error: too long'; exit 3")
    };
    let asked = body["messages"][1]["content"].as_str().expect("a request");
    let plan = json!({ "plan": plan, "reason": "by what it was told", "assignments": [
        { "worker": "researcher", "objective": "look around", "words": ["project"] },
        { "worker": "terminal", "objective": asked, "folder": "work", "command": command },
        { "worker": "writer", "objective": "note it", "path": "notes.md", "text": asked,
          "summary": asked },
    ] });
    let choice = json!({ "choices": [{ "message": { "content": plan.to_string() } }] });
    let text = choice.to_string();
    let _gone = write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{text}",
        text.len()
    );
}

#[test]
fn a_model_at_an_endpoint_plans_the_weeks_by_what_memory_tells_it() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            answer_as_model(&mut stream);
        }
    });
    let folder = tempfile::tempdir().expect("a temporary directory");
    let config = folder.path().join("planner.toml");
    let text = format!("[planner]\nurl = \"http://{address}/v1\"\nmodel = \"test\"\n");
    std::fs::write(&config, text).expect("written");
    let mut command = reprise(folder.path()).expect("reprise is built");
    command.arg("--config").arg(&config);
    let finished = finish(command.args(["demo", "week", "--json"])).expect("the demo runs");
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code, Some(0), "{said}");
    let story: Value = serde_json::from_str(&finished.stdout).expect("one JSON object");
    for week in list(&story, "weeks") {
        let runs = list(week, "runs").len() as u64;
        let done = week["first_try"].as_u64().expect("a number");
        assert_eq!(week["first_try_without_memory"], 0, "{week}");
        assert!(done + 2 >= runs, "{week}");
    }
}
