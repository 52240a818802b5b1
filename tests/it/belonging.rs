//! What is learned in one repository belongs to it: it is not put into the prompts of others.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use reprise_tests::{assert_contains, assert_lacks, run_git, wait_for};
use serde_json::{Value, json};

use crate::home::{Home, rows};
use crate::sessions::shop;
use crate::together::{Mcp, run};

const SHOP: &str = "project:git.example.org/acme/shop";

fn run_in(home: &Home, folder: &Path, arguments: &[&str]) -> String {
    let mut command = home.command(arguments);
    run(command.current_dir(folder), "")
}

/// Returns the tags of the memory with this text.
fn tags_of(home: &Home, text: &str) -> Value {
    let records = rows(&home.run_ok(&["export", "--user", "ada"]));
    let found = records.iter().find(|record| record["text"] == text);
    found.map_or(Value::Null, |record| record["tags"].clone())
}

fn prompt_in(home: &Home, folder: &Path, session: &str, prompt: &str) -> String {
    let input = json!({ "session_id": session, "cwd": folder, "prompt": prompt });
    let mut hook = home.command(&["hook", "user-prompt", "--text", "--user", "ada"]);
    run(hook.args(["--deadline-ms", "60000"]), &input.to_string())
}

/// Returns the projects of all that is kept, once there is so much.
fn projects_of(home: &Home, count: usize) -> Vec<String> {
    let tags = wait_for("the prompts are kept", || {
        let records = rows(&home.run_ok(&["export", "--user", "ada"]));
        let tags: Vec<String> = records
            .iter()
            .map(|record| record["tags"].to_string())
            .collect();
        (tags.len() == count).then_some(tags.clone()).ok_or(tags)
    });
    let mut tags = tags;
    tags.sort();
    tags.dedup();
    tags
}

/// Runs a hook whose program writes later than the hook's deadline.
fn run_late(mut hook: Command, input: &Value) {
    let mut hook = hook.stdin(Stdio::piped()).spawn().expect("it starts");
    sleep(Duration::from_millis(300));
    let mut stdin = hook.stdin.take().expect("piped");
    stdin
        .write_all(input.to_string().as_bytes())
        .expect("it reads");
    drop(stdin);
    assert!(hook.wait().expect("it ends").success());
}

#[test]
fn a_prompt_that_comes_late_is_of_the_same_project() {
    let home = Home::new();
    let folder = shop(&home);
    for number in 0..6 {
        let text = format!("The weir number {number} was opened on a Friday.");
        let input = json!({ "session_id": "one", "cwd": folder, "prompt": text });
        let mut hook = home.command(&["hook", "user-prompt", "--user", "ada"]);
        hook.args(["--deadline-ms", "100"]);
        run_late(hook, &input);
    }
    let projects = projects_of(&home, 6);
    assert_eq!(projects, [json!([SHOP]).to_string()]);
}

#[test]
fn what_waits_for_a_daemon_that_cannot_be_asked_is_of_the_same_project() {
    let home = Home::new();
    let folder = shop(&home);
    for deadline in ["5000", "250"] {
        let text = format!("The weir was opened on day {deadline}.");
        let input = json!({ "session_id": "one", "cwd": folder, "prompt": text });
        let mut hook = home.command(&["hook", "user-prompt", "--user", "ada"]);
        hook.env("REPRISE_URL", "nonsense");
        run(hook.args(["--deadline-ms", deadline]), &input.to_string());
    }
    wait_for("both wait", || {
        let mut doctor = home.command(&["doctor"]);
        let doctor = doctor.env("REPRISE_URL", "nonsense").output();
        let told = String::from_utf8(doctor.expect("it runs").stdout).expect("text");
        let is_told = told.contains("2 messages of hooks wait for it");
        is_told.then_some(()).ok_or(told)
    });
    let mut hook = home.command(&["hook", "stop", "--user", "ada"]);
    run(
        hook.args(["--deadline-ms", "60000"]),
        &json!({ "session_id": "one", "cwd": folder }).to_string(),
    );
    let projects = projects_of(&home, 2);
    assert_eq!(projects, [json!([SHOP]).to_string()]);
}

