//! What the beginning of a session says of how the last one ended: what was done, and what is left.

use super::placed::recall_answer;
use super::*;
use crate::operations::recall::RecallArguments;
use crate::testing::Ada;

fn report(session: &str, text: &str) -> HookReport {
    HookReport {
        text: text.to_owned(),
        project: "shop".to_owned(),
        ..prompt(session)
    }
}

/// Ends a session with these answers, after a file was edited, and returns what the next one
/// begins with; what it received is noted word for word.
async fn begin_after_answers(answers: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let hook = async |event, session: &str, text: &str| {
        let answer = memory.handle_hook(event, report(session, text)).await;
        answer.unwrap().context
    };
    let edited = HookReport {
        files: vec!["webhooks.py".to_owned()],
        ..report("before", "")
    };
    memory
        .handle_hook(HookEvent::PostTool, edited)
        .await
        .unwrap();
    for answer in answers {
        hook(HookEvent::Stop, "before", answer).await;
    }
    hook(HookEvent::SessionEnd, "before", "").await;
    let begun = hook(HookEvent::SessionStart, "now", "").await;
    let asked = "list the ten biggest stores by their revenue of May";
    hook(HookEvent::UserPrompt, "now", asked).await;
    let opening = memory.run_on_snapshot(|snapshot| {
        let (all, _) = list_prompts(snapshot, Some("now"), 1, None);
        let record = snapshot.get(all[0].id).unwrap().unwrap();
        let opening = replay_prompt(snapshot, &record).opening;
        opening.map_or_else(String::new, |opening| opening.text)
    });
    assert_eq!(opening.await.unwrap(), begun);
    memories.shut_down().await;
    begun
}

#[tokio::test]
async fn what_is_left_to_do_has_a_line_of_its_own_in_place_of_edited_files() {
    let done = "I added the handler for refund webhooks, and four of five tests pass.";
    for left in [
        "test_refund_signature still fails: Flask's request.get_json() re-serialises the body.",
        "Next: read the raw bytes of the request in the signature test.",
        "TODO: verify the signature of the raw body.",
        "What is left is the signature test of the refunds.",
        "The retry of the refund job remains to be written.",
        "The signature test of the refunds is not done yet.",
        "I'll continue with the signature of the raw body next time.",
    ] {
        let begun = begin_after_answers(&[&[done, left].join(" ")]).await;
        let line = begun.lines().find(|line| line.contains("Left: "));
        let line = line.unwrap_or_else(|| panic!("{left}: {begun}"));
        let told = left.split([':', '(']).next().unwrap_or(left);
        assert!(line.contains(told), "{left}: {begun}");
        assert!(!begun.contains("Edited webhooks.py"), "{left}: {begun}");
        assert!(begun.contains(done), "{left}: {begun}");
        assert!(!line.contains(done), "{left}: {begun}");
    }
}

#[tokio::test]
async fn what_is_left_and_what_was_done_are_found_in_german_answers() {
    let thought = "Der Test war bisher nur auf Windows rot.";
    for (done, left) in [
        (
            "Ich habe das Schema auf Gramm umgestellt.",
            "Noch offen: Der Z\u{e4}hler ist nicht angebunden.",
        ),
        (
            "Wir haben den Warenkorb nach Redis verschoben.",
            "Es fehlt noch der Test f\u{fc}r die Gutschriften.",
        ),
        (
            "Der Speicher wurde auf zwei Server verteilt.",
            "Als n\u{e4}chstes muss der Cache geleert werden.",
        ),
        (
            "Ich habe die Umrechnung in die Oberfl\u{e4}che verlegt.",
            "Der Export schl\u{e4}gt noch fehl, weil die Datei fehlt.",
        ),
    ] {
        let begun = begin_after_answers(&[&[thought, done, left].join(" ")]).await;
        assert!(
            begun.contains(&["Last session: ", done].concat()),
            "{begun}"
        );
        assert!(begun.contains(&["Left: ", left].concat()), "{begun}");
    }
    let begun =
        begin_after_answers(&["Ich habe alles nach Redis verschoben. Nichts ist noch offen."])
            .await;
    assert!(!begun.contains("Left: "), "{begun}");
}

