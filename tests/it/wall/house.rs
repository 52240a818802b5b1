//! The processes around a memory: daemon, service of published knowledge, collector, and the wires
//! between them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use reprise_server::{Call, Client, DaemonPaths};
use reprise_tests::{WorkspaceTree, reprise_command, run_to_end};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::rows::routes_in;
use super::wire::Wire;

/// Everything that a program of ours says, and of others what they find worth saying.
const LOG: &str = "info,reprise=trace,reprise_agent=trace,reprise_engine=trace,\
    reprise_global=trace,reprise_index=trace,reprise_learn=trace,reprise_operations=trace,\
    reprise_page=trace,reprise_server=trace,reprise_store=trace,reprise_workspace=trace";

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Whose memory holds the marks.
    Owner,
    /// Another user.
    Stranger,
    Nobody,
    /// Whose token was withdrawn.
    Withdrawn,
}

pub(super) struct WallHouse {
    folder: TempDir,
    daemon: Process,
    service: Process,
    pub(super) to_service: Wire,
    /// What passes between the daemon and all but the owner.
    pub(super) strangers: Wire,
    traces: Arc<Mutex<String>>,
    tokens: [String; 3],
    service_token: String,
}

/// What was written apart from the answers.
#[derive(Debug)]
pub(super) struct SideOutput {
    pub(super) traces: String,
    pub(super) log: String,
    pub(super) service_log: String,
}

/// A program that serves, and its log.
struct Process {
    child: Child,
    address: SocketAddr,
    said: Arc<Mutex<String>>,
}

impl Process {
    fn start(command: &mut Command) -> Self {
        command.env("REPRISE_LOG", LOG).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let said = Arc::new(Mutex::new(String::new()));
        let address = loop {
            let line = lines
                .next()
                .expect("it says where it listens")
                .expect("text");
            let own = line.contains("accepts HTTP requests");
            let mut words = line.split_whitespace();
            let url = words.find_map(|word| word.strip_prefix("http://"));
            if let Some(address) = url.filter(|_| own).and_then(|url| url.parse().ok()) {
                break address;
            }
        };
        let kept = Arc::clone(&said);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut said = kept.lock().unwrap_or_else(PoisonError::into_inner);
                *said += &line;
                *said += "\n";
            }
        });
        Self {
            child,
            address,
            said,
        }
    }

    fn end(&mut self) -> String {
        let mut kill = Command::new("kill");
        let pid = self.child.id().to_string();
        kill.args(["-TERM", &pid]).status().expect("kill is there");
        self.child.wait().expect("it ends");
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended is what was wanted.
        let _ended = self.child.kill().and_then(|()| self.child.wait()).is_ok();
    }
}

fn run_stdout(command: &mut Command) -> String {
    let finished = run_to_end(command).expect("reprise runs").expect_code(0);
    finished.stdout
}

/// Takes spans as a collector would, and keeps all that is sent.
fn collector() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let kept: Arc<Mutex<String>> = Arc::default();
    let traces = Arc::clone(&kept);
    thread::spawn(move || {
        loop {
            let (head, body) = crate::traces::take(&listener);
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            *kept += &head;
            *kept += &String::from_utf8_lossy(&body);
        }
    });
    (format!("http://{address}"), traces)
}

