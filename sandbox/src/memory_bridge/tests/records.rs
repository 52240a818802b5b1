//! What the runs of a whole host leave in memory: steps with the embeddings of their results, the
//! chain of what was done before, and that memory did not answer.

use std::sync::Mutex;

use async_trait::async_trait;
use reprise_tests::assert_contains;
use reprise_types::{
    ContextBlock, MemoryError, MemoryProvider, MemorySource, RecallResponse, RunBeginning,
    RunEnding,
};

use super::super::ProviderWrapper;
use super::*;
use crate::actors::{
    GatewayError, ModelGateway, Repertoire, RepertoirePlanner, RoutingPlan, RoutingRequest,
};
use crate::supervisor::WorkersConfig;

const REPERTOIRE: &str = r#"
[[structure]]
name = "library"
words = ["library"]
tested = "src/lib.rs"
item = "x"
check = "y"
[[structure.files]]
path = "src/lib.rs"
text = "a library of {name}"

[[way]]
name = "the right way"
says = []
command = "grep -q library src/lib.rs && echo fine"
"#;

/// A planner that keeps the contexts that it was given.
struct ListeningPlanner {
    planner: RepertoirePlanner,
    contexts: Mutex<Vec<String>>,
}

impl ListeningPlanner {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            planner: RepertoirePlanner::new(Repertoire::from_toml(REPERTOIRE).unwrap()),
            contexts: Mutex::default(),
        })
    }
}

#[async_trait]
impl ModelGateway for ListeningPlanner {
    async fn make_plan(&self, request: &RoutingRequest<'_>) -> Result<RoutingPlan, GatewayError> {
        let context = request.render_context();
        self.contexts.lock().unwrap().push(context);
        self.planner.make_plan(request).await
    }
}

/// Runs requests on a host with this memory, one after the other.
async fn run_requests(
    folder: &TempDir,
    memory: &MemoryBridge,
    planner: Arc<ListeningPlanner>,
    requests: &[&str],
) -> AppState {
    let mut workers = WorkersConfig::new(folder.path().join("work"), planner);
    workers.memory_budget = Duration::from_mins(1);
    let config = AppConfig::new(folder.path().join("events.db"), memory.clone());
    let app = AppState::start(AppConfig {
        poll: Duration::from_millis(1),
        workers: Some(workers),
        ..config
    })
    .await
    .unwrap();
    app.ensure_memory(&ada()).await.unwrap();
    for request in requests {
        app.execute(&ada(), request, "desk-1").await.unwrap();
        memory.catch_up().await.unwrap().unwrap();
    }
    app
}

const REQUESTS: [&str; 3] = [
    "set up the library `clock`",
    "set up the library `watch`",
    "set up the library `timer`",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_step_of_a_hosts_run_has_the_embedding_of_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let memory = new_bridge(&folder);
    let app = run_requests(&folder, &memory, ListeningPlanner::new(), &REQUESTS[..1]).await;
    let (service, user) = (memory.service().unwrap(), ada());
    let steps = service.with_engine(&user, |engine| {
        let chain = engine.learning_state().learner().patterns().swap_remove(0);
        let snapshot = engine.snapshot();
        let step = |step: &reprise_types::ChainStep| {
            let result = snapshot.get(step.result?)?.unwrap();
            Some((step.action.clone(), result.text.clone()))
        };
        let steps = chain.chain.iter().map(step).collect::<Option<Vec<_>>>();
        (steps, engine.stats().unembedded)
    });
    let (steps, unembedded) = steps.await.unwrap();
    assert_eq!(unembedded, 0, "every result has an embedding");
    let steps = steps.expect("each has a result");
    let actions = ["plan: ", "look for ", "set up ", "note how "];
    assert_eq!(steps.len(), actions.len(), "{steps:?}");
    for ((action, result), begins) in steps.iter().zip(actions) {
        assert!(action.starts_with(begins), "{steps:?}");
        assert!(result.starts_with(action.as_str()), "{steps:?}");
    }
    app.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_conductor_reads_in_one_line_how_requests_like_this_were_done() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, planner) = (new_bridge(&folder), ListeningPlanner::new());
    let app = run_requests(&folder, &memory, planner.clone(), &REQUESTS).await;
    let contexts = planner.contexts.lock().unwrap().clone();
    let line = |context: &str| {
        let mut lines = context.lines();
        let line = lines.find(|line| line.contains(RecallResponse::CHAIN_NOTE))?;
        Some(line.to_owned())
    };
    let lines: Vec<Option<String>> = contexts.iter().map(|context| line(context)).collect();
    let [None, _, Some(third)] = lines.as_slice() else {
        panic!("nothing was done before the first: {lines:?}");
    };
    assert_contains!(
        third,
        "plan: `the right way`",
        "look for a library to go by",
        "by `the right way`",
        // Asked again so soon, the first of them counts as not quite what was wanted.
        "worked 1 of 2 times"
    );
    for plumbing in ["worker.call", "is done", "completed"] {
        assert!(!third.contains(plumbing), "{third}");
    }
    app.shut_down().await.unwrap();
}

/// A memory that is told everything, and whose recalls are late.
struct LateMemory(Arc<dyn MemoryProvider>);

#[async_trait]
impl MemoryProvider for LateMemory {
    async fn execute_recall(&self, _request: RecallRequest) -> Result<RecallResponse, MemoryError> {
        Err(MemoryError::TimedOut { budget_ms: 1 })
    }

    async fn begin_run(&self, run: RunBeginning) -> Result<(), MemoryError> {
        self.0.begin_run(run).await
    }

    async fn end_run(&self, run: RunEnding) -> Result<(), MemoryError> {
        self.0.end_run(run).await
    }

    async fn build_context_block(
        &self,
        query: &str,
        budget: usize,
    ) -> Result<ContextBlock, MemoryError> {
        self.0.build_context_block(query, budget).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_memory_did_not_answer_says_so_in_its_record() {
    let missed = "ran without memory, which did not answer";
    let late: Arc<ProviderWrapper> = Arc::new(|_, own| Arc::new(LateMemory(own)));
    for (wrapper, steps) in [(None, 0), (Some(late), 4)] {
        let folder = tempfile::tempdir().unwrap();
        let memory = new_wrapped_bridge(&folder, wrapper);
        let planner = ListeningPlanner::new();
        let app = run_requests(&folder, &memory, planner, &REQUESTS[..1]).await;
        let service = memory.service().unwrap();
        let asked = RecallRequest::new(REQUESTS[0]);
        let found = service
            .provider(&ada())
            .execute_recall(asked)
            .await
            .unwrap();
        let mut outcomes = found
            .results
            .iter()
            .filter(|one| one.record.source == MemorySource::TrajectoryOutcome);
        let outcome = &outcomes.next().expect("the run's record").record.text;
        assert_eq!(outcome.matches(missed).count(), steps, "{outcome}");
        app.shut_down().await.unwrap();
    }
}
