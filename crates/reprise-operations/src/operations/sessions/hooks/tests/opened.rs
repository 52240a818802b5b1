//! What the beginning of a session takes from the prompts that follow, and what it calls open.

use super::*;

const ANSWER: &str = "The cause was a connect timeout of 1 s in the bank client. I raised it to \
    10 s in src/bank.rs, and refund requests of large shops come through again.";

fn report(session: &str, text: &str) -> HookReport {
    HookReport {
        text: text.to_owned(),
        project: "shop".to_owned(),
        ..prompt(session)
    }
}

#[tokio::test]
async fn the_first_sentence_at_the_beginning_does_not_keep_the_answer_from_a_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let ada = "ada".parse().unwrap();
    let first = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = first.user_memory(&ada);
    let hook = async |memory: &Memory, event, session: &str, text: &str| {
        let answer = memory.handle_hook(event, report(session, text)).await;
        answer.unwrap().context
    };
    let asked = "refund requests of large shops time out, find out why";
    hook(&memory, HookEvent::UserPrompt, "before", asked).await;
    hook(&memory, HookEvent::Stop, "before", ANSWER).await;
    hook(&memory, HookEvent::SessionEnd, "before", "").await;
    let question = "what did we do about the connect timeout of refund requests";
    let begun = hook(&memory, HookEvent::SessionStart, "now", "").await;
    assert!(begun.contains("a connect timeout of 1 s"), "{begun}");
    assert!(!begun.contains("src/bank.rs"), "{begun}");
    let told = hook(&memory, HookEvent::UserPrompt, "now", question).await;
    assert!(told.contains("src/bank.rs"), "{told}");
    // What was received is told as it was received.
    let opening = memory.run_on_snapshot(|snapshot| {
        let (all, _) = list_prompts(snapshot, Some("now"), 1, None);
        let record = snapshot.get(all[0].id).unwrap().unwrap();
        replay_prompt(snapshot, &record).opening.unwrap().text
    });
    assert_eq!(opening.await.unwrap(), begun);
    let line = hook(&memory, HookEvent::StatusLine, "now", "").await;
    assert!(line.starts_with("memory: 1 in"), "{line}");

    // A daemon that began anew reads the same from the session's prompts.
    hook(&memory, HookEvent::SessionStart, "later", "").await;
    let other = "list the ten biggest stores by their revenue of May";
    hook(&memory, HookEvent::UserPrompt, "later", other).await;
    first.shut_down().await;
    let second = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = second.user_memory(&ada);
    let resumed = hook(&memory, HookEvent::SessionStart, "later", "").await;
    assert!(!resumed.contains("a connect timeout of 1 s"), "{resumed}");
    let told = hook(&memory, HookEvent::UserPrompt, "later", question).await;
    assert!(told.contains("src/bank.rs"), "{told}");
    // Now the conversation has all of it.
    let again = hook(&memory, HookEvent::UserPrompt, "later", question).await;
    assert!(!again.contains("src/bank.rs"), "{again}");
    second.shut_down().await;
}

