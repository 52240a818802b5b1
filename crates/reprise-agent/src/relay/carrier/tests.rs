//! From a host's log to the disk: everything once, in order, whatever is delivered how often.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_types::{MemoryProvider, RecallRequest};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::relay::{
    EventFeed, FeedError, FeedSource, Mapper, RelayHandle, RelayProgress, SourceBinding, TopicTable,
};
use crate::service::MemoryService;
use crate::testing::{Bench, ada, until};

const EVENTS: &str = include_str!("../../../../../tests/fixtures/choiros_events.jsonl");

/// A host: a log in memory, and whatever is published live.
#[derive(Clone, Default)]
struct Host {
    log: Arc<Mutex<Vec<Value>>>,
    live: Arc<Mutex<Option<mpsc::Receiver<Vec<Value>>>>>,
    reads: Arc<AtomicUsize>,
    panics: Arc<AtomicBool>,
    fails: Arc<AtomicBool>,
}

struct Feed {
    host: Host,
    live: Option<mpsc::Receiver<Vec<Value>>>,
}

#[async_trait]
impl EventFeed for Feed {
    async fn next(&mut self) -> Option<Vec<Value>> {
        match &mut self.live {
            Some(live) => live.recv().await,
            None => std::future::pending().await,
        }
    }

    async fn history(&mut self, since_seq: u64, limit: u32) -> Result<Vec<Value>, FeedError> {
        assert!(
            !self.host.panics.swap(false, Ordering::SeqCst),
            "told to panic"
        );
        if self.host.fails.load(Ordering::SeqCst) {
            return Err(FeedError {
                message: "told to fail".into(),
            });
        }
        let log = self.host.log.lock().unwrap();
        let later = log
            .iter()
            .filter(|event| event["seq"].as_u64().unwrap() > since_seq);
        let page: Vec<Value> = later.take(limit as usize).cloned().collect();
        self.host.reads.fetch_add(page.len(), Ordering::SeqCst);
        Ok(page)
    }

    async fn latest_seq(&mut self) -> Result<u64, FeedError> {
        let log = self.host.log.lock().unwrap();
        Ok(log.last().map_or(0, |event| event["seq"].as_u64().unwrap()))
    }
}

impl Host {
    fn with_log(log: Vec<Value>) -> Self {
        Self {
            log: Arc::new(Mutex::new(log)),
            ..Self::default()
        }
    }

    fn live(&self) -> mpsc::Sender<Vec<Value>> {
        let (sender, receiver) = mpsc::channel(4);
        *self.live.lock().unwrap() = Some(receiver);
        sender
    }

    fn source(&self) -> FeedSource {
        let host = self.clone();
        FeedSource(Arc::new(move || {
            let live = host.live.lock().unwrap().take();
            Box::new(Feed {
                host: host.clone(),
                live,
            })
        }))
    }

    async fn attach(&self, service: &MemoryService) -> RelayHandle {
        let binding = SourceBinding {
            stream: "events".into(),
            user: ada(),
        };
        let mapper = Arc::new(Mapper::new(TopicTable::builtin().unwrap()));
        service
            .attach(binding, mapper, self.source())
            .await
            .unwrap()
    }
}

