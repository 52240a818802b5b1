//! Lessons as an agent keeps and finds them.

use super::*;
use crate::client::Call;

/// The document's three triggers: unknown at the start, unexpected, several tries.
#[tokio::test]
async fn an_agent_is_told_when_to_learn_and_has_the_tool_for_it() {
    let running = run().await;
    for profile in [Profile::Lean, Profile::Default, Profile::Full] {
        let session = session(&running, profile).await;
        let told = session.peer_info().unwrap().instructions.clone().unwrap();
        let words: Vec<&str> = told.split_whitespace().collect();
        let told = words.join(" ");
        let rule = "When something was unknown, unexpected or took several tries, `learn` it";
        assert!(told.contains(rule), "{told}");
        let tools = session.list_all_tools().await.unwrap();
        let tool = tools.iter().find(|tool| tool.name == "learn");
        assert!(tool.is_some(), "{profile:?}");
    }
}

#[tokio::test]
async fn the_jira_lesson_comes_first_among_five_hundred() {
    let running = run().await;
    let session = session(&running, Profile::Default).await;
    let systems = ["Jira", "GitHub", "Linear", "Slack", "Trello"];
    let others = (0..500).map(|number| {
        let system = systems[number % systems.len()];
        let title = format!("{system} workflow {number} answers slowly");
        let content = format!("Ask for workflow {number} of {system} once, and keep it.");
        json!({
            "text": format!("{title}\n\n{content}"), "source": "worker_result", "kind": "finding",
            "tags": [system, "api"],
            "details": { "type": "lesson", "title": title, "content": content },
        })
    });
    let records = json!({ "records": others.collect::<Vec<_>>() });
    let keep = Call::post("/v1/users/ada/records", &records);
    let kept: Value = running.client.ask(&keep).await.unwrap();
    assert_eq!(kept["inserted"], 500);
    let lesson = json!({
        "title": "Jira workflow updates delete missing statuses",
        "content": "When calling PUT /rest/api/3/workflows, you must include ALL existing statuses \
                    and transitions. Any omitted items are deleted, not preserved. Always GET the \
                    workflow first and merge changes.",
        "tags": ["jira", "api", "gotcha", "destructive"],
        "contexts": ["updating existing workflows"],
        "anti_contexts": ["creating new workflows"],
        "source": "tested",
        "confidence": "high",
    });
    let id = call(&session, "learn", lesson).await.unwrap()["id"].clone();
    let ask = json!({"query": "jira workflow update", "tags": ["api"]});
    let (text, found) = call_for_text_and_json(&session, "recall", ask).await;
    assert_eq!(found["results"][0]["id"], id);
    assert_eq!(found["results"][0]["evidence"], "tested");
    for part in [
        ") [high] Jira workflow updates delete missing statuses",
        "holds for: updating existing workflows",
        "NOT for",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(
        text.matches("updating existing workflows").count(),
        1,
        "{text}"
    );
    assert!(!text.contains("WARNING"), "{text}");
    let ask = json!({"query": "jira workflow update", "tags": ["api"],
        "context": ["creating a new workflow"]});
    let (text, found) = call_for_text_and_json(&session, "recall", ask).await;
    assert_eq!(
        (&found["results"][0]["id"], &found["results"][0]["applies"]),
        (&id, &json!(false))
    );
    assert!(
        text.contains("WARNING: does not apply here: creating new workflows"),
        "{text}"
    );
    drop(session);
    running.end().await;
}
