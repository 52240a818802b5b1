//! A question: candidates by meaning and by words from the open shelves, fused by the rule that
//! ranks a user's own memory.
//!
//! Of a shelf of up to `exact_max` things every vector is compared; of a larger one its own index
//! is walked.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use deadpool_postgres::Transaction;
use reprise_engine::{
    Elsewhere, Spread, Testimony, TextTerm, TextTerms, term_score, term_share, term_weight,
    text_terms,
};
use reprise_types::limits::TOP_K_MAX;
use reprise_types::{Degraded, RecordId, Why};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::connect::{Failure, connection};
use super::drafts;
use super::moments::Cosines;
use super::node::{reading, record_id, shelf_names};
use super::read::record;
use super::shared::Shared;
use super::shelves::{SMALL, World};
use super::statements;
use crate::caller::Caller;
use crate::coordination::Standing;
use crate::error::GlobalError;
use crate::hit::RESERVE;
use crate::store::{GlobalAnswer, GlobalQuery, OVERLAP_FROM, OVERLAPS_MAX, Overlap};

/// Candidates by meaning.
const NEAR: usize = 64;
/// Look-ups of frequent words among what rarer ones brought forward.
const LOOKUPS: usize = 1_024;
/// Terms of a question that are looked up: its rarest.
const TERMS_MAX: usize = 32;
/// A word that more than one in so many things hold is left out where there are others.
const COMMON_SHARE: u32 = 8;

/// Which version of which thing.
type Key = (Uuid, i32);

/// How the index is walked: in the order of distance, on until enough is found. The policies make
/// the planner believe that few rows of a shelf are open, and that sorting them is cheaper. A plan is
/// made once for a connection: to make it takes as long as to run it.
fn walked(sight: u32) -> String {
    format!(
        "SET LOCAL hnsw.ef_search = {sight}; SET LOCAL hnsw.iterative_scan = strict_order; \
         SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_sort = off;"
    )
}

#[derive(Debug, Clone)]
struct Candidate {
    key: Key,
    head: u16,
    terms: u32,
    cosine: Option<f32>,
    /// What the question's words say of it and their share, where the database has summed it up.
    words: Option<(f32, f32)>,
}

impl Candidate {
    fn of(row: &tokio_postgres::Row) -> Result<Self, Failure> {
        Ok(Self {
            key: (row.try_get(0)?, row.try_get(1)?),
            head: u16::try_from(row.try_get::<_, i16>(2)?).unwrap_or_default(),
            terms: u32::try_from(row.try_get::<_, i32>(3)?).unwrap_or_default(),
            cosine: row.try_get(4)?,
            words: None,
        })
    }
}

/// A question as every statement has it.
struct Asked<'a> {
    shared: &'a Shared,
    transaction: &'a Transaction<'a>,
    shelves: Vec<String>,
    types: Option<Vec<&'static str>>,
    at: Option<DateTime<Utc>>,
    vector: Option<&'a [f32]>,
}

