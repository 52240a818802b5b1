//! A client of the daemon: HTTP/1.1 over its Unix socket, started on demand, or over TCP to the
//! daemon of another machine.
//!
//! Connections that are kept, one repetition of a request whose connection broke, the end of
//! patience with a daemon that hangs.

mod operation;
mod remote;
mod start;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::io::ErrorKind;
use std::pin::pin;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use reprise_types::{UserId, lock, system_entropy};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::place::Place;
use reprise_operations::{Problem, ProblemKind};

pub use remote::Remote;
use remote::Way;
pub use start::Starter;

/// Connections kept for the next request.
const KEPT_MAX: usize = 8;
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A daemon that has said nothing for so long is asked whether it lives, and has as long to say so.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// How often one that takes no new clients any more, because it ends, is waited for once more.
const ENDING_LOOKS_MAX: usize = 12;
/// How long a daemon may take to close its memories, and between two looks at whether it has.
const ENDING: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(5);

type Sender = SendRequest<Full<Bytes>>;

/// Names the version of the daemon that answers.
pub(crate) const VERSION_HEADER: &str = "reprise-version";

/// Where the daemon is.
#[derive(Debug)]
enum At {
    Place(Place, Option<Starter>),
    Remote(Remote),
}

/// Asks one daemon. Requests may be under way at the same time.
#[derive(Debug)]
pub struct Client {
    at: At,
    patience: Duration,
    kept: Mutex<Vec<Sender>>,
}

#[derive(Debug, Clone)]
pub struct Call {
    method: Method,
    path: String,
    body: Bytes,
    media: &'static str,
    key: Option<String>,
}

impl Call {
    /// Reads what `path` names.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            body: Bytes::new(),
            media: "application/json",
            key: None,
        }
    }

    /// The same with a query string.
    #[must_use]
    pub fn asking(mut self, pairs: &[(&str, String)]) -> Self {
        for (place, (name, value)) in pairs.iter().enumerate() {
            self.path.push(if place == 0 { '?' } else { '&' });
            self.path.push_str(&encoded(name));
            self.path.push('=');
            self.path.push_str(&encoded(value));
        }
        self
    }

    /// Sends `body` to `path`.
    pub fn post(path: impl Into<String>, body: &Value) -> Self {
        Self {
            method: Method::POST,
            body: body.to_string().into(),
            ..Self::change(path)
        }
    }

    /// Sends lines of JSON to `path`.
    pub fn post_lines(path: impl Into<String>, lines: String) -> Self {
        Self {
            body: lines.into(),
            media: "application/x-ndjson",
            ..Self::post(path, &Value::Null)
        }
    }

    /// Changes what `path` names.
    pub fn patch(path: impl Into<String>, body: &Value) -> Self {
        Self {
            method: Method::PATCH,
            ..Self::post(path, body)
        }
    }

    /// Removes what `path` names.
    pub fn delete(path: impl Into<String>) -> Self {
        Self {
            method: Method::DELETE,
            ..Self::change(path)
        }
    }

    /// A request under a name of its own, so that it may be sent twice.
    fn change(path: impl Into<String>) -> Self {
        Self {
            key: Some(format!("{:032x}", system_entropy())),
            ..Self::get(path)
        }
    }

    /// Gives the request a name that outlives this process.
    #[must_use]
    pub fn named(self, key: impl Into<String>) -> Self {
        let key = Some(key.into());
        Self { key, ..self }
    }

    /// The path of something in a user's memory: `parts` are encoded.
    pub fn path_of(user: &UserId, parts: &[&str]) -> String {
        let mut path = format!("/v1/users/{}", encoded(user.as_str()));
        for part in parts {
            path.push('/');
            path.push_str(&encoded(part));
        }
        path
    }

    fn request(&self, at: &At) -> Result<Request<Full<Bytes>>, Problem> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .header(CONTENT_TYPE, self.media);
        request = match at {
            At::Place(..) => request.uri(&self.path).header(HOST, "localhost"),
            At::Remote(remote) => request
                .uri(format!("{}{}", remote.prefix, self.path))
                .header(HOST, &remote.authority)
                .header(AUTHORIZATION, &remote.bearer),
        };
        if let Some(key) = &self.key {
            request = request.header("idempotency-key", key);
        }
        let body = Full::new(self.body.clone());
        request.body(body).map_err(Problem::invalid)
    }
}

