//! The conductor and its workers with a real memory: results of a run are recalled, and teach.

use std::collections::BTreeSet;

use ractor::ActorCell;
use reprise_global::{
    Caller, CoordinationSettings, EmbeddedOptions, EmbeddedStore, GlobalStore, GlobalTier, Hold,
    Quotas, TierOptions, TwoTierMemory,
};
use reprise_types::{MemoryKind, MemorySource, NewRecord, RunBeginning, RunEnding, SystemClock};
use serde_json::Value;

use super::super::{Before, Event, MapOutcome, MemoryAgentMsg, MemoryService, MemorySupervisorMsg};
use super::*;
use crate::actors::testing::logged;
use crate::actors::{ConductorMsg, Planner, Repertoire, RunReport, RunStatus, WorkerMsg};
use crate::event_bus::EventBusMsg;
use crate::event_relay::EventRelayMsg;
use crate::supervisor::{PerUserMsg, SessionSupervisorMsg, WorkersConfig};

const REPERTOIRE: &str = r#"
[[structure]]
name = "library"
words = ["library", "bridge"]
tested = "src/lib.rs"
item = "x"
check = "y"
[[structure.files]]
path = "src/lib.rs"
text = "a library of {name}"

[[way]]
name = "the wrong way"
says = []
command = "echo 'error: this cannot work'; exit 3"

[[way]]
name = "the right way"
says = []
command = "grep -q clock src/lib.rs && echo fine"
"#;

async fn host_with_workers(folder: &TempDir, memory: &MemoryBridge) -> AppState {
    let planner = Planner::new(Repertoire::from_toml(REPERTOIRE).unwrap());
    let mut workers = WorkersConfig::new(folder.path().join("work"), Arc::new(planner));
    workers.memory_budget = Duration::from_secs(10);
    let config = AppConfig::new(folder.path().join("events.db"), memory.clone());
    AppState::start(AppConfig {
        poll: Duration::from_millis(1),
        workers: Some(workers),
        ..config
    })
    .await
    .unwrap()
}

async fn begun() -> (TempDir, MemoryBridge, AppState) {
    let folder = tempfile::tempdir().unwrap();
    let memory = bridge(&folder);
    let app = host_with_workers(&folder, &memory).await;
    (folder, memory, app)
}

fn note(text: &str) -> NewRecord {
    NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode)
}

async fn events(app: &AppState) -> Vec<Value> {
    let events = logged(app.event_store()).await;
    let value = |event| serde_json::to_value(event).unwrap();
    events.iter().map(value).collect()
}

async fn execute(app: &AppState, memory: &MemoryBridge, objective: &str) -> RunReport {
    let report = app.execute(&ada(), objective, "desk-1").await.unwrap();
    memory.catch_up().await.unwrap().unwrap();
    report
}

/// The qualities of the runs learned from, oldest first, and how many are under way.
async fn taught(memory: &MemoryBridge) -> (Vec<f32>, usize) {
    let (service, user) = (memory.service().unwrap(), ada());
    let told = service.with_engine(&user, |engine| {
        let learning = engine.learning();
        let curve: Vec<f32> = learning.learner().curve().map(|run| run.0).collect();
        (curve, learning.open_runs())
    });
    told.await.unwrap()
}

