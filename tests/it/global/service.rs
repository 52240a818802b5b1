//! The service of published knowledge as a process: two machines before one, two before a database,
//! and more clients than connections.

use std::fs;
use std::path::Path;

use reprise_tests::{Postgres, RunOutput, assert_contains, reprise_command, seen_if, wait_for};
use serde_json::Value;

use super::teams::ask;
use super::{ingest, run, run_json};

/// A service of published knowledge as a process; it ends with this value.
pub(super) struct Service {
    process: std::process::Child,
    pub(super) url: String,
    /// What it said before it listened.
    first: String,
}

impl Service {
    pub(super) fn start(data: &Path, more: &[&str]) -> Self {
        Self::start_hearing(data, more, |_| {})
    }

    /// Starts a service, and hands over each line that it says before it listens.
    fn start_hearing(data: &Path, more: &[&str], mut hear: impl FnMut(&str)) -> Self {
        let mut command = reprise_command(data).expect("reprise is built");
        command.args(["--no-model", "global", "serve", "--http", "127.0.0.1:0"]);
        let mut process = command
            .args(more)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the service starts");
        let said = process.stderr.take().expect("a pipe");
        let mut said = std::io::BufRead::lines(std::io::BufReader::new(said));
        let mut first = String::new();
        let url = said.find_map(|line| {
            let line = line.ok()?;
            hear(&line);
            first.push_str(&line);
            line.split_whitespace()
                .find(|word| word.starts_with("http://"))
                .map(str::to_owned)
        });
        // What it says later is nobody's concern, but somebody has to read it.
        std::thread::spawn(move || said.for_each(drop));
        Self {
            process,
            url: url.expect("it says where it listens"),
            first,
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// A server with an empty database in which the service may make its tables, and its address.
pub(super) fn furnished(settings: &[&str]) -> (Postgres, String) {
    let mut server = Postgres::start(&[&["fsync=off"][..], settings].concat()).expect("a server");
    let made = [
        "CREATE ROLE reprise LOGIN CREATEROLE",
        "CREATE DATABASE knowledge OWNER reprise",
    ];
    server.run_sql("postgres", &made).expect("a database");
    let vector = ["CREATE EXTENSION vector"];
    server.run_sql("knowledge", &vector).expect("pgvector");
    let url = server.url("reprise", "knowledge");
    (server, url)
}

#[test]
fn a_service_waits_for_its_database_and_says_503_while_it_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = folder.path().join("node");
    let (mut server, url) = furnished(&[]);
    let database = ["--database-url", &url];
    server.kill().expect("it ends");
    let mut has_waited = false;
    let service = Service::start_hearing(&node, &database, |line| {
        has_waited |= line.contains("waiting for the database");
    });
    assert!(has_waited, "{}", service.first);
    // It listens all the same: to start it anew would help nobody.
    let status = |path: &str| ask(&service.url, "GET", path, "", None).status;
    assert_eq!(status("/health/live"), 200);
    assert_eq!(status("/health/ready"), 503);
    server.restart().expect("it starts");
    let add = ["global", "token", "add", "ann", "--user", "ann"];
    let token = run_json(&node, &[&add[..], &database].concat());
    let token = token["token"].as_str().expect("a token");
    let ready = || ask(&service.url, "GET", "/health/ready", "", None).status;
    let question = serde_json::json!({ "text": "otters", "top_k": 3 });
    let asked = || ask(&service.url, "POST", "/v1/query", token, Some(&question)).status;
    // What is said of readiness holds for a second, and a connection that died is found out by use.
    let comes_to_say = |wanted: u16| {
        wait_for("what the service says of itself and answers", || {
            let both = (ready(), asked());
            seen_if(both == (wanted, wanted), both)
        })
    };
    comes_to_say(200);
    server.kill().expect("it ends");
    comes_to_say(503);
    let alive = ask(&service.url, "GET", "/health/live", "", None).status;
    assert_eq!(alive, 200, "to start it anew would help nobody");
    server.restart().expect("it starts");
    comes_to_say(200);
}

#[test]
fn a_service_waits_for_a_database_that_its_server_does_not_have_yet() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut server, url) = furnished(&[]);
    let away = ["ALTER DATABASE knowledge RENAME TO elsewhere"];
    let back = ["ALTER DATABASE elsewhere RENAME TO knowledge"];
    server.run_sql("postgres", &away).expect("it is elsewhere");
    let node = folder.path().join("node");
    let service = Service::start_hearing(&node, &["--database-url", &url], |line| {
        if line.contains("waiting for the database") {
            server.run_sql("postgres", &back).expect("it is back");
        }
    });
    let first = &service.first;
    assert_contains!(first, "has no database `knowledge`");
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "two machines, their tokens and the end of the service are one story"
)]
fn two_machines_share_a_service_and_its_end_costs_only_its_part() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = folder.path().join("server");
    let machines = [folder.path().join("ann"), folder.path().join("bob")];
    let service = Service::start(&server, &[]);
    let hint = "reprise global token add";
    assert_contains!(service.first, hint);
    for (data, user) in machines.iter().zip(["ann", "bob"]) {
        let token = run_json(&server, &["global", "token", "add", user, "--user", user]);
        let config = format!(
            "[global]\nurl = \"{}\"\ndeadline_ms = 30000\n[global.tokens]\n{user} = {}\n",
            service.url, token["token"]
        );
        fs::create_dir_all(data).expect("a data directory");
        fs::write(data.join("config.toml"), config).expect("a configuration");
    }
    let [ann, bob] = &machines;
    let with = |data: &Path, arguments: &[&str]| -> RunOutput {
        let config = data.join("config.toml").display().to_string();
        let mut all = vec!["--config", &config];
        all.extend(arguments);
        run(data, &all)
    };
    let json = |finished: RunOutput| -> Value {
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
    let published = json(with(
        ann,
        &["share", "publish", "otters", "--user", "ann", "--yes"],
    ));
    let id = published["published"][0]["id"].clone();
    assert!(
        !ann.join(".global").exists(),
        "nothing stays next to the service"
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
        &[
            "share",
            "unpublish",
            id.as_str().expect("an id"),
            "--user",
            "bob",
        ],
    );
    assert_contains!(theirs.stderr, "only its author");
    let audit = fs::read_to_string(server.join(".global/tokens.audit.jsonl")).expect("an audit");
    assert_eq!(audit.lines().count(), 2, "{audit}");
    done_or_nothing(&server, &["global", "token", "revoke", "bob"]);
    let tells = |answer: &Value, what: &str| answer["notes"].to_string().contains(what);
    let withdrawn = json(with(bob, &ask));
    let lacks = |answer: &Value| {
        let all = answer["degraded"].as_array().cloned();
        all.is_some_and(|all| all.contains(&Value::from("no_global")))
    };
    assert!(lacks(&withdrawn), "{withdrawn}");
    assert!(tells(&withdrawn, "refused the token"), "{withdrawn}");

    // Eve has no token: her own memory answers, in any scope.
    let note = serde_json::json!({"external_id": "own", "text": "Otters are mine"});
    ingest(bob, "eve", &[note]);
    let eve = [
        "recall",
        "--user",
        "eve",
        "--scope",
        "local+global",
        "otters",
    ];
    let hers = json(with(bob, &eve));
    assert_eq!(found(&hers), ["local"]);
    assert!(lacks(&hers) && tells(&hers, "no token of `eve`"), "{hers}");
    let config = bob.join("config.toml");
    let text = fs::read_to_string(&config).expect("a configuration");
    let both = text.replace("[global]\n", "[global]\nscope = \"local+global\"\n");
    fs::write(&config, both).expect("a configuration");
    let hers = json(with(bob, &["recall", "--user", "eve", "otters"]));
    assert!(lacks(&hers) && tells(&hers, "no token of `eve`"), "{hers}");
    let alone = with(
        bob,
        &["recall", "--user", "eve", "--scope", "global", "otters"],
    )
    .expect_code(2);
    assert_contains!(alone.stderr, "no token of `eve`");
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

#[test]
fn nodes_before_a_database_take_an_import_and_serve_it_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Postgres::start(&["fsync=off"]).expect("a server");
    let furnish = [
        "CREATE DATABASE knowledge",
        "CREATE ROLE reprise LOGIN CREATEROLE",
        "GRANT CREATE ON DATABASE knowledge TO reprise",
    ];
    server.run_sql("postgres", &furnish).expect("furnished");
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
    let bare = import(&[thing(0, "Rivers")]).expect_code(2);
    assert_contains!(bare.stderr, "CREATE EXTENSION vector");
    let vector = ["CREATE EXTENSION vector"];
    server.run_sql("knowledge", &vector).expect("pgvector");
    let things: Vec<Value> = (0..30).map(|n| thing(n, &format!("Rivers {n}"))).collect();
    let bad = [thing(98, ""), thing(99, "a\u{7}b")];
    let first = import(&[&things[..], &bad].concat()).expect_code(1);
    assert_contains!(first.stdout, "\"published\":30");
    assert_eq!(first.stderr.matches("skipped line").count(), 2);
    let again = import(&things);
    assert_contains!(again.stdout, "\"known\":30");

    // Two nodes, one file of tokens, each with the same answers; one alone goes on.
    let token = run_json(&node, &["global", "token", "add", "bob", "--user", "bob"]);
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
        let answer = run_json(&data, &ask);
        let ids = answer["results"].as_array().expect("results").iter();
        answers.push(ids.map(|hit| hit["id"].clone()).collect::<Vec<_>>());
    }
    assert!(!answers[0].is_empty());
    assert_eq!(answers[0], answers[1]);
}

