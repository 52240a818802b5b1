//! What holds in a project: its rules, of which a session is told as many as its budget has room
//! for, what else was decided or told by hand there, and its other lessons.

use reprise_engine::estimate_tokens;
use reprise_knowledge::{
    LessonDetails, says_something, states_correction, states_rule, states_withdrawal,
};

use super::list_newest;
use crate::operations::sessions::prompts::cut_injected;
use crate::prelude::*;

/// The project's newest decisions and lessons among which its rules are, and those of them that
/// are no rules.
const RULES_AMONG: usize = 400;
const OTHERS: usize = 24;
/// Tokens at most of the rules that a session begins with, and those of a line besides its text.
const RULES_TOKENS_MAX: usize = 480;
const LINE_TOKENS: usize = 3;
/// Earlier versions of a lesson that are read.
const VERSIONS_MAX: usize = 8;

/// What holds in a project, each list with the newest first.
#[derive(Debug, Default)]
pub(super) struct Holding {
    /// The rules that a session begins with.
    pub(super) rules: Vec<MemoryRecord>,
    /// The rules for which there is no room.
    pub(super) left_out: Vec<RecordId>,
    /// What was decided, corrected, or told by hand.
    pub(super) decided: Vec<MemoryRecord>,
    pub(super) lessons: Vec<MemoryRecord>,
}

impl Holding {
    /// Reads what holds in a project: nothing that something newer replaced, whatever became of
    /// that.
    pub(super) fn read(
        memory: &Snapshot,
        project: &str,
        over: &BTreeMap<RecordId, RecordId>,
        calendar: &Calendar,
    ) -> Self {
        let here = [project.to_owned()];
        let kinds = vec![RecordType::Decision, RecordType::Lesson];
        let mut all = list_newest(memory, project, Some(kinds), RULES_AMONG, calendar);
        let mut texts = BTreeSet::new();
        all.retain(|record| {
            LessonCard::applies_here(record, &here, "")
                && !over.contains_key(&record.id)
                && says_something(&record.text)
                && texts.insert(record.text.to_lowercase())
        });
        let ending: BTreeSet<RecordId> = over.values().copied().collect();
        let ends_rule =
            |record: &MemoryRecord| ending.contains(&record.id) && states_withdrawal(&record.text);
        let (rules, others): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|record| is_rule(memory, record) || ends_rule(record));
        let (mut decided, mut lessons): (Vec<_>, Vec<_>) = others.into_iter().partition(is_decided);
        let mut holding = Self::default();
        let mut tokens = 0;
        for rule in rules {
            let cost = estimate_tokens(cut_injected(&rule.text).len()) + LINE_TOKENS;
            if tokens + cost <= RULES_TOKENS_MAX {
                tokens += cost;
                holding.rules.push(rule);
            } else {
                holding.left_out.push(rule.id);
            }
        }
        decided.truncate(OTHERS);
        lessons.truncate(OTHERS - decided.len());
        Self {
            decided,
            lessons,
            ..holding
        }
    }
}

/// Lists the rules that hold in a project, the newest first.
pub(in crate::operations) fn list_rules(
    memory: &Snapshot,
    project: &str,
    calendar: &Calendar,
) -> Vec<MemoryRecord> {
    let holding = Holding::read(memory, project, &memory.list_contradicted(), calendar);
    let left_out = holding.left_out.iter();
    let left_out = left_out.filter_map(|id| memory.get(*id)?.ok());
    holding.rules.into_iter().chain(left_out).collect()
}

/// Whether a lesson or decision sets a rule: it says so, or an earlier version of it did, which
/// somebody only put into other words.
pub(in crate::operations) fn is_rule(memory: &Snapshot, record: &MemoryRecord) -> bool {
    let mut text = record.text.clone();
    let (mut before, mut at) = (record.supersedes, record.known_at);
    for _ in 0..VERSIONS_MAX {
        if states_rule(&text) {
            return true;
        }
        let earlier = at - TimeDelta::microseconds(1);
        let version = before.and_then(|id| memory.version_at(id, earlier)?.ok());
        let Some(version) = version else {
            return false;
        };
        (before, at) = (version.supersedes, version.known_at);
        text = version.body.text;
    }
    false
}

/// Whether somebody decided it, corrected something by it, or told it by hand: what happened to be
/// learned leaves room for that.
fn is_decided(record: &MemoryRecord) -> bool {
    let is_by_hand = record.session_id.is_empty()
        && record.source == MemorySource::UserInput
        && LessonDetails::of(record).is_some();
    record.record_type() == RecordType::Decision || is_by_hand || states_correction(&record.text)
}
