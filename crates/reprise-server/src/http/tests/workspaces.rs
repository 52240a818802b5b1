//! Governed workspaces through the doors: over TCP those that are registered for the token's user,
//! in the roles given there; over the socket any.

use super::*;
use crate::testing::run_with_tree;

const PRD: &str = "core/prd/PRD-001.json";

/// A caller over TCP with a token of this user.
struct Caller {
    user: &'static str,
    token: String,
}

impl Caller {
    fn new(running: &RunningDaemon, user: &'static str) -> Self {
        let tokens = TokenFile::new(running.place.tokens());
        let now = reprise_types::parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let scope = Scope::User(user.parse().unwrap());
        let token = tokens.add(&format!("of-{user}"), scope, now).unwrap();
        Self { user, token }
    }

    async fn ask(&self, running: &RunningDaemon, route: &str, body: Option<Value>) -> (u16, Value) {
        let (method, host) = (if body.is_some() { "POST" } else { "GET" }, running.http);
        let head = format!(
            "{method} /v1/users/{}/workspace/{route} HTTP/1.1\r\nHost: {host}\r\nAuthorization: \
             Bearer {}\r\nContent-Type: application/json",
            self.user, self.token
        );
        let body = body.map_or_else(String::new, |body| body.to_string());
        let (status, answer) = raw(running, &head, &body).await;
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    async fn post(&self, running: &RunningDaemon, route: &str, body: Value) -> (u16, Value) {
        self.ask(running, route, Some(body)).await
    }
}

fn write(actor: &str, path: &str, text: &str) -> Value {
    json!({"workspace": "app", "actor": actor, "files": {path: text}})
}

#[tokio::test]
async fn a_token_writes_in_its_roles_and_every_refusal_names_its_rule() {
    let (running, tree) = run_with_tree("builder", &["prm"]).await;
    let builder = Caller::new(&running, "builder");
    let (status, done) = builder
        .post(&running, "write", write("prm", PRD, "{\"v\":1}"))
        .await;
    assert_eq!(status, 200, "{done}");
    assert!(done["commit"].is_string() && tree.join(PRD).is_file());
    for (actor, path, status, rule) in [
        ("prm", "core/tsd/TSD-001.json", 403, "core-tsd"),
        ("governor", PRD, 403, "actor-grant"),
        ("human:builder", PRD, 403, "actor-grant"),
        ("prm", "../outside", 400, "path"),
        ("prm", "core/prd/prd-001.json", 400, "case-twin"),
    ] {
        let (said, refused) = builder
            .post(&running, "write", write(actor, path, "{}"))
            .await;
        assert_eq!(
            (said, &refused["rule"]),
            (status, &json!(rule)),
            "{refused}"
        );
    }
    let (status, trail) = builder.ask(&running, "audit?action=violation", None).await;
    assert_eq!(
        (status, trail["lines"].as_array().unwrap().len()),
        // Of the TSD and of the twin; what never reached the tree is none of its trail.
        (200, 2),
        "{trail}"
    );
    // Nobody's approval but a person's own.
    for human in ["ada", "builder"] {
        let asked = json!({"human": human, "reference": "main"});
        let (status, refused) = builder.post(&running, "approve", asked).await;
        assert_eq!((status, &refused["rule"]), (403, &json!("actor-grant")));
    }
    running.end().await;
}

#[tokio::test]
async fn no_token_reaches_a_tree_that_is_not_registered_for_it() {
    let (running, tree) = run_with_tree("ada", &["human", "governor"]).await;
    let (ada, bob) = (Caller::new(&running, "ada"), Caller::new(&running, "bob"));
    let path = tree.to_str().unwrap();
    for (caller, name) in [(&ada, path), (&ada, "other"), (&bob, "app"), (&bob, path)] {
        let (status, refused) = caller
            .ask(&running, &format!("status?workspace={name}"), None)
            .await;
        assert_eq!(status, 404, "{refused}");
        let (mut body, actor) = (write("governor", "core/kb/a.md", "x"), caller.user);
        body["workspace"] = json!(name);
        let (status, refused) = caller.post(&running, "write", body).await;
        assert_eq!(status, 404, "{actor}: {refused}");
    }
    // Where it is on the machine stays the machine's.
    let (status, own) = ada.ask(&running, "status", None).await;
    assert_eq!((status, &own["root"]), (200, &json!("tree")), "{own}");
    assert!(!own.to_string().contains(path), "{own}");
    // A program of this machine names any tree, registered or not.
    let client = &running.client;
    let status =
        Call::get(at(&["workspace", "status"])).with_query(&[("workspace", path.to_owned())]);
    let status: Value = client.ask(&status).await.unwrap();
    assert_eq!(status["root"], json!(std::fs::canonicalize(&tree).unwrap()));
    let near = Call::get(at(&["workspace", "status"]) + "?workspace=./tree");
    assert_eq!(
        problem(client.ask_bytes(&near).await),
        ProblemKind::NotFound
    );
    running.end().await;
}

#[tokio::test]
async fn a_person_approves_over_http_and_the_trail_names_the_token() {
    let (running, _) = run_with_tree("ada", &["human", "governor", "prm"]).await;
    let ada = Caller::new(&running, "ada");
    let (_, begun) = ada.post(&running, "propose", json!({"actor": "prm"})).await;
    assert_eq!(begun["directory"], "prm");
    let mut draft = write("prm", PRD, "{\"v\":1}");
    draft["branch"] = json!("agent/prm");
    assert_eq!(ada.post(&running, "write", draft).await.0, 200);
    let merge = || json!({"actor": "governor", "from": "agent/prm"});
    let (status, refused) = ada.post(&running, "merge", merge()).await;
    assert_eq!(
        (status, &refused["rule"]),
        (403, &json!("core-prd")),
        "{refused}"
    );
    let word =
        |message: &str| json!({"human": "ada", "reference": "agent/prm", "message": message});
    // The last word holds.
    let approve = json!({"human": "ada", "reference": "agent/prm"});
    assert_eq!(ada.post(&running, "approve", approve.clone()).await.0, 200);
    assert_eq!(ada.post(&running, "decline", word("no goal")).await.0, 200);
    let (status, refused) = ada.post(&running, "merge", merge()).await;
    assert_eq!((status, &refused["rule"]), (403, &json!("core-prd")));
    let (_, waiting) = ada.ask(&running, "review", None).await;
    let expected = json!({"human": "human:ada", "is_approved": false, "message": "no goal"});
    assert_eq!(waiting["reviews"][0]["word"], expected, "{waiting}");
    assert_eq!(ada.post(&running, "approve", approve).await.0, 200);
    let (status, merged) = ada.post(&running, "merge", merge()).await;
    assert_eq!(status, 200, "{merged}");
    let (_, waiting) = ada.ask(&running, "review", None).await;
    assert_eq!(waiting["reviews"], json!([]));
    let (_, trail) = ada.ask(&running, "audit?action=approve", None).await;
    assert_eq!(
        trail["lines"][0]["identity"], "token of-ada of ada",
        "{trail}"
    );
    let back = json!({"actor": "governor", "commit": merged["commit"]});
    let (status, done) = ada.post(&running, "rollback", back).await;
    assert_eq!(status, 200, "{done}");
    let (status, gone) = ada.ask(&running, &format!("read?path={PRD}"), None).await;
    assert_eq!(status, 404, "{gone}");
    running.end().await;
}
