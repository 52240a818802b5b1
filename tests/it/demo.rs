//! The `cargo run -- demo` of the README as a test: the recorded week, with the real model.
//!
//! What a person has to see in the demo's output.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use reprise_tests::{assert_contains, assert_lacks, reprise_command, run_to_end};
use serde_json::{Value, json};

#[test]
fn the_demo_brings_back_the_race_of_three_days_ago() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let finished = run_to_end(
        reprise_command(folder.path())
            .expect("reprise is built")
            .arg("demo"),
    )
    .expect("the demo runs")
    .expect_code(0);
    assert!(
        !finished.stdout.contains("words and time"),
        "{}{}",
        finished.stdout,
        finished.stderr
    );
    let (_, answer) = finished
        .stdout
        .split_once("question:")
        .expect("a question is shown");
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
    assert_lacks!(answer, "months ago");
    assert!(answer.contains("in meaning"), "why: {answer}");
    assert!(finished.stdout.contains("kill -9"), "{}", finished.stdout);
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().expect(name)
}

/// The whole number under a name.
fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().expect(name)
}

#[test]
fn each_of_three_weeks_is_helped_by_what_the_weeks_before_it_learned() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let kept = folder.path().join("kept");
    let mut command = reprise_command(folder.path()).expect("reprise is built");
    command
        .args(["demo", "week", "--json", "--keep"])
        .arg(&kept);
    let finished = run_to_end(&mut command).expect("the demo runs");
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code, Some(0), "{said}");
    let story: Value = serde_json::from_str(&finished.stdout).expect("one JSON object");
    let weeks = list(&story, "weeks");
    assert_eq!(weeks.len(), 3);
    assert!(list(&weeks[0], "recall").is_empty(), "nothing was known");
    let runs: Vec<&Value> = weeks.iter().flat_map(|week| list(week, "runs")).collect();
    assert!(
        runs.iter().all(|run| run["status"] == "completed"),
        "{said}"
    );
    let sum = |name| weeks.iter().map(|week| count(week, name)).sum::<u64>();
    let all = runs.len() as u64;
    assert!(10 * sum("first_try") >= 8 * all, "with memory: {said}");
    assert!(
        10 * sum("first_try_without_memory") <= 4 * all,
        "without: {said}"
    );
    // A worker's choice is another one because of memory, and the story says which.
    assert!(sum("choices_changed") >= 3, "{said}");
    let choices = runs.iter().flat_map(|run| list(run, "choices"));
    let choices: Vec<&str> = choices.filter_map(Value::as_str).collect();
    let other_command = |choice: &&&str| choice.starts_with("the terminal runs `rustc");
    assert!(
        choices.iter().filter(other_command).count() >= 3,
        "{choices:?}"
    );
    for week in &weeks[1..] {
        assert_eq!(week["verdict"], "relevant", "{week}");
        assert_successes_first(list(week, "recall"));
    }
    assert_eq!(
        weeks[1]["brings_back"],
        json!([1]),
        "the week before it: {said}"
    );
    assert_eq!(
        weeks[2]["brings_back"],
        json!([2]),
        "the nearest week: {said}"
    );
    // From the second week on memory has something to say on every turn of everybody.
    for run in weeks[1..].iter().flat_map(|week| list(week, "runs")) {
        assert_eq!(run["turns"], run["turns_with_memory"], "{run}");
    }
    // Memory on every turn of the last run, the conductor's and each worker's.
    let turns = list(&story, "trace");
    for actor in ["conductor", "researcher", "terminal", "writer"] {
        assert!(turns.iter().any(|turn| turn["actor"] == actor), "{actor}");
    }
    for turn in turns {
        assert!(turn["injected_bytes"].as_u64() > Some(0), "{turn}");
        assert_eq!(turn["memory"]["state"], "answered", "{turn}");
    }
    assert_answers_as_then(&kept, weeks);
}

/// What the demo left answers as it would have then: after the first success by the adapter as
/// well, and with the failed runs marked and below.
fn assert_answers_as_then(kept: &Path, weeks: &[Value]) {
    let ask = |at: &str, question: &str| -> Value {
        let mut command = reprise_command(kept).expect("reprise is built");
        command.args(["--json", "recall", "--user", "ada", "--limit", "50"]);
        let asked = run_to_end(command.args(["--as-of", at, question])).expect("it answers");
        serde_json::from_str(&asked.stdout).expect("JSON")
    };
    let first = ask(
        "2026-02-02T11:00:00Z",
        "set up a new Rust project with tests",
    );
    let shares = list(&first, "results").iter();
    let mut shares = shares.filter_map(|one| one["why"]["learning"]["adapter"].as_f64());
    assert!(shares.any(|share| share > 0.0), "{first}");
    for (at, week) in [("2026-02-09T08:45:00Z", 1), ("2026-02-16T08:45:00Z", 2)] {
        let answer = ask(at, weeks[week]["question"].as_str().expect("a question"));
        assert_eq!(answer["verdict"], "relevant", "{answer}");
        let found = list(&answer, "results");
        assert_contains!(found[0]["text"].as_str().expect("a text"), "worked well");
        assert_failed_marked_and_below(found);
        // The story tells what a person is shown, and counts no other weeks.
        let shown = found.iter().filter(|one| one["shown"] == true);
        assert_eq!(
            shown.count(),
            list(&weeks[week], "recall").len(),
            "{answer}"
        );
    }
}

/// Runs that went badly are marked as failed, and come below all that is shown.
fn assert_failed_marked_and_below(found: &[Value]) {
    let shown = found.iter().filter(|one| one["shown"] == true).count();
    let (mut failed, mut above) = (0, 0);
    for one in found
        .iter()
        .filter(|one| one["source"] == "trajectory_outcome")
    {
        let text = one["text"].as_str().expect("a text");
        let went = text.lines().nth(1).expect("how it went");
        let is_failed = went.starts_with("went badly");
        let reason = one["reason"].as_str().expect("a reason");
        assert_eq!(reason.starts_with("failed"), is_failed, "{reason}: {went}");
        failed += usize::from(is_failed);
        above += usize::from(!is_failed && failed == 0);
    }
    assert!(failed > 0, "a run of that week went badly");
    assert!(above >= shown, "{above} above, {shown} shown");
}

/// No answer about a run that went badly comes before one about a run that went well.
fn assert_successes_first(answers: &[Value]) {
    let qualities = answers.iter().filter_map(|one| one["quality"].as_f64());
    let good: Vec<bool> = qualities.map(|quality| quality >= 0.5).collect();
    assert!(
        good.first() == Some(&true) && good.is_sorted_by(|a, b| a >= b),
        "{answers:?}"
    );
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
    let mut command = reprise_command(folder.path()).expect("reprise is built");
    command.arg("--config").arg(&config);
    let finished = run_to_end(command.args(["demo", "week", "--json"])).expect("the demo runs");
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
