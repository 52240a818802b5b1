//! Published knowledge through the real binary: shown, refused, found by others, taken back.

use std::fs;
use std::path::Path;

use reprise_tests::{Finished, Postgres, finish, reprise};
use serde_json::Value;

fn run(data: &Path, arguments: &[&str]) -> Finished {
    let mut command = reprise(data).expect("reprise is built");
    command.args(["--no-model", "--json"]).args(arguments);
    finish(&mut command).expect("reprise runs")
}

fn done(data: &Path, arguments: &[&str]) -> Value {
    let finished = run(data, arguments);
    assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
    serde_json::from_str(finished.stdout.lines().next().unwrap_or("null")).expect("JSON")
}

/// The sentence of a command that did nothing.
fn refused(data: &Path, arguments: &[&str]) -> String {
    let finished = run(data, arguments);
    assert_eq!(finished.code, Some(2), "{arguments:?}: {}", finished.stdout);
    assert_eq!(finished.stdout, "", "{arguments:?}");
    finished.stderr
}

fn ingest(data: &Path, user: &str, lines: &[Value]) {
    let file = data.join("lines.jsonl");
    fs::create_dir_all(data).expect("a data directory");
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&file, lines.join("\n")).expect("lines are written");
    let path = file.to_string_lossy();
    done(
        data,
        &["ingest", "--user", user, "--verbatim", "--jsonl", &path],
    );
}

fn recall(data: &Path, user: &str, scope: &str, query: &str) -> Vec<Value> {
    let answer = done(data, &["recall", "--user", user, "--scope", scope, query]);
    answer["results"].as_array().cloned().unwrap_or_default()
}

const KEY: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn data(folder: &tempfile::TempDir) -> std::path::PathBuf {
    let data = folder.path().join("data");
    ingest(
        &data,
        "ann",
        &[
            serde_json::json!({"external_id": "tokio", "text": format!(
                "Blocking inside an async handler starves tokio. My key is {KEY}. \
                 <private>Ann's diary</private>"), "tags": ["rust"]}),
            serde_json::json!({"external_id": "salary", "text": "My salary is low",
                "tags": ["sensitive"]}),
            serde_json::json!({"external_id": "diary", "text": "Dear diary",
                "visibility": "private"}),
        ],
    );
    ingest(
        &data,
        "bob",
        &[serde_json::json!({"external_id": "1", "text": "The lift is broken"})],
    );
    data
}

