//! Every text of a set, embedded once on all cores and shared by store and baselines.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use reprise_types::{EmbedError, Embedder, EmbeddingSpace};

/// Opens one more embedder of the same space.
pub type OpenEmbedder<'a> = dyn Fn() -> Result<Box<dyn Embedder>, EmbedError> + Sync + 'a;

/// Vectors by text, which is mostly borrowed from the data set.
pub(crate) struct Vectors<'d> {
    embedders: Vec<Box<dyn Embedder>>,
    known: HashMap<Cow<'d, str>, Vec<f32>>,
    /// Of questions, where the model reads them otherwise.
    asked: HashMap<Cow<'d, str>, Vec<f32>>,
}

/// A text and its vector.
type Embedded<'d> = (Cow<'d, str>, Vec<f32>);

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
    pub(crate) fn find_vector(&self, text: &str) -> Option<&[f32]> {
        self.known.get(text).map(Vec::as_slice)
    }

    /// Returns the vector of a question.
    pub(crate) fn find_question_vector(&self, text: &str) -> Option<&[f32]> {
        self.asked
            .get(text)
            .map(Vec::as_slice)
            .or_else(|| self.find_vector(text))
    }

    /// Embeds those of `questions` that are new, as what they are.
    pub(crate) fn embed_questions(
        &mut self,
        questions: impl Iterator<Item = Cow<'d, str>>,
    ) -> Result<(), EmbedError> {
        let one = self.embedders.first();
        let tells = one.is_some_and(|one| one.has_query_prompt());
        if !tells {
            return self.embed_texts(questions);
        }
        let new = questions.filter(|text| !self.asked.contains_key(text));
        let done = self.embed_on_all_cores(new.collect(), <dyn Embedder>::embed_query)?;
        self.asked.extend(done);
        Ok(())
    }

    /// Embeds those of `texts` that are new. Each text is embedded alone, so its vector does not
    /// depend on the others or on the number of threads.
    pub(crate) fn embed_texts(
        &mut self,
        texts: impl Iterator<Item = Cow<'d, str>>,
    ) -> Result<(), EmbedError> {
        let new = texts.filter(|text| !self.known.contains_key(text));
        let done = self.embed_on_all_cores(new.collect(), <dyn Embedder>::embed)?;
        self.known.extend(done);
        Ok(())
    }

    fn embed_on_all_cores(
        &mut self,
        texts: BTreeSet<Cow<'d, str>>,
        embed: Embed,
    ) -> Result<Vec<Embedded<'d>>, EmbedError> {
        let new = texts.into_iter().filter(|text| !text.trim().is_empty());
        let (new, next) = (new.collect::<Vec<_>>(), AtomicUsize::new(0));
        let work = |embedder: &mut (dyn Embedder + 'static)| -> Result<Vec<_>, EmbedError> {
            let mut done = Vec::new();
            while let Some(text) = new.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((text.clone(), embed(embedder, text)?));
            }
            Ok(done)
        };
        let done: Result<Vec<_>, EmbedError> = thread::scope(|scope| {
            let embedders = self.embedders.iter_mut();
            let workers: Vec<_> = embedders
                .map(|embedder| scope.spawn(|| work(embedder.as_mut())))
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
