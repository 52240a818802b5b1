//! A client of MCP against the proxy, the daemon behind it, and a memory without a model.

mod answers;
mod hooks;
mod lessons;
mod withheld;

use std::sync::Arc;

use reprise_tests::{assert_contains, assert_fields, assert_lacks};
use rmcp::model::{
    CallToolRequestParams, ClientRequest, CustomRequest, GetPromptRequestParams,
    ReadResourceRequestParams,
};
use rmcp::service::{RoleClient, RunningService};
use rmcp::{ServiceError, ServiceExt};
use serde_json::{Value, json};

use reprise_operations::TagRules;
use reprise_workspace_operations::PROFILE;

use super::{INSTRUCTIONS, McpServer, Profile, tools};
use crate::client::Client;
use crate::daemon::DaemonOptions;
use crate::place::DaemonPaths;
use crate::testing::{
    RunningDaemon, options, run, run_with_options, run_with_tree, run_with_words, whole_catalogue,
};

/// What an answer begins with where there is no model.
const BY_WORDS: &str = "Half an answer: there is no model, so only words and times were compared.";

type Session = RunningService<RoleClient, ()>;

async fn session(running: &RunningDaemon, profile: Profile) -> Session {
    let client = Arc::new(Client::new(running.place.clone()));
    let user = "ada".parse().unwrap();
    session_of(McpServer::proxy(client, whole_catalogue(), user, profile)).await
}

async fn session_of(server: McpServer) -> Session {
    let (near, far) = tokio::io::duplex(1 << 20);
    tokio::spawn(async move {
        let served = server.serve(far).await.unwrap();
        served.waiting().await.unwrap();
    });
    ().serve(near).await.unwrap()
}

/// An answer as its reader gets it, and as a program does.
async fn call_for_text_and_json(
    session: &Session,
    tool: &str,
    arguments: Value,
) -> (String, Value) {
    let arguments = arguments.as_object().unwrap().clone();
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let result = session.call_tool(request).await.unwrap();
    let text = result.content[0].as_text().unwrap().text.clone();
    (text, result.structured_content.unwrap())
}

async fn call(session: &Session, tool: &str, arguments: Value) -> Result<Value, String> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let result = session
        .call_tool(request)
        .await
        .map_err(|e| e.to_string())?;
    if result.is_error == Some(true) {
        return Err(serde_json::to_string(&result.content).unwrap());
    }
    Ok(result.structured_content.unwrap())
}