impl Asked<'_> {
    async fn prepared(&self, statement: &str) -> Result<tokio_postgres::Statement, Failure> {
        let statement = self.shared.node.sql(statement);
        Ok(self.transaction.prepare_cached(&statement).await?)
    }

    /// The nearest by meaning, and how all cosines spread.
    async fn near(&self, world: &World, most: usize) -> Result<(Vec<Candidate>, Spread), Failure> {
        let Some(vector) = self.vector else {
            return Ok((Vec::new(), Spread::default()));
        };
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let (mut found, mut cosines) = (Vec::new(), Cosines::default());
        for shelf in &self.shelves {
            let known = world.known(shelf);
            let is_walked = match known {
                Some(known) => {
                    let (node, transaction) = (&self.shared.node, self.transaction);
                    known.is_walked(shelf, node, transaction).await?
                }
                None => false,
            };
            let statement = if is_walked {
                statements::index(shelf, self.at)
            } else {
                statements::exact(self.at)
            };
            let statement = self.prepared(&statement).await?;
            let given: [&(dyn ToSql + Sync); 5] = [shelf, &vector, &self.types, &self.at, &limit];
            let rows = self.transaction.query(&statement, &given).await?;
            // Of a large shelf by its sample, whether it is walked or not: one question, one score.
            let is_known = known.is_some_and(|known| known.spread(vector, &mut cosines));
            if !is_known && let Some(row) = rows.first() {
                cosines.of_all(
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
        Ok((found, cosines.spread()))
    }

    /// What holds the question's words: the rarest bring it forward, and all of them weigh it.
    async fn worded(
        &self,
        world: &World,
        weighed: &[Term<'_>],
        most: usize,
    ) -> Result<Vec<Candidate>, Failure> {
        let mut rarest: Vec<&Term<'_>> = weighed.iter().filter(|term| term.weight > 0.0).collect();
        rarest.sort_by_key(|term| term.holding);
        let (mut rows, rows_max) = (0_u32, self.shared.node.options.word_rows);
        let bringing = rarest.iter().take_while(|term| {
            let is_first = rows == 0;
            rows = rows.saturating_add(term.holding);
            is_first || rows <= rows_max
        });
        let (bringing, others) = rarest.split_at(bringing.count());
        if bringing.is_empty() {
            return Ok(Vec::new());
        }
        let most = match others.len() {
            0 => most,
            others => most.min((LOOKUPS / others).max(NEAR)),
        };
        let (bringing, others) = (Parts::of(bringing), Parts::of(others));
        let (head, most) = (world.head.max(1.0), i64::try_from(most).unwrap_or(i64::MAX));
        let statement = self.prepared(&statements::words(self.at)).await?;
        let given: [&(dyn ToSql + Sync); 12] = [
            &self.shelves,
            &self.vector,
            &self.types,
            &self.at,
            &head,
            &bringing.tokens,
            &bringing.weights,
            &bringing.shares,
            &most,
            &others.tokens,
            &others.weights,
            &others.shares,
        ];
        let rows = self.transaction.query(&statement, &given).await?;
        let all: f32 = weighed.iter().map(|term| term.share).sum();
        let candidate = |row: &tokio_postgres::Row| {
            let (words, share): (f32, f32) = (row.try_get(5)?, row.try_get(6)?);
            let share = if all > 0.0 { share / all } else { 0.0 };
            Ok(Candidate {
                words: Some((words, share)),
                ..Candidate::of(row)?
            })
        };
        rows.iter().map(candidate).collect()
    }

    /// How often each candidate holds each term.
    async fn postings(
        &self,
        terms: &[Term<'_>],
        ids: &[Uuid],
    ) -> Result<HashMap<Key, HashMap<i64, f32>>, Failure> {
        let known = terms.iter().filter(|term| term.weight > 0.0);
        let tokens: Vec<i64> = known.map(|term| term.text.number).collect();
        let mut held: HashMap<Key, HashMap<i64, f32>> = HashMap::new();
        if tokens.is_empty() || ids.is_empty() {
            return Ok(held);
        }
        let statement = self.prepared(&statements::postings()).await?;
        let rows = self
            .transaction
            .query(&statement, &[&self.shelves, &tokens, &ids])
            .await?;
        for row in rows {
            let key = (row.get(0), row.get(1));
            held.entry(key).or_default().insert(row.get(2), row.get(3));
        }
        Ok(held)
    }

    async fn texts(
        &self,
        ids: &[Uuid],
        versions: &[i32],
    ) -> Result<Vec<tokio_postgres::Row>, Failure> {
        let statement = self.prepared(&statements::texts()).await?;
        let given: [&(dyn ToSql + Sync); 3] = [&self.shelves, &ids, &versions];
        Ok(self.transaction.query(&statement, &given).await?)
    }

    /// The cosine of some candidates with one of them.
    async fn likeness(&self, ids: &[Uuid], best: Key) -> Result<HashMap<Key, f32>, Failure> {
        let statement = self.prepared(&statements::likeness()).await?;
        let rows = self
            .transaction
            .query(&statement, &[&self.shelves, &ids, &best.0, &best.1])
            .await?;
        let mut likeness = HashMap::new();
        for row in rows {
            if let Some(cosine) = row.get::<_, Option<f32>>(2) {
                likeness.insert((row.get(0), row.get(1)), cosine);
            }
        }
        Ok(likeness)
    }
}

/// A question's term with what it weighs here.
struct Term<'a> {
    text: &'a TextTerm,
    holding: u32,
    /// 0 for one that is left out.
    weight: f32,
    share: f32,
}

/// Terms as a statement has them.
#[derive(Default)]
struct Parts {
    tokens: Vec<i64>,
    weights: Vec<f32>,
    shares: Vec<f32>,
}

impl Parts {
    fn of(terms: &[&Term<'_>]) -> Self {
        Self {
            tokens: terms.iter().map(|term| term.text.number).collect(),
            weights: terms.iter().map(|term| term.weight).collect(),
            shares: terms.iter().map(|term| term.share).collect(),
        }
    }
}

/// What each term weighs: a word that most hold says nothing where there are others.
fn weighed<'a>(terms: &'a TextTerms, holding: &[u32], things: u32) -> Vec<Term<'a>> {
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
            let is_common = some_are_rare && *holding > most;
            Term {
                text: term,
                holding: *holding,
                weight: if is_common {
                    0.0
                } else {
                    term_weight(things, *holding)
                },
                share: if is_common {
                    0.0
                } else {
                    term_share(things, *holding)
                },
            }
        })
        .collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all.truncate(TERMS_MAX);
    all
}

