//! One embedder thread.
//!
//! Lives here: opening, embedding, and surviving whatever the model does. Must never live here: a
//! lock held while the model runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use reprise_types::{EmbedError, Embedder, check_unit_vector};
use tokio::sync::watch;

use super::{Embedded, PoolError, Shared};

/// Starts a thread; one that the system refuses is missed by nobody but the log.
pub(super) fn spawn(number: usize, shared: Arc<Shared>, alive: watch::Sender<usize>) {
    shared.queue.enter();
    alive.send_modify(|alive| *alive += 1);
    let presence = Presence { shared, alive };
    let thread = std::thread::Builder::new().name(format!("reprise-embed-{number}"));
    if let Err(error) = thread.spawn(move || run(&presence.shared)) {
        tracing::error!(%error, "an embedder thread could not be started");
    }
}

/// Counts the thread out however it ends.
struct Presence {
    shared: Arc<Shared>,
    alive: watch::Sender<usize>,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.shared.queue.leave();
        self.alive.send_modify(|alive| *alive -= 1);
    }
}

fn run(shared: &Shared) {
    // Opened before the first text, which then need not wait; a refusal is kept for the askers.
    let mut embedder = open(shared).ok();
    while let Some((job, is_query)) = shared.queue.next() {
        let began = Instant::now();
        let result = embed(shared, &mut embedder, &job.text);
        let took = began.elapsed().as_micros() as u64;
        shared.queue.count(|stats| {
            let counter = match &result {
                Ok(_) if is_query => &mut stats.queries,
                Ok(_) => &mut stats.documents,
                Err(_) => &mut stats.failed,
            };
            *counter += 1;
            stats.embed_us += took;
        });
        // An asker that left meanwhile has no use for the answer.
        let _left = job.reply.send(result).is_err();
    }
}

fn open(shared: &Shared) -> Result<Box<dyn Embedder>, EmbedError> {
    if let Some(error) = shared.queue.refused(Instant::now()) {
        return Err(error);
    }
    let opened = catch_unwind(AssertUnwindSafe(|| (shared.open)())).unwrap_or_else(|panic| {
        shared.queue.count(|stats| stats.panics += 1);
        Err(EmbedError::Engine {
            message: words_of(panic.as_ref()),
        })
    });
    match &opened {
        Ok(_) => {
            shared.queue.set_refused(None);
            shared.cache.clear();
        }
        Err(error) => {
            tracing::warn!(%error, "no embedder; recall goes on by words");
            let until = Instant::now() + shared.options.retry;
            shared.queue.set_refused(Some((until, error.clone())));
        }
    }
    opened
}

/// An embedder that failed or panicked is not trusted with the next text: it is opened anew.
fn embed(
    shared: &Shared,
    slot: &mut Option<Box<dyn Embedder>>,
    text: &str,
) -> Result<Embedded, PoolError> {
    let mut embedder = match slot.take() {
        Some(embedder) => embedder,
        None => open(shared).map_err(PoolError::Unavailable)?,
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| embedder.embed(text)));
    let vector = match outcome {
        Ok(Ok(vector)) => vector,
        Ok(Err(error @ EmbedError::Unavailable { .. })) => {
            return Err(PoolError::Unavailable(error));
        }
        Ok(Err(error)) => return Err(PoolError::Failed(error)),
        Err(panic) => {
            shared.queue.count(|stats| stats.panics += 1);
            let message = words_of(panic.as_ref());
            return Err(PoolError::Failed(EmbedError::Engine { message }));
        }
    };
    let space = embedder.space().clone();
    *slot = Some(embedder);
    check_unit_vector(&vector, usize::from(space.dimensions)).map_err(|error| {
        PoolError::Failed(EmbedError::BadOutput {
            message: error.to_string(),
        })
    })?;
    Ok(Embedded { space, vector })
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("it panicked ({})", words.unwrap_or("no message"))
}
