//! A question: candidates by meaning and by words from the open shelves, fused by the rule that
//! ranks a user's own memory.
//!
//! Of a shelf of up to `exact_max` things every vector is compared; of a larger one its own index
//! is walked.

mod candidates;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use deadpool_postgres::Transaction;
use reprise_engine::{CorpusStats, ExternalHit, extract_terms, term_bm25};
use reprise_global::backend::{
    CANDIDATE_RESERVE, OVERLAP_FROM, OVERLAPS_MAX, PATTERNS_NEAR, PatternFilter, Reputation,
    choose_overlaps, find_common_patterns,
};
use reprise_global::{
    Caller, GlobalAnswer, GlobalContentType, GlobalError, GlobalQuery, GlobalRecord, Overlap,
};
use reprise_types::limits::TOP_K_MAX;
use reprise_types::{DegradedPart, RankExplanation, RecordId};
use uuid::Uuid;

use self::candidates::{
    Candidate, Key, NEAR, Search, TERMS_MAX, Term, estimate_word_score_spread, weigh_terms,
};
use super::connect::{Failure, find_spare_connection, get_connection, join_both};
use super::node::{NodeState, begin_read, open_shelf_names};
use super::sql::{number, record_id, row, uuid};
use super::{drafts, statements};

/// How the index is walked: in the order of distance, on until enough is found. The policies make
/// the planner believe that few rows of a shelf are open, and that sorting them is cheaper. A plan
/// is made once for a connection: to make it takes as long as to run it.
fn index_walk_settings(sight: u32) -> String {
    format!(
        "SET LOCAL hnsw.ef_search = {sight}; SET LOCAL hnsw.iterative_scan = strict_order; \
         SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_sort = off;"
    )
}

