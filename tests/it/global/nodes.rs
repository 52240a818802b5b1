//! Nodes before one database: tokens that all of them know, tables that are brought forward once
//! that is agreed to, and metrics that alerts and panels ask for.

use std::path::Path;

use reprise_tests::assert_contains;
use serde_json::{Value, json};

use super::service::{Service, furnished};
use super::teams::ask;
use super::{refused, run, run_json};

#[test]
fn a_token_of_the_database_opens_at_every_node_until_it_is_replaced_or_withdrawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two, desk] = ["one", "two", "desk"].map(|name| folder.path().join(name));
    let (_server, url) = furnished(&[]);
    let database = ["--database-url", &url];
    let nodes = [&one, &two].map(|data| Service::start(data, &database));
    let opens = |token: &str| {
        let list = |node: &Service| ask(&node.url, "GET", "/v1/publications", token, None).status;
        [list(&nodes[0]), list(&nodes[1])]
    };
    let ordered = |order: &[&str]| {
        let whole = [&["global", "token"], order, &database].concat();
        run_json(&desk, &whole)
    };
    let text = |said: &Value, name: &str| said[name].as_str().expect("a text").to_owned();
    let add = ["add", "ann", "--user", "ann", "--org", "acme"];
    let first = text(&ordered(&add), "token");
    assert_eq!(opens(&first), [200, 200]);
    let rotate = ["rotate", "ann", "--grace-hours", "0"];
    let second = text(&ordered(&rotate), "token");
    assert_eq!((opens(&first), opens(&second)), ([401, 401], [200, 200]));
    let thing = json!({ "origin": "o", "content_type": "document", "title": "Otters",
        "summary": "", "content": "Otters hold hands.", "tags": [], "access_policy": "org",
        "licence": "" });
    let path = "/v1/publications";
    let published = ask(&nodes[0].url, "POST", path, &second, Some(&thing));
    assert_eq!(published.status, 200, "{}", published.body);

    let reads = [
        "--user",
        "bob",
        "--org",
        "acme",
        "--may",
        "read",
        "--url",
        &nodes[1].url,
    ];
    let invited = ordered(&[&["invite", "bob"], &reads[..]].concat());
    let link = text(&invited, "link");
    let machine = folder.path().join("bob");
    let joined = run_json(&machine, &["global", "join", &link]);
    let bobs = text(&joined, "token");
    let again = refused(&machine, &["global", "join", &link]);
    assert_contains!(again, "not open");
    assert_eq!(opens(&bobs), [200, 200]);
    // What it may is held at the other node, too: his organisation's shelf, and no publication.
    let id = text(&published.body, "id");
    let path = format!("/v1/publications/{id}");
    assert_eq!(ask(&nodes[0].url, "GET", &path, &bobs, None).status, 200);
    let path = "/v1/publications";
    let held = ask(&nodes[0].url, "POST", path, &bobs, Some(&thing));
    assert_eq!(held.status, 403, "{}", held.body);

    let listed = run(
        &desk,
        &[&["global", "token", "list"], &database[..]].concat(),
    );
    let listed = listed.stdout.lines().map(|line| -> Value {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert!(
            line["used"].is_string() && line["in_database"] == true,
            "{line}"
        );
        line["name"].clone()
    });
    assert_eq!(listed.collect::<Vec<_>>(), ["ann", "bob"]);
    ordered(&["revoke", "bob"]);
    assert_eq!((opens(&bobs), opens(&second)), ([401, 401], [200, 200]));
    for data in [&one, &two, &desk] {
        assert!(
            !data.join(".global/tokens.json").exists(),
            "there is no token file"
        );
    }
    let operates = ["add", "olga", "--user", "olga", "--may", "operate"];
    let olga = text(&ordered(&operates), "token");
    let told = ask(&nodes[1].url, "GET", "/v1/audit", &olga, None).body;
    let told = told.as_array().expect("lines").iter();
    let told: Vec<&str> = told.filter_map(|line| line["what"].as_str()).collect();
    // The publication of an organisation is not told to who is no member of it.
    let wanted = ["grant", "revoke", "join", "invite", "rotate", "grant"];
    assert_eq!(told, wanted);
}

