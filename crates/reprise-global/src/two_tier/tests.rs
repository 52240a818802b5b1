//! Two tiers, one of which hangs, fails and comes back.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use reprise_tests::{assert_contains, seen_if, wait_for_async};
use reprise_types::{
    Credit, DegradedPart, FailKind, RankExplanation, RecordId, RetrievedMemory, SearchRoute, UserId,
};
use tokio::time::timeout;

use super::*;
use crate::audit::AuditLine;
use crate::caller::Caller;
use crate::error::{GlobalError, GlobalResult};
use crate::published::Published;
use crate::record::{AccessPolicy, GlobalRecord, Publication, QualityMetrics, Version};
use crate::store::{
    Branch, Fate, GlobalAnswer, GlobalHit, GlobalQuery, GlobalStore, ListPage, Merged, Unpublished,
    UsageReport,
};
use crate::takedown::{Erased, Listed, PersonLine, TakeDown, TakeDownDone, TakenDown};
use crate::tier::{COMPLETED, TierOptions};

const ASKED_MAX: usize = 16;

/// A memory that answers at once, and writes down what it is told of runs.
struct ScriptedMemory {
    results: Mutex<Vec<RetrievedMemory>>,
    told: Mutex<Vec<RunEnding>>,
}

impl Default for ScriptedMemory {
    fn default() -> Self {
        Self {
            results: Mutex::new(vec![make_own_hit(1, 0.9), make_own_hit(2, 0.1)]),
            told: Mutex::default(),
        }
    }
}

fn make_own_hit(number: u128, score: f32) -> RetrievedMemory {
    let mut record = RetrievedMemory::from(make_hit(number, score)).record;
    record.id = RecordId::from_parts(1, number);
    record.text = format!("What I know, part {number}.");
    RetrievedMemory {
        record,
        score,
        sona_score: score,
        why: RankExplanation {
            raw_distance: Some(0.3),
            ..RankExplanation::default()
        },
        shown: true,
        published: None,
    }
}

fn make_hit(number: u128, score: f32) -> GlobalHit {
    GlobalHit {
        record: GlobalRecord {
            id: RecordId::from_parts(2, number),
            embedding: Vec::new(),
            embedding_space: None,
            author_id: "ann".parse().unwrap(),
            org_id: None,
            published_at: DateTime::UNIX_EPOCH,
            version: Version(3),
            checksum: String::new(),
            quality_metrics: QualityMetrics::default(),
            publication: Publication {
                origin: "o".to_owned(),
                content_type: crate::record::GlobalContentType::Document,
                title: "Title".to_owned(),
                summary: String::new(),
                content: "What others know.".to_owned(),
                tags: Vec::new(),
                access_policy: AccessPolicy::Public,
                project: None,
                licence: String::new(),
            },
        },
        score,
        sona_score: score,
        why: RankExplanation {
            raw_distance: Some(0.3),
            ..RankExplanation::default()
        },
    }
}

#[async_trait]
impl MemoryProvider for ScriptedMemory {
    async fn execute_recall(
        &self,
        request: RecallRequest,
    ) -> GlobalResult<RecallResponse, MemoryError> {
        let mut recall = RecallResponse::empty(RecallId::from_u128(7));
        recall.route = SearchRoute::Scan;
        recall.results.clone_from(&self.results.lock().unwrap());
        recall.results.truncate(request.top_k);
        Ok(recall)
    }

    async fn end_run(&self, run: RunEnding) -> GlobalResult<(), MemoryError> {
        self.told.lock().unwrap().push(run);
        Ok(())
    }

    async fn build_context_block(
        &self,
        _: &str,
        _: usize,
    ) -> GlobalResult<ContextBlock, MemoryError> {
        unreachable!("the two tiers make their own")
    }
}

/// A store that answers, hangs or fails, as the test sets it.
#[derive(Default)]
struct ScriptedStore {
    hangs: AtomicBool,
    /// Lets questions that hang go on.
    goes_on: tokio::sync::Notify,
    fails: AtomicBool,
    refuses: AtomicBool,
    asked: AtomicUsize,
    reported: Mutex<Vec<(UserId, UsageReport)>>,
}

