//! What each face adds to the engine's own time: a daemon of the bench's own with the model in it,
//! asked as users ask it. Every figure is of one client that asks one thing after the other.

use std::io::{BufRead, Read};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout};

use reprise_operations::Answer;
use reprise_server::{Scope, Starter, TokenFile};

use super::corpus::{self, Dice};
use super::figures::{Times, resident_bytes_of, row, say};
use crate::cli::prelude::*;
use crate::cli::runtime::Runtime;

/// Questions asked at each face; the first ones warm it up.
const ASKED: usize = 300;
const WARM_UP: usize = 20;
/// Processes started for the command line and for hooks.
const PROCESSES: usize = 150;

/// Times of one face in milliseconds: as its user waits, and beyond the engine's own.
#[derive(Default)]
struct Face {
    whole: Vec<f64>,
    beyond: Vec<f64>,
}

impl Face {
    fn note(&mut self, began: Instant, engine_ms: f64) {
        let whole = began.elapsed().as_secs_f64() * 1e3;
        self.whole.push(whole);
        self.beyond.push(whole - engine_ms);
    }

    /// Of the whole, and of what is beyond.
    fn settled(self) -> [Times; 2] {
        [self.whole, self.beyond].map(|times| Times::of(times.into_iter().skip(WARM_UP).collect()))
    }
}

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    model::factory(context).context("this bench needs the model")?;
    let bench = Bench::start(context, records)?;
    let mut questions = questions();
    let faces = [
        ("HTTP, socket", bench.socket(&mut questions)?),
        ("HTTP, TCP", bench.tcp(&mut questions)?),
        ("MCP, stdio", bench.mcp(&mut questions)?),
        ("command line", bench.commands(&mut questions)?),
        ("hook", bench.hooks(&mut questions)?),
    ];
    let resident = bench.resident_bytes();
    bench.end()?;
    for (name, face) in faces {
        let [whole, beyond] = face.settled();
        let row = row!({ "face": name, "p50_ms": whole.p50, "p99_ms": whole.p99,
            "beyond_p50_ms": beyond.p50, "beyond_p99_ms": beyond.p99 });
        say(context, row)?;
    }
    let row = row!({ "daemon_resident_mb": resident as f64 / 1e6 });
    say(context, row)
}

/// Questions without an end, none twice.
fn questions() -> impl Iterator<Item = String> {
    let mut dice = Dice(4_321);
    (0_usize..).map(move |number| format!("{} ({number})", corpus::question(&mut dice).0))
}

/// The daemon and what is needed to ask it.
struct Bench {
    folder: tempfile::TempDir,
    program: PathBuf,
    models: PathBuf,
    user: UserId,
    runtime: Runtime,
    client: Client,
    status: Value,
    token: String,
}