fn fixture() -> Vec<Value> {
    EVENTS
        .lines()
        .take(31)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn chat(seq: usize) -> Value {
    json!({"seq": seq, "event_id": format!("e-{seq}"), "event_type": "chat.user_msg", "actor_id": "chat",
           "timestamp": "2026-02-16T09:00:00Z", "payload": format!("message number {seq}"), "user_id": "system"})
}

async fn live_records(service: &MemoryService) -> u32 {
    service
        .with_engine(&ada(), |engine| engine.stats().live)
        .await
        .unwrap()
}

fn file_bytes(bench: &Bench) -> Vec<u8> {
    let path: PathBuf = bench.config.file_of(&ada());
    std::fs::read(path).unwrap()
}

async fn one_run(bench: &Bench, host: &Host) -> RelayProgress {
    let service = bench.start().await;
    let relay = host.attach(&service).await;
    relay.catch_up().await.unwrap();
    assert!(service.shut_down().await.is_clean());
    relay.progress()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_log_becomes_records_and_a_second_replay_changes_no_byte() {
    let bench = Bench::new();
    let host = Host::with_log(fixture());
    let first = one_run(&bench, &host).await;
    assert_eq!(
        (first.events, first.inserted, first.duplicates),
        (31, 29, 0)
    );
    assert_eq!(first.durable_seq, 31);
    let bytes = file_bytes(&bench);
    let second = one_run(&bench, &host).await;
    assert_eq!(
        (second.events, second.inserted, second.durable_seq),
        (0, 0, 31)
    );
    assert_eq!(file_bytes(&bench), bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_replays_from_the_beginning_changes_no_byte() {
    let bench = Bench::new();
    let host = Host::with_log(fixture());
    one_run(&bench, &host).await;
    let bytes = file_bytes(&bench);
    let live = host.live();
    let service = bench.start().await;
    let relay = host.attach(&service).await;
    live.send(fixture()).await.unwrap();
    live.send(fixture()).await.unwrap();
    until(async || relay.progress().repeated == 62).await;
    assert!(service.shut_down().await.is_clean());
    assert_eq!(file_bytes(&bench), bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_stream_with_the_same_events_adds_no_record() {
    let bench = Bench::new();
    let host = Host::with_log(fixture());
    let service = bench.start().await;
    host.attach(&service).await.catch_up().await.unwrap();
    let embedded = service.stats().pool.documents;
    let binding = SourceBinding {
        stream: "other".into(),
        user: ada(),
    };
    let mapper = Arc::new(Mapper::new(TopicTable::builtin().unwrap()));
    let other = service
        .attach(binding, mapper, host.source())
        .await
        .unwrap();
    let progress = other.catch_up().await.unwrap();
    assert_eq!((progress.inserted, progress.duplicates), (0, 29));
    assert_eq!(
        service.stats().pool.documents,
        embedded,
        "copies are not embedded"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_events_arrive_once_and_gaps_are_closed_from_the_log() {
    let bench = Bench::new();
    let host = Host::default();
    let live = host.live();
    let service = bench.start().await;
    let relay = host.attach(&service).await;
    relay.catch_up().await.unwrap();
    let publish = async |seqs: &[usize]| {
        live.send(seqs.iter().map(|seq| chat(*seq)).collect())
            .await
            .unwrap();
    };
    *host.log.lock().unwrap() = (1..=6).map(chat).collect();
    publish(&[1, 2, 2, 1]).await;
    until(async || relay.progress().repeated == 2).await;
    // Three and four were lost on the way.
    publish(&[5]).await;
    until(async || relay.progress().durable_seq == 6).await;
    publish(&[6]).await;
    until(async || relay.progress().repeated == 3).await;
    let progress = relay.progress();
    assert_eq!(
        (progress.inserted, progress.duplicates, progress.gaps),
        (6, 0, 1)
    );
    // A feed that may have missed something says so.
    host.log.lock().unwrap().push(chat(7));
    publish(&[]).await;
    until(async || relay.progress().durable_seq == 7).await;
    // Published without being logged: recognised by its id alone.
    let mut unlogged = chat(100);
    unlogged.as_object_mut().unwrap().remove("seq");
    live.send(vec![unlogged.clone(), unlogged]).await.unwrap();
    until(async || relay.progress().duplicates == 1).await;
    assert_eq!(live_records(&service).await, 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_ten_thousand_is_neither_lost_nor_unbounded() {
    let mut bench = Bench::new();
    bench.config.pool.threads = 2;
    bench.config.pool.documents_max = 32;
    let host = Host::with_log((1..=10_000).map(chat).collect());
    let service = bench.start().await;
    let relay = host.attach(&service).await;
    let progress = relay.catch_up().await.unwrap();
    assert_eq!((progress.inserted, progress.durable_seq), (10_000, 10_000));
    assert_eq!(live_records(&service).await, 10_000);
    let waiting = service.stats().pool.documents_waiting_max;
    assert!(waiting <= 32, "{waiting} texts waited at once");
    assert_eq!(
        host.reads.load(Ordering::SeqCst),
        10_000,
        "nothing was read twice"
    );
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_cannot_be_opened_for_a_while_loses_nothing() {
    let mut bench = Bench::new();
    let refusals = Arc::new(AtomicUsize::new(3));
    let left = Arc::clone(&refusals);
    bench.config.open_engine = Arc::new(move |path, options| {
        let elsewhere = path.join("not/a/folder");
        let refuse = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        let path = if refuse.is_ok() { &elsewhere } else { path };
        Engine::open(Arc::new(RealDisk), path, options)
    });
    let host = Host::with_log(fixture());
    let progress = one_run(&bench, &host).await;
    assert_eq!((progress.inserted, progress.durable_seq), (29, 31));
    assert!(progress.retries >= 3, "{progress:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_dies_in_between_loses_nothing() {
    let bench = Bench::new();
    let host = Host::with_log((1..=300).map(chat).collect());
    let service = bench.start().await;
    let relay = host.attach(&service).await;
    let died = service
        .with_engine(&ada(), |_| panic!("told to panic"))
        .await;
    assert!(died.is_err());
    let progress = relay.catch_up().await.unwrap();
    assert_eq!(progress.durable_seq, 300);
    assert_eq!(live_records(&service).await, 300);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_given_up_at_the_end_is_read_again_and_nothing_is_written_past_it() {
    let mut bench = Bench::new();
    let broken = Arc::new(AtomicBool::new(false));
    let breaks = Arc::clone(&broken);
    bench.config.open_engine = Arc::new(move |path, options| {
        let elsewhere = path.join("not/a/folder");
        let path = if breaks.load(Ordering::SeqCst) {
            &elsewhere
        } else {
            path
        };
        Engine::open(Arc::new(RealDisk), path, options)
    });
    let host = Host::default();
    let service = bench.start().await;
    let relay = host.attach(&service).await;
    relay.catch_up().await.unwrap();
    broken.store(true, Ordering::SeqCst);
    let died = service
        .with_engine(&ada(), |_| panic!("told to panic"))
        .await;
    assert!(died.is_err());
    *host.log.lock().unwrap() = (1..=200).map(chat).collect();
    let waiting = tokio::spawn({
        let relay = relay.clone();
        async move { relay.catch_up().await }
    });
    // By now the pauses are long, and the end falls into one of them.
    until(async || relay.progress().retries >= 5).await;
    broken.store(false, Ordering::SeqCst);
    assert!(service.shut_down().await.is_clean());
    waiting.abort();
    let kept = relay.progress().inserted;
    let next = one_run(&bench, &host).await;
    assert_eq!((kept + next.inserted, next.durable_seq), (200, 200));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_panics_is_started_again() {
    let bench = Bench::new();
    let host = Host::with_log(fixture());
    host.panics.store(true, Ordering::SeqCst);
    let service = bench.start().await;
    let relay = host.attach(&service).await;
    until(async || relay.catch_up().await.is_ok()).await;
    assert_eq!(relay.progress().inserted, 29);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_cannot_be_read_is_said_and_read_later() {
    let bench = Bench::new();
    let host = Host::with_log(fixture());
    host.fails.store(true, Ordering::SeqCst);
    let service = bench.start().await;
    let relay = host.attach(&service).await;
    let error = relay.catch_up().await.unwrap_err().to_string();
    assert!(error.contains("told to fail"), "{error}");
    host.fails.store(false, Ordering::SeqCst);
    until(async || relay.progress().inserted == 29).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_replaced_is_read_anew() {
    let bench = Bench::new();
    one_run(&bench, &Host::with_log((1..=20).map(chat).collect())).await;
    let mut other = chat(1);
    other["event_id"] = json!("of another log");
    let progress = one_run(&bench, &Host::with_log(vec![other, chat(2)])).await;
    assert_eq!((progress.inserted, progress.duplicates), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_comes_back() {
    let bench = Bench::new();
    let host = Host::with_log(fixture());
    let service = bench.start().await;
    host.attach(&service).await.catch_up().await.unwrap();
    let request = RecallRequest::new("who writes the token without a lock");
    let found = service
        .provider(&ada())
        .recall_request(request)
        .await
        .unwrap();
    assert_eq!(
        found.results[0].record.text,
        "session_manager.rs writes the token without a lock"
    );
}

fn run_event(seq: u64, day: u32, event_type: &str, payload: &Value) -> Value {
    let mut payload = payload.clone();
    payload["run_id"] = json!(format!("run-{day}"));
    json!({"seq": seq, "event_id": format!("r-{seq}"), "event_type": event_type,
           "actor_id": "conductor:1", "timestamp": format!("2026-02-{day:02}T09:00:00Z"),
           "payload": payload, "user_id": "system"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_of_a_log_teach_once_and_those_that_nobody_ended_are_given_up() {
    let bench = Bench::new();
    let service = bench.start().await;
    let kept = service
        .observe(&ada(), vec![crate::testing::note("use the mutex")])
        .await;
    let kept = kept.unwrap();
    let [reprise_types::WriteOutcome::Inserted { id }] = kept[..] else {
        panic!("{kept:?}");
    };
    let ask = json!({"objective": "fix the auth race"});
    let report = json!({"report": {"summary": format!("did as {id} says")}});
    let slow = json!({"failure_kind": "timeout", "error_message": "slow"});
    let deploy = json!({"objective": "deploy to the cloud"});
    let host = Host::with_log(vec![
        run_event(1, 3, "conductor.run.started", &ask),
        run_event(2, 10, "conductor.run.started", &ask),
        run_event(3, 10, "worker.report.received", &report),
        run_event(
            4,
            10,
            "conductor.run.completed",
            &json!({"summary": "fixed"}),
        ),
        run_event(5, 11, "conductor.run.started", &deploy),
        run_event(6, 11, "conductor.run.failed", &slow),
    ]);
    let relay = host.attach(&service).await;
    relay.catch_up().await.unwrap();
    let told = async |service: &MemoryService| {
        let user = ada();
        let told = service.with_engine(&user, |engine| {
            let learning = engine.learning();
            let curve: Vec<(f32, f32)> = learning.learner().curve().collect();
            (learning.status(), curve)
        });
        told.await.unwrap()
    };
    let (status, curve) = told(&service).await;
    assert_eq!((status.runs, status.open_runs, status.records), (2, 0, 1));
    let qualities: Vec<f32> = curve.iter().map(|run| run.0).collect();
    assert_eq!(
        qualities,
        [0.8, 0.0],
        "completed, failed; the third was given up"
    );
    assert!(service.shut_down().await.is_clean());
    // The same log under another name: everything is said again, and refused.
    let service = bench.start().await;
    let binding = SourceBinding {
        stream: "again".into(),
        user: ada(),
    };
    let mapper = Arc::new(Mapper::new(TopicTable::builtin().unwrap()));
    let relay = service
        .attach(binding, mapper, host.source())
        .await
        .unwrap();
    relay.catch_up().await.unwrap();
    let (again, _) = told(&service).await;
    assert_eq!((again.runs, again.open_runs), (2, 0));
    assert_eq!(again.digest, status.digest);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_quotes_what_was_recalled_gives_it_half_a_credit_and_an_approval_counts_once() {
    let bench = Bench::new();
    let service = bench.start().await;
    let kept = service
        .observe(
            &ada(),
            [
                "guard the session token with one mutex per user",
                "guard the session token against the weather",
            ]
            .map(|text| reprise_types::NewRecord {
                source: reprise_types::MemorySource::WorkerResult,
                ..crate::testing::note(text)
            })
            .into(),
        )
        .await;
    let ids: Vec<_> = kept
        .unwrap()
        .into_iter()
        .map(|outcome| match outcome {
            reprise_types::WriteOutcome::Inserted { id } => id,
            other => panic!("{other:?}"),
        })
        .collect();
    let objective = "guard the session token";
    let recalled = service
        .provider(&ada())
        .recall_request(RecallRequest::new(objective))
        .await
        .unwrap();
    assert_eq!(recalled.results.len(), 2);
    let quote = "Done: Guard the session token\nwith one mutex per user, as before";
    let now = reprise_types::Clock::now(&reprise_types::SystemClock);
    let live = |seq, event_type: &str, payload: Value| {
        let mut event = run_event(seq, 1, event_type, &payload);
        event["timestamp"] = json!(now.to_rfc3339());
        event
    };
    let host = Host::with_log(vec![
        live(1, "conductor.run.started", json!({"objective": objective})),
        live(2, "conductor.run.completed", json!({"summary": quote})),
        live(3, "citation.confirmed", json!({"citing_run_id": "run-1"})),
        live(4, "citation.confirmed", json!({"citing_run_id": "run-1"})),
        live(
            5,
            "citation.confirmed",
            json!({"citing_run_id": "nobody's"}),
        ),
    ]);
    let relay = host.attach(&service).await;
    relay.catch_up().await.unwrap();
    let learner = service
        .with_engine(&ada(), |engine| engine.learning().learner())
        .await
        .unwrap();
    let query = service
        .with_engine(&ada(), move |engine| {
            let receipt = engine.learning().receipt(recalled.recall_id);
            receipt.unwrap().query.clone().unwrap().vector
        })
        .await
        .unwrap();
    let told = learner.explain(&query, ids[0]);
    assert_eq!(told.runs.len(), 1, "{told:?}");
    assert!(
        (told.runs[0].quality - 1.0).abs() < 1e-6,
        "approved: {told:?}"
    );
    assert!(
        (told.runs[0].weight - 0.5).abs() < 0.01,
        "implied: {told:?}"
    );
    assert!(
        learner.explain(&query, ids[1]).runs.is_empty(),
        "not quoted"
    );
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_run_that_its_host_began_only_the_host_says_what_was_used() {
    use reprise_types::{Credit, RunBeginning, RunEnding, WriteOutcome};
    let bench = Bench::new();
    let service = bench.start().await;
    let notes = ["use the mutex", "use the channel"].map(crate::testing::note);
    let kept = service.observe(&ada(), notes.into()).await.unwrap();
    let ids: Vec<_> = kept
        .into_iter()
        .map(|outcome| match outcome {
            WriteOutcome::Inserted { id } => id,
            other => panic!("{other:?}"),
        })
        .collect();
    let provider = service.provider(&ada());
    let asked = provider
        .recall_request(RecallRequest::new("use what?"))
        .await;
    let asked = asked.unwrap().recall_id;
    let begin = RunBeginning {
        run_id: "run-1".to_owned(),
        query: None,
        recall_id: Some(asked),
    };
    provider.begin_run(begin).await.unwrap();
    let report = json!({"report": {"summary": format!("did as {} says", ids[1])}});
    let host = Host::with_log(vec![
        run_event(
            1,
            1,
            "conductor.run.started",
            &json!({"objective": "use what?"}),
        ),
        run_event(2, 1, "worker.report.received", &report),
    ]);
    let relay = host.attach(&service).await;
    relay.catch_up().await.unwrap();
    let end = RunEnding {
        run_id: "run-1".to_owned(),
        used: vec![ids[0]],
        credit: Credit::Explicit,
        quality: None,
        fail: None,
    };
    provider.end_run(end).await.unwrap();
    let user = ada();
    let used = service.with_engine(&user, move |engine| {
        let learning = engine.learning();
        let query = learning
            .receipt(asked)
            .unwrap()
            .query
            .clone()
            .unwrap()
            .vector;
        let learner = learning.learner();
        [0, 1].map(|at: usize| learner.explain(&query, ids[at]).runs.len())
    });
    assert_eq!(
        used.await.unwrap(),
        [1, 0],
        "its report cites another, and does not count"
    );
    assert!(service.shut_down().await.is_clean());
}
