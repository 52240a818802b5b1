//! `/openapi.json`: the surface described for programs, in version 3.1 of that format.
//!
//! The document is the file beside this one; the test walks every path of it, and
//! `tests/clients/schemathesis.sh` holds the answers against it. Must never live here: a route that
//! does not exist.

use axum::Json;
use serde_json::{Value, json};

use crate::problem::{Problem, ProblemKind};

const DOCUMENT: &str = include_str!("openapi.json");

/// The document, with the version of this program.
pub(super) async fn document() -> Result<Json<Value>, Problem> {
    let read: Result<Value, _> = serde_json::from_str(DOCUMENT);
    let mut document = read.map_err(|error| {
        Problem::new(
            ProblemKind::Internal,
            format!("the description cannot be read ({error}); report this"),
        )
    })?;
    document["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    Ok(Json(document))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Call;
    use crate::testing::run;

    #[tokio::test]
    async fn every_route_that_is_described_exists() {
        let running = run().await;
        let call = Call::get("/openapi.json");
        let document: Value = running.client.ask(&call).await.unwrap();
        assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
        let mut walked = 0;
        for (path, operations) in document["paths"].as_object().unwrap() {
            // One has no end, one ends the daemon, and one is not JSON's.
            if path.ends_with("/changes") || path == "/v1/shutdown" || path == "/mcp" {
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
                if let Err(problem) = running.client.bytes(&call).await {
                    let known = problem.kind != ProblemKind::Method
                        && problem.kind != ProblemKind::Internal
                        && !problem.detail.contains("no such route");
                    assert!(known, "{method} {there}: {problem}");
                }
                walked += 1;
            }
        }
        assert!(walked > 25, "{walked}");
        running.end().await;
    }

    #[test]
    fn whatever_the_document_points_at_is_in_it() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        let named = DOCUMENT.split("\"$ref\": \"#").skip(1);
        for place in named.filter_map(|rest| rest.split('"').next()) {
            assert!(document.pointer(place).is_some(), "{place}");
        }
    }
}