impl Bench {
    fn start(context: &Context, records: usize) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let data = folder.path().join("data");
        let user: UserId = "bench".parse()?;
        let file = data.join(user.as_str()).join("memory.rvf");
        fs_err::create_dir_all(file.parent().unwrap_or(&data))?;
        corpus::filled(&file, records)?.close()?;
        let place = reprise_server::Place::new(&data, Some(folder.path()));
        place.prepare()?;
        let tokens = TokenFile::new(place.tokens());
        let token = tokens.add("bench", Scope::All, SystemClock.now())?;
        let program = std::env::current_exe()?;
        let models = context.places.models.clone();
        let arguments = [
            "--data-dir".into(),
            data.into(),
            "--models-dir".into(),
            models.clone().into(),
            "serve".into(),
            "--idle-exit".into(),
            "600".into(),
            "--http".into(),
            "127.0.0.1:0".into(),
        ];
        let starter = Starter {
            program: program.clone(),
            arguments: arguments.into(),
        };
        let runtime = runtime::threaded()?;
        let client = Client::new(place).starting(starter);
        let status: Value = runtime.block_on(client.ask(&Call::get("/v1/status")))?;
        Ok(Self {
            folder,
            program,
            models,
            user,
            runtime,
            client,
            status,
            token,
        })
    }

    fn path(&self) -> String {
        Call::path_of(&self.user, &["recall"])
    }

    fn socket(&self, questions: &mut impl Iterator<Item = String>) -> anyhow::Result<Face> {
        let mut face = Face::default();
        for question in questions.take(ASKED) {
            let call = Call::post(self.path(), &json!({ "query": question }));
            let began = Instant::now();
            let answer: Answer = self.runtime.block_on(self.client.ask(&call))?;
            face.note(began, answer.elapsed_ms);
            ensure!(!answer.results.is_empty(), "a recall found nothing");
        }
        Ok(face)
    }

    fn tcp(&self, questions: &mut impl Iterator<Item = String>) -> anyhow::Result<Face> {
        let address = self.status["http"].as_str().context("it listens on TCP")?;
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let (path, token) = (self.path(), &self.token);
        let mut face = Face::default();
        for question in questions.take(ASKED) {
            let body = json!({ "query": question }).to_string();
            let length = body.len();
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
                 Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            let began = Instant::now();
            stream.write_all(request.as_bytes())?;
            let answer: Answer = serde_json::from_slice(&body_of(&mut stream)?)?;
            face.note(began, answer.elapsed_ms);
        }
        Ok(face)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env_remove("REPRISE_LOG")
            .arg("--data-dir")
            .arg(self.folder.path().join("data"))
            .arg("--models-dir")
            .arg(&self.models)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    }

    fn mcp(&self, questions: &mut impl Iterator<Item = String>) -> anyhow::Result<Face> {
        let mut command = self.command();
        let mut session = Session::open(command.args(["mcp", "--user", self.user.as_str()]))?;
        let mut face = Face::default();
        for question in questions.take(ASKED) {
            let arguments = json!({ "name": "recall", "arguments": { "query": question } });
            let began = Instant::now();
            let answer = session.ask("tools/call", &arguments)?;
            let engine = &answer["result"]["structuredContent"]["elapsed_ms"];
            face.note(
                began,
                engine.as_f64().context("an answer without its time")?,
            );
        }
        session.close()?;
        Ok(face)
    }

    fn commands(&self, questions: &mut impl Iterator<Item = String>) -> anyhow::Result<Face> {
        let mut face = Face::default();
        for question in questions.take(PROCESSES) {
            let mut command = self.command();
            let command = command.args(["--json", "recall", &question, "--user"]);
            let began = Instant::now();
            let output = command.arg(self.user.as_str()).output()?;
            ensure!(output.status.success(), "a command failed");
            let answer: Answer = serde_json::from_slice(&output.stdout)?;
            face.note(began, answer.elapsed_ms);
        }
        Ok(face)
    }

    /// A hook's engine time is not told: beyond is the whole.
    fn hooks(&self, questions: &mut impl Iterator<Item = String>) -> anyhow::Result<Face> {
        let mut face = Face::default();
        for question in questions.take(PROCESSES) {
            let event = json!({ "session_id": "bench", "cwd": "/", "prompt": question });
            let began = Instant::now();
            let mut command = self.command();
            let command = command.args(["hook", "user-prompt", "--user", self.user.as_str()]);
            let mut hook = command.spawn()?;
            let mut stdin = hook.stdin.take().context("it reads")?;
            stdin.write_all(event.to_string().as_bytes())?;
            drop(stdin);
            ensure!(hook.wait_with_output()?.status.success(), "a hook failed");
            face.note(began, 0.0);
        }
        Ok(face)
    }

    fn resident_bytes(&self) -> u64 {
        let process = self.status["pid"].to_string();
        resident_bytes_of(&Path::new("/proc").join(process).join("status"))
    }

    fn end(self) -> anyhow::Result<()> {
        self.runtime.block_on(self.client.shut_down())?;
        Ok(())
    }
}

/// The body of one answer on a connection that stays open.
fn body_of(stream: &mut TcpStream) -> anyhow::Result<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        ensure!(
            !line.starts_with("http/") || line.contains(" 200 "),
            "{line}"
        );
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

/// One session of MCP over a process's stdin and stdout.
struct Session {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last: u64,
}

impl Session {
    fn open(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().context("it reads")?;
        let stdout = BufReader::new(child.stdout.take().context("it writes")?);
        let mut session = Self {
            child,
            stdin,
            stdout,
            last: 0,
        };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" } });
        session.ask("initialize", &hello)?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(session.stdin, "{ready}")?;
        Ok(session)
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> anyhow::Result<Value> {
        self.last += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last, "method": method,
            "params": parameters });
        writeln!(self.stdin, "{request}")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    fn close(mut self) -> anyhow::Result<()> {
        drop(self.stdin);
        ensure!(self.child.wait()?.success(), "the MCP server failed");
        Ok(())
    }
}
