//! A temporary store, filled with a corpus.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_engine::{Ablation, Engine, EngineError, RecallCall, Snapshot};
use reprise_types::{
    EmbedError, Embedding, ExternalId, NewRecord, NoLearning, RecallId, RecallRequest,
    RecallResponse, WriteOutcome,
};

use crate::dataset::Corpus;
use crate::error::EvalResult;
use crate::stage::EvalStage;
use crate::vectors::{OpenEmbedder, Vectors};

const GROUP: usize = 256;

/// Creates a store at a path, as of an instant.
pub type OpenStoreEngine = dyn Fn(&Path, DateTime<Utc>) -> EvalResult<Engine, EngineError>;

pub struct Tools<'a> {
    /// Creates a store at a path that does not exist yet, as of an instant.
    pub open_engine: &'a OpenStoreEngine,
    /// The model; without it the search is by words alone.
    pub open_embedder: Option<&'a OpenEmbedder<'a>>,
    /// Judges the first results a second time, as one system more.
    pub judge: Option<&'a JudgeTexts<'a>>,
    /// An empty folder for the stores.
    pub folder: &'a Path,
}

/// The probability, 0..1, that each text answers a question.
pub type JudgeTexts<'a> = dyn Fn(&str, &[String]) -> Result<Vec<f32>, EmbedError> + 'a;

reprise_types::show_fields!(Tools<'_> { folder });

pub(crate) struct Store<'a> {
    folder: PathBuf,
    snapshot: Arc<Snapshot>,
    vectors: Option<&'a Vectors<'a>>,
    /// Records stored and refused.
    pub(crate) kept: usize,
    pub(crate) refused: usize,
}

impl<'a> Store<'a> {
    /// Fills store number `place` of `of`, once its texts and these questions are embedded.
    pub(crate) fn fill<'d: 'a>(
        tools: &Tools<'_>,
        (place, of): (usize, usize),
        corpus: &'d Corpus,
        questions: impl Iterator<Item = Cow<'d, str>>,
        vectors: &'a mut Option<Vectors<'d>>,
        progress: &mut dyn FnMut(EvalStage<'_>),
    ) -> EvalResult<Self> {
        progress(EvalStage {
            store: &corpus.name,
            number: place + 1,
            of,
        });
        if let Some(vectors) = vectors {
            let texts = corpus.records.iter().map(|record| record.text.as_str());
            vectors.embed_texts(texts.map(Cow::Borrowed))?;
            vectors.embed_questions(questions)?;
        }
        let vectors = vectors.as_ref();
        let folder = tools.folder.join(format!("store-{place}"));
        fs_err::create_dir_all(&folder)?;
        let now = question_instant(corpus);
        let mut engine = (tools.open_engine)(&folder.join("memory.rvf"), now)?;
        let (mut kept, mut refused) = (0, 0);
        let space = vectors.and_then(Vectors::space);
        for group in corpus.records.chunks(GROUP) {
            let embedded = group.iter().map(|record| {
                let vector = vectors.and_then(|vectors| vectors.find_vector(&record.text));
                NewRecord {
                    embedding: space.clone().zip(vector).map(|(space, vector)| Embedding {
                        space,
                        vector: vector.to_vec(),
                    }),
                    ..record.clone()
                }
            });
            for outcome in engine.observe(embedded.collect(), None, now)? {
                match outcome {
                    WriteOutcome::Inserted { .. } => kept += 1,
                    WriteOutcome::Duplicate { .. } | WriteOutcome::Rejected { .. } => refused += 1,
                }
            }
        }
        Ok(Self {
            folder,
            snapshot: engine.snapshot(),
            vectors,
            kept,
            refused,
        })
    }

    /// Runs a recall for a question with the subject `about`, which recalls embed; the baselines
    /// embed the question itself.
    pub(crate) fn recall(
        &self,
        text: &str,
        about: &str,
        top_k: usize,
        ablation: &Ablation,
    ) -> RecallResponse {
        let request = RecallRequest {
            top_k,
            ..RecallRequest::new(text)
        };
        let space = self.vectors.and_then(Vectors::space);
        let vector = self.find_question_vector(about);
        let query = space.as_ref().zip(vector);
        let id = RecallId::from_u128(0);
        let call = RecallCall {
            vectors: query.as_slice(),
            ablation: *ablation,
            ..RecallCall::new(&request, id, &NoLearning)
        };
        self.snapshot.recall(&call)
    }

    /// The vector of a text that was embedded for this run.
    pub(crate) fn find_vector(&self, text: &str) -> Option<&'a [f32]> {
        self.vectors.and_then(|vectors| vectors.find_vector(text))
    }

    /// Returns the vector of a question.
    pub(crate) fn find_question_vector(&self, text: &str) -> Option<&'a [f32]> {
        self.vectors
            .and_then(|vectors| vectors.find_question_vector(text))
    }

    pub(crate) fn discard(self) -> EvalResult<()> {
        drop(self.snapshot);
        Ok(fs_err::remove_dir_all(&self.folder)?)
    }
}

/// The instant of the questions: after every record.
fn question_instant(corpus: &Corpus) -> DateTime<Utc> {
    let happened = corpus.records.iter().filter_map(|record| record.timestamp);
    let asked = corpus.questions.iter().filter_map(|q| q.asked_at);
    happened.chain(asked).max().unwrap_or_default()
}

/// The external ids of an answer, best first.
pub(crate) fn list_external_ids(recall: &RecallResponse) -> Vec<&str> {
    let records = recall.results.iter().map(|found| &found.record);
    records
        .filter_map(|record| record.find_external_id(ExternalId::BATCH))
        .collect()
}
