//! Compression of what is sent to a browser, which matters where the page is reached through a
//! tunnel.

use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, BodyDataStream, HttpBody as _, to_bytes};
use axum::http::StatusCode;
use axum::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, VARY,
};
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio_stream::Stream;

/// Bytes from which a text is compressed, and up to which it is held in memory for that.
const BYTES_MIN: u64 = 1_000;
const BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Returns whether a browser takes gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT_ENCODING);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    accepted.is_some_and(|value| value.split(',').any(|one| one.trim() == "gzip"))
}

/// Compresses a text. A picture and a file are sent as they are.
pub(crate) async fn compress(response: Response) -> Response {
    let media = response.headers().get(CONTENT_TYPE);
    let media = media.and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_text = media.starts_with("text/html")
        || media.starts_with("text/css")
        || media.starts_with("text/javascript")
        || media.starts_with("image/svg");
    let size = response.body().size_hint().exact();
    if !is_text || size.is_some_and(|size| !(BYTES_MIN..=BYTES_MAX).contains(&size)) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let compressed = if size.is_none() {
        Ok(Body::from_stream(GzipStream::new(body)))
    } else {
        match to_bytes(body, BYTES_MAX as usize).await {
            Ok(bytes) => gzip(&bytes).map(Body::from),
            Err(error) => Err(std::io::Error::other(error)),
        }
    };
    let Ok(compressed) = compressed else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    parts.headers.remove(CONTENT_LENGTH);
    let gzip = HeaderValue::from_static("gzip");
    parts.headers.insert(CONTENT_ENCODING, gzip);
    let vary = HeaderValue::from_static("accept-encoding");
    parts.headers.insert(VARY, vary);
    Response::from_parts(parts, compressed)
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// A page that is sent in parts. Each part is flushed, so that a browser shows it at once.
struct GzipStream {
    parts: BodyDataStream,
    /// `None` after the end.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl GzipStream {
    fn new(body: Body) -> Self {
        Self {
            parts: body.into_data_stream(),
            encoder: Some(GzEncoder::new(Vec::new(), Compression::default())),
        }
    }
}

impl Stream for GzipStream {
    type Item = std::io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let part = ready!(Pin::new(&mut self.parts).poll_next(context));
        let Some(encoder) = &mut self.encoder else {
            return Poll::Ready(None);
        };
        let compressed = match part {
            Some(Ok(bytes)) => {
                let written = encoder.write_all(&bytes).and_then(|()| encoder.flush());
                written.map(|()| std::mem::take(encoder.get_mut()))
            }
            Some(Err(error)) => Err(std::io::Error::other(error)),
            None => match self.encoder.take() {
                Some(encoder) => encoder.finish(),
                None => return Poll::Ready(None),
            },
        };
        Poll::Ready(Some(compressed))
    }
}

#[cfg(test)]
mod tests {
    use tokio_stream::StreamExt as _;

    use super::*;

    #[tokio::test]
    async fn a_long_text_is_compressed_and_a_short_one_is_not() {
        let page = |text: String| ([(CONTENT_TYPE, "text/html")], text).into_response();
        let long = compress(page("<p>memory</p>".repeat(1_000))).await;
        assert_eq!(long.headers()[CONTENT_ENCODING], "gzip");
        assert!(
            long.body()
                .size_hint()
                .exact()
                .is_some_and(|size| size < 200)
        );
        let short = compress(page("<p>memory</p>".to_owned())).await;
        assert!(!short.headers().contains_key(CONTENT_ENCODING));
    }

    #[tokio::test]
    async fn each_part_of_a_streamed_page_can_be_read_before_the_next_one_is_there() {
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        let parts = tokio_stream::wrappers::ReceiverStream::new(receiver);
        let body = Body::from_stream(parts.map(Ok::<_, std::convert::Infallible>));
        let page = ([(CONTENT_TYPE, "text/html; charset=utf-8")], body).into_response();
        let sent = compress(page).await;
        assert_eq!(sent.headers()[CONTENT_ENCODING], "gzip");
        let mut sent = sent.into_body().into_data_stream();
        let mut decoder = flate2::write::GzDecoder::new(Vec::new());
        for part in ["<p>the frame</p>", "<p>what was computed</p>"] {
            sender.send(part).await.unwrap();
            let bytes = sent.next().await.unwrap().unwrap();
            decoder.write_all(&bytes).unwrap();
            decoder.flush().unwrap();
            assert_eq!(std::mem::take(decoder.get_mut()), part.as_bytes());
        }
        drop(sender);
        let end = sent.next().await.unwrap().unwrap();
        decoder.write_all(&end).unwrap();
        assert!(decoder.finish().unwrap().is_empty());
        assert!(sent.next().await.is_none());
    }
}
