//! Every text of a set, embedded once on all cores and shared by store and baselines.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use reprise_types::{EmbedError, Embedder, EmbeddingSpace};

/// Opens one more embedder of the same space.
pub type OpenEmbedder<'a> = dyn Fn() -> Result<Box<dyn Embedder>, EmbedError> + Sync + 'a;

/// Vectors by text, borrowed from the data set.
pub(crate) struct Vectors<'d> {
    embedders: Vec<Box<dyn Embedder>>,
    known: HashMap<&'d str, Vec<f32>>,
}

impl<'d> Vectors<'d> {
    /// One embedder per core.
    pub(crate) fn open(open: &OpenEmbedder<'_>) -> Result<Self, EmbedError> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            embedders: (0..threads).map(|_| open()).collect::<Result<_, _>>()?,
            known: HashMap::new(),
        })
    }

    /// The space of every vector.
    pub(crate) fn space(&self) -> Option<EmbeddingSpace> {
        self.embedders.first().map(|e| e.space().clone())
    }

    /// The vector of a text that was added; `None` for blank ones.
    pub(crate) fn of(&self, text: &str) -> Option<&[f32]> {
        self.known.get(text).map(Vec::as_slice)
    }

    /// Embeds those of `texts` that are new. Each text is embedded alone, so its vector does not
    /// depend on the others or on the number of threads.
    pub(crate) fn add(&mut self, texts: impl Iterator<Item = &'d str>) -> Result<(), EmbedError> {
        let new: BTreeSet<&'d str> = texts
            .filter(|text| !text.trim().is_empty() && !self.known.contains_key(text))
            .collect();
        let new: Vec<&'d str> = new.into_iter().collect();
        let next = AtomicUsize::new(0);
        let done: Result<Vec<_>, EmbedError> = thread::scope(|scope| {
            let workers: Vec<_> = self
                .embedders
                .iter_mut()
                .map(|embedder| scope.spawn(|| work(embedder.as_mut(), &new, &next)))
                .collect();
            let joined = workers.into_iter().map(|worker| {
                worker.join().unwrap_or_else(|_| {
                    Err(EmbedError::Engine {
                        message: "an embedding thread panicked".to_owned(),
                    })
                })
            });
            joined.collect()
        });
        self.known.extend(done?.into_iter().flatten());
        Ok(())
    }
}

fn work<'d>(
    embedder: &mut dyn Embedder,
    texts: &[&'d str],
    next: &AtomicUsize,
) -> Result<Vec<(&'d str, Vec<f32>)>, EmbedError> {
    let mut done = Vec::new();
    while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
        done.push((*text, embedder.embed(text)?));
    }
    Ok(done)
}
