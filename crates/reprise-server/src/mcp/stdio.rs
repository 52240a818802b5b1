//! Transport over stdin and stdout, which are pipes or sockets of an agent's program. They are read
//! and written without a thread in between, which would cost each message two wake-ups.
//!
//! A message is a line, or a body after headers with its length, as editors write them; the answer
//! comes in the same framing. rmcp's own transport drops a line that is too long or no JSON, and
//! its sender would wait for ever; this one sends an error.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reprise_types::{is_unsafe_to_display, repair_json};
use rmcp::model::{ClientRequest, GetMeta, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize as _;
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// Longest message that is read, in bytes.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Header with the number of bytes of the body that follows the headers.
const LENGTH_HEADER: &str = "content-length:";

type Received = RxJsonRpcMessage<RoleServer>;
type Sent = TxJsonRpcMessage<RoleServer>;
type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// A descriptor that can be read or written without a thread.
enum StdioEnd {
    Pipe(OwnedFd),
    Socket(UnixStream),
}

/// Opens stdin and stdout; a terminal or a file is read and written by threads.
pub(super) fn open() -> LineTransport<Reader, Writer> {
    let reader = open_descriptor(&io::stdin()).and_then(|way| -> io::Result<Reader> {
        Ok(match way {
            StdioEnd::Pipe(end) => Box::new(pipe::Receiver::from_owned_fd(end)?),
            StdioEnd::Socket(stream) => Box::new(stream),
        })
    });
    let writer = open_descriptor(&io::stdout()).and_then(|way| -> io::Result<Writer> {
        Ok(match way {
            StdioEnd::Pipe(end) => Box::new(pipe::Sender::from_owned_fd(end)?),
            StdioEnd::Socket(stream) => Box::new(stream),
        })
    });
    LineTransport::new(
        reader.unwrap_or_else(|_| Box::new(tokio::io::stdin())),
        writer.unwrap_or_else(|_| Box::new(tokio::io::stdout())),
    )
}

fn open_descriptor(descriptor: &impl AsFd) -> io::Result<StdioEnd> {
    let file = File::from(descriptor.as_fd().try_clone_to_owned()?);
    let kind = file.metadata()?.file_type();
    let end = OwnedFd::from(file);
    if kind.is_fifo() {
        return Ok(StdioEnd::Pipe(end));
    }
    if kind.is_socket() {
        let stream = std::os::unix::net::UnixStream::from(end);
        stream.set_nonblocking(true)?;
        return Ok(StdioEnd::Socket(UnixStream::from_std(stream)?));
    }
    Err(io::ErrorKind::Unsupported.into())
}

/// A transport of JSON-RPC with one message a line, or after headers.
pub(super) struct LineTransport<R, W> {
    reader: BufReader<R>,
    /// The part of a line or body that was read so far.
    line: Vec<u8>,
    /// The message is longer than the limit: the rest of it is skipped.
    is_too_long: bool,
    /// Bytes of the body that the headers announce which are read now.
    announced: Option<usize>,
    /// Bytes of the body that are still to come, once the headers have ended.
    body_left: Option<usize>,
    /// Whether a session has begun.
    is_open: bool,
    writer: Arc<MessageWriter<W>>,
    /// An error response that is being written.
    answer: Option<JoinHandle<io::Result<()>>>,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    pub(super) fn new(read: R, write: W) -> Self {
        Self {
            reader: BufReader::new(read),
            line: Vec::new(),
            is_too_long: false,
            announced: None,
            body_left: None,
            is_open: false,
            writer: Arc::new(MessageWriter {
                end: Mutex::new(Some(write)),
                has_headers: AtomicBool::new(false),
            }),
            answer: None,
        }
    }

    /// Reads the next message; `None` at the end. If the future is dropped, the next call goes on
    /// where it stopped.
    async fn next_message(&mut self) -> Option<Result<Vec<u8>, LineFault>> {
        loop {
            let read = self.reader.fill_buf().await;
            let read = read.inspect_err(|error| tracing::error!(%error, "stdin cannot be read"));
            let read = read.ok().filter(|read| !read.is_empty())?;
            let (taken, is_whole) = match self.body_left {
                Some(left) => (left.min(read.len()), left <= read.len()),
                None => match read.iter().position(|byte| *byte == b'\n') {
                    Some(end) => (end + 1, true),
                    None => (read.len(), false),
                },
            };
            self.is_too_long |= self.line.len() + taken > LINE_BYTES_MAX;
            if self.is_too_long {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.reader.consume(taken);
            self.body_left = self.body_left.map(|left| left - taken);
            if !is_whole {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let is_body = self.body_left.take().is_some();
            if std::mem::take(&mut self.is_too_long) {
                let detail = format!("the message has more than {LINE_BYTES_MAX} bytes; send less");
                return Some(Err((ErrorData::invalid_request(detail, None), None)));
            }
            match parse_header(&line, self.announced.is_some()).filter(|_| !is_body) {
                None if is_body => {
                    self.writer.has_headers.store(true, Ordering::Relaxed);
                    return Some(Ok(line));
                }
                Some(Header::Length(length)) => self.announced = Some(length),
                Some(Header::Unreadable(written)) => {
                    let detail = format!(
                        "`Content-Length: {written:.32}` is no number of bytes; send the body's \
                         length"
                    );
                    return Some(Err((ErrorData::invalid_request(detail, None), None)));
                }
                Some(Header::Other) => {}
                Some(Header::End) => self.body_left = self.announced.take().filter(|n| *n > 0),
                None => {
                    self.announced = None;
                    self.writer.has_headers.store(false, Ordering::Relaxed);
                    return Some(Ok(line));
                }
            }
        }
    }

    /// Returns whether a message needs no answer and comes before a session has begun.
    fn is_ignorable_before_session(&self, message: &Received) -> bool {
        !self.is_open && !matches!(message, Received::Request(_))
    }

    /// Returns an error for a request that comes before a session has begun. A request that names
    /// its protocol begins one.
    fn reject_before_session(&mut self, message: &Received) -> Option<LineFault> {
        let Received::Request(asked) = message else {
            return None;
        };
        match &asked.request {
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => return None,
            ClientRequest::InitializeRequest(_) => self.is_open = true,
            request => self.is_open |= request.get_meta().protocol_version().is_some(),
        }
        if self.is_open {
            return None;
        }
        let unfit = match &asked.request {
            ClientRequest::CustomRequest(request) => super::find_params_error(request),
            _ => None,
        };
        let fault = unfit.unwrap_or_else(|| {
            let method = asked.request.method();
            let detail = format!("initialize first; `{method:.64}` comes after it");
            ErrorData::invalid_request(detail, None)
        });
        Some((fault, Some(asked.id.clone())))
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: Sent) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = Arc::clone(&self.writer);
        async move { writer.write(message).await }
    }

    async fn receive(&mut self) -> Option<Received> {
        loop {
            if let Some(answer) = &mut self.answer {
                let written = answer.await;
                self.answer = None;
                written.ok()?.ok()?;
            }
            let fault = match self.next_message().await? {
                Ok(line) => match parse_message(&line) {
                    Ok(Some(message)) if self.is_ignorable_before_session(&message) => continue,
                    Ok(Some(message)) => match self.reject_before_session(&message) {
                        Some(fault) => fault,
                        None => return Some(message),
                    },
                    Ok(None) => continue,
                    Err(fault) => fault,
                },
                Err(fault) => fault,
            };
            let (error, id) = fault;
            // Receiving may be cancelled at any moment, and half a response would spoil the next
            // one.
            let writer = Arc::clone(&self.writer);
            let answer = async move { writer.write(Sent::error(error, id)).await };
            self.answer = Some(tokio::spawn(answer));
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.writer.end.lock().await.take());
        Ok(())
    }
}

/// An error about a line, and the id of its request if it can be read.
type LineFault = (ErrorData, Option<RequestId>);

/// The end that answers are written to.
struct MessageWriter<W> {
    end: Mutex<Option<W>>,
    /// Whether the last message that was read had headers: then those that are written have them.
    has_headers: AtomicBool,
}

impl<W: AsyncWrite + Unpin> MessageWriter<W> {
    async fn write(&self, message: Sent) -> io::Result<()> {
        let body = escape_unsafe(serde_json::to_string(&message)?);
        let framed = if self.has_headers.load(Ordering::Relaxed) {
            format!("Content-Length: {}\r\n\r\n{body}", body.len())
        } else {
            body + "\n"
        };
        let mut end = self.end.lock().await;
        let end = end.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        end.write_all(framed.as_bytes()).await?;
        end.flush().await
    }
}

/// A line before a body.
#[derive(Debug, PartialEq, Eq)]
enum Header {
    /// The length of the body.
    Length(usize),
    /// A length that is no number of bytes, as it is written.
    Unreadable(String),
    /// Another header.
    Other,
    /// The blank line after the headers.
    End,
}

/// Parses a line as one of the headers before a body, of which one may have announced its length
/// already. A length that follows the rest of a body counts, too: some programs count characters,
/// and the body of the next message would be lost.
fn parse_header(line: &[u8], is_announced: bool) -> Option<Header> {
    let line = str::from_utf8(line).ok()?.trim();
    if line.is_empty() {
        return Some(Header::End);
    }
    if line.starts_with(['{', '[', '\u{feff}']) {
        return None;
    }
    let found = line.to_ascii_lowercase().rfind(LENGTH_HEADER);
    if let Some(at) = found {
        let written = line[at + LENGTH_HEADER.len()..].trim();
        return match written.parse() {
            Ok(length) => Some(Header::Length(length)),
            Err(_) if at == 0 => Some(Header::Unreadable(written.to_owned())),
            Err(_) => None,
        };
    }
    let (name, _) = line.split_once(':')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_header = name.eq_ignore_ascii_case("content-type")
        || is_announced && !name.is_empty() && name.bytes().all(is_name);
    is_header.then_some(Header::Other)
}

/// Escapes characters that act on a terminal or are invisible: programs show what they read, too.
fn escape_unsafe(line: String) -> String {
    if !line.contains(is_unsafe_to_display) {
        return line;
    }
    let mut plain = String::with_capacity(line.len());
    for c in line.chars() {
        if is_unsafe_to_display(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _written = write!(plain, "\\u{unit:04x}");
            }
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Parses the message of a line as far as it can be read; `None` if it is blank, or a notification
/// or a response of another protocol, which needs no response.
fn parse_message(line: &[u8]) -> Result<Option<Received>, LineFault> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Ok(Some(message));
    }
    let text = String::from_utf8_lossy(line);
    let mut value: Value = match serde_json::from_str(&repair_json(&text)) {
        Ok(value) => value,
        Err(error) => {
            let detail = format!("the line is not valid JSON ({error}); send one message a line");
            return Err((ErrorData::parse_error(detail, None), find_request_id(&text)));
        }
    };
    complete_request(&mut value);
    if let Ok(message) = Received::deserialize(&value) {
        return Ok(Some(message));
    }
    let has = |field: &str| value.get(field).is_some();
    let is_unasked = has("method") && !has("id");
    if is_unasked || has("result") || has("error") {
        return Ok(None);
    }
    let id = value.get("id").and_then(request_id);
    if has("method")
        && value
            .get("params")
            .is_some_and(|params| !params.is_object())
    {
        let detail = "`params` is no object; send an object or leave it out";
        return Err((ErrorData::invalid_params(detail, None), id));
    }
    let detail = "the line is no request of MCP; send `jsonrpc`, `id`, `method` and `params`";
    Err((ErrorData::invalid_request(detail, None), id))
}

/// Adds what a request leaves out and writes what it writes otherwise, where only one thing can be
/// meant.
fn complete_request(request: &mut Value) {
    let Some(request) = request
        .as_object_mut()
        .filter(|request| request.contains_key("method"))
    else {
        return;
    };
    request.insert("jsonrpc".to_owned(), Value::from("2.0"));
    if let Some(id) = request.get("id").and_then(request_id)
        && let Ok(id) = serde_json::to_value(id)
    {
        request.insert("id".to_owned(), id);
    }
    if request.get("params").is_some_and(Value::is_null) {
        request.remove("params");
    }
    let Some(params) = request.get_mut("params").and_then(Value::as_object_mut) else {
        return;
    };
    let meant = match params.get("arguments") {
        Some(Value::Null) => Some(Value::Object(Map::new())),
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        _ => None,
    };
    if let Some(meant) = meant.filter(Value::is_object) {
        params.insert("arguments".to_owned(), meant);
    }
}

/// Returns the id of a request, a text or a whole number.
fn request_id(id: &Value) -> Option<RequestId> {
    let whole = id.as_f64().filter(|float| float.fract() == 0.0);
    let whole = whole.and_then(|float| serde_json::from_str(&format!("{float:.0}")).ok());
    RequestId::deserialize(id).ok().or(whole)
}

/// Finds the id in the text of a request that is no JSON: the value of the field `id` of its outer
/// object.
fn find_request_id(text: &str) -> Option<RequestId> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(c) = text[at..].chars().next() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '"' => {
                let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter();
                let name: String = values.next()?.ok()?;
                at += values.byte_offset();
                let value = text[at..].trim_start().strip_prefix(':');
                if let Some(value) = value.filter(|_| depth == 1 && name == "id") {
                    let mut values = serde_json::Deserializer::from_str(value).into_iter();
                    return values.next()?.ok().and_then(|id: Value| request_id(&id));
                }
                continue;
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    None
}

#[cfg(test)]
mod tests;
