//! The store of RFC-065 as a view over records: get, query, search and statistics, with its exact
//! formula.

use reprise_types::parse_timestamp;

use super::{LearningCategory, SunwellDecision, SunwellFailure, SunwellLearning, object_field};
use crate::prelude::*;

/// Key in the details of a record that was imported from an old file next to a unified store.
pub(crate) const LEGACY: &str = "legacy_store";

/// Whether a record was imported from an old file next to a unified store.
pub(crate) fn is_replaced(record: &RecordBody) -> bool {
    let details = record.details.as_ref();
    details.is_some_and(|details| details.get(LEGACY).is_some())
}

/// The learnings, decisions, failures and plans of some records.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SunwellMemory {
    pub(super) learnings: Vec<SunwellLearning>,
    pub(super) decisions: Vec<SunwellDecision>,
    pub(super) failures: Vec<SunwellFailure>,
    pub(super) plans: Vec<Map<String, Value>>,
}

/// A query for learnings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LearningQuery<'a> {
    pub category: Option<LearningCategory>,
    pub goal: Option<&'a str>,
    pub source: Option<&'a str>,
    /// Least confidence, 0..1.
    pub min_confidence: f64,
    /// Most learnings that are returned.
    pub limit: Option<usize>,
}

/// Counts of the learnings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SunwellStats {
    /// Number of learnings, including those of decisions and failures.
    pub total: usize,
    pub decisions: usize,
    pub failures: usize,
    pub by_category: BTreeMap<&'static str, usize>,
}

impl SunwellMemory {
    /// Collects what some records hold, in their order; of two with one id the first counts.
    /// Records from old files next to a unified store are read only if there is no other learning
    /// and no decision.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a MemoryRecord>) -> Self {
        let all = records.into_iter();
        let (legacy, unified): (Vec<_>, Vec<_>) = all.partition(|record| is_replaced(record));
        let (mut memory, mut known) = (Self::default(), BTreeSet::new());
        memory.add_records(unified, &mut known);
        let is_enough = |one: &SunwellLearning| one.category != LearningCategory::Failure;
        if !memory.learnings.iter().any(is_enough) {
            memory.add_records(legacy, &mut known);
        }
        memory
    }

    fn add_records(&mut self, records: Vec<&MemoryRecord>, known: &mut BTreeSet<String>) {
        for record in records {
            if let Some(details) = details_of_type(record, "plan") {
                self.plans.push(object_field(details, "plan"));
            } else if let Some(learning) = SunwellLearning::of(record)
                && known.insert(learning.id.clone())
            {
                self.decisions.extend(SunwellDecision::of(record));
                self.failures.extend(SunwellFailure::of(record));
                self.learnings.push(learning);
            }
        }
    }

    /// Whether a record may belong to it, without parsing it.
    pub fn is_in(record: &RecordBody) -> bool {
        SunwellLearning::is_in(record) || details_of_type(record, "plan").is_some()
    }

    /// Returns the learning with this id.
    pub fn get(&self, id: &str) -> Option<&SunwellLearning> {
        self.learnings.iter().find(|learning| learning.id == id)
    }

    /// Returns the learnings that match a query, the most confident first, then the newest.
    pub fn find_matching(&self, query: &LearningQuery<'_>) -> Vec<&SunwellLearning> {
        let wanted = |learning: &&SunwellLearning| {
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
        let mut found: Vec<&SunwellLearning> = self.learnings.iter().filter(wanted).collect();
        let at = |learning: &SunwellLearning| parse_timestamp(&learning.created_at).ok();
        found.sort_by(|a, b| {
            b.confidence
                .total_cmp(&a.confidence)
                .then(at(b).cmp(&at(a)))
        });
        found.truncate(query.limit.unwrap_or(usize::MAX));
        found
    }

    /// Returns the learnings that share words with a query, each with its score, best first: the
    /// share of the query's words that it has, plus 0.5 if it contains the whole query, times its
    /// confidence.
    pub fn search_by_words(
        &self,
        query: &str,
        limit: usize,
        min_confidence: f64,
    ) -> Vec<(&SunwellLearning, f64)> {
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

    /// Counts the learnings.
    pub fn count_learnings(&self) -> SunwellStats {
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
