//! Query expansion and reranking by a host: they change the results, and their failures never fail
//! a recall.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use reprise_types::{
    DegradedPart, HelperError, MemoryProvider, QueryExpander, RecallRequest, RecallResponse,
    Reranker,
};

use crate::testing::{TestService, ada, new_user_episode};

/// The behaviour of a fake expander or reranker.
#[derive(Debug, Clone, Copy)]
enum HelperBehaviour {
    Helpful,
    Failing,
    Panicking,
    Asleep,
    /// It returns invalid values.
    Confused,
}

impl HelperBehaviour {
    async fn respond<T>(self, helpful: T, confused: T) -> Result<T, HelperError> {
        match self {
            Self::Helpful => Ok(helpful),
            Self::Confused => Ok(confused),
            Self::Failing => Err(HelperError {
                message: "no helper today".to_owned(),
            }),
            Self::Panicking => panic!("told to panic"),
            Self::Asleep => std::future::pending().await,
        }
    }
}

/// An expander that knows that a "crate" is a box.
struct TestExpander(HelperBehaviour);

#[async_trait]
impl QueryExpander for TestExpander {
    async fn expand_query(&self, query: &str) -> Result<Vec<String>, HelperError> {
        let others = ["", query, &query.replace("crate", "box"), "x", "y", "z"];
        let others = others.map(str::to_owned).to_vec();
        self.0.respond(others, vec![" ".to_owned()]).await
    }
}

/// A reranker that prefers the text with "certainly".
struct TestReranker(HelperBehaviour);

#[async_trait]
impl Reranker for TestReranker {
    async fn score_relevance(
        &self,
        _query: &str,
        texts: &[String],
    ) -> Result<Vec<f32>, HelperError> {
        let sure = |text: &String| {
            if text.contains("certainly") {
                0.99
            } else {
                0.01
            }
        };
        let judged: Vec<f32> = texts.iter().map(sure).collect();
        let mut confused = judged.clone();
        confused[0] = f32::NAN;
        self.0.respond(judged, confused).await
    }
}

const NOTES: [&str; 4] = [
    "the crate waits in the hall",
    "the crate is certainly in the cellar",
    "the box waits on the roof",
    "nothing of interest",
];

async fn recall_with(
    expander: Option<HelperBehaviour>,
    reranker: Option<HelperBehaviour>,
) -> RecallResponse {
    let mut bench = TestService::new();
    bench.controls.missing.store(true, Ordering::SeqCst);
    bench.config.expander =
        expander.map(|mood| Arc::new(TestExpander(mood)) as Arc<dyn QueryExpander>);
    bench.config.reranker = reranker.map(|mood| Arc::new(TestReranker(mood)) as Arc<dyn Reranker>);
    bench.config.limits.recall_budget = Duration::from_mins(1);
    for wait in [
        &mut bench.config.limits.expansion_wait,
        &mut bench.config.limits.rerank_wait,
    ] {
        *wait = match (expander, reranker) {
            (Some(HelperBehaviour::Asleep), _) | (_, Some(HelperBehaviour::Asleep)) => {
                Duration::from_millis(20)
            }
            _ => Duration::from_mins(1),
        };
    }
    let service = bench.start().await;
    service
        .observe(&ada(), NOTES.map(new_user_episode).to_vec())
        .await
        .unwrap();
    let request = RecallRequest {
        top_k: 2,
        ..RecallRequest::new("where waits the crate")
    };
    let recall = service
        .provider(&ada())
        .execute_recall(request)
        .await
        .unwrap();
    assert!(service.shut_down().await.is_clean());
    recall
}

/// A reranker that counts how often it was asked.
struct CountingReranker(Arc<AtomicUsize>);

