//! A reader's ratings of memories: each is for one memory and one question, and can be taken back.

use std::collections::HashMap;

use reprise_operations::OutcomeLine;
use reprise_operations::operations::outcomes::{LearnedRun, Outcome, RATING, Runs, RunsArguments};
use reprise_types::{RecallId, Revision, sha256_hex};

use crate::prelude::*;
use crate::undo::{InverseAction, UserAction, withdraw_rating};

/// Most results of runs and ratings that are looked through.
const LOOKED: usize = 1_000;
/// Digits of the hash of a question.
const QUESTION_DIGITS: usize = 16;

/// The ratings that are in force.
#[derive(Debug, Default)]
pub(in crate::pages) struct Ratings {
    /// By question and memory: the name of the newest outcome, and whether it helped.
    newest: HashMap<String, (String, bool)>,
    /// How often each was rated, with what was taken back.
    counts: HashMap<String, usize>,
}

impl Ratings {
    pub(in crate::pages) async fn load(visit: &PageRequest) -> PageResult<Self> {
        let arguments = RunsArguments {
            record: None,
            limit: Some(LOOKED),
            ratings: true,
        };
        let found = visit.run_optional::<Runs>(arguments).await?;
        let mut ratings = Self::default();
        for run in found.into_iter().flat_map(|found| found.runs) {
            ratings.add(run);
        }
        Ok(ratings)
    }

    /// Adds an outcome, which is older than those before it.
    fn add(&mut self, run: LearnedRun) {
        let Some(named) = run.run_id.strip_prefix(RATING) else {
            return;
        };
        let mut words = named.split(' ');
        let key = [words.next(), words.next()].map(Option::unwrap_or_default);
        let key = key.join(" ");
        *self.counts.entry(key.clone()).or_default() += 1;
        if run.revised != Some(Revision::Withdrawn) {
            let helped = run.quality >= 0.5;
            self.newest.entry(key).or_insert((run.run_id, helped));
        }
    }

    /// Returns whether a memory was rated as helpful for a question; `None` if it has no rating.
    pub(in crate::pages) fn find(&self, question: &str, record: RecordId) -> Option<bool> {
        let found = self.newest.get(&rating_key(question, record));
        found.map(|(_, helped)| *helped)
    }
}

/// Names a question and a memory.
fn rating_key(question: &str, record: RecordId) -> String {
    let mut key = sha256_hex(question.trim().as_bytes());
    key.truncate(QUESTION_DIGITS);
    format!("{key} {record}")
}

/// Saves a reader's rating of a result; the rating that it has already is taken back.
pub(in crate::pages) async fn judge_result(posted: Posted) -> PageResult<Redirect> {
    let query = posted.text("query").to_owned();
    let path = match posted.text("prompt") {
        "" => format!("/search?q={}&", percent_encode(&query)),
        _ => format!("/prompts/{}?", posted.parse_value::<RecordId>("prompt")?),
    };
    let (recall, record): (RecallId, RecordId) =
        (posted.parse_value("recall")?, posted.parse_value("record")?);
    let visit = &posted.visit;
    let (ratings, key) = (Ratings::load(visit).await?, rating_key(&query, record));
    let helped = posted.text("helped") == "yes";
    if let Some((run, before)) = ratings.newest.get(&key) {
        withdraw_rating(visit, run.clone()).await?;
        if *before == helped {
            return Ok(Redirect::to(&format!("{path}done=unrated")));
        }
    }
    let again = ratings.counts.get(&key).copied().unwrap_or_default();
    let run = format!("{RATING}{key} {again}");
    let line = OutcomeLine {
        query_id: None,
        recall_id: Some(recall),
        query: Some(query),
        used: vec![record.to_string()],
        quality: if helped { 1.0 } else { 0.0 },
        run_id: Some(run.clone()),
        failure_kind: None,
        credit: None,
    };
    visit.run::<Outcome>(line).await?;
    let message = if helped {
        "Marked as helpful."
    } else {
        "Marked as not helpful."
    };
    let inverse = InverseAction::WithdrawRating { record, run };
    let number = undo::push_action(visit, UserAction::new(record, message, inverse));
    Ok(Redirect::to(&format!("{path}done={number}")))
}
