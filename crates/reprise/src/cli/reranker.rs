//! The cross-encoder that the configuration names: it judges the first results of a recall a second
//! time, on a thread beside, for as long as there is time.

use std::sync::TryLockError;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use reprise_embed::{CrossEncoder, ModelStore};
use reprise_types::{HelperError, Reranker};

use crate::cli::prelude::*;

/// A judge that is opened when it is first needed. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Judge(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: ModelStore,
    folder: PathBuf,
    opened: Mutex<Option<Result<CrossEncoder, String>>>,
}

impl Judge {
    pub(super) fn new(store: ModelStore, folder: PathBuf) -> Self {
        Self(Arc::new(Shared {
            store,
            folder,
            opened: Mutex::default(),
        }))
    }

    /// The probability that each text answers the question. Where another question is being judged,
    /// or nobody waits any more, there is none.
    pub(super) fn judge(
        &self,
        question: &str,
        texts: &[String],
        is_left: &AtomicBool,
    ) -> Result<Vec<f32>, String> {
        let mut opened = match self.0.opened.try_lock() {
            Ok(opened) => opened,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err("it still reads for the question before".to_owned());
            }
        };
        let open = || {
            let opened = CrossEncoder::open(&self.0.store, &self.0.folder);
            opened.map_err(|error| error.to_string())
        };
        let judge = opened
            .get_or_insert_with(open)
            .as_mut()
            .map_err(|why| why.clone())?;
        let mut judgements = Vec::with_capacity(texts.len());
        for text in texts {
            if is_left.load(Ordering::Relaxed) {
                return Err("its time was over".to_owned());
            }
            let judged = judge.judge(question, text);
            judgements.push(judged.map_err(|error| error.to_string())?);
        }
        Ok(judgements)
    }

    /// Opens it; an error is why it cannot be used, in one sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut opened = lock(&self.0.opened);
        let fresh = CrossEncoder::open(&self.0.store, &self.0.folder);
        let fresh = opened.insert(fresh.map_err(|error| error.to_string()));
        fresh.as_ref().map(drop).map_err(Clone::clone)
    }
}

/// Says that nobody waits any more, once it is dropped.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl Reranker for Judge {
    async fn rerank(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, HelperError> {
        let waiting = Waiting(Arc::default());
        let (judge, is_left) = (self.clone(), Arc::clone(&waiting.0));
        let (query, texts) = (query.to_owned(), texts.to_vec());
        let work = move || judge.judge(&query, &texts, &is_left);
        let judged = tokio::task::spawn_blocking(work).await;
        let judged = judged.unwrap_or_else(|error| Err(error.to_string()));
        judged.map_err(|message| HelperError { message })
    }
}