#[tokio::test]
async fn a_lesson_is_learned_found_linked_corrected_and_forgotten() {
    let running = run().await;
    let session = session(&running, Profile::Default).await;
    let lesson = json!({
        "title": "Jira workflow transitions need ids",
        "content": "The transition endpoint takes the id of a transition, never its name.",
        "tags": ["API", " jira "],
        "contexts": ["Jira cloud"],
        "anti_contexts": ["Jira server 7"],
        "confidence": "high",
        "evidence": "tested",
    });
    let first = call(&session, "learn", lesson).await.unwrap()["id"].clone();
    let other =
        json!({"title": "Redis evicts silently", "content": "Set a policy.", "tags": ["redis"]});
    let second = call(&session, "learn", other).await.unwrap()["id"].clone();

    let ask = json!({"query": "jira workflow update", "tags": ["api"]});
    let found = call(&session, "recall", ask).await.unwrap();
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    let hit = &found["results"][0];
    assert_eq!(hit["id"], first);
    // What an agent learns is not a person's word.
    let kept = call(&session, "get", json!({"id": first})).await.unwrap();
    assert_eq!(kept["records"][0]["source"], "worker_result");
    // Its program is named as it named itself.
    let by = &kept["records"][0]["provenance"]["actor_id"];
    assert_eq!(*by, "rmcp", "{kept}");
    assert_eq!(hit["confidence"], "high");
    assert_eq!(hit["anti_contexts"][0], "Jira server 7");

    let link = json!({"from_id": first, "to_id": second, "relation": "related to"});
    assert_eq!(
        call(&session, "link", link.clone()).await.unwrap()["linked"],
        true
    );
    assert_eq!(call(&session, "link", link).await.unwrap()["linked"], false);

    let change =
        json!({"id": first, "content": "Transitions go by id.", "confidence": "very_high"});
    let new = call(&session, "update", change).await.unwrap();
    assert_eq!(new["supersedes"], first);
    let new = new["id"].clone();
    let whole = call(&session, "get", json!({"id": new})).await.unwrap();
    let whole = &whole["records"][0];
    assert_eq!(whole["title"], "Jira workflow transitions need ids");
    assert_eq!(whole["details"]["contexts"][0], "Jira cloud");
    assert_eq!(whole["evidence"], "tested");
    let text = whole["text"].as_str().unwrap();
    assert_contains!(text, "go by id");
    assert_lacks!(text, "endpoint");

    // The new version is linked as the old one was, and seen from the other end.
    let near = call(
        &session,
        "related",
        json!({"id": second, "direction": "in"}),
    )
    .await
    .unwrap();
    assert_eq!(near["related"][0]["id"], new);
    assert_eq!(near["related"][0]["relation"], "related-to");

    // Tags alone change without a new version.
    let retag = json!({"id": new, "tags": ["jira", "rest"]});
    assert_eq!(call(&session, "update", retag).await.unwrap()["id"], new);
    let tags = call(&session, "tags", json!({})).await.unwrap();
    let names: Vec<&str> = tags["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["tag"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["jira", "redis", "rest"]);

    let outcome = json!({"recall_id": found["recall_id"], "used": [first], "quality": 0.9});
    assert_eq!(call(&session, "outcome", outcome).await.unwrap()["runs"], 1);

    let gone = call(&session, "delete", json!({"id": new})).await.unwrap();
    assert_eq!(gone["forgotten"], json!([new, first]));
    let found = call(&session, "recall", json!({"query": "jira transitions"}))
        .await
        .unwrap();
    for hit in found["results"].as_array().unwrap() {
        assert_eq!(hit["id"], second);
    }
    drop(session);
    running.end().await;
}

#[tokio::test]
async fn a_wrong_call_is_answered_with_what_to_do_and_the_session_goes_on() {
    let running = run().await;
    let session = session(&running, Profile::Lean).await;
    let unknown = call(&session, "get", json!({"id": "nobody"})).await;
    assert!(unknown.unwrap_err().contains("no memories yet"));
    let lesson = json!({"title": "a", "content": "b"});
    call(&session, "learn", lesson).await.unwrap();
    for (tool, arguments, expected) in [
        ("learn", json!({}), "nothing to remember"),
        (
            "recall",
            json!({"query": "a", "limit": "many"}),
            "for `recall`: `limit`",
        ),
        (
            "learn",
            json!({"title": "a", "tags": {"b": 1}}),
            "for `learn`: `tags`",
        ),
        ("learn", json!({"title": "a", "kontent": "b"}), "kontent"),
        (
            "learn",
            json!({"title": "a", "confidence": "certain"}),
            "very-high",
        ),
        ("recall", json!({"query": "a", "limit": 0}), "`limit` is 0"),
        ("get", json!({"id": "nobody"}), "no memory"),
        ("get", json!({}), "1 to 50"),
        ("outcome", json!({"quality": 7, "query": "a"}), "0 and 1"),
        ("recall", json!({"query": "a", "since": "soon"}), "RFC 3339"),
        // Not in this profile.
        ("delete", json!({"id": "x"}), "no tool"),
        ("../stats", json!({}), "no tool"),
        ("remember", json!({"text": "x"}), "did you mean `learn`?"),
        ("recall", json!({"q": "a"}), "there is no field `q`"),
    ] {
        let error = call(&session, tool, arguments).await.unwrap_err();
        assert!(error.contains(expected), "{tool}: {error}");
    }
    let strange = ClientRequest::CustomRequest(CustomRequest::new("foo/bar", None));
    let strange = session.send_request(strange).await.unwrap_err();
    assert_contains!(
        strange.to_string(),
        "no method `foo/bar`",
        "tools/list, tools/call"
    );
    let tools = session.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), 4);
    drop(session);
    running.end().await;
}

