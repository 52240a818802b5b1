//! What the operator of a store reads and is told: the audit log of either store, words that name
//! what there is, and folders that are his alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use reprise_tests::{
    Postgres, RunOutput, assert_contains, assert_lacks, reprise_command, run_to_end,
};
use serde_json::{Value, json};

use super::service::Service;
use super::teams::ask;
use super::{ingest, refused, run, run_json};
use crate::home::rows;

fn thing(number: usize) -> Value {
    json!({ "origin": format!("o{number}"), "content_type": "document",
        "title": format!("Rivers {number}"), "summary": "", "content": "Otters live there.",
        "tags": [], "access_policy": "public", "licence": "" })
}

/// A command of the person who operates the store.
fn operated(data: &Path, arguments: &[&str]) -> RunOutput {
    let mut command = reprise_command(data).expect("reprise is built");
    command.args(["--no-model", "--json"]).args(arguments);
    run_to_end(command.env_remove("SUDO_USER").env("LOGNAME", "olga")).expect("reprise runs")
}

/// What the audit log says, the newest first: who did what, and whom it is about.
fn audit(data: &Path, more: &[&str]) -> Vec<(String, String, String)> {
    let told = operated(data, &[&["global", "audit"], more].concat()).expect_code(0);
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let [who, what, about] =
            ["who", "what", "about"].map(|name| line[name].as_str().unwrap_or_default().to_owned());
        (who, what, about)
    };
    told.stdout.lines().map(line).collect()
}

fn line(who: &str, what: &str, about: &str) -> (String, String, String) {
    (who.to_owned(), what.to_owned(), about.to_owned())
}

#[test]
fn the_audit_log_is_whole_on_the_service_s_own_machine_and_of_a_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("server");
    assert!(audit(&data, &[]).is_empty());
    assert!(!data.exists(), "to look makes nothing");
    let add = ["global", "token", "add", "laptop", "--user", "mia"];
    assert_eq!(operated(&data, &add).code, Some(0));
    let gone = operated(&data, &["global", "token", "revoke", "laptop"]);
    let said: Value = serde_json::from_str(&gone.stdout).expect("JSON");
    assert_eq!(said, json!({ "revoked": "laptop", "user": "mia" }));
    let file = folder.path().join("things.jsonl");
    fs::write(&file, format!("{}\n", thing(1))).expect("lines are written");
    let file = file.to_string_lossy();
    let import = ["global", "import", &file, "--user", "ann"];
    run_json(&data, &import);
    let tokens = [line("olga", "revoke", "mia"), line("olga", "grant", "mia")];
    let here = [&[line("ann", "publish", "")], &tokens[..]].concat();
    assert_eq!(audit(&data, &[]), here);
    assert_eq!(audit(&data, &["--limit", "2"]), here[..2]);
    for closed in [&data, &data.join(".global")] {
        let mode = fs::metadata(closed).expect("a folder").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", closed.display());
    }

    let mut server = Postgres::start(&["fsync=off"]).expect("a server");
    let furnish = [
        "CREATE ROLE reprise LOGIN CREATEROLE",
        "CREATE DATABASE knowledge OWNER reprise",
    ];
    server.run_sql("postgres", &furnish).expect("furnished");
    let vector = ["CREATE EXTENSION vector"];
    server.run_sql("knowledge", &vector).expect("pgvector");
    let url = server.url("reprise", "knowledge");
    let database = ["--database-url", url.as_str()];
    let bob = ["global", "import", &file, "--user", "bob"];
    run_json(&data, &[&bob[..], &database].concat());
    let there = [&[line("bob", "publish", "")], &tokens[..]].concat();
    assert_eq!(audit(&data, &database), there);
}

#[test]
fn an_import_makes_no_store_unless_it_is_asked_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("server");
    let file = folder.path().join("things.jsonl");
    fs::write(&file, format!("{}\nnot JSON\n", thing(1))).expect("lines are written");
    let (file, other) = (file.to_string_lossy(), folder.path().join("other"));
    let store = other.to_string_lossy();
    let import = [
        "global", "import", &file, "--user", "ann", "--store", &store,
    ];
    let said = refused(&data, &import);
    let hint = "there is no store at";
    assert_contains!(said, hint, "--create");
    assert!(!other.exists(), "nothing is made");
    let said = refused(&data, &["global", "audit", "--store", &store]);
    assert_contains!(said, hint);
    let made = run(&data, &[&import[..], &["--create"]].concat()).expect_code(1);
    assert_contains!(made.stdout, "\"published\":1");
    let passed = made.stderr.lines().find(|line| line.contains("line 2"));
    let passed = passed.expect("the bad line is named");
    assert!(!passed.contains("line 1"), "one line is meant: {passed}");
    let again = run(&data, &import);
    assert_contains!(again.stdout, "\"known\":1");
}