#[test]
fn what_is_published_is_shown_first_found_by_others_and_taken_back() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = data(&folder);
    let shown = done(&data, &["publish", "--user", "ann", "tokio", "--dry-run"]);
    let exact = shown["exact"].as_str().expect("the bytes");
    assert!(exact.contains("starves tokio"), "{exact}");
    assert!(!exact.contains(KEY) && !exact.contains("diary"), "{exact}");
    assert!(!exact.contains("ann"), "{exact}");
    assert_eq!(shown["bytes"], exact.len());
    assert!(recall(&data, "bob", "global", "tokio").is_empty());

    let said = refused(&data, &["publish", "--user", "ann", "tokio"]);
    assert!(
        said.contains("--yes") && said.contains("--dry-run"),
        "{said}"
    );
    let published = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
    let thing = &published["published"][0];
    assert_eq!(
        (&thing["version"], &thing["bytes"]),
        (&"1".into(), &shown["bytes"])
    );
    let id = thing["id"].as_str().expect("an id").to_owned();

    let found = recall(&data, "bob", "global", "tokio handler");
    assert_eq!(found[0]["id"], id);
    assert_eq!(found[0]["scope"], "global");
    assert_eq!(
        (&found[0]["author"], &found[0]["version"]),
        (&"ann".into(), &"1".into())
    );
    assert_eq!(found[0]["quality"], 0.5);
    let both = recall(&data, "bob", "local+global", "tokio handler lift");
    let scopes: Vec<&str> = both
        .iter()
        .filter_map(|hit| hit["scope"].as_str())
        .collect();
    assert!(
        scopes.contains(&"local") && scopes.contains(&"global"),
        "{both:?}"
    );
    let local = recall(&data, "bob", "local", "tokio handler");
    assert!(local.iter().all(|hit| hit["id"] != id), "{local:?}");
    // A user who has no memory yet finds what others published.
    assert_eq!(
        recall(&data, "new", "local+global", "tokio handler")[0]["id"],
        id
    );
    let block = done(
        &data,
        &[
            "recall",
            "--user",
            "bob",
            "--scope",
            "global",
            "--budget",
            "200",
            "tokio handler",
        ],
    );
    let text = block["text"].as_str().expect("a text");
    assert!(text.contains("published by ann, version 1"), "{text}");

    // The receipt is in Ann's own log, and says nothing of the content.
    let receipt = published["receipt"].as_str().expect("a receipt");
    let receipt = done(&data, &["show", "--user", "ann", receipt]).to_string();
    assert!(
        receipt.contains(&id) && !receipt.contains("starves"),
        "{receipt}"
    );

    let again = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
    assert_eq!(again["published"][0]["id"], id);
    assert_eq!(again["published"][0]["unchanged"], true);

    let said = refused(&data, &["unpublish", "--user", "bob", &id]);
    assert!(said.contains("only its author"), "{said}");
    let gone = done(&data, &["unpublish", "--user", "ann", &id]);
    assert_eq!(
        (&gone["unpublished"], &gone["verified"]),
        (&id.as_str().into(), &true.into())
    );
    assert!(recall(&data, "bob", "global", "tokio handler").is_empty());
    let left = done(&data, &["published", "--user", "ann"]);
    assert_eq!(left["published"].as_array().map(Vec::len), Some(0));
    refused(&data, &["unpublish", "--user", "ann", &id]);
}

#[test]
fn a_corrected_record_becomes_a_new_version() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = data(&folder);
    let published = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
    let id = published["published"][0]["id"].clone();
    let corrected = "Blocking inside an async handler starves tokio; use spawn_blocking.";
    done(
        &data,
        &["edit", "--user", "ann", "tokio", "--content", corrected],
    );
    let published = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
    let thing = &published["published"][0];
    assert_eq!((&thing["id"], &thing["version"]), (&id, &"2".into()));
    let found = recall(&data, "bob", "global", "tokio handler");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["version"], "2");
}

#[test]
fn what_is_marked_stays_and_a_policy_needs_its_readers() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = data(&folder);
    for (record, word) in [
        ("salary", "sensitive"),
        ("diary", "private"),
        ("none", "no record"),
    ] {
        for yes in ["--yes", "--dry-run"] {
            let said = refused(&data, &["publish", "--user", "ann", record, yes]);
            assert!(said.contains(word), "{said}");
            // Nothing of the others leaves either.
            refused(&data, &["publish", "--user", "ann", "tokio", record, yes]);
        }
    }
    assert!(recall(&data, "bob", "global", "salary diary tokio").is_empty());
    let to_org = [
        "publish", "--user", "ann", "tokio", "--policy", "org", "--yes",
    ];
    let said = refused(&data, &to_org);
    assert!(said.contains("no organisation"), "{said}");
    let config = folder.path().join("config.toml");
    fs::write(
        &config,
        "[global.organisations]\nacme = [\"ann\", \"mia\"]\n",
    )
    .expect("written");
    let config = config.to_string_lossy().into_owned();
    let with = |arguments: &[&str]| done(&data, &[&["--config", &config], arguments].concat());
    with(&to_org);
    for (user, found) in [("mia", 1), ("bob", 0)] {
        let answer = with(&["recall", "--user", user, "--scope", "global", "tokio"]);
        let results = answer["results"].as_array().map_or(0, Vec::len);
        assert_eq!(results, found, "{user}");
    }
}