/// Percent-encodes all but unreserved characters (RFC 3986): a part of a path, a value of a query.
pub(crate) fn encoded(part: &str) -> String {
    const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    utf8_percent_encode(part, UNRESERVED).to_string()
}

impl Client {
    /// A client that uses a daemon where one runs.
    pub fn new(place: Place) -> Self {
        Self::at(At::Place(place, None))
    }

    /// A client of a daemon on another machine.
    pub fn remote(remote: Remote) -> Self {
        Self::at(At::Remote(remote))
    }

    fn at(at: At) -> Self {
        Self {
            at,
            patience: PATIENCE,
            kept: Mutex::default(),
        }
    }

    /// The same, giving up on a daemon that does nothing at all for twice so long.
    #[must_use]
    pub fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The same, starting a daemon where none runs.
    #[must_use]
    pub fn starting(self, starter: Starter) -> Self {
        let at = match self.at {
            At::Place(place, _) => At::Place(place, Some(starter)),
            remote @ At::Remote(_) => remote,
        };
        Self { at, ..self }
    }

    /// Whether a daemon is at this place, even one with more clients waiting than it takes.
    pub async fn is_answered(place: &Place) -> bool {
        let met = start::connect(place).await;
        met.map_or_else(|error| error.kind() == ErrorKind::WouldBlock, |_| true)
    }

    /// The process that listens at this place.
    pub(crate) async fn listener(place: &Place) -> Option<i32> {
        let stream = start::connect(place).await.ok()?;
        stream.peer_cred().ok()?.pid()
    }

    /// Starts a daemon now where none runs, for a request that is still to come.
    pub async fn wake(&self) -> Result<(), Problem> {
        let sender = self.open().await?;
        self.keep(sender);
        Ok(())
    }

    /// The answer to a request, as it came. A connection that broke, or had been closed meanwhile,
    /// is replaced once. A change has a name, so that what was done before the break is not done
    /// again.
    pub async fn bytes(&self, call: &Call) -> Result<Bytes, Problem> {
        let kept = self.take();
        let sender = match kept {
            Some(sender) => sender,
            None => self.open().await?,
        };
        let (status, body) = match self.watched(self.answer(sender, call)).await? {
            Ok(answered) => answered,
            Err(error) => {
                tracing::debug!(%error, "a connection broke; the request is sent once more");
                self.settled().await;
                let sender = self.open().await?;
                let second = self.watched(self.answer(sender, call)).await?;
                second.map_err(broken)?
            }
        };
        if status.is_success() {
            return Ok(body);
        }
        let problem = Problem::from_answer(status.as_u16(), &body);
        match &self.at {
            At::Place(..) => Err(problem),
            At::Remote(remote) => Err(match problem.kind {
                ProblemKind::Invalid | ProblemKind::NotFound | ProblemKind::Method => {
                    self.unlike(remote, &problem).await.unwrap_or(problem)
                }
                _ => remote.told(problem),
            }),
        }
    }

    /// That the daemon elsewhere is of another version, where it is: then what it refuses it may
    /// not know.
    async fn unlike(&self, remote: &Remote, problem: &Problem) -> Option<Problem> {
        let theirs = timeout(self.patience, self.version()).await.ok()?.ok()?;
        let (theirs, own) = (theirs.as_deref().unwrap_or("an older one"), VERSION);
        (theirs != own).then(|| {
            let said = format!(
                "the daemon at {} is of another version ({theirs}; this is {own}) and refuses what \
                 was asked ({}); bring both to the same",
                remote.url(),
                problem.detail
            );
            Problem::new(ProblemKind::Method, said)
        })
    }

