//! What a hook puts into a prompt.

mod cached;
mod corrected;
mod credited;
mod held;
mod imported;
mod kept;
mod left;
mod named_times;
mod opened;
mod placed;
mod ruled;
mod told;

use std::path::Path;
use std::sync::{Arc, Mutex, mpsc::channel};

use reprise_agent::EmbedderOpener;
use reprise_tests::{assert_fields, hostile_text, parse_quoted_lines, seen_if, wait_for_async};
use reprise_types::{RelevanceVerdict, SystemClock, parse_timestamp};

use super::*;
use crate::Operation;
use crate::memories::{MemoryChange, MemorySettings};
use crate::operations::forgetting::{Forget, ForgetArguments};
use crate::operations::lessons::knowledge;
use crate::operations::outcomes::{WithdrawOutcome, WithdrawOutcomeArguments};
use crate::operations::sessions::pausing::{
    Pause, PauseArguments, PauseStore, Resume, ResumeArguments,
};
use crate::operations::sessions::prompts::{LeftOutReason, list_prompts, replay_prompt};
use crate::testing::{SetClock, memory_config, no_model, start_memories};
use crate::wire::RecordFate;

async fn memories(folder: &Path, model: EmbedderOpener) -> Memories {
    start_memories(memory_config(folder, 384, model), Arc::new(SystemClock)).await
}

const LESSON: &str = "the checkout total is wrong with a coupon since the rounding changed";

/// However slow the machine is, the answer of a hook is waited for.
const PATIENT: Option<u32> = Some(600_000);

fn prompt(session: &str) -> HookReport {
    HookReport {
        session: session.to_owned(),
        text: "why is the checkout total wrong with a coupon".to_owned(),
        deadline_ms: PATIENT,
        ..HookReport::default()
    }
}

#[tokio::test]
async fn a_prompt_does_not_wait_for_a_model_that_is_being_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let ada = "ada".parse().unwrap();
    let first = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = first.user_memory(&ada);
    let fact = NewRecord::new(LESSON, MemorySource::UserInput, MemoryKind::Finding);
    memory.store_one(fact).await.unwrap();
    assert_eq!(tells_of_rounding(&memory, "one").await, Ok(()));
    first.shut_down().await;

    let (loaded, loading) = channel::<()>();
    let loading = Mutex::new(loading);
    let model = move || {
        let _gone = loading.lock().unwrap().recv().is_err();
        Err(no_model())
    };
    let second = memories(folder.path(), Arc::new(model)).await;
    let memory = second.user_memory(&ada);
    assert_eq!(tells_of_rounding(&memory, "two").await, Ok(()));
    drop(loaded);
    second.shut_down().await;
}

/// Whether a prompt is told of the lesson, in one of a hundred sessions: on a busy machine an
/// answer may be late for its own reasons.
async fn tells_of_rounding(memory: &Memory, prefix: &str) -> Result<(), Vec<String>> {
    let mut contexts = Vec::new();
    for session in 0..100 {
        let prompt = HookReport {
            deadline_ms: None,
            ..prompt(&format!("{prefix} {session}"))
        };
        let asked = memory.handle_hook(HookEvent::UserPrompt, prompt);
        let said = asked
            .await
            .map_or_else(|late| late.to_string(), |answer| answer.context);
        if said.contains("rounding") {
            return Ok(());
        }
        contexts.push(said);
    }
    Err(contexts)
}

#[tokio::test]
async fn a_prompt_whose_recall_is_late_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let first = memory.handle_hook(HookEvent::UserPrompt, prompt("one"));
    assert_eq!(first.await.unwrap().context, "");
    // A recall of so few records may be done at its first look at the clock.
    let mut prompts = 1;
    let mut is_late = false;
    while !is_late && prompts < 1_000 {
        prompts += 1;
        let session = format!("session {prompts}");
        let said = prompt(&session);
        is_late = memory
            .handle_prompt(&said, Duration::ZERO, true)
            .await
            .is_err();
    }
    assert!(is_late);
    wait_for_async("the prompts that were kept", async || {
        let count = memory.run_on_engine(|engine| engine.snapshot().records().count());
        let kept = count.await.unwrap();
        seen_if(kept == prompts, kept)
    })
    .await;
    memories.shut_down().await;
}

