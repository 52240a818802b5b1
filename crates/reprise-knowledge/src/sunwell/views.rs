//! Views for Sunwell's Studio, in camel case, with the old names next to the new ones.

use super::{LearningCategory, SunwellMemory};
use crate::import::visit_files;
use crate::prelude::*;
use crate::projection::BACKUPS;

/// Most nested folders in which the files of a memory are counted.
const DEPTH_MAX: u32 = 8;

/// Keys of a learning, decision or failure that Studio spells in camel case.
const CAMEL_CASE_KEYS: [(&str, &str); 2] =
    [("source_type", "sourceType"), ("created_at", "createdAt")];

/// Converts a learning, decision or failure to Studio's format, which has both spellings of a key.
pub fn to_studio(form: &impl Serialize) -> Value {
    let mut form = json!(form);
    for (disk, studio) in CAMEL_CASE_KEYS {
        if let Some(value) = form.get(disk).cloned() {
            form[studio] = value;
        }
    }
    form
}

fn list_for_studio(all: &[impl Serialize]) -> Value {
    all.iter().map(to_studio).collect()
}

/// Counters of the store.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreCounts {
    /// Turns of the current session.
    pub hot_turns: usize,
    /// Turns of all sessions.
    pub total_turns: usize,
    /// Files that memory is read from.
    pub warm_files: usize,
    pub warm_size_mb: f64,
    /// Backup copies.
    pub cold_files: usize,
    pub cold_size_mb: f64,
    /// Memories that were branched from this one.
    pub branches: usize,
}

impl StoreCounts {
    /// Counts the files of a memory's folder.
    pub fn count_files(&mut self, home: &Path) {
        let copies = home.join(BACKUPS);
        // Unreadable files are not counted.
        drop(visit_files(home, DEPTH_MAX, &mut |path| {
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
    /// Renders everything that was learned. A dead end is a failure under its older name, with its
    /// fact as `reason`.
    pub fn render_intelligence(&self) -> Value {
        let dead = self.failures.iter().map(|failure| {
            let mut dead = to_studio(failure);
            dead["reason"] = json!(failure.fact);
            dead
        });
        json!({
            "decisions": list_for_studio(&self.decisions),
            "failures": list_for_studio(&self.failures),
            "learnings": list_for_studio(&self.learnings),
            "totalDecisions": self.decisions.len(),
            "totalFailures": self.failures.len(),
            "totalLearnings": self.learnings.len(),
            "deadEnds": dead.collect::<Value>(),
            "totalDeadEnds": self.failures.len(),
        })
    }

    /// Renders the statistics of memory, with every category; the caller passes the counts of the
    /// store, which `index.json` leaves out.
    pub fn render_memory_stats(
        &self,
        session_id: Option<&str>,
        store: Option<&StoreCounts>,
    ) -> Value {
        let stats = self.count_learnings();
        let mut by_category = stats.by_category;
        for category in LearningCategory::ALL {
            by_category.entry(category.name()).or_default();
        }
        let mut view = json!({
            "sessionId": session_id,
            "totalLearnings": stats.total,
            "totalDecisions": stats.decisions,
            "totalFailures": stats.failures,
            "byCategory": by_category,
            "deadEnds": stats.failures,
            "learnings": stats.total,
        });
        if let (Some(view), Value::Object(store)) = (view.as_object_mut(), json!(store)) {
            view.extend(store);
        }
        view
    }

    /// Renders the decisions, failures, finished and pending tasks of a goal, or of the newest one
    /// if none is named. A task without a goal belongs to every goal.
    pub fn render_project_learnings(&self, goal: Option<&str>) -> Value {
        let goal = goal.map_or_else(|| self.last_goal(), |goal| Some(goal.to_owned()));
        let progress = self.goal_progress(goal.as_deref());
        let (completed, pending) = (progress.list_completed(), progress.list_pending());
        // Each key in both spellings.
        json!({
            "originalGoal": goal,
            "original_goal": goal,
            "decisions": list_for_studio(&self.decisions),
            "failures": list_for_studio(&self.failures),
            "completedTasks": completed,
            "completed_tasks": completed,
            "pendingTasks": pending,
            "pending_tasks": pending,
        })
    }

    /// Renders what an agent gets before it works on a goal: the finished tasks, the facts of the
    /// ten best learnings, the last five decisions with their reasons, and the last three failures;
    /// the latter three also in one list. `cwd` is the folder of the project.
    pub fn render_context(&self, goal: &str, cwd: Option<&str>) -> Value {
        let found = self.search_by_words(goal, 10, 0.5).into_iter();
        let learnings: Vec<String> = found.map(|(learning, _)| learning.fact.clone()).collect();
        let decisions = last_items(5, &self.decisions);
        let decisions = decisions.map(|one| format!("{}: {}", one.decision, one.rationale));
        let decisions: Vec<String> = decisions.collect();
        let failures = last_items(3, &self.failures);
        let failures = failures.map(|one| format!("Avoid: {} ({})", one.approach, one.fact));
        let failures: Vec<String> = failures.collect();
        let mut known = BTreeSet::new();
        let mut completed = self.goal_progress(Some(goal)).list_completed();
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

/// Lists the folders next to a memory's own whose names begin with its name and a plus: its
/// branches.
pub fn list_branch_names(home: &Path) -> Vec<String> {
    let own = home.file_name().unwrap_or_default().to_string_lossy();
    let siblings = home.parent().map(fs_err::read_dir).into_iter().flatten();
    let names = siblings.flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_branch = |name: &String| {
        name.strip_prefix(&*own)
            .is_some_and(|rest| rest.starts_with('+'))
    };
    names.filter(is_branch).collect()
}

fn last_items<T>(count: usize, all: &[T]) -> impl Iterator<Item = &T> {
    all.iter().skip(all.len().saturating_sub(count))
}
