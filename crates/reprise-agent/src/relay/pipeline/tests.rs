//! From a host's log to the disk: everything arrives once and in order, even if events are lost or
//! repeated.

mod runs;

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
    EventFeed, EventMapper, FeedError, FeedSource, RelayHandle, RelayProgress, SourceBinding,
    TopicTable,
};
use crate::service::MemoryService;
use crate::testing::{TestService, ada, wait_until};

const EVENTS: &str = include_str!("../../../../../tests/fixtures/choiros_events.jsonl");

/// A host with a log in memory and a channel of live events.
#[derive(Clone, Default)]
struct TestLog {
    log: Arc<Mutex<Vec<Value>>>,
    live: Arc<Mutex<Option<mpsc::Receiver<Vec<Value>>>>>,
    reads: Arc<AtomicUsize>,
    panics: Arc<AtomicBool>,
    fails: Arc<AtomicBool>,
}

struct TestFeed {
    host: TestLog,
    live: Option<mpsc::Receiver<Vec<Value>>>,
}

#[async_trait]
impl EventFeed for TestFeed {
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

impl TestLog {
    fn with_log(log: Vec<Value>) -> Self {
        Self {
            log: Arc::new(Mutex::new(log)),
            ..Self::default()
        }
    }

    fn open_live_channel(&self) -> mpsc::Sender<Vec<Value>> {
        let (sender, receiver) = mpsc::channel(4);
        *self.live.lock().unwrap() = Some(receiver);
        sender
    }

    fn feed_source(&self) -> FeedSource {
        let host = self.clone();
        FeedSource(Arc::new(move || {
            let live = host.live.lock().unwrap().take();
            Box::new(TestFeed {
                host: host.clone(),
                live,
            })
        }))
    }

