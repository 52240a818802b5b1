//! An embedder thread: its loop, its embedder, and how it handles failures of the model.

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reprise_types::{EmbedError, Embedder, Embedding, check_unit_vector, panic_message};
use tokio::sync::watch;

use super::queue::{EmbedThreadAction, EmbedThreadState};
use super::{PoolError, PoolInner};

/// Pause of a helper thread that could not open a model.
const PAUSE_AFTER_FAILED_HELP: Duration = Duration::from_millis(100);

/// Idle time after which a helper thread closes its embedder, which it opens only while many texts
/// wait.
const HELPER_SLEEP_AFTER: Duration = Duration::from_secs(30);

/// What an embedder thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmbedThreadRole {
    /// Takes every text.
    First,
    /// Helps while there is a backlog.
    Helper,
}

/// Starts an embedder thread; returns `false` if the system refused.
pub(super) fn spawn_thread(
    number: usize,
    role: EmbedThreadRole,
    shared: Arc<PoolInner>,
    alive: watch::Sender<usize>,
) -> bool {
    shared.queue.register_thread();
    alive.send_modify(|alive| *alive += 1);
    let guard = ThreadGuard { shared, alive };
    let thread = std::thread::Builder::new().name(format!("reprise-embed-{number}"));
    let started = thread.spawn(move || run_thread(role, &guard.shared));
    if let Err(error) = &started {
        tracing::error!(%error, "an embedder thread could not be started");
    }
    started.is_ok()
}

/// Counts the thread as ended when it is dropped, even after a panic.
struct ThreadGuard {
    shared: Arc<PoolInner>,
    alive: watch::Sender<usize>,
}

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        self.shared.queue.unregister_thread();
        self.alive.send_modify(|alive| *alive -= 1);
    }
}

fn run_thread(role: EmbedThreadRole, shared: &PoolInner) {
    let options = &shared.options;
    let is_first = role == EmbedThreadRole::First;
    let sleep_after = if is_first {
        options.sleep_after
    } else {
        HELPER_SLEEP_AFTER
    };
    // The embedder is opened before the first text, which then need not wait; a failure is kept for
    // the callers.
    let mut embedder = None;
    if is_first && options.opens_at_once {
        embedder = open_embedder(shared).ok();
    }
    loop {
        let thread = EmbedThreadState {
            takes_texts: is_first || embedder.is_some(),
            sleep_after: embedder.is_some().then_some(sleep_after),
        };
        let (job, is_query) = match shared.queue.wait_for_action(thread) {
            EmbedThreadAction::Embed(job, is_query) => (job, is_query),
            EmbedThreadAction::Help => {
                embedder = open_embedder(shared).ok();
                if embedder.is_none() {
                    // The first thread reports the failure to the callers.
                    std::thread::sleep(PAUSE_AFTER_FAILED_HELP);
                }
                continue;
            }
            EmbedThreadAction::Sleep => {
                embedder = None;
                count_closed_embedder(shared);
                continue;
            }
            EmbedThreadAction::End => return,
        };
        let mut jobs = vec![job];
        let batch_max = embedder
            .as_ref()
            .map_or(1, |embedder| embedder.batch_size_max());
        if !is_query && batch_max > 1 {
            jobs.extend(shared.queue.pop_documents(batch_max - 1));
        }
        let began = Instant::now();
        let texts: Vec<&str> = jobs.iter().map(|job| &*job.text).collect();
        let results = embed_texts(shared, &mut embedder, &texts, is_query);
        let took_us = began.elapsed().as_micros() as u64;
        for (job, result) in jobs.into_iter().zip(results) {
            shared.queue.update_stats(|stats| {
                let counter = match &result {
                    Ok(_) if is_query => &mut stats.queries,
                    Ok(_) => &mut stats.documents,
                    Err(_) => &mut stats.failed,
                };
                *counter += 1;
            });
            // The caller may be gone by now.
            let _caller_gone = job.reply.send(result).is_err();
        }
        shared.queue.update_stats(|stats| stats.embed_us += took_us);
    }
}

