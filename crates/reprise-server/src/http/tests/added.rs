//! An operation that is added to the catalogue is found on every server.

use std::sync::Arc;

use reprise_operations::{Catalogue, CatalogueEntry, Memory, Operation, Profile, Spec, ToolAnswer};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::mcp::McpServer;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What is to come back.
    word: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Answer {
    word: String,
    user: UserId,
}

struct Echo;

impl Operation for Echo {
    const SPEC: Spec =
        Spec::for_reading("echo", "Say a word again.").with_tool("echo", Profile::Default);
    type Arguments = Arguments;
    type Answer = Answer;

    async fn run(memory: &Memory, Arguments { word }: Arguments) -> Result<Answer, Problem> {
        let user = memory.user().clone();
        Ok(Answer { word, user })
    }
}

#[tokio::test]
async fn an_operation_that_is_added_is_on_every_face() {
    let folder = tempfile::tempdir().unwrap();
    let place = DaemonPaths::new(&folder.path().join("d"), Some(folder.path()));
    let catalogue = Catalogue::default().with_operations([CatalogueEntry::of::<Echo>()]);
    let options = DaemonOptions {
        catalogue: catalogue.clone(),
        ..options(&place)
    };
    let running = run_with_options(folder, place, options).await;
    let client = &running.client;
    let arguments = Arguments {
        word: "moth".to_owned(),
    };
    let answer = Answer {
        word: "moth".to_owned(),
        user: ada(),
    };
    // The client, with its types; and HTTP, without.
    let called = client.call::<Echo>(&ada(), &arguments).await.unwrap();
    assert_eq!(called, answer);
    let body = json!({"word": "moth"});
    let posted: Answer = client.ask(&Call::post(at(&["echo"]), &body)).await.unwrap();
    assert_eq!(posted, answer);
    let slip = Call::post(at(&["echo"]), &json!({"wrod": "moth"}));
    let said = client.ask_bytes(&slip).await.unwrap_err();
    assert!(said.detail.contains("did you mean `word`?"), "{said}");
    // Its description.
    let document: Value = client.ask(&Call::get("/openapi.json")).await.unwrap();
    let described = &document["paths"]["/v1/users/{user}/echo"]["post"];
    assert_eq!(described["operationId"], "echo");
    let schema = &described["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(
        schema["properties"]["word"]["description"],
        "What is to come back."
    );
    // MCP: the tool by its name, listed and called.
    let path = at(&["tools", "echo"]);
    let tool_answer: ToolAnswer = client.ask(&Call::post(path, &body)).await.unwrap();
    assert_eq!(tool_answer.structured, json!(answer));
    let own = Arc::new(Client::new(running.place.clone()));
    let server = McpServer::proxy(own, catalogue, ada(), Profile::Default);
    let (ours, theirs) = tokio::io::duplex(65_536);
    let serving = tokio::spawn(async move { server.serve(ours).await.unwrap().waiting().await });
    let session = ().serve(theirs).await.unwrap();
    let tools = session.list_all_tools().await.unwrap();
    let tool = tools.iter().find(|tool| tool.name == "echo").unwrap();
    assert_eq!(tool.input_schema["properties"]["word"]["type"], "string");
    let call = CallToolRequestParams::new("echo").with_arguments(body.as_object().unwrap().clone());
    let called = session.call_tool(call).await.unwrap();
    assert_eq!(called.structured_content, Some(json!(answer)));
    drop(session);
    serving.abort();
    running.end().await;
}
