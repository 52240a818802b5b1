//! The store of RFC-065 as a view: get, query, search and stats, with its exact formula.

use reprise_types::parse_timestamp;

use super::{Category, Decision, Failure, Learning, object};
use crate::prelude::*;

/// Where the details of a record say that it came from a file of old whose tree had a unified
/// store.
pub(crate) const LEGACY: &str = "legacy_store";

/// Whether a record came from such a file.
pub(crate) fn is_replaced(record: &RecordBody) -> bool {
    let details = record.details.as_ref();
    details.is_some_and(|details| details.get(LEGACY).is_some())
}

/// All learnings of some records, with the decisions and failures among them (S27), and the plans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SunwellMemory {
    pub(super) learnings: Vec<Learning>,
    pub(super) decisions: Vec<Decision>,
    pub(super) failures: Vec<Failure>,
    pub(super) plans: Vec<Map<String, Value>>,
}

/// Which learnings are asked for (S25).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LearningQuery<'a> {
    pub category: Option<Category>,
    pub goal: Option<&'a str>,
    pub source: Option<&'a str>,
    /// At least as sure, 0..1.
    pub min_confidence: f64,
    /// At most so many.
    pub limit: Option<usize>,
}

/// What there is (S28).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SunwellStats {
    /// Learnings, those of decisions and failures included.
    pub total: usize,
    pub decisions: usize,
    pub failures: usize,
    pub by_category: BTreeMap<&'static str, usize>,
}

impl SunwellMemory {
    /// What some records hold, in their order; of two with one id the first counts (S22). What
    /// stood in a file of old beside a unified store is read only where there is no other learning
    /// and no decision (S49).
    pub fn of<'a>(records: impl IntoIterator<Item = &'a MemoryRecord>) -> Self {
        let all = records.into_iter();
        let (legacy, unified): (Vec<_>, Vec<_>) = all.partition(|record| is_replaced(record));
        let (mut memory, mut known) = (Self::default(), BTreeSet::new());
        memory.take(unified, &mut known);
        let is_enough = |one: &Learning| one.category != Category::Failure;
        if !memory.learnings.iter().any(is_enough) {
            memory.take(legacy, &mut known);
        }
        memory
    }

    fn take(&mut self, records: Vec<&MemoryRecord>, known: &mut BTreeSet<String>) {
        for record in records {
            if let Some(details) = typed(record, "plan") {
                self.plans.push(object(details, "plan"));
            } else if let Some(learning) = Learning::of(record)
                && known.insert(learning.id.clone())
            {
                self.decisions.extend(Decision::of(record));
                self.failures.extend(Failure::of(record));
                self.learnings.push(learning);
            }
        }
    }

    /// Whether a record may have a place in it, without reading it whole.
    pub fn is_in(record: &RecordBody) -> bool {
        Learning::is_in(record) || typed(record, "plan").is_some()
    }

    /// The learning with this id (S24).
    pub fn get(&self, id: &str) -> Option<&Learning> {
        self.learnings.iter().find(|learning| learning.id == id)
    }

    /// The learnings that are asked for, the surest first, then the newest (S25).
    pub fn query(&self, query: &LearningQuery<'_>) -> Vec<&Learning> {
        let wanted = |learning: &&Learning| {
            query
                .category
                .is_none_or(|category| learning.category == category)
                && query
                    .goal
                    .is_none_or(|goal| learning.goal.as_deref() == Some(goal))
                && query
                    .source
                    .is_none_or(|source| learning.source.as_deref() == Some(source))
                && learning.confidence >= query.min_confidence
        };
        let mut found: Vec<&Learning> = self.learnings.iter().filter(wanted).collect();
        let at = |learning: &Learning| parse_timestamp(&learning.created_at).ok();
        found.sort_by(|a, b| {
            b.confidence
                .total_cmp(&a.confidence)
                .then(at(b).cmp(&at(a)))
        });
        found.truncate(query.limit.unwrap_or(usize::MAX));
        found
    }

    /// The learnings that share words with a question, each with its score, best first (S26): the
    /// share of the question's words that it has, and half more where it has the question itself,
    /// times its confidence.
    pub fn search(&self, query: &str, limit: usize, min_confidence: f64) -> Vec<(&Learning, f64)> {
        let query = query.to_lowercase();
        let words: BTreeSet<&str> = query.split_whitespace().collect();
        let mut found = Vec::new();
        for learning in &self.learnings {
            if learning.confidence < min_confidence {
                continue;
            }
            let fact = learning.fact.to_lowercase();
            let own: BTreeSet<&str> = fact.split_whitespace().collect();
            let overlap = words.intersection(&own).count();
            let whole = fact.contains(&query);
            if overlap > 0 || whole {
                let share = overlap as f64 / words.len().max(1) as f64;
                let score = share + if whole { 0.5 } else { 0.0 };
                found.push((learning, score * learning.confidence));
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.truncate(limit);
        found
    }

    /// What there is (S28).
    pub fn stats(&self) -> SunwellStats {
        let mut by_category = BTreeMap::new();
        for learning in &self.learnings {
            *by_category.entry(learning.category.name()).or_default() += 1;
        }
        SunwellStats {
            total: self.learnings.len(),
            decisions: self.decisions.len(),
            failures: self.failures.len(),
            by_category,
        }
    }
}