fn open_embedder(shared: &PoolInner) -> Result<Box<dyn Embedder>, EmbedError> {
    if let Some(error) = shared.queue.find_open_failure(Instant::now()) {
        return Err(error);
    }
    let opened = catch_unwind(AssertUnwindSafe(|| (shared.open)()));
    let opened = opened.unwrap_or_else(|panic| Err(record_panic(shared, panic.as_ref())));
    match &opened {
        Ok(embedder) => {
            shared.queue.set_open_failure(None);
            shared.cache.clear_other_spaces(embedder.space());
            let has_prompt = embedder.has_query_prompt();
            shared.has_query_prompt.store(has_prompt, Ordering::Relaxed);
            shared.queue.update_stats(|stats| stats.embedders_open += 1);
        }
        Err(error) => {
            tracing::warn!(%error, "no embedder; recall goes on by words");
            let until = Instant::now() + shared.options.retry;
            shared.queue.set_open_failure(Some((until, error.clone())));
        }
    }
    opened
}

/// Embeds texts. If several together fail because of one of them, each is embedded alone.
fn embed_texts(
    shared: &PoolInner,
    slot: &mut Option<Box<dyn Embedder>>,
    texts: &[&str],
    is_query: bool,
) -> Vec<Result<Embedding, PoolError>> {
    match embed_batch(shared, slot, texts, is_query) {
        Ok(vectors) => vectors.into_iter().map(Ok).collect(),
        Err(PoolError::Failed(_)) if texts.len() > 1 => {
            let alone = texts
                .iter()
                .flat_map(|text| embed_texts(shared, slot, &[text], is_query));
            alone.collect()
        }
        Err(error) => vec![Err(error); texts.len()],
    }
}

/// Embeds texts in one call. An embedder that failed or panicked is reopened for the next texts.
fn embed_batch(
    shared: &PoolInner,
    slot: &mut Option<Box<dyn Embedder>>,
    texts: &[&str],
    is_query: bool,
) -> Result<Vec<Embedding>, PoolError> {
    let mut embedder = match slot.take() {
        Some(embedder) => embedder,
        None => open_embedder(shared).map_err(PoolError::Unavailable)?,
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| match texts {
        [text] if is_query => Ok(vec![embedder.embed_query(text)?]),
        [text] => Ok(vec![embedder.embed(&cut_blobs(text))?]),
        texts => {
            let texts: Vec<Cow<'_, str>> = texts.iter().map(|text| cut_blobs(text)).collect();
            let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
            embedder.embed_batch(&texts)
        }
    }));
    if !matches!(outcome, Ok(Ok(_))) {
        count_closed_embedder(shared);
    }
    let vectors = match outcome {
        Ok(Ok(vectors)) => vectors,
        Ok(Err(error @ EmbedError::Unavailable { .. })) => {
            return Err(PoolError::Unavailable(error));
        }
        Ok(Err(error)) => return Err(PoolError::Failed(error)),
        Err(panic) => return Err(PoolError::Failed(record_panic(shared, panic.as_ref()))),
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

/// Cuts long addresses and other blobs in a text: a model reads only its beginning, and would see
/// nothing else of a text that begins with one.
pub(super) fn cut_blobs(text: &str) -> Cow<'_, str> {
    const BLOB_BYTES: usize = 128;
    const SHOWN_BYTES: usize = 64;
    let is_blob = |word: &str| word.len() > BLOB_BYTES && word.is_ascii();
    if !text.split_whitespace().any(is_blob) {
        return text.into();
    }
    let words = text.split_inclusive(char::is_whitespace);
    let cut = words.map(|word| match word.trim_end() {
        blob if is_blob(blob) => [&blob[..SHOWN_BYTES], &word[blob.len()..]].concat(),
        _ => word.to_owned(),
    });
    cut.collect::<String>().into()
}

fn count_closed_embedder(shared: &PoolInner) {
    shared.queue.update_stats(|stats| stats.embedders_open -= 1);
}

fn record_panic(shared: &PoolInner, panic: &(dyn Any + Send)) -> EmbedError {
    shared.queue.update_stats(|stats| stats.panics += 1);
    let message = format!("it panicked ({})", panic_message(panic));
    EmbedError::Engine { message }
}