#[tokio::test]
async fn who_asks_what_is_left_to_do_is_told_it_first() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let hook = async |event, report: HookReport| memory.handle_hook(event, report).await.unwrap();
    let left = "test_refund_signature still fails: Flask re-serialises the body of the request.";
    let done = "I added the handler for refund webhooks, and four of five tests pass.";
    let other = HookReport {
        project: "mail".to_owned(),
        ..report(
            "other",
            "I moved the mail templates. The footer is still missing in two of them.",
        )
    };
    hook(HookEvent::Stop, report("before", &[done, left].join(" "))).await;
    let ran = HookReport {
        command: "cargo test carts".to_owned(),
        succeeded: Some(false),
        ..report("before", "")
    };
    hook(HookEvent::PostTool, ran).await;
    hook(HookEvent::Stop, other).await;
    for (question, first, next) in [
        ("what is left to do in shop", left, "cargo test carts"),
        ("which test still fails in shop", left, "cargo test carts"),
        ("what's left in mail?", "The footer is still missing", ""),
        ("what is next?", "The footer is still missing", ""),
    ] {
        let asked = RecallArguments {
            query: question.to_owned(),
            ..RecallArguments::default()
        };
        let answer = recall_answer(&memory, &asked).await.unwrap();
        let texts: Vec<&str> = answer.results.iter().map(|hit| hit.text.as_str()).collect();
        assert!(texts[0].contains(first), "{question}: {texts:?}");
        assert!(answer.results[0].shown, "{question}: {answer:?}");
        assert!(
            next.is_empty() || texts[1].contains(next),
            "{question}: {texts:?}"
        );
        assert_eq!(answer.verdict, RelevanceVerdict::Relevant, "{question}");
    }
    memories.shut_down().await;
}

#[tokio::test]
async fn what_is_left_elsewhere_is_told_where_the_last_project_left_nothing() {
    let ada = Ada::new().await;
    let memory = ada.memory();
    let left = "The footer of the mail is still missing in two templates.";
    memory
        .handle_hook(HookEvent::Stop, report("before", left))
        .await
        .unwrap();
    let later = HookReport {
        project: "bakery".to_owned(),
        ..report(
            "later",
            "I moved the ovens of the bakery to their own table.",
        )
    };
    memory.handle_hook(HookEvent::Stop, later).await.unwrap();
    let ask = async |query: &str| {
        let asked = RecallArguments {
            query: query.to_owned(),
            ..RecallArguments::default()
        };
        let answer = recall_answer(&memory, &asked).await.unwrap();
        answer.results.first().map(|hit| hit.text.clone())
    };
    assert_eq!(ask("what is left to do here").await.as_deref(), Some(left));
    let named = ask("what is left to do in bakery").await;
    assert!(named.is_none_or(|text| text != left));
}

#[tokio::test]
async fn what_is_left_is_told_first_whatever_the_limit() {
    let ada = Ada::new().await;
    let memory = ada.memory();
    let left = "test_refund_signature still fails: Flask re-serialises each body.";
    let answer = HookReport {
        project: "acme-billing".to_owned(),
        ..report(
            "before",
            &["I wrote a handler for refunds.", left].join(" "),
        )
    };
    memory.handle_hook(HookEvent::Stop, answer).await.unwrap();
    for number in 0..24 {
        let text = format!("Warehouse {number} keeps stock files under data/{number}.csv");
        ada.call("learn", json!({ "text": text })).await;
    }
    for question in [
        "what is left to do in acme-billing",
        "what is left to do in acme billing?",
        "which test still fails in acme-billing",
        "what is open in acme-billing",
        "what should I do next",
        "where did I leave off in acme-billing",
        "where did we leave off",
        "was ist in acme-billing noch offen",
        "wo habe ich aufgeh\u{f6}rt",
    ] {
        let mut before: Vec<String> = Vec::new();
        for limit in 1..=20 {
            let asked = RecallArguments {
                query: question.to_owned(),
                limit: Some(limit),
                ..RecallArguments::default()
            };
            let answer = recall_answer(&memory, &asked).await.unwrap();
            let first = &answer.results[0];
            assert!(first.text.contains(left), "{question} {limit}: {answer:?}");
            assert!(first.shown, "{question} {limit}: {answer:?}");
            assert_eq!(
                answer.verdict,
                RelevanceVerdict::Relevant,
                "{question} {limit}"
            );
            let ids: Vec<String> = answer
                .results
                .iter()
                .map(|hit| hit.id.to_string())
                .collect();
            assert!(ids.starts_with(&before), "{question} {limit}");
            before = ids;
        }
    }
}

