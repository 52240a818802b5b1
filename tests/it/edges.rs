//! Forms and names at the edge of what other programs and people write, through the real binary.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use reprise_server::{Call, Client, Starter};
use reprise_tests::{assert_contains, find_reprise_binary, wait_for};
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
        { "type": "text", "text": "Never deploy the shop on a Friday." },
        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } },
    ] });
    let mut hook = home.command(&["hook", "user-prompt", "--user", "ada"]);
    run(hook.args(["--deadline-ms", "60000"]), &prompt.to_string());
    wait_for("the prompt is kept", || {
        let texts = home.texts("ada");
        (texts == ["Never deploy the shop on a Friday."])
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
            br#"{"session_id":"s-1","cwd":"/","prompt":"Never deploy on a Friday, "#.to_vec();
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
        let kept = format!("Never deploy on a Friday, {kept}");
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
        let text = format!("Never deploy the shop on day {number}.");
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
    let forgotten = home.run(&["forget", "--user", "ada", "--session", "01a21432", "--yes"]);
    assert_contains!(forgotten.stderr, "write its whole name", SESSIONS[2].0);
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
