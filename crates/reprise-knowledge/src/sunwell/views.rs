//! What Sunwell's Studio reads, in its own words: camel case, with the old names beside the new.

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use super::counts::StoreCounts;
use super::{Category, Decision, Failure, Learning, SunwellMemory};

/// Keys of a learning, decision or failure that Studio spells its own way (S46).
const SPELLED: [(&str, &str); 2] = [("source_type", "sourceType"), ("created_at", "createdAt")];

/// A learning, decision or failure as Studio reads it, with the spelling of the disk beside its
/// own.
#[derive(Debug, Clone, PartialEq)]
pub struct Studio<T>(pub T);

impl<T: Serialize> Serialize for Studio<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut form = serde_json::to_value(&self.0).map_err(S::Error::custom)?;
        if let Some(keys) = form.as_object_mut() {
            for (disk, studio) in SPELLED {
                let value = keys.get(disk).cloned();
                keys.extend(value.map(|value| (studio.to_owned(), value)));
            }
        }
        form.serialize(serializer)
    }
}

fn studio<T: Clone>(all: &[T]) -> Vec<Studio<T>> {
    all.iter().cloned().map(Studio).collect()
}

/// A failure under its older name: what went wrong is its `reason`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeadEnd {
    #[serde(flatten)]
    failure: Studio<Failure>,
    reason: String,
}

/// Everything that was learned (S49).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Intelligence {
    pub decisions: Vec<Studio<Decision>>,
    pub failures: Vec<Studio<Failure>>,
    pub learnings: Vec<Studio<Learning>>,
    pub total_decisions: usize,
    pub total_failures: usize,
    pub total_learnings: usize,
    pub dead_ends: Vec<DeadEnd>,
    pub total_dead_ends: usize,
}

/// Memory in numbers (S50).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryStats {
    pub session_id: Option<String>,
    pub total_learnings: usize,
    pub total_decisions: usize,
    pub total_failures: usize,
    /// Every category has its number.
    pub by_category: BTreeMap<&'static str, usize>,
    pub dead_ends: usize,
    pub learnings: usize,
    /// Absent from `index.json`, which says what was learned and not where it is kept.
    #[serde(flatten)]
    pub store: Option<StoreCounts>,
}

/// What a project has done and learned (S51).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectLearnings {
    pub original_goal: Option<String>,
    /// The same, as TypeScript spells it; so are the two lists of tasks.
    #[serde(rename = "original_goal")]
    pub goal_alias: Option<String>,
    pub decisions: Vec<Studio<Decision>>,
    pub failures: Vec<Studio<Failure>>,
    pub completed_tasks: Vec<String>,
    pub pending_tasks: Vec<String>,
    #[serde(rename = "completed_tasks")]
    pub completed_alias: Vec<String>,
    #[serde(rename = "pending_tasks")]
    pub pending_alias: Vec<String>,
}

/// What an agent is given before it works on a goal (S59).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GoalContext {
    /// Where the project stands, as far as memory knows.
    pub cwd: Option<String>,
    /// Tasks of this goal that are done.
    pub completed: Vec<String>,
    /// Facts of the ten nearest learnings.
    pub learnings: Vec<String>,
    /// The last five decisions, each with its reason.
    pub decisions: Vec<String>,
    /// The last three failures.
    pub failures: Vec<String>,
    /// The last three lists in one.
    pub lines: Vec<String>,
}

impl SunwellMemory {
    /// Everything at once (S49).
    pub fn intelligence(&self) -> Intelligence {
        let failures = studio(self.failures());
        let dead = failures.iter().cloned().map(|failure| DeadEnd {
            reason: failure.0.fact.clone(),
            failure,
        });
        Intelligence {
            decisions: studio(self.decisions()),
            learnings: studio(self.learnings()),
            total_decisions: self.decisions().len(),
            total_failures: failures.len(),
            total_learnings: self.learnings().len(),
            dead_ends: dead.collect(),
            total_dead_ends: failures.len(),
            failures,
        }
    }

    /// Memory in numbers (S50); what the store itself counts is the caller's to say.
    pub fn memory_stats(
        &self,
        session_id: Option<String>,
        store: Option<StoreCounts>,
    ) -> MemoryStats {
        let stats = self.stats();
        let mut by_category = stats.by_category;
        for category in Category::ALL {
            by_category.entry(category.name()).or_default();
        }
        MemoryStats {
            session_id,
            total_learnings: stats.total,
            total_decisions: stats.decisions,
            total_failures: stats.failures,
            by_category,
            dead_ends: stats.failures,
            learnings: stats.total,
            store,
        }
    }

    /// What was done and learned on the way to a goal, and what its plan still names (S51); the
    /// goal of the newest plan or task where none is named. A task that names no goal belongs to
    /// each.
    pub fn project_learnings(&self, goal: Option<&str>) -> ProjectLearnings {
        let goal = goal.map_or_else(|| self.last_goal(), |goal| Some(goal.to_owned()));
        let progress = self.progress(goal.as_deref());
        let (completed, pending) = (progress.completed(), progress.pending());
        ProjectLearnings {
            original_goal: goal.clone(),
            goal_alias: goal,
            decisions: studio(self.decisions()),
            failures: studio(self.failures()),
            completed_tasks: completed.clone(),
            pending_tasks: pending.clone(),
            completed_alias: completed,
            pending_alias: pending,
        }
    }

    /// What an agent gets before it works on a goal (S59).
    pub fn context(&self, goal: &str, cwd: Option<String>) -> GoalContext {
        let found = self.search(goal, 10, 0.5).into_iter();
        let learnings: Vec<String> = found.map(|(learning, _)| learning.fact.clone()).collect();
        let decisions = last(5, self.decisions());
        let decisions = decisions.map(|one| format!("{}: {}", one.decision, one.rationale));
        let decisions: Vec<String> = decisions.collect();
        let failures = last(3, self.failures());
        let failures = failures.map(|one| format!("Avoid: {} ({})", one.approach, one.fact));
        let failures: Vec<String> = failures.collect();
        let mut known = BTreeSet::new();
        let mut completed = self.progress(Some(goal)).completed();
        completed.retain(|task| known.insert(task.clone()));
        GoalContext {
            cwd,
            completed,
            lines: [&learnings[..], &decisions, &failures].concat(),
            learnings,
            decisions,
            failures,
        }
    }
}

fn last<T>(count: usize, all: &[T]) -> impl Iterator<Item = &T> {
    all.iter().skip(all.len().saturating_sub(count))
}
