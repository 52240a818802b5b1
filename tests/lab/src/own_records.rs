//! A memory's own records as a data set: of each of a hundred a sentence is held out and asked, and
//! every model that is there looks for the rest of it.

use std::io::{self, Write};
use std::time::Instant;

use reprise_engine::sentence_ranges;
use reprise_types::{ExternalId, MemoryRecord, NewRecord, RecordId, next_splitmix64};
use serde::Serialize;

use crate::dataset::{Corpus, Dataset, Format, Question};
use crate::error::EvalResult;
use crate::ranking_metrics::Gold;
use crate::report::{EvalReport, Latency, SystemReport};
use crate::run::{Options, evaluate};
use crate::stage::EvalStage;
use crate::store::Tools;

/// Questions that are made.
const QUESTIONS: usize = 100;
/// Below this nothing can be told.
const QUESTIONS_MIN: usize = 10;
/// The newest records that are searched among.
const RECORDS: usize = 2_000;
/// Characters of a sentence that asks something, and of what must be left.
const SENTENCE: std::ops::RangeInclusive<usize> = 16..=300;
const REST_MIN: usize = 24;
/// Texts by which a model's time is told.
const TIMED: usize = 30;
const TOP_K: usize = 20;

/// What each model found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelComparison {
    pub records: usize,
    pub questions: usize,
    /// Words alone first.
    pub models: Vec<ModelFigures>,
}

/// One model's figures, in per cent of the questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelFigures {
    pub model: String,
    /// Numbers of a vector; `None` for words alone.
    pub width: Option<u16>,
    /// Share of questions whose record came first.
    pub first: f64,
    /// Share of questions whose record is among the first five.
    pub in_five: f64,
    /// Share of questions whose record is among the first ten.
    pub in_ten: f64,
    pub mrr: f64,
    /// The median text, milliseconds.
    pub embed_ms: f64,
    /// A recall without the embedding of its question.
    pub recall_ms: Latency,
}