/// Implements a store of which the two tiers ask no more than what is written out.
macro_rules! asked_alone {
    ([$($name:ident($($kind:ty),*) -> $told:ty;)+] $($asked:tt)+) => {
        #[async_trait]
        impl GlobalStore for ScriptedStore {
            $(async fn $name(&self, _: &Caller $(, _: $kind)*) -> GlobalResult<$told> {
                unreachable!()
            })+

            async fn check_ready(&self) -> GlobalResult<()> {
                unreachable!()
            }

            $($asked)+
        }
    };
}

asked_alone! {
    [
        publish(Publication) -> Published;
        get(RecordId, Option<Version>) -> GlobalRecord;
        list_versions_page(RecordId, ListPage) -> Vec<GlobalRecord>;
        list_own_published_page(ListPage) -> Vec<GlobalRecord>;
        unpublish(RecordId) -> Unpublished;
        rate(RecordId, f32) -> ();
        create_snapshot(&str) -> DateTime<Utc>;
        open_branch(&str) -> Branch;
        list_branches() -> Vec<Branch>;
        publish_on_branch(&str, Publication) -> Published;
        merge_branch(&str) -> Vec<Merged>;
        drop_branch(&str) -> Branch;
        list_catalogue_page(ListPage) -> Vec<Listed>;
        take_down(RecordId, &TakeDown) -> TakeDownDone;
        put_back(RecordId) -> crate::review::DecisionReport;
        list_own_taken_down() -> Vec<TakenDown>;
        list_person_lines() -> Vec<PersonLine>;
        erase_person() -> Erased;
        list_audit_lines(usize) -> Vec<AuditLine>;
    ]

    async fn query(&self, _: &Caller, query: &GlobalQuery) -> GlobalResult<GlobalAnswer> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.fails.load(Ordering::SeqCst) {
            return Err(GlobalError::Unavailable {
                message: "down".to_owned(),
            });
        }
        if self.refuses.load(Ordering::SeqCst) {
            return Err(GlobalError::Token {
                message: "no token".to_owned(),
            });
        }
        if self.hangs.load(Ordering::SeqCst) {
            self.goes_on.notified().await;
        }
        let mut hits = vec![make_hit(1, 0.5)];
        hits.truncate(query.top_k);
        Ok(GlobalAnswer {
            hits,
            degraded: Vec::new(),
        })
    }

    async fn report_usage(&self, caller: &Caller, reports: &[UsageReport]) -> GlobalResult<Vec<Fate>> {
        let mut reported = self.reported.lock().unwrap();
        reported.extend(reports.iter().map(|report| (caller.user.clone(), *report)));
        Ok(Vec::new())
    }
}

struct Bench {
    own: Arc<ScriptedMemory>,
    others: Arc<ScriptedStore>,
    memory: TwoTierMemory,
}

/// Its deadline is long, so that no slow machine makes a store late that is not.
fn make_bench() -> Bench {
    make_bench_with_deadline(Duration::from_mins(1))
}

fn make_bench_with_deadline(deadline: Duration) -> Bench {
    let (own, others) = (
        Arc::new(ScriptedMemory::default()),
        Arc::new(ScriptedStore::default()),
    );
    let memory = TwoTierMemory::new(
        Arc::<ScriptedMemory>::clone(&own),
        GlobalTier::new(
            Arc::<ScriptedStore>::clone(&others),
            Caller::new("bob".parse().unwrap()),
            TierOptions {
                deadline,
                ..TierOptions::default()
            },
        ),
        Arc::new(reprise_types::SystemClock),
    );
    Bench {
        own,
        others,
        memory,
    }
}

async fn recall_ids(memory: &TwoTierMemory, top_k: usize) -> (Vec<u128>, Vec<DegradedPart>) {
    let request = RecallRequest {
        top_k,
        ..RecallRequest::new("what")
    };
    let recall = memory.execute_recall(request).await.unwrap();
    let ids = recall.results.iter().map(|found| {
        let tier = if found.published.is_some() { 200 } else { 100 };
        tier + (found.record.id.to_u128() & 0xff)
    });
    (ids.collect(), recall.degraded)
}

