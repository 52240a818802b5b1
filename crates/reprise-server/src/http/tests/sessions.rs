//! Sessions of an agent's program, event by event, over a memory without a model.

use reprise_operations::HookAnswer;
use reprise_tests::parse_quoted_lines;
use reprise_types::UserId;
use serde_json::{Value, json};

use crate::client::Call;
use crate::testing::{RunningDaemon, run_with_words};

fn at(parts: &[&str]) -> String {
    let ada: UserId = "ada".parse().unwrap();
    Call::path_of(&ada, parts)
}

async fn hook(running: &RunningDaemon, event: &str, mut report: Value) -> String {
    // However slow the machine is, the answer is waited for.
    report["deadline_ms"] = json!(600_000);
    let call = Call::post(at(&["hooks", event]), &report);
    let answer: HookAnswer = running.client.ask_ok(&call).await;
    answer.context
}

async fn count_runs(running: &RunningDaemon) -> u64 {
    let outcome = json!({"query": "a question of this test", "quality": 0.5});
    let call = Call::post(at(&["outcome"]), &outcome);
    let report: Value = running.client.ask_ok(&call).await;
    report["runs"].as_u64().unwrap()
}

async fn read_export(running: &RunningDaemon) -> String {
    let bytes = running.client.read(&Call::get(at(&["export"]))).await;
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_session_is_kept_and_the_next_one_knows_of_it() {
    let running = run_with_words().await;
    let said = |session: &str, project: &str, text: &str| json!({"session": session, "project": project, "text": text});
    let first = "the flaky login test needs a frozen clock";
    assert_eq!(
        hook(&running, "user-prompt", said("s1", "shop", first)).await,
        ""
    );
    // Its own words are no memory of earlier sessions.
    let again = hook(&running, "UserPromptSubmit", said("s1", "shop", first)).await;
    assert_eq!(again, "");
    assert_eq!(read_export(&running).await.lines().count(), 1);

    // What memory says about one project is not said in another.
    let kept = json!([{"text": first, "tags": ["project:shop"]}]);
    let kept = Call::post(at(&["records"]), &kept);
    let _: Value = running.client.ask_ok(&kept).await;
    let question = "why is the login test flaky, which clock does it need";
    let own = hook(&running, "user-prompt", said("s2", "shop", question)).await;
    assert!(
        own.contains(first) && parse_quoted_lines(&own).is_some(),
        "{own}"
    );
    // It is in that conversation now, until that is shortened.
    let twice = hook(&running, "user-prompt", said("s2", "shop", question)).await;
    assert_eq!(twice, "");
    hook(&running, "pre-compact", said("s2", "shop", "")).await;
    let later = hook(&running, "user-prompt", said("s2", "shop", question)).await;
    assert!(later.contains(first), "{later}");
    let other = hook(&running, "user-prompt", said("s3", "bank", question)).await;
    assert!(!other.contains(first), "{other}");
    let start = hook(&running, "session-start", said("s4", "shop", "")).await;
    assert_eq!(start.matches(first).count(), 1, "the note alone: {start}");
    assert_eq!(
        hook(&running, "session-start", said("s5", "garden", "")).await,
        ""
    );
    running.end().await;
}

/// A session that was reminded of the frozen clock.
async fn run_with_known_lesson() -> RunningDaemon {
    let running = run_with_words().await;
    let known = json!({"text": "the login test needs a frozen clock: freeze_time in conftest.py"});
    let _kept: Value = running
        .client
        .ask_ok(&Call::post(at(&["records"]), &known))
        .await;
    let prompt = json!({"session": "s1", "text": "fix the login test with the frozen clock"});
    let context = hook(&running, "user-prompt", prompt).await;
    assert!(context.contains("frozen clock"), "{context}");
    running
}

#[tokio::test]
async fn the_end_of_a_tool_becomes_an_outcome() {
    let running = run_with_known_lesson().await;
    let ran = json!({"session": "s1", "command": "cargo test login", "succeeded": true});
    assert_eq!(hook(&running, "post-tool", ran).await, "");
    let looked = json!({"session": "s1", "command": "ls -la /tmp/x", "succeeded": true});
    hook(&running, "post-tool", looked).await;
    let stop = json!({"session": "s1", "text": "It is green now: freeze_time stops the clock."});
    hook(&running, "stop", stop.clone()).await;
    // The prompt's recall has taught, once; a second stop has nothing to say.
    hook(&running, "stop", stop).await;
    assert_eq!(count_runs(&running).await, 2);
    let export = read_export(&running).await;
    assert!(export.contains("`cargo test login` passed"), "{export}");
    assert!(export.contains("It is green now"), "{export}");
    assert!(!export.contains("ls -la"), "{export}");
    running.end().await;
}

#[tokio::test]
async fn what_failed_what_was_edited_and_what_was_committed_is_kept() {
    let running = run_with_words().await;
    let tool = |more: Value| {
        let mut report = json!({"session": "s1", "project": "shop"});
        let fields = more.as_object().unwrap().clone();
        report.as_object_mut().unwrap().extend(fields);
        report
    };
    let failed = "test login::expires ... FAILED";
    for report in [
        json!({"command": "cargo nextest run", "succeeded": false, "text": failed}),
        json!({"command": "make test", "succeeded": true}),
        json!({"command": "cargo build", "succeeded": true}),
        json!({"command": "npx tsc", "succeeded": false, "text": "error TS2304: cannot find x"}),
        json!({"command": "git commit -m x", "succeeded": true,
            "text": "[main 1a2b3c4] Freeze the clock"}),
        json!({"files": ["src/login.rs"]}),
        json!({"files": ["src/clock.rs", "src/login.rs"]}),
    ] {
        assert_eq!(hook(&running, "post-tool", tool(report)).await, "");
    }
    hook(&running, "stop", tool(json!({"text": ""}))).await;
    hook(&running, "stop", tool(json!({"text": ""}))).await;
    let mut kept: Vec<String> = read_export(&running)
        .await
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| line["text"].as_str().unwrap().to_owned())
        .collect();
    kept.sort();
    assert_eq!(
        kept,
        [
            "Committed [main 1a2b3c4] Freeze the clock",
            "Edited src/clock.rs, src/login.rs",
            &format!("`cargo nextest run` failed:\n{failed}"),
            "`make test` passed",
            "`npx tsc` failed:\nerror TS2304: cannot find x",
        ]
    );
    running.end().await;
}

