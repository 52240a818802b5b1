//! Query expansion and reranking by a host: their effect on an answer, and that their failures
//! never fail a recall.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reprise_types::{
    Degraded, HelperError, MemoryProvider, QueryExpander, Recall, RecallRequest, Reranker,
};

use crate::testing::{Bench, ada, note};

/// Behaviour of a fake helper.
#[derive(Debug, Clone, Copy)]
enum Mood {
    Helpful,
    Failing,
    Panicking,
    Asleep,
    /// Answers with invalid values.
    Confused,
}

impl Mood {
    async fn act<T>(self, helpful: T, confused: T) -> Result<T, HelperError> {
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
struct Thesaurus(Mood);

#[async_trait]
impl QueryExpander for Thesaurus {
    async fn expand(&self, query: &str) -> Result<Vec<String>, HelperError> {
        let others = ["", query, &query.replace("crate", "box"), "x", "y", "z"];
        let others = others.map(str::to_owned).to_vec();
        self.0.act(others, vec![" ".to_owned()]).await
    }
}

/// A reranker that prefers the text with "certainly".
struct Judge(Mood);

#[async_trait]
impl Reranker for Judge {
    async fn rerank(&self, _query: &str, texts: &[String]) -> Result<Vec<f32>, HelperError> {
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
        self.0.act(judged, confused).await
    }
}

const TOLD: [&str; 4] = [
    "the crate stands in the hall",
    "the crate is certainly in the cellar",
    "the box stands on the roof",
    "nothing of interest",
];

async fn ask(expander: Option<Mood>, reranker: Option<Mood>) -> Recall {
    let mut bench = Bench::new();
    bench
        .controls
        .missing
        .store(true, std::sync::atomic::Ordering::SeqCst);
    bench.config.expander =
        expander.map(|mood| Arc::new(Thesaurus(mood)) as Arc<dyn QueryExpander>);
    bench.config.reranker = reranker.map(|mood| Arc::new(Judge(mood)) as Arc<dyn Reranker>);
    bench.config.limits.recall_budget = Duration::from_mins(1);
    for wait in [
        &mut bench.config.limits.expansion_wait,
        &mut bench.config.limits.rerank_wait,
    ] {
        *wait = match (expander, reranker) {
            (Some(Mood::Asleep), _) | (_, Some(Mood::Asleep)) => Duration::from_millis(20),
            _ => Duration::from_mins(1),
        };
    }
    let service = bench.start().await;
    service
        .observe(&ada(), TOLD.map(note).to_vec())
        .await
        .unwrap();
    let request = RecallRequest {
        top_k: 2,
        ..RecallRequest::new("where stands the crate")
    };
    let recall = service
        .provider(&ada())
        .recall_request(request)
        .await
        .unwrap();
    assert!(service.shut_down().await.is_clean());
    recall
}

fn texts(recall: &Recall) -> Vec<&str> {
    let found = recall.results.iter();
    found.map(|found| found.record.text.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_wordings_find_what_the_question_does_not_say() {
    let plain = ask(None, None).await;
    assert_eq!(texts(&plain)[0], TOLD[0]);
    let wide = ask(Some(Mood::Helpful), None).await;
    let found = wide
        .results
        .iter()
        .find(|found| found.record.text == TOLD[2]);
    let reason = &found.unwrap().why.reason;
    assert!(
        reason.starts_with("asked as \"where stands the box\": "),
        "{reason}"
    );
    assert_eq!(wide.results.len(), 2);
    assert!(!wide.degraded.contains(&Degraded::NotExpanded));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_judge_brings_up_what_was_found_further_down() {
    let judged = ask(None, Some(Mood::Helpful)).await;
    assert_eq!(texts(&judged)[0], TOLD[1]);
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
    assert!(!judged.degraded.contains(&Degraded::NotReranked));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_helper_fails_at_is_done_without_and_named() {
    let plain = ask(None, None).await;
    for mood in [Mood::Failing, Mood::Panicking, Mood::Asleep] {
        let recall = ask(Some(mood), None).await;
        assert_eq!(texts(&recall), texts(&plain), "{mood:?}");
        assert!(recall.degraded.contains(&Degraded::NotExpanded), "{mood:?}");
    }
    for mood in [Mood::Failing, Mood::Panicking, Mood::Asleep, Mood::Confused] {
        let recall = ask(None, Some(mood)).await;
        assert_eq!(texts(&recall), texts(&plain), "{mood:?}");
        assert!(recall.degraded.contains(&Degraded::NotReranked), "{mood:?}");
    }
    // Invalid expansions change nothing, and nothing is reported missing.
    let recall = ask(Some(Mood::Confused), None).await;
    assert_eq!(texts(&recall), texts(&plain));
    assert!(!recall.degraded.contains(&Degraded::NotExpanded));
}
