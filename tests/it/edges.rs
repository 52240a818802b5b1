//! Forms and names at the edge of what other programs and people write, through the real binary.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use reprise_server::{Call, Client, Starter};
use reprise_tests::{assert_contains, find_reprise_binary, run_to_end, wait_for};
use serde_json::{Value, json};

use crate::home::Home;
use crate::together::{Mcp, run};

#[test]
fn a_client_that_writes_headers_over_stdio_is_answered_with_headers() {
    let home = Home::new();
    let mut command = home.command(&["mcp", "--user", "ada", "--no-daemon"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.spawn().expect("it starts");
    let mut stdin = server.stdin.take().expect("piped");
    let mut stdout = BufReader::new(server.stdout.take().expect("piped"));
    let mut send = |message: &Value| {
        let body = message.to_string();
        write!(stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("it reads");
    };
    let mut receive = || -> Value {
        let (mut header, mut blank) = (String::new(), String::new());
        stdout.read_line(&mut header).expect("a header");
        stdout.read_line(&mut blank).expect("a blank line");
        let length = header.strip_prefix("Content-Length: ").expect(&header);
        let mut body = vec![0; length.trim_end().parse().expect("a number")];
        stdout.read_exact(&mut body).expect("the whole body");
        serde_json::from_slice(&body).expect("JSON")
    };
    send(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "editor", "version": "1" } } }),
    );
    assert_eq!(receive()["result"]["protocolVersion"], "2025-06-18");
    send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let lesson = json!({ "title": "The caf\u{e9} closes at six", "content": "Order before." });
    send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "learn", "arguments": lesson } }));
    let answer = receive();
    assert_eq!(answer["id"], 2);
    assert_eq!(
        answer["result"]["structuredContent"]["outcome"], "inserted",
        "{answer}"
    );
    drop(stdin);
    assert!(server.wait().expect("it ends").success());
    assert_eq!(home.texts("ada").len(), 1);
}

#[test]
fn a_prompt_of_parts_is_kept_as_its_words() {
    let home = Home::new();
    let prompt = json!({ "session_id": "s-1", "cwd": home.folder(), "prompt": [
        { "type": "text", "text": "The shop was deployed on a Friday." },
        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } },
    ] });
    let mut hook = home.command(&["hook", "user-prompt", "--user", "ada"]);
    run(hook.args(["--deadline-ms", "60000"]), &prompt.to_string());
    wait_for("the prompt is kept", || {
        let texts = home.texts("ada");
        (texts == ["The shop was deployed on a Friday."])
            .then_some(())
            .ok_or(texts)
    });
}

#[test]
fn a_hook_keeps_its_moment_whatever_byte_is_in_it() {
    let home = Home::new();
    for (odd, kept) in [
        (&b"caf\xe9"[..], "caf\u{fffd}"),
        (b"half \\ud83d", "half \u{fffd}"),
        (b"nul \0 tab \t", "nul \u{fffd} tab"),
        (b"two\"}{\"prompt\": \"other", "two"),
        (b"cut \\u00", "cut"),
    ] {
        let mut input =
            br#"{"session_id":"s-1","cwd":"/","prompt":"It was deployed on a Friday, "#.to_vec();
        input.extend_from_slice(odd);
        if !kept.starts_with("cut") {
            input.extend_from_slice(b"\"}");
        }
        let mut hook = home.command(&["hook", "user-prompt", "--user", "ada"]);
        let hook = hook.args(["--deadline-ms", "60000"]).stdin(Stdio::piped());
        let mut hook = hook.spawn().expect("it starts");
        hook.stdin
            .take()
            .expect("piped")
            .write_all(&input)
            .expect("it reads");
        assert!(hook.wait().expect("it ends").success());
        let kept = format!("It was deployed on a Friday, {kept}");
        wait_for("the prompt is kept", || {
            let texts = home.texts("ada");
            texts.contains(&kept).then_some(()).ok_or(texts)
        });
    }
}

