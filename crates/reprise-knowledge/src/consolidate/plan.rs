//! What is to be done to a memory, from one snapshot of it; nothing is changed here.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_engine::Snapshot;
use reprise_types::{ExternalId, MemoryKind, MemoryRecord, RecordId, Retention, parse_timestamp};
use serde::Serialize;
use serde_json::Value;

use super::candidates::{number, pairs};
use super::distil::{Distillate, Source, is_distilled};
use super::facts::Facts;
use super::judge::{Judgement, judge};
use super::runs::{self, WellDone};

/// Longest text that is compared word by word; longer ones are the same only where every byte is.
const COMPARED_BYTES_MAX: usize = 2_000;
/// Pairs in doubt that are listed; more are counted.
const REVIEW_MAX: usize = 1_000;
/// Least cosine of two texts that are merged, where both have a vector: words that agree in a text
/// whose meaning does not are a doubt.
const COSINE_MIN: f32 = 0.8;

/// Records of which one is enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Merge {
    /// Answers for all.
    pub kept: RecordId,
    pub gone: Vec<RecordId>,
}

/// Two records, and what is with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The older first.
    pub pair: [RecordId; 2],
    /// The one that happened later.
    pub newest: RecordId,
    pub why: String,
}

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    pub merged: Vec<Merge>,
    /// Pairs that a person has to look at.
    pub review: Vec<Pair>,
    /// Pairs in doubt that are not listed.
    pub review_more: usize,
    /// Pairs that cannot both hold.
    pub contradictions: Vec<Pair>,
    pub purged: Vec<RecordId>,
    /// What had its time, and stays because something speaks for it (C2).
    pub promoted: Vec<RecordId>,
    /// What recurs, to be told once.
    pub distilled: Vec<Distillate>,
    /// Whether there was no time left to compare all.
    pub cut: bool,
}

/// One record, as far as it is compared.
struct Entry {
    id: RecordId,
    text: String,
    facts: Facts,
    /// Only records of one scope are compared.
    scope: String,
    tags: BTreeSet<String>,
    at: DateTime<Utc>,
    session: String,
    kind: MemoryKind,
    pinned: bool,
    /// How much stands in it beside its text.
    weight: usize,
    hash: u128,
}

/// Looks through all live records.
#[must_use]
pub fn plan(memory: &Snapshot, now: DateTime<Utc>) -> Plan {
    plan_while(memory, now, &|| true)
}

/// Records read, or pairs compared, between two looks at whether there is time left.
const AT_A_TIME: usize = 256;

/// The same for as long as there is time.
#[must_use]
pub fn plan_while(memory: &Snapshot, now: DateTime<Utc>, go_on: &dyn Fn() -> bool) -> Plan {
    let mut plan = Plan::default();
    let mut entries: Vec<Entry> = Vec::new();
    let mut well_done: Vec<WellDone> = Vec::new();
    for (number, record) in memory.records().flatten().enumerate() {
        if number % AT_A_TIME == 0 && !go_on() {
            plan.cut = true;
            return plan;
        }
        if is_over(&record, now) && !memory.are_apart(record.id, record.id) {
            if speaks_for_itself(memory, &record) {
                plan.promoted.push(record.id);
            } else {
                plan.purged.push(record.id);
                continue;
            }
        }
        well_done.extend(WellDone::of(&record));
        if !is_event(&record) {
            entries.push(entry_of(record));
        }
    }
    let mut groups = Groups::new(entries.len());
    exact_copies(memory, &entries, &mut groups);
    let places = 0..entries.len();
    let first: Vec<usize> = places
        .filter(|place| groups.root(*place) == *place)
        .collect();
    let stems: Vec<Vec<u64>> = first
        .iter()
        .map(|place| {
            let entry = entries.get(*place);
            let words = entry.into_iter().flat_map(|entry| entry.facts.words());
            words.map(|word| number(&word.stem)).collect()
        })
        .collect();
    for (number, (one, other)) in pairs(&stems).into_iter().enumerate() {
        if number % AT_A_TIME == 0 && !go_on() {
            plan.cut = true;
            break;
        }
        let (Some(&a), Some(&b)) = (first.get(one as usize), first.get(other as usize)) else {
            continue;
        };
        if groups.root(a) != groups.root(b) {
            compare(memory, &entries, (a, b), &mut groups, &mut plan);
        }
    }
    plan.merged = groups.merges(&entries);
    plan.distilled = recurring(memory, &plan.merged, &entries);
    plan.distilled.extend(runs::recurring(memory, well_done));
    let gone = plan.merged.iter().flat_map(|merge| merge.gone.clone());
    let gone: BTreeSet<RecordId> = gone.collect();
    let stays = |pair: &Pair| pair.pair.iter().all(|id| !gone.contains(id));
    plan.review.retain(stays);
    plan.contradictions.retain(stays);
    plan.review_more = plan.review.len().saturating_sub(REVIEW_MAX);
    plan.review.truncate(REVIEW_MAX);
    plan
}

