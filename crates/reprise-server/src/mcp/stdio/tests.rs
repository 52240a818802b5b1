//! What is no message over stdio, and what follows it.

use std::sync::Arc;

use reprise_operations::Profile;
use reprise_tests::assert_contains;
use rmcp::ServiceExt;
use serde_json::json;
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

use super::*;
use crate::client::Client;
use crate::mcp::McpServer;
use crate::place::DaemonPaths;
use crate::testing::whole_catalogue;

struct TestPeer(BufReader<ReadHalf<DuplexStream>>, WriteHalf<DuplexStream>);

impl TestPeer {
    async fn send_line(&mut self, line: &[u8]) {
        self.1.write_all(line).await.unwrap();
        self.1.write_all(b"\n").await.unwrap();
    }

    async fn send_headed(&mut self, headers: &str, body: &str) {
        self.1.write_all(headers.as_bytes()).await.unwrap();
        self.1.write_all(body.as_bytes()).await.unwrap();
    }

    /// Reads a message after its headers.
    async fn read_headed(&mut self) -> Value {
        let (mut header, mut blank) = (String::new(), String::new());
        self.0.read_line(&mut header).await.unwrap();
        self.0.read_line(&mut blank).await.unwrap();
        assert_eq!(blank, "\r\n", "{header}");
        let length = header.strip_prefix("Content-Length: ").unwrap().trim_end();
        let mut body = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut body).await.unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    async fn read_message(&mut self) -> Value {
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

#[test]
fn a_fault_is_answered_with_the_id_of_its_request() {
    for (line, id) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"recall""#,
            "7",
        ),
        (
            r#"{"id":"a-1","method":"tools/call","params":{"id":5,]"#,
            "\"a-1\"",
        ),
        (r#"{"method":"x","params":{"id":5},"id":8,"#, "8"),
        (r#"{"id":9.0,"method":"tools/call","params":["x"]}"#, "9"),
        (
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"id":5"#,
            "null",
        ),
    ] {
        let (_, found) = parse_message(line.as_bytes()).unwrap_err();
        assert_eq!(serde_json::to_string(&found).unwrap(), id, "{line}");
    }
}

#[test]
fn a_message_is_read_as_far_as_it_can_be() {
    let call = |arguments: &str| {
        format!(
            r#"{{"id":1,"method":"tools/call","params":{{"name":"recall","arguments":{arguments}}}}}"#
        )
    };
    for line in [
        call(r#"{"query":"cut \ud83d here"}"#).into_bytes(),
        call(r#""{\"query\":\"x\"}""#).into_bytes(),
        call("null").into_bytes(),
        call("{\"query\":\"a\u{1}b\"}").into_bytes(),
        [&b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"caf\xe9\"}}"[..]].concat(),
        br#"{"id":1,"method":"tools/list","params":null}"#.to_vec(),
    ] {
        let read = parse_message(&line);
        let text = String::from_utf8_lossy(&line);
        assert!(
            matches!(read, Ok(Some(Received::Request(_)))),
            "{text}: {read:?}"
        );
    }
}

/// A server that no daemon is behind, and the client of its other end.
fn talk_to_server(folder: &std::path::Path) -> (TestPeer, JoinHandle<()>) {
    let place = DaemonPaths::new(&folder.join("data"), Some(folder));
    let (client, user) = (Arc::new(Client::new(place)), "ada".parse().unwrap());
    let server = McpServer::proxy(client, whole_catalogue(), user, Profile::Default);
    let (near, far) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(far);
    let served = tokio::spawn(async move {
        let running = server.serve(LineTransport::new(read, write)).await.unwrap();
        running.waiting().await.unwrap();
    });
    let (read, write) = tokio::io::split(near);
    (TestPeer(BufReader::new(read), write), served)
}

fn hello() -> String {
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    hello.to_string()
}

#[tokio::test]
async fn an_answer_has_headers_where_the_request_had_them() {
    let folder = tempfile::tempdir().unwrap();
    let (mut talk, served) = talk_to_server(folder.path());
    let length = |body: &str| format!("Content-Length: {}\r\n\r\n", body.len());
    let hello = hello();
    talk.send_headed(&length(&hello), &hello).await;
    assert_eq!(talk.read_headed().await["id"], 0);
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    talk.send_headed(&length(note), note).await;
    let ping = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let bytes = ping(1).len();
    for (id, headers) in [
        (1, format!("content-length:{bytes}\n\n")),
        (
            2,
            format!(
                "Content-Type: application/json; charset=utf-8\r\nCONTENT-LENGTH: {bytes}\r\n\r\n"
            ),
        ),
        (
            3,
            format!("Content-Length: {bytes}\r\nX-Other: a:b\r\n\r\n"),
        ),
    ] {
        talk.send_headed(&headers, &ping(id)).await;
        assert_eq!(talk.read_headed().await["id"], id, "{headers}");
    }
    // A length of characters leaves the end of the body behind, and costs no other message.
    let odd = r#"{"jsonrpc":"2.0","id":4,"method":"ping","x":"é"}"#;
    talk.send_headed(&length(&odd[1..]), odd).await;
    let answer = talk.read_headed().await;
    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&json!(-32700), &json!(4))
    );
    talk.send_headed(&length(&ping(5)), &ping(5)).await;
    assert_eq!(talk.read_headed().await["id"], 5);
    talk.send_headed("Content-Length: many\r\n", "").await;
    let refused = talk.read_headed().await;
    assert_contains!(
        refused["error"]["message"].as_str().unwrap(),
        "`Content-Length: many`"
    );
    let long = "x".repeat(LINE_BYTES_MAX + 1);
    talk.send_headed(&length(&long), &long).await;
    assert_eq!(talk.read_headed().await["error"]["code"], -32600);
    // A line is answered by a line, in the same session.
    talk.send_line(ping(6).as_bytes()).await;
    assert_eq!(talk.read_message().await["id"], 6);
    talk.send_headed(&length(&ping(7)), &ping(7)).await;
    assert_eq!(talk.read_headed().await["id"], 7);
    drop(talk);
    served.await.unwrap();
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_what_follows_is_too() {
    let folder = tempfile::tempdir().unwrap();
    let (mut talk, served) = talk_to_server(folder.path());
    // Before the handshake as well.
    let early = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    talk.send_line(early).await;
    talk.send_line(b"{").await;
    assert_eq!(talk.read_message().await["error"]["code"], -32700);
    for (line, code, part) in UNTIMELY {
        talk.send_line(line.as_bytes()).await;
        let error = talk.read_message().await["error"].take();
        assert_eq!(error["code"], code, "{error}");
        assert_contains!(error["message"].as_str().unwrap(), part);
    }
    talk.send_line(hello().as_bytes()).await;
    assert_eq!(talk.read_message().await["id"], 0);
    talk.send_line(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"x":"{}"}}"#,
        "x".repeat(LINE_BYTES_MAX)
    );
    for (line, code, id) in [
        (&br#"{"jsonrpc":"2.0","id":1,"#[..], -32700, json!(1)),
        (br#"{"jsonrpc":"2.0","#, -32700, Value::Null),
        (b"\xff\xfe", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (br#"{"id":7}"#, -32600, json!(7)),
        (long.as_bytes(), -32600, Value::Null),
    ] {
        talk.send_line(line).await;
        let answer = talk.read_message().await;
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id)
        );
    }
    for (asked, part) in UNFIT {
        let line = format!(r#"{{"jsonrpc":"2.0","id":8,{asked}}}"#);
        talk.send_line(line.as_bytes()).await;
        let answer = talk.read_message().await;
        assert_eq!(answer["id"], 8);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_contains!(answer["error"]["message"].as_str().unwrap(), part);
    }
    // These have no answer: the next is that of the ping.
    for silent in [
        &b"\r"[..],
        br#"{"jsonrpc":"2.0","method":"$/other","params":1}"#,
        br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"echoed"}}"#,
        br#"{"jsonrpc":"2.0","id":3,"result":7}"#,
    ] {
        talk.send_line(silent).await;
    }
    talk.send_line(br#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#)
        .await;
    assert_eq!(
        talk.read_message().await,
        json!({ "jsonrpc": "2.0", "id": 9, "result": {} })
    );
    drop(talk);
    served.await.unwrap();
}