#[tokio::test]
async fn both_tiers_answer_as_one_and_the_scope_says_which() {
    let bench = make_bench();
    let both = recall_ids(&bench.memory, 5).await;
    assert_eq!(both, (vec![101, 102, 201], vec![]));
    let local = bench.memory.clone().with_scope(RecallScope::Local);
    assert_eq!(recall_ids(&local, 5).await.0, [101, 102]);
    assert_eq!(bench.others.asked.load(Ordering::SeqCst), 1);
    let global = bench.memory.clone().with_scope(RecallScope::Global);
    assert_eq!(recall_ids(&global, 5).await.0, [201]);
    let block = bench.memory.build_context_block("what", 400).await.unwrap();
    assert_contains!(block.text, "published by ann, version 3");
}

#[tokio::test]
async fn what_is_newer_stays_above_what_it_contradicts() {
    let bench = make_bench();
    // The older helped before; or a second judge thought less of the newer.
    for (score, learned) in [(0.9, 0.1), (0.1, 0.0)] {
        let (newer, mut older) = (make_own_hit(1, score), make_own_hit(2, 0.89));
        older.sona_score += learned;
        older.why.contradicted_by = Some(newer.record.id);
        *bench.own.results.lock().unwrap() = vec![newer, older];
        assert_eq!(recall_ids(&bench.memory, 5).await.0, [101, 102, 201]);
    }
}

#[tokio::test]
async fn a_store_that_stands_still_or_fails_costs_its_part_alone() {
    let deadline = Duration::from_secs(4);
    let bench = make_bench_with_deadline(deadline);
    bench.others.hangs.store(true, Ordering::SeqCst);
    let began = Instant::now();
    let alone = (vec![101, 102], vec![DegradedPart::NoGlobal]);
    assert_eq!(recall_ids(&bench.memory, 5).await, alone);
    assert!(began.elapsed() >= deadline);
    // From now on nobody waits for it: all of these together take less than one deadline.
    let others = async {
        for _ in 0..ASKED_MAX * 2 {
            assert_eq!(recall_ids(&bench.memory, 5).await, alone);
        }
    };
    timeout(deadline, others).await.unwrap();
    // No more are under way than may be.
    assert!(bench.others.asked.load(Ordering::SeqCst) <= ASKED_MAX);
}

#[tokio::test]
async fn a_late_answer_is_there_when_the_same_is_asked_again() {
    let bench = make_bench_with_deadline(Duration::from_millis(20));
    bench.others.hangs.store(true, Ordering::SeqCst);
    let alone = (vec![101, 102], vec![DegradedPart::NoGlobal]);
    assert_eq!(recall_ids(&bench.memory, 5).await, alone);
    bench.others.goes_on.notify_one();
    let both = wait_for_async("the late answer", async || {
        let both = recall_ids(&bench.memory, 5).await;
        seen_if(both != alone, both)
    });
    assert_eq!(both.await, (vec![101, 102, 201], vec![]));
    // Of another question nothing is known.
    assert_eq!(recall_ids(&bench.memory, 4).await, alone);
}

#[test]
fn a_store_is_waited_for_as_long_as_it_lately_took_and_no_longer_than_the_deadline() {
    let tier = GlobalTier::new(
        Arc::new(ScriptedStore::default()),
        Caller::new("bob".parse().unwrap()),
        TierOptions::default(),
    );
    let milliseconds = Duration::from_millis;
    assert_eq!(TierOptions::default().deadline, milliseconds(400));
    let took = |took: u64| {
        tier.answered_in(milliseconds(took));
        tier.wait_limit()
    };
    assert_eq!(tier.wait_limit(), milliseconds(400), "nothing is known yet");
    assert_eq!(took(80), milliseconds(320));
    assert_eq!(took(80), milliseconds(320));
    assert_eq!(took(1_000), milliseconds(400));
    let mut last = tier.wait_limit();
    for _ in 0..40 {
        last = took(1);
    }
    assert_eq!(last, milliseconds(200));
}

