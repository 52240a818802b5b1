//! Maintenance of a memory: what is to be done, what was done, and how healthy it is.
//!
//! Plans are made without blocking the writer, from one snapshot, and only what is new since the
//! last one is compared. Records are named by the ids of their own systems, if they have any.

use std::fmt::Display;
use std::num::NonZeroUsize;

use reprise_agent::{MaintenanceFactory, MaintenancePlan, MaintenancePlanner, MaintenanceReport};
use reprise_knowledge::{
    ConsolidationReport, Plan, Planner, RelatedPair, execute_plan, find_contradictions,
    find_known_matches,
};
use tokio::sync::broadcast::error::RecvError;

use crate::prelude::*;
use crate::wire::UndoneReport;
use crate::wire::external_id_of;

/// Characters of a text that a reviewer is shown.
const SHOWN_CHARS: usize = 400;

/// Sets of an action, and records of a set, that are told with their texts.
const TOLD: usize = 10;
/// Characters of each.
const TOLD_CHARS: usize = 100;

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

/// `1 record`, `2 records`.
pub fn format_count(number: impl Display, what: &str) -> String {
    let number = number.to_string();
    let plural = match what.strip_suffix('y') {
        _ if number == "1" => return format!("{number} {what}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{what}s"),
    };
    format!("{number} {plural}")
}

/// `900 B`, `114.0 KB`.
pub fn format_size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
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

/// A record that a new one has to do with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Known")]
pub struct KnownRecord {
    pub id: RecordId,
    /// Why both cannot hold; null where it says the same or is only similar.
    pub contrary: Option<String>,
    /// Why it is only similar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similar: Option<String>,
    /// What it says, as far as a line goes.
    pub text: String,
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
            let plan = planner.plan(memory, now, &|| true);
            drop(planner);
            read(memory, plan)
        };
        self.run_on_snapshot(look).await
    }

    fn planner(&self) -> SharedPlanner {
        let mut all = lock(&self.all.planners);
        Arc::clone(all.get_or_insert_ref(&self.user, Arc::default))
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

    /// What this request took back when it was sent before, as far as this process knows.
    pub(crate) fn find_earlier_undo(&self) -> Option<UndoneReport> {
        let key = self.request_key()?;
        let mut all = self.all.taken_back.list_for_user(&self.user).into_iter();
        all.find_map(|(of, said)| (of == key).then_some(said))
    }

    /// Notes what this request undid; between commits, so that a repeated request finds it.
    pub(crate) fn note_undo(&self, said: UndoneReport) {
        if let Some(key) = self.request_key() {
            self.all.taken_back.note(&self.user, (key.to_owned(), said));
        }
    }

    /// What said the same as a record, or the contrary, before it came.
    pub(crate) async fn list_known_records(
        &self,
        id: RecordId,
    ) -> Result<Vec<KnownRecord>, Problem> {
        let for_agent = self.is_agent;
        let look = move |memory: &Snapshot| {
            let names = RecordNames { memory, for_agent };
            let found = find_known_matches(memory, id).into_iter();
            let told = found.map(|known| KnownRecord {
                text: names.record_text(known.id),
                id: known.id,
                contrary: known.contrary,
                similar: known.similar,
            });
            told.collect()
        };
        self.run_on_snapshot(look).await
    }
}

impl Memory {
    /// Notes which known records a single new one contradicts, so that no answer gives the older
    /// one as if it still held. Records that come together are left to the next tending, and so
    /// is what goes wrong here.
    pub(super) async fn note_contradictions(&self, new: &[RecordId]) {
        let ([id], now) = (new, self.now()) else {
            return;
        };
        let id = *id;
        let look = move |memory: &Snapshot| find_contradictions(memory, id);
        let noted = async {
            let pairs = self.run_on_snapshot(look).await?;
            if pairs.is_empty() {
                return Ok(());
            }
            let note = move |engine: &mut Engine| engine.mark_contradictions(&pairs, now);
            self.run_on_engine(note).await??;
            Ok::<(), Problem>(())
        };
        if let Err(problem) = noted.await {
            tracing::warn!(%problem, "a contradiction was not noted");
        }
    }
}

/// Memories whose planners are kept in mind, the least recently used goes first; of others the next
/// plan looks through all again.
pub(super) const PLANNERS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(31);

/// What one plan leaves for the next.
pub(super) type SharedPlanner = Arc<tokio::sync::Mutex<Planner>>;

/// The live record with this id or name.
pub(crate) fn get_live_record_id(memory: &Snapshot, name: &str) -> Result<RecordId, Problem> {
    find_current_version(memory, name).ok_or_else(|| no_such_memory_problem(name))
}

/// What an agent is told in the place of a text that is sensitive and that it has not asked for.
const SENSITIVE: &str = "sensitive, left out; `get` with its id shows it";

/// What is told of a record.
pub(crate) fn hide_sensitive(for_agent: bool, record: &MemoryRecord, told: String) -> String {
    if for_agent && record.is_sensitive() {
        return SENSITIVE.to_owned();
    }
    told
}

/// Records by their names.
pub(crate) struct RecordNames<'a> {
    pub(crate) memory: &'a Snapshot,
    /// Whether an agent reads what they say.
    pub(crate) for_agent: bool,
}

impl RecordNames<'_> {
    pub(crate) fn record_name(&self, id: RecordId) -> String {
        let record = self.memory.get_stored(id).and_then(Result::ok);
        let name = record.and_then(|record| external_id_of(&record));
        name.unwrap_or_else(|| id.to_string())
    }

    pub(crate) fn record_names<'i>(
        &self,
        ids: impl IntoIterator<Item = &'i RecordId>,
    ) -> Vec<String> {
        ids.into_iter().map(|id| self.record_name(*id)).collect()
    }

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

    /// As much of a text as a list needs.
    pub(crate) fn text_beginning(&self, id: RecordId) -> String {
        short_beginning(&self.record_text(id))
    }

    fn record_text(&self, id: RecordId) -> String {
        let record = self.memory.get_stored(id).and_then(Result::ok);
        record
            .map(|record| self.readable_text(&record))
            .unwrap_or_default()
    }

    fn readable_text(&self, record: &MemoryRecord) -> String {
        hide_sensitive(self.for_agent, record, one_line_beginning(&record.text))
    }
}

/// As much of a text as a list needs.
pub(crate) fn short_beginning(text: &str) -> String {
    one_line_beginning(text).chars().take(TOLD_CHARS).collect()
}

/// The beginning of a text, on one line.
fn one_line_beginning(text: &str) -> String {
    to_one_line(text).chars().take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests;
