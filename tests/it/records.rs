//! Records are what they are called: a correction holds, a name is one record, a time is the one
//! that was meant, and every way in makes the same checks.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use reprise_tests::{assert_contains, assert_fields, assert_lacks, run_git};
use reprise_types::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::home::{Home, rows};

/// Every command in a process of its own.
fn alone() -> Home {
    Home::with(&["--no-daemon"])
}

/// One with a daemon, which every command asks.
fn with_daemon() -> Home {
    let home = Home::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let woken = runtime.block_on(home.client().ensure_running());
    woken.expect("the daemon starts");
    home
}

fn fixture(name: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    format!("{root}/../../crates/reprise-knowledge/tests/fixtures/{name}")
}

/// The live records of a user, as an export has them.
fn exported(home: &Home, user: &str) -> Vec<Value> {
    rows(&home.run_ok(&["export", "--user", user]))
}

fn counts(report: &Value) -> [u64; 3] {
    ["inserted", "duplicate", "rejected"].map(|name| report[name].as_u64().unwrap_or(u64::MAX))
}

/// A database of ai-lessons with one lesson.
fn database(home: &Home) -> String {
    let file = home.folder().join("knowledge.db");
    let connection = rusqlite::Connection::open(&file).expect("a database");
    let rows = "CREATE TABLE lessons(id TEXT, title TEXT, content TEXT, confidence TEXT,
            source TEXT, source_notes TEXT, created_at TEXT, updated_at TEXT);
        CREATE TABLE edges(from_id TEXT, to_id TEXT, relation TEXT);
        CREATE TABLE lesson_tags(lesson_id TEXT, tag TEXT);
        INSERT INTO lessons VALUES('l1', 'Pool', 'Ten are enough', 'high', 'tested', NULL,
            '2026-01-01 10:00:00', '2026-01-01 10:00:00');";
    connection.execute_batch(rows).expect("rows");
    file.to_string_lossy().into_owned()
}

/// A repository with one commit.
fn repository(home: &Home) -> String {
    let folder = home.folder().join("repository");
    fs::create_dir_all(&folder).expect("a folder");
    let words = "Raise the pool to fifty";
    run_git(&folder, &["init", "-q"]);
    run_git(&folder, &["commit", "-q", "--allow-empty", "-m", words]);
    folder.to_string_lossy().into_owned()
}

/// A source of every system whose things have names, and the arguments that bring it in.
fn sources(home: &Home) -> Vec<(&'static str, Vec<String>)> {
    let graph = json!({"type":"entity","name":"Checkout","entityType":"service",
        "observations":["Checkout waits ten seconds"]});
    let graph = home.write("graph.jsonl", &graph.to_string());
    let notes = home.folder().join("notes");
    fs::create_dir_all(&notes).expect("a folder");
    fs::write(
        notes.join("pool.md"),
        "# Pool\n\nTen connections are enough.\n",
    )
    .expect("written");
    let other = home.write(
        "other.jsonl",
        r#"{"external_id":"o","text":"Deploy on Mondays"}"#,
    );
    home.run_ok(&["ingest", &other, "--user", "other"]);
    let export = home.path("other-export.jsonl");
    home.run_ok(&["export", "--user", "other", "--out", &export, "--force"]);
    let lines = home.write(
        "lines.jsonl",
        r#"{"external_id":"a","text":"Deploy on Tuesdays"}"#,
    );
    let lessons = database(home);
    let commits = repository(home);
    let import = |path: &str, kind: &str| ["import", path, "--from", kind].map(str::to_owned);
    vec![
        ("ingest", vec!["ingest".to_owned(), lines]),
        (
            "sunwell",
            import(&fixture("sunwell_legacy"), "sunwell").into(),
        ),
        (
            "frames",
            import(&fixture("ralph_memory.jsonl"), "frames").into(),
        ),
        ("mem0", import(&fixture("mem0/get_all.json"), "mem0").into()),
        ("server-memory", import(&graph, "server-memory").into()),
        ("ai-lessons", import(&lessons, "ai-lessons").into()),
        ("git", import(&commits, "git").into()),
        (
            "markdown",
            import(&notes.to_string_lossy(), "markdown").into(),
        ),
        ("reprise", import(&export, "reprise").into()),
    ]
}