#[tokio::test]
async fn an_answer_that_was_broken_off_teaches_nothing() {
    let running = run_with_known_lesson().await;
    let said = json!({"session": "s1", "text": "I am looking into the clock."});
    assert_eq!(hook(&running, "answer", said).await, "");
    hook(
        &running,
        "stop",
        json!({"session": "s1", "succeeded": false}),
    )
    .await;
    hook(&running, "session-end", json!({"session": "s1"})).await;
    assert_eq!(count_runs(&running).await, 1);
    let export = read_export(&running).await;
    assert!(export.contains("looking into the clock"), "{export}");
    running.end().await;
}

#[tokio::test]
async fn short_words_and_secrets_are_not_kept() {
    let running = run_with_words().await;
    let report = |text: &str| json!({"session": "s", "text": text});
    hook(&running, "user-prompt", report("yes go on")).await;
    hook(
        &running,
        "user-prompt",
        report("yes please go on with that"),
    )
    .await;
    hook(&running, "answer", report("OK, that looks good.")).await;
    let secret = "AKIAIOSFODNN7EXAMPLE";
    let text = format!("the deploy key is {secret}, use it for the bucket");
    hook(&running, "user-prompt", report(&text)).await;
    let export = read_export(&running).await;
    assert_eq!(export.lines().count(), 1);
    assert!(!export.contains(secret), "{export}");
    let unknown = Call::post(at(&["hooks", "coffee"]), &report("x"));
    assert!(running.client.ask_bytes(&unknown).await.is_err());
    running.end().await;
}