#[tokio::test]
async fn want_of_a_token_is_told_until_a_question_fails_otherwise() {
    let bench = make_bench();
    let notes = async || {
        let request = RecallRequest::new("what");
        let recall = bench.memory.execute_recall(request).await.unwrap();
        assert_eq!(recall.degraded, [DegradedPart::NoGlobal]);
        recall.notes
    };
    bench.others.refuses.store(true, Ordering::SeqCst);
    assert_eq!(notes().await, ["no token"]);
    assert_eq!(notes().await, ["no token"]);
    let alone = bench.memory.clone().with_scope(RecallScope::Global);
    let error = alone.execute_recall(RecallRequest::new("x")).await;
    assert!(matches!(error, Err(MemoryError::Invalid { .. })));
    bench.others.refuses.store(false, Ordering::SeqCst);
    bench.others.fails.store(true, Ordering::SeqCst);
    assert!(notes().await.is_empty());
}

#[tokio::test]
async fn a_store_that_comes_back_is_used_again() {
    let bench = make_bench();
    bench.others.fails.store(true, Ordering::SeqCst);
    assert_eq!(
        recall_ids(&bench.memory, 5).await.1,
        [DegradedPart::NoGlobal]
    );
    let global = bench.memory.clone().with_scope(RecallScope::Global);
    let error = global.execute_recall(RecallRequest::new("x")).await;
    assert!(matches!(error, Err(MemoryError::Storage { .. })));
    bench.others.fails.store(false, Ordering::SeqCst);
    wait_for_async("an answer with what others published", async || {
        let degraded = recall_ids(&bench.memory, 5).await.1;
        seen_if(degraded.is_empty(), degraded)
    })
    .await;
}

fn make_ending(used: &[RecordId], quality: Option<f32>, fail: Option<FailKind>) -> RunEnding {
    RunEnding {
        run_id: "run".to_owned(),
        used: used.to_vec(),
        credit: Credit::Explicit,
        quality,
        fail_kind: fail,
    }
}

#[tokio::test]
async fn a_run_reports_published_things_up_and_its_own_to_its_own_memory() {
    let bench = make_bench();
    recall_ids(&bench.memory, 5).await;
    let (own, published) = (RecordId::from_parts(1, 1), RecordId::from_parts(2, 1));
    for (quality, fail, expected) in [
        (Some(0.9), None, Some(0.9)),
        (None, None, Some(COMPLETED)),
        (None, Some(FailKind::Task), Some(0.0)),
        // An outage says nothing of what was used.
        (None, Some(FailKind::Network), None),
    ] {
        let run = make_ending(&[own, published], quality, fail);
        bench.memory.end_run(run).await.unwrap();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let told = std::mem::take(&mut *bench.own.told.lock().unwrap());
        assert_eq!(told, [make_ending(&[own], quality, fail)]);
        let reported = std::mem::take(&mut *bench.others.reported.lock().unwrap());
        let expected: Vec<_> = expected
            .map(|score| {
                let id = published;
                let count = 1;
                ("bob".parse().unwrap(), UsageReport { id, score, count })
            })
            .into_iter()
            .collect();
        assert_eq!(reported, expected);
    }
}

#[tokio::test]
async fn what_asks_in_passing_gets_what_others_published_and_waits_no_longer_than_it_said() {
    let tier = |others: &Arc<ScriptedStore>, user: &str| {
        let options = TierOptions::default();
        GlobalTier::new(
            Arc::<ScriptedStore>::clone(others),
            Caller::new(user.parse().unwrap()),
            options,
        )
    };
    let (others, request) = (
        Arc::new(ScriptedStore::default()),
        RecallRequest::new("what"),
    );
    let long = Duration::from_mins(1);
    let found = tier(&others, "bob")
        .recall_within_deadline(&request, long)
        .await;
    assert!(found.iter().all(|hit| hit.published.is_some()));
    assert_eq!(found.len(), 1);
    // An author's own is in his memory.
    assert!(
        tier(&others, "ann")
            .recall_within_deadline(&request, long)
            .await
            .is_empty()
    );
    others.hangs.store(true, Ordering::SeqCst);
    let still = tier(&others, "bob");
    let asked = still.recall_within_deadline(&request, Duration::from_millis(20));
    assert!(timeout(long, asked).await.unwrap().is_empty());
    // What came late is there for the same question.
    others.goes_on.notify_one();
    let found = wait_for_async("what came late", async || {
        let found = still
            .recall_within_deadline(&request, Duration::from_millis(20))
            .await;
        seen_if(!found.is_empty(), found)
    });
    assert_eq!(found.await.len(), 1);
}