#[test]
fn the_prompts_of_a_long_history_without_a_remote_are_of_one_project() {
    let home = Home::new();
    let folder = home.folder().join("quarry");
    std::fs::create_dir_all(&folder).expect("a folder");
    run_git(&folder, &["init", "-q", "-b", "main"]);
    let who = "committer A <a@example.org> 1700000000 +0000\ndata 1\nx\n";
    let commits = format!("commit refs/heads/main\n{who}").repeat(5_000);
    let mut git = Command::new("git");
    git.current_dir(&folder).args(["fast-import", "--quiet"]);
    run(&mut git, &commits);
    for number in 0..3 {
        let text = format!("The quarry number {number} was closed on a Friday.");
        prompt_in(&home, &folder, "one", &text);
    }
    let projects = projects_of(&home, 3);
    assert_eq!(projects.len(), 1, "{projects:?}");
    assert_contains!(projects[0], "project:quarry-");
}

#[test]
fn a_lesson_typed_in_a_repository_is_put_into_no_prompt_of_another() {
    let home = Home::new();
    let folder = shop(&home);
    let other = home.folder().join("other");
    std::fs::create_dir_all(&other).expect("a folder");
    let text = "The heron build needs protoc in version 3.21";
    let said = run_in(&home, &folder, &["learn", "--user", "ada", text]);
    assert_contains!(
        said,
        "remembered as",
        "for project `git.example.org/acme/shop`"
    );
    assert_eq!(tags_of(&home, text), json!([SHOP]));
    let asked = "which version of protoc does the heron build need?";
    assert_contains!(prompt_in(&home, &folder, "one", asked), "3.21");
    assert_lacks!(prompt_in(&home, &other, "two", asked), "3.21");
}

#[test]
fn a_person_says_which_project_a_lesson_is_for_and_moves_it_to_another() {
    let home = Home::new();
    let folder = shop(&home);
    let below = folder.join("src");
    let learn = |place: &Path, more: &[&str]| {
        run_in(&home, place, &[&["learn", "--user", "ada"], more].concat())
    };
    let said = learn(&folder, &["The ibis is for all", "--project", "none"]);
    assert_contains!(said, "for all projects");
    assert_eq!(tags_of(&home, "The ibis is for all"), json!([]));
    let said = learn(
        home.folder(),
        &["The stork is of a folder", "--project", "./shop/src"],
    );
    assert_contains!(said, "for project `git.example.org/acme/shop`");
    let said = learn(
        home.folder(),
        &["The crane is by name", "--project", "shop"],
    );
    assert_contains!(said, "for project `git.example.org/acme/shop`");
    let said = learn(
        &below,
        &["The gull is tagged", "--tags", "birds,project:mill"],
    );
    assert_contains!(said, "for project `mill`");
    // Outside of a repository it is of none.
    let said = learn(home.folder(), &["The swan is of none"]);
    assert_contains!(said, "for all projects");
    let id = rows(&home.run_ok(&["export", "--user", "ada"]))
        .iter()
        .find(|record| record["text"] == "The swan is of none")
        .map(|record| record["id"].as_str().expect("an id").to_owned());
    let id = id.expect("it is kept");
    home.run_ok(&["edit", &id, "--user", "ada", "--project", "./shop"]);
    assert_eq!(tags_of(&home, "The swan is of none"), json!([SHOP]));
    home.run_ok(&["edit", &id, "--user", "ada", "--project", "none"]);
    assert_eq!(tags_of(&home, "The swan is of none"), json!([]));
}

