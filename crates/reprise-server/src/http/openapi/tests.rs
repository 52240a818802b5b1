//! The document against the router, and against itself.

use super::*;
use crate::client::Call;
use crate::testing::{run, whole_catalogue};

#[tokio::test]
async fn every_route_that_is_described_exists() {
    let running = run().await;
    let call = Call::get("/openapi.json");
    let document: Value = running.client.ask(&call).await.unwrap();
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let mut walked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        // One has no end, one ends the daemon, and one is not JSON's.
        if path.ends_with("/changes") || path == "/v1/shutdown" || path.starts_with("/mcp") {
            continue;
        }
        let there = path.replace("{user}", "ada").replace("{id}", "nobody");
        let there = there.replace("{tool}", "tags").replace("{event}", "stop");
        for method in operations.as_object().unwrap().keys() {
            let empty = json!({});
            let call = match method.as_str() {
                "get" => Call::get(there.clone()),
                "post" => Call::post(there.clone(), &empty),
                "patch" => Call::patch(there.clone(), &empty),
                _ => Call::delete(there.clone()),
            };
            if let Err(problem) = running.client.ask_bytes(&call).await {
                let known = problem.kind != ProblemKind::Method
                    && problem.kind != ProblemKind::Internal
                    && !problem.detail.contains("no such route");
                assert!(known, "{method} {there}: {problem}");
            }
            walked += 1;
        }
    }
    assert!(walked > 35, "{walked}");
    running.end().await;
}

/// What `redocly lint` asks for, so that nobody needs it to see a slip.
#[test]
fn the_document_is_whole() {
    let document = build_document(&whole_catalogue());
    let text = document.to_string();
    let places: Vec<&str> = text
        .split("\"$ref\":\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    for place in &places {
        assert!(document.pointer(place).is_some(), "{place}");
    }
    for part in ["parameters", "responses", "schemas"] {
        for name in document["components"][part].as_object().unwrap().keys() {
            let place = format!("/components/{part}/{name}");
            assert!(places.contains(&&*place), "{place} is used by nobody");
        }
    }
    assert!(!document["servers"].as_array().unwrap().is_empty());
    let mut ids = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            ids.push(operation["operationId"].as_str().unwrap());
            assert!(operation["summary"].is_string(), "{path}");
            assert!(operation["responses"]["200"].is_object(), "{path}");
            assert!(operation["responses"]["400"].is_object(), "{path}");
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let named = parameters.filter(|one| {
                let user = one["$ref"] == "#/components/parameters/user";
                user || one["in"] == "path"
            });
            assert_eq!(named.count(), path.matches('{').count(), "{path}");
        }
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an operationId is there twice");
}

#[test]
fn what_is_in_a_path_is_there() {
    let document = build_document(&whole_catalogue());
    let mut in_path = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            for parameter in parameters.filter(|one| one["in"] == "path") {
                in_path += 1;
                assert!(parameter["required"] == true, "{path}: {parameter}");
                let schema = parameter["schema"].to_string();
                assert!(!schema.contains("\"null\""), "{path}: {parameter}");
            }
        }
    }
    assert!(in_path > 3, "{in_path}");
}