#[test]
fn an_error_in_the_configuration_costs_no_moment_and_is_told() {
    for (number, (broken, said)) in [
        ("[memory\nmodel = 1", "line 1"),
        ("[memory]\nmodel = multilingual", "line 2"),
        ("[memory]\nopen_max = \"many\"", "line 2"),
        ("[memory]\nvectors = \"papyrus\"", "papyrus"),
        ("[memory]\nmodle = \"x\"", "modle"),
        ("[memory]\nredact = [\"everything\"]", "everything"),
        ("caf\u{e9}", "line 1"),
    ]
    .into_iter()
    .enumerate()
    {
        let home = Home::new();
        let file = home.write(".config/reprise/config.toml", broken);
        let text = format!("The shop was deployed on day {number}.");
        let prompt = json!({ "session_id": "s-1", "cwd": home.folder(), "prompt": text });
        let mut hook = home.command(&["hook", "user-prompt", "--user", "ada"]);
        run(hook.args(["--deadline-ms", "60000"]), &prompt.to_string());
        let line = run(&mut home.command(&["statusline", "--user", "ada"]), "{}");
        assert_contains!(line, "the configuration has an error");
        let doctor = home.run(&["doctor"]);
        assert_contains!(doctor.stdout, said, "config.toml", "the defaults");
        // A command of a person is still refused, with the reason.
        assert_contains!(home.run(&["list", "--user", "ada"]).stderr, said);
        std::fs::remove_file(file).expect("it is there");
        wait_for("the prompt is kept", || {
            let texts = home.texts("ada");
            (texts == [text.as_str()]).then_some(()).ok_or(texts)
        });
    }
}

#[test]
fn the_moments_of_a_broken_configuration_have_its_last_good_form() {
    let home = Home::new();
    let named = ".config/reprise/config.toml";
    home.write(named, "[memory]\nredact = [\"iban\"]");
    let tell = |text: &str| {
        let prompt = json!({ "session_id": "s-1", "cwd": home.folder(), "prompt": text });
        let mut hook = home.command(&["hook", "user-prompt", "--user", "ada"]);
        run(hook.args(["--deadline-ms", "60000"]), &prompt.to_string());
    };
    tell("Pay the rent on Monday.");
    tell("Pay the water on Tuesday.");
    home.run_ok(&["serve", "stop"]);
    let broken = home.write(named, "[memory]\nredact = [\"iban\"\nmodel =");
    tell("Pay it to DE89 3704 0044 0532 0130 00 on Friday.");
    assert_contains!(home.run(&["doctor"]).stdout, "its last good form");
    std::fs::write(&broken, "").expect("it is ours");
    wait_for("the prompts are kept", || {
        let texts = home.texts("ada");
        (texts.len() == 3).then_some(()).ok_or(texts)
    });
    let texts = home.texts("ada").join("\n");
    assert!(!texts.contains("3704"), "{texts}");
    let log = std::fs::read_to_string(home.data().join(".reprise/daemon.log"));
    assert_contains!(log.expect("the daemon wrote one"), "last good form");
    // A folder in its place is no configuration either.
    home.run_ok(&["serve", "stop"]);
    std::fs::remove_file(&broken).expect("it is there");
    std::fs::create_dir(&broken).expect("its folder is there");
    tell("Pay the gas on Sunday.");
    assert_contains!(home.run(&["doctor"]).stdout, "config");
    wait_for("the prompt is kept", || {
        let texts = home.texts("ada");
        (texts.len() == 4).then_some(()).ok_or(texts)
    });
}

/// Two sessions that begin alike, and one of its own.
const SESSIONS: [(&str, &str); 3] = [
    (
        "e8f91fe5-2e92-473f-861a-44c5cc8086cc",
        "Zebras graze by the river.",
    ),
    (
        "e8f91fe5-0000-473f-861a-44c5cc8086cc",
        "Yaks graze on the hill.",
    ),
    (
        "01a21432-28d4-77e1-8330-02b82414e990",
        "Lynxes hunt at night.",
    ),
];