/// A request that finds every connection in use is told so, and when to come again; nobody waits
/// for a time-out.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test is the client")]
fn more_clients_than_connections_are_told_to_come_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = folder.path().join("node");
    let (mut server, url) = furnished(&["max_prepared_transactions=1"]);
    let pool = ["--database-url", &url, "--connections", "2"];
    let rates = ["--requests-per-second", "1000", "--requests-max", "64"];
    let service = Service::start(&node, &[&pool[..], &rates].concat());
    let token = run_json(&node, &["global", "token", "add", "ann", "--user", "ann"]);
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
    server.run_sql("knowledge", &[lock]).expect("it is locked");
    let clients = 24;
    let (tell, told) = std::sync::mpsc::channel();
    for number in 0..clients {
        let (publish, tell) = (publish(number), tell.clone());
        std::thread::spawn(move || tell.send(publish()));
    }
    let mut refused = Vec::new();
    let mut hear = |(number, status, retry, said): (usize, u16, Option<String>, String)| {
        assert_eq!((status, retry.as_deref()), (429, Some("1")), "{said}");
        assert_contains!(said, "every connection");
        refused.push(number);
    };
    told.iter().take(clients - 2).for_each(&mut hear);
    let free = ["ROLLBACK PREPARED 'held'"];
    server.run_sql("knowledge", &free).expect("it is free");
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
