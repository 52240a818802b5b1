//! Tending a memory: what is to be done to it, what was, and how well it stands.
//!
//! Plans are made beside the writer, from one moment of the memory, and only what is new since the
//! last one is compared; records go by the ids that their own systems gave them, where there are
//! any.

use std::fmt::Display;
use std::num::NonZeroUsize;

use reprise_agent::{Tend, TendDone, Tended, Tender};
use reprise_knowledge::{Done, Pair, Plan, Planner, carry_out, known};
use tokio::sync::broadcast::error::RecvError;

use crate::operations::tending::TakenBack;
use crate::prelude::*;
use crate::wire::external_id_of;

/// Characters of a text that whoever reviews is shown.
const SHOWN_CHARS: usize = 400;

/// Sets of an action, and records of a set, that are told with their texts.
const TOLD: usize = 10;
/// Characters of each.
const TOLD_CHARS: usize = 100;

/// Records of which one is enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Merged {
    /// Answers for all.
    pub kept: String,
    pub gone: Vec<String>,
    /// What they say, the kept one first, as far as that is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
}

impl Merged {
    /// The texts of the first sets as lines, the kept one above the others, and how many more sets
    /// there are.
    pub(crate) fn quote(all: &[Self], quoted: &mut QuotedMemory) {
        for merged in all.iter().filter(|merged| !merged.texts.is_empty()) {
            for (place, text) in merged.texts.iter().enumerate() {
                quoted.line(if place == 0 { "- kept: " } else { "  gone: " }, text);
            }
        }
        let more = all.iter().filter(|merged| merged.texts.is_empty()).count();
        if more > 0 {
            quoted.line("", &format!("and {more} more"));
        }
    }
}

/// `1 record`, `2 records`.
pub fn counted(number: impl Display, what: &str) -> String {
    let number = number.to_string();
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// `900 B`, `114.0 KB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// Two records, and what is with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doubted {
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
pub struct Known {
    pub id: RecordId,
    /// Why both cannot hold; null where it says the same.
    pub contrary: Option<String>,
    /// What it says, as far as a line goes.
    pub text: String,
}

impl Memory {
    /// What is to be done to it, with the moment that was looked at.
    pub(crate) async fn planned<T: Send + 'static>(
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
        self.read(look).await
    }

    fn planner(&self) -> Held {
        let mut all = lock(&self.all.planners);
        Arc::clone(all.get_or_insert_ref(&self.user, Arc::default))
    }
}

/// What tends memories while nobody asks.
pub fn tend() -> Tend {
    Arc::new(|through| -> Tender {
        let mut planner = Planner::since(through);
        Box::new(move |memory: &Snapshot, now, go_on: &dyn Fn() -> bool| {
            let plan = planner.plan(memory, now, go_on);
            let cut = plan.cut;
            let work = move |engine: &mut Engine| {
                let done = carry_out(engine, plan, now)?;
                Ok(changed(&done))
            };
            Some(Tended {
                work: Box::new(work),
                through: planner.through(),
                cut,
            })
        })
    })
}

/// What a plan that was carried out changed.
pub(crate) fn changed(done: &Done) -> TendDone {
    let gone = done.plan.merged.iter().flat_map(|merge| &merge.gone);
    let gone = gone.chain(&done.plan.purged).copied().collect();
    TendDone {
        forgotten: done.forgotten.clone(),
        consolidated: done.action.is_some().then_some(gone),
    }
}

impl Memories {
    /// Tells what is done while nobody asks, without end.
    pub async fn keep_told(&self) {
        let mut tended = self.service.listen_to_tending();
        loop {
            match tended.recv().await {
                Ok((user, done)) => self.of(&user).tell_tended(done),
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "what maintenance did was not told");
                }
                Err(RecvError::Closed) => return,
            }
        }
    }
}

impl Memory {
    pub(crate) fn tell_tended(&self, done: TendDone) {
        if !done.forgotten.is_empty() {
            self.tell("forgotten", done.forgotten);
        }
        if let Some(gone) = done.consolidated {
            self.tell("consolidated", gone);
        }
    }

    /// What this request took back when it was sent before, as far as this process knows.
    pub(crate) fn undone_before(&self) -> Option<TakenBack> {
        let key = self.key()?;
        let mut all = self.all.taken_back.of(&self.user).into_iter();
        all.find_map(|(of, said)| (of == key).then_some(said))
    }

    /// Notes it of this request; between commits, so that the same one sent again finds it.
    pub(crate) fn note_taken_back(&self, said: TakenBack) {
        if let Some(key) = self.key() {
            self.all.taken_back.note(&self.user, (key.to_owned(), said));
        }
    }

