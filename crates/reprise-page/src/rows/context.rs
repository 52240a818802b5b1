//! What a list knows of its records besides themselves.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use reprise_operations::operations::records::list;
use reprise_operations::{ChangeKind, ChangeOrigin, JournalEntry};

use super::has_name;
use crate::prelude::*;

/// What rows need to know besides their record.
#[derive(Debug)]
pub(crate) struct RowContext {
    pub(crate) calendar: Calendar,
    /// Records that are published.
    pub(crate) published: HashSet<RecordId>,
    /// Names of the records of contradictions that wait for a decision.
    contradicted: HashSet<String>,
    /// What is said of records whose words are no longer those that were stored.
    corrected: HashMap<RecordId, &'static str>,
    /// Until when records held that something newer contradicts.
    held_until: BTreeMap<RecordId, DateTime<Utc>>,
    /// The last test of each session that has one in the list.
    pub(super) last_tests: HashMap<String, RecordId>,
}

impl RowContext {
    /// Knows nothing of any record.
    pub(crate) fn new(calendar: Calendar) -> Self {
        Self {
            calendar,
            published: HashSet::new(),
            contradicted: HashSet::new(),
            corrected: HashMap::new(),
            held_until: BTreeMap::new(),
            last_tests: HashMap::new(),
        }
    }

    pub(crate) async fn load(visit: &PageRequest) -> PageResult<Self> {
        let published = visit.memory().list_published_records().await;
        let kept = visit.page.kept_reviews().get(&visit.user);
        let doubted = kept.iter().flat_map(|kept| &kept.found.contradictions);
        Ok(Self {
            contradicted: doubted.flat_map(|one| one.pair.clone()).collect(),
            published: none_if_missing(published.map_err(Into::into))?.unwrap_or_default(),
            ..Self::new(visit.page.calendar())
        })
    }

    /// Learns what only memory knows of the records of a list: which were corrected, and which test
    /// was the last one of its session, whether or not the list has it.
    pub(crate) async fn look_up(
        &mut self,
        visit: &PageRequest,
        records: &[MemoryRecord],
    ) -> PageResult<()> {
        self.corrected = load_correction_marks(visit, records).await?;
        let ids = records.iter().map(|record| record.id).collect();
        self.held_until = list::find_held_until(&visit.memory(), ids).await?;
        let tests = records
            .iter()
            .filter(|record| record.record_type() == RecordType::Test);
        let sessions = tests.map(|record| record.session_id.clone());
        let sessions: BTreeSet<String> = sessions.filter(|session| !session.is_empty()).collect();
        for session in sessions {
            let request = ListRequest {
                filter: MemoryFilter {
                    session_id: Some(session.clone()),
                    types: Some(vec![RecordType::Test]),
                    ..MemoryFilter::default()
                },
                limit: 1,
                after: None,
            };
            let listed = list::list_records(&visit.memory(), request).await?;
            let last = listed.records.first().map(|record| record.id);
            self.last_tests.extend(last.map(|last| (session, last)));
        }
        Ok(())
    }

    /// Returns whether a record is a side of a contradiction that waits for a decision.
    pub(crate) fn is_contradicted(&self, record: &MemoryRecord) -> bool {
        let mut names = self.contradicted.iter();
        names.any(|name| has_name(record, name))
    }

    /// Renders by whom a record was corrected, and until when it held.
    pub(super) fn render_correction(&self, record: &MemoryRecord) -> Markup {
        let until = self.held_until.get(&record.id);
        html! {
            (render_correction_mark(self.corrected.get(&record.id).copied()))
            @if let Some(until) = until {
                span class="chip" { "held until " (self.calendar.day_of(*until)) }
            }
        }
    }
}

pub(super) fn render_correction_mark(mark: Option<&str>) -> Markup {
    html! { @if let Some(mark) = mark { span class="chip" { (mark) } } }
}

/// Finds by whom records were corrected whose words are no longer those that were stored.
pub(crate) async fn load_correction_marks(
    visit: &PageRequest,
    records: &[MemoryRecord],
) -> PageResult<HashMap<RecordId, &'static str>> {
    let mut marks = HashMap::new();
    let corrected = records.iter().filter(|record| record.supersedes.is_some());
    let corrected: Vec<&MemoryRecord> = corrected.collect();
    if corrected.is_empty() {
        return Ok(marks);
    }
    let journal = visit.memory().list_changes();
    for record in corrected {
        let Some(mark) = name_correction(&journal, record) else {
            continue;
        };
        let id = record.id.to_string();
        let found = visit
            .run_optional::<History>(HistoryArguments { id })
            .await?;
        let versions = found
            .into_iter()
            .flat_map(|found| [found.present].into_iter().chain(found.earlier));
        let versions: Vec<MemoryRecord> = versions.collect();
        // The oldest version has the words that were stored; a correction may be undone.
        if versions
            .last()
            .is_some_and(|first| first.text != record.text)
        {
            marks.insert(record.id, mark);
        }
    }
    Ok(marks)
}

/// Says that a version corrects another one, and whether that was done on the page; of knowledge,
/// which programs rewrite all the time, only if a person did.
fn name_correction(journal: &[JournalEntry], record: &MemoryRecord) -> Option<&'static str> {
    let is_its = |entry: &&JournalEntry| {
        entry.kind == ChangeKind::Corrected && entry.ids.contains(&record.id)
    };
    let is_said = [RecordType::Answer, RecordType::Prompt].contains(&record.record_type());
    match journal.iter().find(is_its).map(|entry| &entry.origin) {
        Some(ChangeOrigin::Page) => Some("corrected by you"),
        Some(ChangeOrigin::Command) => Some("corrected"),
        _ => is_said.then_some("corrected"),
    }
}