#[async_trait]
impl Reranker for CountingReranker {
    async fn score_relevance(
        &self,
        _query: &str,
        texts: &[String],
    ) -> Result<Vec<f32>, HelperError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(vec![0.5; texts.len()])
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_gets_no_line_is_not_judged() {
    let own = "where waits the crate";
    let foreign = "hall of the museum with herons, storks, cranes, swans, geese and ducks";
    let prompt = Duration::from_mins(2);
    for (query, purposeful, looks) in [
        (own, prompt, 1),
        (foreign, prompt, 0),
        (foreign, Duration::ZERO, 1),
    ] {
        let mut bench = TestService::new();
        bench.controls.missing.store(true, Ordering::SeqCst);
        let asked = Arc::new(AtomicUsize::new(0));
        bench.config.reranker = Some(Arc::new(CountingReranker(Arc::clone(&asked))));
        let limits = &mut bench.config.limits;
        (limits.recall_budget, limits.rerank_wait) = (Duration::from_mins(1), prompt);
        (limits.rerank_prompt_wait, limits.purposeful_budget) = (prompt, purposeful);
        let service = bench.start().await;
        service
            .observe(&ada(), NOTES.map(new_user_episode).to_vec())
            .await
            .unwrap();
        let provider = service.provider(&ada());
        let request = RecallRequest {
            top_k: 2,
            ..RecallRequest::new(query)
        };
        let recall = provider.execute_recall(request).await.unwrap();
        assert!(!recall.results.is_empty(), "{query}");
        assert_eq!(asked.load(Ordering::SeqCst), looks, "{query}: {recall:?}");
        assert!(!recall.degraded.contains(&DegradedPart::NotReranked));
        assert!(service.shut_down().await.is_clean());
    }
}

fn result_texts(recall: &RecallResponse) -> Vec<&str> {
    let found = recall.results.iter();
    found.map(|found| found.record.text.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_wordings_find_what_the_question_does_not_say() {
    let plain = recall_with(None, None).await;
    assert_eq!(result_texts(&plain)[0], NOTES[0]);
    let wide = recall_with(Some(HelperBehaviour::Helpful), None).await;
    let found = wide
        .results
        .iter()
        .find(|found| found.record.text == NOTES[2]);
    let reason = &found.unwrap().why.reason;
    assert!(
        reason.starts_with("asked as \"where waits the box\": "),
        "{reason}"
    );
    assert_eq!(wide.results.len(), 2);
    assert!(!wide.degraded.contains(&DegradedPart::NotExpanded));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_judge_brings_up_what_was_found_further_down() {
    let judged = recall_with(None, Some(HelperBehaviour::Helpful)).await;
    assert_eq!(result_texts(&judged)[0], NOTES[1]);
    assert_eq!(
        judged.results.len(),
        2,
        "it chose among more than were asked for"
    );
    for found in &judged.results {
        let logit: f32 = found.why.signals.iter().map(|s| s.contribution).sum();
        let score = 1.0 / (1.0 + (-logit).exp());
        assert!(
            (found.score - score).abs() < 1e-4,
            "the parts add up: {found:?}"
        );
    }
    assert!(!judged.degraded.contains(&DegradedPart::NotReranked));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_helper_fails_at_is_done_without_and_named() {
    let plain = recall_with(None, None).await;
    for mood in [
        HelperBehaviour::Failing,
        HelperBehaviour::Panicking,
        HelperBehaviour::Asleep,
    ] {
        let recall = recall_with(Some(mood), None).await;
        assert_eq!(result_texts(&recall), result_texts(&plain), "{mood:?}");
        assert!(
            recall.degraded.contains(&DegradedPart::NotExpanded),
            "{mood:?}"
        );
    }
    for mood in [
        HelperBehaviour::Failing,
        HelperBehaviour::Panicking,
        HelperBehaviour::Asleep,
        HelperBehaviour::Confused,
    ] {
        let recall = recall_with(None, Some(mood)).await;
        assert_eq!(result_texts(&recall), result_texts(&plain), "{mood:?}");
        assert!(
            recall.degraded.contains(&DegradedPart::NotReranked),
            "{mood:?}"
        );
    }
    // Invalid expansions change nothing, and nothing is reported missing.
    let recall = recall_with(Some(HelperBehaviour::Confused), None).await;
    assert_eq!(result_texts(&recall), result_texts(&plain));
    assert!(!recall.degraded.contains(&DegradedPart::NotExpanded));
}
