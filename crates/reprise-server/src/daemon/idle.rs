//! The connections that have no request under way: where every place is taken, the one that has
//! been idle longest makes room for the next.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use reprise_types::lock;
use tokio::sync::Notify;

/// The idle connections of one entry point, in the order in which they became idle.
#[derive(Debug, Default)]
pub(super) struct IdleConnections(Mutex<IdleQueue>);

#[derive(Debug, Default)]
struct IdleQueue {
    next: u64,
    waiting: BTreeMap<u64, Arc<Notify>>,
}

impl IdleQueue {
    fn push(&mut self, end: &Arc<Notify>) -> u64 {
        self.next += 1;
        self.waiting.insert(self.next, Arc::clone(end));
        self.next
    }
}

impl IdleConnections {
    /// Adds a connection that was just accepted.
    pub(super) fn enter(self: &Arc<Self>) -> Arc<ConnectionPlace> {
        let end = Arc::default();
        let place = lock(&self.0).push(&end);
        Arc::new(ConnectionPlace {
            idle: Arc::clone(self),
            end,
            state: Mutex::new(PlaceState {
                requests: 0,
                place: Some(place),
            }),
        })
    }

    /// Ends the connection that has been idle longest, if one is idle.
    pub(super) fn evict_longest(&self) {
        if let Some((_, end)) = lock(&self.0).waiting.pop_first() {
            end.notify_one();
        }
    }
}

/// One connection among those of its entry point.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    idle: Arc<IdleConnections>,
    end: Arc<Notify>,
    state: Mutex<PlaceState>,
}

#[derive(Debug)]
struct PlaceState {
    /// Requests whose answer is not read to its end.
    requests: usize,
    /// Its number among the idle.
    place: Option<u64>,
}

impl ConnectionPlace {
    /// Counts a request until the mark is dropped.
    pub(super) fn begin_request(self: &Arc<Self>) -> RequestMark {
        let mut state = lock(&self.state);
        state.requests += 1;
        if let Some(place) = state.place.take() {
            lock(&self.idle.0).waiting.remove(&place);
        }
        RequestMark(Arc::clone(self))
    }

    /// Waits until the connection has to make room while it is idle.
    pub(super) async fn wait_for_eviction(&self) {
        loop {
            self.end.notified().await;
            if lock(&self.state).requests == 0 {
                return;
            }
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        if let Some(place) = lock(&self.state).place {
            lock(&self.idle.0).waiting.remove(&place);
        }
    }
}

/// A request under way; its connection is idle again once it is dropped.
#[derive(Debug)]
pub(super) struct RequestMark(Arc<ConnectionPlace>);

impl RequestMark {
    /// Returns the answer, which keeps the mark until it was read.
    pub(super) fn follow(self, answer: Response) -> Response {
        answer.map(|body| Body::new(MarkedBody { body, _mark: self }))
    }
}

impl Drop for RequestMark {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.requests -= 1;
        if state.requests == 0 {
            state.place = Some(lock(&self.0.idle.0).push(&self.0.end));
        }
    }
}

struct MarkedBody {
    body: Body,
    _mark: RequestMark,
}

impl HttpBody for MarkedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
