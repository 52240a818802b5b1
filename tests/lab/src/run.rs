//! The protocol: fill a temporary store, ask every question, compute the metrics of every system.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

use reprise_engine::{
    Ablation, apply_judgements, is_first_settled, question_subject, texts_to_judge,
};
use reprise_types::{EmbeddingSpace, ExternalId, RecallResponse};

use crate::baselines::{self, Bm25};
use crate::calibration::{AnswerVerdict, Calibration, Silence};
use crate::dataset::{Corpus, Dataset, Question, Rated};
use crate::error::EvalResult;
use crate::ranking_metrics::RankingMetrics;
use crate::report::{EvalReport, Latency, Summary, SystemReport};
use crate::stage::EvalStage;
use crate::store::{JudgeTexts, Store, Tools, list_external_ids};
use crate::vectors::Vectors;

/// Results that a second judge reads, as in a recall.
const JUDGED: usize = 8;
/// Results per question used for calibration.
const CALIBRATED: usize = 10;

#[derive(Debug, Clone)]
pub struct Options {
    /// Results of one recall; at least 20 for R@20.
    pub top_k: usize,
    /// Ablations: each is a comma-separated list of signals or kinds of evidence to leave out
    /// together; [`EACH`] means one ablation per name.
    pub without: Vec<String>,
}

/// One ablation for every single name.
pub const EACH: &str = "each";

