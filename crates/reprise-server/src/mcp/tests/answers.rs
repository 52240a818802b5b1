//! What a tool answers is as the schema says that it is listed with: clients look.

use super::*;

/// Arguments that a tool needs: `id` names a record.
fn needed(tool: &rmcp::model::Tool, id: &Value) -> Value {
    let input = Value::Object((*tool.input_schema).clone());
    let names = input["required"].as_array().into_iter().flatten();
    let names = names.filter_map(Value::as_str);
    let value = |name: &str| {
        let known = match name {
            "uri" => json!("memory://recent"),
            "query" | "q" => json!("when do the keys turn"),
            "path" => json!("core/kb/a.md"),
            _ => id.clone(),
        };
        let is_list = input["properties"][name]["type"] == "array";
        if is_list { json!([known]) } else { known }
    };
    names.map(|name| (name.to_owned(), value(name))).collect()
}

#[tokio::test]
async fn every_tool_that_reads_answers_as_its_schema_says() {
    let running = run().await;
    let session = session(&running, Profile::Full).await;
    let tools = session.list_all_tools().await.unwrap();
    let (mut answered, mut id) = (0, json!("01ARZ3NDEKTSV4RRFFQ69G5FAV"));
    for kept in 0..3 {
        for tool in &tools {
            let hints = tool.annotations.as_ref();
            if hints.and_then(|hints| hints.read_only_hint) != Some(true) {
                continue;
            }
            let Ok(answer) = call(&session, &tool.name, needed(tool, &id)).await else {
                continue;
            };
            let schema = tool.output_schema.as_ref().unwrap();
            let schema = jsonschema::validator_for(&Value::Object((**schema).clone())).unwrap();
            if let Err(error) = schema.validate(&answer) {
                panic!("{} after {kept}: {error}: {answer}", tool.name);
            }
            answered += 1;
        }
        let lesson = json!({"title": format!("Key {kept}"), "text": "The keys turn at dawn."});
        id = call(&session, "learn", lesson).await.unwrap()["id"].clone();
    }
    assert!(answered > 30, "{answered}");
}

#[tokio::test]
async fn an_answer_by_meaning_is_whole_and_says_what_it_found() {
    let running = run_with_words().await;
    let session = session(&running, Profile::Full).await;
    let lesson = json!({"title": "Redis evicts silently", "content": "Set a policy first."});
    call(&session, "learn", lesson).await.unwrap();
    let asked = json!({"query": "redis evicts silently"});
    let (text, found) = call_for_text_and_json(&session, "recall", asked).await;
    let recall_id = found["recall_id"].as_str().unwrap();
    let first = format!("Found 1 relevant lesson (recall_id {recall_id})");
    assert_eq!(text.lines().next(), Some(first.as_str()), "{text}");
    assert_eq!(found["verdict"], "relevant");
    drop(session);
    running.end().await;
}

#[tokio::test]
async fn the_skill_is_listed_with_the_digest_of_what_is_read() {
    let running = run().await;
    let session = session(&running, Profile::Default).await;
    let skills = session.list_all_skills().await.unwrap();
    let [skill] = skills.as_slice() else {
        panic!("{skills:?}");
    };
    assert_eq!(skill.name(), "memory");
    assert!(skill.frontmatter.description.contains("earlier sessions"));
    let rmcp::model::SkillResources::Files(files) = &skill.resources else {
        panic!("{skill:?}");
    };
    let request = ReadResourceRequestParams::new(files[0].uri.clone());
    let read = serde_json::to_value(session.read_resource(request).await.unwrap()).unwrap();
    assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
    let text = read["contents"][0]["text"].as_str().unwrap();
    files[0].verify(text.as_bytes()).unwrap();
    let other = rmcp::model::GetSkillRequestParams::new("skill://other/SKILL.md");
    let refused = session.get_skill(other).await.unwrap_err().to_string();
    assert_contains!(refused, "skill://memory/SKILL.md");
    drop(session);
    running.end().await;
}

#[tokio::test]
async fn an_answer_names_tools_and_no_command_that_does_the_same() {
    let running = run().await;
    let full = session(&running, Profile::Full).await;
    let nobody = call(&full, "how", json!({"query": "walk geese"})).await;
    assert_contains!(nobody.unwrap_err(), "add one with `learn`");
    let lesson = json!({"title": "Geese", "content": "Geese fly south in autumn."});
    call(&full, "learn", lesson).await.unwrap();
    let nothing = call(&full, "undo", json!({})).await.unwrap_err();
    assert!(nothing.contains("`undo` (`ID`)"), "{nothing}");
    let (none, _) = call_for_text_and_json(&full, "how", json!({"query": "walk geese"})).await;
    assert!(none.contains("`outcome`"), "{none}");
    for said in [nothing, none] {
        assert!(!said.contains("`reprise "), "{said}");
    }
    running.end().await;
}
