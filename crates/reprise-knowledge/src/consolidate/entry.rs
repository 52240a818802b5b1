//! Prepares a record for comparison, and tells when it has expired.

use std::borrow::Cow;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use reprise_engine::find_similar_pairs;
use reprise_types::{RecordType, Retention};

use super::distil::is_distilled;
use super::facts::Facts;
use super::judge::ALIKE_MIN;
use crate::prelude::*;
use crate::requests::keep_statements;
use crate::sunwell::{may_state_correction, states_withdrawal};

/// Longest text that is compared word by word; longer texts are duplicates only byte by byte.
const COMPARED_BYTES_MAX: usize = 2_000;
/// Fewest words of a statement; a shorter text is a mere answer such as "ok".
const WORDS_MIN: usize = 3;

/// A record as it is compared with others.
#[derive(Debug)]
pub(super) struct ComparisonEntry {
    pub(super) id: RecordId,
    pub(super) text: String,
    pub(super) facts: Facts,
    /// Project and people that it belongs to; only records of one scope are compared.
    pub(super) scope: String,
    /// Type of knowledge; only records of one type are compared.
    pub(super) knowledge_type: String,
    pub(super) tags: BTreeSet<String>,
    pub(super) at: DateTime<Utc>,
    pub(super) session: String,
    pub(super) kind: MemoryKind,
    pub(super) pinned: bool,
    /// How much it holds besides its text; of two duplicates the heavier is kept.
    pub(super) weight: usize,
    pub(super) hash: u128,
    pub(super) decidable: Decidable,
    pub(super) record_type: RecordType,
    /// What of its text is compared, if not all: what a person asks for or asks states nothing.
    pub(super) stated: Option<String>,
    /// Whether a sentence of it ends a rule, if there is one with its words.
    pub(super) ends_rules: bool,
    /// Whether a sentence of it corrects a fact.
    pub(super) corrects: bool,
}

/// What a person can decide about a record next to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decidable {
    /// Whether it is true, and whether it says the same.
    Statement,
    /// Whether it is true. What a person said to an agent is no second copy of what is known.
    Said,
    /// Nothing: a request is neither true nor false, and the output of a command was true once.
    Nothing,
}

impl Decidable {
    /// Tells what can be decided about a record that has something to compare, or nothing.
    fn of(record: &MemoryRecord, is_stated: bool) -> Self {
        match record.record_type() {
            RecordType::Test | RecordType::Command | RecordType::Run => Self::Nothing,
            _ if is_output_of_command(&record.text) => Self::Nothing,
            _ if !is_stated => Self::Nothing,
            RecordType::Prompt => Self::Said,
            _ => Self::Statement,
        }
    }
}

/// Returns whether a text is a command line, as of a shell, with or without what it printed.
fn is_output_of_command(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("$ ") || text.starts_with("# $ ") || text.starts_with("> $ ")
}

impl ComparisonEntry {
    /// Whether it is a prompt to an agent: people repeat themselves.
    pub(super) fn is_prompt(&self) -> bool {
        self.record_type == RecordType::Prompt
    }

    /// Builds an entry with its facts; `None` for an event, which is no statement.
    pub(super) fn of(record: MemoryRecord) -> Option<Self> {
        let mut entry = Self::without_facts(record)?;
        if entry.text.len() <= COMPARED_BYTES_MAX {
            entry.facts = Facts::of(entry.stated_text());
            entry.ends_rules = states_withdrawal(entry.stated_text());
            entry.corrects = may_state_correction(entry.stated_text());
        }
        Some(entry)
    }

    /// Builds an entry without its facts, for a record that was already compared.
    pub(super) fn without_facts(record: MemoryRecord) -> Option<Self> {
        if is_event(&record) {
            return None;
        }
        let is_said =
            record.source == MemorySource::UserInput && record.kind == MemoryKind::Episode;
        let all = Cow::Borrowed(record.text.as_str());
        let is_short = record.text.len() <= COMPARED_BYTES_MAX;
        let stated = if is_said && is_short {
            keep_statements(&record.text)
        } else {
            Some(all)
        };
        Some(Self {
            id: record.id,
            facts: Facts::default(),
            ends_rules: false,
            corrects: false,
            scope: scope_of(&record),
            knowledge_type: detail_word(&record, "type").unwrap_or_default().to_owned(),
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
            decidable: Decidable::of(&record, stated.is_some()),
            record_type: record.record_type(),
            stated: match stated {
                Some(Cow::Owned(stated)) => Some(stated),
                _ => None,
            },
            text: record.body.text,
        })
    }

    /// Returns what of its text is compared.
    pub(super) fn stated_text(&self) -> &str {
        self.stated.as_deref().unwrap_or(&self.text)
    }

    /// Whether both texts are equal byte by byte, and more than a mere answer.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        let long = self.text.len() > COMPARED_BYTES_MAX;
        self.hash == other.hash && (long || self.facts.words().count() >= WORDS_MIN)
    }

    /// Whether the tags of one include those of the other, so that a merge loses no tag.
    pub(super) fn is_tagged_like(&self, other: &Self) -> bool {
        self.tags.is_subset(&other.tags) || other.tags.is_subset(&self.tags)
    }
}

/// Finds the pairs of positions in `entries` whose words are alike enough to be compared, each
/// once, ascending; `None` if `go_on` stopped it.
pub(super) fn find_alike_pairs(
    entries: &[&ComparisonEntry],
    go_on: &dyn Fn() -> bool,
) -> Option<Vec<(u32, u32)>> {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let sets = entries.iter().map(|entry| {
        let words = entry.facts.words().map(|word| hasher.hash_one(&word.stem));
        let mut words: Vec<u64> = words.collect();
        words.sort_unstable();
        words
    });
    find_similar_pairs(&sets.collect::<Vec<_>>(), ALIKE_MIN, go_on)
}

/// Returns the project and people of a statement: equal words of two projects may mean two things.
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

/// Whether a record is an event and no statement: commits are never duplicates of each other.
fn is_event(record: &MemoryRecord) -> bool {
    let of_git = |external: &ExternalId| external.namespace == ExternalId::GIT;
    record.external_ids.iter().any(of_git)
        || record.is_receipt()
        || is_distilled(record)
        || matches!(
            detail_word(record, "type"),
            Some("plan" | "entity" | "outcome")
        )
}

/// Whether fewer active days than a record's lifetime have passed since it was kept. Days on which
/// nothing was kept do not count, so that nothing expires during a holiday.
pub(super) fn is_young(record: &MemoryRecord, active: &BTreeSet<NaiveDate>) -> bool {
    const DAY: u32 = 24 * 3_600;
    let Retention::Scratch { ttl_seconds } = record.retention else {
        return false;
    };
    let since = active.range(record.known_at.date_naive()..).skip(1);
    since.count() < (ttl_seconds / DAY) as usize
}

/// Whether an expired record is kept: an error, decision or learning, one of high quality, or one
/// that others link to. A learning that names its own expiry is not.
pub(super) fn outlives_expiry(memory: &Snapshot, record: &MemoryRecord) -> bool {
    let word = |name: &str| detail_word(record, name);
    if word("type") == Some("learning") && record.metadata.contains_key("expires_at") {
        return false;
    }
    let kinds = ["error", "decision", "learning", "failure", "lesson"];
    let typed = [word("type"), word("observation_type")].into_iter();
    typed.flatten().any(|kind| kinds.contains(&kind))
        || record.quality_score.is_some_and(|quality| quality >= 0.8)
        || memory.links(record.id).iter().any(|link| !link.outgoing)
}