#[test]
fn what_a_migration_would_run_is_shown_and_made_when_it_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("node");
    let (_server, url) = furnished(&[]);
    let database = ["--database-url", &url];
    let migrate = |more: &[&str]| {
        let finished = run(
            &data,
            &[&["global", "migrate"], &database[..], more].concat(),
        )
        .expect_code(0);
        let step = |line: &str| -> (i64, String) {
            let step: Value = serde_json::from_str(line).expect("JSON");
            let statements = step["statements"].as_str().expect("statements").to_owned();
            (step["version"].as_i64().expect("a number"), statements)
        };
        let steps: Vec<_> = finished.stdout.lines().map(step).collect();
        (steps, finished.stderr)
    };
    let (shown, said) = migrate(&["--dry-run"]);
    let numbers = shown.iter().map(|(number, _)| *number);
    assert!(numbers.eq((1..).take(shown.len())) && !shown.is_empty());
    assert!(shown[0].1.contains("CREATE TABLE reprise_global.thing"));
    assert_contains!(said, "nothing was changed");
    assert_eq!(migrate(&["--dry-run"]).0, shown, "nothing was");
    let (made, said) = migrate(&[]);
    assert_eq!(made, shown);
    assert_contains!(said, &format!("{} migrations made", shown.len()));
    let (left, said) = migrate(&["--dry-run"]);
    assert!(
        left.is_empty() && said.contains("0 migrations to make"),
        "{said}"
    );
    let nowhere = refused(&data, &["global", "migrate", "--dry-run"]);
    assert_contains!(nowhere, "--database-url");
}

/// Each metric with the labels by which it is chosen, from its files as they are deployed.
#[test]
fn a_service_tells_the_metrics_that_alerts_and_panels_ask_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, url) = furnished(&["archive_mode=on", "archive_command=true"]);
    let told = [&[][..], &["--database-url", &url]].map(|store| {
        let data = folder.path().join(format!("node-{}", store.len()));
        scrape_after_some_requests(&data, store)
    });
    let wanted = crate::deploy::metrics();
    assert!(wanted.len() >= 20, "{wanted:?}");
    for (name, labels) in wanted {
        let is_told = told.iter().flat_map(|text| text.lines()).any(|line| {
            let (series, _) = line.rsplit_once(' ').unwrap_or_default();
            let (metric, own) = series.split_once('{').unwrap_or((series, ""));
            metric == name && labels.iter().all(|label| own.contains(label))
        });
        assert!(is_told, "{name} with {labels:?}: {told:?}");
    }
}

/// The metrics of a service that has answered, refused and published.
fn scrape_after_some_requests(server: &Path, store: &[&str]) -> String {
    let service = Service::start(server, store);
    let add = [
        "add",
        "olga",
        "--user",
        "olga",
        "--may",
        "read,write,operate",
    ];
    let token = run_json(server, &[&["global", "token"], &add[..], store].concat());
    let token = token["token"].as_str().expect("a token");
    let question = json!({ "text": "otters", "top_k": 3 });
    let publication = json!({ "origin": "o", "content_type": "document", "title": "Otters",
        "summary": "", "content": "Otters hold hands.", "tags": [], "access_policy": "public",
        "licence": "" });
    for (path, token, body, status) in [
        ("/v1/query", token, &question, 200),
        ("/v1/query", "none", &question, 401),
        ("/v1/publications", token, &publication, 200),
    ] {
        let asked = ask(&service.url, "POST", path, token, Some(body));
        assert_eq!(asked.status, status, "{}", asked.body);
    }
    ask(&service.url, "GET", "/metrics", token, None).text
}