#[test]
fn refusals_of_tokens_and_names_say_what_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("server");
    let add = ["global", "token", "add", "laptop", "--user", "mia"];
    run_json(&data, &add);
    let said = refused(&data, &add);
    assert_contains!(said, "revoke it");
    assert_lacks!(said, "rotate");
    let said = refused(&data, &["global", "token", "revoke", "laptops"]);
    assert_contains!(said, "`reprise global token list`");
    for name in ["", "../x", "\u{fc}n\u{ef}", &"n".repeat(300)] {
        let said = refused(&data, &["global", "branch", "add", name, "--user", "ann"]);
        assert_contains!(said, "1 to 128");
    }
}

#[test]
fn a_token_has_at_least_a_day_and_its_maker_a_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("server");
    let add = ["global", "token", "add", "laptop", "--user", "mia"];
    let over = operated(&data, &[&add[..], &["--expires-days", "0"]].concat());
    assert_eq!(over.code, Some(2), "{}", over.stdout);
    assert_contains!(over.stderr, "--expires-days");
    let mut nameless = reprise_command(&data).expect("reprise is built");
    for name in ["SUDO_USER", "LOGNAME", "USER"] {
        nameless.env_remove(name);
    }
    let made = run_to_end(nameless.arg("--no-model").args(add)).expect("reprise runs");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let lines = audit(&data, &[]);
    assert!(lines[0].0.starts_with("uid-"), "{lines:?}");
}

#[test]
fn a_team_is_invited_by_a_file_and_listed_with_what_each_may_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("server");
    assert!(rows(&operated(&data, &["global", "members"]).stdout).is_empty());
    assert!(!data.exists(), "to look makes nothing");
    let service = Service::start(&data, &[]);
    let add = [
        "global", "token", "add", "olga", "--user", "olga", "--org", "acme",
    ];
    let olga = run_json(&data, &[&add[..], &["--may", "read,operate"]].concat());
    let file = folder.path().join("team");
    let list = file.to_string_lossy();
    let mut invite = vec!["global", "token", "invite", "--from", &list];
    invite.extend(["--org", "acme", "--url", &service.url]);
    for (text, said) in [
        ("bob\nmia other third", "line 2: it has 3 words"),
        ("bob\n\nb/b", "line 3"),
        ("bob\nbob other", "is there twice"),
        ("# nobody\n", "names nobody"),
    ] {
        fs::write(&file, text).expect("a file");
        assert_contains!(refused(&data, &invite), said);
    }
    fs::write(&file, "# the team\nbob\n\n mia   other \nann\n").expect("a file");
    let links = rows(&operated(&data, &invite).expect_code(0).stdout);
    let users = links
        .iter()
        .map(|row| row["user"].as_str().expect("a user"));
    assert_eq!(users.collect::<Vec<_>>(), ["bob", "mia", "ann"]);
    let link = links[0]["link"].as_str().expect("a link");
    run_json(&folder.path().join("bob"), &["global", "join", link]);
    // Once more with one person more: the others have their links.
    fs::write(&file, "bob\nmia other\nann\ntom\n").expect("a file");
    let again = operated(&data, &invite).expect_code(0);
    assert_contains!(again.stderr, "bob is not invited");
    assert_eq!(rows(&again.stdout).len(), 1);
    let members = rows(
        &operated(&data, &["global", "members"])
            .expect_code(0)
            .stdout,
    );
    let told = |row: &Value| {
        let org = row["org"].as_str().unwrap_or_default().to_owned();
        let user = row["user"].as_str().expect("a user").to_owned();
        (user, org, row["tokens"].clone(), row["invitations"].clone())
    };
    let row = |user: &str, org: &str, tokens: u8, invitations: u8| {
        (
            user.to_owned(),
            org.to_owned(),
            json!(tokens),
            json!(invitations),
        )
    };
    let all = [
        row("ann", "acme", 0, 1),
        row("bob", "acme", 1, 0),
        row("mia", "other", 0, 1),
        row("olga", "acme", 1, 0),
        row("tom", "acme", 0, 1),
    ];
    assert_eq!(members.iter().map(told).collect::<Vec<_>>(), all);
    // Another organisation's are not told over the wire.
    let token = olga["token"].as_str().expect("a token");
    let answer = ask(&service.url, "GET", "/v1/members", token, None);
    let members = answer.body.as_array().expect("a list").iter();
    let users: Vec<&str> = members.filter_map(|one| one["user"].as_str()).collect();
    assert_eq!(users, ["ann", "bob", "olga", "tom"], "{}", answer.text);
}

#[test]
fn a_recall_says_that_there_is_nothing_published_and_no_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("own");
    ingest(&data, "default", &[json!({"text": "Otters hold hands."})]);
    let ask = ["recall", "otters", "--scope", "local+global"];
    let answer = run_json(&data, &ask);
    assert_contains!(answer["notes"].to_string(), "no server is configured");
}
