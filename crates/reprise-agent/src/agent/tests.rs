//! Maintenance of one memory: late embedding and automatic compaction.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reprise_engine::{Engine, EngineStats, Snapshot};
use reprise_types::{Embedding, EmbeddingSpace, NewRecord, UserId, WriteOutcome};

use crate::testing::{Bench, DIMENSIONS, ada, note, until};
use crate::{MemoryService, TendDone, Tended, Tender};

fn foreign() -> EmbeddingSpace {
    EmbeddingSpace {
        model: "another".into(),
        version: "1".into(),
        dimensions: DIMENSIONS,
    }
}

fn foreign_note(text: &str) -> NewRecord {
    let mut vector = vec![0.0; usize::from(DIMENSIONS)];
    vector[3] = 1.0;
    let mut record = note(text);
    record.embedding = Some(Embedding::new(foreign(), vector));
    record
}

async fn stats(service: &MemoryService) -> EngineStats {
    let user = ada();
    let stats = service.with_engine(&user, |engine| engine.stats());
    stats.await.unwrap()
}

/// How often a text was embedded.
fn tried(bench: &Bench, text: &str) -> usize {
    let order = bench.controls.order.lock().unwrap();
    order.iter().filter(|embedded| *embedded == text).count()
}

/// Stores texts one by one; each is tried when it is stored and once more late.
async fn rounds(bench: &Bench, service: &MemoryService, what: &str) {
    for round in 0..5 {
        let text = format!("{what} {round}");
        service.observe(&ada(), vec![note(&text)]).await.unwrap();
        until(async || tried(bench, &text) == 2).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_takes_a_store_over_that_began_with_a_foreign_vector() {
    let bench = Bench::new();
    let service = bench.start().await;
    let records = vec![foreign_note("theirs"), note("ours")];
    let kept = service.observe(&ada(), records).await.unwrap();
    assert!(matches!(kept[..], [WriteOutcome::Inserted { .. }, _]));
    until(async || stats(&service).await.unembedded == 0).await;
    let stats = stats(&service).await;
    assert_eq!(stats.space.as_deref(), Some("all-MiniLM-L6-v2/1"));
    assert_eq!(stats.foreign_vectors, 0);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_not_the_configured_one_is_not_asked_again_and_again() {
    let mut bench = Bench::new();
    bench.config.space = Some(foreign());
    let service = bench.start().await;
    rounds(&bench, &service, "of no use").await;
    // Tried once when stored and once late: this text can never be embedded.
    assert!((0..5).all(|round| tried(&bench, &format!("of no use {round}")) == 2));
    assert_eq!(stats(&service).await.unembedded, 5);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_no_model_takes_is_tried_once_more_and_holds_nothing_up() {
    let bench = Bench::new();
    let service = bench.start().await;
    let hopeless: Vec<_> = (5..45).map(|n| note(&format!("NAN {n}"))).collect();
    service.observe(&ada(), hopeless).await.unwrap();
    rounds(&bench, &service, "NAN").await;
    assert!((0..45).all(|n| tried(&bench, &format!("NAN {n}")) == 2));
    service
        .observe(&ada(), vec![note("a good one")])
        .await
        .unwrap();
    assert_eq!(stats(&service).await.unembedded, 45);
    assert!(service.shut_down().await.is_clean());
}

/// Writes until told to stop; answers how many records were acknowledged.
fn writing(service: &MemoryService, stop: &Arc<AtomicBool>) -> tokio::task::JoinHandle<usize> {
    let (service, stop) = (service.clone(), Arc::clone(stop));
    tokio::spawn(async move {
        let mut kept = 0;
        while !stop.load(Ordering::SeqCst) {
            let record = note(&format!("written meanwhile {kept}"));
            service.observe(&ada(), vec![record]).await.unwrap();
            kept += 1;
        }
        kept
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_half_dead_is_rewritten_by_itself_beside_a_writer() {
    let bench = Bench::new();
    let service = bench.start().await;
    let many: Vec<_> = (0..3_000).map(|n| note(&format!("note {n}"))).collect();
    service.observe(&ada(), many).await.unwrap();
    assert_eq!(stats(&service).await.compacted_to, 0);
    let stop = Arc::new(AtomicBool::new(false));
    let writer = writing(&service, &stop);
    // Each checkpoint makes the previous one dead.
    until(async || {
        let user = ada();
        let saved = service.with_engine(&user, Engine::checkpoint);
        saved.await.unwrap().unwrap();
        stats(&service).await.compacted_to > 0
    })
    .await;
    stop.store(true, Ordering::SeqCst);
    let kept = writer.await.unwrap();
    assert!(kept > 0);
    assert!(service.shut_down().await.is_clean());
    let service = bench.start().await;
    assert_eq!(stats(&service).await.live as usize, 3_000 + kept);
    let user = ada();
    let check = service.with_engine(&user, Engine::check);
    let report = check.await.unwrap().unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    assert!(service.shut_down().await.is_clean());
}

/// Runs a test with one thread that may block.
fn with_one_thread(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).max_blocking_threads(1);
    runtime.enable_time().build().unwrap().block_on(test);
}

/// That thread, taken: what needs one waits.
struct Occupied(std::sync::mpsc::Sender<()>, tokio::task::JoinHandle<bool>);

impl Occupied {
    fn new() -> Self {
        let (go, gone) = std::sync::mpsc::channel();
        let standing = tokio::task::spawn_blocking(move || gone.recv().is_err());
        Self(go, standing)
    }

    async fn end(self) {
        drop(self.0);
        assert!(self.1.await.unwrap());
    }
}

async fn write(service: &MemoryService, records: usize) {
    for number in 0..records {
        let record = note(&format!("written meanwhile {number}"));
        service.observe(&ada(), vec![record]).await.unwrap();
    }
}

#[test]
fn a_writer_takes_writes_while_its_file_is_copied() {
    with_one_thread(async {
        let bench = Bench::new();
        let service = bench.start().await;
        service.observe(&ada(), vec![note("first")]).await.unwrap();
        let occupied = Occupied::new();
        let copying = tokio::spawn({
            let service = service.clone();
            async move { service.compact(&ada()).await }
        });
        write(&service, 200).await;
        assert!(!copying.is_finished(), "the writer itself copied the file");
        occupied.end().await;
        copying.await.unwrap().unwrap().unwrap();
        assert_eq!(stats(&service).await.live, 201);
        assert!(service.shut_down().await.is_clean());
    });
}

#[test]
fn a_writer_takes_writes_while_a_checkpoint_is_made() {
    with_one_thread(async {
        let bench = Bench::new();
        let service = bench.start().await;
        service.observe(&ada(), vec![note("first")]).await.unwrap();
        let occupied = Occupied::new();
        let making = tokio::spawn({
            let service = service.clone();
            async move { service.checkpoint(&ada()).await }
        });
        write(&service, 200).await;
        assert!(!making.is_finished(), "the writer itself made it");
        assert!(!has_checkpoint(&bench));
        occupied.end().await;
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

/// The same of the checkpoint that an idle memory gets by itself.
#[test]
fn a_memory_left_alone_is_saved_beside_its_writer() {
    with_one_thread(async {
        let occupied = Occupied::new();
        let mut bench = Bench::new();
        bench.config.limits.checkpoint_after = Duration::ZERO;
        let service = bench.start().await;
        // What is tried again is tried by the maintenance that has it saved.
        rounds(&bench, &service, "NAN").await;
        assert!(!has_checkpoint(&bench), "the writer itself made it");
        occupied.end().await;
        until(async || has_checkpoint(&bench)).await;
        assert!(service.shut_down().await.is_clean());
    });
}

/// Whether a seal stands in the file.
fn has_checkpoint(bench: &Bench) -> bool {
    let segments = reprise_store::inspect(&reprise_store::RealDisk, &bench.config.file_of(&ada()));
    let mut segments = segments.unwrap().into_iter();
    segments.any(|segment| segment.name == "seal")
}

#[test]
fn a_writer_takes_writes_while_what_opening_left_is_read() {
    with_one_thread(async {
        let bench = Bench::new();
        let service = bench.start().await;
        let many: Vec<_> = (0..50).map(|n| note(&format!("note {n}"))).collect();
        service.observe(&ada(), many).await.unwrap();
        let user = ada();
        let saved = service.with_engine(&user, Engine::checkpoint);
        saved.await.unwrap().unwrap();
        assert!(service.shut_down().await.is_clean());
        let occupied = Occupied::new();
        let service = bench.start().await;
        let is_left = async || {
            let asked = service.with_engine(&user, |engine| engine.loading().is_some());
            asked.await.unwrap()
        };
        // What is tried again is tried by the maintenance that has the rest read.
        rounds(&bench, &service, "NAN").await;
        assert!(is_left().await, "the writer itself read it");
        occupied.end().await;
        until(async || !is_left().await).await;
        assert!(service.shut_down().await.is_clean());
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compactions_asked_for_at_once_take_turns_beside_a_writer() {
    let bench = Bench::new();
    let service = bench.start().await;
    let stop = Arc::new(AtomicBool::new(false));
    let writer = writing(&service, &stop);
    for _ in 0..4 {
        let user = ada();
        let both = tokio::join!(service.compact(&user), service.compact(&user));
        for report in [both.0, both.1] {
            report.unwrap().unwrap();
        }
    }
    stop.store(true, Ordering::SeqCst);
    let kept = writer.await.unwrap();
    assert!(service.shut_down().await.is_clean());
    let service = bench.start().await;
    assert_eq!(stats(&service).await.live as usize, kept);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_is_tended_once_enough_is_new_and_nobody_asks() {
    let bench = Bench::new();
    let looks = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&looks);
    let mut config = bench.config.clone();
    config.limits.tend_after = Duration::ZERO;
    let said = Arc::new(AtomicU64::new(u64::MAX));
    let before = Arc::clone(&said);
    config.tend = Some(Arc::new(move |through| -> Tender {
        before.store(through, Ordering::SeqCst);
        let counting = Arc::clone(&counting);
        Box::new(move |memory: &Snapshot, now, go_on: &dyn Fn() -> bool| {
            assert!(go_on());
            let looks = counting.fetch_add(1, Ordering::SeqCst);
            let first = memory.records().next()?.ok()?.id;
            Some(Tended {
                work: Box::new(move |engine| {
                    engine.put_away(&[first], now).map(|_| TendDone::default())
                }),
                through: memory.places().into(),
                cut: looks == 1,
            })
        })
    }));
    let service = MemoryService::start(config.clone(), None).await.unwrap();
    let records = |from: usize| {
        (from..from + 40)
            .map(|n| note(&format!("text {n}")))
            .collect()
    };
    service
        .observe(&ada(), vec![note("first of all")])
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    service.observe(&ada(), records(0)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(looks.load(Ordering::SeqCst), 0, "too little is new");
    service.observe(&ada(), records(40)).await.unwrap();
    until(async || stats(&service).await.live == 80).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(looks.load(Ordering::SeqCst), 1, "nothing is new since");
    assert_eq!(said.load(Ordering::SeqCst), 0, "nobody looked before");
    assert!(service.shut_down().await.is_clean());
    let service = MemoryService::start(config, None).await.unwrap();
    assert_eq!(stats(&service).await.live, 80);
    service.observe(&ada(), records(80)).await.unwrap();
    service.observe(&ada(), records(120)).await.unwrap();
    // The second look has no time for all: a third follows, though nothing is new.
    until(async || looks.load(Ordering::SeqCst) == 3).await;
    assert_eq!(
        said.load(Ordering::SeqCst),
        81,
        "the log says how far it was"
    );
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_that_waited_for_its_turn_is_looked_at_as_it_is_then() {
    let bench = Bench::new();
    let mut config = bench.config.clone();
    config.limits.tend_after = Duration::ZERO;
    let places = Arc::new(Mutex::new(Vec::new()));
    let (begun, mut begins) = tokio::sync::mpsc::channel(8);
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let (looked, gone) = (Arc::clone(&places), Arc::new(Mutex::new(gone)));
    config.tend = Some(Arc::new(move |_| -> Tender {
        let (begun, looked, gone) = (begun.clone(), Arc::clone(&looked), Arc::clone(&gone));
        Box::new(move |memory: &Snapshot, _, _: &dyn Fn() -> bool| {
            looked.lock().unwrap().push(memory.places());
            begun.try_send(()).unwrap();
            gone.lock().unwrap().recv().ok()?;
            None
        })
    }));
    let service = MemoryService::start(config, None).await.unwrap();
    let records = |count: usize| -> Vec<NewRecord> {
        (0..count).map(|n| note(&format!("text {n}"))).collect()
    };
    let bob: UserId = "bob".parse().unwrap();
    for user in [&bob, &ada()] {
        // The first one says that nobody has looked so far.
        service.observe(user, records(1)).await.unwrap();
    }
    // Bob's memory has the turn, and keeps it.
    while places.lock().unwrap().is_empty() {
        service.observe(&bob, records(70)).await.unwrap();
    }
    begins.recv().await.unwrap();
    for _ in 0..20 {
        service.observe(&ada(), records(70)).await.unwrap();
    }
    go.send(()).unwrap();
    while places.lock().unwrap().len() < 2 {
        service.observe(&ada(), records(70)).await.unwrap();
    }
    let seen = places.lock().unwrap()[1];
    assert!(seen > 20 * 70, "{seen} places");
    drop(go);
    assert!(service.shut_down().await.is_clean());
}