/// Puts the same questions to every model; `models` has names and what each needs. An error is a
/// sentence where the memory has too few records to ask about.
pub fn compare_models(
    records: &[MemoryRecord],
    models: &[(String, Tools<'_>)],
    progress: &mut dyn FnMut(EvalStage<'_>),
) -> EvalResult<Result<ModelComparison, String>> {
    let dataset = match build_dataset(records) {
        Ok(dataset) => dataset,
        Err(why) => return Ok(Err(why)),
    };
    let options = Options {
        top_k: TOP_K,
        without: Vec::new(),
    };
    let mut lines = Vec::new();
    let (mut kept, mut asked) = (0, 0);
    for (number, (name, tools)) in models.iter().enumerate() {
        progress(EvalStage {
            store: name,
            number: number + 1,
            of: models.len(),
        });
        let report = evaluate(&dataset, &options, tools, &mut |_| {})?;
        (kept, asked) = (report.records, report.judged);
        if lines.is_empty() {
            let words = report.systems.iter().find(|system| system.name == "bm25");
            lines.extend(
                words.map(|words| to_model_figures("words alone", None, 0.0, words, &report)),
            );
        }
        let (width, embed_ms) = measure_width_and_time(&dataset, tools)?;
        if let Some(own) = report.systems.first() {
            lines.push(to_model_figures(name, width, embed_ms, own, &report));
        }
    }
    Ok(Ok(ModelComparison {
        records: kept,
        questions: asked,
        models: lines,
    }))
}

fn to_model_figures(
    name: &str,
    width: Option<u16>,
    embed_ms: f64,
    system: &SystemReport,
    report: &EvalReport,
) -> ModelFigures {
    let at = |depth| system.turn.any.get(&depth).copied().unwrap_or(0.0);
    ModelFigures {
        model: name.to_owned(),
        width,
        first: at(1),
        in_five: at(5),
        in_ten: at(10),
        mrr: system.turn.mrr,
        embed_ms,
        recall_ms: report.recall_ms,
    }
}

/// How wide a model is, and what a text costs it.
fn measure_width_and_time(dataset: &Dataset, tools: &Tools<'_>) -> EvalResult<(Option<u16>, f64)> {
    let Some(open) = tools.open_embedder else {
        return Ok((None, 0.0));
    };
    let mut embedder = open()?;
    let mut times = Vec::new();
    let records = dataset.corpora.iter().flat_map(|corpus| &corpus.records);
    for record in records.take(TIMED) {
        let began = Instant::now();
        embedder.embed(&record.text)?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok((
        Some(embedder.space().dimensions),
        Latency::from_times(times).p50,
    ))
}

/// The records with a sentence held out of some, and those sentences as questions.
fn build_dataset(records: &[MemoryRecord]) -> Result<Dataset, String> {
    let newest = &records[records.len().saturating_sub(RECORDS)..];
    let able: Vec<(RecordId, String, String)> = newest
        .iter()
        .filter_map(|record| {
            let (rest, sentence) = hold_out_sentence(&record.text, record.id)?;
            Some((record.id, rest, sentence))
        })
        .collect();
    if able.len() < QUESTIONS_MIN {
        return Err(format!(
            "of this memory's records {} have more than one sentence, and {QUESTIONS_MIN} are \
             needed to compare models by; keep more, or ask `reprise-lab eval jsonl` about a set of \
             yours",
            able.len()
        ));
    }
    let step = able.len().div_ceil(QUESTIONS);
    let chosen = able.iter().step_by(step);
    let questions: Vec<Question> = chosen
        .clone()
        .map(|(id, _, sentence)| Question {
            id: id.to_string(),
            text: sentence.clone(),
            category: "mine".to_owned(),
            gold: vec![Gold::from_id(id.to_string())],
            answerable: true,
            ..Question::default()
        })
        .collect();
    let rests: std::collections::BTreeMap<RecordId, &String> =
        chosen.map(|(id, rest, _)| (*id, rest)).collect();
    let kept = newest.iter().map(|record| {
        let text = rests.get(&record.id).map_or(&record.text, |rest| *rest);
        let mut new = NewRecord::new(text.clone(), record.source, record.kind);
        new.timestamp = Some(record.timestamp);
        new.session_id.clone_from(&record.session_id);
        new.external_ids = vec![ExternalId::new(ExternalId::BATCH, record.id.to_string())];
        new
    });
    let corpus = Corpus::new("mine".to_owned(), kept.collect(), questions);
    Ok(Dataset {
        protocol: crate::dataset::Protocol::default(),
        format: Format::Jsonl,
        corpora: vec![corpus.with_sessions_of_gold()],
    })
}

/// A text without one of its sentences, and that sentence; which one is the record's own chance.
fn hold_out_sentence(text: &str, id: RecordId) -> Option<(String, String)> {
    let all = sentence_ranges(text);
    let long = |range: &&std::ops::Range<usize>| {
        let sentence = text.get((*range).clone()).unwrap_or_default().trim();
        SENTENCE.contains(&sentence.chars().count())
    };
    let able: Vec<_> = all.iter().filter(long).collect();
    let mut seed = id.to_u128() as u64;
    let place = next_splitmix64(&mut seed) as usize;
    let out = able.get(place % able.len().max(1))?;
    let rest = [&text[..out.start], &text[out.end..]].concat();
    let sentence = text[out.start..out.end].trim().to_owned();
    let rest = rest.trim().to_owned();
    (rest.chars().count() >= REST_MIN && !rest.contains(&sentence)).then_some((rest, sentence))
}

/// Prints the models' figures as a table.
pub fn print_model_comparison(comparison: &ModelComparison, out: &mut dyn Write) -> io::Result<()> {
    let ModelComparison {
        records, questions, ..
    } = comparison;
    writeln!(
        out,
        "{questions} sentences held out of {records} records of this memory; which model finds the \
         rest"
    )?;
    writeln!(
        out,
        "{:<28} {:>6} {:>7} {:>7} {:>7} {:>7} {:>9} {:>10}",
        "", "width", "first", "in 5", "in 10", "MRR", "embed", "recall"
    )?;
    for one in &comparison.models {
        let width = one.width.map_or("-".to_owned(), |width| width.to_string());
        writeln!(
            out,
            "{:<28} {width:>6} {:>6.1}% {:>6.1}% {:>6.1}% {:>7.1} {:>6.1} ms {:>7.2} ms",
            one.model, one.first, one.in_five, one.in_ten, one.mrr, one.embed_ms, one.recall_ms.p50
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use reprise_types::{MemoryKind, MemorySource, RecordBody};

    use super::*;

    fn record(number: u128, text: &str) -> MemoryRecord {
        let body = RecordBody::new(text, MemorySource::UserInput, MemoryKind::Episode);
        body.into_record(RecordId::from_u128(number), chrono::DateTime::UNIX_EPOCH)
    }

    #[test]
    fn a_sentence_is_asked_that_its_record_holds_no_more() {
        let text = |n: u128| {
            format!(
                "The gateway number {n} answers 502. Its certificate ran out on Sunday. Ask {n} \
                 before you renew it."
            )
        };
        let mut records: Vec<_> = (1..=40).map(|n| record(n, &text(n))).collect();
        records.push(record(41, "One sentence alone."));
        let set = build_dataset(&records).unwrap();
        let corpus = &set.corpora[0];
        assert_eq!((corpus.records.len(), corpus.questions.len()), (41, 40));
        for question in &corpus.questions {
            let Gold(ids) = &question.gold[0];
            let own = corpus.records.iter().find(|record| {
                let id = record.external_ids.first().map(|external| &external.id);
                id.is_some_and(|id| ids.contains(id))
            });
            let own = own.unwrap();
            assert!(
                !own.text.contains(&question.text),
                "{} in {}",
                question.text,
                own.text
            );
            assert!(own.text.chars().count() >= REST_MIN);
        }
        assert_eq!(
            corpus.questions,
            build_dataset(&records).unwrap().corpora[0].questions
        );
        let few = build_dataset(&records[..5]).unwrap_err();
        assert!(
            few.contains("records 5 have") && few.contains("10 are needed"),
            "{few}"
        );
    }
}