#[test]
fn a_lesson_over_mcp_is_of_the_folders_that_its_client_opened_or_of_the_servers_own() {
    let home = Home::new();
    let folder = shop(&home);
    let mill = home.folder().join("mill");
    std::fs::create_dir_all(&mill).expect("a folder");
    let learn = |server: &mut Mcp, arguments: Value| {
        let answer = server.call("learn", &arguments);
        assert_ne!(answer["isError"], true, "{answer}");
        let text = answer["content"][0]["text"].as_str().expect("a text");
        (
            text.to_owned(),
            answer["structuredContent"]["project"].clone(),
        )
    };
    let start = |place: &Path, roots: &[&Path]| {
        let mut command = home.command(&["mcp", "--user", "ada", "--no-daemon"]);
        Mcp::start_with_roots(command.current_dir(place), roots)
    };
    let name = "git.example.org/acme/shop";

    // The folder in which it was started.
    let mut server = start(&folder, &[]);
    let (said, project) = learn(&mut server, json!({ "text": "the weir opens at six" }));
    assert_contains!(said, "for project `git.example.org/acme/shop`");
    assert_eq!(project, name);
    let tagged = json!({ "text": "the weir opens at seven", "tags": "water, weir" });
    assert_eq!(learn(&mut server, tagged).1, name);
    let kept = tags_of(&home, "the weir opens at seven");
    assert_eq!(kept, json!(["water", "weir", SHOP]));
    let (said, project) = learn(
        &mut server,
        json!({ "text": "the user writes in tabs", "project": "none" }),
    );
    assert_contains!(said, "for all projects");
    assert_eq!(project, Value::Null);
    // A folder means its project in every tool.
    let listed = server.call("list", &json!({ "project": "." }));
    assert_eq!(listed["structuredContent"]["considered"], 2, "{listed}");
    server.end();

    // The folders that the client opened, also after it opened others.
    let mut server = start(home.folder(), &[&folder]);
    assert_eq!(
        learn(&mut server, json!({ "text": "the weir opens at eight" })).1,
        name
    );
    server.open_folders(&[&mill]);
    let (_, project) = learn(&mut server, json!({ "text": "the mill opens at nine" }));
    assert!(
        project.as_str().is_some_and(|own| own.starts_with("mill-")),
        "{project}"
    );
    // Of several it is of none.
    server.open_folders(&[&mill, &folder]);
    let (_, project) = learn(&mut server, json!({ "text": "the sluice opens at ten" }));
    assert_eq!(project, Value::Null);
    // New tags of an agent do not take a memory out of its project.
    let list = server.call("list", &json!({ "grep": "opens at six" }));
    let id = list["structuredContent"]["records"][0]["id"].clone();
    server.call("update", &json!({ "id": id, "tags": ["water"] }));
    assert_eq!(
        tags_of(&home, "the weir opens at six"),
        json!([SHOP, "water"])
    );
    server.end();

    // Neither a folder of its own, nor one of a client.
    let mut server = start(home.folder(), &[]);
    let (_, project) = learn(&mut server, json!({ "text": "the lock opens at noon" }));
    assert_eq!(project, Value::Null);
    let asked = server.call("list", &json!({ "project": "." }));
    assert_contains!(asked.to_string(), "works in no repository");
    server.end();
}

#[test]
fn a_lesson_that_is_called_for_in_a_folder_is_of_its_project() {
    let home = Home::new();
    let folder = shop(&home);
    let call = |text: &str, more: &Value| {
        let mut given = json!({ "text": text });
        for (name, value) in more.as_object().expect("an object") {
            given[name] = value.clone();
        }
        let given = given.to_string();
        run_in(&home, &folder, &["call", "learn", &given, "--user", "ada"]);
        tags_of(&home, text)
    };
    let own = call("Coupons are rounded once per cart.", &json!({}));
    assert_eq!(own, json!([SHOP]));
    let own = call(
        "The ledger closes at noon on Mondays.",
        &json!({ "project": "." }),
    );
    assert_eq!(own, json!([SHOP]));
    let general = call(
        "Clocks of two machines are never equal.",
        &json!({ "project": "none" }),
    );
    assert_eq!(general, json!([]));
    let other = call(
        "Mails are sent by the queue.",
        &json!({ "tags": ["project:mail"] }),
    );
    assert_eq!(other, json!(["project:mail"]));
}
