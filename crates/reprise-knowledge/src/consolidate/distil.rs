//! Summarises what recurs in one record, in words of its sources, which it cites. No text is made
//! up.

use reprise_engine::Retirement;
use reprise_types::MemoryFilter;

use crate::prelude::*;

/// Fewest sessions in which a recurring text was said.
const SESSIONS_MIN: usize = 3;
/// Most records that a summary cites.
const SOURCES_MAX: usize = 64;
/// Type of such a record in its `details`.
const TYPE: &str = "distilled";

/// A summary that will be written as a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Distillate {
    pub text: String,
    /// Its sources, the oldest first.
    pub sources: Vec<RecordId>,
    #[serde(skip)]
    tags: Vec<String>,
    #[serde(skip)]
    at: DateTime<Utc>,
}

/// One of the records that say the same, as a source of their summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DistilSource {
    pub(super) id: RecordId,
    pub(super) session: String,
    pub(super) at: DateTime<Utc>,
}

impl Distillate {
    /// Builds the summary of records that say `text`; `None` if too few sessions said it.
    pub(super) fn from_repetitions(
        text: &str,
        tags: &BTreeSet<String>,
        repetitions: &[DistilSource],
    ) -> Option<Self> {
        let sessions = repetitions.iter().map(|source| source.session.as_str());
        let sessions: BTreeSet<&str> = sessions.filter(|session| !session.is_empty()).collect();
        if sessions.len() < SESSIONS_MIN {
            return None;
        }
        let times: BTreeSet<DateTime<Utc>> = repetitions.iter().map(|source| source.at).collect();
        let (first, last) = (times.first()?, times.last()?);
        let day = |at: &DateTime<Utc>| at.format("%Y-%m-%d").to_string();
        let text = format!(
            "{}\n(said {} times in {} sessions, {} to {})",
            text.trim_end(),
            repetitions.len(),
            sessions.len(),
            day(first),
            day(last)
        );
        let sources = repetitions.iter().map(|source| source.id);
        Some(Self::new(text, sources, tags, *last))
    }

    pub(super) fn new(
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

    /// Returns the external id under which it is written.
    pub fn name(&self) -> String {
        let sources: Vec<String> = self.sources.iter().map(RecordId::to_string).collect();
        format!("{TYPE} {}", hex_id(&[&sources.join(":")]))
    }

    /// Converts it into a new record. Its id depends on its sources only, so that no second one is
    /// written, even if the first was retired.
    pub(super) fn to_record(&self) -> NewRecord {
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

/// Whether a record is a summary of others.
pub(super) fn is_distilled(record: &MemoryRecord) -> bool {
    details_of_type(record, TYPE).is_some()
}

/// Returns the records that summaries cite, withdrawn summaries included.
pub(super) fn collect_cited_records(memory: &Snapshot) -> BTreeSet<RecordId> {
    let filter = MemoryFilter {
        kinds: Some(vec![MemoryKind::Pattern]),
        ..MemoryFilter::default()
    };
    let retired = memory.list_all_retirements().into_iter();
    let withdrawn = retired.filter_map(|one| memory.get_stored(one.retired)?.ok());
    let all = memory
        .list_matching_records(&filter)
        .into_iter()
        .chain(withdrawn);
    let mut cited = BTreeSet::new();
    for record in all {
        let from = details_of_type(&record, TYPE).and_then(|details| details.get("from"));
        cited.extend(list_texts(from).filter_map(|id| id.parse::<RecordId>().ok()));
    }
    cited
}

/// Returns the live summaries, each with the instant at which it was written, in microseconds.
pub(super) fn collect_distilled_records(memory: &Snapshot) -> BTreeMap<RecordId, i64> {
    let linked = memory.list_distilled_record_ids().into_iter();
    let made = linked.filter_map(|id| memory.get(id)?.ok());
    made.filter(is_distilled)
        .map(|record| (record.id, record.known_at.timestamp_micros()))
        .collect()
}

/// Returns when a withdrawn summary was written; `None` for any other record.
pub(super) fn withdrawn_distillate_time(memory: &Snapshot, one: &Retirement) -> Option<i64> {
    let record = memory.get_stored(one.retired)?.ok()?;
    let holds = is_distilled(&record) && one.undone_micros.is_none();
    holds.then(|| record.known_at.timestamp_micros())
}
