//! The protocol: fill a temporary store, ask every question, compute the metrics of every system.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

use reprise_engine::{Ablation, judged, subject};
use reprise_types::{EmbeddingSpace, ExternalId, Recall};

use crate::baselines::{self, Bm25};
use crate::calibration::{Calibration, Said, Silence};
use crate::dataset::{Corpus, Dataset, Question, Rated};
use crate::error::Result;
use crate::marks::Marks;
use crate::report::{Latency, Report, Summary, SystemReport};
use crate::store::{Judge, Store, Tools, ids_of};
use crate::vectors::Vectors;

/// Results that a second judge reads, as in a recall.
const JUDGED: usize = 20;
/// Results per question used for calibration.
const CALIBRATED: usize = 10;

#[derive(Debug, Clone)]
pub struct Options {
    /// Results of one recall; at least 20 for R@20.
    pub top_k: usize,
    /// Ablations: each is a comma-separated list of signals or kinds of evidence to leave out
    /// together; [`EACH`] stands for one ablation per name.
    pub without: Vec<String>,
}

/// One ablation for every single name.
pub const EACH: &str = "each";

/// The requested ablations with their names.
fn ablations(options: &Options) -> Result<Vec<(String, Ablation)>> {
    let mut asked: Vec<String> = Vec::new();
    for names in &options.without {
        if names == EACH {
            asked.extend(Ablation::names().into_iter().map(str::to_owned));
        } else {
            asked.push(names.clone());
        }
    }
    asked
        .into_iter()
        .map(|names| {
            let ablation = Ablation::without(names.split(',').map(str::trim))?;
            Ok((names, ablation))
        })
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage<'a> {
    /// The store being filled and asked.
    pub store: &'a str,
    /// Its number, from 1.
    pub number: usize,
    pub of: usize,
}

/// Runs the whole set. The same set, options and model give the same figures, times aside.
pub fn evaluate(
    dataset: &Dataset,
    options: &Options,
    tools: &Tools<'_>,
    progress: &mut dyn FnMut(Stage<'_>),
) -> Result<Report> {
    let began = Instant::now();
    let mut vectors = tools.open_embedder.map(Vectors::open).transpose()?;
    let ablations = ablations(options)?;
    let mut tally = Tally::default();
    for (place, corpus) in dataset.corpora.iter().enumerate() {
        let asked = corpus.questions.iter().map(|q| q.text.as_str());
        let asked = asked.clone().map(Cow::Borrowed).chain(asked.map(subject));
        let place = (place, dataset.corpora.len());
        let store = Store::fill(tools, place, corpus, asked, &mut vectors, progress)?;
        tally.kept += store.kept;
        tally.refused += store.refused;
        tally.ask(&store, corpus, options.top_k, &ablations, tools.judge)?;
        store.discard()?;
    }
    let space = vectors.as_ref().and_then(Vectors::space);
    let names: Vec<String> = ablations.into_iter().map(|(name, _)| name).collect();
    Ok(tally.report(dataset, options, space.as_ref(), &names, began))
}

/// The ranking systems, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum System {
    Reprise,
    /// Reprise, its first results judged a second time.
    Judged,
    /// Reprise with the ablation of this index.
    Without(usize),
    Cosine,
    Bm25,
    Merged,
}

impl System {
    fn name(self, ablations: &[String]) -> String {
        match self {
            Self::Reprise => "reprise".to_owned(),
            Self::Judged => "  with the reranker".to_owned(),
            Self::Without(number) => {
                let names = ablations.get(number).map_or("", String::as_str);
                format!("  without {names}")
            }
            Self::Cosine => "cosine".to_owned(),
            Self::Bm25 => "bm25".to_owned(),
            Self::Merged => "rrf(cosine, bm25)".to_owned(),
        }
    }
}

/// The metrics of one system for one question.
type Marked<'d> = (&'d Question, Rated);

/// Running totals.
#[derive(Default)]
struct Tally<'d> {
    kept: usize,
    refused: usize,
    marked: BTreeMap<System, Vec<Marked<'d>>>,
    scored: Vec<(f32, bool)>,
    without_answer: Vec<Said>,
    with_answer: Vec<Said>,
    recall_ms: Vec<f64>,
}

impl<'d> Tally<'d> {
    fn ask(
        &mut self,
        store: &Store<'_>,
        corpus: &'d Corpus,
        top_k: usize,
        ablations: &[(String, Ablation)],
        judge: Option<&Judge<'_>>,
    ) -> Result<()> {
        let ids = corpus.records.iter();
        let ids = ids.filter_map(|record| record.external_id(ExternalId::BATCH));
        let ids: Vec<&str> = ids.collect();
        let vector = |text: &str| store.vector(text);
        let known: Vec<Option<&[f32]>> = corpus.records.iter().map(|r| vector(&r.text)).collect();
        let bm25 = Bm25::new(corpus.records.iter().map(|record| record.text.as_str()));
        for question in &corpus.questions {
            let text = question.text.as_str();
            let about = &subject(text);
            let began = Instant::now();
            let recall = store.recall(text, about, top_k, &Ablation::default());
            self.recall_ms.push(began.elapsed().as_secs_f64() * 1e3);
            self.score(question, &recall);
            self.mark(System::Reprise, corpus, question, &ids_of(&recall));
            if let Some(judge) = judge {
                let mut recall = store.recall(text, about, top_k.max(JUDGED), &Ablation::default());
                let first = recall.results.iter().take(JUDGED);
                let texts: Vec<String> = first.map(|found| found.record.text.clone()).collect();
                let judgements = judge(text, &texts)?;
                judged(&mut recall, &judgements, top_k);
                self.mark(System::Judged, corpus, question, &ids_of(&recall));
            }
            for (number, (_, ablation)) in ablations.iter().enumerate() {
                let recall = store.recall(text, about, top_k, ablation);
                self.mark(System::Without(number), corpus, question, &ids_of(&recall));
            }
            let by_words = bm25.rank(text);
            let mut baseline = |system, ranking: &[(usize, f64)]| {
                let places = ranking.iter().take(top_k);
                let found: Vec<&str> = places
                    .filter_map(|(place, _)| ids.get(*place).copied())
                    .collect();
                self.mark(system, corpus, question, &found);
            };
            baseline(System::Bm25, &by_words);
            if let Some(vector) = store.question_vector(text) {
                let by_meaning = baselines::cosine(vector, &known);
                baseline(System::Cosine, &by_meaning);
                let merged = baselines::merge([&by_meaning, &by_words]);
                baseline(System::Merged, &merged);
            }
        }
        Ok(())
    }

