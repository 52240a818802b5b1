//! Markdown that a person edits next to a memory: edits come in, what memory says goes out, nothing
//! goes round twice, and what both changed is told.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use reprise_tests::{assert_contains, assert_lacks, run_to_end};
use serde_json::Value;

use crate::home::{Home, rows};

/// A record and the folder with the note that memory wrote of it.
fn exported(home: &Home) -> (String, PathBuf) {
    home.run_ok(&["learn", "--user", "ada", "The api listens on port 80."]);
    let folder = home.path("bundle");
    home.run_ok(&[
        "export", "--user", "ada", "--format", "markdown", "--out", &folder,
    ]);
    let named = fs::read_dir(&folder).expect("a folder");
    let mut named = named.map(|entry| entry.expect("an entry").path());
    let note = named.find(|path| !path.ends_with("index.md"));
    (folder, note.expect("a note"))
}

fn import(home: &Home, path: &str, flags: &[&str]) -> Value {
    let finished = home.run(&[&["--json", "import", "--user", "ada", path], flags].concat());
    serde_json::from_str(&finished.stdout).expect("JSON")
}

fn counts(report: &Value) -> [u64; 4] {
    ["inserted", "replaced", "duplicate", "rejected"]
        .map(|name| report[name].as_u64().unwrap_or(99))
}

fn list_rows(home: &Home) -> Vec<Value> {
    rows(&home.run_ok(&["--json", "list", "--user", "ada"]))
}

fn texts(home: &Home) -> Vec<String> {
    let text = |one: &Value| one["text"].as_str().unwrap_or_default().to_owned();
    list_rows(home).iter().map(text).collect()
}

/// The one record's id.
fn only(home: &Home) -> String {
    list_rows(home)[0]["id"].as_str().expect("an id").to_owned()
}

fn edit(note: &PathBuf, from: &str, to: &str) {
    let text = fs::read_to_string(note).expect("readable");
    let (head, body) = text.rsplit_once("---\n").expect("front matter");
    assert_contains!(body, from);
    fs::write(note, format!("{head}---\n{}", body.replace(from, to))).expect("written");
}

#[test]
fn a_changed_section_of_a_note_supersedes_the_old_one() {
    let home = Home::new();
    let note = home.folder().join("runbook.md");
    let path = note.to_string_lossy().into_owned();
    fs::write(
        &note,
        "# Deploy\n\nDeploy on Thursdays.\n\n# Pager\n\nAda has it.\n",
    )
    .unwrap();
    assert_eq!(counts(&import(&home, &path, &[])), [2, 0, 0, 0]);
    fs::write(&note, "# Deploy\n\nDeploy on Mondays.\n").unwrap();
    let looked = import(&home, &path, &["--dry-run"]);
    assert_eq!(
        (counts(&looked), &looked["gone"][0]["where"]),
        ([0, 1, 0, 0], &"runbook.md".into())
    );
    let report = import(&home, &path, &[]);
    assert_eq!(counts(&report), [0, 1, 0, 0]);
    assert_eq!(report["gone"][0]["forgotten"], false);
    let first = home.run_json(&["recall", "--user", "ada", "when do we deploy?"]);
    let first = first["results"][0]["text"].as_str().expect("a text");
    assert_contains!(first, "Mondays");
    assert!(texts(&home).iter().all(|text| !text.contains("Thursdays")));
    // The section that is gone goes where that is said.
    let report = import(&home, &path, &["--forget-gone"]);
    assert_eq!(report["gone"][0]["forgotten"], true);
    assert_eq!(texts(&home).len(), 1);
    assert_eq!(counts(&import(&home, &path, &[])), [0, 0, 1, 0]);
    // Back in its file it stays forgotten, and that is said.
    let both = "# Deploy\n\nDeploy on Mondays.\n\n# Pager\n\nAda has it.\n";
    fs::write(&note, both).unwrap();
    for flags in [&["--dry-run"][..], &[]] {
        let report = import(&home, &path, flags);
        assert_eq!(
            (counts(&report), &report["forgotten"]),
            ([0, 0, 2, 0], &1.into()),
            "{flags:?}"
        );
    }
    let said = home.run_ok(&["import", "--user", "ada", &path]);
    assert_contains!(said, "1 skipped because you forgot them here");
}

