//! Memory tended from the command line: what is said of it, what is done, and all of it undone.

use reprise_tests::{assert_contains, assert_fields, assert_lacks};
use serde_json::{Value, json};

use crate::guards::repository;
use crate::home::{Home, rows};

const ADA: [&str; 2] = ["--user", "ada"];

/// All that answers, without the log's history.
fn answering(home: &Home) -> Vec<Value> {
    let mut lines = rows(&home.run_ok(&["export", "--user", "ada"]));
    for line in &mut lines {
        line.as_object_mut().expect("an object").remove("archive");
    }
    lines
}

fn line(name: &str, session: &str, text: &str) -> Value {
    json!({ "external_id": name, "session_id": session, "text": text })
}

/// Three that say the same, two in doubt, two that contradict each other, one that had its time.
fn keep_what_wants_tending(home: &Home) {
    let mut scratch = line("s-1", "mon", "a buffer that had its time");
    scratch["metadata"] = json!({ "expires_at": "2020-01-01" });
    home.keep(
        &[
            line("d-1", "mon", "The deploy script fails without the VPN."),
            line("d-2", "tue", "the deploy script fails without the VPN"),
            line(
                "d-3",
                "wed",
                "The deploy script just fails without the VPN!",
            ),
            line("p-260", "mon", "Reviewed PR 260 for the payment service"),
            line("p-480", "tue", "Reviewed PR 480 for the payment service"),
            line("t-30", "mon", "The timeout of the login page is 30 seconds"),
            line("t-90", "tue", "The timeout of the login page is 90 seconds"),
            scratch,
        ],
        &ADA,
    );
}

#[test]
fn a_correction_and_its_tags_are_taken_back() {
    let home = Home::new();
    keep_what_wants_tending(&home);
    let of = |command: &[&str]| home.run_json(&[command, &ADA].concat());
    // A correction is taken back by the name of its record, and so is that.
    of(&["edit", "t-90", "nothing of the sort"]);
    for says in [
        "The timeout of the login page is 90 seconds",
        "nothing of the sort",
    ] {
        assert_eq!(of(&["doctor", "undo", "t-90"])["reverted"], json!(["t-90"]));
        assert_eq!(of(&["show", "t-90"])["records"][0]["text"], says);
    }
    // So are its tags, which change without a version, and then its text again.
    for tag in ["slow", "login"] {
        assert_eq!(of(&["edit", "t-90", "--tags", tag])["is_new"], false);
    }
    for (tags, text) in [
        (json!(["slow"]), "nothing of the sort"),
        (json!([]), "nothing of the sort"),
        (json!([]), "The timeout of the login page is 90 seconds"),
    ] {
        assert_eq!(of(&["doctor", "undo", "t-90"])["reverted"], json!(["t-90"]));
        let shown = of(&["show", "t-90"])["records"][0].clone();
        assert_eq!((&shown["tags"], &shown["text"]), (&tags, &json!(text)));
    }
    home.run(&["doctor", "undo", "d-1", "--user", "ada"])
        .expect_code(2);
}