    /// The version of the daemon, and how long a request that asks for nothing takes.
    pub async fn round_trip(&self) -> Result<(Option<String>, Duration), Problem> {
        let met = self.version().await.map_err(|error| self.lost(error))?;
        let since = Instant::now();
        self.bytes(&Call::get("/health/live")).await?;
        Ok((met, since.elapsed()))
    }

    /// The answer to a request.
    pub async fn ask<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Problem> {
        let body = self.bytes(call).await?;
        serde_json::from_slice(&body).map_err(|error| {
            let what = match &self.at {
                At::Place(..) => "run `reprise serve --replace`".to_owned(),
                At::Remote(remote) => format!("bring {} and this to the same", remote.url()),
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

    /// Tells the daemon to end, and waits until it has: all that it held is closed then.
    pub async fn end(&self) -> Result<(), Problem> {
        let At::Place(place, _) = &self.at else {
            let said = "a daemon elsewhere is ended on its own machine; run `reprise stop` there";
            return Err(Problem::new(ProblemKind::Forbidden, said));
        };
        let process = place.process();
        self.shut_down().await?;
        let since = Instant::now();
        while place.is_held() && place.process() == process {
            if since.elapsed() > ENDING {
                let (process, waited) = (process.unwrap_or_default(), ENDING.as_secs());
                let said = format!(
                    "the daemon (process {process}) was told to end and is not done after {waited} \
                     s; wait for it, or end it with `kill {process}`"
                );
                return Err(Problem::new(ProblemKind::TimedOut, said));
            }
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Waits until the daemon answers, or takes no connection any more: the system still takes some
    /// for a daemon that was killed, while it clears it away.
    async fn settled(&self) {
        let since = Instant::now();
        while since.elapsed() < self.patience {
            match timeout(self.patience, self.live()).await {
                Ok(Err(SendError::Connection(_))) => sleep(LOOK).await,
                Ok(Err(SendError::Unreachable(error))) if !is_absent(&error) => sleep(LOOK).await,
                _ => return,
            }
        }
    }

    /// Whether the daemon of this place serves: one that is silent does, one whose connections
    /// break is being cleared away.
    pub(crate) async fn serves(&self) -> bool {
        let is_answered = match &self.at {
            At::Place(place, _) => Self::is_answered(place).await,
            At::Remote(_) => true,
        };
        is_answered && !matches!(timeout(self.patience, self.live()).await, Ok(Err(_)))
    }

    /// Waits for as long as the daemon lives: work may be long, silence may not.
    async fn watched<T>(&self, answer: impl Future<Output = T>) -> Result<T, Problem> {
        let mut answer = pin!(answer);
        let mut ending = 0;
        loop {
            if let Ok(answered) = timeout(self.patience, &mut answer).await {
                return Ok(answered);
            }
            match timeout(self.patience, self.live()).await {
                Ok(Ok(())) => ending = 0,
                // No socket: it finishes what is under way and ends, which breaks our connection.
                Ok(Err(_)) if ending < ENDING_LOOKS_MAX => ending += 1,
                _ => return Err(self.hung()),
            }
        }
    }

    /// Asks for nothing but an answer, on a connection of its own.
    async fn live(&self) -> Result<(), SendError> {
        self.version().await.map(drop)
    }

    /// The version that the daemon says it has; older ones say nothing.
    async fn version(&self) -> Result<Option<String>, SendError> {
        let mut sender = connected(self.way().await?).await?;
        let call = Call::get("/health/live");
        let response = sent(&mut sender, &call, &self.at).await?;
        let version = response.headers().get(VERSION_HEADER);
        let version = version.and_then(|version| version.to_str().ok().map(str::to_owned));
        response.into_body().collect().await?;
        self.keep(sender);
        Ok(version)
    }

    async fn way(&self) -> std::io::Result<Box<dyn Way>> {
        match &self.at {
            At::Place(place, _) => Ok(Box::new(start::connect(place).await?)),
            At::Remote(remote) => remote.connect().await,
        }
    }

    fn hung(&self) -> Problem {
        let silent = (self.patience * 2).as_secs_f64();
        let place = match &self.at {
            At::Place(place, _) => place,
            At::Remote(remote) => {
                let url = remote.url();
                let said =
                    format!("the daemon at {url} has done nothing for {silent:.0} s; try later");
                return Problem::new(ProblemKind::TimedOut, said);
            }
        };
        let process = place.process().unwrap_or_else(|| "unknown".to_owned());
        Problem::new(
            ProblemKind::TimedOut,
            format!(
                "the daemon (process {process}) has done nothing for {silent:.0} s; \
                 `reprise serve --replace` ends it and takes its place"
            ),
        )
    }

    /// The whole answer; its connection is kept for the next request.
    async fn answer(
        &self,
        mut sender: Sender,
        call: &Call,
    ) -> Result<(StatusCode, Bytes), SendError> {
        let response = sent(&mut sender, call, &self.at).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        self.keep(sender);
        Ok((status, body))
    }

    fn take(&self) -> Option<Sender> {
        let mut kept = lock(&self.kept);
        while let Some(sender) = kept.pop() {
            if !sender.is_closed() {
                return Some(sender);
            }
        }
        None
    }

    fn keep(&self, sender: Sender) {
        let mut kept = lock(&self.kept);
        if kept.len() < KEPT_MAX && !sender.is_closed() {
            kept.push(sender);
        }
    }

    async fn open(&self) -> Result<Sender, Problem> {
        let stream = match (self.way().await, &self.at) {
            (Ok(stream), _) => stream,
            (Err(error), At::Place(place, Some(starter))) if is_absent(&error) => {
                Box::new(start::start(place, starter).await?)
            }
            (Err(error), At::Place(..)) if error.kind() == ErrorKind::WouldBlock => {
                return Err(self.hung());
            }
            (Err(error), At::Place(place, _)) => return Err(unreachable(place, &error)),
            (Err(error), At::Remote(remote)) => return Err(remote.unreachable(&error)),
        };
        connected(stream).await.map_err(broken)
    }

    fn lost(&self, error: SendError) -> Problem {
        match (error, &self.at) {
            (SendError::Unreachable(error), At::Remote(remote)) => remote.unreachable(&error),
            (SendError::Unreachable(error), At::Place(place, _)) => unreachable(place, &error),
            (SendError::Unsendable(problem), _) => problem,
            (SendError::Connection(error), _) => broken(error),
        }
    }
}

async fn connected(stream: impl Way + 'static) -> Result<Sender, hyper::Error> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to the daemon ended");
        }
    });
    Ok(sender)
}

/// Sends a request; its answer has begun.
async fn sent(sender: &mut Sender, call: &Call, at: &At) -> Result<Response<Incoming>, SendError> {
    sender.ready().await?;
    let request = call.request(at).map_err(SendError::Unsendable)?;
    Ok(sender.send_request(request).await?)
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

/// No socket, or one that its daemon left behind.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::ConnectionRefused
    )
}

fn unreachable(place: &Place, error: &std::io::Error) -> Problem {
    let socket = place.socket();
    Problem::new(
        ProblemKind::Unavailable,
        format!(
            "no daemon answers at `{}` ({error}); run `reprise serve`",
            socket.display()
        ),
    )
}

fn broken(error: impl std::fmt::Display) -> Problem {
    Problem::new(
        ProblemKind::Unavailable,
        format!("the connection to the daemon broke twice ({error}); try again"),
    )
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
        let place = Place::new(&folder.path().join("d"), Some(folder.path()));
        place.prepare().unwrap();
        let listener = UnixListener::bind(place.socket()).unwrap();
        let taken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&taken);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                if count.fetch_add(1, Ordering::SeqCst) < 5 {
                    continue;
                }
                let mut asked = [0; 1024];
                let _request = stream.read(&mut asked).await.unwrap();
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
                stream.write_all(answer).await.unwrap();
            }
        });
        let client = Client::new(place);
        let answer: Value = client.ask(&Call::get("/v1/status")).await.unwrap();
        assert_eq!(answer, serde_json::json!({}));
        assert!(taken.load(Ordering::SeqCst) > 5);
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
