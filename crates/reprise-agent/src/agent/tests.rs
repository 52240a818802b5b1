//! Maintenance of one memory: late embedding and automatic compaction.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reprise_engine::{Engine, EngineStats, Snapshot};
use reprise_types::{Embedding, EmbeddingSpace, NewRecord, UserId, WriteOutcome};

use crate::testing::{DIMENSIONS, TestService, ada, new_user_episode, wait_until};
use crate::{MaintenancePlan, MaintenancePlanner, MaintenanceReport, MemoryService};

fn foreign_space() -> EmbeddingSpace {
    EmbeddingSpace {
        model: "another".into(),
        version: "1".into(),
        dimensions: DIMENSIONS,
    }
}

fn foreign_note(text: &str) -> NewRecord {
    let mut vector = vec![0.0; usize::from(DIMENSIONS)];
    vector[3] = 1.0;
    let mut record = new_user_episode(text);
    record.embedding = Some(Embedding::new(foreign_space(), vector));
    record
}

async fn stats(service: &MemoryService) -> EngineStats {
    let user = ada();
    let stats = service.with_engine(&user, |engine| engine.stats());
    stats.await.unwrap()
}

/// Returns how often a text was embedded.
fn embed_count(bench: &TestService, text: &str) -> usize {
    let order = bench.controls.order.lock().unwrap();
    order.iter().filter(|embedded| *embedded == text).count()
}