#[tokio::test]
async fn an_outcome_may_name_what_was_put_before_the_ranked_results() {
    let ada = Ada::new().await;
    let memory = ada.memory();
    let left = "The signature of the refunds is not done yet for Flask.";
    memory
        .handle_hook(HookEvent::Stop, report("before", left))
        .await
        .unwrap();
    for number in 0..8 {
        let note = format!("What is left to do in the shop of room {number}: sweep the floor.");
        ada.call("learn", json!({ "text": note })).await;
    }
    let asked = RecallArguments {
        query: "what is left to do in shop".to_owned(),
        limit: Some(1),
        ..RecallArguments::default()
    };
    let answer = recall_answer(&memory, &asked).await.unwrap();
    assert_eq!(answer.results[0].text, left);
    let used = OutcomeLine {
        recall_id: Some(answer.recall_id),
        used: vec![answer.results[0].id.to_string()],
        quality: 1.0,
        ..OutcomeLine::default()
    };
    memory.learn_outcome_at(used, memory.now()).await.unwrap();
}

#[tokio::test]
async fn a_place_that_is_no_project_says_that_something_else_is_asked() {
    let ada = Ada::new().await;
    let memory = ada.memory();
    let left = "The signature of the refunds is not done yet for Flask.";
    memory
        .handle_hook(HookEvent::Stop, report("before", left))
        .await
        .unwrap();
    let asked = RecallArguments {
        query: "what is open in settings".to_owned(),
        ..RecallArguments::default()
    };
    let answer = recall_answer(&memory, &asked).await.unwrap();
    assert_ne!(answer.verdict, RelevanceVerdict::Relevant, "{answer:?}");
}

#[tokio::test]
async fn where_the_work_was_left_is_told_where_nothing_is_left_to_do() {
    let ada = Ada::new().await;
    let memory = ada.memory();
    let done = "I moved the counter to Redis, and all three pods share it now.";
    memory
        .handle_hook(HookEvent::Stop, report("before", done))
        .await
        .unwrap();
    let asked = RecallArguments {
        query: "where did I leave off in shop".to_owned(),
        ..RecallArguments::default()
    };
    let answer = recall_answer(&memory, &asked).await.unwrap();
    assert_eq!(answer.results[0].text, done);
    assert!(answer.results[0].shown, "{answer:?}");
}

#[tokio::test]
async fn what_only_sounds_like_it_is_not_left() {
    let done = "I added the handler for refund webhooks, and it answers within a second.";
    for other in [
        "All of the older webhook tests still pass.",
        "No failures remain in the suite of the webhooks.",
        "Nothing is left to do for the refund webhooks.",
        "I left the old handler of the payments in place.",
        "Should I continue with the signature test next?",
        "The next request of the bank waits for the first one.",
        "Let me know if I should continue with the mail templates.",
    ] {
        let begun = begin_after_answers(&[&[done, other].join(" ")]).await;
        assert!(!begun.contains("Left: "), "{other}: {begun}");
        assert!(begun.contains("Edited webhooks.py"), "{other}: {begun}");
    }
    // The last answer decides: what was left before it may be done.
    let before = "The signature test of the refunds still fails for Flask.";
    let begun = begin_after_answers(&[before, done]).await;
    assert!(!begun.contains("Left: "), "{begun}");
}

#[tokio::test]
async fn the_first_sentence_that_says_something_was_done_tells_how_a_session_ended() {
    let cause = "The limiter kept its counter in process memory, so each pod counted alone.";
    for done in [
        "I moved the counter to Redis, and all three pods share it now.",
        "We have rewritten the counter on top of Redis for all pods.",
        "Moved the counter to Redis, which all three pods share.",
        "The counter has been moved to Redis, which all pods share.",
        "I've put the counter into Redis, which all pods share.",
    ] {
        let begun = begin_after_answers(&[&[cause, done].join(" ")]).await;
        assert!(begun.contains(done), "{done}: {begun}");
        assert!(!begun.contains(cause), "{done}: {begun}");
    }
    // Where nothing says so, the first sentence tells it.
    let begun = begin_after_answers(&[cause]).await;
    assert!(begun.contains(cause), "{begun}");
}
