//! A labelled suite, generated: duplicates in other clothes, pairs that differ in one thing that
//! matters, contradictions; and plans over a real engine, done and undone.

use std::sync::Arc;

use chrono::Duration;
use reprise_engine::EngineOptions;
use reprise_store::RealDisk;
use reprise_types::{
    ExternalId, MemoryKind, MemorySource, NewRecord, Retention, WriteOutcome, parse_timestamp,
};
use serde_json::json;

use super::facts::Facts;
use super::judge::{Judgement, judge_statements};
use super::*;

mod asked;
mod changed;
mod claims;
mod holding;
mod marks;
mod planning;

fn judge_texts(one: &str, other: &str) -> Judgement {
    judge_statements(&Facts::of(one), &Facts::of(other))
}

const THINGS: &[(&str, &str)] = &[
    ("payment service", "orders table"),
    ("login page", "session cache"),
    ("search index", "nightly job"),
    ("mail worker", "retry queue"),
    ("billing report", "ledger export"),
    ("image resizer", "upload bucket"),
    ("feature flag store", "admin panel"),
    ("audit log", "retention rule"),
    ("release script", "staging cluster"),
    ("metrics agent", "dashboard host"),
];

/// `(one, other)`: the same in other clothes.
fn duplicates() -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (thing, other) in THINGS {
        let plain = format!("The {thing} reads the {other} when it starts.");
        pairs.push((plain.clone(), plain.to_uppercase().to_lowercase()));
        pairs.push((
            plain.clone(),
            format!("the {thing} reads the {other} when it starts"),
        ));
        pairs.push((
            plain.clone(),
            format!("When it starts, the {thing} reads the {other}"),
        ));
        pairs.push((
            plain.clone(),
            format!("Note: the {thing} just reads the {other} when it starts!"),
        ));
        pairs.push((
            format!("The config of the {thing} requires 3 retries."),
            format!("The configuration of the {thing} needs three retries"),
        ));
        pairs.push((
            format!("Remove the {other} folder before deploying the {thing}."),
            format!("Before deploying the {thing}, delete the {other} directory."),
        ));
        pairs.push((
            format!("Run `make check` if the {thing} shows errors"),
            format!("If the {thing} shows errors, run make check."),
        ));
        pairs.push((
            format!("The {thing} lives in ops/deploy.sh near the {other}"),
            format!("The {thing} is located in ops/deploy.sh, near the {other}."),
        ));
    }
    pairs
}

/// One thing that matters differs; which, and the pair. `T` and `O` are things.
const NEAR_MISSES: &[(&str, &str, &str)] = &[
    (
        "number",
        "Merged PR <n> into the T",
        "Merged PR <m> into the T",
    ),
    (
        "number",
        "The T failed <n> times in the O",
        "The T failed <m> times in the O",
    ),
    (
        "number word",
        "The T keeps two copies of the O",
        "The T keeps three copies of the O",
    ),
    (
        "version",
        "The T was built with v1.<n>.0",
        "The T was built with v1.<n>.1",
    ),
    (
        "name",
        "Yesterday Ada repaired the T",
        "Yesterday Bob repaired the T",
    ),
    (
        "name",
        "ada owns the T and the O",
        "bob owns the T and the O",
    ),
    (
        "identifier",
        "The T calls load_user from auth.rs",
        "The T calls load_users from auth.rs",
    ),
    (
        "identifier",
        "Look for the T in src/a.rs",
        "Look for the T in src/b.rs",
    ),
    ("tense", "The T uses the O", "The T used the O"),
    (
        "tense",
        "The T depends on the O",
        "The T will depend on the O",
    ),
    (
        "tense",
        "We deploy the T on Friday",
        "We deployed the T on Friday",
    ),
    (
        "negation",
        "The T needs the O",
        "The T no longer needs the O",
    ),
    ("question", "Does the T read the O?", "The T reads the O"),
    (
        "relation",
        "The T writes to the O",
        "The T writes about the O",
    ),
    (
        "negation",
        "The T supports the O",
        "The T does not support the O",
    ),
    (
        "negation",
        "Restart the T with the O",
        "Restart the T without the O",
    ),
    ("negation", "The T can read the O", "The T can't read the O"),
    ("degree", "The T must read the O", "The T may read the O"),
    (
        "degree",
        "All tests of the T pass",
        "Some tests of the T pass",
    ),
    ("role", "The T calls the O", "The O calls the T"),
    ("detail", "The T reads the O", "The T reads the O on Linux"),
    (
        "thing",
        "The T reads the postgres database",
        "The T reads the mysql database",
    ),
    (
        "beneficiary",
        "Caching is enabled for the T",
        "Caching is enabled for the O",
    ),
    (
        "antonym",
        "Caching is enabled for the T",
        "Caching is disabled for the T",
    ),
];

