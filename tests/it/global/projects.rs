//! Projects below an organisation, through the real binary: who is in a project finds what is
//! published for it, on a service with PostgreSQL and in the store of a data directory.

use std::path::Path;

use reprise_tests::{RunOutput, assert_contains, assert_fields};
use serde_json::{Value, json};

use super::service::{Service, furnished};
use super::teams::{ask, machine};
use super::{ingest, run, run_json};

/// Publishes one memory of ann's for a project, by its external id.
fn publish(data: &Path, settings: &[&str], project: &str) -> RunOutput {
    let publish = ["share", "publish", "rivers", "--yes", "--user", "ann"];
    let given = ["--project", project];
    run(data, &[settings, &publish, &given].concat())
}

/// Recalls what others published, as one user.
fn recall(data: &Path, settings: &[&str], user: &str) -> String {
    let recall = ["recall", "otters", "--scope", "global", "--user", user];
    let recall = run(data, &[settings, &recall].concat());
    recall.expect_code(0).stdout
}

#[test]
fn what_is_for_a_project_is_found_by_its_members_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = folder.path().join("server");
    let (_postgres, url) = furnished(&[]);
    let database = ["--database-url", &url];
    let service = Service::start(&server, &[&database[..], &["--org-things", "1"]].concat());
    let join = |name: &str, granted: &[&str]| {
        let order = ["global", "token", "add", name, "--user", name];
        let made = run_json(&server, &[&order[..], granted, &database].concat());
        let token = made["token"].as_str().expect("a token").to_owned();
        let data = folder.path().join(name);
        let config = machine(&data, &service.url, name, &token);
        (data, config, token)
    };
    let in_payments = ["--org", "acme", "--project", "payments,web"];
    let operating = ["--org", "acme", "--may", "read,write,operate"];
    let (ann, anns, _) = join("ann", &in_payments);
    let (pam, pams, pam_token) = join("pam", &in_payments);
    let (mia, mias, mia_token) = join("mia", &operating);
    let settings = |config| ["--config", config];

    let own = ["share", "projects", "--user", "ann"];
    let own = run(&ann, &[&settings(&anns)[..], &own].concat());
    assert_contains!(own.expect_code(0).stdout, "payments", "web");
    let text = json!({ "external_id": "rivers", "text": "Otters of our own rivers" });
    ingest(&ann, "ann", &[text]);
    let published = publish(&ann, &settings(&anns), "payments").expect_code(0);
    let published: Value =
        serde_json::from_str(published.stdout.lines().next().expect("a line")).expect("JSON");
    let id = published["published"][0]["id"].as_str().expect("an id");

    assert_contains!(recall(&pam, &settings(&pams), "pam"), id);
    assert!(!recall(&mia, &settings(&mias), "mia").contains(id));
    let ask = |method, path: &str, token: &str| ask(&service.url, method, path, token, None);
    let thing = format!("/v1/publications/{id}");
    assert_eq!(ask("GET", &thing, &pam_token).status, 200);
    assert_eq!(ask("GET", &thing, &mia_token).status, 404);
    assert_eq!(ask("GET", "/v1/catalogue", &mia_token).body, json!([]));
    let projects = ask("GET", "/v1/projects", &pam_token).body;
    assert_eq!(projects, json!(["payments", "web"]));
    let members = ask("GET", "/v1/members", &mia_token).body;
    let member = members.as_array().expect("members").iter();
    let member = member.clone().find(|one| one["user"] == "ann");
    assert_fields!(member.expect("ann"), "projects": ["payments", "web"]);
    let audit = ask("GET", "/v1/audit", &mia_token).text;
    assert_contains!(audit, "project:acme/payments");

    // Who is in no such project, or in none, is told so; what is for a project counts for its
    // organisation.
    let refused = publish(&ann, &settings(&anns), "secret").expect_code(2);
    assert_contains!(refused.stderr, "in no project `secret`");
    let more = json!({ "external_id": "rivers", "text": "Otters of other rivers" });
    ingest(&pam, "pam", &[more]);
    let publish_as_pam = [
        "share",
        "publish",
        "rivers",
        "--yes",
        "--user",
        "pam",
        "--project",
        "web",
    ];
    let over = run(&pam, &[&settings(&pams)[..], &publish_as_pam].concat());
    assert!(over.code != Some(0), "{}", over.stdout);
    assert_contains!(over.stderr, "org acme");
}

#[test]
fn a_data_directory_names_the_members_of_its_projects() {
    let folder = tempfile::tempdir().expect("a folder");
    let (data, config) = (folder.path().join("data"), folder.path().join("c.toml"));
    let table = "[global.organisations]\nacme = [\"ann\", \"mia\", \"pam\"]\n\
                 [global.projects]\n\"acme/payments\" = [\"ann\", \"pam\"]\n";
    std::fs::write(&config, table).expect("a configuration");
    let config = config.display().to_string();
    let settings = ["--config", config.as_str()];
    let text = json!({ "external_id": "rivers", "text": "Otters of our own rivers" });
    ingest(&data, "ann", &[text]);
    publish(&data, &settings, "payments").expect_code(0);
    assert_contains!(recall(&data, &settings, "pam"), "Otters of our own rivers");
    assert!(!recall(&data, &settings, "mia").contains("Otters"));
    let refused = publish(&data, &settings, "web").expect_code(2);
    assert_contains!(refused.stderr, "in no project `web`");
}