/// The actors among `all` with messages of type `M`.
fn of_kind<M: ractor::Message>(all: &[ActorCell]) -> Vec<&ActorCell> {
    let understands = |actor: &&ActorCell| actor.is_message_type_of::<M>() == Some(true);
    all.iter().filter(understands).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tree_is_that_of_the_documents() {
    let (_folder, memory, app) = begun().await;
    app.ensure_memory(&ada()).await.unwrap();
    let root = app.ensure_supervisor().await.unwrap().get_children();
    assert_eq!(root.len(), 3, "bus, relay and session: {root:?}");
    assert_eq!(of_kind::<EventBusMsg>(&root).len(), 1);
    assert_eq!(of_kind::<EventRelayMsg>(&root).len(), 1);
    let session = of_kind::<SessionSupervisorMsg>(&root)[0].get_children();
    assert_eq!(session.len(), 5, "{session:?}");
    assert_eq!(of_kind::<PerUserMsg<ConductorMsg>>(&session).len(), 1);
    assert_eq!(of_kind::<PerUserMsg<WorkerMsg>>(&session).len(), 3);
    let agents = of_kind::<MemorySupervisorMsg>(&session)[0].get_children();
    assert_eq!(of_kind::<MemoryAgentMsg>(&agents).len(), 1, "one user");
    // A conductor and its workers live under their supervisors, one for each user.
    execute(&app, &memory, "set up the library `clock`").await;
    let desktop = of_kind::<PerUserMsg<ConductorMsg>>(&session)[0].get_children();
    assert_eq!(of_kind::<ConductorMsg>(&desktop).len(), 1);
    for supervisor in of_kind::<PerUserMsg<WorkerMsg>>(&session) {
        assert_eq!(of_kind::<WorkerMsg>(&supervisor.get_children()).len(), 1);
    }
    app.shut_down().await.unwrap();
}

/// A daemon's memories under the host that it embeds: what dies there, killed or panicking, the
/// host's tree sees and starts again, and the daemon goes on with it (27.7).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemons_memories_are_children_of_the_host_and_started_again_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let daemons = MemoryService::start(config(&folder), None).await.unwrap();
    let own = [note("kept by the daemon")];
    daemons.observe(&ada(), own.into()).await.unwrap();
    let binding = SourceBinding {
        stream: "host".to_owned(),
        user: ada(),
    };
    let mapper = Arc::new(Mapper::builtin().unwrap());
    let memory = MemoryBridge::beside(daemons.clone(), binding, mapper);
    let app = host(&folder, &memory).await;
    append(&app, 0, 2).await;
    let supervisor = async || {
        let root = app.ensure_supervisor().await.unwrap().get_children();
        let session = of_kind::<SessionSupervisorMsg>(&root)[0].get_children();
        of_kind::<MemorySupervisorMsg>(&session).pop().cloned()
    };
    let first = supervisor().await.expect("the daemon's, under the session");
    assert_eq!(Some(first.get_id()), daemons.supervisor_id());
    let agent = || {
        let agents = first.get_children();
        of_kind::<MemoryAgentMsg>(&agents)
            .pop()
            .map(ActorCell::get_id)
    };
    let before = agent().expect("ada's");
    let died = daemons
        .with_engine(&ada(), |_| panic!("told to panic"))
        .await;
    assert!(died.is_err());
    while agent().is_none_or(|now| now == before) {
        tokio::task::yield_now().await;
    }
    let ended = tokio::spawn({
        let daemons = daemons.clone();
        async move { daemons.ended().await }
    });
    #[expect(clippy::disallowed_methods, reason = "the test is about being killed")]
    first.kill();
    while supervisor()
        .await
        .is_none_or(|now| now.get_id() == first.get_id())
    {
        tokio::task::yield_now().await;
    }
    append(&app, 2, 4).await;
    holds(&memory, 5).await;
    assert_eq!(
        supervisor().await.map(|now| now.get_id()),
        daemons.supervisor_id()
    );
    assert!(!ended.is_finished(), "the daemon goes on");
    app.shut_down().await.unwrap();
    assert!(daemons.is_ready().await, "and outlives its host");
    daemons
        .observe(&ada(), vec![note("after it")])
        .await
        .unwrap();
    assert!(daemons.shut_down().await.is_clean());
    ended.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_says_every_documented_topic_and_nothing_that_the_relay_cannot_read() {
    let (_folder, memory, app) = begun().await;
    let done = execute(&app, &memory, "set up the library `clock`").await;
    assert_eq!(done.status, RunStatus::Completed);
    // A second run, so that the researcher has something to find; it fails.
    let failed = execute(&app, &memory, "set up the bridge `arch` beside the clock").await;
    assert_eq!(failed.status, RunStatus::Failed);
    app.judge(&ada(), &done.run_id, true).await.unwrap();
    let mapper = Mapper::builtin().unwrap();
    let mut documented = BTreeSet::new();
    for event in events(&app).await {
        let read = Event::read(event.clone()).unwrap();
        match mapper.map(&read) {
            MapOutcome::Mapped(mapped) => {
                documented.insert(mapped.documented);
            }
            MapOutcome::Ignored { .. } => {}
            other => panic!("{other:?} of {event}"),
        }
    }
    // Each documented topic, as `each_documented_topic_keeps_its_source_and_kind` counts them.
    assert_eq!(documented.len(), 11, "{documented:?}");
    let progress = memory.catch_up().await.unwrap().unwrap();
    assert_eq!((progress.rejected, progress.duplicates), (0, 0));
    app.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_run_knows_what_the_first_one_learned_and_later_news_revise_both() {
    let (folder, memory, app) = begun().await;
    let first = execute(&app, &memory, "set up the library `clock`").await;
    let plans = |report: &RunReport| -> Vec<String> {
        report.attempts.iter().map(|one| one.plan.clone()).collect()
    };
    assert_eq!(plans(&first), ["the wrong way", "the right way"]);
    assert_eq!(taught(&memory).await, (vec![0.4], 0), "one plan had failed");
    // The same request in nearly the same words: it uses what the first run learned, and retries
    // it.
    let second = execute(&app, &memory, "set up the library `clock` again").await;
    assert_eq!(plans(&second), ["the right way"]);
    assert!(!second.used.is_empty(), "it says what it was made from");
    assert!(
        second.attempts[0].reason.contains("it worked"),
        "{second:?}"
    );
    assert_eq!(taught(&memory).await, (vec![0.4, 0.8], 0));
    app.judge(&ada(), &second.run_id, true).await.unwrap();
    memory.catch_up().await.unwrap().unwrap();
    assert_eq!(taught(&memory).await.0, [0.4, 1.0], "approved");
    app.shut_down().await.unwrap();
    // Reading the log again teaches nothing twice.
    let memory = bridge(&folder);
    let app = host_with_workers(&folder, &memory).await;
    app.ensure_memory(&ada()).await.unwrap();
    memory.catch_up().await.unwrap().unwrap();
    assert_eq!(taught(&memory).await, (vec![0.4, 1.0], 0));
    app.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_asked_again_soon_makes_the_first_answer_worth_less() {
    let (_folder, memory, app) = begun().await;
    execute(&app, &memory, "who wrote the parser of the week?").await;
    assert_eq!(taught(&memory).await.0, [0.8], "completed");
    execute(&app, &memory, "please: who wrote the parser of the week?").await;
    let (qualities, _) = taught(&memory).await;
    assert_eq!(qualities, [0.4, 0.8], "retried, as the documents have it");
    app.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_that_dies_under_its_workers_is_done_without_and_comes_back() {
    let (_folder, memory, app) = begun().await;
    execute(&app, &memory, "set up the library `clock`").await;
    let first = memory.service().unwrap();
    assert!(first.shut_down().await.is_clean());
    // The run ends the same with the dead memory or its successor.
    let report = app.execute(&ada(), "set up the library `clock`", "d").await;
    assert_eq!(report.unwrap().status, RunStatus::Completed);
    while memory
        .service()
        .is_none_or(|now| now.supervisor_id() == first.supervisor_id())
    {
        tokio::task::yield_now().await;
    }
    let report = execute(&app, &memory, "set up the library `clock`").await;
    assert_eq!(report.status, RunStatus::Completed);
    assert!(
        report.turns[0].injected_bytes > 0,
        "it remembers again: {report:?}"
    );
    app.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_run_is_helped_by_what_others_published_and_says_so_to_all() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::new(EmbeddedOptions {
        folder: folder.path().join("global"),
        dimensions: DIMENSIONS,
        space: None,
        open: Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        vectors: Arc::new(|_| None),
        clock: Arc::new(SystemClock),
        hold: Hold::UntilIdle,
        patience: Duration::from_mins(1),
        quotas: Quotas::default(),
        coordination: CoordinationSettings::default(),
    });
    let guide =
        reprise_conformance::document("Clock library", "To set up the library clock, run grep.");
    let id = store
        .publish(&reprise_conformance::user("ann"), guide)
        .await;
    let id = id.unwrap().id;
    let options = TierOptions {
        deadline: Duration::from_mins(1),
        ..TierOptions::default()
    };
    let tier = GlobalTier::new(Arc::new(store.clone()), Caller::new(ada()), options);
    let before: Arc<Before> = Arc::new(move |_, own| {
        Arc::new(TwoTierMemory::new(own, tier.clone(), Arc::new(SystemClock)))
    });
    let memory = bridge_behind(&folder, Some(before));
    let app = host_with_workers(&folder, &memory).await;
    let provider = memory.provider(&ada()).unwrap();
    let report = execute(&app, &memory, "set up the library `clock`").await;
    assert_eq!(report.status, RunStatus::Completed);
    let first = &report.turns[0];
    assert!(
        first.injected_bytes > 0,
        "nothing of its own was there: {report:?}"
    );
    // A run that used a published record is counted globally, and teaches the user's own memory
    // nothing.
    let ending = RunEnding {
        run_id: "by hand".to_owned(),
        used: vec![id],
        credit: reprise_types::Credit::Explicit,
        quality: Some(0.9),
        fail: None,
    };
    let query = RecallRequest::new("set up the library clock");
    let found = provider.recall_request(query).await.unwrap();
    let published = found.results.iter().find_map(|one| one.published.as_ref());
    let published = published.map(|by| (by.author.to_string(), by.version.clone()));
    assert_eq!(published, Some(("ann".to_owned(), "1".to_owned())));
    let begin = RunBeginning {
        run_id: "by hand".to_owned(),
        query: None,
        recall_id: None,
    };
    provider.begin_run(begin).await.unwrap();
    provider.end_run(ending).await.unwrap();
    let ledger = folder.path().join("global/ledger.jsonl");
    let told = || {
        std::fs::read_to_string(&ledger)
            .unwrap()
            .contains("reported")
    };
    while !told() {
        tokio::task::yield_now().await;
    }
    app.shut_down().await.unwrap();
}
