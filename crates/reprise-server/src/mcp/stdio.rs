//! stdin and stdout as an agent's program gives them to us: pipes or sockets, read and written
//! without a thread in between, which would cost each message two wake-ups.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// What a descriptor leads to.
enum Way {
    Pipe(OwnedFd),
    Socket(UnixStream),
}

/// Both ends; a terminal or a file is read and written by threads.
pub(super) fn open() -> (Reader, Writer) {
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
    (
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
