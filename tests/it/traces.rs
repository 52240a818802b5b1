//! Traces: a daemon that is told of a collector sends it what memory did, and no word of what it
//! holds.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::Value;

use crate::home::Home;

/// Takes one request and answers it; its head and body.
pub(crate) fn take(listener: &TcpListener) -> (String, Vec<u8>) {
    let (stream, _) = listener.accept().expect("a connection");
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a head");
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().expect("a length");
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    reader.get_mut().write_all(answer).expect("it reads");
    (head, body)
}

#[test]
fn what_memory_does_is_traced_and_what_it_holds_is_not() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let collector = format!("http://{}", listener.local_addr().expect("an address"));
    let home = Home::new();
    let serve = ["serve", "--idle-exit", "60", "--otlp", &collector];
    let mut daemon = home.command(&serve);
    let mut daemon = daemon.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = [0; 7];
    let stderr = daemon.stderr.as_mut().expect("piped");
    stderr
        .read_exact(&mut said)
        .expect("it says that it serves");
    let secret = "the vault opens at midnight";
    let commands: [&[&str]; 3] = [
        &[
            "learn",
            "--title",
            secret,
            "--content",
            "x",
            "--user",
            "ada",
        ],
        &["recall", secret, "--user", "ada"],
        &["serve", "stop"],
    ];
    for command in commands {
        let finished = home.run(command);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    }
    let mut spans: Vec<Value> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    while !names.iter().any(|name| name.contains("/v1/shutdown")) {
        let (head, body) = take(&listener);
        assert!(head.starts_with("POST /v1/traces "), "{head}");
        assert!(!String::from_utf8_lossy(&body).contains("midnight"));
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let scopes = body["resourceSpans"][0]["scopeSpans"].as_array().cloned();
        for scope in scopes.expect("spans") {
            spans.extend(scope["spans"].as_array().cloned().expect("a list"));
        }
        names = spans.iter().map(|span| span["name"].to_string()).collect();
    }
    assert!(daemon.wait().expect("it ends").success());
    let named = |name: &str| spans.iter().rfind(|span| span["name"] == name);
    let search = named("search_memory").expect("the recall");
    let request = named("POST /v1/users/{user}/recall").expect("its request");
    assert_eq!(search["parentSpanId"], request["spanId"], "{names:?}");
    let attributes = search["attributes"].to_string();
    assert!(attributes.contains("gen_ai.operation.name"), "{attributes}");
    assert!(!attributes.contains("result.count"), "{attributes}");
    let kept = named("create_memory").expect("the lesson")["attributes"].to_string();
    for attributes in [attributes, kept] {
        for name in ["gen_ai.memory.record.count", "gen_ai.memory.record.id"] {
            assert!(attributes.contains(name), "{name}: {attributes}");
        }
    }
}
