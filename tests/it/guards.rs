//! Existing files are not written over, what is typed is not misread, and what was done is named.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use reprise_tests::{assert_contains, assert_lacks, run_git, run_to_end};
use serde_json::{Value, json};

use crate::home::Home;

fn refused(home: &Home, arguments: &[&str], word: &str) {
    let finished = home.run(arguments);
    assert_eq!(finished.code, Some(2), "{arguments:?}: {}", finished.stdout);
    assert_contains!(finished.stderr, word);
    assert_eq!(
        finished.stderr.trim().lines().count(),
        1,
        "{}",
        finished.stderr
    );
}

#[test]
fn each_restore_keeps_what_it_replaced_under_a_name_of_its_own() {
    let home = Home::with(&["--no-daemon"]);
    let copy = home.path("copy.rvf");
    home.run_ok(&["learn", "one"]);
    home.run_ok(&["backup", &copy, "--user", "default"]);
    for (later, aside) in [
        ("precious two", "memory.rvf.before-restore"),
        ("precious three", "memory.rvf.before-restore-2"),
    ] {
        home.run_ok(&["learn", later]);
        let said = home
            .run(&["backup", "restore", &copy, "--user", "default", "--replace"])
            .expect_code(0);
        assert_contains!(said.stderr, aside);
    }
    assert_eq!(home.texts("default"), ["one"]);
    for (number, aside, expected) in [
        (2, "memory.rvf.before-restore", "precious two"),
        (3, "memory.rvf.before-restore-2", "precious three"),
    ] {
        let file = home.data().join("default").join(aside);
        let (file, user) = (
            file.to_string_lossy().into_owned(),
            format!("user-{number}"),
        );
        home.run_ok(&["backup", "restore", &file, "--user", &user]);
        assert_eq!(home.texts(&user), ["one", expected]);
    }
}