impl WallHouse {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| folder.path().join(name);
        let at = |data: &str, arguments: &[&str]| {
            let mut command = reprise_command(&path(data)).expect("reprise is built");
            command.env("XDG_RUNTIME_DIR", folder.path());
            command.arg("--no-model").args(arguments);
            command
        };
        let service = Process::start(&mut at(
            "service",
            &[
                "global",
                "serve",
                "--http",
                "127.0.0.1:0",
                "--requests-per-second",
                "100000",
            ],
        ));
        let token = |user: &str| {
            let add = ["--json", "global", "token", "add", user, "--user", user];
            let said = run_stdout(&mut at("service", &add));
            let said: Value = serde_json::from_str(&said).expect("JSON");
            said["token"].as_str().expect("a token").to_owned()
        };
        let (ann, bob) = (token("ann"), token("bob"));
        let to_service = Wire::to(service.address);
        let config = format!(
            "[global]\nurl = \"http://{}\"\ndeadline_ms = 30000\n\
             scope = \"local+global\"\n[global.tokens]\n\
             ann = \"{ann}\"\nbob = \"{bob}\"\n",
            to_service.address
        );
        fs::write(path("config.toml"), config).expect("written");
        let (collector, traces) = collector();
        let config = path("config.toml").display().to_string();
        let daemon = Process::start(&mut at(
            "data",
            &[
                "--config",
                &config,
                "serve",
                "--http",
                "127.0.0.1:0",
                "--otlp",
                &collector,
            ],
        ));
        let tokens = ["ann", "bob", "eve"].map(|user| {
            run_stdout(&mut at(
                "data",
                &["serve", "token", "add", user, "--user", user],
            ))
            .trim()
            .to_owned()
        });
        run_stdout(&mut at("data", &["serve", "token", "revoke", "eve"]));
        let strangers = Wire::to(daemon.address);
        Self {
            strangers,
            daemon,
            service,
            to_service,
            traces,
            tokens,
            service_token: bob,
            folder,
        }
    }

    /// Runs a command that asks the daemon.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command =
            reprise_command(&self.folder.path().join("data")).expect("reprise is built");
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        command.arg("--no-model").args(arguments);
        command
    }

    /// Asks the daemon, all but the owner through the wire that writes down.
    pub(super) fn ask(
        &self,
        who: Who,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Vec<u8>) {
        let [owner, stranger, withdrawn] = &self.tokens;
        let (address, token) = match who {
            Who::Owner => (self.daemon.address, Some(owner)),
            Who::Stranger => (self.strangers.address, Some(stranger)),
            Who::Nobody => (self.strangers.address, None),
            Who::Withdrawn => (self.strangers.address, Some(withdrawn)),
        };
        // Each way has the Host that the daemon knows as its own.
        let host = self.daemon.address;
        request(
            address,
            host,
            token.map(String::as_str),
            (method, path),
            body,
        )
    }

    /// Asks the service of published knowledge as a stranger.
    pub(super) fn ask_service(&self, method: &str, path: &str) -> (u16, Vec<u8>) {
        let body = json!({ "text": "otters and vaults", "top_k": 9 });
        let body = (method != "GET" && method != "DELETE").then_some(&body);
        let (address, token) = (self.service.address, Some(self.service_token.as_str()));
        request(address, address, token, (method, path), body)
    }

    /// Every route of the service, as it describes itself.
    pub(super) fn service_routes(&self) -> Vec<(String, String)> {
        let (_, document) = self.ask_service("GET", "/openapi.json");
        let document = super::walk::answer(&document);
        let paths = document["paths"].as_object().expect("paths");
        let routes = paths.iter().flat_map(|(path, methods)| {
            let path = path.replace("{id}", "01ARZ3NDEKTSV4RRFFQ69G5FAV");
            let path = path.replace("{name}", "monday");
            let methods = methods.as_object().into_iter().flat_map(|m| m.keys());
            methods.map(move |method| (method.to_uppercase(), path.clone()))
        });
        routes.collect()
    }

    /// Every route of the page, as its sources name them.
    pub(super) fn page_routes() -> Vec<String> {
        let tree = WorkspaceTree::read().expect("the workspace is readable");
        let page = tree.sources.iter();
        let page = page.filter(|source| source.path.starts_with("crates/reprise-page/src/"));
        let routes: Vec<String> = page.flat_map(|source| routes_in(&source.text)).collect();
        assert!(routes.len() > 20, "{routes:?}");
        routes
    }

    /// What the page answers to somebody without a session.
    pub(super) fn page(&self, path: &str) -> Vec<u8> {
        let place = DaemonPaths::new(&self.folder.path().join("data"), Some(self.folder.path()));
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let open = Call::post("/v1/page", &json!({ "user": "ann" }));
        let opened: Value = runtime
            .block_on(Client::new(place).ask(&open))
            .expect("the page opens");
        let url = opened["url"].as_str().expect("a link");
        let address = url.trim_start_matches("http://").split('/').next();
        let address: SocketAddr = address.expect("an address").parse().expect("an address");
        request(address, address, None, ("GET", path), None).1
    }

    pub(super) fn store(&self) -> PathBuf {
        self.folder.path().join("service/.global")
    }

    /// Ends daemon and service; what was told.
    pub(super) fn end(mut self) -> SideOutput {
        let log = self.daemon.end();
        let service_log = self.service.end();
        // The last spans are sent before the daemon ends.
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        let traces = traces.clone();
        // The store's files are looked at after this.
        let kept: &Path = self.folder.path();
        assert!(kept.exists());
        self.folder.disable_cleanup(true);
        SideOutput {
            traces,
            log,
            service_log,
        }
    }
}

fn request(
    address: SocketAddr,
    host: SocketAddr,
    token: Option<&str>,
    (method, path): (&str, &str),
    body: Option<&Value>,
) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let patience = Some(Duration::from_mins(1));
    stream.set_read_timeout(patience).expect("a timeout");
    let body = body.map(Value::to_string).unwrap_or_default();
    let token = token.map_or_else(String::new, |t| format!("Authorization: Bearer {t}\r\n"));
    let length = body.len();
    let sent = write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{token}Content-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    let mut answer = Vec::new();
    // A server that refuses early may close before all is sent.
    let _whole = sent.and_then(|()| stream.read_to_end(&mut answer)).is_ok();
    let status = answer.get(9..12).and_then(|s| std::str::from_utf8(s).ok());
    let status = status.and_then(|status| status.parse().ok());
    (status.unwrap_or_default(), answer)
}
