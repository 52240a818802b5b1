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
    /// Of questions, where the model reads them otherwise.
    asked: HashMap<&'d str, Vec<f32>>,
}

impl<'d> Vectors<'d> {
    /// One embedder per core.
    pub(crate) fn open(open: &OpenEmbedder<'_>) -> Result<Self, EmbedError> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            embedders: (0..threads).map(|_| open()).collect::<Result<_, _>>()?,
            known: HashMap::new(),
            asked: HashMap::new(),
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

    /// The same of a question.
    pub(crate) fn of_question(&self, text: &str) -> Option<&[f32]> {
        self.asked
            .get(text)
            .map(Vec::as_slice)
            .or_else(|| self.of(text))
    }

    /// Embeds those of `questions` that are new, as what they are.
    pub(crate) fn add_questions(
        &mut self,
        questions: impl Iterator<Item = &'d str>,
    ) -> Result<(), EmbedError> {
        let tells = self
            .embedders
            .first()
            .is_some_and(|one| one.tells_questions());
        if !tells {
            return self.add(questions);
        }
        let new = questions.filter(|text| !self.asked.contains_key(text));
        let done = self.embedded(new.collect(), <dyn Embedder>::embed_query)?;
        self.asked.extend(done);
        Ok(())
    }

    /// Embeds those of `texts` that are new. Each text is embedded alone, so its vector does not
    /// depend on the others or on the number of threads.
    pub(crate) fn add(&mut self, texts: impl Iterator<Item = &'d str>) -> Result<(), EmbedError> {
        let new = texts.filter(|text| !self.known.contains_key(text));
        let done = self.embedded(new.collect(), <dyn Embedder>::embed)?;
        self.known.extend(done);
        Ok(())
    }

    fn embedded(
        &mut self,
        texts: BTreeSet<&'d str>,
        embed: Embed,
    ) -> Result<Vec<(&'d str, Vec<f32>)>, EmbedError> {
        let new = texts.into_iter().filter(|text| !text.trim().is_empty());
        let new: Vec<&'d str> = new.collect();
        let next = AtomicUsize::new(0);
        let done: Result<Vec<_>, EmbedError> = thread::scope(|scope| {
            let workers: Vec<_> = self
                .embedders
                .iter_mut()
                .map(|embedder| scope.spawn(|| work(embedder.as_mut(), embed, &new, &next)))
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
        Ok(done?.into_iter().flatten().collect())
    }
}

/// One of an embedder's ways to read a text.
type Embed = fn(&mut (dyn Embedder + 'static), &str) -> Result<Vec<f32>, EmbedError>;

fn work<'d>(
    embedder: &mut (dyn Embedder + 'static),
    embed: Embed,
    texts: &[&'d str],
    next: &AtomicUsize,
) -> Result<Vec<(&'d str, Vec<f32>)>, EmbedError> {
    let mut done = Vec::new();
    while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
        done.push((*text, embed(embedder, text)?));
    }
    Ok(done)
}