fn run(home: &Home, arguments: &[String], user: &str) -> Value {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = home.run(&[&["--json"], &arguments[..], &["--user", user]].concat());
    let last = done.stdout.lines().last().unwrap_or_default();
    let report = serde_json::from_str(last);
    assert!(report.is_ok(), "{arguments:?}: {done:?}");
    report.expect("it is JSON")
}

#[test]
fn a_correction_stands_wherever_the_record_came_from_and_wherever_it_goes() {
    let home = alone();
    for (from, source) in sources(&home) {
        // Not empty, so that an export of our own comes in record by record.
        let first = home.write("first.jsonl", r#"{"text":"Already here"}"#);
        home.run_ok(&["ingest", &first, "--user", from]);
        run(&home, &source, from);
        let old = exported(&home, from);
        let old = old.last().expect("something came in").clone();
        let (id, said) = (old["id"].as_str().unwrap(), old["text"].as_str().unwrap());
        let new = "The truth is that it was otherwise";
        let edited = home.run_json(&["edit", id, "--text", new, "--user", from]);
        assert_ne!(
            edited["id"], id,
            "{from}: the correction is a version of its own"
        );
        let corrected = |user: &str| {
            let mut records = exported(&home, user).into_iter();
            let says = |record: &Value| record["text"].as_str().is_some_and(|t| t.contains(new));
            let found = records.find(says);
            found.unwrap_or_else(|| panic!("{from}: no correction in {user}"))
        };
        let now = corrected(from);
        assert_eq!(now["external_id"], old["external_id"], "{from}");
        assert_eq!(now["external_ids"], old["external_ids"], "{from}");
        assert!(!home.texts(from).iter().any(|text| text == said), "{from}");
        // What is there is there, under the name it always had.
        let again = run(&home, &source, from);
        assert_eq!(counts(&again)[0], 0, "{from}: {again}");
        let name = old["external_id"].as_str().expect("a name");
        let shown = home.run_json(&["show", name, "--user", from]);
        let shown = shown["records"][0]["text"].as_str().expect("a text");
        assert!(shown.contains(new), "{from}: {shown}");
        // Every form of some, and of the others the whole one.
        let all = [
            "jsonl",
            "sunwell",
            "ai-lessons",
            "frames",
            "markdown",
            "rvf",
        ];
        let is_sample = ["ingest", "sunwell", "ai-lessons"].contains(&from);
        for form in &all[..if is_sample { all.len() } else { 1 }] {
            let user = format!("{from}-{form}");
            let out = home.path(&user);
            home.run_ok(&["export", "--user", from, "--format", form, "--out", &out]);
            home.run_ok(&["import", &out, "--user", &user]);
            let here = home.texts(&user).len();
            corrected(&user);
            let again = run(&home, &source, &user);
            assert_eq!(counts(&again)[0], 0, "{from} by {form}: {again}");
            assert_eq!(home.texts(&user).len(), here, "{from} by {form}");
            assert!(
                !home.texts(&user).iter().any(|text| text == said),
                "{from} by {form}: the old text is back"
            );
        }
    }
}

#[test]
fn the_typed_parts_of_a_record_say_what_its_corrected_text_says() {
    let home = alone();
    let tree = fixture("sunwell_legacy");
    home.run(&["import", &tree, "--user", "ada", "--from", "sunwell"]);
    let decisions: Vec<Value> = exported(&home, "ada")
        .into_iter()
        .filter(|record| record["details"]["type"] == "decision")
        .collect();
    let id = decisions[0]["id"].as_str().expect("a decision");
    home.run_ok(&["edit", id, "--text", "Keep it in SQLite", "--user", "ada"]);
    let out = home.path("sunwell");
    home.run_ok(&[
        "export", "--user", "ada", "--format", "sunwell", "--out", &out,
    ]);
    let file = home
        .folder()
        .join("sunwell/.sunwell/memory/decisions.jsonl");
    let written = fs::read_to_string(file).expect("decisions are written");
    assert_contains!(written, r#""decision":"Keep it in SQLite""#);
    home.run_ok(&["learn", "--title", "Pool", "--text", "Ten", "--user", "eve"]);
    let id = exported(&home, "eve")[0]["id"].as_str().unwrap().to_owned();
    let change = json!({"id": id, "text": "Twenty"}).to_string();
    home.run_ok(&["call", "revise", &change, "--user", "eve"]);
    assert_eq!(exported(&home, "eve")[0]["details"]["content"], "Twenty");
    let refused = home.run(&["edit", "none", "--title", "T", "--user", "eve"]);
    assert_ne!(refused.code, Some(0));
}

#[test]
fn a_correction_is_shown_with_the_day_it_was_made() {
    let home = alone();
    let line =
        r#"{"external_id":"a","text":"The port is 8080","timestamp":"2024-05-06T07:08:09Z"}"#;
    let file = home.write("lines.jsonl", line);
    home.run_ok(&["ingest", &file, "--user", "ada"]);
    home.run_ok(&["edit", "a", "--text", "The port is 9090", "--user", "ada"]);
    let made = exported(&home, "ada")[0]["known_at"].as_str().unwrap()[..10].to_owned();
    let found = home.run_json(&["recall", "which port", "--user", "ada"]);
    let hit = &found["results"][0];
    assert!(hit["timestamp"].as_str().unwrap().starts_with("2024-05-06"));
    assert_eq!(
        hit["corrected_at"].as_str().map(|at| &at[..10]),
        Some(&*made),
        "{hit}"
    );
    for command in [&["recall", "which port"][..], &["list"], &["show", "a"]] {
        let said = home.run_ok(&[command, &["--user", "ada"]].concat());
        assert!(
            said.contains(&format!("corrected on {made}")),
            "{command:?}: {said}"
        );
    }
}

#[test]
fn no_way_in_takes_a_receipt_that_a_caller_wrote() {
    for home in [alone(), with_daemon()] {
        let daemon = home.daemon().is_some();
        let line = r#"{"text":"published","tags":["Receipt:Global"],"external_id":"r"}"#;
        let file = home.write("lines.jsonl", line);
        let own = [&["ingest", &file][..], &["ingest", &file, "--verbatim"]];
        for arguments in own {
            let refused = home.run(&[arguments, &["--user", "ada"]].concat());
            assert_eq!(refused.code, Some(1), "{daemon} {arguments:?}: {refused:?}");
            assert_contains!(refused.stderr, "use another tag");
        }
        let lesson = json!({"type":"entity","name":"x","entityType":"t","observations":["o"]});
        let graph = home.write("graph.jsonl", &lesson.to_string());
        home.run_ok(&["import", &graph, "--from", "server-memory", "--user", "ada"]);
        let frame = json!({"id":"f","content":"c","frame_type":"x","tags":["receipt:global"],
            "metadata":{},"timestamp":"2026-01-01T00:00:00Z"});
        let frames = home.write("frames.jsonl", &frame.to_string());
        let refused = home.run(&[
            "import", &frames, "--from", "frames", "--user", "ada", "--json",
        ]);
        let report: Value = serde_json::from_str(&refused.stdout).expect("a report");
        assert_eq!(counts(&report), [0, 0, 1], "{report}");
    }
}

/// Where the sun rises early, late, and where it is not changed.
const ZONES: [(&str, i64); 3] = [("UTC", 0), ("America/Los_Angeles", -8), ("Asia/Tokyo", 9)];

#[test]
fn a_time_without_a_zone_is_the_users_wherever_it_is_given() {
    for (zone, hours) in ZONES {
        let home = alone();
        let run = |arguments: &[&str]| {
            let mut command = home.command(&[arguments, &["--user", "ada"]].concat());
            let done = reprise_tests::run_to_end(command.env("TZ", zone)).expect("reprise runs");
            assert_eq!(done.code, Some(0), "{zone} {arguments:?}: {}", done.stderr);
            done.stdout
        };
        let instant = |day: u32, hour: i64| {
            let at = chrono::NaiveDate::from_ymd_opt(2026, 11, day).unwrap();
            let at = at.and_hms_opt(0, 0, 0).unwrap() + chrono::TimeDelta::hours(hour - hours);
            at.and_utc()
        };
        let frame = json!({"id":"f","content":"a frame","frame_type":"x","tags":[],
            "metadata":{},"timestamp":"2026-11-20T12:00:00"});
        let lines = [
            json!({"external_id":"day","text":"a day","timestamp":"2026-11-20"}),
            json!({"external_id":"noon","text":"a noon","timestamp":"2026-11-20 12:00:00"}),
            json!({"external_id":"short","text":"no seconds","timestamp":"2026-11-20 12:00"}),
            json!({"external_id":"date","text":"a date","date":"2026-11-20"}),
            json!({"external_id":"made","text":"made","created_at":"2026-11-20T12:00:00"}),
            json!({"external_id":"number","text":"a number","ts":instant(20, 12).timestamp()}),
            json!({"external_id":"zulu","text":"a zone","time":"2026-11-20T12:00:00Z"}),
        ];
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        let file = home.write("lines.jsonl", &lines.join("\n"));
        run(&["ingest", &file]);
        let frames = home.write("frames.jsonl", &frame.to_string());
        run(&["import", &frames, "--from", "frames"]);
        let kept = rows(&run(&["export"]));
        for (text, at) in [
            ("a day", instant(20, 0)),
            ("a noon", instant(20, 12)),
            ("no seconds", instant(20, 12)),
            ("a date", instant(20, 0)),
            ("made", instant(20, 12)),
            ("a number", instant(20, 12)),
            ("a zone", instant(20, 12 + hours)),
            ("a frame", instant(20, 12)),
        ] {
            let record = kept.iter().find(|one| one["text"] == text).expect(text);
            let written: chrono::DateTime<chrono::Utc> =
                record["timestamp"].as_str().unwrap().parse().unwrap();
            assert_eq!(written, at, "{zone}: {text}");
        }
        // The whole of that day, and nothing of it on the days next to it.
        for (day, expected) in [("2026-11-19", 0), ("2026-11-20", 1), ("2026-11-21", 0)] {
            let listed = run(&["list", "--since", day, "--until", day, "--json"]);
            let found = listed.matches("\"a noon\"").count();
            assert_eq!(found, expected, "{zone} {day}: {listed}");
        }
        assert!(run(&["list"]).contains("2026-11-20, Friday"), "{zone}");
        let first = instant(20, 12) - chrono::TimeDelta::seconds(1);
        for (at, expected) in [("2026-11-20 12:00:00", true), (&*first.to_rfc3339(), false)] {
            let found = run(&["list", "--until", at, "--json"]);
            assert_eq!(
                found.contains("\"a noon\""),
                expected,
                "{zone} {at}: {found}"
            );
        }
        // The same of ralph's frames, by when they were and by when they were known.
        let second = instant(20, 12) - chrono::TimeDelta::seconds(1);
        for (asked, expected) in [
            (json!({"since": "2026-11-20", "until": "2026-11-20"}), 1),
            (json!({"since": "2026-11-21"}), 0),
            (json!({"until": "2026-11-19"}), 0),
            (json!({"known_at": "2026-11-20 12:00:00"}), 1),
            (json!({"known_at": second}), 0),
        ] {
            let found = run(&["call", "observations", &asked.to_string()]);
            let found: Value = serde_json::from_str(&found).expect("JSON");
            assert_eq!(found["total_count"], expected, "{zone}: {asked}");
        }
        // What a branch knew by the end of a day is not what it knew the day before.
        let today = SystemClock.now() + chrono::TimeDelta::hours(hours);
        let today = today.format("%Y-%m-%d").to_string();
        let made = run(&["branch", "fork", "today", "--as-of", &today, "--json"]);
        assert!(made.contains("\"records\":8"), "{zone}: {made}");
    }
}

#[test]
fn fields_that_nobody_reads_are_named() {
    let home = alone();
    let lines = [
        json!({"text":"one","speaker":"Ada","mood":"calm","date":"soon"}),
        json!({"text":"two","mood":"calm","weather":"fine"}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let file = home.write("lines.jsonl", &lines.join("\n"));
    let done = home.run(&["ingest", &file, "--user", "ada"]).expect_code(0);
    let said: Vec<&str> = done
        .stderr
        .lines()
        .filter(|line| line.contains("mood"))
        .collect();
    assert_eq!(said.len(), 1, "{}", done.stderr);
    for name in ["mood", "date", "weather"] {
        assert!(said[0].contains(name), "{}", done.stderr);
    }
    assert!(!said[0].contains("speaker"), "{}", done.stderr);
    assert_eq!(exported(&home, "ada")[0]["metadata"]["mood"], "calm");
}

#[test]
fn what_was_ingested_and_is_learned_is_one_record() {
    for home in [alone(), with_daemon()] {
        let text = "The staging database is restored every night";
        let line = json!({ "text": text }).to_string();
        let file = home.write("lines.jsonl", &line);
        home.run_ok(&["ingest", &file, "--user", "ada"]);
        let learned = home.run_json(&["learn", text, "--user", "ada"]);
        assert_eq!(learned["outcome"], "duplicate", "{learned}");
        assert_eq!(learned["id"], exported(&home, "ada")[0]["id"]);
        assert_eq!(home.texts("ada").len(), 1);
        // Capitals that begin words, spaces and closing marks say nothing more; all else does.
        let spoken = "the staging  database is restored every Night.";
        let again = home.run_json(&["learn", spoken, "--user", "ada"]);
        assert_fields!(again, "outcome": "duplicate", "id": learned["id"]);
        for other in [
            "The staging database is restored every night?",
            "The STAGING database is restored every night",
            "The staging database is restored",
        ] {
            let more = home.run_json(&["learn", other, "--user", "ada"]);
            assert_eq!(more["outcome"], "inserted", "{other}");
        }
        // And the other way round.
        home.run_json(&["learn", text, "--user", "eve"]);
        let report = run(&home, &["ingest".to_owned(), file], "eve");
        assert_eq!(counts(&report), [0, 1, 0]);
        assert_eq!(home.texts("eve").len(), 1);
    }
}

#[test]
fn a_changed_line_is_told_and_replaces_what_is_there_where_that_is_asked_for() {
    for home in [alone(), with_daemon()] {
        let line = |text: &str| json!({"external_id":"a","text":text}).to_string();
        let one = home.write("one.jsonl", &line("Deploy on Tuesdays"));
        let two = home.write("two.jsonl", &line("Deploy on Wednesdays"));
        home.run_ok(&["ingest", &one, "--user", "ada"]);
        let same = home.run(&["ingest", &one, "--user", "ada"]);
        assert_lacks!(same.stderr, "changed");
        let told = home.run(&["ingest", &two, "--user", "ada"]).expect_code(0);
        assert_contains!(
            told.stderr,
            "changed, but not replaced; use `reprise edit` or `--update`"
        );
        assert_eq!(home.texts("ada"), ["Deploy on Tuesdays"]);
        let update = ["ingest", &two, "--update"].map(str::to_owned);
        assert_eq!(counts(&run(&home, &update, "ada")), [1, 0, 0]);
        assert_eq!(home.texts("ada"), ["Deploy on Wednesdays"]);
        // What it said once is no news: a correction holds.
        let back = ["ingest", &one, "--update"].map(str::to_owned);
        assert_eq!(counts(&run(&home, &back, "ada")), [0, 1, 0]);
        assert_eq!(home.texts("ada"), ["Deploy on Wednesdays"]);
        let frame = |content: &str| {
            json!({"id":"f","content":content,"frame_type":"x","tags":[],"metadata":{},
                "timestamp":"2026-01-01T00:00:00Z"})
            .to_string()
        };
        let frames = home.write("frames.jsonl", &frame("as it was"));
        let import = ["import", &frames, "--from", "frames"].map(str::to_owned);
        run(&home, &import, "eve");
        home.write("frames.jsonl", &frame("as it is"));
        let told = run(&home, &import, "eve");
        let why = told["lines"][0]["why"].as_str().unwrap_or_default();
        assert!(why.contains("changed, but not replaced"), "{told}");
        assert_eq!(counts(&told), [0, 1, 0]);
        let update = [&import[..], &["--update".to_owned()]].concat();
        assert_eq!(counts(&run(&home, &update, "eve")), [1, 0, 0]);
        assert_eq!(home.texts("eve"), ["as it is"]);
    }
}

#[test]
fn a_memory_that_comes_again_tells_of_what_was_corrected_since() {
    let home = alone();
    home.run_ok(&["learn", "Ten connections", "--user", "ada"]);
    home.run_ok(&["learn", "Something else", "--user", "eve"]);
    let out = home.path("ada.jsonl");
    let import = ["import", &out, "--update"].map(str::to_owned);
    for (text, before) in [("Ten", ""), ("Twenty", "Ten"), ("Thirty", "Twenty")] {
        if !before.is_empty() {
            // Twice: what came in first is known by an id of two versions before.
            for text in ["In between", text] {
                let id = exported(&home, "ada")[0]["id"].as_str().unwrap().to_owned();
                let text = format!("{text} connections");
                home.run_ok(&["edit", &id, "--text", &text, "--user", "ada"]);
            }
        }
        home.run_ok(&["export", "--user", "ada", "--out", &out, "--force"]);
        if !before.is_empty() {
            let told = run(&home, &import[..2], "eve");
            assert_eq!(counts(&told), [0, 1, 0], "{text}: {told}");
            let why = told["lines"][0]["why"].as_str().unwrap_or_default();
            assert!(why.contains("changed, but not replaced"), "{text}: {told}");
        }
        assert_eq!(counts(&run(&home, &import, "eve")), [1, 0, 0], "{text}");
        let (here, wanted) = (home.texts("eve"), format!("{text} connections"));
        assert!(
            here.len() == 2 && here.contains(&wanted),
            "{text}: {here:?}"
        );
    }
}

#[test]
fn a_dash_is_standard_input() {
    let home = alone();
    for (arguments, text) in [
        (&["learn", "-"][..], "Money is in cents"),
        (
            &["learn", "--title", "Money", "--text", "-"],
            "Money is in euros",
        ),
    ] {
        let mut command = home.command(&[arguments, &["--user", "ada"]].concat());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("reprise runs");
        let mut input = child.stdin.take().expect("a pipe");
        writeln!(input, "{text}").expect("it reads");
        drop(input);
        assert!(child.wait().expect("it ends").success());
        let kept = home.texts("ada");
        assert!(kept.iter().any(|kept| kept.contains(text)), "{kept:?}");
    }
    home.run(&["learn", "-", "--user", "ada"]).expect_code(2);
}

#[test]
fn a_reader_that_has_gone_is_no_damage() {
    let home = alone();
    for user in ["ada", "bob", "eve"] {
        home.run_ok(&["learn", "a thing that is known", "--user", user]);
    }
    let to = home.folder().join("backups");
    let mut command = home.command(&["backup", "--all", &to.to_string_lossy()]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let done = command.stdout(writer).output().expect("reprise runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_lacks!(said, "salvaged", "can be read");
    let names: Vec<String> = fs::read_dir(&to)
        .expect("the folder is there")
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        names.iter().all(|name| !name.contains("salvaged")),
        "{names:?}"
    );
    for user in ["ada", "bob", "eve"] {
        assert!(names.contains(&format!("{user}.rvf")), "{names:?}");
    }
}
