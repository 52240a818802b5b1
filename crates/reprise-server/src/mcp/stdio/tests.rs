//! What is no message over stdio, and what follows it.

use std::sync::Arc;

use reprise_operations::{Catalogue, Profile};
use reprise_tests::says;
use rmcp::ServiceExt;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::*;
use crate::client::Client;
use crate::mcp::McpFace;
use crate::place::Place;

struct Talk(BufReader<ReadHalf<DuplexStream>>, WriteHalf<DuplexStream>);

impl Talk {
    async fn say(&mut self, line: &[u8]) {
        self.1.write_all(line).await.unwrap();
        self.1.write_all(b"\n").await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

/// What is said before the handshake, and how it is refused.
const UNTIMELY: [(&str, i32, &str); 2] = [
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        -32600,
        "initialize first",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
        -32602,
        "`protocolVersion`",
    ),
];

/// Methods with parameters that do not fit, and what is said of these.
const UNFIT: [(&str, &str); 8] = [
    (r#""method":"tools/call""#, "`name` is missing"),
    (
        r#""method":"tools/call","params":["recall"]"#,
        "`params` is no object",
    ),
    (
        r#""method":"tools/call","params":{"name":"recall","arguments":["x"]}"#,
        "`arguments`: a list",
    ),
    (r#""method":"tools/call","params":{"name":7}"#, "`name`: "),
    (r#""method":"resources/read""#, "`uri` is missing"),
    (r#""method":"prompts/get","params":{}"#, "`name` is missing"),
    (r#""method":"skills/get""#, "`uri` is missing"),
    (r#""method":"completion/complete""#, "is missing"),
];

#[tokio::test]
async fn what_is_no_message_is_answered_and_what_follows_is_too() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(&folder.path().join("data"), Some(folder.path()));
    let (client, user) = (Arc::new(Client::new(place)), "ada".parse().unwrap());
    let face = McpFace::proxy(client, Catalogue::default(), user, Profile::Default);
    let (near, far) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(far);
    let served = tokio::spawn(async move {
        let running = face.serve(Lines::new(read, write)).await.unwrap();
        running.waiting().await.unwrap();
    });
    let (read, write) = tokio::io::split(near);
    let mut talk = Talk(BufReader::new(read), write);
    // Before the handshake as well.
    talk.say(b"{").await;
    assert_eq!(talk.hear().await["error"]["code"], -32700);
    for (line, code, part) in UNTIMELY {
        talk.say(line.as_bytes()).await;
        let error = talk.hear().await["error"].take();
        assert_eq!(error["code"], code, "{error}");
        says!(error["message"].as_str().unwrap(), part);
    }
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    talk.say(hello.to_string().as_bytes()).await;
    assert_eq!(talk.hear().await["id"], 0);
    talk.say(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"x":"{}"}}"#,
        "x".repeat(LINE_BYTES_MAX)
    );
    for (line, code, id) in [
        (&br#"{"jsonrpc":"2.0","id":1,"#[..], -32700, Value::Null),
        (b"\xff\xfe", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (br#"{"id":7}"#, -32600, json!(7)),
        (long.as_bytes(), -32600, Value::Null),
    ] {
        talk.say(line).await;
        let answer = talk.hear().await;
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id)
        );
    }
    for (asked, part) in UNFIT {
        let line = format!(r#"{{"jsonrpc":"2.0","id":8,{asked}}}"#);
        talk.say(line.as_bytes()).await;
        let answer = talk.hear().await;
        assert_eq!(answer["id"], 8);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        says!(answer["error"]["message"].as_str().unwrap(), part);
    }
    // These have no answer: the next is that of the ping.
    for silent in [
        &b"\r"[..],
        br#"{"jsonrpc":"2.0","method":"$/other","params":1}"#,
        br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"echoed"}}"#,
        br#"{"jsonrpc":"2.0","id":3,"result":7}"#,
    ] {
        talk.say(silent).await;
    }
    talk.say(br#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#)
        .await;
    assert_eq!(
        talk.hear().await,
        json!({ "jsonrpc": "2.0", "id": 9, "result": {} })
    );
    drop(talk);
    served.await.unwrap();
}