#[tokio::test]
async fn what_is_sensitive_makes_nothing_else_relevant() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    for (text, tag) in [
        ("why the checkout total is wrong with a coupon", "sensitive"),
        ("a coupon came by post", "mail"),
        ("the paper is late", "mail"),
        ("tea is in the kitchen", "mail"),
        ("the cat sleeps", "mail"),
    ] {
        let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode);
        record.tags = vec![tag.to_owned()];
        memory.store_one(record).await.unwrap();
    }
    let (asked, seen) = (prompt("one"), BTreeSet::new());
    let found = memory.recall_for_prompt(&asked, &seen, Duration::from_mins(1));
    let (given, hits) = found.await.unwrap();
    assert!(hits.is_empty(), "{hits:?}");
    assert_ne!(given.verdict, RelevanceVerdict::Relevant);
    assert_eq!(given.found.len(), 1);
    memories.shut_down().await;
}

fn line(text: &str) -> HitView {
    HitView::new(
        RecordId::from_u128(7),
        parse_timestamp("2026-02-02T09:00:00Z").unwrap(),
        "note, 2 days ago".to_owned(),
        text.to_owned(),
    )
}

#[test]
fn no_memory_leaves_the_frame_of_a_hook() {
    for seed in 0..10_000 {
        let own = vec![line(&hostile_text(seed)), line("the clock is frozen")];
        let others = vec![line(&hostile_text(seed + 1))];
        let parts = [
            ("From earlier sessions; ", WHOLE, own),
            (injected::OTHERS, "", others),
        ];
        let (answer, _) = render_injected(&parts, "", u128::from(seed), DateTime::UNIX_EPOCH);
        let context = answer.context;
        let lines = parse_quoted_lines(&context).map(|lines| lines.len());
        assert_eq!(lines, Some(5), "{seed}: {context}");
    }
    let parts = [("From earlier sessions; ", WHOLE, vec![])];
    let (answer, block) = render_injected(&parts, "", 1, DateTime::UNIX_EPOCH);
    assert_eq!((answer.context.as_str(), block), ("", None));
}

#[tokio::test]
async fn a_prompt_is_kept_with_what_it_was_given_and_replayed_with_what_came_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let keep = async |text: &str, session: &str, tag: &str| {
        let line = json!({"text": text, "session_id": session, "tags": [tag]});
        let kept = memory.ingest(vec![line]).await.unwrap();
        match kept.outcomes[0] {
            RecordFate::Inserted { id, .. } => id,
            _ => panic!("{kept:?}"),
        }
    };
    let own = "The checkout total is wrong where a coupon is counted per line.";
    let given = keep(own, "before", "project:shop").await;
    let foreign = "The checkout total with a coupon is wrong in the other shop.";
    let foreign = keep(foreign, "before", "project:other").await;
    let mut asked = prompt("now");
    asked.project = "shop".to_owned();
    let context = memory
        .handle_hook(HookEvent::UserPrompt, asked.clone())
        .await
        .unwrap();
    assert!(context.context.contains(own), "{}", context.context);
    let mut answer = asked.clone();
    answer.text = format!("I read {given}: the coupon is taken once now, per sum.");
    memory
        .handle_hook(HookEvent::Stop, answer.clone())
        .await
        .unwrap();
    // What a later prompt brings is none of the first one's doing.
    let later = HookReport {
        text: "rename the ledger's columns to snake case".to_owned(),
        ..asked
    };
    memory
        .handle_hook(HookEvent::UserPrompt, later)
        .await
        .unwrap();
    answer.text = "The ledger's columns are renamed in migration 12.".to_owned();
    memory.handle_hook(HookEvent::Stop, answer).await.unwrap();

    let read = async |session: Option<&'static str>| {
        let read =
            memory.run_on_snapshot(move |snapshot| list_prompts(snapshot, session, 10, None));
        read.await.unwrap()
    };
    let (all, next) = read(None).await;
    // What was kept in a session without an agent is no prompt.
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(next, None);
    let (mine, _) = read(Some("now")).await;
    let [_, first] = &mine[..] else {
        panic!("{mine:?}");
    };
    assert!(first.text.contains("coupon"), "newest first");
    let outcome = first.outcome.as_ref().expect("its turn has ended");
    // The next prompt came at once, which may revise the outcome.
    assert!([0.8, 0.6].contains(&outcome.quality), "{outcome:?}");
    assert_eq!(outcome.used, vec![given]);

    let record = memory.get_record(&first.id.to_string()).await.unwrap();
    let replayed = memory.run_on_snapshot(move |snapshot| replay_prompt(snapshot, &record));
    let replayed = replayed.await.unwrap();
    let found = |id| replayed.found.iter().find(|one| one.noted.id == id);
    let found = |id| found(id).unwrap();
    assert_eq!(found(given).noted.left_out, None);
    assert!(found(given).is_quoted);
    let received = replayed.block.as_ref().expect("it was given a text");
    assert_eq!(received.text, context.context, "as the agent received it");
    assert_eq!(received.tokens, context.context.len().div_ceil(4));
    let left_out = found(foreign).noted.left_out;
    assert_eq!(left_out, Some(LeftOutReason::OtherProject));
    assert!(!found(foreign).is_quoted);
    let followed: Vec<&str> = replayed.followed.iter().map(|one| &*one.title).collect();
    assert!(
        matches!(followed[..], [one] if one.contains("per sum")),
        "{followed:?}"
    );
    let run_id = format!("recall {}", first.given.as_ref().unwrap().recall_id);
    let taken_back = WithdrawOutcome::run(&memory, WithdrawOutcomeArguments { run_id });
    taken_back.await.unwrap();
    let (mine, _) = read(Some("now")).await;
    assert!(mine[1].outcome.is_none(), "it is taken back");
    memories.shut_down().await;
}

