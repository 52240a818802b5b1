//! stdin and stdout as an agent's program gives them to us: pipes or sockets, read and written
//! without a thread in between, which would cost each message two wake-ups.
//!
//! A message is a line. rmcp's own transport drops a line that is no JSON, or too long, and its
//! sender would wait for ever; this one answers it.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::sync::Arc;

use reprise_types::acts;
use rmcp::model::{ClientRequest, GetMeta, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// Longest line that is read, in bytes.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

type Received = RxJsonRpcMessage<RoleServer>;
type Sent = TxJsonRpcMessage<RoleServer>;
type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// What a descriptor leads to.
enum Way {
    Pipe(OwnedFd),
    Socket(UnixStream),
}

/// Both ends; a terminal or a file is read and written by threads.
pub(super) fn open() -> Lines<Reader, Writer> {
    let reader = way(&io::stdin()).and_then(|way| -> io::Result<Reader> {
        Ok(match way {
            Way::Pipe(end) => Box::new(pipe::Receiver::from_owned_fd(end)?),
            Way::Socket(stream) => Box::new(stream),
        })
    });
    let writer = way(&io::stdout()).and_then(|way| -> io::Result<Writer> {
        Ok(match way {
            Way::Pipe(end) => Box::new(pipe::Sender::from_owned_fd(end)?),
            Way::Socket(stream) => Box::new(stream),
        })
    });
    Lines::new(
        reader.unwrap_or_else(|_| Box::new(tokio::io::stdin())),
        writer.unwrap_or_else(|_| Box::new(tokio::io::stdout())),
    )
}

fn way(descriptor: &impl AsFd) -> io::Result<Way> {
    let file = File::from(descriptor.as_fd().try_clone_to_owned()?);
    let kind = file.metadata()?.file_type();
    let end = OwnedFd::from(file);
    if kind.is_fifo() {
        return Ok(Way::Pipe(end));
    }
    if kind.is_socket() {
        let stream = std::os::unix::net::UnixStream::from(end);
        stream.set_nonblocking(true)?;
        return Ok(Way::Socket(UnixStream::from_std(stream)?));
    }
    Err(io::ErrorKind::Unsupported.into())
}

/// JSON-RPC, a line a message.
pub(super) struct Lines<R, W> {
    read: BufReader<R>,
    /// What was read of a line.
    line: Vec<u8>,
    /// It is longer than may be: the rest of it is passed over.
    is_too_long: bool,
    /// A session has begun.
    is_open: bool,
    write: Arc<Mutex<Option<W>>>,
    /// The answer to what was no message, on its way.
    answer: Option<JoinHandle<io::Result<()>>>,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    pub(super) fn new(read: R, write: W) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            is_too_long: false,
            is_open: false,
            write: Arc::new(Mutex::new(Some(write))),
            answer: None,
        }
    }

    /// The next line; `None` where there is no more. Dropped in the middle, it goes on there the
    /// next time.
    async fn next(&mut self) -> Option<Result<Vec<u8>, Fault>> {
        loop {
            let read = self.read.fill_buf().await;
            let read = read.inspect_err(|error| tracing::error!(%error, "stdin cannot be read"));
            let read = read.ok().filter(|read| !read.is_empty())?;
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |end| end + 1);
            self.is_too_long |= self.line.len() + taken > LINE_BYTES_MAX;
            if self.is_too_long {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.read.consume(taken);
            if end.is_none() {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if std::mem::take(&mut self.is_too_long) {
                let said = format!("the message has more than {LINE_BYTES_MAX} bytes; send less");
                return Some(Err((ErrorData::invalid_request(said, None), None)));
            }
            return Some(Ok(line));
        }
    }

    /// What is wrong with a request that comes before a session has begun. One that names its
    /// protocol begins one.
    fn untimely(&mut self, message: &Received) -> Option<Fault> {
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
            ClientRequest::CustomRequest(request) => super::unfit(request),
            _ => None,
        };
        let fault = unfit.unwrap_or_else(|| {
            let method = asked.request.method();
            let said = format!("initialize first; `{method:.64}` comes after it");
            ErrorData::invalid_request(said, None)
        });
        Some((fault, Some(asked.id.clone())))
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: Sent) -> impl Future<Output = io::Result<()>> + Send + 'static {
        put(Arc::clone(&self.write), message)
    }

    async fn receive(&mut self) -> Option<Received> {
        loop {
            if let Some(answer) = &mut self.answer {
                let written = answer.await;
                self.answer = None;
                written.ok()?.ok()?;
            }
            let fault = match self.next().await? {
                Ok(line) => match message_of(&line) {
                    Ok(Some(message)) => match self.untimely(&message) {
                        Some(fault) => fault,
                        None => return Some(message),
                    },
                    Ok(None) => continue,
                    Err(fault) => fault,
                },
                Err(fault) => fault,
            };
            let (error, id) = fault;
            // Receiving may be given up at any moment, and half an answer would spoil the next one.
            let written = put(Arc::clone(&self.write), Sent::error(error, id));
            self.answer = Some(tokio::spawn(written));
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.write.lock().await.take());
        Ok(())
    }
}

/// What is wrong with a line, and the id of the request that it is, where it can be read.
type Fault = (ErrorData, Option<RequestId>);

async fn put<W: AsyncWrite + Unpin>(write: Arc<Mutex<Option<W>>>, message: Sent) -> io::Result<()> {
    let line = plain(serde_json::to_string(&message)?) + "\n";
    let mut write = write.lock().await;
    let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    write.write_all(line.as_bytes()).await?;
    write.flush().await
}

/// The same JSON without a character that acts on a terminal or hides: programs show what they
/// read, too.
fn plain(line: String) -> String {
    if !line.contains(acts) {
        return line;
    }
    let mut plain = String::with_capacity(line.len());
    for c in line.chars() {
        if acts(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _written = write!(plain, "\\u{unit:04x}");
            }
        } else {
            plain.push(c);
        }
    }
    plain
}

/// The message of a line; `None` where it is blank, or of a kind that has no answer and no meaning
/// here: a notification or an answer of another protocol.
fn message_of(line: &[u8]) -> Result<Option<Received>, Fault> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Ok(Some(message));
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let said = format!("the line is no JSON ({error}); send one message a line");
        (ErrorData::parse_error(said, None), None)
    })?;
    let has = |field: &str| value.get(field).is_some();
    let is_unasked = has("method") && !has("id");
    if is_unasked || has("result") || has("error") {
        return Ok(None);
    }
    let id = value.get("id").cloned();
    let id = id.and_then(|id| serde_json::from_value(id).ok());
    if has("method")
        && value
            .get("params")
            .is_some_and(|params| !params.is_object())
    {
        let said = "`params` is no object; send an object or leave it out";
        return Err((ErrorData::invalid_params(said, None), id));
    }
    let said = "the line is no request of MCP; send `jsonrpc`, `id`, `method` and `params`";
    Err((ErrorData::invalid_request(said, None), id))
}

#[cfg(test)]
mod tests;