/// The requested ablations with their names.
fn list_ablations(options: &Options) -> EvalResult<Vec<(String, Ablation)>> {
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

/// Runs the whole set. The same set, options and model give the same figures, times aside.
pub fn evaluate(
    dataset: &Dataset,
    options: &Options,
    tools: &Tools<'_>,
    progress: &mut dyn FnMut(EvalStage<'_>),
) -> EvalResult<EvalReport> {
    let began = Instant::now();
    let mut vectors = tools.open_embedder.map(Vectors::open).transpose()?;
    let ablations = list_ablations(options)?;
    let mut tally = Tally::default();
    for (place, corpus) in dataset.corpora.iter().enumerate() {
        let asked = corpus.questions.iter().map(|q| q.text.as_str());
        let asked = asked
            .clone()
            .map(Cow::Borrowed)
            .chain(asked.map(question_subject));
        let place = (place, dataset.corpora.len());
        let store = Store::fill(tools, place, corpus, asked, &mut vectors, progress)?;
        tally.kept += store.kept;
        tally.refused += store.refused;
        tally.ask_and_measure(&store, corpus, options.top_k, &ablations, tools.judge)?;
        store.discard()?;
    }
    let space = vectors.as_ref().and_then(Vectors::space);
    let names: Vec<String> = ablations.into_iter().map(|(name, _)| name).collect();
    Ok(tally.into_report(dataset, options, space.as_ref(), &names, began))
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
    without_answer: Vec<AnswerVerdict>,
    with_answer: Vec<AnswerVerdict>,
    recall_ms: Vec<f64>,
}

impl<'d> Tally<'d> {
    fn ask_and_measure(
        &mut self,
        store: &Store<'_>,
        corpus: &'d Corpus,
        top_k: usize,
        ablations: &[(String, Ablation)],
        judge: Option<&JudgeTexts<'_>>,
    ) -> EvalResult<()> {
        let ids = corpus.records.iter();
        let ids = ids.filter_map(|record| record.find_external_id(ExternalId::BATCH));
        let ids: Vec<&str> = ids.collect();
        let vector = |text: &str| store.find_vector(text);
        let known: Vec<Option<&[f32]>> = corpus.records.iter().map(|r| vector(&r.text)).collect();
        let bm25 = Bm25::new(corpus.records.iter().map(|record| record.text.as_str()));
        for question in &corpus.questions {
            let text = question.text.as_str();
            let about = &question_subject(text);
            let began = Instant::now();
            let recall = store.recall(text, about, top_k, &Ablation::default());
            self.recall_ms.push(began.elapsed().as_secs_f64() * 1e3);
            self.add_answer(question, &recall);
            self.add_metrics(
                System::Reprise,
                corpus,
                question,
                &list_external_ids(&recall),
            );
            if let Some(judge) = judge {
                let mut recall = store.recall(text, about, top_k.max(JUDGED), &Ablation::default());
                let mut judgements = Vec::new();
                for one in texts_to_judge(text, &recall, JUDGED) {
                    if is_first_settled(&recall, &judgements) {
                        break;
                    }
                    judgements.extend(judge(text, &[one])?);
                }
                apply_judgements(&mut recall, &judgements, top_k);
                self.add_metrics(
                    System::Judged,
                    corpus,
                    question,
                    &list_external_ids(&recall),
                );
            }
            for (number, (_, ablation)) in ablations.iter().enumerate() {
                let recall = store.recall(text, about, top_k, ablation);
                self.add_metrics(
                    System::Without(number),
                    corpus,
                    question,
                    &list_external_ids(&recall),
                );
            }
            let by_words = bm25.rank(text);
            let mut baseline = |system, ranking: &[(usize, f64)]| {
                let places = ranking.iter().take(top_k);
                let found: Vec<&str> = places
                    .filter_map(|(place, _)| ids.get(*place).copied())
                    .collect();
                self.add_metrics(system, corpus, question, &found);
            };
            baseline(System::Bm25, &by_words);
            if let Some(vector) = store.find_question_vector(text) {
                let by_meaning = baselines::rank_by_cosine(vector, &known);
                baseline(System::Cosine, &by_meaning);
                let merged = baselines::fuse_rankings([&by_meaning, &by_words]);
                baseline(System::Merged, &merged);
            }
        }
        Ok(())
    }

    /// Adds one answer to calibration and abstention.
    fn add_answer(&mut self, question: &Question, recall: &RecallResponse) {
        let scores = recall.results.iter().map(|found| found.score);
        let said = AnswerVerdict {
            best: scores.clone().fold(f32::NEG_INFINITY, f32::max),
            nothing: recall.nothing_relevant,
        };
        if !question.answerable {
            self.without_answer.push(said);
        } else if question.is_judged() {
            self.with_answer.push(said);
            let shown = scores.zip(list_external_ids(recall)).take(CALIBRATED);
            let scored = shown.map(|(score, id)| (score, question.is_gold(id)));
            self.scored.extend(scored);
        }
    }

    fn add_metrics(
        &mut self,
        system: System,
        corpus: &Corpus,
        question: &'d Question,
        found: &[&str],
    ) {
        let marked = (question, corpus.measure_answer(question, found));
        self.marked.entry(system).or_default().push(marked);
    }

    fn into_report(
        self,
        dataset: &Dataset,
        options: &Options,
        space: Option<&EmbeddingSpace>,
        ablations: &[String],
        began: Instant,
    ) -> EvalReport {
        let systems: Vec<SystemReport> = self
            .marked
            .iter()
            .map(|(system, marked)| summarise_system(&system.name(ablations), marked))
            .collect();
        let asked = dataset.corpora.iter().flat_map(|c| &c.questions);
        EvalReport {
            set: dataset.format,
            documents: dataset.protocol,
            protocol: describe_protocol(dataset, options, space),
            stores: dataset.corpora.len(),
            records: self.kept,
            refused: self.refused,
            questions: asked.clone().count(),
            judged: asked.clone().filter(|q| q.is_judged()).count(),
            without_answer: asked.filter(|q| !q.answerable).count(),
            systems,
            calibration: Calibration::from_results(&self.scored),
            silence: Silence::from_answers(&self.without_answer, &self.with_answer),
            recall_ms: Latency::from_times(self.recall_ms),
            elapsed_s: began.elapsed().as_secs_f64(),
        }
    }
}

fn summarise_system(name: &str, marked: &[Marked<'_>]) -> SystemReport {
    type Pick<'a> = &'a dyn Fn(&Marked<'_>) -> Option<RankingMetrics>;
    let by_category = |pick: Pick<'_>| {
        let mut columns: BTreeMap<&String, Vec<RankingMetrics>> = BTreeMap::new();
        for one in marked {
            if let Some(marks) = pick(one) {
                columns.entry(&one.0.category).or_default().push(marks);
            }
        }
        let rows = columns.into_iter();
        rows.map(|(category, marks)| (category.clone(), Summary::from_metrics(&marks)))
            .collect()
    };
    let of = |pick: Pick<'_>| {
        let marks: Vec<RankingMetrics> = marked.iter().filter_map(pick).collect();
        Summary::from_metrics(&marks)
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

fn describe_protocol(
    dataset: &Dataset,
    options: &Options,
    space: Option<&EmbeddingSpace>,
) -> Vec<String> {
    let model = match space {
        Some(space) => format!(
            "vectors: {} {}, {} numbers, one text a call, the same for every system",
            space.model, space.version, space.dimensions
        ),
        None => "no model: words and time only".to_owned(),
    };
    let (name, own) = (dataset.format.name(), dataset.format.protocol());
    let head = match dataset.protocol.describe_changes(dataset.format) {
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