#[test]
fn a_note_that_left_a_plain_folder_is_named_and_forgotten_however_the_folder_was_named() {
    let home = Home::new();
    let folder = home.folder().join("n5");
    fs::create_dir(&folder).expect("made");
    for name in ["a", "b", "c"] {
        let text = format!("# Of {name}\n\nWhat {name} says.\n");
        fs::write(folder.join(name).with_extension("md"), text).expect("written");
    }
    let imported = |place: &str, inside: &str, flags: &[&str]| {
        let named = ["import", "--user", "ada", "--from", "markdown", place];
        let mut command = home.command(&[&named[..], flags].concat());
        run_to_end(command.current_dir(home.folder().join(inside))).expect("reprise runs")
    };
    imported("n5", ".", &[]);
    assert_eq!(texts(&home).len(), 3);
    // A note that is named alone, from its own folder, is the same one.
    let alone = imported("b.md", "n5", &[]);
    assert_contains!(alone.stdout, "1 already known");
    fs::remove_file(folder.join("b.md")).expect("removed");
    for (place, inside) in [("n5", "."), (".", "n5"), ("./n5/", ".")] {
        let told = imported(place, inside, &[]);
        assert!(
            told.stdout.contains("gone: b.md: b > Of b What b says."),
            "{place}: {}",
            told.stdout
        );
    }
    let told = imported("n5", ".", &["--forget-gone"]);
    assert_contains!(told.stdout, "forgotten: b.md: b > Of b What b says.");
    assert_eq!(texts(&home).len(), 2);
}

#[test]
fn a_folder_and_one_within_it_are_one_import() {
    let home = Home::new();
    let inner = home.path("v/notes");
    fs::create_dir_all(&inner).expect("a folder");
    let write = |name: &str, text: &str| fs::write(home.path(name), text).expect("written");
    write("v/root.md", "# Root\n\nPenguins live in Antarctica.\n");
    let note = "# Alpha\n\nThe build takes four minutes.\n\n## Beta\n\nNever on a Friday.\n";
    write("v/notes/a.md", note);
    assert_eq!(counts(&import(&home, &inner, &[])), [2, 0, 0, 0]);
    let all = home.path("v");
    assert_eq!(counts(&import(&home, &all, &["--dry-run"])), [1, 0, 2, 0]);
    assert_eq!(counts(&import(&home, &all, &[])), [1, 0, 2, 0]);
    assert_eq!(texts(&home).len(), 3);
    write("v/notes/a.md", &note.replace("four", "five"));
    assert_eq!(counts(&import(&home, &all, &[])), [0, 1, 2, 0]);
    assert_eq!(counts(&import(&home, &inner, &[])), [0, 0, 2, 0]);
    fs::remove_file(home.path("v/notes/a.md")).expect("removed");
    write(
        "v/notes/b.md",
        "# Gamma\n\nTea is best at eighty degrees.\n",
    );
    import(&home, &all, &["--forget-gone"]);
    assert_eq!(texts(&home).len(), 2);
}

#[test]
fn an_exported_note_goes_both_ways_and_comes_to_rest() {
    let home = Home::new();
    let (folder, note) = exported(&home);
    let index = fs::read_to_string(PathBuf::from(&folder).join("index.md")).expect("a list");
    assert!(
        index.starts_with("---\nokf_version: \"0.2\"\n---\n# "),
        "{index}"
    );
    assert_contains!(index, "* [The api listens on port 80.](the-api-");
    let head = fs::read_to_string(&note).expect("readable");
    assert!(head.starts_with("---\ntype: "), "{head}");
    assert_eq!(counts(&import(&home, &folder, &["--sync"])), [0, 0, 1, 0]);

    edit(&note, "port 80", "port 90");
    assert_eq!(counts(&import(&home, &folder, &["--sync"])), [0, 1, 0, 0]);
    assert_eq!(texts(&home), ["The api listens on port 90."]);
    let written = fs::read_to_string(&note).expect("the same file, written anew");
    assert_eq!(counts(&import(&home, &folder, &["--sync"])), [0, 0, 1, 0]);
    assert_eq!(fs::read_to_string(&note).expect("there"), written);

    // Corrected here: the note follows.
    let id = only(&home);
    let changed = [
        "edit",
        "--user",
        "ada",
        &id,
        "--content",
        "The api listens on port 91.",
    ];
    home.run_ok(&changed);
    import(&home, &format!("{folder}/"), &["--sync"]);
    assert!(
        fs::read_to_string(&note)
            .expect("there")
            .contains("port 91")
    );

    // Both: named, and neither is lost.
    let id = only(&home);
    home.run_ok(&[
        "edit",
        "--user",
        "ada",
        &id,
        "--content",
        "The api listens on port 92.",
    ]);
    edit(&note, "port 91", "port 93");
    let report = import(&home, &folder, &["--sync"]);
    assert_eq!(counts(&report), [0, 0, 0, 1]);
    let why = report["lines"][0]["why"].as_str().expect("a reason");
    assert!(why.starts_with("conflict"), "{why}");
    assert_eq!(texts(&home), ["The api listens on port 92."]);
    assert!(
        fs::read_to_string(&note)
            .expect("there")
            .contains("port 93")
    );

    fs::remove_file(&note).expect("removed");
    let report = import(&home, &folder, &["--sync"]);
    assert_eq!(report["gone"][0]["forgotten"], false);
    assert!(
        !note.exists(),
        "it is not written again before somebody said so"
    );
    import(&home, &folder, &["--sync", "--forget-gone"]);
    assert!(texts(&home).is_empty());
}