/// Stores texts one by one, and waits until each was embedded twice: when it was stored, and late.
async fn store_and_embed_late(bench: &TestService, service: &MemoryService, what: &str) {
    for round in 0..5 {
        let text = format!("{what} {round}");
        service
            .observe(&ada(), vec![new_user_episode(&text)])
            .await
            .unwrap();
        wait_until(async || embed_count(bench, &text) == 2).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_takes_a_store_over_that_began_with_a_foreign_vector() {
    let bench = TestService::new();
    let service = bench.start().await;
    let records = vec![foreign_note("theirs"), new_user_episode("ours")];
    let outcomes = service.observe(&ada(), records).await.unwrap();
    assert!(matches!(outcomes[..], [WriteOutcome::Inserted { .. }, _]));
    wait_until(async || stats(&service).await.unembedded == 0).await;
    let stats = stats(&service).await;
    assert_eq!(stats.space.as_deref(), Some("all-MiniLM-L6-v2/1"));
    assert_eq!(stats.foreign_vectors, 0);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_not_the_configured_one_is_not_asked_again_and_again() {
    let mut bench = TestService::new();
    bench.config.space = Some(foreign_space());
    let service = bench.start().await;
    store_and_embed_late(&bench, &service, "of no use").await;
    // Each text was tried once when it was stored and once late, and can never be embedded.
    assert!((0..5).all(|round| embed_count(&bench, &format!("of no use {round}")) == 2));
    assert_eq!(stats(&service).await.unembedded, 5);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_no_model_takes_is_tried_once_more_and_holds_nothing_up() {
    let bench = TestService::new();
    let service = bench.start().await;
    let hopeless: Vec<_> = (5..45)
        .map(|n| new_user_episode(&format!("NAN {n}")))
        .collect();
    service.observe(&ada(), hopeless).await.unwrap();
    store_and_embed_late(&bench, &service, "NAN").await;
    assert!((0..45).all(|n| embed_count(&bench, &format!("NAN {n}")) == 2));
    service
        .observe(&ada(), vec![new_user_episode("a good one")])
        .await
        .unwrap();
    assert_eq!(stats(&service).await.unembedded, 45);
    assert!(service.shut_down().await.is_clean());
}

/// Starts a task that writes until `stop` is set; it returns how many records were acknowledged.
fn spawn_writes(service: &MemoryService, stop: &Arc<AtomicBool>) -> tokio::task::JoinHandle<usize> {
    let (service, stop) = (service.clone(), Arc::clone(stop));
    tokio::spawn(async move {
        let mut acknowledged = 0;
        while !stop.load(Ordering::SeqCst) {
            let record = new_user_episode(&format!("written meanwhile {acknowledged}"));
            service.observe(&ada(), vec![record]).await.unwrap();
            acknowledged += 1;
        }
        acknowledged
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_half_dead_is_rewritten_by_itself_beside_a_writer() {
    let bench = TestService::new();
    let service = bench.start().await;
    let many: Vec<_> = (0..3_000)
        .map(|n| new_user_episode(&format!("note {n}")))
        .collect();
    service.observe(&ada(), many).await.unwrap();
    assert_eq!(stats(&service).await.compacted_to, 0);
    let stop = Arc::new(AtomicBool::new(false));
    let writer = spawn_writes(&service, &stop);
    // Each checkpoint makes the previous one dead.
    wait_until(async || {
        let user = ada();
        let saved = service.with_engine(&user, Engine::checkpoint);
        saved.await.unwrap().unwrap();
        stats(&service).await.compacted_to > 0
    })
    .await;
    stop.store(true, Ordering::SeqCst);
    let acknowledged = writer.await.unwrap();
    assert!(acknowledged > 0);
    assert!(service.shut_down().await.is_clean());
    let service = bench.start().await;
    assert_eq!(stats(&service).await.live as usize, 3_000 + acknowledged);
    let user = ada();
    let check = service.with_engine(&user, Engine::check);
    let report = check.await.unwrap().unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    assert!(service.shut_down().await.is_clean());
}

/// Runs a test in a runtime with a single blocking thread.
fn run_with_one_blocking_thread(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).max_blocking_threads(1);
    runtime.enable_time().build().unwrap().block_on(test);
}

/// Occupies the blocking thread, so that all work that needs one waits.
struct BlockedThread(std::sync::mpsc::Sender<()>, tokio::task::JoinHandle<bool>);

impl BlockedThread {
    fn new() -> Self {
        let (go, gone) = std::sync::mpsc::channel();
        let blocked = tokio::task::spawn_blocking(move || gone.recv().is_err());
        Self(go, blocked)
    }

    async fn release(self) {
        drop(self.0);
        assert!(self.1.await.unwrap());
    }
}

async fn write_records(service: &MemoryService, records: usize) {
    for number in 0..records {
        let record = new_user_episode(&format!("written meanwhile {number}"));
        service.observe(&ada(), vec![record]).await.unwrap();
    }
}

#[test]
fn a_writer_takes_writes_while_its_file_is_copied() {
    run_with_one_blocking_thread(async {
        let bench = TestService::new();
        let service = bench.start().await;
        service
            .observe(&ada(), vec![new_user_episode("first")])
            .await
            .unwrap();
        let occupied = BlockedThread::new();
        let copying = tokio::spawn({
            let service = service.clone();
            async move { service.compact(&ada()).await }
        });
        write_records(&service, 200).await;
        assert!(!copying.is_finished(), "the writer itself copied the file");
        occupied.release().await;
        copying.await.unwrap().unwrap().unwrap();
        assert_eq!(stats(&service).await.live, 201);
        assert!(service.shut_down().await.is_clean());
    });
}

#[test]
fn a_writer_takes_writes_while_a_checkpoint_is_written() {
    run_with_one_blocking_thread(async {
        let bench = TestService::new();
        let service = bench.start().await;
        service
            .observe(&ada(), vec![new_user_episode("first")])
            .await
            .unwrap();
        assert!(!has_checkpoint(&bench));
        let making = tokio::spawn({
            let service = service.clone();
            async move { service.checkpoint(&ada()).await }
        });
        write_records(&service, 200).await;
        making.await.unwrap().unwrap().unwrap();
        assert!(has_checkpoint(&bench));
        assert!(service.shut_down().await.is_clean());
        let service = bench.start().await;
        assert_eq!(stats(&service).await.live, 201);
        let check = service.with_engine(&ada(), Engine::check).await;
        let report = check.unwrap().unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
        assert!(service.shut_down().await.is_clean());
    });
}

#[test]
fn a_memory_left_alone_is_saved() {
    run_with_one_blocking_thread(async {
        let mut bench = TestService::new();
        bench.config.limits.checkpoint_after = Duration::ZERO;
        let service = bench.start().await;
        // Texts are embedded late by the same tick that starts the checkpoint.
        store_and_embed_late(&bench, &service, "NAN").await;
        wait_until(async || has_checkpoint(&bench)).await;
        assert!(service.shut_down().await.is_clean());
    });
}

/// Returns whether the file has a manifest of sections.
fn has_checkpoint(bench: &TestService) -> bool {
    let segments =
        reprise_store::list_segments(&reprise_store::RealDisk, &bench.config.file_path(&ada()));
    let mut segments = segments.unwrap().into_iter();
    segments.any(|segment| segment.name == "manifest")
}

#[test]
fn a_writer_takes_writes_while_what_opening_left_is_read() {
    run_with_one_blocking_thread(async {
        let bench = TestService::new();
        let service = bench.start().await;
        let many: Vec<_> = (0..50)
            .map(|n| new_user_episode(&format!("note {n}")))
            .collect();
        service.observe(&ada(), many).await.unwrap();
        let user = ada();
        let saved = service.with_engine(&user, Engine::checkpoint);
        saved.await.unwrap().unwrap();
        assert!(service.shut_down().await.is_clean());
        let occupied = BlockedThread::new();
        let service = bench.start().await;
        let is_left = async || {
            let loading = service.with_engine(&user, |engine| engine.loader().is_some());
            loading.await.unwrap()
        };
        // Texts are embedded late by the same tick that starts the loading.
        store_and_embed_late(&bench, &service, "NAN").await;
        assert!(is_left().await, "the writer itself read it");
        occupied.release().await;
        wait_until(async || !is_left().await).await;
        assert!(service.shut_down().await.is_clean());
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compactions_asked_for_at_once_take_turns_beside_a_writer() {
    let bench = TestService::new();
    let service = bench.start().await;
    let stop = Arc::new(AtomicBool::new(false));
    let writer = spawn_writes(&service, &stop);
    for _ in 0..4 {
        let user = ada();
        let both = tokio::join!(service.compact(&user), service.compact(&user));
        for report in [both.0, both.1] {
            report.unwrap().unwrap();
        }
    }
    stop.store(true, Ordering::SeqCst);
    let acknowledged = writer.await.unwrap();
    assert!(service.shut_down().await.is_clean());
    let service = bench.start().await;
    assert_eq!(stats(&service).await.live as usize, acknowledged);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_is_tended_once_enough_is_new_and_nobody_asks() {
    let bench = TestService::new();
    let examinations = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&examinations);
    let mut config = bench.config.clone();
    config.limits.maintain_after = Duration::ZERO;
    let examined_until = Arc::new(AtomicU64::new(u64::MAX));
    let examined_before = Arc::clone(&examined_until);
    config.maintenance = Some(Arc::new(move |through| -> MaintenancePlanner {
        examined_before.store(through, Ordering::SeqCst);
        let counting = Arc::clone(&counting);
        Box::new(move |memory: &Snapshot, now, go_on: &dyn Fn() -> bool| {
            assert!(go_on());
            let examinations = counting.fetch_add(1, Ordering::SeqCst);
            let first = memory.records().next()?.ok()?.id;
            Some(MaintenancePlan {
                work: Box::new(move |engine| {
                    engine
                        .expire(&[first], now)
                        .map(|_| MaintenanceReport::default())
                }),
                through: memory.ordinal_count().into(),
                is_incomplete: examinations == 1,
            })
        })
    }));
    let service = MemoryService::start(config.clone(), None).await.unwrap();
    let records = |from: usize| {
        (from..from + 40)
            .map(|n| new_user_episode(&format!("text {n}")))
            .collect()
    };
    service
        .observe(&ada(), vec![new_user_episode("first of all")])
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    service.observe(&ada(), records(0)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(examinations.load(Ordering::SeqCst), 0, "too little is new");
    service.observe(&ada(), records(40)).await.unwrap();
    wait_until(async || stats(&service).await.live == 80).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(
        examinations.load(Ordering::SeqCst),
        1,
        "nothing is new since"
    );
    assert_eq!(
        examined_until.load(Ordering::SeqCst),
        0,
        "nobody looked before"
    );
    assert!(service.shut_down().await.is_clean());
    let service = MemoryService::start(config, None).await.unwrap();
    assert_eq!(stats(&service).await.live, 80);
    service.observe(&ada(), records(80)).await.unwrap();
    service.observe(&ada(), records(120)).await.unwrap();
    // The second examination is incomplete, so a third follows, although nothing is new.
    wait_until(async || examinations.load(Ordering::SeqCst) == 3).await;
    assert_eq!(
        examined_until.load(Ordering::SeqCst),
        81,
        "the log says how far it was"
    );
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_that_waited_for_its_turn_is_looked_at_as_it_is_then() {
    let bench = TestService::new();
    let mut config = bench.config.clone();
    config.limits.maintain_after = Duration::ZERO;
    let log_lengths = Arc::new(Mutex::new(Vec::new()));
    let (begin_sender, mut begins) = tokio::sync::mpsc::channel(8);
    let (go, go_receiver) = std::sync::mpsc::channel::<()>();
    let (examined_lengths, go_receiver) =
        (Arc::clone(&log_lengths), Arc::new(Mutex::new(go_receiver)));
    config.maintenance = Some(Arc::new(move |_| -> MaintenancePlanner {
        let (begin_sender, examined_lengths, go_receiver) = (
            begin_sender.clone(),
            Arc::clone(&examined_lengths),
            Arc::clone(&go_receiver),
        );
        Box::new(move |memory: &Snapshot, _, _: &dyn Fn() -> bool| {
            examined_lengths
                .lock()
                .unwrap()
                .push(memory.ordinal_count());
            begin_sender.try_send(()).unwrap();
            go_receiver.lock().unwrap().recv().ok()?;
            None
        })
    }));
    let service = MemoryService::start(config, None).await.unwrap();
    let records = |count: usize| -> Vec<NewRecord> {
        (0..count)
            .map(|n| new_user_episode(&format!("text {n}")))
            .collect()
    };
    let bob: UserId = "bob".parse().unwrap();
    for user in [&bob, &ada()] {
        // The first record shows that no examination has run so far.
        service.observe(user, records(1)).await.unwrap();
    }
    // The maintenance of Bob's memory runs, and holds the permit.
    while log_lengths.lock().unwrap().is_empty() {
        service.observe(&bob, records(70)).await.unwrap();
    }
    begins.recv().await.unwrap();
    for _ in 0..20 {
        service.observe(&ada(), records(70)).await.unwrap();
    }
    go.send(()).unwrap();
    while log_lengths.lock().unwrap().len() < 2 {
        service.observe(&ada(), records(70)).await.unwrap();
    }
    let log_length = log_lengths.lock().unwrap()[1];
    assert!(log_length > 20 * 70, "{log_length} places");
    drop(go);
    assert!(service.shut_down().await.is_clean());
}
