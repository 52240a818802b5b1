//! Candidates for an answer: the nearest by meaning, what holds the question's words, and what else
//! is read of both. And what each of its words weighs on the open shelves.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use deadpool_postgres::Transaction;
use reprise_engine::{Spread, TextTerm, TextTerms, term_bm25, term_idf, term_relative_weight};
use reprise_global::backend::Reputations;
use reprise_global::{Caller, GlobalRecord};
use reprise_types::RecordId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::connect::Failure;
use super::super::node::NodeState;
use super::super::sample::{Cosines, SMALL};
use super::super::shelves::QuestionShelves;
use super::super::sql::{SqlParameters, decode_record_row, rows};
use super::super::statements;

/// Candidates by meaning.
pub(super) const NEAR: usize = 64;
/// Look-ups of frequent words among what rarer ones brought forward.
const LOOKUPS: u32 = 1_024;
/// How many times as many rows are read of a question's rarest word as of all its others.
const RAREST: u32 = 4;
/// How many times as much is brought forward where old versions or other types took the places.
const WIDER: u32 = 8;

/// Which version of which thing.
pub(super) type Key = (Uuid, i32);

#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) key: Key,
    pub(super) head: u16,
    pub(super) terms: u32,
    pub(super) cosine: Option<f32>,
    /// What the question's words say of it and their share, where the database has summed it up.
    pub(super) words: Option<(f32, f32)>,
}

impl Candidate {
    fn of(row: &Row) -> Result<Self, Failure> {
        Ok(Self {
            key: (row.try_get(0)?, row.try_get(1)?),
            head: u16::try_from(row.try_get::<_, i16>(2)?).unwrap_or_default(),
            terms: u32::try_from(row.try_get::<_, i32>(3)?).unwrap_or_default(),
            cosine: row.try_get(4)?,
            words: None,
        })
    }

    /// Decodes a row that also has the score of the question's words.
    fn from_row_with_words(row: &Row, weighed: &[Term<'_>]) -> Result<Self, Failure> {
        let all: f32 = weighed.iter().map(|term| term.share).sum();
        let (words, share): (f32, f32) = (row.try_get(5)?, row.try_get(6)?);
        let share = if all > 0.0 { share / all } else { 0.0 };
        Ok(Self {
            words: Some((words, share)),
            ..Self::of(row)?
        })
    }
}

/// The parameters that all statements of one question share.
#[derive(Clone)]
pub(super) struct Search<'a> {
    pub(super) shared: &'a NodeState,
    pub(super) transaction: &'a Transaction<'a>,
    pub(super) shelves: Vec<String>,
    pub(super) types: Option<Vec<&'static str>>,
    pub(super) at: Option<DateTime<Utc>>,
    pub(super) vector: Option<&'a [f32]>,
}

