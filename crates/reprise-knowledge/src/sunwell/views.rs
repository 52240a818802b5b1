//! What Sunwell's Studio reads, in its own words: camel case, with the old names beside the new.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Category, Decision, Failure, Learning, SunwellMemory};

/// Everything that was learned (S49).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are Studio's contract")]
pub struct Intelligence {
    pub decisions: Vec<Decision>,
    pub failures: Vec<Failure>,
    pub learnings: Vec<Learning>,
    pub total_decisions: usize,
    pub total_failures: usize,
    pub total_learnings: usize,
    pub dead_ends: Vec<Failure>,
    pub total_dead_ends: usize,
}

/// Memory in numbers (S50); what the old store counted and memory has not is 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are Studio's contract")]
pub struct MemoryStats {
    pub session_id: Option<String>,
    pub total_learnings: usize,
    pub total_decisions: usize,
    pub total_failures: usize,
    pub by_category: BTreeMap<&'static str, usize>,
    pub hot_turns: usize,
    pub warm_files: usize,
    pub warm_size_mb: f64,
    pub cold_files: usize,
    pub cold_size_mb: f64,
    pub total_turns: usize,
    pub branches: usize,
    pub dead_ends: usize,
    pub learnings: usize,
}

/// What a project has done and learned (S51).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are Studio's contract")]
pub struct ProjectLearnings {
    pub original_goal: String,
    /// The same, as TypeScript spells it.
    #[serde(rename = "original_goal")]
    pub goal_alias: String,
    pub decisions: Vec<Decision>,
    pub failures: Vec<Failure>,
    pub completed_tasks: Vec<String>,
    pub pending_tasks: Vec<String>,
}

impl SunwellMemory {
    /// Everything at once (S49).
    pub fn intelligence(&self) -> Intelligence {
        Intelligence {
            decisions: self.decisions().to_vec(),
            failures: self.failures().to_vec(),
            learnings: self.learnings().to_vec(),
            total_decisions: self.decisions().len(),
            total_failures: self.failures().len(),
            total_learnings: self.learnings().len(),
            dead_ends: self.failures().to_vec(),
            total_dead_ends: self.failures().len(),
        }
    }

    /// Memory in numbers (S50).
    pub fn memory_stats(&self, session_id: Option<String>) -> MemoryStats {
        let stats = self.stats();
        MemoryStats {
            session_id,
            total_learnings: stats.total,
            total_decisions: stats.decisions,
            total_failures: stats.failures,
            by_category: stats.by_category,
            dead_ends: stats.failures,
            learnings: stats.total,
            ..MemoryStats::default()
        }
    }

    /// What was done and learned on the way to a goal (S51); `pending` are the tasks that a plan
    /// still names.
    pub fn project_learnings(&self, goal: &str, pending: Vec<String>) -> ProjectLearnings {
        let done = self.learnings().iter();
        let done = done.filter(|learning| learning.category == Category::TaskCompletion);
        ProjectLearnings {
            original_goal: goal.to_owned(),
            goal_alias: goal.to_owned(),
            decisions: self.decisions().to_vec(),
            failures: self.failures().to_vec(),
            completed_tasks: done
                .map(|one| one.fact.trim_start_matches("Completed: ").to_owned())
                .collect(),
            pending_tasks: pending,
        }
    }
}