/// What the records of a merge say, with those that were put behind them before, where they said it
/// in several sessions.
fn recurring(memory: &Snapshot, merged: &[Merge], entries: &[Entry]) -> Vec<Distillate> {
    let places = entries.iter().map(|entry| (entry.id, entry));
    let places: BTreeMap<RecordId, &Entry> = places.collect();
    let mut behind: BTreeMap<RecordId, Vec<RecordId>> = BTreeMap::new();
    for one in memory.retired() {
        if let Some(kept) = one.kept {
            behind.entry(kept).or_default().push(one.gone);
        }
    }
    let distilled = merged.iter().filter_map(|merge| {
        let kept = places.get(&merge.kept)?;
        let mut said: Vec<Source> = Vec::new();
        for id in merge.gone.iter().chain([&merge.kept]) {
            let entry = places.get(id)?;
            if entry.kind != MemoryKind::Episode {
                return None;
            }
            said.push(Source {
                id: entry.id,
                session: entry.session.clone(),
                at: entry.at,
            });
            for before in behind.get(id).into_iter().flatten() {
                let record = memory.version(*before)?.ok()?;
                said.push(Source {
                    id: record.id,
                    session: record.body.session_id,
                    at: record.timestamp,
                });
            }
        }
        Distillate::of_same(&kept.text, &kept.tags, &said)
    });
    distilled.collect()
}

fn compare(
    memory: &Snapshot,
    entries: &[Entry],
    (a, b): (usize, usize),
    groups: &mut Groups,
    plan: &mut Plan,
) {
    let (Some(one), Some(other)) = (entries.get(a), entries.get(b)) else {
        return;
    };
    if one.scope != other.scope {
        return;
    }
    let judgement = judge((&one.text, &one.facts), (&other.text, &other.facts));
    if judgement == Judgement::Other || memory.are_apart(one.id, other.id) {
        return;
    }
    let (older, newer) = if (one.at, one.id) <= (other.at, other.id) {
        (one, other)
    } else {
        (other, one)
    };
    let pair = |why: String| Pair {
        pair: [older.id, newer.id],
        newest: newer.id,
        why,
    };
    match judgement {
        Judgement::Other => {}
        Judgement::Contrary(why) => plan.contradictions.push(pair(why)),
        Judgement::Doubt(why) => plan.review.push(pair(why)),
        Judgement::Same => {
            let related = one.tags.is_subset(&other.tags) || other.tags.is_subset(&one.tags);
            if !related {
                plan.review
                    .push(pair("they say the same under different tags".to_owned()));
            } else if cosine(memory, one.id, other.id).is_some_and(|cosine| cosine < COSINE_MIN) {
                plan.review.push(pair(
                    "their words agree and their meaning may not".to_owned(),
                ));
            } else {
                groups.join(a, b);
            }
        }
    }
}

/// Texts that are the same to the last byte, whatever their length.
fn exact_copies(memory: &Snapshot, entries: &[Entry], groups: &mut Groups) {
    let mut by_hash: BTreeMap<(u128, &str), Vec<usize>> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        by_hash
            .entry((entry.hash, &entry.scope))
            .or_default()
            .push(place);
    }
    for places in by_hash.values().filter(|places| places.len() > 1) {
        let Some((first, rest)) = places.split_first() else {
            continue;
        };
        let Some(one) = entries.get(*first) else {
            continue;
        };
        // A word or two is an answer, not a thing to know.
        if one.facts.words().count() < 3 && one.text.len() < COMPARED_BYTES_MAX {
            continue;
        }
        for place in rest {
            let Some(other) = entries.get(*place) else {
                continue;
            };
            let related = one.tags.is_subset(&other.tags) || other.tags.is_subset(&one.tags);
            if related && !memory.are_apart(one.id, other.id) {
                groups.join(*first, *place);
            }
        }
    }
}

fn entry_of(record: MemoryRecord) -> Entry {
    let facts = if record.text.len() <= COMPARED_BYTES_MAX {
        Facts::of(&record.text)
    } else {
        Facts::default()
    };
    Entry {
        id: record.id,
        facts,
        scope: scope_of(&record),
        tags: record.tags.iter().cloned().collect(),
        at: record.timestamp,
        session: record.session_id.clone(),
        kind: record.kind,
        pinned: record.retention == Retention::Pinned,
        weight: usize::from(record.details.is_some()) * 4
            + usize::from(record.quality_score.is_some()) * 2
            + usize::from(record.confidence.is_some())
            + record.tags.len(),
        hash: record.content_hash.0,
        text: record.body.text,
    }
}