#[tokio::test]
async fn resources_and_prompts_answer() {
    let running = run().await;
    let session = session(&running, Profile::Full).await;
    let lesson = json!({"title": "One", "content": "thing", "tags": ["t"]});
    let id = call(&session, "remember", lesson).await.unwrap()["id"].clone();
    let id = id.as_str().unwrap();
    for (uri, expected) in [
        ("memory://recent".to_owned(), id),
        ("memory://tags".to_owned(), "[[\\\"t\\\",1]]"),
        ("memory://stats".to_owned(), "live"),
        ("memory://man".to_owned(), "anti_contexts"),
        (format!("memory://records/{id}"), "lesson"),
    ] {
        let request = ReadResourceRequestParams::new(uri.clone());
        let read = session.read_resource(request).await.unwrap();
        let text = serde_json::to_string(&read).unwrap();
        assert!(text.contains(expected), "{uri}: {text}");
    }
    for uri in [
        "memory://nothing",
        "file:///etc/passwd",
        "memory://records/",
    ] {
        let request = ReadResourceRequestParams::new(uri);
        let refused = session.read_resource(request).await.unwrap_err();
        assert!(matches!(refused, ServiceError::McpError(_)), "{refused}");
    }
    assert_eq!(session.list_all_prompts().await.unwrap().len(), 3);
    let without = GetPromptRequestParams::new("recall-context");
    assert!(session.get_prompt(without).await.is_err());
    drop(session);
    running.end().await;
}

#[test]
fn what_every_session_pays_for_is_small() {
    assert!(INSTRUCTIONS.len() < 1024, "{}", INSTRUCTIONS.len());
    for (profile, count, tokens_max) in [
        (Profile::Lean, 4, 1_000),
        (Profile::Default, 10, 1_800),
        (Profile::Full, 35, 8_050),
        (Profile::Added(PROFILE), 25, 3_900),
    ] {
        let tools = tools::list(&whole_catalogue(), profile);
        assert_eq!(tools.len(), count);
        for tool in &tools {
            assert!(tool.output_schema.is_some() && tool.annotations.is_some());
        }
        let required = |name: &str| {
            let tool = tools.iter().find(|tool| tool.name == name);
            tool.map(|tool| tool.input_schema.get("required").cloned())
        };
        assert_eq!(required("learn"), Some(Some(json!(["text"]))));
        if profile == Profile::Default {
            assert_eq!(required("delete"), Some(Some(json!(["id"]))));
            assert_eq!(required("get"), Some(None), "one or several");
        }
        // Four bytes of the whole list count as a token; titles are for people and reach no model.
        let mut shown = json!(tools);
        for tool in shown.as_array_mut().unwrap() {
            assert!(tool.as_object_mut().unwrap().remove("title").is_some());
        }
        let tokens = shown.to_string().len().div_ceil(4);
        assert!(tokens <= tokens_max, "{profile:?}: {tokens}");
    }
}