impl Search<'_> {
    async fn query_rows(
        &self,
        statement: &str,
        given: SqlParameters<'_>,
    ) -> Result<Vec<Row>, Failure> {
        rows(self.transaction, &self.shared.node.sql(statement), given).await
    }

    /// The nearest by meaning, how all cosines spread, and whether each shelf was searched: a very
    /// large one without its index is not.
    pub(super) async fn find_by_meaning(
        &self,
        world: &QuestionShelves,
        most: usize,
    ) -> Result<(Vec<Candidate>, Spread, bool), Failure> {
        let Some(vector) = self.vector else {
            return Ok((Vec::new(), Spread::default(), true));
        };
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let (mut found, mut cosines, mut is_whole) = (Vec::new(), Cosines::default(), true);
        for shelf in &self.shelves {
            let known = world.find_facts(shelf);
            let is_walked = match known {
                Some(known) => {
                    let (node, transaction) = (&self.shared.node, self.transaction);
                    known.is_walked(shelf, node, transaction).await?
                }
                None => false,
            };
            let node = &self.shared.node;
            if !is_walked && known.is_some_and(|known| !known.may_be_compared(node)) {
                is_whole = false;
                if let Some(known) = known {
                    known.spread(vector, &mut cosines);
                }
                continue;
            }
            let statement = if is_walked {
                statements::index(shelf, self.at)
            } else {
                statements::exact(self.at)
            };
            let given: SqlParameters<'_> = &[shelf, &vector, &self.types, &self.at, &limit];
            let rows = self.query_rows(&statement, given).await?;
            // Of a large shelf by its sample, whether it is walked or not: one question, one score.
            let is_known = known.is_some_and(|known| known.spread(vector, &mut cosines));
            if !is_known && let Some(row) = rows.first() {
                cosines.add_compared_shelf(
                    row.try_get(5)?,
                    row.try_get(6)?,
                    u32::try_from(row.try_get::<_, i64>(7)?).unwrap_or(u32::MAX),
                );
            }
            for row in &rows {
                found.push(Candidate::of(row)?);
            }
        }
        found.sort_by(|a, b| b.cosine.partial_cmp(&a.cosine).unwrap_or(Ordering::Equal));
        // Where policies alone hold, each statement reads every open shelf.
        let mut seen = HashSet::new();
        found.retain(|one| seen.insert(one.key));
        found.truncate(most);
        Ok((found, cosines.spread(), is_whole))
    }

    /// What holds the question's words, at least `wanted` where there are so many: the rarest bring
    /// it forward, and all of them weigh it.
    pub(super) async fn find_by_words(
        &self,
        world: &QuestionShelves,
        weighed: &[Term<'_>],
        wanted: u32,
    ) -> Result<Vec<Candidate>, Failure> {
        let options = &self.shared.node.options;
        let mut rarest: Vec<&Term<'_>> = weighed.iter().filter(|term| term.weight > 0.0).collect();
        rarest.sort_by_key(|term| term.holding);
        let (mut rows, rows_max) = (0_u32, options.word_rows);
        let bringing = rarest.iter().take_while(|term| {
            let is_first = rows == 0;
            let all = rows.saturating_add(term.holding);
            let is_read = is_first || all <= rows_max;
            rows = if is_read { all } else { rows };
            is_read
        });
        let (bringing, others) = rarest.split_at(bringing.count());
        if bringing.is_empty() {
            return Ok(Vec::new());
        }
        let lookups = LOOKUPS / u32::try_from(others.len()).unwrap_or(LOOKUPS).max(1);
        let mut most = if others.is_empty() {
            options.worded_max
        } else {
            options.worded_max.min(lookups)
        };
        most = most.max(wanted);
        let mut compared = options.compared_max.max(wanted);
        let (bringing, others) = (TermColumns::of(bringing), TermColumns::of(others));
        let (head, each) = (world.head.max(1.0), rows_max.saturating_mul(RAREST));
        let statement = statements::words(self.at);
        loop {
            let [brought, each, compared_max] = [most, each, compared].map(i64::from);
            let given: SqlParameters<'_> = &[
                &self.shelves,
                &self.vector,
                &self.types,
                &self.at,
                &head,
                &bringing.tokens,
                &bringing.weights,
                &bringing.shares,
                &brought,
                &others.tokens,
                &others.weights,
                &others.shares,
                &each,
                &compared_max,
            ];
            let found = self.query_rows(&statement, given).await?;
            if found.len() >= wanted as usize || rows <= most.min(compared) {
                let found = found.iter();
                return found
                    .map(|row| Candidate::from_row_with_words(row, weighed))
                    .collect();
            }
            most = most.saturating_mul(WIDER);
            compared = compared.saturating_mul(WIDER);
        }
    }

    /// How often each candidate holds each term.
    pub(super) async fn postings(
        &self,
        tokens: &[i64],
        ids: &[Uuid],
    ) -> Result<HashMap<Key, HashMap<i64, f32>>, Failure> {
        let mut held: HashMap<Key, HashMap<i64, f32>> = HashMap::new();
        if tokens.is_empty() || ids.is_empty() {
            return Ok(held);
        }
        let given: SqlParameters<'_> = &[&self.shelves, &tokens, &ids];
        for row in self.query_rows(&statements::postings(), given).await? {
            let key = (row.get(0), row.get(1));
            held.entry(key).or_default().insert(row.get(2), row.get(3));
        }
        Ok(held)
    }

    /// Reads the candidates that may go out to the caller, without their vectors.
    pub(super) async fn records(
        &self,
        caller: &Caller,
        (ids, versions): (&[Uuid], &[i32]),
        standings: &Reputations,
    ) -> Result<HashMap<RecordId, GlobalRecord>, Failure> {
        let given: SqlParameters<'_> = &[&self.shelves, &ids, &versions];
        let mut records = HashMap::new();
        for row in self.query_rows(&statements::texts(), given).await? {
            let found = decode_record_row(&row, standings)?;
            if self.shared.node.admits(caller, &found) {
                records.insert(found.id, found);
            }
        }
        Ok(records)
    }

    /// The cosine of some candidates with one of them.
    pub(super) async fn likeness(
        &self,
        ids: &[Uuid],
        best: Key,
    ) -> Result<HashMap<Key, f32>, Failure> {
        let given: SqlParameters<'_> = &[&self.shelves, &ids, &best.0, &best.1];
        let mut likeness = HashMap::new();
        for row in self.query_rows(&statements::likeness(), given).await? {
            if let Some(cosine) = row.get::<_, Option<f32>>(2) {
                likeness.insert((row.get(0), row.get(1)), cosine);
            }
        }
        Ok(likeness)
    }
}

