//! An organisation that asks for reviews, through the real binary: a member publishes, another one
//! approves or refuses, each from a machine of their own.

use std::path::Path;

use reprise_tests::{RunOutput, assert_contains, assert_fields};
use serde_json::{Value, json};

use super::service::{Service, furnished};
use super::teams::{ask, machine};
use super::{ingest, run, run_json};

/// A member on a machine whose configuration names the service.
struct Member<'a> {
    data: &'a Path,
    config: String,
    name: &'a str,
}

impl Member<'_> {
    fn run(&self, arguments: &[&str]) -> RunOutput {
        let user = ["--user", self.name];
        run(
            self.data,
            &[&["--config", &self.config], arguments, &user].concat(),
        )
    }

    fn run_json(&self, arguments: &[&str]) -> Value {
        let done = self.run(arguments).expect_code(0);
        let line = done.stdout.lines().next().unwrap_or("null");
        serde_json::from_str(line).expect("JSON")
    }
}

#[test]
fn an_organisation_has_what_its_members_publish_reviewed() {
    let folder = tempfile::tempdir().expect("a folder");
    let [server, ann, mia] = ["server", "ann", "mia"].map(|name| folder.path().join(name));
    let (_postgres, url) = furnished(&[]);
    let database = ["--database-url", &url];
    let service = Service::start(&server, &database);
    let join = |data, name, may| {
        let order = ["global", "token", "add", name, "--user", name];
        let granted = ["--org", "acme", "--may", may];
        let made = run_json(&server, &[&order[..], &granted, &database].concat());
        let token = made["token"].as_str().expect("a token").to_owned();
        let config = machine(data, &service.url, name, &token);
        (token, Member { data, config, name })
    };
    let (anns, ann) = join(&ann, "ann", "read,write");
    let (mias, mia) = join(&mia, "mia", "read,review,operate");
    let ask = |method, path: &str, token: &str, body: Option<&Value>| {
        ask(&service.url, method, path, token, body)
    };

    let asked = json!({ "review": true });
    let organisation = "/v1/organisation";
    assert_eq!(ask("PUT", organisation, &anns, Some(&asked)).status, 403);
    assert_fields!(mia.run_json(&["global", "review", "on"]), "review": true);
    assert_eq!(ask("GET", organisation, &anns, None).body, asked);

    let lines = ["rivers", "lakes"]
        .map(|name| json!({ "external_id": name, "text": format!("Otters of our own {name}") }));
    ingest(ann.data, "ann", &lines);
    let publish = |name| {
        let publish = ["share", "publish", name, "--yes", "--policy", "org"];
        let done = ann.run_json(&publish);
        assert_fields!(done["published"][0], "awaits_review": true);
        done["published"][0]["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    let (rivers, lakes) = (publish("rivers"), publish("lakes"));
    let finds = |token: &str| {
        let question = json!({ "text": "otters", "top_k": 9 });
        let found = ask("POST", "/v1/query", token, Some(&question)).body;
        found["hits"].as_array().expect("hits").len()
    };
    assert_eq!((finds(&anns), finds(&mias)), (2, 0));

    assert_eq!(ask("GET", "/v1/reviews", &anns, None).status, 403);
    let listed = mia.run_json(&["global", "review", "list"]);
    assert_fields!(listed, "id": rivers.as_str(), "author": "ann", "version": "1");
    mia.run_json(&["global", "review", "approve", &rivers]);
    let no = [
        "global",
        "review",
        "refuse",
        &lakes,
        "--reason",
        "too short",
    ];
    mia.run_json(&no);
    assert_eq!((finds(&anns), finds(&mias)), (1, 1));
    let own = ann.run_json(&["share", "submissions"]);
    assert_fields!(own, "id": lakes.as_str(), "refused": "too short");
    let again = ann.run(&["share", "publish", "lakes", "--yes", "--policy", "org"]);
    assert_contains!(again.expect_code(2).stderr, "too short");
    let audit = ask("GET", "/v1/audit", &mias, None).body;
    let refusal = audit.as_array().expect("lines").iter();
    let refusal = refusal.clone().find(|line| line["what"] == "refuse");
    let refusal = refusal.expect("the refusal is in the audit log");
    assert_fields!(refusal, "who": "mia", "about": "ann", "reason": "too short");
    // What was refused or waits is its author's to take back by its id.
    ann.run_json(&["share", "unpublish", &lakes]);
    assert_eq!(ask("GET", "/v1/submissions", &anns, None).body, json!([]));
}

#[test]
fn a_store_in_a_folder_says_that_it_has_no_reviews() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("server");
    let import = folder.path().join("things.jsonl");
    std::fs::write(&import, "").expect("no lines are written");
    let import = import.display().to_string();
    run_json(&data, &["global", "import", &import, "--user", "ann"]);
    let refused = run(&data, &["global", "review", "on", "--org", "acme"]).expect_code(2);
    assert_contains!(refused.stderr, "has no reviews", "PostgreSQL");
}
