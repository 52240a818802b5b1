//! What recurs, told once: a record that says it in words that stand in its sources, and cites
//! them. No text is made up.

use reprise_engine::Retired;
use reprise_types::MemoryFilter;

use crate::prelude::*;

/// Sessions in which something was said, from which on it recurs.
const SESSIONS_MIN: usize = 3;
/// Records that one cites.
const SOURCES_MAX: usize = 64;
/// The word in `details` by which they are known.
const TYPE: &str = "distilled";

/// A record to be made of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Distillate {
    pub text: String,
    /// What it is made of, oldest first.
    pub sources: Vec<RecordId>,
    #[serde(skip)]
    tags: Vec<String>,
    #[serde(skip)]
    at: DateTime<Utc>,
}

/// One of the records that say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) id: RecordId,
    pub(super) session: String,
    pub(super) at: DateTime<Utc>,
}

impl Distillate {
    /// Of records that say `text`; `None` where that is no habit.
    pub(super) fn of_same(text: &str, tags: &BTreeSet<String>, said: &[Source]) -> Option<Self> {
        let sessions = said.iter().map(|source| source.session.as_str());
        let sessions: BTreeSet<&str> = sessions.filter(|session| !session.is_empty()).collect();
        if sessions.len() < SESSIONS_MIN {
            return None;
        }
        let times: BTreeSet<DateTime<Utc>> = said.iter().map(|source| source.at).collect();
        let (first, last) = (times.first()?, times.last()?);
        let day = |at: &DateTime<Utc>| at.format("%Y-%m-%d").to_string();
        let text = format!(
            "{}\n(said {} times in {} sessions, {} to {})",
            text.trim_end(),
            said.len(),
            sessions.len(),
            day(first),
            day(last)
        );
        let sources = said.iter().map(|source| source.id);
        Some(Self::of(text, sources, tags, *last))
    }

    pub(super) fn of(
        text: String,
        sources: impl Iterator<Item = RecordId>,
        tags: &BTreeSet<String>,
        at: DateTime<Utc>,
    ) -> Self {
        let mut sources: Vec<RecordId> = sources.collect();
        sources.sort_unstable();
        sources.truncate(SOURCES_MAX);
        Self {
            text,
            sources,
            tags: tags.iter().cloned().collect(),
            at,
        }
    }

    /// What it is called before it is kept.
    pub fn name(&self) -> String {
        let sources: Vec<String> = self.sources.iter().map(RecordId::to_string).collect();
        format!("{TYPE} {}", hex_id(&[&sources.join(":")]))
    }

    /// The record that is to be kept; of the same sources there is one only, also of those put
    /// away.
    pub(super) fn record(&self) -> NewRecord {
        let sources: Vec<String> = self.sources.iter().map(RecordId::to_string).collect();
        let mut record = NewRecord::new(
            self.text.clone(),
            MemorySource::TrajectoryOutcome,
            MemoryKind::Pattern,
        );
        record.timestamp = Some(self.at);
        record.tags.clone_from(&self.tags);
        record.external_ids = vec![ExternalId::new("request", self.name())];
        record.provenance.source_refs.clone_from(&sources);
        record.details = Some(json!({ "type": TYPE, "from": sources }));
        record
    }
}

/// Whether a record was made of others.
pub(super) fn is_distilled(record: &MemoryRecord) -> bool {
    typed(record, TYPE).is_some()
}

/// The records that others were made of, also those that were withdrawn since.
pub(super) fn cited(memory: &Snapshot) -> BTreeSet<RecordId> {
    let filter = MemoryFilter {
        kinds: Some(vec![MemoryKind::Pattern]),
        ..MemoryFilter::default()
    };
    let retired = memory.ever_retired().into_iter();
    let withdrawn = retired.filter_map(|one| memory.version(one.gone)?.ok());
    let all = memory.matching(&filter).into_iter().chain(withdrawn);
    let mut cited = BTreeSet::new();
    for record in all {
        let from = typed(&record, TYPE).and_then(|details| details.get("from"));
        cited.extend(texts(from).filter_map(|id| id.parse::<RecordId>().ok()));
    }
    cited
}

/// The records that were made of others and answer, with the instant of each.
pub(super) fn made(memory: &Snapshot) -> BTreeMap<RecordId, i64> {
    let linked = memory.distilled().into_iter();
    let made = linked.filter_map(|id| memory.get(id)?.ok());
    made.filter(is_distilled)
        .map(|record| (record.id, record.known_at.timestamp_micros()))
        .collect()
}

/// When a record was made of others that was withdrawn and still is.
pub(super) fn withdrawn(memory: &Snapshot, one: &Retired) -> Option<i64> {
    let record = memory.version(one.gone)?.ok()?;
    let holds = is_distilled(&record) && one.undone_micros.is_none();
    holds.then(|| record.known_at.timestamp_micros())
}