/// Terms of a question that are looked up: its rarest.
pub(super) const TERMS_MAX: usize = 32;
/// A word that more than one in so many things hold is left out where there are others.
const COMMON_SHARE: u32 = 8;

/// A question's term with what it weighs here.
#[derive(Debug)]
pub(super) struct Term<'a> {
    pub(super) text: &'a TextTerm,
    pub(super) holding: u32,
    /// 0 for one that is left out.
    pub(super) weight: f32,
    pub(super) share: f32,
}

/// Terms as a statement has them.
#[derive(Debug)]
struct TermColumns {
    tokens: Vec<i64>,
    weights: Vec<f32>,
    shares: Vec<f32>,
}

impl TermColumns {
    fn of(terms: &[&Term<'_>]) -> Self {
        Self {
            tokens: terms.iter().map(|term| term.text.hash).collect(),
            weights: terms.iter().map(|term| term.weight).collect(),
            shares: terms.iter().map(|term| term.share).collect(),
        }
    }
}

/// What each term weighs: a word that most hold says nothing where there are others.
pub(super) fn weigh_terms<'a>(terms: &'a TextTerms, holding: &[u32], things: u32) -> Vec<Term<'a>> {
    let most = if things <= SMALL {
        u32::MAX
    } else {
        things / COMMON_SHARE
    };
    let some_are_rare = holding.iter().any(|count| *count <= most);
    let mut all: Vec<Term<'_>> = terms
        .terms
        .iter()
        .zip(holding)
        .map(|(term, holding)| {
            let holding = *holding;
            let is_common = some_are_rare && holding > most;
            let said = || {
                (
                    term_idf(things, holding),
                    term_relative_weight(things, holding),
                )
            };
            let (weight, share) = if is_common { (0.0, 0.0) } else { said() };
            Term {
                text: term,
                holding,
                weight,
                share,
            }
        })
        .collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all.truncate(TERMS_MAX);
    all
}

/// How the words' scores spread over all things, as if each word fell by itself: most hold none.
pub(super) fn estimate_word_score_spread(terms: &[Term<'_>], things: u32, head: f32) -> Spread {
    let (mut mean, mut variance) = (0.0_f32, 0.0_f32);
    for term in terms {
        let share = term.holding as f32 / things.max(1) as f32;
        let once = term_bm25(term.weight, 1.0, head as u16, head);
        mean += share * once;
        variance += share * (1.0 - share).max(0.0) * once * once;
    }
    Spread {
        mean,
        deviation: variance.sqrt(),
        count: things,
    }
}
