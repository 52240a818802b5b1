//! The tool by which a program calls its hooks.

use std::sync::Mutex;

use super::*;
use crate::hooks::{HOOK_TOOL, HookCall, HookResponder};

/// Answers each event with its name, and remembers what it was passed.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<String>>);

#[async_trait::async_trait]
impl HookResponder for Recorder {
    async fn respond(&self, call: HookCall) -> String {
        self.0.lock().unwrap().push(call.input);
        call.event.name().to_owned()
    }
}

fn hook_request(arguments: &Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().unwrap().clone();
    CallToolRequestParams::new(HOOK_TOOL).with_arguments(arguments)
}

#[tokio::test]
async fn a_hook_is_called_as_a_tool_that_no_list_names() {
    let running = run().await;
    let client = Arc::new(Client::new(running.place.clone()));
    let (user, profile) = ("ada".parse().unwrap(), Profile::Full);
    let server = McpServer::proxy(client, whole_catalogue(), user, profile);
    let recorder = Arc::new(Recorder::default());
    let with = session_of(server.clone().with_hooks(recorder.clone())).await;
    let without = session_of(server).await;
    let tools = with.list_all_tools().await.unwrap();
    assert!(tools.iter().all(|tool| tool.name != HOOK_TOOL));
    let prompt = json!({"event": "user-prompt", "session_id": "s", "prompt": "why", "error": ""});
    let answered = with.call_tool(hook_request(&prompt)).await.unwrap();
    assert_eq!(answered.content[0].as_text().unwrap().text, "user-prompt");
    let said = recorder.0.lock().unwrap().clone();
    assert_eq!(said, [r#"{"prompt":"why","session_id":"s"}"#]);
    // Memory that misunderstands a hook is no failure of the program.
    let dance = with
        .call_tool(hook_request(&json!({"event": "dance"})))
        .await;
    let dance = dance.unwrap();
    assert_eq!(dance.is_error, Some(false));
    assert_eq!(dance.content[0].as_text().unwrap().text, "{}");
    assert!(without.call_tool(hook_request(&prompt)).await.is_err());
    drop((with, without));
    running.end().await;
}
