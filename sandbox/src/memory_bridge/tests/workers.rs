//! The conductor and its workers with a real memory: the results of a run are recalled, and teach.

use std::collections::BTreeSet;

use ractor::ActorCell;
use reprise_global::{
    Caller, CoordinationSettings, EmbeddedOptions, EmbeddedStore, GlobalStore, GlobalTier, Hold,
    TierOptions, TwoTierMemory,
};
use reprise_types::{MemoryKind, MemorySource, NewRecord, RunBeginning, RunEnding, SystemClock};
use serde_json::Value;

use super::super::{
    HostEvent, MapOutcome, MemoryAgentMsg, MemoryService, MemorySupervisorMsg, ProviderWrapper,
};
use super::*;
use crate::actors::testing;
use crate::actors::{ConductorMsg, Repertoire, RepertoirePlanner, RunReport, RunStatus, WorkerMsg};
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

async fn start_host_on(folder: &TempDir, memory: &MemoryBridge) -> AppState {
    let planner = RepertoirePlanner::new(Repertoire::from_toml(REPERTOIRE).unwrap());
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

async fn start_host_with_workers() -> (TempDir, MemoryBridge, AppState) {
    let folder = tempfile::tempdir().unwrap();
    let memory = new_bridge(&folder);
    let app = start_host_on(&folder, &memory).await;
    (folder, memory, app)
}

fn new_note(text: &str) -> NewRecord {
    NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode)
}

async fn read_events(app: &AppState) -> Vec<Value> {
    let events = testing::read_events(app.event_store()).await;
    let value = |event| serde_json::to_value(event).unwrap();
    events.iter().map(value).collect()
}

async fn execute_and_catch_up(app: &AppState, memory: &MemoryBridge, objective: &str) -> RunReport {
    let report = app.execute(&ada(), objective, "desk-1").await.unwrap();
    memory.catch_up().await.unwrap().unwrap();
    report
}

/// Returns the qualities of the learned runs, oldest first, and the number of open runs.
async fn read_learning(memory: &MemoryBridge) -> (Vec<f32>, usize) {
    let (service, user) = (memory.service().unwrap(), ada());
    let learning = service.with_engine(&user, |engine| {
        let learning = engine.learning_state();
        let curve: Vec<f32> = learning
            .learner()
            .quality_curve()
            .map(|run| run.0)
            .collect();
        (curve, learning.open_run_count())
    });
    learning.await.unwrap()
}

