//! The workspace under the host: every write of every process is published, and state outlives the
//! actors.

use std::sync::Arc;
use std::time::Duration;

use ractor::call_t;
use reprise_agent::MemoryConfig;
use reprise_engine::Engine;
use reprise_sandbox::{
    AppConfig, AppState, ApplicationSupervisorMsg, EventBusMsg, EventMapper, MemoryBridge,
    SourceBinding, Subscription,
};
use reprise_store::RealDisk;
use reprise_tests::{seen_if, wait_for_async};
use reprise_types::{EmbedError, RecallRequest, SystemClock, UserId};
use reprise_workspace::{Actor, RepoPath, Workspace, WriteRequest};
use serde_json::json;

use super::WorkspaceBridge;

const PRD: &str = "core/prd/PRD-001.json";

fn new_request(actor: &str, path: &str, text: &str) -> WriteRequest {
    WriteRequest {
        actor: Actor::new(actor).unwrap(),
        changes: vec![(RepoPath::new(path).unwrap(), Some(text.as_bytes().to_vec()))],
        message: None,
    }
}

fn ada() -> UserId {
    "ada".parse().unwrap()
}

/// A memory that finds by words alone.
fn new_bridge(folder: &tempfile::TempDir) -> MemoryBridge {
    let config = MemoryConfig::new(
        folder.path().join("data"),
        8,
        Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        Arc::new(|| {
            let message = "this test has no model".to_owned();
            Err(EmbedError::Unavailable { message })
        }),
    );
    let binding = SourceBinding {
        stream: "events".into(),
        user: ada(),
    };
    let mapper = Arc::new(EventMapper::load_builtin().unwrap());
    MemoryBridge::with_memory(config, binding, mapper, None)
}

struct WorkspaceHost {
    app: AppState,
    bridge: WorkspaceBridge,
}

impl WorkspaceHost {
    async fn start(folder: &tempfile::TempDir) -> Self {
        Self::start_with(folder, MemoryBridge::without_memory()).await
    }

    async fn start_with(folder: &tempfile::TempDir, memory: MemoryBridge) -> Self {
        let bridge = WorkspaceBridge::new(folder.path().join("tree"), Arc::new(SystemClock));
        let config = AppConfig {
            governed: Some(Arc::new(bridge.clone())),
            poll: Duration::from_millis(1),
            ..AppConfig::new(folder.path().join("events.db"), memory)
        };
        let app = AppState::start(config).await.unwrap();
        app.ensure_supervisor().await.unwrap();
        Self { app, bridge }
    }

    async fn subscribe(&self) -> Subscription {
        let root = self.app.ensure_supervisor().await.unwrap();
        let get = |reply| ApplicationSupervisorMsg::GetBus { reply };
        let bus = call_t!(root, get, 5_000).unwrap();
        let subscribe = |reply| EventBusMsg::Subscribe {
            patterns: vec!["workspace.*".to_owned()],
            capacity: 256,
            reply,
        };
        call_t!(bus, subscribe, 5_000).unwrap()
    }
}

/// Waits for the event of a path and returns its topic.
async fn wait_for_topic(events: &mut Subscription, path: &str) -> String {
    loop {
        let event = events.next_event().await.unwrap();
        let event_text = serde_json::to_value(event.as_ref()).unwrap().to_string();
        if event_text.contains(path) {
            let start = event_text.find("workspace.").unwrap();
            let word = event_text[start..].split('"').next().unwrap();
            return word.to_owned();
        }
    }
}

