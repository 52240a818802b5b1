//! How far each goal has come, by its plan and the tasks that were finished on the way to it:
//! `artifacts/{goal_hash}.json` (S6), and the tasks of Studio's views.

use super::{Category, Learning, SunwellMemory, said};
use crate::prelude::*;

/// The finished tasks of one goal, and its plan.
#[derive(Debug, Default)]
pub(super) struct Progress<'a> {
    done: Vec<&'a Learning>,
    plan: Option<&'a Map<String, Value>>,
}

impl SunwellMemory {
    /// A file for each goal that a finished task or a plan names, by its name.
    pub(crate) fn artifacts(&self) -> BTreeMap<String, Value> {
        let planned = self.plans.iter().filter_map(|plan| said(plan, "goal"));
        let done = self.finished().filter_map(|one| one.goal.clone());
        let goals: BTreeSet<String> = planned.chain(done).collect();
        let files = goals.into_iter().map(|name| {
            // A plan of elsewhere may call itself anything; a file's name is made here.
            let hash = hex_id(&[&name]);
            let mut progress = self.progress(Some(&name));
            progress.done.retain(|one| one.goal.as_ref() == Some(&name));
            (format!("{hash}.json"), progress.file(&name, &hash))
        });
        files.collect()
    }

    fn finished(&self) -> impl Iterator<Item = &Learning> {
        let all = self.learnings.iter();
        all.filter(|one| one.category == Category::TaskCompletion)
    }

    /// The goal that the newest plan or finished task names.
    pub(super) fn last_goal(&self) -> Option<String> {
        let planned = self.plans.iter().rev().find_map(|plan| said(plan, "goal"));
        planned.or_else(|| self.finished().filter_map(|one| one.goal.clone()).last())
    }

    /// How far a goal has come; all that was finished where none is named.
    pub(super) fn progress(&self, goal: Option<&str>) -> Progress<'_> {
        let of_goal = |one: &&Learning| {
            let own = one.goal.as_deref();
            goal.is_none() || own.is_none() || own == goal
        };
        let planned = |plan: &&Map<String, Value>| plan.get("goal").and_then(Value::as_str) == goal;
        Progress {
            done: self.finished().filter(of_goal).collect(),
            plan: self.plans.iter().rev().find(planned),
        }
    }
}

impl Progress<'_> {
    fn planned(&self) -> impl Iterator<Item = &Value> {
        let tasks = self.plan.and_then(|plan| plan.get("tasks")?.as_array());
        tasks.into_iter().flatten()
    }

    fn is_done(&self, task: &Value) -> bool {
        let part = |name: &str| task.get(name).and_then(Value::as_str);
        let named = name_of(task);
        let was_finished = |one: &&Learning| {
            named == Some(task_of(one))
                || one
                    .source
                    .as_deref()
                    .is_some_and(|source| part("id") == Some(source))
        };
        matches!(part("status"), Some("completed" | "complete" | "done"))
            || self.done.iter().any(was_finished)
    }

    /// What is done, as the tasks that were finished and the plan tell it.
    pub(super) fn completed(&self) -> Vec<String> {
        let mut completed: Vec<String> = self
            .done
            .iter()
            .map(|one| task_of(one).to_owned())
            .collect();
        let sources = self.done.iter().filter_map(|one| one.source.as_deref());
        let sources: BTreeSet<&str> = sources.collect();
        let told = self.planned().filter(|task| self.is_done(task));
        let told = told.filter(|task| !task["id"].as_str().is_some_and(|id| sources.contains(id)));
        for name in told.filter_map(name_of) {
            if !completed.iter().any(|one| one == name) {
                completed.push(name.to_owned());
            }
        }
        completed
    }

    /// What the plan names and nobody has finished.
    pub(super) fn pending(&self) -> Vec<String> {
        let left = self.planned().filter(|task| !self.is_done(task));
        left.filter_map(name_of).map(str::to_owned).collect()
    }

    fn file(&self, name: &str, hash: &str) -> Value {
        let completed = self.done.iter().map(|one| {
            json!({
                "id": one.id,
                "description": task_of(one),
                "task_id": one.source,
                "completed_at": one.created_at,
            })
        });
        let artifacts = self.plan.and_then(|plan| plan.get("artifacts")).cloned();
        json!({
            "goal": name,
            "goal_hash": hash,
            "completed": completed.collect::<Vec<_>>(),
            "pending": self.planned().filter(|task| !self.is_done(task)).collect::<Vec<_>>(),
            "artifacts": artifacts.unwrap_or_else(|| json!([])),
        })
    }
}

/// What a task of a plan is called.
fn name_of(task: &Value) -> Option<&str> {
    let part = |name: &str| task.get(name).and_then(Value::as_str);
    task.as_str()
        .or_else(|| part("description"))
        .or_else(|| part("id"))
}

fn task_of(learning: &Learning) -> &str {
    let fact = learning.fact.as_str();
    fact.strip_prefix("Completed: ").unwrap_or(fact)
}