#[tokio::test]
async fn an_agent_works_in_a_governed_workspace_and_no_tool_makes_it_a_person() {
    let (running, _tree) = run_with_tree("ada", &["human"]).await;
    let session = session(&running, Profile::Added(PROFILE)).await;
    let prd = "core/prd/PRD-001.json";
    let write = |actor: &str, text: &str| json!({"actor": actor, "files": {prd: text}});
    let first = call(&session, "workspace_write", write("prm", "{\"v\":1}"));
    let first = first.await.unwrap();
    call(&session, "workspace_write", write("prm", "{\"v\":2}"))
        .await
        .unwrap();
    for (actor, rule) in [
        ("researcher", "core-prd"),
        ("human:ada", "human-hands"),
        ("a b", "actor"),
    ] {
        let refused = call(&session, "workspace_write", write(actor, "{}")).await;
        let refused = refused.unwrap_err();
        assert_contains!(refused, &format!("(rule {rule})"));
    }
    let refused = call(&session, "workspace_approve", json!({})).await;
    assert!(refused.unwrap_err().contains("no tool"));
    let read = call(&session, "workspace_read", json!({"path": prd}))
        .await
        .unwrap();
    assert_eq!(read["text"], "{\"v\":2}");
    let earlier = json!({"path": prd, "at": first["tx"]});
    let (text, _) = call_for_text_and_json(&session, "workspace_read", earlier).await;
    assert_eq!(text, "{\"v\":1}");
    let state = json!({"actor": "prm", "state": {"next_action": "rest"}});
    call(&session, "workspace_checkpoint", state).await.unwrap();
    let state = call(&session, "workspace_state", json!({"agent": "PRM-001"})).await;
    assert_eq!(state.unwrap()["checkpoint"]["next_action"], "rest");

    // On a branch of its own; what it changes of a PRD waits for a person there.
    let begun = call(&session, "workspace_propose", json!({"actor": "prm"})).await;
    assert_eq!(begun.unwrap()["branch"], "agent/prm");
    let mut third = write("prm", "{\"v\":3}");
    third["branch"] = json!("agent/prm");
    call(&session, "workspace_write", third).await.unwrap();
    let waiting = call(&session, "workspace_review", json!({})).await.unwrap();
    assert_eq!(waiting["reviews"][0]["branch"], "agent/prm");
    let merge = json!({"actor": "governor", "from": "agent/prm"});
    let refused = call(&session, "workspace_merge", merge).await.unwrap_err();
    assert_contains!(refused, "(rule core-prd)");

    let audit = json!({"action": "violation"});
    let trail = call(&session, "workspace_audit", audit).await.unwrap();
    let rules: Vec<&Value> = trail["lines"].as_array().unwrap().iter().collect();
    assert_eq!(rules.len(), 2, "{trail}");
    assert_eq!(rules[0]["rules"][0], "core-prd");
    let back = json!({"actor": "governor", "commit": first["commit"]});
    let refused = call(&session, "workspace_rollback", back).await;
    assert!(refused.unwrap_err().contains("(rule rollback-conflict)"));
    let log = call(&session, "workspace_log", json!({"limit": 9}))
        .await
        .unwrap();
    let commits = log["commits"].as_array().unwrap();
    let second = commits
        .iter()
        .filter(|one| one["subject"] == json!(format!("Write {prd}")));
    let back = json!({"actor": "governor", "commit": second.clone().next().unwrap()["commit"]});
    call(&session, "workspace_rollback", back).await.unwrap();
    let read = call(&session, "workspace_read", json!({"path": prd})).await;
    assert_eq!(read.unwrap()["text"], "{\"v\":1}");
    drop(session);
    running.end().await;
}