#[tokio::test]
async fn what_a_session_began_with_is_kept_with_its_first_prompt_until_it_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let own = "Coupons are taken once, on the sum of the checkout.";
    let line = json!({
        "text": own, "kind": "finding", "tags": ["project:shop"], "details": { "type": "decision" },
    });
    let kept = memory.ingest(vec![line]).await.unwrap();
    let RecordFate::Inserted { id, .. } = kept.outcomes[0] else {
        panic!("{kept:?}");
    };
    let mut report = prompt("now");
    report.project = "shop".to_owned();
    let begun = memory.handle_hook(HookEvent::SessionStart, report.clone());
    let begun = begun.await.unwrap().context;
    assert!(begun.contains(own), "{begun}");
    memory
        .handle_hook(HookEvent::UserPrompt, report)
        .await
        .unwrap();
    let opening = async || {
        let read = memory.run_on_snapshot(|snapshot| {
            let (all, _) = list_prompts(snapshot, Some("now"), 1, None);
            let record = snapshot.get(all[0].id).unwrap().unwrap();
            replay_prompt(snapshot, &record).opening.unwrap()
        });
        read.await.unwrap()
    };
    assert_eq!(opening().await.text, begun);
    let forget = ForgetArguments {
        id: Some(id),
        ..ForgetArguments::default()
    };
    Forget::run(&memory, forget).await.unwrap();
    let opening = opening().await;
    assert!(!opening.text.contains("sum of the checkout"), "{opening:?}");
    memories.shut_down().await;
}

#[tokio::test]
async fn a_paused_project_stores_nothing_and_a_read_only_one_still_answers() {
    let folder = tempfile::tempdir().unwrap();
    let pauses = PauseStore::in_data_dir(folder.path());
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memories = memories.with_settings(MemorySettings {
        pauses,
        ..MemorySettings::default()
    });
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let fact = NewRecord::new(LESSON, MemorySource::UserInput, MemoryKind::Finding);
    memory.store_one(fact).await.unwrap();
    let pause = async |mode| {
        let arguments = PauseArguments {
            project: Some("shop".to_owned()),
            new: true,
            mode: Some(mode),
            ..PauseArguments::default()
        };
        Pause::run(&memory, arguments).await.unwrap()
    };
    let ask = async |session: &str, project: &str| {
        let mut report = prompt(session);
        report.project = project.to_owned();
        let answer = memory
            .handle_hook(HookEvent::UserPrompt, report)
            .await
            .unwrap();
        let read =
            memory.run_on_snapshot(|snapshot| list_prompts(snapshot, None, 10, None).0.len());
        (answer.context.contains("rounding"), read.await.unwrap())
    };
    pause(PauseMode::Off).await;
    assert_eq!(ask("one", "shop").await, (false, 0));
    pause(PauseMode::ReadOnly).await;
    assert_eq!(ask("two", "shop").await, (true, 0));
    assert_eq!(ask("three", "other").await, (true, 1));
    let arguments = ResumeArguments {
        project: Some("shop".to_owned()),
        ..ResumeArguments::default()
    };
    let report = Resume::run(&memory, arguments).await.unwrap();
    assert_eq!((report.pauses, report.ended), (vec![], Some(1)));
    let everywhere = ResumeArguments::default();
    let report = Resume::run(&memory, everywhere).await.unwrap();
    let said = Resume::render_text(&report);
    assert!(said.starts_with("there was no such pause; "), "{said}");
    assert_eq!(ask("four", "shop").await, (true, 2));
    memories.shut_down().await;
}

