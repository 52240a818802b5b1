//! What the operator of a store reads and is told: the audit log of either store, words that name
//! what there is, and folders that are his alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use reprise_tests::{Finished, Postgres, finish, lacks, reprise, says};
use serde_json::{Value, json};

use super::{done, refused, run};

fn thing(number: usize) -> Value {
    json!({ "origin": format!("o{number}"), "content_type": "document",
        "title": format!("Rivers {number}"), "summary": "", "content": "Otters live there.",
        "tags": [], "access_policy": "public", "licence": "" })
}

/// A command of the person who operates the store.
fn operated(data: &Path, arguments: &[&str]) -> Finished {
    let mut command = reprise(data).expect("reprise is built");
    command.args(["--no-model", "--json"]).args(arguments);
    finish(command.env_remove("SUDO_USER").env("LOGNAME", "olga")).expect("reprise runs")
}

/// What the audit log says, the newest first: who did what, and whom it is about.
fn audit(data: &Path, more: &[&str]) -> Vec<(String, String, String)> {
    let told = operated(data, &[&["global", "audit"], more].concat()).ended(0);
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
    done(&data, &import);
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
    server.sql("postgres", &furnish).expect("furnished");
    let vector = ["CREATE EXTENSION vector"];
    server.sql("knowledge", &vector).expect("pgvector");
    let url = server.url("reprise", "knowledge");
    let database = ["--database-url", url.as_str()];
    let bob = ["global", "import", &file, "--user", "bob"];
    done(&data, &[&bob[..], &database].concat());
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
    says!(said, hint, "--create");
    assert!(!other.exists(), "nothing is made");
    let said = refused(&data, &["global", "audit", "--store", &store]);
    says!(said, hint);
    let made = run(&data, &[&import[..], &["--create"]].concat()).ended(1);
    says!(made.stdout, "\"published\":1");
    let passed = made.stderr.lines().find(|line| line.contains("line 2"));
    let passed = passed.expect("the bad line is named");
    assert!(!passed.contains("line 1"), "one line is meant: {passed}");
    let again = run(&data, &import);
    says!(again.stdout, "\"known\":1");
}

#[test]
fn refusals_of_tokens_and_names_say_what_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("server");
    let add = ["global", "token", "add", "laptop", "--user", "mia"];
    done(&data, &add);
    let said = refused(&data, &add);
    says!(said, "revoke it");
    lacks!(said, "rotate");
    let said = refused(&data, &["global", "token", "revoke", "laptops"]);
    says!(said, "`reprise global token list`");
    for name in ["", "../x", "\u{fc}n\u{ef}", &"n".repeat(300)] {
        let said = refused(&data, &["global", "branch", "add", name, "--user", "ann"]);
        says!(said, "1 to 128");
    }
}
