//! The progress of each goal, from its plan and its finished tasks: `artifacts/{goal_hash}.json`,
//! and the tasks of Studio's views.

use super::{LearningCategory, SunwellLearning, SunwellMemory, text_field};
use crate::prelude::*;

/// The finished tasks of a goal, and its plan.
#[derive(Debug, Default)]
pub(super) struct GoalProgress<'a> {
    done: Vec<&'a SunwellLearning>,
    plan: Option<&'a Map<String, Value>>,
}

impl SunwellMemory {
    /// Renders a file for each goal that a finished task or a plan names, by file name.
    pub(crate) fn render_artifacts(&self) -> BTreeMap<String, Value> {
        let planned = self
            .plans
            .iter()
            .filter_map(|plan| text_field(plan, "goal"));
        let done = self
            .list_task_completions()
            .filter_map(|one| one.goal.clone());
        let goals: BTreeSet<String> = planned.chain(done).collect();
        let files = goals.into_iter().map(|name| {
            // A plan from elsewhere may have any name; the file's name is computed here.
            let hash = hex_id(&[&name]);
            let mut progress = self.goal_progress(Some(&name));
            progress.done.retain(|one| one.goal.as_ref() == Some(&name));
            (format!("{hash}.json"), progress.render_file(&name, &hash))
        });
        files.collect()
    }

    fn list_task_completions(&self) -> impl Iterator<Item = &SunwellLearning> {
        let all = self.learnings.iter();
        all.filter(|one| one.category == LearningCategory::TaskCompletion)
    }

    /// Returns the goal of the newest plan, or else of the newest finished task.
    pub(super) fn last_goal(&self) -> Option<String> {
        let planned = self
            .plans
            .iter()
            .rev()
            .find_map(|plan| text_field(plan, "goal"));
        planned.or_else(|| {
            self.list_task_completions()
                .filter_map(|one| one.goal.clone())
                .last()
        })
    }

    /// Returns the progress of a goal, or all finished tasks without one.
    pub(super) fn goal_progress(&self, goal: Option<&str>) -> GoalProgress<'_> {
        let of_goal = |one: &&SunwellLearning| {
            let own = one.goal.as_deref();
            goal.is_none() || own.is_none() || own == goal
        };
        let planned = |plan: &&Map<String, Value>| plan.get("goal").and_then(Value::as_str) == goal;
        GoalProgress {
            done: self.list_task_completions().filter(of_goal).collect(),
            plan: self.plans.iter().rev().find(planned),
        }
    }
}

impl GoalProgress<'_> {
    fn planned_tasks(&self) -> impl Iterator<Item = &Value> {
        let tasks = self.plan.and_then(|plan| plan.get("tasks")?.as_array());
        tasks.into_iter().flatten()
    }

    fn is_task_done(&self, task: &Value) -> bool {
        let part = |name: &str| task.get(name).and_then(Value::as_str);
        let named = task_name(task);
        let was_finished = |one: &&SunwellLearning| {
            named == Some(completed_task_name(one))
                || one
                    .source
                    .as_deref()
                    .is_some_and(|source| part("id") == Some(source))
        };
        matches!(part("status"), Some("completed" | "complete" | "done"))
            || self.done.iter().any(was_finished)
    }

    /// Lists the finished tasks, from the learnings and from the plan.
    pub(super) fn list_completed(&self) -> Vec<String> {
        let mut completed: Vec<String> = self
            .done
            .iter()
            .map(|one| completed_task_name(one).to_owned())
            .collect();
        let sources = self.done.iter().filter_map(|one| one.source.as_deref());
        let sources: BTreeSet<&str> = sources.collect();
        let from_plan = self.planned_tasks().filter(|task| self.is_task_done(task));
        let from_plan =
            from_plan.filter(|task| !task["id"].as_str().is_some_and(|id| sources.contains(id)));
        for name in from_plan.filter_map(task_name) {
            if !completed.iter().any(|one| one == name) {
                completed.push(name.to_owned());
            }
        }
        completed
    }

    /// Lists the tasks of the plan that are not finished.
    pub(super) fn list_pending(&self) -> Vec<String> {
        let pending = self.planned_tasks().filter(|task| !self.is_task_done(task));
        pending.filter_map(task_name).map(str::to_owned).collect()
    }

    fn render_file(&self, name: &str, hash: &str) -> Value {
        let completed = self.done.iter().map(|one| {
            json!({
                "id": one.id,
                "description": completed_task_name(one),
                "task_id": one.source,
                "completed_at": one.created_at,
            })
        });
        let artifacts = self.plan.and_then(|plan| plan.get("artifacts")).cloned();
        json!({
            "goal": name,
            "goal_hash": hash,
            "completed": completed.collect::<Vec<_>>(),
            "pending": self.planned_tasks().filter(|task| !self.is_task_done(task)).collect::<Vec<_>>(),
            "artifacts": artifacts.unwrap_or_else(|| json!([])),
        })
    }
}

/// Returns the description of a task of a plan, or else its id.
fn task_name(task: &Value) -> Option<&str> {
    let part = |name: &str| task.get(name).and_then(Value::as_str);
    task.as_str()
        .or_else(|| part("description"))
        .or_else(|| part("id"))
}

fn completed_task_name(learning: &SunwellLearning) -> &str {
    let fact = learning.fact.as_str();
    fact.strip_prefix("Completed: ").unwrap_or(fact)
}
