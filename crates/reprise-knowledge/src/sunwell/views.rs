//! What Sunwell's Studio reads, in its own words: camel case, with the old names beside the new.

use super::{Category, SunwellMemory};
use crate::import::below;
use crate::prelude::*;
use crate::projection::BACKUPS;

/// Folders that are gone down into for the files of a memory.
const DEPTH_MAX: u32 = 8;

/// Keys of a learning, decision or failure that Studio spells its own way (S46).
const SPELLED: [(&str, &str); 2] = [("source_type", "sourceType"), ("created_at", "createdAt")];

/// A learning, decision or failure as Studio reads it, with the spelling of the disk beside its
/// own.
pub fn studio(form: &impl Serialize) -> Value {
    let mut form = json!(form);
    for (disk, studio) in SPELLED {
        if let Some(value) = form.get(disk).cloned() {
            form[studio] = value;
        }
    }
    form
}

fn each(all: &[impl Serialize]) -> Value {
    all.iter().map(studio).collect()
}

/// Counters of the store.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreCounts {
    /// Turns of the session that goes on.
    pub hot_turns: usize,
    /// Turns of all sessions.
    pub total_turns: usize,
    /// Files that memory answers from, and how large they are.
    pub warm_files: usize,
    pub warm_size_mb: f64,
    /// Copies beside them that are only kept.
    pub cold_files: usize,
    pub cold_size_mb: f64,
    /// Memories that began with what this one knew.
    pub branches: usize,
}

impl StoreCounts {
    /// Counts the files of a memory's folder.
    pub fn look(&mut self, home: &Path) {
        let copies = home.join(BACKUPS);
        // What cannot be looked at is none.
        drop(below(home, DEPTH_MAX, &mut |path| {
            let (count, size) = if path.starts_with(&copies) {
                (&mut self.cold_files, &mut self.cold_size_mb)
            } else {
                (&mut self.warm_files, &mut self.warm_size_mb)
            };
            if let Ok(found) = fs_err::metadata(path) {
                *count += 1;
                *size += found.len() as f64 / 1e6;
            }
            true
        }));
    }
}

impl SunwellMemory {
    /// Everything that was learned, at once (S49). A dead end is a failure under its older name:
    /// what went wrong is its `reason`.
    pub fn intelligence(&self) -> Value {
        let dead = self.failures.iter().map(|failure| {
            let mut dead = studio(failure);
            dead["reason"] = json!(failure.fact);
            dead
        });
        json!({
            "decisions": each(&self.decisions),
            "failures": each(&self.failures),
            "learnings": each(&self.learnings),
            "totalDecisions": self.decisions.len(),
            "totalFailures": self.failures.len(),
            "totalLearnings": self.learnings.len(),
            "deadEnds": dead.collect::<Value>(),
            "totalDeadEnds": self.failures.len(),
        })
    }

    /// Memory in numbers, of every category (S50); what the store itself counts is the caller's to
    /// say. `index.json` says what was learned and not where it is kept.
    pub fn memory_stats(&self, session_id: Option<&str>, store: Option<&StoreCounts>) -> Value {
        let stats = self.stats();
        let mut by_category = stats.by_category;
        for category in Category::ALL {
            by_category.entry(category.name()).or_default();
        }
        let mut told = json!({
            "sessionId": session_id,
            "totalLearnings": stats.total,
            "totalDecisions": stats.decisions,
            "totalFailures": stats.failures,
            "byCategory": by_category,
            "deadEnds": stats.failures,
            "learnings": stats.total,
        });
        if let (Some(told), Value::Object(store)) = (told.as_object_mut(), json!(store)) {
            told.extend(store);
        }
        told
    }

    /// What was done and learned on the way to a goal, and what its plan still names (S51); the
    /// goal of the newest plan or task where none is named. A task that names no goal belongs to
    /// each.
    pub fn project_learnings(&self, goal: Option<&str>) -> Value {
        let goal = goal.map_or_else(|| self.last_goal(), |goal| Some(goal.to_owned()));
        let progress = self.progress(goal.as_deref());
        let (completed, pending) = (progress.completed(), progress.pending());
        // Studio's keys, and the same as TypeScript spells them.
        json!({
            "originalGoal": goal,
            "original_goal": goal,
            "decisions": each(&self.decisions),
            "failures": each(&self.failures),
            "completedTasks": completed,
            "completed_tasks": completed,
            "pendingTasks": pending,
            "pending_tasks": pending,
        })
    }

    /// What an agent gets before it works on a goal (S59): the tasks that are done, the facts of
    /// the ten nearest learnings, the last five decisions, each with its reason, and the last three
    /// failures; these three in one list, too. `cwd` is where the project stands.
    pub fn context(&self, goal: &str, cwd: Option<&str>) -> Value {
        let found = self.search(goal, 10, 0.5).into_iter();
        let learnings: Vec<String> = found.map(|(learning, _)| learning.fact.clone()).collect();
        let decisions = last(5, &self.decisions);
        let decisions = decisions.map(|one| format!("{}: {}", one.decision, one.rationale));
        let decisions: Vec<String> = decisions.collect();
        let failures = last(3, &self.failures);
        let failures = failures.map(|one| format!("Avoid: {} ({})", one.approach, one.fact));
        let failures: Vec<String> = failures.collect();
        let mut known = BTreeSet::new();
        let mut completed = self.progress(Some(goal)).completed();
        completed.retain(|task| known.insert(task.clone()));
        let lines = [&learnings[..], &decisions, &failures].concat();
        json!({
            "cwd": cwd,
            "completed": completed,
            "learnings": learnings,
            "decisions": decisions,
            "failures": failures,
            "lines": lines,
        })
    }
}

/// Names of the folders that stand beside a memory's own and begin with its name and a plus: those
/// of its branches, and perhaps of others.
pub fn branch_names(home: &Path) -> Vec<String> {
    let own = home.file_name().unwrap_or_default().to_string_lossy();
    let beside = home.parent().map(fs_err::read_dir).into_iter().flatten();
    let names = beside.flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_branch = |name: &String| {
        name.strip_prefix(&*own)
            .is_some_and(|rest| rest.starts_with('+'))
    };
    names.filter(is_branch).collect()
}

fn last<T>(count: usize, all: &[T]) -> impl Iterator<Item = &T> {
    all.iter().skip(all.len().saturating_sub(count))
}