#[test]
fn all_that_tending_does_is_said_and_undone() {
    let home = Home::new();
    keep_what_wants_tending(&home);
    let of = |command: &[&str]| home.run_json(&[command, &ADA].concat());
    let before = answering(&home);
    let dry = of(&["doctor", "tidy", "--dry-run"]);
    assert_eq!(answering(&home), before);
    let real = of(&["doctor", "tidy"]);
    for (said, is_dry) in [(&dry, true), (&real, false)] {
        assert_eq!(said["dry_run"], is_dry);
        assert_eq!(
            said["merged"],
            json!([{ "kept": "d-3", "gone": ["d-1", "d-2"], "texts": [
                "The deploy script just fails without the VPN!",
                "The deploy script fails without the VPN.",
                "the deploy script fails without the VPN",
            ] }])
        );
        assert_eq!(said["review"][0]["pair"], json!(["p-260", "p-480"]));
        assert_eq!(said["contradictions"][0]["pair"], json!(["t-30", "t-90"]));
        assert_eq!(said["contradictions"][0]["newest"], "t-90");
        assert_eq!(said["purged"], json!(["s-1"]));
        assert_eq!(said["distilled"].as_array().map(Vec::len), Some(1));
    }
    let audit = of(&["doctor", "audit"]);
    assert_fields!(audit, "records": 6, "duplicates": 0);
    let day = &audit["history"][0];
    assert_eq!(day["score"], audit["score"], "{audit}");
    let diary = of(&["doctor", "diary"]);
    let action = diary["actions"][0]["action"].as_str().expect("a name");
    assert_eq!(real["action"], action);
    assert_eq!(diary["actions"][0]["merged"], real["merged"]);
    // The same as an operation, with the texts for the person who answers.
    let pairs = of(&["call", "review"]);
    assert_eq!(
        pairs["contradictions"][0]["texts"][1],
        "The timeout of the login page is 90 seconds"
    );
    let undone = of(&["doctor", "undo", action]);
    let mut restored: Vec<&str> = undone["restored"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    restored.sort_unstable();
    assert_eq!(restored, ["d-1", "d-2", "s-1"]);
    assert_eq!(answering(&home), before);
    assert_eq!(of(&["doctor", "diary"])["actions"][0]["undone"], true);
    home.run(&["doctor", "undo", action, "--user", "ada"])
        .expect_code(2);
    // What was undone is not done again; an answer is undone like anything else.
    assert_eq!(of(&["doctor", "tidy"])["merged"], json!([]));
    let answered = of(&["doctor", "review", "t-30", "t-90", "--answer", "newer"]);
    assert_eq!(answered["kept"], "t-90");
    assert_eq!(
        of(&["doctor", "tidy", "--dry-run"])["contradictions"],
        json!([])
    );
    // Without a name it is the latest that holds, and then none does.
    of(&["doctor", "undo"]);
    assert_eq!(answering(&home), before);
    let none = home
        .run(&["doctor", "undo", "--user", "ada"])
        .expect_code(2);
    assert_contains!(none.stderr, "there is nothing to undo");
    home.run_ok(&["serve", "stop"]);
    let offline = home.run_json(&["--no-daemon", "doctor", "audit", "--user", "ada"]);
    assert_eq!(offline["records"], 8);
}

#[test]
fn an_answer_to_a_pair_that_nobody_was_asked_about_is_refused() {
    let home = Home::with(&["--no-daemon"]);
    home.keep(
        &[
            line("n-1", "mon", "The cat sleeps on the router"),
            line("d-1", "tue", "The deploy script fails without the VPN"),
            line("t-30", "mon", "The timeout of the login page is 30 seconds"),
            line("t-90", "tue", "The timeout of the login page is 90 seconds"),
        ],
        &ADA,
    );
    let of = |command: &[&str]| home.run(&[command, &ADA].concat());
    let before = answering(&home);
    for answer in ["newer", "same", "different"] {
        let refused = of(&["doctor", "review", "n-1", "d-1", "--answer", answer]);
        assert_ne!(refused.code, Some(0), "{}", refused.stdout);
        let says = "`n-1` and `d-1` are not a pair that `reprise doctor review` lists";
        assert_contains!(refused.stderr, says);
    }
    assert_eq!(answering(&home), before);
    // The list says how it is answered, and the answer which of the two stays.
    let listed = of(&["doctor", "review"]).stdout;
    let how = "`reprise doctor review A B --answer ANSWER --user ada`";
    assert_contains!(listed, how);
    let said = of(&["doctor", "review", "t-30", "t-90", "--answer", "newer"]).stdout;
    assert!(
        said.starts_with("merged t-30 into t-90; undo with `reprise doctor undo "),
        "{said}"
    );
    let none = of(&["doctor", "review"]).stdout;
    assert_lacks!(none, "--answer");
}

#[test]
fn an_audit_names_what_is_wrong_and_shows_no_secret() {
    let home = Home::with(&["--no-daemon"]);
    let secret = ["AKIA", "IOSFODNN7EXAMPLE"].concat();
    let key = line("k-1", "mon", &format!("the key of the store is {secret}"));
    home.keep(&[key], &["--user", "ada", "--verbatim"]);
    keep_what_wants_tending(&home);
    let told = home.run_ok(&["doctor", "audit", "--user", "ada"]);
    for says in [
        "\n1 expired memory; ",
        "- expired: s-1: a buffer that had its time",
        "- contradiction: t-30: The timeout of the login page is 30 seconds",
        "  with: t-90: The timeout of the login page is 90 seconds",
        "- possible secret: k-1: the key of the store is ",
    ] {
        assert!(told.contains(says), "{says}: {told}");
    }
    assert_lacks!(told, &secret);
    let all = home.run_ok(&["--json", "doctor", "audit", "--user", "ada"]);
    assert!(all.contains("k-1") && !all.contains(&secret), "{all}");
}

#[test]
fn learn_says_what_is_known_already() {
    let home = Home::new();
    home.keep(
        &[
            line("t-30", "mon", "The timeout of the login page is 30 seconds"),
            line("p-260", "mon", "Reviewed PR 260 for the payment service"),
        ],
        &ADA,
    );
    let learned = |text: &str| home.run_json(&["learn", text, "--user", "ada"]);
    let contrary = learned("The timeout of the login page is 90 seconds");
    assert_eq!(contrary["outcome"], "inserted");
    let known = &contrary["known"][0];
    assert_eq!(known["text"], "The timeout of the login page is 30 seconds");
    assert!(known["contrary"].is_string(), "{contrary}");
    let same = learned("the timeout of the login page is 30 s");
    let known = same["known"].as_array().expect("a list");
    assert_eq!(known.len(), 2, "{same}");
    assert!(known.iter().any(|one| one["contrary"].is_null()), "{same}");
    let new = learned("Reviewed PR 480 for the payment service");
    assert!(new["known"].is_null(), "{new}");
    home.run_ok(&["serve", "stop"]);
}

#[test]
fn what_a_finished_run_leaves_answers_how_it_was_done() {
    let home = Home::new();
    let of_run = |name: &str, run: &str, text: &str| {
        let mut line = line(name, "mon", text);
        line["provenance"] = json!({ "run_id": run });
        line
    };
    home.keep(
        &[
            of_run(
                "q-1",
                "r-1",
                "Rotate the signing key of the payment service",
            ),
            of_run("s-1", "r-1", "Made the new key with ops/newkey.sh"),
            of_run("s-2", "r-1", "Restarted the payment workers one by one"),
            of_run("q-2", "r-2", "Rotate the signing key of the mail service"),
            of_run("s-3", "r-2", "Restarted everything at once"),
            line("n-1", "tue", "The signing key lives in the vault"),
        ],
        &ADA,
    );
    let of = |command: &[&str]| home.run_json(&[command, &ADA].concat());
    for (run, quality) in [("r-1", "0.8"), ("r-2", "0.3"), ("r-3", "0.8")] {
        let line = json!({
            "query": "how to rotate the signing key", "used": ["n-1"], "run_id": run,
            "quality": quality.parse::<f32>().expect("a number"),
        });
        let told = of(&["call", "outcome", &line.to_string()]);
        assert_eq!(told["learned"], 1);
    }
    let how = of(&["show", "how", "rotate the signing key of a service"]);
    let runs: Vec<&str> = how["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|run| run["run_id"].as_str())
        .collect();
    assert_eq!(runs.len(), 3, "{how}");
    assert_eq!(runs[2], "r-2", "what went badly comes last: {how}");
    let first = how["runs"].as_array().expect("a list");
    let first = first
        .iter()
        .find(|run| run["run_id"] == "r-1")
        .expect("it is there");
    assert_eq!(
        first["steps"],
        json!([
            "Rotate the signing key of the payment service",
            "Made the new key with ops/newkey.sh",
            "Restarted the payment workers one by one"
        ])
    );
    let said = home.run_ok(&["recall", "where is the signing key", "--user", "ada"]);
    assert_contains!(said, "worked well (.6), 3 times");
    // What it tells of goes, and it goes too.
    home.run_ok(&["forget", "--user", "ada", "--external-id", "s-2"]);
    let how = of(&["show", "how", "rotate the signing key of a service"]);
    let gone = how["runs"].as_array().expect("a list").iter();
    assert!(gone.clone().count() == 2 && gone.clone().all(|run| run["run_id"] != "r-1"));
}

#[test]
fn a_tag_or_a_project_is_forgotten_after_a_look_at_what_that_takes_along() {
    let home = Home::new();
    let tagged = |name: &str, session: &str, tag: &str, text: &str| {
        let mut line = line(name, session, text);
        line["tags"] = json!([tag]);
        line
    };
    let said = "The deploy script fails without the VPN";
    home.keep(
        &[
            tagged("a-1", "mon", "project:api", said),
            tagged("a-2", "tue", "project:api", said),
            tagged("a-3", "wed", "project:api", said),
            tagged("b-1", "mon", "billing", "The ledger is closed on Fridays"),
            line("n-1", "mon", "The cat sleeps on the router"),
        ],
        &ADA,
    );
    let of = |command: &[&str]| home.run_json(&[command, &ADA].concat());
    let distilled = of(&["doctor", "tidy"])["distilled"].clone();
    assert_eq!(distilled.as_array().map(Vec::len), Some(1));
    let would = of(&["forget", "--project", "api", "--dry-run"]);
    let all = would["forgotten"].as_array().expect("a list");
    assert_eq!(all.len(), 4, "three, and what was made of them: {would}");
    assert!(all.contains(&distilled[0]), "{would}");
    assert_eq!(answering(&home).len(), 4, "nothing is gone yet");
    let gone = of(&["forget", "--project", "api", "--verify"]);
    assert_eq!(gone["forgotten"].as_array().map(Vec::len), Some(4));
    assert_eq!(gone["traces_in_file"], 0, "{gone}");
    of(&["forget", "--tag", "Billing"]);
    let left = answering(&home);
    assert_eq!((left.len(), &left[0]["external_id"]), (1, &json!("n-1")));
}

#[test]
fn hooks_in_two_clones_mean_one_project_and_in_two_folders_of_one_name_two() {
    let home = Home::new();
    let clone = |folder: &str, remote: &str| {
        let folder = home.folder().join(folder);
        repository(&folder, remote);
        folder
    };
    for (folder, remote, said) in [
        (
            "x/api",
            "https://github.com/acme/api.git",
            "the first says where the keys are",
        ),
        (
            "y/copy",
            "git@github.com:acme/api.git",
            "the second says who rotates them",
        ),
        (
            "z/api",
            "https://github.com/other/api",
            "the third is about other things",
        ),
    ] {
        let cwd = clone(folder, remote);
        let event = json!({ "session_id": folder, "cwd": cwd, "prompt": said });
        let mut hook = home.command(&["hook", "user-prompt", "--user", "ada"]);
        hook.args(["--deadline-ms", "60000"]);
        crate::together::run(&mut hook, &event.to_string());
    }
    let tags: Vec<Value> = answering(&home)
        .into_iter()
        .map(|line| line["tags"][0].clone())
        .collect();
    let (one, other) = (
        "project:github.com/acme/api",
        "project:github.com/other/api",
    );
    assert_eq!(tags, [one, one, other]);
}
