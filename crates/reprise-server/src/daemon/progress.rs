//! A stream wrapper that limits how long a write may make no progress.

use std::io::{ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream that fails if it could not be written to for `timeout`.
#[derive(Debug)]
pub(super) struct WriteTimeoutStream<S> {
    stream: S,
    timeout: Duration,
    /// Counts only while a write waits.
    deadline: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl<S> WriteTimeoutStream<S> {
    pub(super) fn new(stream: S, timeout: Duration) -> Self {
        Self {
            stream,
            timeout,
            deadline: Box::pin(sleep(timeout)),
            is_waiting: false,
        }
    }

    fn fail_if_stalled<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: Poll<Result<T>>,
    ) -> Poll<Result<T>> {
        if poll.is_ready() {
            self.is_waiting = false;
            return poll;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.deadline.as_mut().reset(Instant::now() + self.timeout);
        }
        ready!(self.deadline.as_mut().poll(cx));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.fail_if_stalled(cx, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.fail_if_stalled(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(cx);
        self.fail_if_stalled(cx, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.fail_if_stalled(cx, poll)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_reader_that_takes_a_little_is_waited_for_and_one_that_takes_nothing_is_not() {
        let (mut reader, end) = tokio::io::duplex(8);
        let mut writer = WriteTimeoutStream::new(end, Duration::from_millis(200));
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