#[expect(
    clippy::too_many_lines,
    reason = "one question from its candidates to its hits, in the order of the engine's recall"
)]
pub(super) async fn query(
    shared: &Shared,
    caller: &Caller,
    query: &GlobalQuery,
    vector: Option<&[f32]>,
) -> Result<GlobalAnswer, Failure> {
    let mut answer = GlobalAnswer::default();
    let top_k = query.top_k.min(TOP_K_MAX);
    if top_k == 0 {
        return Ok(answer);
    }
    let standings = shared.voices.standings(&shared.node).await?;
    let subject = reprise_engine::subject(&query.text);
    if vector.is_none() && !subject.trim().is_empty() {
        answer.degraded.push(Degraded::NoQueryVector);
    }
    let terms = text_terms(&subject);
    let mut client = connection(&shared.node.pool).await?;
    let mut setting = walked(shared.node.options.sight);
    if let Some(branch) = &query.branch {
        setting.push_str(&drafts::opening(caller, branch));
    }
    let transaction = reading(&shared.node, &mut client, caller, &setting).await?;
    let (mut shelves, mut tried) = (shelf_names(caller), drafts::Drafts::new());
    if let Some(branch) = &query.branch {
        tried = drafts::drafts(&transaction, caller, branch).await?;
        shelves.push(caller.branch(branch).to_string());
    }
    let replaced: HashSet<RecordId> = tried.values().flatten().copied().collect();
    let types = query.content_types.iter().map(|one| one.name());
    let types: Vec<&'static str> = types.collect();
    let at = instant(&transaction, query.snapshot.as_deref()).await?;
    let world = shared
        .shelves
        .world(&shared.node, &transaction, caller, &shelves)
        .await?;
    if at.is_none() {
        // Each shelf is looked up for each word and each candidate.
        shelves.retain(|shelf| world.holds(shelf));
    }
    let asked = Asked {
        shared,
        transaction: &transaction,
        shelves,
        types: (!types.is_empty()).then_some(types),
        at,
        vector,
    };
    let holding = world.holding(&transaction, &terms.terms).await?;
    let weighed = weighed(&terms, &holding, world.things);
    let wanted = top_k + RESERVE + replaced.len();
    let worded_max = usize::try_from(shared.node.options.worded_max).unwrap_or(usize::MAX);
    // Both go out before the first answer is back.
    let asking = tokio::try_join!(
        asked.near(&world, NEAR.max(wanted)),
        asked.worded(&world, &weighed, worded_max.max(wanted))
    );
    let ((near, cosines), mut candidates) = asking?;
    let known: HashSet<Key> = candidates.iter().map(|one| one.key).collect();
    candidates.extend(near.into_iter().filter(|one| !known.contains(&one.key)));
    candidates.retain(|one| !replaced.contains(&record_id(one.key.0)));
    // What stands on a branch in the place of a thing goes by that thing's id.
    let thing = |key: &Key| {
        let draft = tried.get(&key.0).copied().flatten();
        draft.unwrap_or_else(|| record_id(key.0))
    };
    if vector.is_some() && candidates.iter().any(|one| one.cosine.is_none()) {
        answer.degraded.push(Degraded::UnembeddedRecords);
    }
    let unheard = |one: &&Candidate| one.words.is_none();
    let ids = candidates.iter().filter(unheard).map(|one| one.key.0);
    let held = asked.postings(&weighed, &ids.collect::<Vec<_>>()).await?;
    let testimonies: Vec<Testimony> = candidates
        .iter()
        .map(|one| testimony(one, held.get(&one.key), &weighed, world.head))
        .collect();
    let store = Elsewhere {
        records: world.things,
        cosines,
        words: words_spread(&weighed, world.things, world.head),
        asked_terms: terms.all,
    };
    let rivals = store.rivals(&testimonies);
    let likeness = match rivals.first().and_then(|best| candidates.get(*best)) {
        Some(best) if rivals.len() > 1 && vector.is_some() => {
            let rival = |place: &usize| candidates.get(*place).map(|one| one.key.0);
            let ids: Vec<Uuid> = rivals.iter().filter_map(rival).collect();
            asked.likeness(&ids, best.key).await?
        }
        _ => HashMap::new(),
    };
    let alike = |one: usize, _| {
        let key = candidates.get(one).map(|one| one.key);
        key.and_then(|key| likeness.get(&key).copied())
            .unwrap_or_default()
    };
    let scores = store.weigh(&testimonies, alike);
    let best = scores.iter().map(|one| one.score).fold(0.0, f32::max);
    let standing = |key: &Key| -> Standing {
        let known = standings.get(&thing(key)).copied();
        known.unwrap_or_default()
    };
    let mut order: Vec<(usize, f32)> = (0..candidates.len())
        .filter(|place| testimonies.get(*place).is_some_and(|one| store.speaks(one)))
        .filter_map(|place| {
            let (one, score) = (candidates.get(place)?, scores.get(place)?.score);
            let moved = score + standing(&one.key).boost_at(score, best);
            Some((place, moved.clamp(0.0, 1.0)))
        })
        .collect();
    order.sort_by(|a, b| {
        let newer = |place: usize| candidates.get(place).map(|one| one.key);
        b.1.total_cmp(&a.1)
            .then_with(|| newer(b.0).cmp(&newer(a.0)))
    });
    order.truncate(top_k);
    let keys: Vec<Key> = order
        .iter()
        .filter_map(|(place, _)| candidates.get(*place).map(|one| one.key))
        .collect();
    let (ids, versions): (Vec<Uuid>, Vec<i32>) = keys.into_iter().unzip();
    let asking = tokio::try_join!(asked.texts(&ids, &versions), asked.postings(&weighed, &ids));
    let (rows, held) = asking?;
    let mut records = HashMap::new();
    for row in &rows {
        let found = record(row, &standings)?;
        if shared.node.admits(caller, &found) {
            records.insert(found.id, found);
        }
    }
    for (place, _) in order {
        let (Some(one), Some(score)) = (candidates.get(place), scores.get(place)) else {
            continue;
        };
        // Taken back since the search.
        let Some(mut record) = records.remove(&record_id(one.key.0)) else {
            continue;
        };
        let why = why(one, held.get(&one.key), &weighed, score.signals.clone());
        let standing = standing(&one.key);
        record.id = thing(&one.key);
        record.quality_metrics = standing.metrics;
        answer
            .hits
            .push(standing.hit(record, score.score, why, best));
    }
    Ok(answer)
}