#[test]
fn a_session_is_found_by_the_beginning_of_its_name() {
    let home = Home::new();
    let lines: Vec<Value> = SESSIONS
        .iter()
        .map(|(session, text)| json!({ "text": text, "session_id": session }))
        .collect();
    home.keep(&lines, &["--user", "ada"]);
    for flags in [&[][..], &["--no-daemon"]] {
        let listed = [&["list", "--user", "ada", "--session", "01a21432"], flags].concat();
        assert_contains!(home.run_ok(&listed), "Lynxes");
        let recall = [
            &[
                "recall",
                "--user",
                "ada",
                "--session",
                "01A21432",
                "who hunts",
            ],
            flags,
        ];
        assert_contains!(home.run_ok(&recall.concat()), "Lynxes");
        let two = home.run(&[&["list", "--user", "ada", "--session", "e8f91fe5"], flags].concat());
        assert_ne!(two.code, Some(0));
        assert_contains!(
            two.stderr,
            "2 sessions begin with `e8f91fe5`",
            SESSIONS[1].0
        );
    }
    let one = home.run_ok(&["list", "--user", "ada", "--session", "e8f91fe5-2"]);
    assert_contains!(one, "Zebras");
    let forget = ["forget", "--user", "ada", "--session"];
    let would = home.run_ok(&[&forget[..], &["01a21432", "--dry-run"]].concat());
    assert_contains!(would, "1 memory would be forgotten", SESSIONS[2].1);
    let two = home.run(&[&forget[..], &["e8f91fe5"]].concat());
    assert_contains!(two.stderr, "2 sessions begin with `e8f91fe5`");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let listed = |session: &str| -> Result<Value, String> {
        let path = format!("/v1/users/ada/records?session={session}");
        let asked = runtime.block_on(home.client().ask(&Call::get(path)));
        asked.map_err(|problem| problem.detail)
    };
    let found = listed("01a21432").expect("it is found");
    assert_eq!(found["records"][0]["text"], SESSIONS[2].1);
    assert_contains!(
        listed("e8f91fe5").expect_err("two"),
        "2 sessions begin with"
    );
    let mut server = Mcp::start(&mut home.command(&["mcp", "--user", "ada"]));
    let found = server.call(
        "recall",
        &json!({ "query": "who hunts", "session": "01a21432" }),
    );
    assert_contains!(found.to_string(), "Lynxes");
    let two = server.call(
        "recall",
        &json!({ "query": "who grazes", "session": "e8f91fe5" }),
    );
    assert_eq!(two["isError"], true, "{two}");
    server.end();
}

#[test]
fn a_daemon_without_a_model_makes_way_for_whom_wants_one() {
    let home = Home::new();
    let input = json!({ "session_id": "s-1", "cwd": home.folder() }).to_string();
    let mut hook = home.command(&["hook", "session-start", "--user", "ada"]);
    run(hook.args(["--deadline-ms", "60000"]), &input);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let status = Call::get("/v1/status");
    let runs = home.daemon();
    let _seen: Value = runtime
        .block_on(home.client().ask(&status))
        .expect("it answers");
    let place = home.place();
    assert!(place.socket().exists(), "who wants none is served by it");
    let wanting = Client::new(home.place()).with_starter(Starter {
        program: find_reprise_binary().expect("reprise is built"),
        arguments: ["--data-dir".into(), home.data().into(), "serve".into()].into(),
        creates_data: false,
        wants_model: true,
    });
    let _seen: Value = runtime.block_on(wanting.ask(&status)).expect("it answers");
    assert_eq!(home.daemon(), runs, "the question itself is answered");
    wait_for("the daemon ends", || {
        (!place.socket().exists()).then_some(()).ok_or("it serves")
    });
}

#[test]
fn an_export_of_nothing_says_so() {
    let home = Home::new();
    home.keep(&[json!({ "text": "Zebras graze." })], &["--user", "ada"]);
    let none = home.run(&["export", "--user", "ada", "--as-of", "2001-01-01"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert_contains!(none.stderr, "memory knew nothing yet at 2001-01-01");
}

#[test]
fn what_is_told_later_of_a_known_memory_counts() {
    for flags in [&["--no-daemon"][..], &[]] {
        let home = Home::new();
        let whose = [&["--user", "ada"], flags].concat();
        let tell = |line: &Value, more: &[&str]| {
            let file = home.write("late.jsonl", &line.to_string());
            home.run(&[&["ingest", &file], &whose[..], more].concat())
                .stderr
        };
        let list = || {
            let listed = [&["export"], &whose[..]].concat();
            let line = home.run_ok(&listed);
            serde_json::from_str::<Value>(line.trim()).expect("one memory")
        };
        let line = |tags: &[&str]| {
            let mut line = json!({ "text": "Rhinos sleep at noon.", "external_id": "r" });
            line["tags"] = json!(tags);
            line
        };
        tell(&line(&["zoo"]), &[]);
        tell(&line(&["zoo", "big", "animals"]), &[]);
        let told = list();
        assert_eq!(told["tags"], json!(["animals", "big", "zoo"]), "{told}");
        // What a person took away stays away, however often it is sent.
        let id = told["id"].as_str().expect("an id");
        home.run_ok(&[&["edit", id, "--tags", "animals"], &whose[..]].concat());
        tell(&line(&["zoo", "big", "grey"]), &[]);
        assert_eq!(list()["tags"], json!(["animals", "grey"]));
        // Of other fields it is said that they are not replaced, or they are.
        let mut late = line(&[]);
        late["metadata"] = json!({ "keeper": "Ada" });
        late["confidence"] = json!(0.9);
        assert_contains!(tell(&late, &[]), "line 1 (`r`): changed, but not replaced");
        for _ in 0..2 {
            tell(&late, &["--update"]);
            let told = list();
            assert_eq!(told["metadata"]["keeper"], "Ada", "{told}");
            assert_eq!(told["tags"], json!(["animals", "grey"]), "{told}");
        }
        let said = tell(&late, &[]);
        assert!(!said.contains("changed"), "{said}");
    }
}

/// A session of Claude Code in which something is asked and answered.
fn write_session(home: &Home, session: &str, folder: &str, rows: &[(&str, &str, &str)]) {
    let line = |(role, row, text): &(&str, &str, &str)| {
        json!({ "type": role, "uuid": row, "sessionId": session, "cwd": home.path(folder),
            "timestamp": "2026-09-05T10:00:00Z",
            "message": { "id": row, "role": role, "content": [{ "type": "text", "text": text }] } })
        .to_string()
    };
    let lines: Vec<String> = rows.iter().map(line).collect();
    home.write(
        &format!("projects/{folder}/{session}.jsonl"),
        &lines.join("\n"),
    );
}

/// The tags of the memories with these words, a line each.
fn tags_of(home: &Home, words: &str, kind: &str) -> Vec<String> {
    let rows = home.run_ok(&["export", "--user", "ada"]);
    let rows = rows
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).expect("JSON"));
    let found = rows.filter(|row| {
        row["kind"] == kind
            && row["text"]
                .as_str()
                .is_some_and(|text| text.contains(words))
    });
    found.map(|row| row["tags"].to_string()).collect()
}