#[test]
fn short_commands_wait_for_their_turn() {
    let home = Home::with(&["--no-daemon"]);
    home.keep(
        &[
            json!({ "external_id": "a", "text": "the first" }),
            json!({ "external_id": "b", "text": "the second" }),
        ],
        &[],
    );
    for command in [
        &["learn", "a third"][..],
        &["tags", "link", "a", "b"],
        &["edit", "a", "--content", "the first, corrected"],
        &["outcome", "off"],
        &["doctor", "compact"],
    ] {
        let mut options = fs::File::options();
        let file = home.data().join("default/memory.rvf");
        let held = options.read(true).write(true).open(file);
        let held = held.expect("the store");
        held.lock().expect("nobody holds it");
        let mut waiting = home.command(command);
        waiting.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut waiting = waiting.spawn().expect("it starts");
        let mut said = BufReader::new(waiting.stderr.take().expect("piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says that it waits");
        assert!(line.contains("waiting"), "{command:?}: {line}");
        drop(held);
        let output = waiting.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{command:?}: {output:?}");
    }
}

#[test]
fn who_has_no_turn_is_not_told_to_end_anybody() {
    let home = Home::with(&["--no-daemon"]);
    home.keep(&[json!({ "text": "kept" })], &[]);
    let mut options = fs::File::options();
    let file = home.data().join("default/memory.rvf");
    let held = options.read(true).write(true).open(file);
    let held = held.expect("the store");
    held.lock().expect("nobody holds it");
    let lines = home.path("lines.jsonl");
    let said = home.run(&["ingest", "--wait", "0", &lines]).stderr;
    assert_contains!(said, "in use by process", "try again");
    assert_lacks!(said, "end that one");
    drop(held);
}

#[test]
fn a_sentence_is_kept_whatever_word_it_begins_with() {
    let home = Home::with(&["--no-daemon"]);
    let sentences = [
        "reset the router by holding the button",
        "status 500 means that the proxy is down",
        "export PATH before the build",
        "explain plans before they are carried out",
        "on Mondays nothing is deployed",
        "states are stored in redis",
    ];
    for sentence in sentences {
        home.run_ok(&["learn", sentence]);
        let words: Vec<&str> = sentence.split(' ').collect();
        let unquoted = [&["learn"], &words[..], &["again", "--tags", "typed"]].concat();
        home.run_ok(&unquoted);
    }
    let kept = home.texts("default");
    for sentence in sentences {
        assert!(
            kept.iter().any(|text| text == sentence),
            "{sentence}: {kept:?}"
        );
        let again = [sentence, " again"].concat();
        assert!(kept.contains(&again), "{again}: {kept:?}");
    }
    refused(&home, &["outcome", "reset"], "--yes");
    home.run_ok(&["outcome", "reset", "--yes"]);
    assert_eq!(home.texts("default").len(), kept.len());
}

#[test]
fn a_file_of_somebody_elses_is_not_written_over() {
    let home = Home::with(&["--no-daemon"]);
    home.run_ok(&["learn", "one"]);
    home.run_ok(&["learn", "two", "--user", "eve"]);
    let thesis = home.path("thesis.txt");
    fs::write(&thesis, "years of work").expect("written");
    let fresh = |name: &str| home.path(name);
    let (copy, lines, notes) = (fresh("copy.rvf"), fresh("lines.jsonl"), fresh("notes"));
    for (command, own) in [
        (&["backup", "--user", "default"][..], &copy),
        (&["export", "--out"], &lines),
        (&["outcome", "plot", "--out"], &fresh("plot.svg")),
    ] {
        let to = |file: &str| -> Vec<String> {
            let words = command.iter().chain([&file]);
            words.map(|word| (*word).to_owned()).collect()
        };
        let words = to(&thesis);
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        refused(&home, &words, "--force");
        assert_eq!(fs::read_to_string(&thesis).expect("there"), "years of work");
        // One's own is written anew.
        for _ in 0..2 {
            let words = to(own);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            home.run_ok(&words);
        }
        words.push("--force");
        home.run_ok(&words);
        assert_ne!(fs::read(&thesis).expect("there"), b"years of work");
        fs::write(&thesis, "years of work").expect("written");
    }
    // A place is not a file: what somebody put there since is somebody's.
    let late = fresh("late/lines.jsonl");
    let export = ["export", "--out", &late];
    assert_ne!(home.run(&export).code, Some(0), "there is no folder");
    fs::create_dir(home.folder().join("late")).expect("a folder");
    for (command, own) in [
        (&export[..], &late),
        (&["export", "--out", &lines], &lines),
        (&["backup", "--user", "default", &copy], &copy),
    ] {
        fs::write(own, "years of work").expect("written");
        refused(&home, command, "--force");
        assert_eq!(fs::read_to_string(own).expect("there"), "years of work");
        fs::remove_file(own).expect("removed");
        home.run_ok(command);
    }
    refused(&home, &["backup", &copy, "--user", "eve"], "--force");
    refused(
        &home,
        &["export", "--out", &lines, "--user", "eve"],
        "--force",
    );
    let markdown = ["export", "--format", "markdown", "--out", &notes];
    home.run_ok(&markdown);
    refused(&home, &markdown, "choose another name");
    let both = home.path("both");
    for _ in 0..2 {
        home.run_ok(&["backup", "--all", &both]);
    }
    // All of them come back in one go: where memories are, none is harmed.
    fs::write(format!("{both}/eve.salvaged.rvf"), "no backup").expect("written");
    assert_eq!(
        home.run(&["backup", "restore", "--all", &both]).code,
        Some(1)
    );
    let other = Home::with(&["--no-daemon"]);
    other.run_ok(&["backup", "restore", "--all", &both]);
    for user in ["default", "eve"] {
        let kept = |home: &Home| home.run_ok(&["export", "--user", user]);
        assert_eq!(kept(&other), kept(&home), "{user}");
    }
}

fn doubtful() -> Vec<Value> {
    let line = |name: &str, text: &str| json!({ "external_id": name, "text": text });
    vec![
        line("p-260", "Reviewed PR 260 for the payment service"),
        line("p-480", "Reviewed PR 480 for the payment service"),
        line("t-30", "The timeout of the login page is 30 seconds"),
        line("t-90", "The timeout of the login page is 90 seconds"),
        line("d-1", "the deploy script fails without the VPN"),
        line("d-2", "The deploy script fails without the VPN."),
    ]
}

#[test]
fn an_answer_to_a_pair_compares_no_others() {
    let home = Home::with(&["--no-daemon"]);
    home.keep(&doubtful(), &[]);
    let listed = home.run_ok(&["doctor", "review"]);
    assert!(
        listed.starts_with("1 possible duplicate, 1 contradiction\n"),
        "{listed}"
    );
    let said = home.run_ok(&["doctor", "review", "p-260", "p-480", "--answer", "d"]);
    let says = "p-260 and p-480 both stay, and are not asked about again; undo with `reprise doctor undo a";
    assert!(said.starts_with(says), "{said}");
    assert!(!home.run_ok(&["doctor", "review"]).contains("PR 260"));
    let told = home.run_ok(&["doctor", "diary"]);
    assert!(told.starts_with("1 action\n"), "{told}");
    assert_contains!(told, "kept both of 1 pair; undo with");
    // The latest decision is taken back, and the pair waits again.
    home.run_ok(&["doctor", "undo"]);
    assert_contains!(home.run_ok(&["doctor", "review"]), "PR 260");
}

#[test]
fn one_of_a_thing_is_told_as_one() {
    let home = Home::with(&["--no-daemon"]);
    let mut lines = doubtful()[2..].to_vec();
    lines.push(
        json!({ "external_id": "s", "text": "the door opens by 4711", "tags": ["sensitive"] }),
    );
    home.keep(&lines, &[]);
    let mut said = vec![home.run(&["export"]).stderr];
    said.push(home.run_ok(&["doctor", "tidy"]));
    said.push(home.run_ok(&["doctor", "diary"]));
    let rows = home.run_ok(&["--json", "doctor", "diary"]);
    let rows: Value = serde_json::from_str(&rows).expect("JSON");
    let action = rows["actions"][0]["action"].as_str().expect("an action");
    said.push(home.run_ok(&["doctor", "undo", action]));
    for said in said {
        let odd = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ones = words.windows(2).filter(|pair| pair[0] == "1");
            ones.into_iter()
                .any(|pair| pair[1].trim_end_matches([',', ';']).ends_with('s'))
        };
        let odd: Vec<&str> = said.lines().filter(odd).collect();
        assert!(odd.is_empty(), "{odd:?}");
    }
}

