//! A connection whose reader takes what it is sent, or loses it.
//!
//! The bound on a write without progress.

use std::io::{ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream that fails once it could not be written to for so long.
#[derive(Debug)]
pub(super) struct Progress<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits.
    late: Pin<Box<Sleep>>,
    waits: bool,
}

impl<S> Progress<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            late: Box::pin(sleep(patience)),
            waits: false,
        }
    }

    fn watched<T>(&mut self, cx: &mut Context<'_>, done: Poll<Result<T>>) -> Poll<Result<T>> {
        if done.is_ready() {
            self.waits = false;
            return done;
        }
        if !self.waits {
            self.waits = true;
            self.late.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.late.as_mut().poll(cx));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Progress<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Progress<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watched(cx, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.watched(cx, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let done = Pin::new(&mut self.stream).poll_flush(cx);
        self.watched(cx, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let done = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watched(cx, done)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_reader_that_takes_a_little_is_waited_for_and_one_that_takes_nothing_is_not() {
        let (mut reader, end) = tokio::io::duplex(8);
        let mut writer = Progress::new(end, Duration::from_millis(200));
        let taken = tokio::spawn(async move {
            let mut bytes = [0; 40];
            reader.read_exact(&mut bytes).await.map(|_| reader)
        });
        writer.write_all(&[1; 40]).await.unwrap();
        let _idle = taken.await.unwrap().unwrap();
        let refused = writer.write_all(&[1; 40]).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