/// What a statement is about beside its words: of two projects, people or kinds of knowledge each
/// may say the same and mean its own.
fn scope_of(record: &MemoryRecord) -> String {
    const KEYS: [&str; 7] = [
        "project",
        "repo",
        "repository",
        "speaker",
        "author",
        "sender",
        "cwd",
    ];
    let mut scope = String::new();
    for key in KEYS {
        if let Some(value) = record.metadata.get(key).and_then(Value::as_str) {
            scope.push_str(&[key, "=", value, "\n"].concat());
        }
    }
    let mut projects: Vec<&String> = record
        .tags
        .iter()
        .filter(|tag| tag.starts_with("project:"))
        .collect();
    projects.sort_unstable();
    for project in projects {
        scope.push_str(project);
        scope.push('\n');
    }
    let kind = record
        .details
        .as_ref()
        .and_then(|details| details.get("type")?.as_str());
    scope.push_str(kind.unwrap_or_default());
    scope
}

/// What happened and is no statement: a commit stands for itself, however alike its message.
fn is_event(record: &MemoryRecord) -> bool {
    let of_git = |external: &ExternalId| external.namespace == ExternalId::GIT;
    let kind = record
        .details
        .as_ref()
        .and_then(|details| details.get("type")?.as_str());
    record.external_ids.iter().any(of_git)
        || is_distilled(record)
        || matches!(kind, Some("plan" | "entity" | "outcome"))
}

/// Whether a record had its time.
fn is_over(record: &MemoryRecord, now: DateTime<Utc>) -> bool {
    if let Retention::Scratch { ttl_seconds } = record.retention {
        return record.known_at + TimeDelta::seconds(ttl_seconds.into()) <= now;
    }
    let named = |value: Option<&Value>| {
        let at = value.and_then(Value::as_str)?;
        parse_timestamp(at).ok()
    };
    let details = record.details.as_ref();
    let ends = named(record.metadata.get("expires_at"))
        .or_else(|| named(details.and_then(|details| details.get("expires_at"))));
    ends.is_some_and(|ends| ends <= now) && record.retention != Retention::Pinned
}

/// Whether a record outlives its time: an error, decision or learning, of high quality, or one that
/// others lead to (C2).
fn speaks_for_itself(memory: &Snapshot, record: &MemoryRecord) -> bool {
    let details = record.details.as_ref();
    let word = |name: &str| details.and_then(|details| details.get(name)?.as_str());
    let kinds = ["error", "decision", "learning", "failure", "lesson"];
    let typed = [word("type"), word("observation_type")]
        .into_iter()
        .flatten();
    typed.into_iter().any(|kind| kinds.contains(&kind))
        || record.quality_score.is_some_and(|quality| quality >= 0.8)
        || memory.links(record.id).iter().any(|link| !link.outgoing)
}

fn cosine(memory: &Snapshot, one: RecordId, other: RecordId) -> Option<f32> {
    let read = |id| memory.get(id)?.ok();
    let (one, other) = (read(one)?, read(other)?);
    let comparable = one.embedding_space == other.embedding_space
        && !one.embedding.is_empty()
        && one.embedding.len() == other.embedding.len();
    let products = one
        .embedding
        .iter()
        .zip(&other.embedding)
        .map(|(a, b)| a * b);
    comparable.then(|| products.sum())
}

/// Sets of places that say the same.
struct Groups {
    parents: Vec<usize>,
}

impl Groups {
    fn new(count: usize) -> Self {
        Self {
            parents: (0..count).collect(),
        }
    }

    fn root(&self, mut place: usize) -> usize {
        while let Some(&parent) = self.parents.get(place)
            && parent != place
        {
            place = parent;
        }
        place
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        let (low, high) = (one.min(other), one.max(other));
        if let Some(parent) = self.parents.get_mut(high) {
            *parent = low;
        }
    }

    fn merges(&self, entries: &[Entry]) -> Vec<Merge> {
        let mut sets: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
        for (place, entry) in entries.iter().enumerate() {
            sets.entry(self.root(place)).or_default().push(entry);
        }
        let merges = sets
            .into_values()
            .filter(|set| set.len() > 1)
            .filter_map(|mut set| {
                // What is pinned stays; else what has most beside its text, else the newest.
                set.sort_by_key(|entry| {
                    let tags = entry.tags.len();
                    (entry.pinned, tags, entry.weight, entry.at, entry.id)
                });
                let kept = set.pop()?;
                // Of tags that are not its own nothing may be lost.
                let gone = set
                    .iter()
                    .filter(|entry| !entry.pinned && entry.tags.is_subset(&kept.tags));
                let gone: Vec<RecordId> = gone.map(|entry| entry.id).collect();
                (!gone.is_empty()).then_some(Merge {
                    kept: kept.id,
                    gone,
                })
            });
        merges.collect()
    }
}
