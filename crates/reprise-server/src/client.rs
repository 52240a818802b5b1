//! A client of the daemon: HTTP/1.1 over its Unix socket, started on demand, or over TCP to the
//! daemon of another machine.
//!
//! Reuses idle connections, repeats a request once if its connection broke, and gives up on a
//! daemon that hangs.

mod call;
mod operation;
mod problems;
mod remote;
mod start;

use std::io::ErrorKind;
use std::pin::pin;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::Response;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use reprise_types::lock;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::place::DaemonPaths;
use reprise_operations::{Problem, ProblemKind};

pub use call::Call;
pub(crate) use call::{AGENT_HEADER, percent_encode};
use problems::{broken_connection_problem, is_absent, unreachable_problem};
use remote::NetStream;
pub use remote::Remote;
pub use start::{Starter, reap_in_background};

/// Most idle connections that are kept for later requests.
const IDLE_CONNECTIONS_MAX: usize = 8;
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// After this long without a byte the client probes the daemon, which has as long to respond.
pub(crate) const DEFAULT_PATIENCE: Duration = Duration::from_secs(5);
/// Most failed probes in a row while a daemon that accepts no new clients finishes its work.
const ENDING_PROBES_MAX: usize = 12;
/// Longest time that a daemon may take to close its memories.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

type HttpSender = SendRequest<Full<Bytes>>;

/// Header in which the daemon names its version.
pub(crate) const VERSION_HEADER: &str = "reprise-version";

/// The daemon that a client talks to.
#[derive(Debug)]
enum DaemonTarget {
    Local(DaemonPaths, Option<Starter>),
    Remote(Remote),
}

/// Sends requests to one daemon; several may be under way at the same time.
#[derive(Debug)]
pub struct Client {
    target: DaemonTarget,
    patience: Duration,
    idle_connections: Mutex<Vec<HttpSender>>,
}

impl Client {
    /// Returns a client of the daemon of this data directory, if one runs.
    pub fn new(paths: DaemonPaths) -> Self {
        Self::with_target(DaemonTarget::Local(paths, None))
    }

    /// Returns a client of a daemon on another machine.
    pub fn new_remote(remote: Remote) -> Self {
        Self::with_target(DaemonTarget::Remote(remote))
    }

    fn with_target(target: DaemonTarget) -> Self {
        Self {
            target,
            patience: DEFAULT_PATIENCE,
            idle_connections: Mutex::default(),
        }
    }

    /// Makes the client give up on a daemon that is silent for twice `patience`.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Makes the client start a daemon if none runs.
    #[must_use]
    pub fn with_starter(self, starter: Starter) -> Self {
        let target = match self.target {
            DaemonTarget::Local(paths, _) => DaemonTarget::Local(paths, Some(starter)),
            remote @ DaemonTarget::Remote(_) => remote,
        };
        Self { target, ..self }
    }

    /// Returns whether a daemon listens here, even if its queue of waiting clients is full.
    pub async fn is_daemon_listening(paths: &DaemonPaths) -> bool {
        let answered = start::connect_to_daemon(paths).await;
        answered.map_or_else(|error| error.kind() == ErrorKind::WouldBlock, |_| true)
    }

    /// Returns the id of the process that listens here.
    pub(crate) async fn listening_process(paths: &DaemonPaths) -> Option<i32> {
        let stream = start::connect_to_daemon(paths).await.ok()?;
        stream.peer_cred().ok()?.pid()
    }

    /// Sends a request and returns the body of the response as bytes. If the connection broke or
    /// was closed meanwhile, the request is sent once more on a new one. A change carries an
    /// idempotency key, so that the daemon does not apply it twice.
    pub async fn ask_bytes(&self, call: &Call) -> Result<Bytes, Problem> {
        let kept = self.pop_idle_connection();
        let sender = match kept {
            Some(sender) => sender,
            None => self.open_connection().await?,
        };
        let response = match self
            .await_while_alive(self.send_and_read(sender, call))
            .await?
        {
            Ok(answered) => answered,
            Err(error) => {
                tracing::debug!(%error, "a connection broke; the request is sent once more");
                self.wait_until_answering_or_gone().await;
                let sender = self.open_connection().await?;
                let second = self
                    .await_while_alive(self.send_and_read(sender, call))
                    .await?;
                second.map_err(broken_connection_problem)?
            }
        };
        let (head, body) = response.into_parts();
        if head.status.is_success() {
            return Ok(body);
        }
        let problem = Problem::from_answer(head.status.as_u16(), &body);
        match &self.target {
            DaemonTarget::Local(..) => Err(problem),
            DaemonTarget::Remote(remote) => Err(match problem.kind {
                ProblemKind::Invalid | ProblemKind::NotFound | ProblemKind::Method => self
                    .find_version_mismatch(remote, &problem)
                    .await
                    .unwrap_or(problem),
                _ => remote.explain_for_remote(problem),
            }),
        }
    }