#[test]
fn a_branch_is_tried_out_by_its_author_and_merged_or_dropped() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = data(&folder);
    let branch = |user: &str, arguments: &[&str]| {
        let own = ["--user", user];
        run(&data, &[&["global", "branch"], arguments, &own].concat())
    };
    let titles = |user: &str| -> Vec<Value> {
        let asked = branch(user, &["ask", "next", "tokio handler"]);
        assert_eq!(asked.code, Some(0), "{}", asked.stderr);
        let answer: Value = serde_json::from_str(&asked.stdout).expect("JSON");
        let hits = answer["hits"].as_array().expect("hits").iter();
        hits.map(|hit| hit["record"]["title"].clone()).collect()
    };
    let publish = ["publish", "--user", "ann", "tokio", "--yes"];
    let on_branch = [&publish[..], &["--branch", "next", "--title", "Tried"]].concat();
    let said = refused(&data, &on_branch);
    assert!(said.contains("global branch add next"), "{said}");
    assert_eq!(branch("ann", &["add", "next"]).code, Some(0));
    done(&data, &on_branch);
    assert_eq!(titles("ann"), ["Tried"]);
    assert!(recall(&data, "bob", "global", "tokio handler").is_empty());
    assert!(recall(&data, "ann", "global", "tokio handler").is_empty());
    let theirs = branch("bob", &["ask", "next", "tokio handler"]);
    assert_eq!(theirs.code, Some(2), "{}", theirs.stdout);
    assert!(
        theirs.stderr.contains("you have no branch"),
        "{}",
        theirs.stderr
    );
    let merged = branch("ann", &["merge", "next"]);
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    let found = recall(&data, "bob", "global", "tokio handler");
    assert_eq!(found[0]["version"], "1");
    let seen = call(
        &data,
        "ann",
        "visibility",
        &serde_json::json!({ "id": "tokio" }),
    );
    assert_eq!(
        (&seen["published"], &seen["version"]),
        (&found[0]["id"], &"1".into())
    );

    assert_eq!(branch("ann", &["add", "next"]).code, Some(0));
    let corrected = "Blocking inside an async handler starves tokio; use spawn_blocking.";
    done(
        &data,
        &["edit", "--user", "ann", "tokio", "--content", corrected],
    );
    let drafted = done(&data, &on_branch);
    assert_eq!(drafted["published"][0]["id"], found[0]["id"]);
    assert_eq!(drafted["published"][0]["version"], "2");
    assert_eq!(branch("ann", &["drop", "next"]).code, Some(0));
    let found = recall(&data, "bob", "global", "tokio handler");
    assert_eq!((found.len(), &found[0]["version"]), (1, &"1".into()));
}

/// A power cut between the merge and its receipt leaves the memory as it was before both.
#[test]
fn a_merge_whose_answer_was_lost_leaves_its_receipt_the_next_time() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = data(&folder);
    let branch = |verb: &'static str| ["global", "branch", verb, "next", "--user", "ann"];
    done(&data, &branch("add"));
    let publish = ["publish", "--user", "ann", "tokio", "--yes"];
    done(&data, &[&publish[..], &["--branch", "next"]].concat());
    let (memory, before) = (data.join("ann/memory.rvf"), folder.path().join("before"));
    fs::copy(&memory, &before).expect("copied");
    let merged = done(&data, &branch("merge"));
    fs::copy(&before, &memory).expect("copied back");
    let again = done(&data, &branch("merge"));
    for what in ["id", "version", "bytes"] {
        let of = |answer: &Value| answer["published"][0][what].clone();
        assert_eq!(of(&again), of(&merged), "{what}");
    }
    let shown = serde_json::json!({ "id": "tokio" });
    let seen = call(&data, "ann", "visibility", &shown);
    assert_eq!(seen["published"], merged["published"][0]["id"], "{seen}");
    assert!(again["receipt"].is_string(), "{again}");
    assert_eq!(done(&data, &branch("merge")), again);
    // What was dropped was not merged.
    done(&data, &branch("add"));
    let other = [&publish[..], &["--branch", "next", "--title", "Other"]];
    done(&data, &other.concat());
    done(&data, &branch("drop"));
    let said = refused(&data, &branch("merge"));
    assert!(said.contains("you have no branch"), "{said}");
}

