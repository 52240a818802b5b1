//! What each face adds to the engine's own time: a daemon of the bench's own with the model in it,
//! asked as users ask it. Every figure is of one client that asks one thing after the other.

use std::io::BufRead;
use std::process::{Child, ChildStdin, ChildStdout};

use reprise_operations::RecallAnswer;
use reprise_server::{Remote, Scope, TokenFile};

use super::corpus::{self, Dice};
use super::figures::{Times, resident_bytes_of, row};
use super::home::{BenchHome, USER};
use crate::prelude::*;
use reprise::lab::Runtime;

/// Questions asked at each face; the first ones warm it up.
const ASKED: usize = 300;
const WARM_UP: usize = 20;
/// Processes started for the command line and for hooks.
const PROCESSES: usize = 150;

/// Times of one face in milliseconds: as its user waits, and beyond the engine's own.
#[derive(Default)]
struct InterfaceTimes {
    whole: Vec<f64>,
    beyond: Vec<f64>,
}

impl InterfaceTimes {
    fn add_times(&mut self, began: Instant, engine_ms: f64) {
        let whole = began.elapsed().as_secs_f64() * 1e3;
        self.whole.push(whole);
        self.beyond.push(whole - engine_ms);
    }

    /// Returns the times as users wait, and the times beyond the engine's own.
    fn into_times(self) -> [Times; 2] {
        [self.whole, self.beyond]
            .map(|times| Times::from_times(times.into_iter().skip(WARM_UP).collect()))
    }
}

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    model::factory(context).context("this bench needs the model")?;
    let bench = Bench::start(context, records)?;
    let mut questions = make_questions();
    let faces = [
        (
            "HTTP, socket",
            bench.measure_http(&bench.client, &mut questions)?,
        ),
        (
            "HTTP, TCP",
            bench.measure_http(&bench.open_tcp_client()?, &mut questions)?,
        ),
        ("MCP, stdio", bench.measure_mcp(&mut questions)?),
        ("command line", bench.measure_commands(&mut questions)?),
        ("hook", bench.measure_hooks(&mut questions)?),
    ];
    let process = bench.status["pid"].to_string();
    let resident = resident_bytes_of(&Path::new("/proc").join(process).join("status"));
    bench.runtime.block_on(bench.client.shut_down())?;
    for (name, face) in faces {
        let [whole, beyond] = face.into_times();
        row!(context, { "face": name, "p50_ms": whole.p50, "p99_ms": whole.p99,
            "beyond_p50_ms": beyond.p50, "beyond_p99_ms": beyond.p99 })?;
    }
    row!(context, { "daemon_resident_mb": resident as f64 / 1e6 })
}

/// Questions without an end, none twice.
fn make_questions() -> impl Iterator<Item = String> {
    let mut dice = Dice(4_321);
    (0_usize..).map(move |number| format!("{} ({number})", corpus::make_question(&mut dice).0))
}

/// The daemon and what is needed to ask it.
struct Bench {
    _folder: tempfile::TempDir,
    home: BenchHome,
    path: String,
    runtime: Runtime,
    client: Client,
    status: Value,
    token: String,
}

impl Bench {
    fn start(context: &Context, records: usize) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let models = context.models_folder().to_owned();
        let home = BenchHome::new(folder.path(), ["--models-dir".into(), models.into()])?;
        corpus::create_filled_store(&home.memory_file()?, records)?.close()?;
        let tokens = TokenFile::new(home.daemon_paths()?.tokens());
        let token = tokens.add("bench", Scope::All, SystemClock.now())?;
        let (runtime, client, status) = home.start_daemon(&["--http", "127.0.0.1:0"])?;
        Ok(Self {
            _folder: folder,
            home,
            path: Call::path_of(&USER.parse()?, &["recall"]),
            runtime,
            client,
            status,
            token,
        })
    }

    fn measure_http(
        &self,
        client: &Client,
        questions: &mut impl Iterator<Item = String>,
    ) -> anyhow::Result<InterfaceTimes> {
        let mut face = InterfaceTimes::default();
        for question in questions.take(ASKED) {
            let call = Call::post(self.path.as_str(), &json!({ "query": question }));
            let began = Instant::now();
            let answer: RecallAnswer = self.runtime.block_on(client.ask(&call))?;
            face.add_times(began, answer.elapsed_ms);
            ensure!(!answer.results.is_empty(), "a recall found nothing");
        }
        Ok(face)
    }

    /// A client of its own, over TCP and with a token.
    fn open_tcp_client(&self) -> anyhow::Result<Client> {
        let address = self.status["http"].as_str().context("it listens on TCP")?;
        let url = format!("http://{address}");
        let remote = Remote::new(&url, &self.token, PathBuf::new(), false)?;
        Ok(Client::new_remote(remote))
    }

    fn piped_command(&self) -> Command {
        let mut command = self.home.command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    }

    fn measure_mcp(
        &self,
        questions: &mut impl Iterator<Item = String>,
    ) -> anyhow::Result<InterfaceTimes> {
        let mut command = self.piped_command();
        let mut session = Session::open(command.args(["mcp", "--user", USER]))?;
        let mut face = InterfaceTimes::default();
        for question in questions.take(ASKED) {
            let arguments = json!({ "name": "recall", "arguments": { "query": question } });
            let began = Instant::now();
            let answer = session.send_request("tools/call", &arguments)?;
            let engine = &answer["result"]["structuredContent"]["elapsed_ms"];
            face.add_times(
                began,
                engine.as_f64().context("an answer without its time")?,
            );
        }
        session.close()?;
        Ok(face)
    }

    fn measure_commands(
        &self,
        questions: &mut impl Iterator<Item = String>,
    ) -> anyhow::Result<InterfaceTimes> {
        let mut face = InterfaceTimes::default();
        for question in questions.take(PROCESSES) {
            let mut command = self.piped_command();
            let command = command.args(["--json", "recall", &question, "--user", USER]);
            let began = Instant::now();
            let output = command.output()?;
            ensure!(output.status.success(), "a command failed");
            let answer: RecallAnswer = serde_json::from_slice(&output.stdout)?;
            face.add_times(began, answer.elapsed_ms);
        }
        Ok(face)
    }

    /// A hook's engine time is not told: beyond is the whole.
    fn measure_hooks(
        &self,
        questions: &mut impl Iterator<Item = String>,
    ) -> anyhow::Result<InterfaceTimes> {
        let mut face = InterfaceTimes::default();
        for question in questions.take(PROCESSES) {
            let event = json!({ "session_id": "bench", "cwd": "/", "prompt": question });
            let began = Instant::now();
            let mut command = self.piped_command();
            let command = command.args(["hook", "user-prompt", "--user", USER]);
            let mut hook = command.spawn()?;
            let mut stdin = hook.stdin.take().context("it reads")?;
            stdin.write_all(event.to_string().as_bytes())?;
            drop(stdin);
            ensure!(hook.wait_with_output()?.status.success(), "a hook failed");
            face.add_times(began, 0.0);
        }
        Ok(face)
    }
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
        session.send_request("initialize", &hello)?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(session.stdin, "{ready}")?;
        Ok(session)
    }

    fn send_request(&mut self, method: &str, parameters: &Value) -> anyhow::Result<Value> {
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