#[test]
fn a_time_is_told_in_the_zone_of_whoever_asks() {
    let home = Home::with(&["--no-daemon"]);
    home.keep(&[json!({ "text": "the ibis flew off" })], &[]);
    for command in ["doctor", "stats"] {
        let told = |zone: &str| {
            let finished =
                run_to_end(home.command(&[command]).env("TZ", zone)).expect("reprise runs");
            let mut lines = finished.stdout.lines();
            let line = lines.find(|line| line.contains("last saved"));
            line.expect("it says when").to_owned()
        };
        assert_ne!(told("JST-9"), told("UTC0"), "{command}");
    }
}

#[test]
fn a_question_for_nothing_is_no_question() {
    let home = Home::with(&["--no-daemon"]);
    home.keep(&[json!({ "text": "the ibis flew off" })], &[]);
    for option in ["--limit", "--top-k"] {
        refused(
            &home,
            &["recall", "ibis", option, "0"],
            "--limit must be 1 or more",
        );
    }
    for name in ["limit", "top_k"] {
        let asked = json!({ "query": "ibis", name: 0 }).to_string();
        let named = format!("`{name}` is 0");
        refused(&home, &["call", "recall", &asked], &named);
    }
}

#[test]
fn what_tending_and_forgetting_take_is_shown() {
    let home = Home::with(&["--no-daemon"]);
    home.keep(&doubtful(), &[]);
    let would = home.run_ok(&["doctor", "tidy", "--dry-run"]);
    let (kept, gone) = (
        "The deploy script fails without the VPN.",
        "the deploy script fails without the VPN",
    );
    let did = home.run_ok(&["doctor", "tidy"]);
    let diary = home.run_ok(&["doctor", "diary"]);
    for said in [would, did, diary] {
        assert_contains!(said, kept, gone);
        assert_lacks!(said, "1 memories");
    }
    let would = home.run_ok(&["forget", "--external-id", "t-30", "--dry-run"]);
    assert_contains!(would, "The timeout of the login page is 30");
}