    /// Returns a problem that names both versions if the remote daemon is of another version: what
    /// it refuses may then be unknown to it.
    async fn find_version_mismatch(&self, remote: &Remote, problem: &Problem) -> Option<Problem> {
        let theirs = timeout(self.patience, self.fetch_version())
            .await
            .ok()?
            .ok()?;
        let (theirs, own) = (theirs.as_deref().unwrap_or("an older one"), VERSION);
        (theirs != own).then(|| {
            let detail = format!(
                "the daemon at {} is of another version ({theirs}; this is {own}) and refuses what \
                 was asked ({}); bring both to the same",
                remote.url(),
                problem.detail
            );
            Problem::new(ProblemKind::Method, detail)
        })
    }

    /// Returns the version of the daemon and how long an empty request takes.
    pub async fn measure_round_trip(&self) -> Result<(Option<String>, Duration), Problem> {
        let answered = self
            .fetch_version()
            .await
            .map_err(|error| self.problem_from_send_error(error))?;
        let since = Instant::now();
        self.ask_bytes(&Call::get("/health/live")).await?;
        Ok((answered, since.elapsed()))
    }

    /// Sends a request and decodes the JSON of its response.
    pub async fn ask<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Problem> {
        let body = self.ask_bytes(call).await?;
        serde_json::from_slice(&body).map_err(|error| {
            let what = match &self.target {
                DaemonTarget::Local(..) => "run `reprise serve --replace`".to_owned(),
                DaemonTarget::Remote(remote) => {
                    format!("bring {} and this to the same", remote.url())
                }
            };
            Problem::new(
                ProblemKind::Internal,
                format!(
                    "the daemon's answer cannot be read ({error}); it may be of another version: \
                     {what}"
                ),
            )
        })
    }

    /// Tells the daemon to end.
    pub async fn shut_down(&self) -> Result<Value, Problem> {
        self.ask(&Call::post("/v1/shutdown", &Value::Null)).await
    }

