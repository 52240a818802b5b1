//! The wall around a running daemon: marked texts and vectors are in a memory, every way
//! out is walked at random, and none of the marks is found where others could read it.
//!
//! Looked through: what strangers are answered, every byte to and from the service of published
//! knowledge, its files, logs, metrics, traces, the page without a session, exports, and what the
//! owner is told where no text was asked for. `REPRISE_WALL` is the number of operations.

mod house;
mod marks;
mod rows;
mod walk;
mod wire;

use std::fs;
use std::path::Path;

use reprise_tests::run_to_end;
use serde_json::json;

use house::{WallHouse, Who};
use marks::{Marks, NUMBERED, TYPED};
use walk::Walk;

/// Operations of the suite; the full walk is 10,000.
const OPERATIONS: usize = 400;

#[test]
fn nothing_that_is_marked_is_found_outside() {
    let wanted = std::env::var("REPRISE_WALL").ok();
    let operations = wanted.map_or(OPERATIONS, |n| n.parse().expect("a number"));
    let house = WallHouse::start();
    let mut walk = Walk::new(&house);
    walk.plant();
    walk.publish();
    for _ in 0..operations {
        walk.step();
    }
    // The owner sees his marks, and the wire sees what was published: else nothing was looked at.
    assert!(
        walk.seen_by_owner > operations / 200,
        "{}",
        walk.seen_by_owner
    );
    assert!(walk.refused > 0 && walk.published > 0, "{walk:?}");
    let wire = house.to_service.bytes_seen();
    assert!(String::from_utf8_lossy(&wire).contains("hold hands asleep"));

    let marks = Marks::all();
    let absent = |place: &str, bytes: &[u8]| {
        assert_eq!(marks.find(bytes), None, "a mark in {place}");
    };
    absent("the wire to the service", &wire);
    absent(
        "what strangers were answered",
        &house.strangers.bytes_seen(),
    );
    for (method, path) in house.service_routes() {
        let (_, answer) = house.ask_service(&method, &path);
        absent(&path, &answer);
    }
    for path in WallHouse::page_routes() {
        absent(&path, &house.page(&path));
    }
    let (status, metrics) = house.ask(Who::Owner, "GET", "/metrics", None);
    assert_eq!(status, 200);
    absent("the metrics", &metrics);
    walk.plant();
    let exports = [
        &["export", "--user", "ann", "--format", "json"][..],
        &["export", "--user", "ann", "--format", "yaml"],
        &["export", "--user", "ann", "--format", "jsonl"],
    ];
    for export in exports {
        let finished = run_to_end(&mut house.command(export)).expect("reprise runs");
        assert_eq!(finished.code, Some(0), "{export:?}: {}", finished.stderr);
        assert!(
            marks.find(finished.stdout.as_bytes()).is_some(),
            "{export:?}"
        );
        // Of what was planted last: its owner may have taken the mark off earlier ones.
        let round = format!("(round {})", walk.rounds);
        let last = finished.stdout.lines().filter(|line| line.contains(&round));
        for line in last {
            assert_eq!(Marks::sensitive().find(line.as_bytes()), None, "{export:?}");
        }
        absent(
            "what an export prints to stderr",
            finished.stderr.as_bytes(),
        );
    }
    let store = house.store();
    let told = house.end();
    assert!(told.traces.contains("search_memory"), "{}", told.traces);
    assert!(told.log.contains("reprise"), "{}", told.log);
    absent("a trace", told.traces.as_bytes());
    absent("a log", told.log.as_bytes());
    absent("the log of the service", told.service_log.as_bytes());
    for (name, bytes) in files(&store) {
        absent(&name, &bytes);
    }
}

/// Of 200 different marks, secrets, private parts, sensitive records, tags, ids, in questions and
/// in every argument of every operation, none is in a byte to the service or to the collector.
#[test]
fn of_two_hundred_marks_that_were_not_published_none_leaves() {
    let house = WallHouse::start();
    let mut walk = Walk::new(&house);
    walk.plant();
    walk.plant_numbered();
    while walk.typed.is_none_or(|typed| typed < 3 * TYPED) {
        walk.every_route_with_marks();
    }
    assert!(walk.published > 5, "{walk:?}");
    for number in 0..5 {
        let query = format!("what of {} do otters say", marks::typed(number));
        let asked = json!({ "query": query, "scope": "global" });
        let (status, said) = house.ask(Who::Owner, "POST", "/v1/users/ann/recall", Some(&asked));
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&said));
    }
    let wire = house.to_service.bytes_seen();
    let left = marks::numbers_in(&wire);
    assert!(
        left.is_empty(),
        "{} of {NUMBERED} marks left: {left:?}",
        left.len()
    );
    // Questions were asked with marks in them: the places of these are on the wire.
    let sent = String::from_utf8_lossy(&wire);
    for taken_out in ["github_token", "aws_key", "assigned", "url_password"] {
        let place = format!("[redacted:{taken_out}]");
        let asked = asked_on(&sent);
        assert!(
            sent.contains(&place),
            "no question with {taken_out}:\n{asked}"
        );
    }
    let store = house.store();
    let told = house.end();
    assert!(told.traces.contains("search_memory"), "{}", told.traces);
    for (place, bytes) in [
        ("the wire to the service", wire.as_slice()),
        ("a trace", told.traces.as_bytes()),
        ("the log of the service", told.service_log.as_bytes()),
    ] {
        let left = marks::numbers_in(bytes);
        assert!(
            left.is_empty(),
            "{} of {NUMBERED} marks in {place}: {left:?}",
            left.len()
        );
        assert_eq!(Marks::all().find(bytes), None, "a mark in {place}");
    }
    for (name, bytes) in files(&store) {
        assert_eq!(Marks::all().find(&bytes), None, "a mark in {name}");
    }
}

/// The questions on a wire.
fn asked_on(sent: &str) -> String {
    let questions = sent.split("\"text\":").skip(1);
    let questions = questions.map(|rest| rest.split("\"top_k\"").next().unwrap_or_default());
    questions.collect::<Vec<_>>().join("\n")
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = fs::read(&path).expect("a file");
            found.push((path.display().to_string(), bytes));
        }
    }
    assert!(!found.is_empty(), "{}", json!(folder));
    found
}