#[tokio::test]
async fn what_is_written_is_on_the_bus_whoever_wrote_it() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    let (workspace, _) = Workspace::init(&tree, Arc::new(SystemClock)).unwrap();
    let host = WorkspaceHost::start(&folder).await;
    let mut events = host.subscribe().await;
    let handle = host.bridge.handle().unwrap();
    let written = handle
        .write(new_request("prm", PRD, "{\"n\":1}"))
        .await
        .unwrap();
    assert_eq!(
        wait_for_topic(&mut events, &written.tx).await,
        "workspace.PRD_Written"
    );
    let refused = handle.write(new_request("researcher", PRD, "{}")).await;
    assert_eq!(refused.unwrap_err().rule(), Some("core-prd"));
    assert_eq!(
        wait_for_topic(&mut events, "core/prd").await,
        "workspace.Policy_Violated"
    );
    // This is another process, such as a command line or another host.
    let foreign = workspace.write(&new_request("prm", "core/kb/a.md", "one"));
    let foreign = foreign.unwrap().tx;
    assert_eq!(
        wait_for_topic(&mut events, &foreign).await,
        "workspace.KB_Written"
    );
    let governor = Actor::new("governor").unwrap();
    let commit = written.commit.unwrap();
    let back = handle.rollback(governor, commit).await.unwrap();
    assert_eq!(
        wait_for_topic(&mut events, &back.tx).await,
        "workspace.Artifact_Rolled_Back"
    );
    host.app.shut_down().await.unwrap();
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test is about being killed")]
async fn states_outlive_the_actors_and_a_dead_one_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    let (workspace, _) = Workspace::init(&tree, Arc::new(SystemClock)).unwrap();
    let host = WorkspaceHost::start(&folder).await;
    let tsm = Actor::new("tsm").unwrap();
    let handle = host.bridge.handle().unwrap();
    let state = json!({ "next_action": "monitor" });
    handle.checkpoint(tsm.clone(), state).await.unwrap();
    // The end of the Governor stops neither the session nor the Orchestrator.
    let mut running = host.bridge.running.subscribe();
    running.mark_unchanged();
    handle.governor().kill();
    while running
        .borrow_and_update()
        .as_ref()
        .is_none_or(|new| new.governor().get_id() == handle.governor().get_id())
    {
        running.changed().await.unwrap();
    }
    let handle = host.bridge.handle().unwrap();
    let saved = handle.state("TSM-001".to_owned()).await.unwrap().unwrap();
    assert_eq!(saved.checkpoint["next_action"], "monitor");
    host.app.shut_down().await.unwrap();

    let own = workspace.require_checkpoint("orchestrator").unwrap();
    assert_eq!(own.checkpoint["transactions"], 1);
    let host = WorkspaceHost::start(&folder).await;
    let handle = host.bridge.handle().unwrap();
    let state = json!({ "next_action": "rest" });
    handle.checkpoint(tsm, state).await.unwrap();
    host.app.shut_down().await.unwrap();
    let own = workspace.require_checkpoint("orchestrator").unwrap();
    assert_eq!(own.checkpoint["transactions"], 2);
}

/// The texts in memory, once one contains `part`.
async fn wait_for_texts(memory: &MemoryBridge, part: &str) -> Vec<String> {
    wait_for_async(part, async || {
        let service = memory.service().ok_or_else(Vec::new)?;
        let snapshot = service.snapshot(&ada()).await.map_err(|_| Vec::new())?;
        let records = snapshot.records().map(Result::unwrap);
        let texts: Vec<String> = records.map(|record| record.body.text).collect();
        seen_if(texts.iter().any(|text| text.contains(part)), texts)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_in_the_workspace_is_remembered_once_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    let (workspace, _) = Workspace::init(&tree, Arc::new(SystemClock)).unwrap();
    // The same host runs twice on the same tree; the second run replays all events.
    for day in 1..=2 {
        let memory = new_bridge(&folder);
        let host = WorkspaceHost::start_with(&folder, memory.clone()).await;
        let handle = host.bridge.handle().unwrap();
        if day == 1 {
            handle
                .write(new_request("prm", PRD, "{\"n\":1}"))
                .await
                .unwrap();
            let refused = handle.write(new_request("researcher", PRD, "{}")).await;
            assert_eq!(refused.unwrap_err().rule(), Some("core-prd"));
        }
        // Another process writes this, not the host's actors.
        let path = format!("core/kb/day-{day}.md");
        workspace
            .write(&new_request("prm", &path, "a limit"))
            .unwrap();
        let texts = wait_for_texts(&memory, &path).await;
        for part in [
            "prd written by prm",
            "policy violated by researcher: core/prd",
        ] {
            let event_text = texts.iter().filter(|text| text.starts_with(part));
            assert_eq!(event_text.count(), 1, "{part} in {texts:?}");
        }
        let port = host.app.ensure_memory(&ada()).await.unwrap();
        let request = RecallRequest::new("who violated a policy at the prd");
        let found = port.execute_recall(request).await.unwrap();
        let mut found = found.results.iter().map(|hit| &*hit.record.text);
        assert!(found.any(|text| text.starts_with("policy violated by researcher")));
        host.app.shut_down().await.unwrap();
    }
}