#[test]
fn watching_takes_in_what_is_written_meanwhile() {
    let home = Home::new();
    let folder = home.folder().join("notes");
    fs::create_dir(&folder).expect("made");
    fs::write(folder.join("a.md"), "# Deploy\n\nDeploy on Thursdays.\n").expect("written");
    let path = folder.to_string_lossy().into_owned();
    let mut watching = home.command(&["--json", "import", "--user", "ada", &path, "--watch"]);
    let mut watching = watching.stdout(Stdio::piped()).spawn().expect("it starts");
    let told = watching.stdout.take().expect("piped");
    let mut reports = BufReader::new(told).lines();
    let mut next = || -> Value {
        let line = reports.next().expect("it goes on").expect("a line");
        serde_json::from_str(&line).expect("JSON")
    };
    assert_eq!(counts(&next()), [1, 0, 0, 0]);
    fs::write(folder.join("a.md"), "# Deploy\n\nDeploy on Mondays.\n").expect("written");
    assert_eq!(counts(&next()), [0, 1, 0, 0]);
    watching.kill().expect("it ends");
    watching.wait().expect("it ended");
    assert_eq!(texts(&home).len(), 1);
}

#[test]
fn what_helped_three_times_is_proposed_as_a_skill_and_a_persons_own_stays() {
    let home = Home::new();
    home.run_ok(&[
        "learn",
        "--user",
        "ada",
        "Round coupons once per cart.",
        "--tags",
        "money",
    ]);
    home.run_ok(&["learn", "--user", "ada", "The gate is shut at night."]);
    let records = list_rows(&home).into_iter();
    let mut coupons = records.filter(|one| one["text"].to_string().contains("coupons"));
    let id = coupons.next().expect("the lesson")["id"].clone();
    let outcomes = home.folder().join("outcomes.jsonl");
    for run in 0..3 {
        let line = serde_json::json!({
            "query": "how are coupons rounded?", "used": [id], "quality": 0.9,
            "run_id": format!("run-{run}"),
        });
        fs::write(&outcomes, line.to_string()).expect("written");
        let path = outcomes.to_string_lossy().into_owned();
        home.run_ok(&["outcome", "--user", "ada", "--jsonl", &path]);
    }
    // What was used stays so when it is corrected, for every count.
    let never_used = || home.run_json(&["doctor", "audit", "--user", "ada"])["never_used"].clone();
    let before = never_used();
    let id = id.as_str().expect("an id");
    let edit = ["edit", id, "--source-notes", "seen in May", "--user", "ada"];
    home.run_ok(&edit);
    assert_eq!(never_used(), before);
    let moved = home.run_json(&["call", "runs", "--user", "ada"])["moved"].clone();
    assert_eq!(moved[0]["runs"], 3, "{moved}");
    let place = home.folder().join("skills");
    let path = place.to_string_lossy().into_owned();
    let export = [
        "export", "--user", "ada", "--format", "skills", "--out", &path,
    ];
    let asked = home.run(&export);
    assert_contains!(asked.stdout, "## Round coupons once per cart.");
    assert_lacks!(asked.stdout, "gate");
    assert!(
        asked.stderr.contains("--yes") && !place.exists(),
        "{}",
        asked.stderr
    );
    home.run_ok(&[&export[..], &["--yes"]].concat());
    let file = place.join("money/SKILL.md");
    let skill = fs::read_to_string(&file).expect("a skill");
    assert!(skill.starts_with("---\nname: money\n"), "{skill}");
    fs::write(&file, "mine").expect("written");
    let kept = home.run(&[&export[..], &["--yes"]].concat());
    assert_contains!(kept.stderr, "was not changed");
    assert_eq!(fs::read_to_string(&file).expect("there"), "mine");
    // A run that was taken back helped nobody.
    home.run_ok(&["outcome", "withdraw", "run-0", "--user", "ada"]);
    let after = home.run(&export);
    assert_lacks!(after.stdout, "coupons");
}