pub(crate) fn repository(folder: &Path, remote: &str) {
    fs::create_dir_all(folder).expect("a folder");
    run_git(folder, &["init", "-q"]);
    run_git(folder, &["remote", "add", "origin", remote]);
}

#[test]
fn a_project_is_the_same_to_every_command() {
    let home = Home::with(&["--no-daemon"]);
    let of = |name: &str, project: &str| json!({ "external_id": name, "text": "the shared words", "tags": [format!("project:{project}")] });
    let mut told = json!({ "external_id": "d", "text": "the shared words" });
    told["metadata"] = json!({ "project": "shop" });
    let here = home.folder().join("here");
    repository(&here.join("api"), "https://github.com/acme/api.git");
    home.keep(
        &[
            of("a", "web-0e047eaf"),
            of("b", "twin-00000001"),
            of("c", "twin-00000002"),
            of("e", "github.com/acme/api"),
            told,
        ],
        &[],
    );
    let within = |arguments: &[&str]| {
        let all = [&["--json"], arguments].concat();
        run_to_end(home.command(&all).current_dir(&here)).expect("reprise runs")
    };
    // By its short name, its whole one, or a folder with a slash in it; a bare word is no folder.
    repository(&here.join("web"), "https://github.com/other/web");
    for (named, count, says) in [
        ("web", 1, "web-0e047eaf"),
        ("web-0e047eaf", 1, "web-0e047eaf"),
        ("./api", 1, "github.com/acme/api"),
        ("api", 1, "github.com/acme/api"),
        ("shop", 1, "shop"),
    ] {
        let recalled = within(&["recall", "words", "--project", named]);
        let answer: Value = serde_json::from_str(&recalled.stdout).expect("JSON");
        let listed = within(&["list", "--project", named]);
        let would = within(&["forget", "--project", named, "--dry-run"]);
        let gone: Value = serde_json::from_str(&would.stdout).expect("JSON");
        assert_eq!(
            answer["results"].as_array().map(Vec::len),
            Some(count),
            "{named}: {answer}"
        );
        assert_eq!(
            listed.stdout.lines().count(),
            count,
            "{named}: {}",
            listed.stderr
        );
        assert_eq!(
            gone["forgotten"].as_array().map(Vec::len),
            Some(count),
            "{named}: {gone}"
        );
        if says != named {
            for said in [recalled, listed, would] {
                assert!(said.stderr.contains(says), "{named}: {}", said.stderr);
            }
        }
    }
    for command in [
        &["recall", "words"][..],
        &["list"],
        &["forget", "--dry-run"],
    ] {
        for (named, says) in [("twin", "twin-00000002"), ("./nowhere", "no folder")] {
            let said = within(&[command, &["--project", named]].concat());
            assert_eq!(said.code, Some(2), "{command:?} {named}: {}", said.stdout);
            assert!(said.stderr.contains(says), "{command:?}: {}", said.stderr);
        }
    }
}

#[test]
fn a_whole_name_comes_before_a_short_one_and_forgetting_asks_for_it() {
    let home = Home::with(&["--no-daemon"]);
    let named = |name: &str, project: &str| {
        let metadata = json!({ "project": project });
        json!({ "external_id": name, "text": name, "metadata": metadata })
    };
    let tagged = json!({
        "external_id": "tagged", "text": "tagged", "tags": ["project:github.com/acme/api"],
    });
    let (own, other) = (
        named("own", "api"),
        named("other", "github.com/acme/Billing"),
    );
    home.keep(&[tagged, own, other], &[]);
    let listed = |project: &str| home.run_ok(&["--json", "list", "--project", project]);
    assert!(listed("api").contains("own"), "{}", listed("api"));
    home.run_ok(&["forget", "--project", "api"]);
    assert_eq!(home.texts("default"), ["tagged", "other"]);
    for (short, whole, text) in [
        ("api", "github.com/acme/api", "tagged"),
        ("billing", "github.com/acme/billing", "other"),
    ] {
        assert!(listed(short).contains(text), "{}", listed(short));
        let would = home.run_ok(&["forget", "--dry-run", "--project", short]);
        assert_contains!(would, text);
        refused(&home, &["forget", "--project", short], whole);
        assert!(home.texts("default").contains(&text.to_owned()));
        home.run_ok(&["forget", "--project", whole]);
    }
    assert!(home.texts("default").is_empty());
}