async fn instant(
    transaction: &Transaction<'_>,
    name: Option<&str>,
) -> Result<Option<DateTime<Utc>>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let none = || GlobalError::NoSnapshot {
        name: name.chars().take(64).collect(),
    };
    if name.contains('\0') {
        return Err(none().into());
    }
    let statement = "SELECT at FROM reprise_global.snapshot WHERE name = $1";
    let row = transaction.query_opt(statement, &[&name]).await?;
    Ok(Some(row.ok_or_else(none)?.get(0)))
}

fn testimony(
    one: &Candidate,
    held: Option<&HashMap<i64, f32>>,
    terms: &[Term<'_>],
    head: f32,
) -> Testimony {
    let said = |(words, share)| Testimony {
        cosine: one.cosine,
        words,
        share,
        terms: one.terms,
    };
    if let Some(known) = one.words {
        return said(known);
    }
    let (mut words, mut covered, mut all) = (0.0, 0.0, 0.0);
    for term in terms {
        all += term.share;
        if let Some(count) = held.and_then(|held| held.get(&term.text.number)) {
            covered += term.share;
            words += term_score(term.weight, *count, one.head, head);
        }
    }
    said((words, if all > 0.0 { covered / all } else { 0.0 }))
}

/// How the words' scores spread over all things, as if each word fell by itself: most hold none.
fn words_spread(terms: &[Term<'_>], things: u32, head: f32) -> Spread {
    let (mut mean, mut variance) = (0.0_f32, 0.0_f32);
    for term in terms {
        let share = term.holding as f32 / things.max(1) as f32;
        let once = term_score(term.weight, 1.0, head as u16, head);
        mean += share * once;
        variance += share * (1.0 - share).max(0.0) * once * once;
    }
    Spread {
        mean,
        deviation: variance.sqrt(),
        count: things,
    }
}

fn why(
    one: &Candidate,
    held: Option<&HashMap<i64, f32>>,
    terms: &[Term<'_>],
    signals: Vec<reprise_types::RankSignal>,
) -> Why {
    let matched = terms
        .iter()
        .filter(|term| held.is_some_and(|held| held.contains_key(&term.text.number)));
    let matched: Vec<String> = matched.map(|term| term.text.surface.clone()).collect();
    let mut reasons = Vec::new();
    if !matched.is_empty() {
        let some: Vec<&str> = matched.iter().take(5).map(String::as_str).collect();
        reasons.push(format!("same words: {}", some.join(", ")));
    }
    if one.cosine.is_some_and(|cosine| cosine >= CLOSE_COSINE) {
        reasons.push("close in meaning".to_owned());
    }
    Why {
        signals,
        raw_distance: one.cosine.map(|cosine| 1.0 - cosine),
        matched_words: matched,
        reason: reasons.join(" \u{b7} "),
        ..Why::default()
    }
}

/// The cosine from which a thing is called close.
const CLOSE_COSINE: f32 = 0.6;

/// What says nearly the same as a new publication, among what its author may see.
pub(super) async fn overlaps(
    shared: &Shared,
    transaction: &Transaction<'_>,
    caller: &Caller,
    vector: &[f32],
    own: Uuid,
) -> Result<Vec<Overlap>, Failure> {
    transaction
        .batch_execute(&walked(shared.node.options.sight))
        .await?;
    let asked = Asked {
        shared,
        transaction,
        shelves: shelf_names(caller),
        types: None,
        at: None,
        vector: Some(vector),
    };
    let world = shared
        .shelves
        .world(&shared.node, transaction, caller, &asked.shelves)
        .await?;
    let (near, _) = asked.near(&world, OVERLAPS_MAX + 1).await?;
    let near: Vec<Candidate> = near
        .into_iter()
        .filter(|one| one.key.0 != own && one.cosine >= Some(OVERLAP_FROM))
        .take(OVERLAPS_MAX)
        .collect();
    if near.is_empty() {
        return Ok(Vec::new());
    }
    let (ids, versions): (Vec<Uuid>, Vec<i32>) = near.iter().map(|one| one.key).unzip();
    let rows = asked.texts(&ids, &versions).await?;
    let mut titles = HashMap::new();
    for row in &rows {
        let found = record(row, &Arc::default())?;
        if shared.node.admits(caller, &found) {
            titles.insert(found.id, found.publication.title);
        }
    }
    let told = near.into_iter().filter_map(|one| {
        let id = record_id(one.key.0);
        Some(Overlap {
            id,
            title: titles.remove(&id)?,
            similarity: one.cosine?,
        })
    });
    Ok(told.collect())
}