#[tokio::test]
async fn an_answer_keeps_to_its_tokens_and_says_what_it_cost() {
    let running = run().await;
    let session = session(&running, Profile::Full).await;
    for number in 0..8 {
        let lesson = json!({"title": format!("Lesson {number} of the cache"),
            "content": format!("The cache of part {number} needs a key for each tenant. ").repeat(4)});
        call(&session, "learn", lesson).await.unwrap();
    }
    let ask = |more: Value| {
        let mut arguments = json!({"query": "cache key for each tenant", "limit": 8});
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        arguments
    };
    let all = call(&session, "recall", ask(json!({}))).await.unwrap();
    let found = all["results"].as_array().unwrap().len();
    assert_eq!((found, &all["truncated"]), (8, &json!(false)));
    assert!(all["elapsed_ms"].as_f64().unwrap() > 0.0);
    let few = call(&session, "recall", ask(json!({"max_tokens": 300})))
        .await
        .unwrap();
    let count = few["results"].as_array().unwrap().len();
    assert!((1..8).contains(&count), "{few}");
    assert_eq!(few["truncated"], true);
    let page = call(&session, "list", json!({"limit": 3})).await.unwrap();
    assert!(
        page["records"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("Lesson 7")
    );
    let rest = json!({"limit": 9, "cursor": page["next"]});
    let rest = call(&session, "list", rest).await.unwrap();
    assert_eq!(rest["records"].as_array().unwrap().len(), 5);
    assert_eq!(rest["next"], Value::Null);
    assert!(few["tokens"].as_u64().unwrap() <= 300 && all["tokens"].as_u64().unwrap() > 300);
    assert_eq!(few["results"][0], all["results"][0]);
    for (most, held) in [(100, true), (60, false), (1, false)] {
        let arguments = ask(json!({"max_tokens": most}));
        let (text, least) = call_for_text_and_json(&session, "recall", arguments).await;
        assert!(text.starts_with(BY_WORDS), "{text}");
        let recall_id = least["recall_id"].as_str().unwrap();
        assert_contains!(text, recall_id);
        assert_contains!(text, &format!("1 of 8, cut to {most} tokens"));
        assert_eq!(least["truncated"], true);
        assert_eq!(least["results"][0]["id"], all["results"][0]["id"]);
        let part = least["results"][0]["text"].as_str().unwrap();
        assert!(
            part.contains("cache") && part.ends_with(" ...") && part.len() < 240,
            "{part}"
        );
        let folded: Vec<&str> = part.split_whitespace().collect();
        assert_contains!(text, &folded.join(" "));
        assert_eq!(least["tokens"].as_u64().unwrap() <= most, held, "{text}");
    }
}

#[tokio::test]
async fn a_recall_says_in_its_text_what_it_is_called_and_why_each_is_there() {
    let running = run().await;
    let session = session(&running, Profile::Full).await;
    let lesson = json!({"title": "Redis evicts silently", "content": "Set a policy first.",
        "contexts": ["caches"], "confidence": "high"});
    let id = call(&session, "learn", lesson).await.unwrap()["id"].clone();
    let asked = json!({"query": "which redis policy"});
    let (text, found) = call_for_text_and_json(&session, "recall", asked).await;
    let lines: Vec<&str> = text.lines().collect();
    let recall_id = found["recall_id"].as_str().unwrap();
    assert!(
        lines[0].contains(&format!("(recall_id {recall_id})")),
        "{text}"
    );
    assert!(
        lines[0].starts_with(&format!("{BY_WORDS} Weak matches: check")),
        "{text}"
    );
    let reason = found["results"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("same words: "), "{reason}");
    let place = lines
        .iter()
        .position(|line| line.starts_with("- 20"))
        .unwrap();
    let named = format!(
        " [{}] (lesson by rmcp, just now) [high] Redis evicts silently",
        id.as_str().unwrap()
    );
    assert!(lines[place].ends_with(&named), "{text}");
    assert_eq!(lines[place + 1], format!("  why: {reason}"));
    assert_eq!(lines[place + 2], "  holds for: caches");
    assert!(
        lines[place + 3].starts_with("  Set a policy first."),
        "{text}"
    );
    let verdict = found["verdict"].as_str().unwrap();
    assert_eq!(found["nothing_relevant"], verdict == "nothing");
    let none = json!({"query": "redis", "tags": ["nowhere"]});
    let (text, none) = call_for_text_and_json(&session, "recall", none).await;
    assert!(
        text.starts_with(&format!("{BY_WORDS} Nothing comes to mind (recall_id ")),
        "{text}"
    );
    assert_eq!(none["verdict"], "nothing");
}

#[tokio::test]
async fn a_slip_of_a_tag_is_doubted_found_and_merged() {
    let running = run().await;
    let session = session(&running, Profile::Full).await;
    let learned = [("postgres", 0), ("postgres", 0), ("postgre", 1)];
    for (part, (tag, doubts)) in learned.into_iter().enumerate() {
        let lesson = json!({"title": format!("Part {part}"), "tags": [tag],
            "content": format!("{tag} is picky in part {part}")});
        let learned = call(&session, "learn", lesson).await.unwrap();
        assert_eq!(
            learned["warnings"].as_array().unwrap().len(),
            doubts,
            "{learned}"
        );
    }
    let review = call(&session, "tags", json!({"review": true}))
        .await
        .unwrap();
    assert_eq!(
        review["alike"],
        json!([{"tag": "postgre", "into": "postgres"}])
    );
    let merge = json!({"from": "postgre", "into": "postgres"});
    assert_eq!(
        call(&session, "merge_tags", merge).await.unwrap()["merged"],
        1
    );
    let tags = call(&session, "tags", json!({})).await.unwrap();
    assert_eq!(tags["tags"].as_array().unwrap().len(), 1, "{tags}");
}

#[tokio::test]
async fn an_alias_loses_nothing_that_was_kept_before_it_was_one() {
    let running = run().await;
    let session = session(&running, Profile::Full).await;
    let lesson = |text: &str, tag: &str| json!({"title": text, "text": text, "tags": [tag]});
    for text in [
        "The ingress of the cluster is traefik",
        "Pods are drained at night",
    ] {
        call(&session, "learn", lesson(text, "k8s")).await.unwrap();
    }
    drop(session);
    let folder = running.end().await;
    let place = DaemonPaths::new(&folder.path().join("d"), Some(folder.path()));
    let alias = ("k8s".to_owned(), "kubernetes".to_owned());
    let options = DaemonOptions {
        tags: TagRules::new([alias], []),
        ..options(&place)
    };
    let running = run_with_options(folder, place, options).await;
    let session = self::session(&running, Profile::Full).await;
    let new = lesson("The cluster of the shop runs on three nodes", "k8s");
    call(&session, "learn", new).await.unwrap();
    for tag in ["k8s", "kubernetes", "K8s"] {
        let count = |answer: Value, of: &str| answer[of].as_array().map_or(0, Vec::len);
        let listed = call(&session, "list", json!({"tag": tag})).await.unwrap();
        assert_eq!(count(listed, "records"), 3, "{tag}");
        let asked = json!({"query": "cluster pods nodes drained", "tag": tag});
        let recalled = call(&session, "recall", asked).await.unwrap();
        assert_eq!(count(recalled, "results"), 3, "{tag}");
        let asked = json!({"tag": tag, "dry_run": true});
        let gone = call(&session, "forget", asked).await.unwrap();
        assert_eq!(count(gone, "forgotten"), 3, "{tag}");
    }
    let tags = call(&session, "tags", json!({})).await.unwrap();
    assert_eq!(tags["tags"], json!([{"tag": "kubernetes", "count": 3}]));
    drop(session);
    running.end().await;
}

#[tokio::test]
async fn a_server_of_one_project_keeps_to_it() {
    let running = run().await;
    let client = Arc::new(Client::new(running.place.clone()));
    let (user, profile) = ("ada".parse().unwrap(), Profile::Default);
    let server = McpServer::proxy(client, whole_catalogue(), user, profile);
    let project = Some("github.com/acme/api".to_owned());
    let own = session_of(server.clone().with_project(project)).await;
    let all = session_of(server).await;
    let lesson = |text: &str| json!({"title": text, "text": text, "tags": ["keys"]});
    call(
        &own,
        "learn",
        lesson("The signing keys of the api are in the vault"),
    )
    .await
    .unwrap();
    call(
        &all,
        "learn",
        lesson("The signing keys of the shop are in the safe"),
    )
    .await
    .unwrap();
    for (session, found) in [(&own, 1), (&all, 2)] {
        let asked = json!({"query": "where are the signing keys"});
        let answer = call(session, "recall", asked).await.unwrap();
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), found, "{answer}");
    }
    drop((own, all));
    running.end().await;
}

#[tokio::test]
async fn a_dry_run_of_forgetting_does_not_say_that_it_is_done() {
    let running = run().await;
    let session = session(&running, Profile::Full).await;
    for number in 0..103 {
        let text = format!("The heron number {number} nests by the weir");
        let lesson = json!({"title": text, "text": text, "tags": ["birds"]});
        call(&session, "learn", lesson).await.unwrap();
    }
    let asked = json!({"tag": "birds", "dry_run": true});
    let (said, would) = call_for_text_and_json(&session, "forget", asked).await;
    assert_eq!(said, "103 memories would be forgotten");
    assert_eq!(would["dry_run"], json!(true));
    let count = |of: &str| would[of].as_array().map(Vec::len);
    assert_eq!((count("forgotten"), count("texts")), (Some(103), Some(100)));
    let listed = call(&session, "list", json!({"tag": "birds"}))
        .await
        .unwrap();
    assert_eq!(listed["considered"], 103, "nothing is gone");
    let (said, gone) = call_for_text_and_json(&session, "forget", json!({"tag": "birds"})).await;
    assert_eq!(said, "103 memories forgotten");
    assert_fields!(gone, "dry_run": Value::Null, "texts": Value::Null);
    drop(session);
    running.end().await;
}
