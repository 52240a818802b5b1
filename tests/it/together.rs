//! Fifty clients at once through every face, one writer behind them: all there, once.
//!
//! MCP, HTTP, command line and hooks at the same time, each as its user runs it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use reprise_operations::WriteReport;
use reprise_server::{Call, Client};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::home::Home;

/// Clients of each face: over HTTP, over MCP, on the command line, as hooks.
const CLIENTS: [(Face, usize); 4] = [
    (Face::Http, 20),
    (Face::Mcp, 20),
    (Face::Commands, 5),
    (Face::Hooks, 5),
];
const WRITES: usize = 100;
/// Writes of a client that starts a process for each.
const PROCESSES: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Face {
    Http,
    Mcp,
    Commands,
    Hooks,
}

impl Face {
    fn writes(self) -> usize {
        match self {
            Self::Http | Self::Mcp => WRITES,
            Self::Commands | Self::Hooks => PROCESSES,
        }
    }
}

/// What a client writes: no two texts are equal.
fn text(face: Face, client: usize, write: usize) -> String {
    format!("{face:?} client {client} says number {write}")
}

#[test]
fn fifty_clients_through_every_face_write_everything_once() {
    let home = Home::new();
    let runtime = runtime();
    let socket = home.client();
    runtime
        .block_on(socket.ensure_running())
        .expect("a daemon starts");
    std::thread::scope(|scope| {
        for (face, clients) in CLIENTS {
            for client in 0..clients {
                let (home, runtime) = (&home, &runtime);
                scope.spawn(move || match face {
                    Face::Http => over_http(home, runtime, client),
                    Face::Mcp => over_mcp(home, client),
                    Face::Commands => by_commands(home, client),
                    Face::Hooks => by_hooks(home, client),
                });
            }
        }
    });
    let counts = count_first_lines(&runtime, &socket);
    for (face, clients) in CLIENTS {
        for (client, write) in (0..clients).flat_map(|c| (0..face.writes()).map(move |w| (c, w))) {
            let text = text(face, client, write);
            assert_eq!(counts.get(&text), Some(&1), "{text}");
        }
    }
    let expected: usize = CLIENTS
        .iter()
        .map(|(face, clients)| clients * face.writes())
        .sum();
    assert_eq!(counts.values().sum::<usize>(), expected);
}

fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all();
    builder.build().expect("a runtime")
}

/// First line of every record that is kept, with how many begin so.
fn count_first_lines(runtime: &Runtime, socket: &Client) -> BTreeMap<String, usize> {
    let export = runtime.block_on(socket.ask_bytes(&Call::get("/v1/users/ada/export")));
    let export = export.expect("the daemon answers");
    let mut counts = BTreeMap::new();
    let lines = export.split(|byte| *byte == b'\n');
    for line in lines.filter(|line| !line.is_empty()) {
        let line: Value = serde_json::from_slice(line).expect("JSON");
        let text = line["text"].as_str().unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        *counts.entry(first.to_owned()).or_default() += 1;
    }
    counts
}

fn over_http(home: &Home, runtime: &Runtime, client: usize) {
    let socket = home.client();
    for write in 0..WRITES {
        let body = json!({ "text": text(Face::Http, client, write) });
        let call = Call::post("/v1/users/ada/records", &body);
        let report: WriteReport = runtime.block_on(socket.ask(&call)).expect("it is kept");
        assert_eq!(report.inserted, 1);
    }
}

fn over_mcp(home: &Home, client: usize) {
    let mut server = Mcp::start(&mut home.command(&["mcp", "--user", "ada"]));
    for write in 0..WRITES {
        let title = text(Face::Mcp, client, write);
        let lesson = json!({ "title": title, "content": "kept over MCP" });
        let answer = server.call("learn", &lesson);
        let outcome = &answer["structuredContent"]["outcome"];
        assert_eq!(outcome, "inserted", "{answer}");
    }
    server.end();
}

/// `mcp` as a program of an agent asks it.
pub(crate) struct Mcp {
    server: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    asked: u64,
    /// Folders that it tells the server when that asks.
    roots: Vec<PathBuf>,
}

impl Mcp {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_with_roots(command, &[])
    }

    /// One whose client has these folders open; without any it cannot be asked for them.
    pub(crate) fn start_with_roots(command: &mut Command, roots: &[&Path]) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().expect("it starts");
        let mut mcp = Self {
            stdin: server.stdin.take().expect("piped"),
            stdout: BufReader::new(server.stdout.take().expect("piped")),
            server,
            asked: 0,
            roots: roots.iter().map(|root| root.to_path_buf()).collect(),
        };
        let can = if roots.is_empty() {
            json!({})
        } else {
            json!({ "roots": { "listChanged": true } })
        };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": can,
            "clientInfo": { "name": "test", "version": "1" } });
        assert_eq!(
            mcp.ask("initialize", &hello)["serverInfo"]["name"],
            "reprise"
        );
        mcp
    }

    /// What a tool answers.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let called = json!({ "name": tool, "arguments": arguments });
        self.ask("tools/call", &called)
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.asked;
        self.asked += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters });
        writeln!(self.stdin, "{request}").expect("it reads");
        let mut answer = self.read();
        while answer["method"] == "roots/list" {
            let uri = |root: &PathBuf| json!({ "uri": format!("file://{}", root.display()) });
            let roots: Vec<Value> = self.roots.iter().map(uri).collect();
            let told =
                json!({ "jsonrpc": "2.0", "id": answer["id"], "result": { "roots": roots } });
            writeln!(self.stdin, "{told}").expect("it reads");
            answer = self.read();
        }
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).expect("nothing but JSON-RPC is on stdout")
    }

    /// Opens other folders, and says so.
    pub(crate) fn open_folders(&mut self, roots: &[&Path]) {
        self.roots = roots.iter().map(|root| root.to_path_buf()).collect();
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
        writeln!(self.stdin, "{told}").expect("it reads");
    }

    /// The id of its process.
    pub(crate) fn process(&self) -> u32 {
        self.server.id()
    }

    pub(crate) fn end(self) {
        let Self {
            mut server, stdin, ..
        } = self;
        drop(stdin);
        assert!(server.wait().expect("it ends").success());
    }
}

fn by_commands(home: &Home, client: usize) {
    for write in 0..PROCESSES {
        let title = text(Face::Commands, client, write);
        let lesson = ["--json", "learn", "--title", &title, "--content", "typed"];
        let mut command = home.command(&lesson);
        run(command.args(["--user", "ada"]), "");
    }
}

fn by_hooks(home: &Home, client: usize) {
    for write in 0..PROCESSES {
        let prompt = text(Face::Hooks, client, write);
        let event = json!({ "session_id": format!("s{client}"), "cwd": "/", "prompt": prompt });
        let mut command = home.command(&["hook", "user-prompt", "--user", "ada"]);
        // A starved machine may take longer than an agent would wait.
        command.args(["--deadline-ms", "60000"]);
        run(&mut command, &event.to_string());
    }
}

pub(crate) fn run(command: &mut Command, input: &str) -> String {
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
