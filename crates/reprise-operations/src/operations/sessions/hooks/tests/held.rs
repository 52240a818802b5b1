//! What holds in a project begins its sessions: all its rules, what is left to do until it is done,
//! and nothing that was replaced.

use super::ruled::{Hooks, report, start_hooks};
use super::*;
use crate::operations::lessons::{Learn, Lesson};

const RULES: [&str; 9] = [
    "Wir verwenden hier immer uv, nie pip.",
    "Niemals direkt auf der Produktionsdatenbank testen!",
    "Wir loggen immer mit structlog, nie mit print.",
    "Jede Funktion braucht Typannotationen.",
    "Ab jetzt nur noch UTC-Zeitstempel in der Datenbank.",
    "Preise rechnen wir immer in Cent.",
    "Keine Merges ohne Review.",
    "Tests liegen immer unter tests/, nie neben dem Code.",
    "Wir benutzen immer Ruff als Linter.",
];

impl Hooks {
    async fn say(&self, session: &str, text: &str) {
        let said = report(session, "shop", text);
        let said = self.memory.handle_hook(HookEvent::Stop, said);
        said.await.unwrap();
    }

    async fn run_command(&self, session: &str, command: &str, passed: bool) {
        let ran = HookReport {
            command: command.to_owned(),
            succeeded: Some(passed),
            ..report(session, "shop", "")
        };
        let ran = self.memory.handle_hook(HookEvent::PostTool, ran);
        ran.await.unwrap();
    }

    async fn end_session(&self, session: &str) {
        let over = report(session, "shop", "");
        let over = self.memory.handle_hook(HookEvent::SessionEnd, over);
        over.await.unwrap();
    }
}

#[tokio::test]
async fn a_session_begins_with_every_rule_and_not_with_what_took_note_of_them() {
    let (_folder, memories, hooks) = start_hooks().await;
    for rule in RULES {
        hooks.tell("one", rule).await;
        hooks
            .say("one", "Verstanden, das mache ich ab jetzt so.")
            .await;
    }
    hooks
        .say("one", "Understood, I will open a PR for each change.")
        .await;
    hooks.end_session("one").await;
    let begun = hooks.begin("two").await;
    for rule in RULES {
        assert_eq!(begun.matches(rule).count(), 1, "{rule}: {begun}");
    }
    assert!(!begun.contains("Verstanden"), "{begun}");
    assert!(!begun.contains("Understood"), "{begun}");
    assert!(begun.contains("Reprise: 9 rules; "), "{begun}");
    // The rules are the first lines, and no id costs more than they do.
    let lines: Vec<&str> = begun.lines().collect();
    let first = lines.iter().position(|line| line.contains("Rule: "));
    assert_eq!(first, Some(3), "{begun}");
    assert!(begun.len() < 900, "{begun}");
    memories.shut_down().await;
}

pub(super) const THINGS: [&str; 48] = [
    "acorn", "anchor", "basket", "beacon", "bottle", "bucket", "candle", "carpet", "cellar",
    "cherry", "circle", "cotton", "dragon", "engine", "falcon", "feather", "forest", "garden",
    "hammer", "harbor", "island", "jacket", "kettle", "ladder", "lantern", "lemon", "magnet",
    "meadow", "mirror", "needle", "orchid", "paddle", "pepper", "pillow", "pocket", "quartz",
    "rabbit", "ribbon", "saddle", "silver", "spider", "temple", "ticket", "tunnel", "velvet",
    "walnut", "window", "winter",
];

