//! What changes, as it changes: server-sent events that say that something did, and not what.

use std::convert::Infallible;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use tokio_stream::{Stream, StreamExt};

use crate::door::Visit;
use crate::page::Page;

pub(crate) async fn listen(
    State(page): State<Page>,
    visit: Visit,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let changes = page.memory().changes(&visit.user);
    let events = changes.map(|change| Ok(Event::default().event("change").data(change.0)));
    Sse::new(events).keep_alive(KeepAlive::default())
}