#[test]
fn a_row_that_was_copied_into_another_project_is_of_one() {
    let home = Home::new();
    let rows = [("user", "r-1", "Which fence of the zoo is the old one?")];
    for folder in ["zoo", "shop"] {
        write_session(&home, &format!("s-{folder}"), folder, &rows);
    }
    for _ in 0..2 {
        home.run_ok(&["import", "--user", "ada", &home.path("projects")]);
        let tags = tags_of(&home, "Which fence", "episode");
        assert_eq!(tags.len(), 1, "{tags:?}");
        assert_eq!(tags[0].matches("project:").count(), 1, "{tags:?}");
    }
}

#[test]
fn what_two_projects_decided_is_a_lesson_of_both() {
    let home = Home::new();
    for folder in ["zoo", "shop"] {
        let said = "We decided to use PostgreSQL for the store because SQLite locks under load.";
        let [asked, told] = ["a", "b"].map(|row| format!("{row}-{folder}"));
        let rows = [
            ("user", asked.as_str(), "Which store do we use?"),
            ("assistant", told.as_str(), said),
        ];
        write_session(&home, &format!("s-{folder}"), folder, &rows);
        let place = home.path(&format!("projects/{folder}"));
        home.run_ok(&["import", "--user", "ada", &place]);
    }
    let tags = tags_of(&home, "PostgreSQL", "strategy").join(" ");
    assert_contains!(tags, "project:zoo", "project:shop");
}

#[test]
fn a_renamed_note_is_the_note_it_was() {
    let home = Home::new();
    let import = || {
        home.run_ok(&[
            "import",
            "--user",
            "ada",
            "--from",
            "markdown",
            &home.path("v"),
        ])
    };
    home.write(
        "v/deploy.md",
        "# When\n\nDeploy on Thursdays.\n\n# Who\n\nAda does.\n",
    );
    home.write(
        "v/pager.md",
        "---\npermalink: ops/pager\n---\nBob has the pager.\n",
    );
    home.write("v/list.md", "- one\n- two\n");
    import();
    let before = home.texts("ada").len();
    std::fs::create_dir_all(home.path("v/ops")).expect("a folder");
    std::fs::rename(home.path("v/deploy.md"), home.path("v/ops/release.md")).expect("it is there");
    // By its own name a note is known even where its text is another one by then.
    std::fs::remove_file(home.path("v/pager.md")).expect("it is there");
    home.write(
        "v/ops/pager.md",
        "---\npermalink: ops/pager\n---\nEve has it in winter.\n",
    );
    // A copy is a note of its own.
    std::fs::copy(home.path("v/list.md"), home.path("v/copy.md")).expect("it is there");
    let looked = home.run_ok(&[
        "import",
        "--user",
        "ada",
        "--from",
        "markdown",
        "--dry-run",
        &home.path("v"),
    ]);
    assert_contains!(looked, "3 sections changed there and replaced here");
    let told = import();
    assert_contains!(
        told,
        "1 memory added",
        "3 sections changed there and replaced here"
    );
    assert!(!told.contains("gone"), "{told}");
    let texts = home.texts("ada");
    assert_eq!(texts.len(), before + 1, "{texts:?}");
    let rows = home.run_ok(&["export", "--user", "ada"]);
    assert_contains!(rows, "ops/release.md", "release > When", "Eve has it");
    assert_contains!(import(), "0 memories added, 5 already known");
}