    /// What said the same as a record, or the contrary, before it came.
    pub(crate) async fn known(&self, id: RecordId) -> Result<Vec<Known>, Problem> {
        let for_agent = self.is_agent;
        let look = move |memory: &Snapshot| {
            let names = Names { memory, for_agent };
            let found = known(memory, id).into_iter();
            let told = found.map(|known| Known {
                text: names.text(known.id),
                id: known.id,
                contrary: known.contrary,
            });
            told.collect()
        };
        self.read(look).await
    }
}

/// Memories whose planners are kept in mind, the least recently used goes first; of others the next
/// plan looks through all again.
pub(super) const PLANNERS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(31);

/// What one plan leaves for the next.
pub(super) type Held = Arc<tokio::sync::Mutex<Planner>>;

/// The live record with this id or name.
pub(crate) fn live(engine: &Engine, name: &str) -> Result<RecordId, Problem> {
    current(engine, name).ok_or_else(|| missing(name))
}

/// What an agent is told in the place of a text that is sensitive and that it has not asked for.
const SENSITIVE: &str = "sensitive, left out; `get` with its id shows it";

/// What is told of a record.
pub(crate) fn told_of(for_agent: bool, record: &MemoryRecord, told: String) -> String {
    if for_agent && record.is_sensitive() {
        return SENSITIVE.to_owned();
    }
    told
}

/// Records by their names.
pub(crate) struct Names<'a> {
    pub(crate) memory: &'a Snapshot,
    /// Whether an agent reads what they say.
    pub(crate) for_agent: bool,
}

impl Names<'_> {
    pub(crate) fn of(&self, id: RecordId) -> String {
        let record = self.memory.version(id).and_then(Result::ok);
        let name = record.and_then(|record| external_id_of(&record));
        name.unwrap_or_else(|| id.to_string())
    }

    pub(crate) fn all<'i>(&self, ids: impl IntoIterator<Item = &'i RecordId>) -> Vec<String> {
        ids.into_iter().map(|id| self.of(*id)).collect()
    }

    /// Each record is read once, however many pairs it stands in.
    pub(crate) fn pairs(&self, pairs: &[Pair], with_texts: bool) -> Vec<Doubted> {
        let mut read: BTreeMap<RecordId, (String, String)> = BTreeMap::new();
        for id in pairs.iter().flat_map(|pair| pair.pair) {
            read.entry(id).or_insert_with(|| {
                let record = self.memory.version(id).and_then(Result::ok);
                let name = record.as_ref().and_then(external_id_of);
                let text = record.map(|record| self.said(&record));
                let name = name.unwrap_or_else(|| id.to_string());
                (name, text.unwrap_or_default())
            });
        }
        let told = |id: RecordId| read.get(&id).cloned().unwrap_or_default();
        let pairs = pairs.iter().map(|pair| Doubted {
            pair: pair.pair.map(|id| told(id).0),
            newest: told(pair.newest).0,
            why: pair.why.clone(),
            texts: with_texts.then(|| pair.pair.map(|id| told(id).1)),
        });
        pairs.collect()
    }

    pub(crate) fn ends(&self, pairs: &[[RecordId; 2]]) -> Vec<[String; 2]> {
        let pairs = pairs.iter().map(|pair| pair.map(|id| self.of(id)));
        pairs.collect()
    }

    /// Sets of records of which the first answers for all; what the first sets say is told.
    pub(crate) fn merged(&self, sets: &[Vec<RecordId>]) -> Vec<Merged> {
        let merged = sets.iter().enumerate().filter_map(|(place, set)| {
            let (kept, gone) = set.split_first()?;
            let told = set.iter().take(if place < TOLD { TOLD } else { 0 });
            Some(Merged {
                kept: self.of(*kept),
                gone: self.all(gone),
                texts: told.map(|id| self.beginning(*id)).collect(),
            })
        });
        merged.collect()
    }

    /// As much of a text as a list needs.
    pub(crate) fn beginning(&self, id: RecordId) -> String {
        beginning(&self.text(id))
    }

    fn text(&self, id: RecordId) -> String {
        let record = self.memory.version(id).and_then(Result::ok);
        record.map(|record| self.said(&record)).unwrap_or_default()
    }

    fn said(&self, record: &MemoryRecord) -> String {
        told_of(self.for_agent, record, shown(&record.text))
    }
}

/// As much of a text as a list needs.
pub(crate) fn beginning(text: &str) -> String {
    shown(text).chars().take(TOLD_CHARS).collect()
}

/// The beginning of a text, on one line.
fn shown(text: &str) -> String {
    one_line(text).chars().take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests;