#[test]
fn what_is_sensitive_is_in_no_answer_to_an_agent() {
    let home = Home::with(&["--no-daemon"]);
    home.keep(
        &[
            json!({ "text": "the vault key of the shop is under the mat", "tags": ["sensitive"] }),
            json!({ "text": "a shop sells bread" }),
        ],
        &[],
    );
    let asked = json!({ "query": "the vault key of the shop" }).to_string();
    let said = home.run_ok(&["--json", "call", "brief", &asked]);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert!(!said.to_string().contains("the mat"), "{said}");
    assert_ne!(said["verdict"], "relevant", "{said}");
    let notes = said["notes"].to_string();
    assert!(
        notes.contains("1 sensitive memory") && notes.contains("reprise recall"),
        "{said}"
    );
    let plain = home.run_ok(&["recall", "the vault key of the shop"]);
    assert_contains!(plain, "the mat");
}

#[test]
fn a_number_is_told_as_it_was_written() {
    let home = Home::with(&["--no-daemon"]);
    home.keep(&[json!({ "text": "kept", "confidence": 0.7 })], &[]);
    assert_contains!(home.run_ok(&["--json", "list"]), r#""confidence":0.7,"#);
}

#[test]
fn another_users_file_in_the_place_of_ones_own_is_said_and_not_shown() {
    let home = Home::with(&["--no-daemon"]);
    for (user, text) in [
        ("ada", "the gate is shut"),
        ("bob", "zebras gather at dawn"),
    ] {
        home.run_ok(&["learn", text, "--user", user]);
    }
    let file = |user: &str| home.data().join(user).join("memory.rvf");
    let kept = home.path("kept.rvf");
    fs::copy(file("ada"), &kept).expect("it is there");
    fs::copy(file("bob"), file("ada")).expect("it is there");
    for command in [
        &["recall", "zebras"][..],
        &["list"],
        &["export"],
        &["learn", "something else"],
        &["doctor", "check"],
        &["backup", &home.path("ada.rvf")],
    ] {
        let refused = home.run(&[command, &["--user", "ada"]].concat());
        let refused = refused.expect_code(2);
        assert_contains!(refused.stderr, "is the memory of user `bob`, not of `ada`");
        assert_lacks!(refused.stdout + &refused.stderr, "zebras gather");
    }
    let found = home.run(&["doctor"]).expect_code(1);
    assert_contains!(found.stdout, "is the memory of user `bob`, not of `ada`");
    assert!(!Path::new(&home.path("ada.rvf")).exists());
    // Back in its place it is what it was, and so is a branch of it.
    fs::copy(&kept, file("ada")).expect("it is there");
    assert_eq!(home.texts("ada"), ["the gate is shut"]);
    home.run_ok(&["branch", "fork", "try", "--user", "ada"]);
    assert_eq!(home.texts("ada+try"), ["the gate is shut"]);
    // What is given to another user on purpose is that user's.
    let copy = home.path("bob.rvf");
    home.run_ok(&["backup", &copy, "--user", "bob"]);
    home.run_ok(&["backup", "restore", &copy, "--user", "ada", "--replace"]);
    assert_eq!(home.texts("ada"), ["zebras gather at dawn"]);
    home.run_ok(&["learn", "it is ada's now", "--user", "ada"]);
    assert_eq!(home.texts("bob"), ["zebras gather at dawn"]);
}
