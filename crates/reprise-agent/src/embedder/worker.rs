//! One embedder thread.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reprise_types::{EmbedError, Embedder, Embedding, check_unit_vector, panic_words};
use tokio::sync::watch;

use super::queue::{Next, Taker};
use super::{PoolError, Shared};

/// Pause of a helper that could not open a model.
const HELP_AGAIN: Duration = Duration::from_millis(100);

/// Idle time after which a helper closes its embedder, which it opens only while many texts wait.
const HELPERS_SLEEP_AFTER: Duration = Duration::from_secs(30);

/// The role of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Takes every text.
    First,
    /// Helps while there is a backlog.
    Helper,
}

/// Starts a thread; `false` where the system refused.
pub(super) fn spawn(
    number: usize,
    part: Part,
    shared: Arc<Shared>,
    alive: watch::Sender<usize>,
) -> bool {
    shared.queue.enter();
    alive.send_modify(|alive| *alive += 1);
    let presence = Presence { shared, alive };
    let thread = std::thread::Builder::new().name(format!("reprise-embed-{number}"));
    let started = thread.spawn(move || run(part, &presence.shared));
    if let Err(error) = &started {
        tracing::error!(%error, "an embedder thread could not be started");
    }
    started.is_ok()
}

/// Counts the thread as ended, however it ends.
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

fn run(part: Part, shared: &Shared) {
    let options = &shared.options;
    let is_first = part == Part::First;
    let sleep_after = if is_first {
        options.sleep_after
    } else {
        HELPERS_SLEEP_AFTER
    };
    // Opened before the first text, which then need not wait; a failure is kept for the callers.
    let mut embedder = None;
    if is_first && options.opens_at_once {
        embedder = open(shared).ok();
    }
    loop {
        let taker = Taker {
            is_keen: is_first || embedder.is_some(),
            sleep_after: embedder.is_some().then_some(sleep_after),
        };
        let (job, is_query) = match shared.queue.next(taker) {
            Next::Embed(job, is_query) => (job, is_query),
            Next::Help => {
                embedder = open(shared).ok();
                if embedder.is_none() {
                    // The first thread reports the failure to the callers.
                    std::thread::sleep(HELP_AGAIN);
                }
                continue;
            }
            Next::Sleep => {
                embedder = None;
                closed(shared);
                continue;
            }
            Next::End => return,
        };
        let mut jobs = vec![job];
        let room = embedder.as_ref().map_or(1, |embedder| embedder.batch_max());
        if !is_query && room > 1 {
            jobs.extend(shared.queue.more_documents(room - 1));
        }
        let began = Instant::now();
        let texts: Vec<&str> = jobs.iter().map(|job| &*job.text).collect();
        let results = embed(shared, &mut embedder, &texts, is_query);
        let took = began.elapsed().as_micros() as u64;
        for (job, result) in jobs.into_iter().zip(results) {
            shared.queue.count(|stats| {
                let counter = match &result {
                    Ok(_) if is_query => &mut stats.queries,
                    Ok(_) => &mut stats.documents,
                    Err(_) => &mut stats.failed,
                };
                *counter += 1;
            });
            // The caller may have gone meanwhile.
            let _left = job.reply.send(result).is_err();
        }
        shared.queue.count(|stats| stats.embed_us += took);
    }
}

fn open(shared: &Shared) -> Result<Box<dyn Embedder>, EmbedError> {
    if let Some(error) = shared.queue.refused(Instant::now()) {
        return Err(error);
    }
    let opened = catch_unwind(AssertUnwindSafe(|| (shared.open)()));
    let opened = opened.unwrap_or_else(|panic| Err(panicked(shared, panic.as_ref())));
    match &opened {
        Ok(embedder) => {
            shared.queue.set_refused(None);
            shared.cache.keep_only(embedder.space());
            let tells = embedder.tells_questions();
            shared.tells_questions.store(tells, Ordering::Relaxed);
            shared.queue.count(|stats| stats.embedders_open += 1);
        }
        Err(error) => {
            tracing::warn!(%error, "no embedder; recall goes on by words");
            let until = Instant::now() + shared.options.retry;
            shared.queue.set_refused(Some((until, error.clone())));
        }
    }
    opened
}

/// The vectors of texts. Where several together fail for one of them, each is tried alone.
fn embed(
    shared: &Shared,
    slot: &mut Option<Box<dyn Embedder>>,
    texts: &[&str],
    is_query: bool,
) -> Vec<Result<Embedding, PoolError>> {
    match embed_together(shared, slot, texts, is_query) {
        Ok(vectors) => vectors.into_iter().map(Ok).collect(),
        Err(PoolError::Failed(_)) if texts.len() > 1 => {
            let alone = texts
                .iter()
                .flat_map(|text| embed(shared, slot, &[text], is_query));
            alone.collect()
        }
        Err(error) => vec![Err(error); texts.len()],
    }
}

/// An embedder that failed or panicked is reopened for the next text.
fn embed_together(
    shared: &Shared,
    slot: &mut Option<Box<dyn Embedder>>,
    texts: &[&str],
    is_query: bool,
) -> Result<Vec<Embedding>, PoolError> {
    let mut embedder = match slot.take() {
        Some(embedder) => embedder,
        None => open(shared).map_err(PoolError::Unavailable)?,
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| match texts {
        [text] if is_query => Ok(vec![embedder.embed_query(text)?]),
        [text] => Ok(vec![embedder.embed(text)?]),
        texts => embedder.embed_all(texts),
    }));
    if !matches!(outcome, Ok(Ok(_))) {
        closed(shared);
    }
    let vectors = match outcome {
        Ok(Ok(vectors)) => vectors,
        Ok(Err(error @ EmbedError::Unavailable { .. })) => {
            return Err(PoolError::Unavailable(error));
        }
        Ok(Err(error)) => return Err(PoolError::Failed(error)),
        Err(panic) => return Err(PoolError::Failed(panicked(shared, panic.as_ref()))),
    };
    let space = embedder.space().clone();
    *slot = Some(embedder);
    let bad = |message: String| PoolError::Failed(EmbedError::BadOutput { message });
    if vectors.len() != texts.len() {
        let (got, expected) = (vectors.len(), texts.len());
        return Err(bad(format!("{got} vectors for {expected} texts")));
    }
    let checked = vectors.into_iter().map(|vector| {
        let checked = check_unit_vector(&vector, usize::from(space.dimensions));
        checked.map_err(|error| bad(error.to_string()))?;
        let space = space.clone();
        Ok(Embedding { space, vector })
    });
    checked.collect()
}

fn closed(shared: &Shared) {
    shared.queue.count(|stats| stats.embedders_open -= 1);
}

fn panicked(shared: &Shared, panic: &(dyn Any + Send)) -> EmbedError {
    shared.queue.count(|stats| stats.panics += 1);
    let message = format!("it panicked ({})", panic_words(panic));
    EmbedError::Engine { message }
}
