//! Quotas in the terminal: an operator lists, sets and removes them, on a machine of the team and
//! on that of the server.

use reprise_tests::{assert_contains, assert_fields};
use serde_json::{Value, json};

use super::service::{Service, furnished};
use super::teams::{ask, machine};
use super::{run, run_json};

/// The lines of a command that lists.
fn rows(text: &str) -> Vec<Value> {
    let line = |line: &str| serde_json::from_str(line).expect("JSON");
    text.lines().map(line).collect()
}

#[test]
fn an_operator_sets_quotas_in_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let [server, desk] = ["server", "desk"].map(|name| folder.path().join(name));
    let (_postgres, url) = furnished(&[]);
    let database = ["--database-url", &url];
    let service = Service::start(&server, &database);
    let token = |name: &str, may: &str| {
        let order = ["global", "token", "add", name, "--user", name];
        let granted = ["--org", "acme", "--may", may];
        let made = run_json(&server, &[&order[..], &granted, &database].concat());
        made["token"].as_str().expect("a token").to_owned()
    };
    let (anns, olgas) = (token("ann", "read,write"), token("olga", "read,operate"));
    let config = machine(&desk, &service.url, "olga", &olgas);
    let quota = |arguments: &[&str]| {
        let here = ["--config", config.as_str(), "global", "quota"];
        run(&desk, &[&here[..], arguments, &["--user", "olga"]].concat())
    };

    let set = quota(&["set", "user:ann", "--things", "1"]).expect_code(0);
    assert_fields!(rows(&set.stdout)[0]["set"], "things": 1, "bytes": Value::Null);
    let listed = rows(&quota(&["list"]).expect_code(0).stdout);
    let holders: Vec<&str> = listed
        .iter()
        .filter_map(|row| row["holder"].as_str())
        .collect();
    assert_eq!(holders, ["org:acme", "user:ann", "user:olga"]);
    let publish = |number: usize| {
        let thing = json!({ "origin": format!("o{number}"), "content_type": "document",
            "title": format!("Rivers {number}"), "summary": "", "content": "Otters live there.",
            "tags": [], "access_policy": "public", "licence": "" });
        ask(
            &service.url,
            "POST",
            "/v1/publications",
            &anns,
            Some(&thing),
        )
    };
    assert_eq!((publish(1).status, publish(2).status), (200, 429));
    let nobody = quota(&["set", "user:sam", "--things", "1"]);
    assert_contains!(nobody.expect_code(2).stderr, "`sam` has no token");
    let other = quota(&["set", "org:other", "--bytes", "9"]);
    assert_contains!(other.expect_code(2).stderr, "not your organisation");
    let neither = quota(&["set", "user:ann"]);
    assert_contains!(neither.expect_code(2).stderr, "--things");

    // On the server's machine no token is needed, and it is the same quota.
    let here = ["global", "quota", "list", "--org", "acme", "--user", "olga"];
    let listed = rows(
        &run(&server, &[&here[..], &database].concat())
            .expect_code(0)
            .stdout,
    );
    assert_eq!(listed.len(), 3, "{listed:?}");
    assert_fields!(listed[1], "holder": "user:ann", "things": 1);
    let gone = quota(&["remove", "user:ann"]).expect_code(0);
    assert_fields!(rows(&gone.stdout)[0]["set"], "things": Value::Null, "bytes": Value::Null);
    assert_eq!(publish(2).status, 200);
    let audit = ask(&service.url, "GET", "/v1/audit", &olgas, None).body;
    let acts = audit.as_array().expect("lines").iter();
    assert_eq!(acts.filter(|line| line["what"] == "quota").count(), 2);
}