    /// Adds one answer to calibration and abstention.
    fn score(&mut self, question: &Question, recall: &Recall) {
        let scores = recall.results.iter().map(|found| found.score);
        let said = Said {
            best: scores.clone().fold(f32::NEG_INFINITY, f32::max),
            nothing: recall.nothing_relevant,
        };
        if !question.answerable {
            self.without_answer.push(said);
        } else if question.is_judged() {
            self.with_answer.push(said);
            let shown = scores.zip(ids_of(recall)).take(CALIBRATED);
            let scored = shown.map(|(score, id)| (score, question.is_gold(id)));
            self.scored.extend(scored);
        }
    }

    fn mark(&mut self, system: System, corpus: &Corpus, question: &'d Question, found: &[&str]) {
        let marked = (question, corpus.rate(question, found));
        self.marked.entry(system).or_default().push(marked);
    }

    fn report(
        self,
        dataset: &Dataset,
        options: &Options,
        space: Option<&EmbeddingSpace>,
        ablations: &[String],
        began: Instant,
    ) -> Report {
        let systems: Vec<SystemReport> = self
            .marked
            .iter()
            .map(|(system, marked)| summarised(&system.name(ablations), marked))
            .collect();
        let asked = dataset.corpora.iter().flat_map(|c| &c.questions);
        Report {
            set: dataset.format,
            documents: dataset.protocol,
            protocol: protocol(dataset, options, space),
            stores: dataset.corpora.len(),
            records: self.kept,
            refused: self.refused,
            questions: asked.clone().count(),
            judged: asked.clone().filter(|q| q.is_judged()).count(),
            without_answer: asked.filter(|q| !q.answerable).count(),
            systems,
            calibration: Calibration::of(&self.scored),
            silence: Silence::of(&self.without_answer, &self.with_answer),
            recall_ms: Latency::of(self.recall_ms),
            elapsed_s: began.elapsed().as_secs_f64(),
        }
    }
}

fn summarised(name: &str, marked: &[Marked<'_>]) -> SystemReport {
    type Pick<'a> = &'a dyn Fn(&Marked<'_>) -> Option<Marks>;
    let by_category = |pick: Pick<'_>| {
        let mut columns: BTreeMap<&String, Vec<Marks>> = BTreeMap::new();
        for one in marked {
            if let Some(marks) = pick(one) {
                columns.entry(&one.0.category).or_default().push(marks);
            }
        }
        let rows = columns.into_iter();
        rows.map(|(category, marks)| (category.clone(), Summary::of(&marks)))
            .collect()
    };
    let of = |pick: Pick<'_>| {
        let marks: Vec<Marks> = marked.iter().filter_map(pick).collect();
        Summary::of(&marks)
    };
    SystemReport {
        name: name.to_owned(),
        turn: of(&|(_, rated)| rated.turn),
        session: of(&|(_, rated)| Some(rated.session)),
        session_answerable: of(&|(asked, rated)| asked.answerable.then_some(rated.session)),
        turn_by_category: by_category(&|(_, rated)| rated.turn),
        session_by_category: by_category(&|(_, rated)| Some(rated.session)),
    }
}

fn protocol(dataset: &Dataset, options: &Options, space: Option<&EmbeddingSpace>) -> Vec<String> {
    let model = match space {
        Some(space) => format!(
            "vectors: {} {}, {} numbers, one text a call, the same for every system",
            space.model, space.version, space.dimensions
        ),
        None => "no model: words and time only".to_owned(),
    };
    let (name, own) = (dataset.format.name(), dataset.format.protocol());
    let head = match dataset.protocol.changes(dataset.format) {
        None | Some("") => format!("{name}: {own}"),
        Some(changes) => format!("{name}, {}: {changes}", dataset.protocol.name()),
    };
    vec![
        head,
        format!(
            "one store per user, everything kept before the first question; the best {} records of \
             each answer count; no language model, no reranker, nothing learned",
            options.top_k
        ),
        model,
        "turn level: fractional recall over the gold of answerable questions that name any; \
         session level: the answer's distinct sessions in order of their best record, all \
         questions, nothing to find counts 1"
            .to_owned(),
        "baselines in this run over the same records: cosine of the same vectors; BM25 (k1 1.2, \
         b .75, same analyser, whole text); reciprocal rank fusion (60) of the two"
            .to_owned(),
        "intervals: 95 %, 1,000 resamples of the questions, seeded".to_owned(),
    ]
}
