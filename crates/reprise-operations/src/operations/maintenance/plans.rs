//! Plans of maintenance: what is to be done with a memory, asked for or while nobody asks.
//!
//! Plans are made without blocking the writer, from one snapshot, and only what is new since the
//! last one is compared. Records are named by the ids of their own systems, if they have any.

use std::num::NonZeroUsize;

use reprise_agent::{MaintenanceFactory, MaintenancePlan, MaintenancePlanner, MaintenanceReport};
use reprise_knowledge::{
    ConsolidationReport, Plan, Planner, RelatedPair, execute_plan, list_open_contradictions,
    states_correction, states_rule, states_withdrawal,
};
use tokio::sync::broadcast::error::RecvError;

use crate::operations::recall::{is_taught_whole, list_lesson_ids};
use crate::prelude::*;
use crate::wire::external_id_of;

/// Sets of an action, and records of a set, that are told with their texts.
const TOLD: usize = 10;

/// Records of which one is enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Merged")]
pub struct MergedSet {
    /// Answers for all.
    pub kept: String,
    pub gone: Vec<String>,
    /// What they say, the kept one first, as far as that is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
}

impl MergedSet {
    /// The texts of the first sets as lines, the kept one above the others, and how many more sets
    /// there are.
    pub(crate) fn quote_sets(all: &[Self], quoted: &mut QuotedMemory) {
        for merged in all.iter().take(TOLD) {
            for (place, text) in merged.texts.iter().enumerate() {
                quoted.add_line(if place == 0 { "- kept: " } else { "  gone: " }, text);
            }
        }
        let more = all.len().saturating_sub(TOLD);
        if more > 0 {
            quoted.add_line("", &format!("and {more} more"));
        }
    }
}

/// Two records, and what is with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Doubted")]
pub struct DoubtfulPair {
    /// The older first.
    pub pair: [String; 2],
    /// The one that happened later.
    pub newest: String,
    pub why: String,
    /// What the two say, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<[String; 2]>,
}

impl Memory {
    /// Runs a closure on a snapshot and on the plan that was made from it.
    pub(crate) async fn run_on_plan<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Snapshot, Plan) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let now = self.now();
        // Read once the planner is free, so that the memory is never older than its last look.
        let mut planner = self.planner().lock_owned().await;
        let look = move |memory: &Snapshot| {
            let mut plan = planner.plan(memory, now, &|| true);
            drop(planner);
            add_noted_contradictions(memory, &mut plan);
            read(memory, plan)
        };
        self.run_on_snapshot(look).await
    }

    fn planner(&self) -> SharedPlanner {
        let mut all = lock(&self.all.planners);
        Arc::clone(all.get_or_insert_ref(&self.user, Arc::default))
    }
}

/// Adds the contradictions that are noted and open to those that a comparison finds, so that every
/// list of them is the same: a note is made across types and tags, as soon as a memory is stored.
fn add_noted_contradictions(memory: &Snapshot, plan: &mut Plan) {
    let mut known: BTreeSet<[RecordId; 2]> = BTreeSet::new();
    let sorted = |[one, other]: [RecordId; 2]| [one.min(other), one.max(other)];
    known.extend(plan.contradictions.iter().map(|found| sorted(found.pair)));
    let mut noted_pairs: BTreeSet<[RecordId; 2]> = BTreeSet::new();
    for noted in list_open_contradictions(memory, None) {
        noted_pairs.insert(sorted(noted.pair));
        if known.insert(sorted(noted.pair)) {
            plan.contradictions.push(noted);
        }
    }
    leave_out_copies(memory, &mut plan.contradictions);
    // A pair that nobody has noted yet is still to be noted.
    plan.contradictions.retain(|pair| {
        !noted_pairs.contains(&sorted(pair.pair)) || !is_decided_by_word(memory, pair)
    });
}

/// Returns whether a person has decided a pair by saying so to an agent: the newer one is of a
/// prompt, and sets or ends a rule or corrects a fact.
fn is_decided_by_word(memory: &Snapshot, pair: &RelatedPair) -> bool {
    let read = |id: RecordId| memory.get(id).and_then(Result::ok);
    let is_prompt =
        |id: RecordId| read(id).is_some_and(|record| record.record_type() == RecordType::Prompt);
    let Some(newer) = read(pair.newest) else {
        return false;
    };
    let says = [states_rule, states_withdrawal, states_correction];
    let says_so = says.iter().any(|says| says(&newer.text));
    let mut sources = memory.sources(newer.id).into_iter().chain([newer.id]);
    says_so && sources.any(is_prompt)
}

/// Leaves out the pairs of prompts whose lessons say all that they say, and those that a lesson
/// has, too, of what it was learned from: a change of a rule is one pair, and not four.
fn leave_out_copies(memory: &Snapshot, pairs: &mut Vec<RelatedPair>) {
    let sorted = |one: RecordId, other: RecordId| [one.min(other), one.max(other)];
    let known = pairs.iter().map(|pair| sorted(pair.pair[0], pair.pair[1]));
    let known: BTreeSet<[RecordId; 2]> = known.collect();
    let mut judged: BTreeMap<RecordId, (bool, Vec<RecordId>)> = BTreeMap::new();
    let mut is_copy = |id: RecordId, other: RecordId| {
        let judge = || {
            let record = memory.get(id).and_then(Result::ok);
            let is_whole = record.is_some_and(|record| is_taught_whole(memory, &record));
            (is_whole, list_lesson_ids(memory, id).collect())
        };
        let (is_whole, lessons) = judged.entry(id).or_insert_with(judge);
        let has_pair = |lesson: &RecordId| known.contains(&sorted(*lesson, other));
        *is_whole || lessons.iter().any(has_pair)
    };
    pairs.retain(|pair| {
        let [one, other] = pair.pair;
        !is_copy(one, other) && !is_copy(other, one)
    });
}