/// Pairs that cannot both hold.
const CONTRADICTIONS: &[(&str, &str)] = &[
    (
        "The timeout of the T is <n> seconds",
        "The timeout of the T is <m> seconds",
    ),
    ("The T listens on port 80<n>", "The T listens on port 80<m>"),
    ("The T requires Node <n>", "The T requires Node <m>"),
    ("The owner of the T is Ada", "The owner of the T is Bob"),
    (
        "The default branch of the T is main",
        "The default branch of the T is trunk",
    ),
    ("The T supports the O", "The T does not support the O"),
    (
        "Caching is enabled for the T",
        "Caching is disabled for the T",
    ),
    (
        "Always restart the T after the O",
        "Never restart the T after the O",
    ),
    ("The T is written in Rust", "The T is written in Go"),
    ("We use Postgres for the T", "We use MySQL for the T"),
];

fn fill_template(template: &str, number: usize) -> String {
    let (thing, other) = THINGS[number % THINGS.len()];
    let words = template.split(' ').map(|word| match word {
        "T" => thing.to_owned(),
        "O" => other.to_owned(),
        word => word
            .replace("<n>", &(30 + number).to_string())
            .replace("<m>", &(60 + number).to_string()),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn near_misses() -> Vec<(&'static str, String, String)> {
    let pairs = (0..THINGS.len()).flat_map(|number| {
        let fill = move |(what, one, other): &(&'static str, &str, &str)| {
            (
                *what,
                fill_template(one, number),
                fill_template(other, number),
            )
        };
        NEAR_MISSES.iter().map(fill)
    });
    pairs.collect()
}

fn contradictions() -> Vec<(String, String)> {
    let pairs = (0..THINGS.len()).flat_map(|number| {
        let fill = move |(one, other): &(&str, &str)| {
            (fill_template(one, number), fill_template(other, number))
        };
        CONTRADICTIONS.iter().map(fill)
    });
    pairs.collect()
}

#[test]
fn the_labelled_suite_holds_its_figures() {
    let duplicates = duplicates();
    let missed: Vec<_> = duplicates
        .iter()
        .filter(|(a, b)| judge_texts(a, b) != Judgement::Same)
        .collect();
    let near = near_misses();
    let wrong: Vec<_> = near
        .iter()
        .filter(|(_, a, b)| judge_texts(a, b) == Judgement::Same)
        .collect();
    let contrary = contradictions();
    let is_contrary = |a: &str, b: &str| matches!(judge_texts(a, b), Judgement::Contradiction(_));
    let unflagged: Vec<_> = contrary
        .iter()
        .filter(|(a, b)| !is_contrary(a, b))
        .collect();
    // These kinds of near misses are contradictions as well.
    let both = ["negation", "antonym", "number word"];
    let alarms: Vec<_> = near
        .iter()
        .filter(|(what, a, b)| !both.contains(what) && is_contrary(a, b))
        .collect();
    let flagged = contrary.len() - unflagged.len();
    println!("not flagged: {unflagged:?}");
    println!(
        "duplicates {}/{}, false merges {}/{}, contradictions {}/{}, false alarms {}",
        duplicates.len() - missed.len(),
        duplicates.len(),
        wrong.len(),
        near.len(),
        flagged,
        contrary.len(),
        alarms.len()
    );
    assert!(wrong.is_empty(), "merged wrongly: {wrong:#?}");
    assert!(
        missed.len() * 20 <= duplicates.len(),
        "not merged: {missed:#?}"
    );
    assert!(
        unflagged.len() * 5 <= contrary.len(),
        "not flagged: {unflagged:#?}"
    );
    assert!(alarms.len() * 9 <= flagged, "false alarms: {alarms:#?}");
}

#[test]
fn what_is_so_has_one_measure_and_what_happened_has_many() {
    let contrary = [
        ("The backups of the T are kept for <n> days", "<m>"),
        ("The T retries a failed request <n> times", "<m>"),
        ("Sessions of the T expire after <n> minutes", "<m>"),
    ];
    let both_hold = [
        ("The T failed <n> times in the O", "<m>"),
        ("The T took <n> seconds", "<m>"),
        ("Waited <n> minutes for the T", "<m>"),
        ("The T grew by <n> MB over night", "<m>"),
    ];
    let cases = contrary.map(|case| (case, true)).into_iter();
    for ((text, other), expected) in cases.chain(both_hold.map(|case| (case, false))) {
        let one = fill_template(text, 3);
        let other = fill_template(&text.replace("<n>", other), 3);
        let is_contrary = matches!(judge_texts(&one, &other), Judgement::Contradiction(_));
        assert_eq!(is_contrary, expected, "{one} / {other}");
    }
    // A word that may be a label is a value if no number follows it.
    let branch = |name: &str| format!("The login page is deployed from the branch {name}");
    assert!(matches!(
        judge_texts(&branch("release"), &branch("stable")),
        Judgement::Contradiction(_)
    ));
    // A name that ends like a verb is none.
    let port = |port: &str| format!("The Tampere Quarles booking page listens on port {port}");
    assert!(matches!(
        judge_texts(&port("860"), &port("875")),
        Judgement::Contradiction(_)
    ));
    let build = "The login page is deployed from build";
    let builds = [30, 60].map(|number| format!("{build} {number}"));
    assert!(!matches!(
        judge_texts(&builds[0], &builds[1]),
        Judgement::Contradiction(_)
    ));
}

struct Bench {
    _folder: tempfile::TempDir,
    engine: Engine,
    now: DateTime<Utc>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now = parse_timestamp("2026-03-01T09:00:00Z").unwrap();
        let mut options = EngineOptions::new(8, 42, now);
        options.create = true;
        let path = folder.path().join("memory.rvf");
        let engine = Engine::open(Arc::new(RealDisk), &path, &options).unwrap().0;
        Self {
            _folder: folder,
            engine,
            now,
        }
    }

    fn observe(&mut self, records: Vec<NewRecord>) -> Vec<RecordId> {
        self.now += Duration::seconds(1);
        let outcomes = self.engine.observe(records, None, self.now).unwrap();
        let id = |outcome: WriteOutcome| match outcome {
            WriteOutcome::Inserted { id } => id,
            other => panic!("expected an insertion, got {other:?}"),
        };
        outcomes.into_iter().map(id).collect()
    }

    /// Returns all live records as text.
    fn text_of_live_records(&self) -> String {
        let memory = self.engine.snapshot();
        let records = memory
            .records()
            .map(|record| serde_json::to_string(&record.unwrap()).unwrap());
        records.collect::<Vec<_>>().join("\n")
    }

    fn consolidate(&mut self) -> ConsolidationReport {
        self.now += Duration::seconds(1);
        let plan = plan_consolidation(&self.engine.snapshot(), self.now);
        execute_plan(&mut self.engine, plan, self.now).unwrap()
    }
}

fn episode(text: &str) -> NewRecord {
    NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode)
}

#[test]
fn what_is_merged_is_undone_to_the_same_digest() {
    let mut bench = Bench::new();
    let mut tagged = episode("The deploy script lives in ops/deploy.sh.");
    tagged.tags = vec!["ops".to_owned()];
    let ids = bench.observe(vec![
        episode("the deploy script lives in ops/deploy.sh"),
        tagged,
        episode("The deploy script is located in ops/deploy.sh"),
        episode("Reviewed PR 260 for the payment service"),
        episode("Reviewed PR 480 for the payment service"),
        episode("The timeout of the login page is 30 seconds"),
        episode("The timeout of the login page is 90 seconds"),
        episode("ok"),
        episode("ok"),
    ]);
    let before = bench.text_of_live_records();
    let done = bench.consolidate();
    let merged = &done.plan.merged;
    assert_eq!(merged.len(), 1, "{merged:?}");
    // The one with a tag stays, so that nothing is lost to a tag filter.
    assert_eq!((merged[0].kept, merged[0].gone.len()), (ids[1], 2));
    let pairs: Vec<[RecordId; 2]> = done.plan.review.iter().map(|pair| pair.pair).collect();
    assert_eq!(pairs, [[ids[3], ids[4]]]);
    let contrary = &done.plan.contradictions;
    assert_eq!((contrary.len(), contrary[0].newest), (1, ids[6]));
    assert_ne!(bench.text_of_live_records(), before);
    assert!(
        bench.consolidate().plan.merged.is_empty(),
        "a second time there is nothing to do"
    );
    let acted = list_actions(&bench.engine.snapshot());
    assert_eq!((acted.len(), acted[0].merged.len()), (1, 2));
    assert_eq!(acted[0].contradictions, [[ids[5], ids[6]]]);
    let action = done.action.unwrap();
    let undone = undo_action(&mut bench.engine, &action, bench.now).unwrap();
    assert_eq!(undone.restored.len(), 2);
    assert_eq!(undone.contradictions, [[ids[5], ids[6]]]);
    assert_eq!(bench.text_of_live_records(), before);
    assert!(
        undo_action(&mut bench.engine, &action, bench.now)
            .unwrap()
            .is_empty()
    );
    assert!(list_actions(&bench.engine.snapshot())[0].undone);
    let again = bench.consolidate();
    assert!(
        again.plan.merged.is_empty() && again.action.is_none(),
        "what was undone is not done again"
    );
    assert_eq!(again.plan.contradictions.len(), 1, "it waits for a review");
    // A person kept the newer of two that contradict each other, and takes that back.
    bench.engine.retire(&[(ids[5], ids[6])], bench.now).unwrap();
    assert!(bench.consolidate().plan.contradictions.is_empty());
    undo_action(&mut bench.engine, &ids[5].to_string(), bench.now).unwrap();
    let again = bench.consolidate();
    assert_eq!(again.plan.contradictions.len(), 1, "it waits again");
    assert_eq!(bench.text_of_live_records(), before);
    // One alone.
    bench.engine.retire(&[(ids[0], ids[1])], bench.now).unwrap();
    undo_action(&mut bench.engine, &ids[0].to_string(), bench.now).unwrap();
    assert!(bench.consolidate().plan.merged.is_empty());
    assert_eq!(bench.text_of_live_records(), before);
    assert!(bench.engine.check().unwrap().is_sound());
}

#[test]
fn what_recurs_in_sessions_is_told_once_and_taken_back_with_its_action() {
    let mut bench = Bench::new();
    let in_session = |session: &str, text: &str| {
        let mut record = episode(text);
        record.session_id = session.to_owned();
        record
    };
    let ids = bench.observe(vec![
        in_session("mon", "The deploy script fails without the VPN."),
        in_session("tue", "the deploy script fails without the VPN"),
        in_session("wed", "The deploy script just fails without the VPN!"),
        in_session("mon", "The search index is rebuilt at night"),
        in_session("mon", "the search index is rebuilt at night"),
    ]);
    let before = bench.text_of_live_records();
    let done = bench.consolidate();
    assert_eq!((done.distilled.len(), done.plan.merged.len()), (1, 2));
    let made = done.distilled[0];
    let record = bench.engine.snapshot().get(made).unwrap().unwrap();
    assert!(record.text.starts_with("The deploy script"), "{record:?}");
    assert!(record.text.contains("said 3 times in 3 sessions"));
    assert_eq!(record.kind, MemoryKind::Pattern);
    let sources = record.body.details.unwrap()["from"].clone();
    assert_eq!(sources, json!(ids[..3]));
    assert_eq!(bench.engine.snapshot().sources(made).len(), 3);
    assert!(bench.consolidate().distilled.is_empty());
    let action = done.action.unwrap();
    let undone = undo_action(&mut bench.engine, &action, bench.now).unwrap();
    assert_eq!((undone.restored.len(), undone.withdrawn), (3, vec![made]));
    assert_eq!(bench.text_of_live_records(), before);
    // What is forgotten takes along what was made of it, and shows that before.
    let done = bench.consolidate();
    assert!(done.distilled.is_empty(), "what was withdrawn stays so");
    let memory = bench.engine.snapshot();
    let selector = reprise_engine::ForgetSelector::Id(ids[0]);
    let would = bench.engine.snapshot().preview_forget(&selector);
    assert!(would.contains(&made) && memory.get_stored(made).is_some());
    let gone = bench.engine.forget(&selector, "asked", bench.now).unwrap();
    assert_eq!(gone.len(), would.len());
    assert!(bench.engine.snapshot().get_stored(made).is_none());
}

#[test]
fn two_projects_or_people_may_say_the_same_and_mean_their_own() {
    let mut bench = Bench::new();
    let of = |key: &str, value: &str| {
        let mut record = episode("The default port is 8080 for the server");
        record.metadata.insert(key.to_owned(), json!(value));
        record
    };
    let mut commit = episode("The default port is 8080 for the server");
    commit.external_ids = vec![ExternalId::new(ExternalId::GIT, "abc")];
    let mut other = episode("The default port is 8080 for the server");
    other.tags = vec!["project:x".to_owned()];
    bench.observe(vec![
        of("project", "a"),
        of("project", "b"),
        of("speaker", "Ada"),
        commit,
        other,
    ]);
    let plan = plan_consolidation(&bench.engine.snapshot(), bench.now);
    assert_eq!(
        (
            plan.merged.len(),
            plan.review.len(),
            plan.contradictions.len()
        ),
        (0, 0, 0)
    );
}

#[test]
fn what_had_its_time_is_purged_unless_it_speaks_for_itself() {
    let mut bench = Bench::new();
    let scratch = |text: &str| {
        let mut record = episode(text);
        record.retention = Retention::Scratch { ttl_seconds: 60 };
        record
    };
    let mut good = scratch("the run went well");
    good.quality_score = Some(0.9);
    let mut expired = episode("the key of today");
    expired
        .metadata
        .insert("expires_at".to_owned(), json!("2026-02-28"));
    let mut decision = expired.clone();
    decision.text = "we chose the first key".to_owned();
    decision.details = Some(json!({ "type": "decision" }));
    let ids = bench.observe(vec![
        scratch("a buffer"),
        good,
        expired,
        scratch("linked to"),
        episode("it"),
        decision,
    ]);
    bench
        .engine
        .link(ids[4], ids[3], "about", bench.now)
        .unwrap();
    let early = plan_consolidation(&bench.engine.snapshot(), bench.now);
    assert_eq!(early.purged, [ids[2]]);
    bench.now += Duration::minutes(2);
    let done = bench.consolidate();
    assert_eq!(done.plan.purged, [ids[0], ids[2]]);
    assert_eq!(done.plan.promoted, [ids[1], ids[3], ids[5]]);
    assert!(bench.engine.snapshot().get(ids[0]).is_none());
    // It can be restored, and stays then; the other one is forgotten a week later.
    let undone = undo_action(&mut bench.engine, &ids[2].to_string(), bench.now).unwrap();
    assert_eq!(undone.restored, [ids[2]]);
    bench.now += Duration::days(6);
    bench.consolidate();
    assert!(bench.engine.snapshot().get_stored(ids[0]).is_some());
    bench.now += Duration::days(2);
    assert_eq!(bench.consolidate().plan.purged, []);
    let memory = bench.engine.snapshot();
    assert!(memory.get(ids[2]).is_some() && memory.get_stored(ids[0]).is_none());
    assert!(bench.engine.check().unwrap().is_sound());
}

#[test]
fn many_records_are_looked_through_without_comparing_all_with_all() {
    let mut bench = Bench::new();
    let mut records = Vec::new();
    for number in 0..700 {
        let (thing, other) = THINGS[number % THINGS.len()];
        records.push(episode(&format!(
            "The {thing} number k{number} reads the {other} at w{number}"
        )));
        records.push(episode(&format!(
            "the {thing} number k{number} reads the {other} at w{number}!"
        )));
    }
    for part in records.chunks(500) {
        bench.observe(part.to_vec());
    }
    let plan = plan_consolidation(&bench.engine.snapshot(), bench.now);
    assert!(plan.merged.len() >= 665, "{} of 700", plan.merged.len());
    assert!(
        plan.merged.iter().all(|merge| merge.gone.len() == 1),
        "no two meet by chance"
    );
}