#[tokio::test]
async fn an_answer_without_tests_is_judged_by_what_came_next() {
    let folder = tempfile::tempdir().unwrap();
    let ada = "ada".parse().unwrap();
    let clock = SetClock::starting_at("2026-02-02T09:00:00Z");
    let config = memory_config(folder.path(), 384, Arc::new(|| Err(no_model())));
    let memories = start_memories(config, clock.clone()).await;
    let memory = memories.user_memory(&ada);
    let fact = NewRecord::new(LESSON, MemorySource::UserInput, MemoryKind::Finding);
    memory.store_one(fact).await.unwrap();
    for (session, seconds, end, expected) in [
        ("a", 5, false, 0.6_f32),
        ("b", 60, false, 0.8),
        ("c", 600, false, 0.85),
        ("d", 5, true, 0.85),
    ] {
        let hook = |event| memory.handle_hook(event, prompt(session));
        let given = hook(HookEvent::UserPrompt).await.unwrap().context;
        assert!(given.contains("rounding"), "{given}");
        // What it was given is seen in what it says.
        let mut answer = prompt(session);
        answer.text = "It is since the rounding changed that the sum is off.".to_owned();
        memory.handle_hook(HookEvent::Stop, answer).await.unwrap();
        clock.advance(TimeDelta::seconds(seconds));
        if end {
            hook(HookEvent::SessionEnd).await.unwrap();
        } else {
            let now = memory.now();
            memory
                .revise_last_answer(session, NextEvent::Prompt, now)
                .await
                .unwrap();
        }
        let last = memory.run_on_engine(|engine| {
            let snapshot = engine.snapshot();
            snapshot
                .learner()
                .runs_newest_first()
                .next()
                .map(|run| run.quality)
        });
        assert_eq!(last.await.unwrap(), Some(expected), "{session}");
    }
    memories.shut_down().await;
}

/// The next change of this name.
async fn changed(
    changes: &mut tokio::sync::broadcast::Receiver<MemoryChange>,
    what: &str,
) -> MemoryChange {
    let change = timeout(Duration::from_mins(1), async {
        loop {
            let change = changes.recv().await.unwrap();
            if change.what == what {
                return change;
            }
        }
    });
    change.await.unwrap()
}

/// What was said is forgotten, and what was taken out of it with it.
async fn source_and_learning_are_forgotten(memory: &Memory) {
    let source = memory.run_on_snapshot(|snapshot| {
        let records = snapshot.records().filter_map(Result::ok);
        records
            .filter(|record| record.text.contains("both stores"))
            .map(|one| one.id)
            .next()
    });
    let source = source.await.unwrap().unwrap();
    let forget = ForgetArguments {
        id: Some(source),
        ..ForgetArguments::default()
    };
    let forgotten = Forget::run(memory, forget).await.unwrap();
    assert_eq!(forgotten.forgotten.len(), 2, "{forgotten:?}");
}