/// A service of published knowledge as a process; it ends with this value.
struct Service {
    process: std::process::Child,
    url: String,
}

impl Service {
    fn start(data: &Path, more: &[&str]) -> Self {
        let mut command = reprise(data).expect("reprise is built");
        command.args(["--no-model", "global", "serve", "--http", "127.0.0.1:0"]);
        let mut process = command
            .args(more)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the service starts");
        let said = process.stderr.take().expect("a pipe");
        let mut said = std::io::BufRead::lines(std::io::BufReader::new(said));
        let url = said.find_map(|line| {
            let line = line.ok()?;
            line.split_whitespace()
                .find(|word| word.starts_with("http://"))
                .map(str::to_owned)
        });
        // What it says later is nobody's concern, but somebody has to read it.
        std::thread::spawn(move || said.for_each(drop));
        Self {
            process,
            url: url.expect("it says where it listens"),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

#[test]
fn two_machines_share_a_service_and_its_end_costs_only_its_part() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = folder.path().join("server");
    let machines = [folder.path().join("ann"), folder.path().join("bob")];
    let service = Service::start(&server, &[]);
    for (data, user) in machines.iter().zip(["ann", "bob"]) {
        let token = done(&server, &["global", "token", "add", user, "--user", user]);
        let config = format!(
            "[global]\nurl = \"{}\"\ndeadline_ms = 30000\n[global.tokens]\n{user} = {}\n",
            service.url, token["token"]
        );
        fs::create_dir_all(data).expect("a data directory");
        fs::write(data.join("config.toml"), config).expect("a configuration");
    }
    let [ann, bob] = &machines;
    let with = |data: &Path, arguments: &[&str]| -> Finished {
        let config = data.join("config.toml").display().to_string();
        let mut all = vec!["--config", &config];
        all.extend(arguments);
        run(data, &all)
    };
    let json = |finished: Finished| -> Value {
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        serde_json::from_str(finished.stdout.lines().next().unwrap_or("null")).expect("JSON")
    };
    ingest(
        ann,
        "ann",
        &[serde_json::json!({"external_id": "otters", "text": "Otters hold hands asleep"})],
    );
    ingest(
        bob,
        "bob",
        &[serde_json::json!({"external_id": "own", "text": "I saw otters yesterday"})],
    );
    let published = json(with(ann, &["publish", "otters", "--user", "ann", "--yes"]));
    let id = published["published"][0]["id"].clone();
    assert!(
        !ann.join(".global").exists(),
        "nothing stays beside the service"
    );
    let ask = [
        "recall",
        "--user",
        "bob",
        "--scope",
        "local+global",
        "otters",
    ];
    let answer = json(with(bob, &ask));
    let found = |answer: &Value| -> Vec<Value> {
        let results = answer["results"].as_array().expect("results").iter();
        results.map(|hit| hit["scope"].clone()).collect()
    };
    assert!(found(&answer).contains(&Value::from("global")), "{answer}");
    let theirs = with(
        bob,
        &["unpublish", id.as_str().expect("an id"), "--user", "bob"],
    );
    assert!(
        theirs.stderr.contains("only its author"),
        "{}",
        theirs.stderr
    );
    let audit = fs::read_to_string(server.join(".global/tokens.audit.jsonl")).expect("an audit");
    assert_eq!(audit.lines().count(), 2, "{audit}");
    done_or_nothing(&server, &["global", "token", "revoke", "bob"]);
    let withdrawn = json(with(bob, &ask));
    let lacks = |answer: &Value| {
        let all = answer["degraded"].as_array().cloned();
        all.is_some_and(|all| all.contains(&Value::from("no_global")))
    };
    assert!(lacks(&withdrawn), "{withdrawn}");
    drop(service);
    let alone = json(with(bob, &ask));
    assert_eq!(found(&alone), ["local"]);
    assert!(lacks(&alone), "{alone}");
}

/// Runs a command that prints nothing where it succeeds.
fn done_or_nothing(data: &Path, arguments: &[&str]) {
    let finished = run(data, arguments);
    assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
}

/// Runs an operation of the catalogue.
fn call(data: &Path, user: &str, operation: &str, arguments: &Value) -> Value {
    let text = arguments.to_string();
    done(data, &["call", operation, &text, "--user", user])
}

fn refused_call(data: &Path, user: &str, operation: &str, arguments: &Value) -> String {
    let text = arguments.to_string();
    refused(data, &["call", operation, &text, "--user", user])
}

#[test]
fn the_operations_publish_what_was_shown_and_tell_of_newer_versions() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = data(&folder);
    let what = serde_json::json!({ "ids": ["tokio"], "title": "Tokio handlers" });
    let shown = call(&data, "ann", "publish_preview", &what);
    let shown = &shown["leaving"][0];
    let agreed = |hash: &str| {
        let mut agreed = what.clone();
        agreed["agreed"] = serde_json::json!([hash]);
        agreed
    };
    let said = refused_call(&data, "ann", "publish", &agreed(&"0".repeat(64)));
    assert!(said.contains("not what was shown"), "{said}");
    assert!(recall(&data, "bob", "global", "tokio handler").is_empty());
    let hash = shown["sha256"].as_str().expect("a hash");
    let first = call(&data, "ann", "publish", &agreed(hash));
    let id = first["published"][0]["id"].clone();
    let shown = call(&data, "ann", "publish_preview", &what);
    assert_eq!(shown["leaving"][0]["replaces"], id);

    // What a run of Bob's used is known by its version, and a newer one is told of.
    let ask = serde_json::json!({ "query": "tokio handler", "scope": "local+global" });
    let found = call(&data, "bob", "recall", &ask);
    assert_eq!(found["notes"], serde_json::json!([]));
    let hit = found["results"].as_array().expect("results").iter();
    let mut hit = hit.filter(|hit| hit["id"] == id);
    assert_eq!(hit.next().expect("it is found")["scope"], "global");
    let light = call(&data, "bob", "brief", &ask);
    let light = light["results"].as_array().expect("results").iter();
    let mut light = light.filter(|hit| hit["id"] == id);
    assert_eq!(light.next().expect("it is found")["author"], "ann");
    let outcome = serde_json::json!({ "query": "tokio", "used": [id], "quality": 0.9 });
    call(&data, "bob", "outcome", &outcome);
    let receipts = call(&data, "bob", "receipts", &serde_json::json!({}));
    let used = &receipts["receipts"][0];
    assert_eq!(
        (&used["act"], &used["version"]),
        (&"used".into(), &"1".into())
    );
    let nobody = serde_json::json!({ "query": "tokio", "used": ["01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        "quality": 0.9 });
    let said = refused_call(&data, "bob", "outcome", &nobody);
    assert!(said.contains("no record"), "{said}");
    let corrected = "Blocking inside an async handler starves tokio; use spawn_blocking.";
    done(
        &data,
        &["edit", "--user", "ann", "tokio", "--content", corrected],
    );
    let next = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
    assert_eq!(next["published"][0]["version"], "2");
    let found = call(&data, "bob", "recall", &ask);
    let note = found["notes"][0].as_str().expect("a note");
    assert!(
        note.contains("is at version 2: you have used version 1"),
        "{note}"
    );
    shown_and_narrowed(&data, &id);
}

/// Who can see a record, a published thing whole, and a filter on what others published.
fn shown_and_narrowed(data: &Path, id: &Value) {
    let seen = call(
        data,
        "ann",
        "visibility",
        &serde_json::json!({ "id": "tokio" }),
    );
    assert_eq!((&seen["published"], &seen["version"]), (id, &"2".into()));
    let seen = call(
        data,
        "ann",
        "visibility",
        &serde_json::json!({ "id": "salary" }),
    );
    let stays = |seen: &Value| -> usize {
        let ways = seen["ways"].as_array().expect("ways").iter();
        ways.filter(|way| way["stays"].is_string()).count()
    };
    assert_eq!(stays(&seen), 4);
    let whole = call(data, "bob", "get", &serde_json::json!({ "id": id }));
    assert!(
        whole["records"][0]["text"]
            .to_string()
            .contains("spawn_blocking"),
        "{whole}"
    );
    let thing = serde_json::json!({ "id": id, "version": "1" });
    let thing = call(data, "bob", "published_thing", &thing);
    assert_eq!(thing["title"], "Tokio handlers");
    // A filter narrows what others published too.
    for (tag, count) in [("rust", 1), ("python", 0)] {
        let narrow = serde_json::json!({ "query": "tokio", "scope": "global", "tag": [tag] });
        let found = call(data, "bob", "recall", &narrow);
        assert_eq!(
            found["results"].as_array().map(Vec::len),
            Some(count),
            "{tag}"
        );
    }
}

#[test]
fn nodes_before_a_database_take_an_import_and_serve_it_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Postgres::start(&["fsync=off"]).expect("a server");
    let furnish = [
        "CREATE DATABASE knowledge",
        "CREATE ROLE reprise LOGIN",
        "GRANT CREATE ON DATABASE knowledge TO reprise",
    ];
    server.sql("postgres", &furnish).expect("furnished");
    let url = server.url("reprise", "knowledge");
    let node = folder.path().join("node");
    let import = |lines: &[Value]| {
        let file = folder.path().join("things.jsonl");
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs::write(&file, lines.join("\n")).expect("lines are written");
        let file = file.to_string_lossy().into_owned();
        let import = [
            "global",
            "import",
            &file,
            "--user",
            "ann",
            "--database-url",
            &url,
        ];
        run(&node, &import)
    };
    let thing = |number: usize, title: &str| {
        serde_json::json!({ "origin": format!("o{number}"), "content_type": "document",
            "title": title, "summary": "", "content": format!("Otters of river {number}."),
            "tags": [], "access_policy": "public", "licence": "" })
    };
    let bare = import(&[thing(0, "Rivers")]);
    assert_eq!(bare.code, Some(2), "{}", bare.stdout);
    assert!(
        bare.stderr.contains("CREATE EXTENSION vector"),
        "{}",
        bare.stderr
    );
    let vector = ["CREATE EXTENSION vector"];
    server.sql("knowledge", &vector).expect("pgvector");
    let things: Vec<Value> = (0..30).map(|n| thing(n, &format!("Rivers {n}"))).collect();
    let bad = [thing(98, ""), thing(99, "a\u{7}b")];
    let first = import(&[&things[..], &bad].concat());
    assert_eq!(first.code, Some(1), "two lines are bad: {}", first.stderr);
    assert!(
        first.stdout.contains("\"published\":30"),
        "{}",
        first.stdout
    );
    assert_eq!(first.stderr.matches("was passed over").count(), 2);
    let again = import(&things);
    assert!(again.stdout.contains("\"known\":30"), "{}", again.stdout);

    // Two nodes, one file of tokens, each with the same answers; one alone goes on.
    let token = done(&node, &["global", "token", "add", "bob", "--user", "bob"]);
    let database = ["--database-url", &url];
    let nodes = [
        Service::start(&node, &database),
        Service::start(&node, &database),
    ];
    let mut answers = Vec::new();
    for (number, service) in nodes.iter().enumerate() {
        let data = folder.path().join(format!("bob{number}"));
        fs::create_dir_all(&data).expect("a data directory");
        let config = data.join("config.toml");
        let text = format!(
            "[global]\nurl = \"{}\"\ntoken = {}\ndeadline_ms = 30000\n",
            service.url, token["token"]
        );
        fs::write(&config, text).expect("a configuration");
        let config = config.to_string_lossy().into_owned();
        let ask = [
            "--config", &config, "recall", "--user", "bob", "--scope", "global", "river 7",
        ];
        let answer = done(&data, &ask);
        let ids = answer["results"].as_array().expect("results").iter();
        answers.push(ids.map(|hit| hit["id"].clone()).collect::<Vec<_>>());
    }
    assert!(!answers[0].is_empty());
    assert_eq!(answers[0], answers[1]);
}

/// Whoever finds every connection in use hears so, and when to come again; nobody waits for a
/// time-out.
#[test]
fn more_clients_than_connections_are_told_to_come_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = folder.path().join("node");
    let settings = ["fsync=off", "max_prepared_transactions=1"];
    let mut server = Postgres::start(&settings).expect("a server");
    let made = [
        "CREATE ROLE reprise LOGIN",
        "CREATE DATABASE knowledge OWNER reprise",
    ];
    server.sql("postgres", &made).expect("a database");
    let vector = ["CREATE EXTENSION vector"];
    server.sql("knowledge", &vector).expect("pgvector");
    let url = server.url("reprise", "knowledge");
    let pool = ["--database-url", &url, "--connections", "2"];
    let rates = ["--requests-per-second", "1000"];
    let service = Service::start(&node, &[&pool[..], &rates].concat());
    let token = done(&node, &["global", "token", "add", "ann", "--user", "ann"]);
    let token = token["token"].as_str().expect("a token").to_owned();
    let publish = |number: usize| {
        let (path, token) = (format!("{}/v1/publications", service.url), token.clone());
        move || {
            let thing = serde_json::json!({ "origin": format!("o{number}"), "summary": "",
                "content_type": "document", "title": format!("Otters {number}"), "tags": [],
                "content": "They hold hands.", "access_policy": "public", "licence": "" });
            let agent = ureq::Agent::config_builder().http_status_as_error(false);
            let agent: ureq::Agent = agent.build().into();
            let sent = agent
                .post(path)
                .header("authorization", format!("Bearer {token}"));
            let mut answer = sent.send(thing.to_string()).expect("it answers");
            let retry = answer.headers().get("retry-after").cloned();
            let retry = retry.map(|after| after.to_str().unwrap_or_default().to_owned());
            let said = answer.body_mut().read_to_string().expect("a body");
            (number, answer.status().as_u16(), retry, said)
        }
    };
    // It stays when its session ends: two who publish wait for it, with both connections.
    let lock = "BEGIN; LOCK TABLE reprise_global.authored IN ACCESS EXCLUSIVE MODE; \
        PREPARE TRANSACTION 'held'";
    server.sql("knowledge", &[lock]).expect("it is locked");
    let clients = 24;
    let (tell, told) = std::sync::mpsc::channel();
    for number in 0..clients {
        let (publish, tell) = (publish(number), tell.clone());
        std::thread::spawn(move || tell.send(publish()));
    }
    let mut refused = Vec::new();
    let mut hear = |(number, status, retry, said): (usize, u16, Option<String>, String)| {
        assert_eq!((status, retry.as_deref()), (429, Some("1")), "{said}");
        assert!(said.contains("every connection"), "{said}");
        refused.push(number);
    };
    told.iter().take(clients - 2).for_each(&mut hear);
    let free = ["ROLLBACK PREPARED 'held'"];
    server.sql("knowledge", &free).expect("it is free");
    for answer in told.iter().take(2) {
        if answer.1 != 200 {
            hear(answer);
        }
    }
    for number in refused {
        let (_, status, _, said) = publish(number)();
        assert_eq!(status, 200, "{said}");
    }
}