/// Returns the actors among `all` whose messages are of type `M`.
fn actors_with_messages<M: ractor::Message>(all: &[ActorCell]) -> Vec<&ActorCell> {
    let understands = |actor: &&ActorCell| actor.is_message_type_of::<M>() == Some(true);
    all.iter().filter(understands).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tree_is_that_of_the_documents() {
    let (_folder, memory, app) = start_host_with_workers().await;
    app.ensure_memory(&ada()).await.unwrap();
    let root = app.ensure_supervisor().await.unwrap().get_children();
    assert_eq!(root.len(), 3, "bus, relay and session: {root:?}");
    assert_eq!(actors_with_messages::<EventBusMsg>(&root).len(), 1);
    assert_eq!(actors_with_messages::<EventRelayMsg>(&root).len(), 1);
    let session = actors_with_messages::<SessionSupervisorMsg>(&root)[0].get_children();
    assert_eq!(session.len(), 5, "{session:?}");
    assert_eq!(
        actors_with_messages::<PerUserMsg<ConductorMsg>>(&session).len(),
        1
    );
    assert_eq!(
        actors_with_messages::<PerUserMsg<WorkerMsg>>(&session).len(),
        3
    );
    let agents = actors_with_messages::<MemorySupervisorMsg>(&session)[0].get_children();
    assert_eq!(
        actors_with_messages::<MemoryAgentMsg>(&agents).len(),
        1,
        "one user"
    );
    // A conductor and its workers live under their supervisors, one for each user.
    execute_and_catch_up(&app, &memory, "set up the library `clock`").await;
    let desktop = actors_with_messages::<PerUserMsg<ConductorMsg>>(&session)[0].get_children();
    assert_eq!(actors_with_messages::<ConductorMsg>(&desktop).len(), 1);
    for supervisor in actors_with_messages::<PerUserMsg<WorkerMsg>>(&session) {
        assert_eq!(
            actors_with_messages::<WorkerMsg>(&supervisor.get_children()).len(),
            1
        );
    }
    app.shut_down().await.unwrap();
}

/// Tests a daemon's memories under the host that it embeds: if an actor there is killed or panics,
/// the host's tree restarts it, and the daemon continues with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemons_memories_are_children_of_the_host_and_started_again_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let daemons = MemoryService::start(new_config(&folder), None)
        .await
        .unwrap();
    let own = [new_note("kept by the daemon")];
    daemons.observe(&ada(), own.into()).await.unwrap();
    let binding = SourceBinding {
        stream: "host".to_owned(),
        user: ada(),
    };
    let mapper = Arc::new(EventMapper::load_builtin().unwrap());
    let memory = MemoryBridge::with_daemon(daemons.clone(), binding, mapper);
    let app = start_host(&folder, &memory).await;
    append_chat(&app, 0, 2).await;
    let supervisor = async || {
        let root = app.ensure_supervisor().await.unwrap().get_children();
        let session = actors_with_messages::<SessionSupervisorMsg>(&root)[0].get_children();
        actors_with_messages::<MemorySupervisorMsg>(&session)
            .pop()
            .cloned()
    };
    let first = supervisor().await.expect("the daemon's, under the session");
    assert_eq!(Some(first.get_id()), daemons.supervisor_id());
    let agent = || {
        let agents = first.get_children();
        actors_with_messages::<MemoryAgentMsg>(&agents)
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
        async move { daemons.wait_for_end().await }
    });
    #[expect(clippy::disallowed_methods, reason = "the test is about being killed")]
    first.kill();
    while supervisor()
        .await
        .is_none_or(|now| now.get_id() == first.get_id())
    {
        tokio::task::yield_now().await;
    }
    append_chat(&app, 2, 4).await;
    wait_for_records(&memory, 5).await;
    assert_eq!(
        supervisor().await.map(|now| now.get_id()),
        daemons.supervisor_id()
    );
    assert!(!ended.is_finished(), "the daemon goes on");
    app.shut_down().await.unwrap();
    assert!(daemons.is_ready().await, "and outlives its host");
    daemons
        .observe(&ada(), vec![new_note("after it")])
        .await
        .unwrap();
    assert!(daemons.shut_down().await.is_clean());
    ended.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_says_every_documented_topic_and_nothing_that_the_relay_cannot_read() {
    let (_folder, memory, app) = start_host_with_workers().await;
    let completed = execute_and_catch_up(&app, &memory, "set up the library `clock`").await;
    assert_eq!(completed.status, RunStatus::Completed);
    // A second run, so that the researcher has something to find; it fails.
    let failed =
        execute_and_catch_up(&app, &memory, "set up the bridge `arch` with the clock").await;
    assert_eq!(failed.status, RunStatus::Failed);
    app.log_verdict(&ada(), &completed.run_id, true)
        .await
        .unwrap();
    let mapper = EventMapper::load_builtin().unwrap();
    let mut documented = BTreeSet::new();
    for event in read_events(&app).await {
        let read = HostEvent::decode(event.clone()).unwrap();
        match mapper.map_event(&read) {
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
    let (folder, memory, app) = start_host_with_workers().await;
    let first = execute_and_catch_up(&app, &memory, "set up the library `clock`").await;
    let plans = |report: &RunReport| -> Vec<String> {
        report.attempts.iter().map(|one| one.plan.clone()).collect()
    };
    assert_eq!(plans(&first), ["the wrong way", "the right way"]);
    assert_eq!(
        read_learning(&memory).await,
        (vec![0.4], 0),
        "one plan had failed"
    );
    // The request has nearly the same words, so it uses and retries what the first run learned.
    let second = execute_and_catch_up(&app, &memory, "set up the library `clock` again").await;
    assert_eq!(plans(&second), ["the right way"]);
    assert!(!second.used.is_empty(), "it says what it was made from");
    assert!(
        second.attempts[0].reason.contains("it worked"),
        "{second:?}"
    );
    assert_eq!(read_learning(&memory).await, (vec![0.4, 0.8], 0));
    app.log_verdict(&ada(), &second.run_id, true).await.unwrap();
    memory.catch_up().await.unwrap().unwrap();
    assert_eq!(read_learning(&memory).await.0, [0.4, 1.0], "approved");
    app.shut_down().await.unwrap();
    // Reading the log again teaches nothing twice.
    let memory = new_bridge(&folder);
    let app = start_host_on(&folder, &memory).await;
    app.ensure_memory(&ada()).await.unwrap();
    memory.catch_up().await.unwrap().unwrap();
    assert_eq!(read_learning(&memory).await, (vec![0.4, 1.0], 0));
    app.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_asked_again_soon_makes_the_first_answer_worth_less() {
    let (_folder, memory, app) = start_host_with_workers().await;
    execute_and_catch_up(&app, &memory, "who wrote the parser of the week?").await;
    assert_eq!(read_learning(&memory).await.0, [0.8], "completed");
    execute_and_catch_up(&app, &memory, "please: who wrote the parser of the week?").await;
    let (qualities, _) = read_learning(&memory).await;
    assert_eq!(qualities, [0.4, 0.8], "retried, as the documents have it");
    app.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_that_dies_under_its_workers_is_done_without_and_comes_back() {
    let (_folder, memory, app) = start_host_with_workers().await;
    execute_and_catch_up(&app, &memory, "set up the library `clock`").await;
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
    let report = execute_and_catch_up(&app, &memory, "set up the library `clock`").await;
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
    let before: Arc<ProviderWrapper> = Arc::new(move |_, own| {
        Arc::new(TwoTierMemory::new(own, tier.clone(), Arc::new(SystemClock)))
    });
    let memory = new_wrapped_bridge(&folder, Some(before));
    let app = start_host_on(&folder, &memory).await;
    let provider = memory.provider(&ada()).unwrap();
    let report = execute_and_catch_up(&app, &memory, "set up the library `clock`").await;
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
        fail_kind: None,
    };
    let query = RecallRequest::new("set up the library clock");
    let found = provider.execute_recall(query).await.unwrap();
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
    let is_reported = || {
        std::fs::read_to_string(&ledger)
            .unwrap()
            .contains("reported")
    };
    while !is_reported() {
        tokio::task::yield_now().await;
    }
    app.shut_down().await.unwrap();
}