#[tokio::test]
async fn a_session_that_ends_leaves_what_it_taught_and_listeners_hear_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let said = |session: &str, text: &str| HookReport {
        session: session.to_owned(),
        project: "shop".to_owned(),
        text: text.to_owned(),
        ..HookReport::default()
    };
    let taught = "We decided to keep the cart in Redis because two shops share it.";
    let text = format!("I have looked at both stores. {taught} The rest is as it was before.");
    let mut changes = memories.subscribe_to_changes();
    memory
        .handle_hook(HookEvent::Stop, said("one", &text))
        .await
        .unwrap();
    let heard = |changes: &mut tokio::sync::broadcast::Receiver<MemoryChange>| {
        std::iter::from_fn(|| changes.try_recv().ok()).collect::<Vec<_>>()
    };
    assert!(
        heard(&mut changes)
            .iter()
            .all(|change| change.what == "inserted")
    );
    for (end, expected) in [(true, 1), (false, 0)] {
        memory
            .handle_hook(HookEvent::SessionEnd, said("one", ""))
            .await
            .unwrap();
        let told = heard(&mut changes);
        let told: Vec<_> = told
            .iter()
            .filter(|one| one.what == "memory_learning")
            .collect();
        assert_eq!(told.len(), expected, "{end}");
        if let [change] = told[..] {
            assert_eq!(change.event["fact"], taught);
            let learning = &change.event["learning"];
            assert_eq!(learning.as_object().map(Map::len), Some(9));
            assert_fields!(learning, "category": "decision", "source": "one");
            let kept = memory.get_record(&change.ids[0].to_string()).await.unwrap();
            assert_eq!(
                (kept.text.as_str(), kept.session_id.as_str()),
                (taught, "one")
            );
            assert_eq!(kept.tags, ["project:shop"]);
        }
    }
    // Another session goes to work with it.
    memory
        .handle_hook(HookEvent::SessionStart, said("two", ""))
        .await
        .unwrap();
    let loaded = changed(&mut changes, "memory_loaded").await;
    assert_eq!(
        (
            &loaded.event["total"],
            &loaded.event["by_category"]["decision"]
        ),
        (&1.into(), &1.into())
    );
    // So does an agent that asks for what is known.
    let view = knowledge::KnowledgeView::Loaded;
    let asked = knowledge::Arguments {
        view,
        ..knowledge::Arguments::default()
    };
    knowledge::Knowledge::run(&memory, asked).await.unwrap();
    let loaded = changed(&mut changes, "memory_loaded").await;
    assert_eq!(loaded.event["total"], 1);
    source_and_learning_are_forgotten(&memory).await;
    memories.shut_down().await;
}

#[tokio::test]
async fn a_session_begins_with_what_matters() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let report = |text: &str| HookReport {
        session: "one".to_owned(),
        project: "shop".to_owned(),
        text: text.to_owned(),
        ..HookReport::default()
    };
    let ran = |command: &str, succeeded: bool, text: &str| HookReport {
        command: command.to_owned(),
        succeeded: Some(succeeded),
        ..report(text)
    };
    let hook = async |event, report| memory.handle_hook(event, report).await.unwrap().context;
    hook(
        HookEvent::UserPrompt,
        report("please make the cart total right with two coupons"),
    )
    .await;
    hook(HookEvent::PostTool, ran("cargo test cart", false, "")).await;
    for name in ["login", "stock", "mail"] {
        let said = format!("{name}::expires FAILED");
        let failed = ran(&format!("cargo test {name}"), false, &said);
        hook(HookEvent::PostTool, failed).await;
    }
    hook(HookEvent::PostTool, ran("cargo test cart", true, "")).await;
    let committed = "[main 1a2b3c4] Count each coupon once";
    hook(HookEvent::PostTool, ran("git commit -m x", true, committed)).await;
    let said =
        "Thanks! We decided to count coupons per cart because two shops share it. Shall I go on?";
    hook(HookEvent::Stop, report(said)).await;
    hook(HookEvent::SessionEnd, report("")).await;
    let begun = hook(
        HookEvent::SessionStart,
        HookReport {
            session: "two".to_owned(),
            ..report("")
        },
    );
    let begun = begun.await;
    let lines = parse_quoted_lines(&begun).unwrap();
    assert!(lines.len() <= 7, "{begun}");
    for part in [
        "Open: `cargo test login` failed",
        "Open: `cargo test stock` failed",
        "Open: `cargo test mail` failed",
        "Last session: Committed [main 1a2b3c4] Count each coupon once",
        "We decided to count coupons per cart",
    ] {
        assert!(begun.contains(part), "{part}: {begun}");
    }
    for part in ["please make", "cart` failed", "Thanks", "Shall I"] {
        assert!(!begun.contains(part), "{part}: {begun}");
    }
    memories.shut_down().await;
}
