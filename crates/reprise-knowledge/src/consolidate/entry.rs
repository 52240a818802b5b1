//! One record, as far as tending compares it; what it is about, and when its time is over.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use reprise_engine::alike_pairs;
use reprise_types::Retention;

use super::distil::is_distilled;
use super::facts::Facts;
use super::judge::ALIKE_MIN;
use crate::prelude::*;

/// Longest text that is compared word by word; longer ones are the same only where every byte is.
const COMPARED_BYTES_MAX: usize = 2_000;
/// Words of a text that is a thing to know; less is an answer.
const WORDS_MIN: usize = 3;

/// One record, as far as it is compared.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: RecordId,
    pub(super) text: String,
    pub(super) facts: Facts,
    /// Only records of one scope are compared.
    pub(super) scope: String,
    /// The kind of knowledge; of two kinds each may say the same in its own way.
    pub(super) form: String,
    pub(super) tags: BTreeSet<String>,
    pub(super) at: DateTime<Utc>,
    pub(super) session: String,
    pub(super) kind: MemoryKind,
    pub(super) pinned: bool,
    /// How much stands in it beside its text.
    pub(super) weight: usize,
    pub(super) hash: u128,
}

impl Entry {
    /// `None` for what happened and is no statement.
    pub(super) fn of(record: MemoryRecord) -> Option<Self> {
        let mut entry = Self::unread(record)?;
        if entry.text.len() <= COMPARED_BYTES_MAX {
            entry.facts = Facts::of(&entry.text);
        }
        Some(entry)
    }

    /// The same without its facts: for what was compared.
    pub(super) fn unread(record: MemoryRecord) -> Option<Self> {
        if is_event(&record) {
            return None;
        }
        Some(Self {
            id: record.id,
            facts: Facts::default(),
            scope: scope_of(&record),
            form: word_of(&record, "type").unwrap_or_default().to_owned(),
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
        })
    }

    /// The same text to the last byte, where that is more than an answer.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        let long = self.text.len() > COMPARED_BYTES_MAX;
        self.hash == other.hash && (long || self.facts.words().count() >= WORDS_MIN)
    }

    /// Of tags that are not its own nothing is lost with one of the two.
    pub(super) fn is_tagged_like(&self, other: &Self) -> bool {
        self.tags.is_subset(&other.tags) || other.tags.is_subset(&self.tags)
    }
}

/// Pairs of places in `entries` whose words are alike enough to be compared, each once, ascending;
/// `None` where there was no time for it.
pub(super) fn alike(entries: &[&Entry], go_on: &dyn Fn() -> bool) -> Option<Vec<(u32, u32)>> {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let sets = entries.iter().map(|entry| {
        let words = entry.facts.words().map(|word| hasher.hash_one(&word.stem));
        let mut words: Vec<u64> = words.collect();
        words.sort_unstable();
        words
    });
    alike_pairs(&sets.collect::<Vec<_>>(), ALIKE_MIN, go_on)
}

/// What a statement is about beside its words: of two projects or people each may say the same and
/// mean its own.
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
    let projects = record.tags.iter();
    let projects = projects.filter(|tag| tag.starts_with("project:"));
    for project in projects.collect::<BTreeSet<_>>() {
        scope.push_str(project);
        scope.push('\n');
    }
    scope
}

/// What happened and is no statement: a commit stands for itself, however alike its message.
fn is_event(record: &MemoryRecord) -> bool {
    let of_git = |external: &ExternalId| external.namespace == ExternalId::GIT;
    record.external_ids.iter().any(of_git)
        || record.is_receipt()
        || is_distilled(record)
        || matches!(word_of(record, "type"), Some("plan" | "entity" | "outcome"))
}

/// Whether days without a word are left out of a record's age: it was kept for days, and on fewer
/// days than those something else was kept since. So a holiday ends nothing.
pub(super) fn is_young(record: &MemoryRecord, active: &BTreeSet<NaiveDate>) -> bool {
    const DAY: u32 = 24 * 3_600;
    let Retention::Scratch { ttl_seconds } = record.retention else {
        return false;
    };
    let since = active.range(record.known_at.date_naive()..).skip(1);
    since.count() < (ttl_seconds / DAY) as usize
}

/// Whether a record outlives its time: an error, decision or learning, of high quality, or one that
/// others lead to (C2). A learning that names its own end has one (S65).
pub(super) fn speaks_for_itself(memory: &Snapshot, record: &MemoryRecord) -> bool {
    let word = |name: &str| word_of(record, name);
    if word("type") == Some("learning") && record.metadata.contains_key("expires_at") {
        return false;
    }
    let kinds = ["error", "decision", "learning", "failure", "lesson"];
    let typed = [word("type"), word("observation_type")].into_iter();
    typed.flatten().any(|kind| kinds.contains(&kind))
        || record.quality_score.is_some_and(|quality| quality >= 0.8)
        || memory.links(record.id).iter().any(|link| !link.outgoing)
}