    /// Tells the daemon to end and waits until it has closed everything.
    pub async fn shut_down_and_wait(&self) -> Result<(), Problem> {
        let DaemonTarget::Local(paths, _) = &self.target else {
            let detail =
                "a daemon elsewhere is ended on its own machine; run `reprise serve stop` there";
            return Err(Problem::new(ProblemKind::Forbidden, detail));
        };
        let process = paths.recorded_process();
        self.shut_down().await?;
        let since = Instant::now();
        while paths.is_daemon_alive() && paths.recorded_process() == process {
            if since.elapsed() > SHUTDOWN_TIMEOUT {
                let (process, waited) = (process.unwrap_or_default(), SHUTDOWN_TIMEOUT.as_secs());
                let detail = format!(
                    "the daemon (process {process}) was told to end and is not done after {waited} \
                     s; wait for it, or end it with `kill {process}`"
                );
                return Err(Problem::new(ProblemKind::TimedOut, detail));
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Waits until the daemon responds or accepts no connection any more: for a moment the system
    /// still accepts connections for a daemon that was killed.
    async fn wait_until_answering_or_gone(&self) {
        let since = Instant::now();
        while since.elapsed() < self.patience {
            match timeout(self.patience, self.probe()).await {
                Ok(Err(SendError::Connection(_))) => sleep(POLL_INTERVAL).await,
                Ok(Err(SendError::Unreachable(error))) if !is_absent(&error) => {
                    sleep(POLL_INTERVAL).await;
                }
                _ => return,
            }
        }
    }

    /// Returns whether the daemon serves. A silent one counts as serving; one whose connections
    /// break was killed and does not.
    pub(crate) async fn is_serving(&self) -> bool {
        let is_answered = match &self.target {
            DaemonTarget::Local(paths, _) => Self::is_daemon_listening(paths).await,
            DaemonTarget::Remote(_) => true,
        };
        is_answered && !matches!(timeout(self.patience, self.probe()).await, Ok(Err(_)))
    }

    /// Waits for `answer` for as long as the daemon responds to probes.
    async fn await_while_alive<T>(&self, answer: impl Future<Output = T>) -> Result<T, Problem> {
        let mut answer = pin!(answer);
        let mut ending = 0;
        loop {
            if let Ok(answered) = timeout(self.patience, &mut answer).await {
                return Ok(answered);
            }
            match timeout(self.patience, self.probe()).await {
                Ok(Ok(())) => ending = 0,
                // No socket: it finishes what is under way and ends, which breaks our connection.
                Ok(Err(_)) if ending < ENDING_PROBES_MAX => ending += 1,
                _ => return Err(self.hung_daemon_problem()),
            }
        }
    }

    /// Checks on a new connection that the daemon responds.
    async fn probe(&self) -> Result<(), SendError> {
        self.fetch_version().await.map(drop)
    }

    /// Returns the version that the daemon reports; older daemons report none.
    async fn fetch_version(&self) -> Result<Option<String>, SendError> {
        let sender = perform_handshake(self.connect().await?).await?;
        let call = Call::get("/health/live");
        let response = self.send_and_read(sender, &call).await?;
        let version = response.headers().get(VERSION_HEADER);
        Ok(version.and_then(|version| version.to_str().ok().map(str::to_owned)))
    }

    async fn connect(&self) -> std::io::Result<Box<dyn NetStream>> {
        match &self.target {
            DaemonTarget::Local(paths, _) => Ok(Box::new(start::connect_to_daemon(paths).await?)),
            DaemonTarget::Remote(remote) => remote.connect().await,
        }
    }

    fn hung_daemon_problem(&self) -> Problem {
        let silent = (self.patience * 2).as_secs_f64();
        let paths = match &self.target {
            DaemonTarget::Local(paths, _) => paths,
            DaemonTarget::Remote(remote) => {
                let url = remote.url();
                let detail =
                    format!("the daemon at {url} has done nothing for {silent:.0} s; try later");
                return Problem::new(ProblemKind::TimedOut, detail);
            }
        };
        let process = paths
            .recorded_process()
            .unwrap_or_else(|| "unknown".to_owned());
        Problem::new(
            ProblemKind::TimedOut,
            format!(
                "the daemon (process {process}) has done nothing for {silent:.0} s; \
                 `reprise serve --replace` ends it and takes its place"
            ),
        )
    }

    /// Sends a request, reads the whole response and keeps the connection for the next request.
    async fn send_and_read(
        &self,
        mut sender: HttpSender,
        call: &Call,
    ) -> Result<Response<Bytes>, SendError> {
        sender.ready().await?;
        let request = call.build_request(&self.target);
        let request = request.map_err(SendError::Unsendable)?;
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        self.store_idle_connection(sender);
        Ok(Response::from_parts(head, body))
    }

    fn pop_idle_connection(&self) -> Option<HttpSender> {
        let mut kept = lock(&self.idle_connections);
        while let Some(sender) = kept.pop() {
            if !sender.is_closed() {
                return Some(sender);
            }
        }
        None
    }

    fn store_idle_connection(&self, sender: HttpSender) {
        let mut kept = lock(&self.idle_connections);
        if kept.len() < IDLE_CONNECTIONS_MAX && !sender.is_closed() {
            kept.push(sender);
        }
    }

    async fn open_connection(&self) -> Result<HttpSender, Problem> {
        let stream = match (self.connect().await, &self.target) {
            (Ok(stream), _) => stream,
            (Err(error), DaemonTarget::Local(paths, Some(starter))) if is_absent(&error) => {
                Box::new(start::start_daemon(paths, starter).await?)
            }
            (Err(error), DaemonTarget::Local(..)) if error.kind() == ErrorKind::WouldBlock => {
                return Err(self.hung_daemon_problem());
            }
            (Err(error), DaemonTarget::Local(paths, _)) => {
                return Err(unreachable_problem(paths, &error));
            }
            (Err(error), DaemonTarget::Remote(remote)) => {
                return Err(remote.unreachable_problem(&error));
            }
        };
        perform_handshake(stream)
            .await
            .map_err(broken_connection_problem)
    }

    fn problem_from_send_error(&self, error: SendError) -> Problem {
        match (error, &self.target) {
            (SendError::Unreachable(error), DaemonTarget::Remote(remote)) => {
                remote.unreachable_problem(&error)
            }
            (SendError::Unreachable(error), DaemonTarget::Local(paths, _)) => {
                unreachable_problem(paths, &error)
            }
            (SendError::Unsendable(problem), _) => problem,
            (SendError::Connection(error), _) => broken_connection_problem(error),
        }
    }
}

async fn perform_handshake(stream: impl NetStream + 'static) -> Result<HttpSender, hyper::Error> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to the daemon ended");
        }
    });
    Ok(sender)
}

#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error(transparent)]
    Connection(#[from] hyper::Error),
    #[error(transparent)]
    Unreachable(#[from] std::io::Error),
    #[error(transparent)]
    Unsendable(Problem),
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixListener;

    use super::*;

    /// What a daemon that was killed looks like while the system clears it away, and another after
    /// it: the first connections are taken and break.
    #[tokio::test]
    async fn a_daemon_that_was_killed_is_waited_out_until_another_answers() {
        let folder = tempfile::tempdir().unwrap();
        let paths = DaemonPaths::new(&folder.path().join("d"), Some(folder.path()));
        paths.create_folders().unwrap();
        let listener = UnixListener::bind(paths.socket()).unwrap();
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                if count.fetch_add(1, Ordering::SeqCst) < 5 {
                    continue;
                }
                let mut request = [0; 1024];
                let _request = stream.read(&mut request).await.unwrap();
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
                stream.write_all(answer).await.unwrap();
            }
        });
        let client = Client::new(paths);
        let answer: Value = client.ask(&Call::get("/v1/status")).await.unwrap();
        assert_eq!(answer, serde_json::json!({}));
        assert!(accepted.load(Ordering::SeqCst) > 5);
    }

    #[test]
    fn a_name_cannot_leave_its_part_of_the_path() {
        let user = "a+b@c".parse().unwrap();
        assert_eq!(
            Call::path_of(&user, &["records", "../x y/\u{e9}?#"]),
            "/v1/users/a%2Bb%40c/records/..%2Fx%20y%2F%C3%A9%3F%23"
        );
    }
}