impl Memory {
    /// Lists the open contradictions of one memory that are noted.
    pub async fn list_contradictions_of(&self, id: RecordId) -> Result<Vec<DoubtfulPair>, Problem> {
        if !self.exists() {
            return Ok(Vec::new());
        }
        let for_agent = self.is_for_agent();
        self.run_on_snapshot(move |memory| {
            let names = RecordNames { memory, for_agent };
            names.describe_pairs(&list_open_contradictions(memory, Some(id)), true)
        })
        .await
    }
}

/// Returns the factory of the maintenance that runs while nobody uses a memory.
pub fn maintenance_factory() -> MaintenanceFactory {
    Arc::new(|through| -> MaintenancePlanner {
        let mut planner = Planner::resume_from(through);
        Box::new(move |memory: &Snapshot, now, go_on: &dyn Fn() -> bool| {
            let plan = planner.plan(memory, now, go_on);
            let cut = plan.cut;
            let work = move |engine: &mut Engine| {
                let done = execute_plan(engine, plan, now)?;
                Ok(maintenance_report(&done))
            };
            Some(MaintenancePlan {
                work: Box::new(work),
                through: planner.compared_through(),
                is_incomplete: cut,
            })
        })
    })
}

/// Reports what the execution of a plan changed.
pub(crate) fn maintenance_report(done: &ConsolidationReport) -> MaintenanceReport {
    let gone = done.plan.merged.iter().flat_map(|merge| &merge.gone);
    let gone = gone.chain(&done.plan.purged).copied().collect();
    MaintenanceReport {
        forgotten: done.forgotten.clone(),
        consolidated: done.action.is_some().then_some(gone),
    }
}

impl Memories {
    /// Tells what is done while nobody asks, without end.
    pub async fn run_maintenance_announcements(&self) {
        let mut finished = self.service.subscribe_to_maintenance();
        loop {
            match finished.recv().await {
                Ok((user, done)) => self.user_memory(&user).notify_maintenance(done),
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "what maintenance did was not told");
                }
                Err(RecvError::Closed) => return,
            }
        }
    }
}

impl Memory {
    pub(crate) fn notify_maintenance(&self, done: MaintenanceReport) {
        if !done.forgotten.is_empty() {
            self.announce_change("forgotten", done.forgotten);
        }
        if let Some(gone) = done.consolidated {
            self.announce_change("consolidated", gone);
        }
    }
}

/// Memories whose planners are kept in mind, the least recently used goes first; of others the next
/// plan looks through all again.
pub(crate) const PLANNERS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(31);

/// What one plan leaves for the next.
pub(crate) type SharedPlanner = Arc<tokio::sync::Mutex<Planner>>;

impl RecordNames<'_> {
    /// Describes pairs of records. Each record is read once, even if it is in many pairs.
    pub(crate) fn describe_pairs(
        &self,
        pairs: &[RelatedPair],
        with_texts: bool,
    ) -> Vec<DoubtfulPair> {
        let mut read: BTreeMap<RecordId, (String, String)> = BTreeMap::new();
        for id in pairs.iter().flat_map(|pair| pair.pair) {
            read.entry(id).or_insert_with(|| {
                let record = self.memory.get_stored(id).and_then(Result::ok);
                let name = record.as_ref().and_then(external_id_of);
                let text = record.map(|record| self.readable_text(&record));
                let name = name.unwrap_or_else(|| id.to_string());
                (name, text.unwrap_or_default())
            });
        }
        let told = |id: RecordId| read.get(&id).cloned().unwrap_or_default();
        let pairs = pairs.iter().map(|pair| DoubtfulPair {
            pair: pair.pair.map(|id| told(id).0),
            newest: told(pair.newest).0,
            why: pair.why.clone(),
            texts: with_texts.then(|| pair.pair.map(|id| told(id).1)),
        });
        pairs.collect()
    }

    pub(crate) fn pair_names(&self, pairs: &[[RecordId; 2]]) -> Vec<[String; 2]> {
        let pairs = pairs.iter().map(|pair| pair.map(|id| self.record_name(id)));
        pairs.collect()
    }

    /// Sets of records of which the first is kept, with its text, and with the others' in the first
    /// sets.
    pub(crate) fn describe_merged_sets(&self, sets: &[Vec<RecordId>]) -> Vec<MergedSet> {
        let merged = sets.iter().enumerate().filter_map(|(place, set)| {
            let (kept, gone) = set.split_first()?;
            let told = set.iter().take(if place < TOLD { TOLD } else { 1 });
            Some(MergedSet {
                kept: self.record_name(*kept),
                gone: self.record_names(gone),
                texts: told.map(|id| self.text_beginning(*id)).collect(),
            })
        });
        merged.collect()
    }
}

#[cfg(test)]
mod tests;