    async fn attach_relay(&self, service: &MemoryService) -> RelayHandle {
        let binding = SourceBinding {
            stream: "events".into(),
            user: ada(),
        };
        let mapper = Arc::new(EventMapper::new(TopicTable::load_builtin().unwrap()));
        service
            .attach_relay(binding, mapper, self.feed_source())
            .await
            .unwrap()
    }
}

fn read_fixture() -> Vec<Value> {
    EVENTS
        .lines()
        .take(31)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn chat_event(seq: usize) -> Value {
    json!({"seq": seq, "event_id": format!("e-{seq}"), "event_type": "chat.user_msg", "actor_id": "chat",
           "timestamp": "2026-02-16T09:00:00Z", "payload": format!("message number {seq}"), "user_id": "system"})
}

async fn count_records(service: &MemoryService) -> u32 {
    service
        .with_engine(&ada(), |engine| engine.stats().live)
        .await
        .unwrap()
}

fn read_file(bench: &TestService) -> Vec<u8> {
    let path: PathBuf = bench.config.file_path(&ada());
    std::fs::read(path).unwrap()
}

async fn run_once(bench: &TestService, host: &TestLog) -> RelayProgress {
    let service = bench.start().await;
    let relay = host.attach_relay(&service).await;
    relay.catch_up().await.unwrap();
    assert!(service.shut_down().await.is_clean());
    relay.progress()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_log_becomes_records_and_a_second_replay_changes_no_byte() {
    let bench = TestService::new();
    let host = TestLog::with_log(read_fixture());
    let first = run_once(&bench, &host).await;
    assert_eq!(
        (first.events, first.inserted, first.duplicates),
        (31, 29, 0)
    );
    assert_eq!(first.durable_seq, 31);
    let bytes = read_file(&bench);
    let second = run_once(&bench, &host).await;
    assert_eq!(
        (second.events, second.inserted, second.durable_seq),
        (0, 0, 31)
    );
    assert_eq!(read_file(&bench), bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_replays_from_the_beginning_changes_no_byte() {
    let bench = TestService::new();
    let host = TestLog::with_log(read_fixture());
    run_once(&bench, &host).await;
    let bytes = read_file(&bench);
    let live = host.open_live_channel();
    let service = bench.start().await;
    let relay = host.attach_relay(&service).await;
    live.send(read_fixture()).await.unwrap();
    live.send(read_fixture()).await.unwrap();
    wait_until(async || relay.progress().repeated == 62).await;
    assert!(service.shut_down().await.is_clean());
    assert_eq!(read_file(&bench), bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_stream_with_the_same_events_adds_no_record() {
    let bench = TestService::new();
    let host = TestLog::with_log(read_fixture());
    let service = bench.start().await;
    host.attach_relay(&service).await.catch_up().await.unwrap();
    let embedded = service.stats().pool.documents;
    let binding = SourceBinding {
        stream: "other".into(),
        user: ada(),
    };
    let mapper = Arc::new(EventMapper::new(TopicTable::load_builtin().unwrap()));
    let other = service
        .attach_relay(binding, mapper, host.feed_source())
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
    let bench = TestService::new();
    let host = TestLog::default();
    let live = host.open_live_channel();
    let service = bench.start().await;
    let relay = host.attach_relay(&service).await;
    relay.catch_up().await.unwrap();
    let publish = async |seqs: &[usize]| {
        live.send(seqs.iter().map(|seq| chat_event(*seq)).collect())
            .await
            .unwrap();
    };
    *host.log.lock().unwrap() = (1..=6).map(chat_event).collect();
    publish(&[1, 2, 2, 1]).await;
    wait_until(async || relay.progress().repeated == 2).await;
    // Events 3 and 4 were lost.
    publish(&[5]).await;
    wait_until(async || relay.progress().durable_seq == 6).await;
    publish(&[6]).await;
    wait_until(async || relay.progress().repeated == 3).await;
    let progress = relay.progress();
    assert_eq!(
        (progress.inserted, progress.duplicates, progress.gaps),
        (6, 0, 1)
    );
    // The feed reports that it may have missed events.
    host.log.lock().unwrap().push(chat_event(7));
    publish(&[]).await;
    wait_until(async || relay.progress().durable_seq == 7).await;
    // Published without being logged: recognised by its id alone.
    let mut unlogged = chat_event(100);
    unlogged.as_object_mut().unwrap().remove("seq");
    live.send(vec![unlogged.clone(), unlogged]).await.unwrap();
    wait_until(async || relay.progress().duplicates == 1).await;
    assert_eq!(count_records(&service).await, 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_ten_thousand_is_neither_lost_nor_unbounded() {
    let mut bench = TestService::new();
    bench.config.pool.threads = 2;
    bench.config.pool.documents_max = 32;
    let host = TestLog::with_log((1..=10_000).map(chat_event).collect());
    let service = bench.start().await;
    let relay = host.attach_relay(&service).await;
    let progress = relay.catch_up().await.unwrap();
    assert_eq!((progress.inserted, progress.durable_seq), (10_000, 10_000));
    assert_eq!(count_records(&service).await, 10_000);
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
    let mut bench = TestService::new();
    let refusals = Arc::new(AtomicUsize::new(3));
    let refusals_left = Arc::clone(&refusals);
    bench.config.open_engine = Arc::new(move |path, options| {
        let elsewhere = path.join("not/a/folder");
        let refuse =
            refusals_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        let path = if refuse.is_ok() { &elsewhere } else { path };
        Engine::open(Arc::new(RealDisk), path, options)
    });
    let host = TestLog::with_log(read_fixture());
    let progress = run_once(&bench, &host).await;
    assert_eq!((progress.inserted, progress.durable_seq), (29, 31));
    assert!(progress.retries >= 3, "{progress:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_dies_in_between_loses_nothing() {
    let bench = TestService::new();
    let host = TestLog::with_log((1..=300).map(chat_event).collect());
    let service = bench.start().await;
    let relay = host.attach_relay(&service).await;
    let died = service
        .with_engine(&ada(), |_| panic!("told to panic"))
        .await;
    assert!(died.is_err());
    let progress = relay.catch_up().await.unwrap();
    assert_eq!(progress.durable_seq, 300);
    assert_eq!(count_records(&service).await, 300);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_given_up_at_the_end_is_read_again_and_nothing_is_written_past_it() {
    let mut bench = TestService::new();
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
    let host = TestLog::default();
    let service = bench.start().await;
    let relay = host.attach_relay(&service).await;
    relay.catch_up().await.unwrap();
    broken.store(true, Ordering::SeqCst);
    let died = service
        .with_engine(&ada(), |_| panic!("told to panic"))
        .await;
    assert!(died.is_err());
    *host.log.lock().unwrap() = (1..=200).map(chat_event).collect();
    let waiting = tokio::spawn({
        let relay = relay.clone();
        async move { relay.catch_up().await }
    });
    // By now the pauses are long, so the shutdown falls into one.
    wait_until(async || relay.progress().retries >= 5).await;
    broken.store(false, Ordering::SeqCst);
    assert!(service.shut_down().await.is_clean());
    waiting.abort();
    let inserted = relay.progress().inserted;
    let next = run_once(&bench, &host).await;
    assert_eq!((inserted + next.inserted, next.durable_seq), (200, 200));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_panics_is_started_again() {
    let bench = TestService::new();
    let host = TestLog::with_log(read_fixture());
    host.panics.store(true, Ordering::SeqCst);
    let service = bench.start().await;
    let relay = host.attach_relay(&service).await;
    wait_until(async || relay.catch_up().await.is_ok()).await;
    assert_eq!(relay.progress().inserted, 29);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_cannot_be_read_is_said_and_read_later() {
    let bench = TestService::new();
    let host = TestLog::with_log(read_fixture());
    host.fails.store(true, Ordering::SeqCst);
    let service = bench.start().await;
    let relay = host.attach_relay(&service).await;
    let error = relay.catch_up().await.unwrap_err().to_string();
    assert!(error.contains("told to fail"), "{error}");
    host.fails.store(false, Ordering::SeqCst);
    wait_until(async || relay.progress().inserted == 29).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_replaced_is_read_anew() {
    let bench = TestService::new();
    run_once(
        &bench,
        &TestLog::with_log((1..=20).map(chat_event).collect()),
    )
    .await;
    let mut other = chat_event(1);
    other["event_id"] = json!("of another log");
    let progress = run_once(&bench, &TestLog::with_log(vec![other, chat_event(2)])).await;
    assert_eq!((progress.inserted, progress.duplicates), (1, 1));
}

/// Returns a log after a power cut that lost its unsynced end: other events have the positions that
/// the cursor has passed.
fn regrown_log(kept: usize, length: usize) -> Vec<Value> {
    let other = (kept + 1..=length).map(|seq| {
        let mut event = chat_event(seq);
        event["event_id"] = json!(format!("after the cut {seq}"));
        event
    });
    (1..=kept).map(chat_event).chain(other).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_lost_its_end_and_grew_again_is_read_from_there() {
    for (before, kept, after) in [(6, 0, 6), (20, 15, 22), (200, 190, 200)] {
        let bench = TestService::new();
        run_once(
            &bench,
            &TestLog::with_log((1..=before).map(chat_event).collect()),
        )
        .await;
        let host = TestLog::with_log(regrown_log(kept, after));
        let progress = run_once(&bench, &host).await;
        assert_eq!(progress.inserted, (after - kept) as u64, "{before} {kept}");
        let again = run_once(&bench, &host).await;
        assert_eq!(
            (again.inserted, again.events),
            (0, 0),
            "nothing is read twice"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_comes_back() {
    let bench = TestService::new();
    let host = TestLog::with_log(read_fixture());
    let service = bench.start().await;
    host.attach_relay(&service).await.catch_up().await.unwrap();
    let request = RecallRequest::new("who writes the token without a lock");
    let found = service
        .provider(&ada())
        .execute_recall(request)
        .await
        .unwrap();
    assert_eq!(
        found.results[0].record.text,
        "session_manager.rs writes the token without a lock"
    );
}