#[tokio::test]
async fn a_beginning_says_how_many_rules_it_leaves_out_and_prompts_get_those() {
    let (_folder, memories, hooks) = start_hooks().await;
    let rule =
        |thing: &str| format!("Never edit the generated {thing} tables of the archive by hand.");
    for thing in THINGS {
        hooks.tell(thing, &rule(thing)).await;
    }
    let begun = hooks.begin("now").await;
    let told = begun.matches("Rule: ").count();
    assert!((12..THINGS.len()).contains(&told), "{begun}");
    let lines: Vec<&str> = begun.lines().collect();
    let last = lines[lines.len() - 2];
    let left_out = THINGS.len() - told;
    assert_eq!(
        last,
        format!("{left_out} more rules: `reprise list --rules`")
    );
    let is_in = |text: &str, thing: &&str| text.contains(&rule(thing));
    let missing: Vec<&str> = THINGS
        .into_iter()
        .filter(|thing| !is_in(&begun, thing))
        .collect();
    assert_eq!(missing.len(), left_out);
    let concerned = missing[0];
    let asked = format!("why do the generated {concerned} tables of the archive differ");
    let given = hooks.ask("now", &asked).await;
    assert!(is_in(&given, &concerned), "{given}");
    // A prompt that orders work gets some of the others, and each once.
    let mut all = [begun, given].concat();
    for number in 0..THINGS.len() {
        let order = format!("Installiere bitte das Paket requests{number}");
        all.push_str(&hooks.ask("now", &order).await);
    }
    for thing in THINGS {
        assert_eq!(all.matches(&rule(thing)).count(), 1, "{thing}: {all}");
    }
    // What the session began with is told as it was received.
    memories.shut_down().await;
}

#[tokio::test]
async fn nothing_that_was_replaced_begins_a_session_however_the_replacements_were_said() {
    for chain in [
        [
            "We decided to stay on npm.",
            "from now on we use pnpm here, npm is gone.",
            "forget the rule about pnpm, we use bun now",
        ],
        [
            "We decided to use Jenkins for the builds.",
            "From now on we use Drone for the builds, Jenkins is out.",
            "The rule about Drone no longer applies, we use Woodpecker now.",
        ],
        [
            "Wir haben uns f\u{fc}r ReportLab entschieden, Geschwindigkeit geht vor.",
            "Ab sofort nehmen wir WeasyPrint statt ReportLab, das Layout ist wichtiger.",
            "Vergiss die Regel mit WeasyPrint, wir nehmen jetzt Typst.",
        ],
        [
            "Wir haben entschieden, bei Jenkins zu bleiben.",
            "Ab jetzt nutzen wir hier Drone, Jenkins ist weg.",
            "Vergiss die Regel mit Drone, wir nehmen jetzt Woodpecker.",
        ],
    ] {
        let (_folder, memories, hooks) = start_hooks().await;
        for (number, said) in chain.into_iter().enumerate() {
            let session = format!("session {number}");
            hooks.tell(&session, said).await;
            hooks.end_session(&session).await;
        }
        let begun = hooks.begin("now").await;
        assert!(begun.contains(chain[2]), "{begun}");
        for over in &chain[..2] {
            assert!(!begun.contains(over), "{over}: {begun}");
        }
        memories.shut_down().await;
    }
}

#[tokio::test]
async fn a_part_that_fails_is_open_until_the_whole_passes_again() {
    let (_folder, memories, hooks) = start_hooks().await;
    hooks.run_command("one", "cargo test", true).await;
    hooks.run_command("one", "cargo test lag", false).await;
    assert!(hooks.begin("two").await.contains("Open: "));
    hooks.run_command("one", "cargo test", true).await;
    let begun = hooks.begin("three").await;
    assert!(!begun.contains("Open: "), "{begun}");
    hooks.run_command("one", "cargo test lag", false).await;
    let begun = hooks.begin("four").await;
    assert!(begun.contains("Open: "), "{begun}");
    memories.shut_down().await;
}

#[tokio::test]
async fn a_run_that_ends_while_another_one_is_being_stored_is_counted_after_it() {
    let (_folder, memories, hooks) = start_hooks().await;
    hooks.run_command("one", "cargo test", true).await;
    tokio::join!(
        hooks.run_command("one", "cargo test lag", false),
        hooks.run_command("one", "cargo test", true),
    );
    let begun = hooks.begin("two").await;
    assert!(!begun.contains("Open: "), "{begun}");
    memories.shut_down().await;
}