#[expect(
    clippy::too_many_lines,
    reason = "one question from its candidates to its hits, in the order of the engine's recall"
)]
pub(super) async fn query(
    shared: &NodeState,
    caller: &Caller,
    query: &GlobalQuery,
    vector: Option<&[f32]>,
) -> Result<GlobalAnswer, Failure> {
    let mut answer = GlobalAnswer::default();
    let top_k = query.top_k.min(TOP_K_MAX);
    if top_k == 0 {
        return Ok(answer);
    }
    let standings = shared.voices.compute_reputations(&shared.node).await?;
    let subject = reprise_engine::question_subject(&query.text);
    if vector.is_none() && !subject.trim().is_empty() {
        answer.degraded.push(DegradedPart::NoQueryVector);
    }
    let terms = extract_terms(&subject);
    let mut client = get_connection(&shared.node.pool).await?;
    let mut spare = match vector {
        Some(_) => find_spare_connection(&shared.node.pool).await,
        None => None,
    };
    let mut setting = index_walk_settings(shared.node.options.sight);
    // An author also finds what waits for a review.
    let shows_waiting = query.snapshot.is_none() && query.branch.is_none();
    let opened = match &query.branch {
        Some(branch) => vec![branch.clone()],
        None if shows_waiting => drafts::list_review_branches(caller),
        None => Vec::new(),
    };
    setting.push_str(&drafts::open_branches_setting(caller, &opened));
    let begun = begin_read(&shared.node, &mut client, caller, &setting);
    let (transaction, other) = match &mut spare {
        None => (begun.await?, None),
        Some(spare) => {
            let other = begin_read(&shared.node, spare, caller, &setting);
            let (begun, other) = tokio::join!(begun, other);
            (begun?, other.ok())
        }
    };
    let (mut shelves, mut tried) = (open_shelf_names(caller), drafts::Drafts::new());
    if let Some(branch) = &query.branch {
        tried = drafts::list_drafts(&transaction, caller, branch).await?;
        shelves.push(caller.branch_shelf(branch).to_string());
    } else if shows_waiting {
        let (waiting, on_shelves) = drafts::list_waiting(&transaction, caller).await?;
        tried = waiting;
        shelves.extend(on_shelves);
    }
    let replaced: HashSet<RecordId> = tried.values().flatten().copied().collect();
    let types = query.content_types.iter().map(|one| one.name());
    let types: Vec<&'static str> = types.collect();
    let at = find_snapshot_instant(&transaction, query.snapshot.as_deref()).await?;
    let world = shared
        .shelves
        .load_question_shelves(&shared.node, &transaction, caller, &shelves)
        .await?;
    if at.is_none() {
        // Each shelf is looked up for each word and each candidate.
        shelves.retain(|shelf| world.holds(shelf));
    }
    let asked = Search {
        shared,
        transaction: &transaction,
        shelves,
        types: (!types.is_empty()).then_some(types),
        at,
        vector,
    };
    let wanted = top_k + CANDIDATE_RESERVE + replaced.len();
    let by_words = async {
        let holding = world
            .count_holders_of_terms(&transaction, &terms.terms)
            .await?;
        let weighed = weigh_terms(&terms, &holding, world.things);
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        let found = asked.find_by_words(&world, &weighed, wanted).await?;
        Ok((weighed, found))
    };
    let is_long = terms.terms.len() > TERMS_MAX;
    let beside = Search {
        transaction: other.as_ref().unwrap_or(&transaction),
        ..asked.clone()
    };
    let by_meaning = async {
        let (near, cosines, is_whole) = beside.find_by_meaning(&world, NEAR.max(wanted)).await?;
        let ids: Vec<Uuid> = near.iter().map(|one| one.key.0).collect();
        // Of a longer question only the rarest count, and these are not known yet.
        let early = terms.terms.iter().take_while(|_| !is_long);
        let early: Vec<i64> = early.map(|term| term.hash).collect();
        let held = beside.postings(&early, &ids).await?;
        Ok((near, (cosines, is_whole), held))
    };
    let asking = join_both(by_meaning, by_words).await?;
    let ((near, (cosines, is_whole), mut held), (weighed, mut candidates)) = asking;
    let counting = weighed.iter().filter(|term| term.weight > 0.0);
    let counting: Vec<i64> = counting.map(|term| term.text.hash).collect();
    if is_long {
        let ids: Vec<Uuid> = near.iter().map(|one| one.key.0).collect();
        held = asked.postings(&counting, &ids).await?;
    }
    let known: HashSet<Key> = candidates.iter().map(|one| one.key).collect();
    candidates.extend(near.into_iter().filter(|one| !known.contains(&one.key)));
    candidates.retain(|one| !replaced.contains(&record_id(one.key.0)));
    // A draft that is to replace a thing goes by that thing's id.
    let thing = |key: &Key| {
        let draft = tried.get(&key.0).copied().flatten();
        draft.unwrap_or_else(|| record_id(key.0))
    };
    let is_bare = |one: &Candidate| one.cosine.is_none();
    if !is_whole {
        answer.degraded.push(DegradedPart::NoVectorIndex);
    } else if vector.is_some() && candidates.iter().any(is_bare) {
        answer.degraded.push(DegradedPart::UnembeddedRecords);
    }
    let testimonies: Vec<ExternalHit> = candidates
        .iter()
        .map(|one| to_external_hit(one, held.get(&one.key), &weighed, world.head))
        .collect();
    let store = CorpusStats {
        records: world.things,
        cosines,
        words: estimate_word_score_spread(&weighed, world.things, world.head),
        question_terms: terms.total_terms,
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
    let scores = store.score_hits(&testimonies, alike);
    let best = scores.iter().map(|one| one.score).fold(0.0, f32::max);
    let standing = |key: &Key| -> Reputation {
        let known = standings.get(&thing(key)).copied();
        known.unwrap_or_default()
    };
    let mut order: Vec<(usize, f32)> = (0..candidates.len())
        .filter(|place| {
            testimonies
                .get(*place)
                .is_some_and(|one| store.has_evidence(one))
        })
        .filter_map(|place| {
            let (one, score) = (candidates.get(place)?, scores.get(place)?.score);
            let moved = score + standing(&one.key).boost_at(score, best);
            Some((place, moved.clamp(0.0, 1.0)))
        })
        .collect();
    order.sort_by(|a, b| {
        // Of copies the first that was published comes first.
        let first = |place: usize| candidates.get(place).map(|one| one.key);
        b.1.total_cmp(&a.1)
            .then_with(|| first(a.0).cmp(&first(b.0)))
    });
    let mut patterns = PatternFilter::default();
    // The next ones where some of the best are gone, or told to nobody yet.
    for order in order.chunks(top_k) {
        let keys = order.iter().filter_map(|(place, _)| candidates.get(*place));
        let (ids, versions): (Vec<Uuid>, Vec<i32>) = keys.map(|one| one.key).unzip();
        let asking = join_both(
            asked.records(caller, (&ids, &versions), &standings),
            asked.postings(&counting, &ids),
        );
        let (mut records, held) = asking.await?;
        for (place, _) in order {
            let (Some(one), Some(score)) = (candidates.get(*place), scores.get(*place)) else {
                continue;
            };
            // Taken back since the search.
            let Some(mut record) = records.remove(&record_id(one.key.0)) else {
                continue;
            };
            if record.is_pattern_of_others(&caller.user) {
                if !patterns.needs_look_up(record.id) {
                    continue;
                }
                let same = list_common_patterns(shared, &transaction, caller, &record).await?;
                if !patterns.admit(record.id, same) {
                    continue;
                }
            }
            let why = why(one, held.get(&one.key), &weighed, score.signals.clone());
            let standing = standing(&one.key);
            record.id = thing(&one.key);
            record.quality_metrics = standing.metrics;
            let hit = standing.build_hit(record, score.score, why, best);
            answer.hits.push(hit);
            if answer.hits.len() == top_k {
                return Ok(answer);
            }
        }
    }
    Ok(answer)
}

/// Lists the patterns that say nearly the same as this one, if so many authors have published one
/// that none of them is known by it.
pub(super) async fn list_common_patterns(
    shared: &NodeState,
    transaction: &Transaction<'_>,
    caller: &Caller,
    pattern: &GlobalRecord,
) -> Result<Option<Vec<RecordId>>, Failure> {
    let statement = shared.node.sql(&statements::vector());
    let shelves = open_shelf_names(caller);
    let (id, version) = (uuid(pattern.id), number(pattern.version));
    let row = row(transaction, &statement, &[&shelves, &id, &version]).await?;
    let Some(vector) = row.and_then(|row| row.get::<_, Option<Vec<f32>>>(0)) else {
        return Ok(None);
    };
    let types = Some(vec![GlobalContentType::Pattern.name()]);
    let near = find_nearly_same(shared, transaction, caller, &vector, types, PATTERNS_NEAR).await?;
    Ok(find_common_patterns(near))
}

async fn find_snapshot_instant(
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
    let row = row(transaction, statement, &[&name]).await?;
    Ok(Some(row.ok_or_else(none)?.get(0)))
}

fn to_external_hit(
    one: &Candidate,
    held: Option<&HashMap<i64, f32>>,
    terms: &[Term<'_>],
    head: f32,
) -> ExternalHit {
    let said = |(words, share)| ExternalHit {
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
        if let Some(count) = held.and_then(|held| held.get(&term.text.hash)) {
            covered += term.share;
            words += term_bm25(term.weight, *count, one.head, head);
        }
    }
    said((words, if all > 0.0 { covered / all } else { 0.0 }))
}

fn why(
    one: &Candidate,
    held: Option<&HashMap<i64, f32>>,
    terms: &[Term<'_>],
    signals: Vec<reprise_types::RankSignal>,
) -> RankExplanation {
    let matched = terms
        .iter()
        .filter(|term| held.is_some_and(|held| held.contains_key(&term.text.hash)));
    let matched: Vec<String> = matched.map(|term| term.text.surface.clone()).collect();
    let mut reasons = Vec::new();
    if !matched.is_empty() {
        let some: Vec<&str> = matched.iter().take(5).map(String::as_str).collect();
        reasons.push(format!("same words: {}", some.join(", ")));
    }
    if one.cosine.is_some_and(|cosine| cosine >= CLOSE_COSINE) {
        reasons.push("close in meaning".to_owned());
    }
    RankExplanation {
        signals,
        raw_distance: one.cosine.map(|cosine| 1.0 - cosine),
        matched_words: matched,
        reason: reasons.join(" \u{b7} "),
        ..RankExplanation::default()
    }
}

/// The cosine from which a thing is called close.
const CLOSE_COSINE: f32 = 0.6;

/// What says nearly the same as a new publication, among what its author may see.
pub(super) async fn overlaps(
    shared: &NodeState,
    transaction: &Transaction<'_>,
    caller: &Caller,
    vector: &[f32],
    own: Uuid,
) -> Result<Vec<Overlap>, Failure> {
    let near =
        find_nearly_same(shared, transaction, caller, vector, None, OVERLAPS_MAX + 1).await?;
    Ok(choose_overlaps(near, Some(record_id(own)), &caller.user))
}

/// What says nearly the same as a vector's text on the caller's shelves, the nearest first.
async fn find_nearly_same(
    shared: &NodeState,
    transaction: &Transaction<'_>,
    caller: &Caller,
    vector: &[f32],
    types: Option<Vec<&'static str>>,
    most: usize,
) -> Result<Vec<(GlobalRecord, f32)>, Failure> {
    transaction
        .batch_execute(&index_walk_settings(shared.node.options.sight))
        .await?;
    let asked = Search {
        shared,
        transaction,
        shelves: open_shelf_names(caller),
        types,
        at: None,
        vector: Some(vector),
    };
    let world = shared
        .shelves
        .load_question_shelves(&shared.node, transaction, caller, &asked.shelves)
        .await?;
    let (mut near, ..) = asked.find_by_meaning(&world, most).await?;
    near.retain(|one| one.cosine >= Some(OVERLAP_FROM));
    if near.is_empty() {
        return Ok(Vec::new());
    }
    let (ids, versions): (Vec<Uuid>, Vec<i32>) = near.iter().map(|one| one.key).unzip();
    let mut records = asked
        .records(caller, (&ids, &versions), &Arc::default())
        .await?;
    let near = near.into_iter();
    let found = near.filter_map(|one| Some((records.remove(&record_id(one.key.0))?, one.cosine?)));
    Ok(found.collect())
}