#[test]
fn a_tag_that_a_note_gets_later_counts() {
    let home = Home::new();
    let import = || {
        home.run_ok(&[
            "import",
            "--user",
            "ada",
            "--from",
            "markdown",
            &home.path("v"),
        ])
    };
    home.write("v/zoo.md", "---\ntags: [zoo]\n---\nRhinos sleep at noon.\n");
    import();
    home.write(
        "v/zoo.md",
        "---\ntags: [zoo, Big]\n---\nRhinos sleep at noon.\n",
    );
    assert_contains!(import(), "0 memories added, 1 already known");
    assert_eq!(tags_of(&home, "Rhinos", "finding"), [r#"["big","zoo"]"#]);
}

#[test]
fn a_variable_that_is_wrong_costs_no_moment() {
    for (name, value) in [
        ("REPRISE_DAEMON_PATIENCE", "soon"),
        ("REPRISE_DAEMON_PATIENCE", "70000"),
        ("REPRISE_USER", "a b/../c"),
        ("REPRISE_MODELS_DIR", ""),
        ("REPRISE_CONFIG", ""),
        ("REPRISE_USER", ""),
    ] {
        let home = Home::new();
        let prompt = json!({ "session_id": "s-1", "cwd": home.folder(),
            "prompt": "The shop was deployed on Fridays." });
        let mut hook = home.command(&["hook", "user-prompt"]);
        if name != "REPRISE_USER" {
            hook.args(["--user", "ada"]);
        }
        run(
            hook.args(["--deadline-ms", "60000"]).env(name, value),
            &prompt.to_string(),
        );
        let mut line = home.command(&["statusline"]);
        let line = run(line.env(name, value), "{}");
        assert_eq!(line.contains(name), !value.is_empty(), "{name}: {line}");
        wait_for("the prompt is kept", || {
            let folders = std::fs::read_dir(home.data()).expect("a folder");
            let names = folders.flatten().map(|one| one.file_name());
            let names = names.filter_map(|name| name.into_string().ok());
            let mut users = names.filter(|name| !name.starts_with('.'));
            let texts: Vec<String> = users.by_ref().flat_map(|user| home.texts(&user)).collect();
            (texts == ["The shop was deployed on Fridays."])
                .then_some(())
                .ok_or((name, value, texts))
        });
    }
}

#[test]
fn a_moment_waits_for_a_daemon_that_cannot_be_asked() {
    for url in [
        "https://127.0.0.1:1",
        "nonsense",
        "ftp://memory.example.com",
        "https://memory.example.com/?a=b",
    ] {
        let home = Home::new();
        let prompt = json!({ "session_id": "s-1", "cwd": home.folder(),
            "prompt": "The shop was deployed on Fridays." });
        for deadline in ["5000", "250"] {
            let mut hook = home.command(&["hook", "user-prompt", "--user", "ada"]);
            let hook = hook.env("REPRISE_URL", url);
            run(
                hook.args(["--deadline-ms", deadline]),
                &prompt.to_string().replace("Fridays", deadline),
            );
        }
        let is_address = url.ends_with(":1");
        if !is_address {
            let line = run(home.command(&["statusline"]).env("REPRISE_URL", url), "{}");
            assert_contains!(line, "REPRISE_URL", "is no address of a daemon");
        }
        wait_for("both wait", || {
            let mut doctor = home.command(&["doctor"]);
            let told = run_to_end(doctor.env("REPRISE_URL", url)).expect("it runs");
            told.stdout
                .contains("2 messages of hooks wait for it")
                .then_some(())
                .ok_or(told.stdout)
        });
        if !is_address {
            // The memory that is named next gets them.
            let _sent = home.run(&["branch", "sync", "--unsent"]);
            let mut hook = home.command(&["hook", "stop", "--user", "ada"]);
            run(hook.args(["--deadline-ms", "60000"]), &prompt.to_string());
            wait_for("the prompts are kept", || {
                let texts = home.texts("ada");
                (texts.len() == 2).then_some(()).ok_or(texts)
            });
        }
    }
}