#[tokio::test]
async fn what_is_left_stays_until_an_answer_or_a_commit_is_about_it() {
    let (_folder, memories, hooks) = start_hooks().await;
    let left =
        "The test net::lagcomp still fails. Next: use the RTT of the acked snapshot, not the ping.";
    let first = format!("I implemented the rewind of positions. {left}");
    hooks.say("one", &first).await;
    let other = "Entities are stored in an IndexMap now; iteration is deterministic.";
    hooks.say("one", other).await;
    hooks.end_session("one").await;
    let begun = hooks.begin("two").await;
    assert!(begun.contains(&["Left: ", left].concat()), "{begun}");
    let asked = crate::operations::recall::RecallArguments {
        query: "where did I leave off?".to_owned(),
        ..Default::default()
    };
    let found = placed::recall_answer(&hooks.memory, &asked);
    let found = found.await.unwrap();
    assert!(found.results[0].text.contains(left), "{found:?}");
    hooks
        .say(
            "three",
            "Lag compensation takes the RTT of the acked snapshot now.",
        )
        .await;
    let begun = hooks.begin("four").await;
    assert!(!begun.contains("Left: "), "{begun}");
    // A heading of what is open is enough.
    hooks
        .say(
            "five",
            "Der Import ist fertig. Offen: den Abgleich in Tagesscheiben aufteilen.",
        )
        .await;
    let begun = hooks.begin("six").await;
    assert!(begun.contains("Left: Offen: den Abgleich"), "{begun}");
    memories.shut_down().await;
}

#[tokio::test]
async fn an_edited_rule_stays_a_rule_and_what_a_person_learned_by_hand_is_told() {
    let (_folder, memories, hooks) = start_hooks().await;
    let rule = "Always use vitest's fake timers here instead of sleep.";
    hooks.tell("one", rule).await;
    let corrected = "Use vitest fake timers, except in e2e tests";
    let changes = json!({"text": corrected}).as_object().unwrap().clone();
    let lesson = hooks.lesson(rule).await.to_string();
    hooks.memory.revise(&lesson, changes).await.unwrap();
    let by_hand = "Releases come only from the branch called harvest";
    let learned = Lesson {
        text: Some(by_hand.to_owned()),
        project: Some("shop".to_owned()),
        ..Lesson::default()
    };
    Learn::run(&hooks.memory, learned).await.unwrap();
    for number in 0..12 {
        let cause = format!("The root cause was the stale lock of worker {number} in the queue.");
        hooks.say(&format!("later {number}"), &cause).await;
        hooks.end_session(&format!("later {number}")).await;
    }
    let begun = hooks.begin("two").await;
    assert!(begun.contains(&["Rule: ", corrected].concat()), "{begun}");
    assert!(begun.contains(by_hand), "{begun}");
    assert!(!begun.contains(rule), "{begun}");
    memories.shut_down().await;
}

#[tokio::test]
async fn who_asks_which_rules_there_are_is_told_all_that_hold() {
    let (_folder, memories, hooks) = start_hooks().await;
    for rule in RULES {
        hooks.tell("one", rule).await;
    }
    hooks
        .tell("two", "Merges ohne Review sind wieder erlaubt.")
        .await;
    let asked = crate::operations::recall::RecallArguments {
        query: "what rules do we have in this project".to_owned(),
        ..Default::default()
    };
    let found = placed::recall_answer(&hooks.memory, &asked);
    let found = found.await.unwrap();
    let shown = found.results.iter().filter(|hit| hit.shown);
    let shown: Vec<&str> = shown.map(|hit| hit.text.as_str()).collect();
    for rule in RULES {
        let holds = rule != "Keine Merges ohne Review.";
        assert_eq!(shown.contains(&rule), holds, "{rule}: {shown:?}");
    }
    memories.shut_down().await;
}
