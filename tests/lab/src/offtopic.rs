//! Off-topic evaluation: each store gets another set's questions, which it should answer "nothing
//! relevant", and its own, which it should not.

use std::io::{self, Write};
use std::time::Instant;

use reprise_engine::{Ablation, question_subject};
use reprise_types::RelevanceVerdict;
use reprise_types::limits::TOP_K_DEFAULT;
use serde::Serialize;

use crate::dataset::{Dataset, Question};
use crate::error::EvalResult;
use crate::stage::EvalStage;
use crate::store::{Store, Tools, list_external_ids};
use crate::vectors::Vectors;

/// The results of every ordered pair of sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OffTopic {
    /// A description of the protocol.
    pub protocol: Vec<String>,
    /// A row for each set's stores and each set's questions, their own first.
    pub pairs: Vec<Pair>,
    /// Wall time of the whole run, seconds.
    pub elapsed_s: f64,
}

/// One set's questions asked of one set's stores.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Pair {
    /// The set that the stores hold.
    pub stores: String,
    /// The set that the questions are of; the same one for answerable questions.
    pub questions: String,
    /// Questions asked, over all stores.
    pub asked: usize,
    /// Share of them answered "nothing relevant", 0..1.
    pub nothing: f64,
    /// Share of them answered "weak", 0..1.
    pub weak: f64,
    /// Of the answerable ones, the share answered "nothing" although the first result was right.
    pub over_a_right_first: Option<f64>,
    /// Mean score of the first result, 0..1.
    pub first_score: f64,
}

/// Asks every set's stores their own answerable questions and all those of every other set.
pub fn evaluate_off_topic(
    sets: &[(String, Dataset)],
    tools: &Tools<'_>,
    progress: &mut dyn FnMut(EvalStage<'_>),
) -> EvalResult<OffTopic> {
    let began = Instant::now();
    let all = sets.iter().flat_map(|(_, set)| &set.corpora);
    let of = all.clone().count();
    let asked = all.flat_map(|corpus| &corpus.questions);
    let asked = asked.map(|question| question_subject(&question.text));
    let mut vectors = tools.open_embedder.map(Vectors::open).transpose()?;
    let mut pairs = Vec::new();
    let mut number = 0;
    for (own, (stores, set)) in sets.iter().enumerate() {
        let of_set = sets.iter().enumerate().map(|(other, (questions, _))| Pair {
            stores: stores.clone(),
            questions: questions.clone(),
            over_a_right_first: (other == own).then_some(0.0),
            ..Pair::default()
        });
        let mut of_set: Vec<Pair> = of_set.collect();
        for corpus in &set.corpora {
            let place = (number, of);
            let store = Store::fill(tools, place, corpus, asked.clone(), &mut vectors, progress)?;
            number += 1;
            for ((_, other), pair) in sets.iter().zip(&mut of_set) {
                if pair.over_a_right_first.is_some() {
                    let judged = corpus.questions.iter().filter(|q| q.is_judged());
                    judged.for_each(|question| pair.add_answer(&store, question));
                } else {
                    let foreign = other.corpora.iter().flat_map(|corpus| &corpus.questions);
                    foreign.for_each(|question| pair.add_answer(&store, question));
                }
            }
            store.discard()?;
        }
        of_set.iter_mut().for_each(Pair::finish_means);
        of_set.sort_by_key(|pair| pair.over_a_right_first.is_none());
        pairs.append(&mut of_set);
    }
    Ok(OffTopic {
        protocol: vec![
            "every set's questions put to every other set's stores: each should hear that nothing \
             is known"
                .to_owned(),
            "a set's own answerable questions put to their own store: none should hear that"
                .to_owned(),
            match vectors.as_ref().and_then(Vectors::space) {
                Some(space) => format!("vectors: {} {}", space.model, space.version),
                None => "no model: words and time only".to_owned(),
            },
        ],
        pairs,
        elapsed_s: began.elapsed().as_secs_f64(),
    })
}

impl Pair {
    /// Counts one question; sums until the pair is settled.
    fn add_answer(&mut self, store: &Store<'_>, question: &Question) {
        let text = question.text.as_str();
        let recall = store.recall(
            text,
            &question_subject(text),
            TOP_K_DEFAULT,
            &Ablation::default(),
        );
        let first = list_external_ids(&recall).into_iter().next();
        let is_right = first.is_some_and(|first| question.is_gold(first));
        let score = recall.results.first().map_or(0.0, |found| found.sona_score);
        self.asked += 1;
        self.nothing += f64::from(recall.nothing_relevant);
        self.weak += f64::from(recall.verdict == RelevanceVerdict::Weak);
        if let Some(over) = &mut self.over_a_right_first {
            *over += f64::from(recall.nothing_relevant && is_right);
        }
        self.first_score += f64::from(score);
    }

    /// Makes shares and a mean of the sums.
    fn finish_means(&mut self) {
        let asked = self.asked.max(1) as f64;
        let over = self.over_a_right_first.as_mut();
        let sums = [&mut self.nothing, &mut self.weak, &mut self.first_score];
        for sum in sums.into_iter().chain(over) {
            *sum /= asked;
        }
    }
}

/// Prints the pairs as a table.
pub fn print_off_topic(report: &OffTopic, out: &mut dyn Write) -> io::Result<()> {
    for sentence in &report.protocol {
        writeln!(out, "  {sentence}")?;
    }
    writeln!(
        out,
        "{:<20} {:<20} {:>7} {:>9} {:>8} {:>17} {:>12}",
        "stores", "questions", "asked", "nothing", "weak", "over right first", "first score"
    )?;
    for pair in &report.pairs {
        let questions = match pair.over_a_right_first {
            Some(_) => "own, answerable",
            None => &pair.questions,
        };
        let wrong = pair.over_a_right_first;
        writeln!(
            out,
            "{:<20} {questions:<20} {:>7} {:>7.1} % {:>6.1} % {:>17} {:>12.3}",
            pair.stores,
            pair.asked,
            100.0 * pair.nothing,
            100.0 * pair.weak,
            wrong.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share)),
            pair.first_score
        )?;
    }
    for (own, what) in [(false, "off topic"), (true, "answerable")] {
        let of_kind = report.pairs.iter();
        let of_kind = of_kind.filter(|pair| pair.over_a_right_first.is_some() == own);
        let (nothing, asked) = of_kind.fold((0.0, 0), |(nothing, asked), pair| {
            (
                nothing + pair.nothing * pair.asked as f64,
                asked + pair.asked,
            )
        });
        let share = 100.0 * nothing / asked.max(1) as f64;
        writeln!(out, "{what}: \"nothing\" on {share:.1} % of {asked}")?;
    }
    writeln!(out, "whole run {:.1} s", report.elapsed_s)
}
