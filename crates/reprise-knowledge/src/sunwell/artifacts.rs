//! How far each goal has come: `artifacts/{goal_hash}.json` (S6).

use std::collections::{BTreeMap, BTreeSet};

use reprise_types::MemoryRecord;
use serde_json::{Map, Value, json};

use super::{Category, Learning, said, typed};
use crate::naming::hex_id;

#[derive(Default)]
struct Goal {
    done: Vec<Learning>,
    plan: Map<String, Value>,
}

/// A file for each goal that a finished task or a plan names, by its name.
pub(crate) fn artifacts<'a>(
    records: impl IntoIterator<Item = &'a MemoryRecord>,
) -> BTreeMap<String, Value> {
    let mut goals: BTreeMap<String, Goal> = BTreeMap::new();
    for record in records {
        if let Some(plan) = typed(record, "plan").and_then(|details| details.get("plan")) {
            let plan = plan.as_object().cloned().unwrap_or_default();
            if let Some(goal) = said(&plan, "goal") {
                goals.entry(goal).or_default().plan = plan;
            }
            continue;
        }
        let learning = Learning::of(record);
        let learning = learning.filter(|one| one.category == Category::TaskCompletion);
        if let Some((learning, goal)) = learning.and_then(|one| Some((one.clone(), one.goal?))) {
            goals.entry(goal).or_default().done.push(learning);
        }
    }
    let files = goals.into_iter().map(|(name, goal)| {
        // A plan of elsewhere may call itself anything; a file's name is made here.
        let hash = hex_id(&[&name]);
        (format!("{hash}.json"), goal.told(&name, &hash))
    });
    files.collect()
}

impl Goal {
    fn told(&self, name: &str, hash: &str) -> Value {
        let done = self.done.iter();
        let completed: Vec<Value> = done
            .map(|one| {
                json!({
                    "id": one.id,
                    "description": task_of(one),
                    "task_id": one.source,
                    "completed_at": one.created_at,
                })
            })
            .collect();
        let tasks: BTreeSet<&str> = self.done.iter().map(task_of).collect();
        let sources: BTreeSet<&str> = self
            .done
            .iter()
            .filter_map(|one| one.source.as_deref())
            .collect();
        let planned = self.plan.get("tasks").and_then(Value::as_array);
        let pending = planned.into_iter().flatten().filter(|task| {
            let part = |name: &str| task.get(name).and_then(Value::as_str);
            let status = part("status").unwrap_or_default();
            let named = task.as_str().or_else(|| part("description"));
            let is_done = named.is_some_and(|named| tasks.contains(named))
                || part("id").is_some_and(|id| sources.contains(id));
            !is_done && !["completed", "done"].contains(&status)
        });
        json!({
            "goal": name,
            "goal_hash": hash,
            "completed": completed,
            "pending": pending.collect::<Vec<_>>(),
            "artifacts": self.plan.get("artifacts").cloned().unwrap_or_else(|| json!([])),
        })
    }
}

fn task_of(learning: &Learning) -> &str {
    let fact = learning.fact.as_str();
    fact.strip_prefix("Completed: ").unwrap_or(fact)
}