/// Runs commands in a session, one after the other, and returns what the next one begins with.
async fn begin_after(runs: &[(&str, bool)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    for (command, passed) in runs {
        let ran = HookReport {
            command: (*command).to_owned(),
            succeeded: Some(*passed),
            ..report("before", "")
        };
        memory.handle_hook(HookEvent::PostTool, ran).await.unwrap();
    }
    let begun = memory.handle_hook(HookEvent::SessionStart, report("now", ""));
    let begun = begun.await.unwrap().context;
    memories.shut_down().await;
    begun
}

#[tokio::test]
async fn a_failure_is_open_until_a_run_that_has_it_in_it_passes() {
    let failed = "cd /home/ada/shop && RUST_BACKTRACE=1 cargo test refund -- --nocapture";
    for passed in [
        "cargo test",
        "cargo test refund",
        "cargo test refund -- --nocapture",
        "cd /home/ada/shop && cargo test 2>&1 | tail -5",
    ] {
        let begun = begin_after(&[(failed, false), (passed, true)]).await;
        assert_eq!(begun, "", "{passed}");
    }
    for passed in ["cargo test login", "cargo test -p mail", "npm test"] {
        let begun = begin_after(&[(failed, false), (passed, true)]).await;
        assert!(begun.contains("Open: "), "{passed}: {begun}");
    }
    // It passed, failed, and passes again.
    let again = [
        ("cargo test", true),
        ("cargo test", false),
        ("cargo test", true),
    ];
    assert_eq!(begin_after(&again).await, "");
    let again = [again[0], again[1], again[2], again[1]];
    assert!(
        begin_after(&again)
            .await
            .contains("Open: `cargo test` failed")
    );
    // A build that passes ends the failure of a build.
    let built = [("cargo build", false), ("cargo build --release", true)];
    assert!(
        begin_after(&built)
            .await
            .contains("Open: `cargo build` failed")
    );
    let built = [
        ("cargo build", false),
        ("cd /src/shop && cargo build", true),
    ];
    assert_eq!(begin_after(&built).await, "");
}

#[tokio::test]
async fn what_a_session_did_not_receive_at_its_beginning_comes_with_its_first_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let decision = "Coupons are taken once, on the sum of the checkout.";
    let line = json!({
        "text": decision, "kind": "finding", "tags": ["project:shop"],
        "details": { "type": "decision" },
    });
    memory.ingest(vec![line]).await.unwrap();
    let hook = async |event, report| memory.handle_hook(event, report).await.unwrap().context;
    // The program went on before this was there, and says so later.
    let lost = hook(HookEvent::SessionStart, report("now", "")).await;
    assert!(lost.contains(decision), "{lost}");
    let late = HookReport {
        at: Some(memory.now()),
        ..report("now", "")
    };
    assert_eq!(hook(HookEvent::SessionStart, late).await, "");
    let asked = "list the ten biggest stores by their revenue of May";
    let first = hook(HookEvent::UserPrompt, report("now", asked)).await;
    assert!(first.contains("Reprise: 1 decision"), "{first}");
    assert_eq!(first.matches(decision).count(), 1, "{first}");
    let second = "why are coupons taken once, on the sum of the checkout";
    let second = hook(HookEvent::UserPrompt, report("now", second)).await;
    assert!(!second.contains(decision), "{second}");
    memories.shut_down().await;
}

#[tokio::test]
async fn what_was_forgotten_does_not_come_back_in_another_session() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let list = async || {
        let list = memory.run_on_snapshot(|memory| {
            let records = memory.records().filter_map(Result::ok);
            let said = records.filter(|record| record.text == ANSWER);
            said.map(|record| record.id).collect::<Vec<_>>()
        });
        list.await.unwrap()
    };
    let stop = async |session| {
        let said = memory.handle_hook(HookEvent::Stop, report(session, ANSWER));
        said.await.unwrap();
    };
    stop("one").await;
    let [id] = list().await[..] else {
        panic!("it is stored once");
    };
    let forget = ForgetArguments {
        id: Some(id),
        ..ForgetArguments::default()
    };
    Forget::run(&memory, forget).await.unwrap();
    stop("two").await;
    assert_eq!(list().await, []);
    memories.shut_down().await;
}

#[tokio::test]
async fn a_prompt_gets_what_is_tagged_with_any_name_of_its_project_and_with_no_other() {
    let whole = "github.com/acme/shop";
    for (tagged, others, here, is_of_it) in [
        ("shop", None, whole, true),
        (whole, None, "shop", true),
        (whole, None, whole, true),
        (whole, None, "github.com/other/shop", false),
        // With a second one, the short name may mean either.
        ("shop", Some("github.com/other/shop"), whole, false),
        ("till", None, whole, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
        let memory = memories.user_memory(&"ada".parse().unwrap());
        let line = |text: &str, project: &str| {
            let tag = format!("project:{project}");
            json!({ "text": text, "kind": "finding", "tags": [tag] })
        };
        let other = others.map(|name| line("Geese fly south in autumn.", name));
        let lines = [line(LESSON, tagged)].into_iter().chain(other).collect();
        memory.ingest(lines).await.unwrap();
        let report = HookReport {
            project: here.to_owned(),
            ..prompt("now")
        };
        let told = memory.handle_hook(HookEvent::UserPrompt, report).await;
        let told = told.unwrap().context;
        let of_it = told.contains("rounding");
        assert_eq!(of_it, is_of_it, "{tagged} in {here}: {told}");
        memories.shut_down().await;
    }
}
