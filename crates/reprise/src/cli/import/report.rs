//! Report of an import, with each line that could not be used. For sessions: how many there are, of
//! which projects and days, and what was learned from them.

use chrono::NaiveDate;
use reprise_knowledge::{
    ImportItem, ImportKind, ItemContent, default_session_locations, read_source, says_enough,
};
use reprise_operations::operations::care::Reembed;
use reprise_operations::operations::lessons::{ExtractLearnings, ExtractLearningsArguments};
use reprise_types::{ListRequest, MemoryFilter};

use crate::cli::prelude::*;
use crate::cli::record_keeper::{DIFFERS, truncation_message};

/// Result of an import.
#[derive(Debug, Default, Serialize)]
pub(super) struct ImportReport {
    pub(super) kind: &'static str,
    pub(super) inserted: u64,
    /// Memories that got a new version because their note changed.
    pub(super) replaced: u64,
    pub(super) duplicate: u64,
    /// Duplicates that were forgotten here and stay forgotten.
    pub(super) forgotten: usize,
    /// Ids of the duplicates.
    #[serde(skip)]
    pub(super) known: Vec<RecordId>,
    pub(super) rejected: u64,
    pub(super) truncated: u64,
    pub(super) links: u64,
    pub(super) dry_run: bool,
    /// Counts of a program's sessions, and of what was learned from them.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) history: Option<HistoryCounts>,
    /// Folder with copies of the imported files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backup: Option<PathBuf>,
    /// Removed secrets, without their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) redacted: Vec<RedactedSecret>,
    pub(super) lines: Vec<ImportProblem>,
    /// Records whose notes or sections are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) gone: Vec<GoneRow>,
}

/// Record whose note or section was deleted.
#[derive(Debug, Serialize)]
pub(super) struct GoneRow {
    pub(super) record: String,
    #[serde(rename = "where")]
    pub(super) path: String,
    pub(super) text: String,
    pub(super) forgotten: bool,
}

/// Line that was refused, truncated, or differs from the stored memory.
#[derive(Debug, Serialize)]
pub(super) struct ImportProblem {
    pub(super) r#where: String,
    pub(super) why: String,
}

/// Secret that was removed.
#[derive(Debug, Serialize)]
pub(super) struct RedactedSecret {
    #[serde(rename = "where")]
    pub(super) place: String,
    #[serde(flatten)]
    pub(super) redaction: Redaction,
}

/// Most secrets whose places are listed.
const REDACTED_MAX: usize = 1_000;

impl ImportReport {
    /// Returns whether nothing at all was found in the source.
    pub(super) fn is_empty(&self) -> bool {
        let counts = [
            self.inserted,
            self.replaced,
            self.duplicate,
            self.rejected,
            self.links,
        ];
        counts.iter().all(|count| *count == 0) && self.gone.is_empty()
    }

    /// Adds the secrets that were removed from a record.
    pub(super) fn add_redactions(&mut self, place: &str, redacted: Vec<Redaction>) {
        for redaction in redacted {
            if self.redacted.len() < REDACTED_MAX {
                let place = place.to_owned();
                self.redacted.push(RedactedSecret { place, redaction });
            }
        }
    }

    pub(super) fn add_refused(&mut self, place: String, why: String) {
        self.rejected += 1;
        self.add_problem(place, why);
    }

    /// Adds a problem; its place and reason are redacted, because they may contain a secret.
    fn add_problem(&mut self, place: String, why: String) {
        let [r#where, why] = [place, why].map(|said| Redactor::new().redact_text(&said).text);
        self.lines.push(ImportProblem { r#where, why });
    }

    /// Counts a text that was truncated.
    pub(super) fn add_truncated(&mut self, place: String, bytes: usize) {
        self.truncated += 1;
        self.add_problem(place, truncation_message(bytes));
    }

    pub(super) fn add_fate(&mut self, place: String, fate: RecordFate) {
        match fate {
            RecordFate::Inserted {
                truncated_from_bytes,
                ..
            } => {
                self.inserted += 1;
                if let Some(bytes) = truncated_from_bytes {
                    self.add_truncated(place, bytes);
                }
            }
            RecordFate::Duplicate { of, differs } => {
                self.duplicate += 1;
                self.known.push(of);
                if differs {
                    self.add_problem(place, DIFFERS.to_owned());
                }
            }
            RecordFate::Rejected { why } => self.add_refused(place, why),
        }
    }
}

/// Longest time that `connect` reads a history.
const LOOK: Duration = Duration::from_secs(5);

/// Sessions, projects and days of a history.
#[derive(Debug, Default)]
pub(super) struct SessionHistory {
    sessions: BTreeSet<String>,
    projects: BTreeSet<String>,
    days: BTreeSet<NaiveDate>,
}

/// Counts of a history, and of what was learned from it.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct HistoryCounts {
    pub(super) sessions: usize,
    pub(super) projects: usize,
    pub(super) days: usize,
    pub(super) learnings: u64,
    pub(super) outcomes: u64,
}

impl HistoryCounts {
    /// Returns the counts as a sentence.
    pub(super) fn summary(&self) -> String {
        let new = [
            (self.learnings, "lesson", ""),
            (self.outcomes, "outcome", " of tests"),
        ];
        let new = new.into_iter().filter(|(count, ..)| *count > 0);
        let new = new.map(|(count, what, of)| [format_count(count, what).as_str(), of].concat());
        let new: Vec<String> = new.collect();
        let scope = self.scope_summary();
        if new.is_empty() {
            return scope;
        }
        format!("{scope}; new: {}", new.join(", "))
    }

    /// Returns the numbers of sessions, projects and days as text.
    fn scope_summary(&self) -> String {
        format!(
            "{} of {} on {}",
            format_count(self.sessions, "session"),
            format_count(self.projects, "project"),
            format_count(self.days, "day"),
        )
    }
}

impl SessionHistory {
    pub(super) fn add_record(&mut self, record: &NewRecord) {
        if !self.sessions.contains(&record.session_id) {
            self.sessions.insert(record.session_id.clone());
        }
        let of_project = record.tags.iter().filter(|tag| tag.starts_with("project:"));
        for tag in of_project {
            if !self.projects.contains(tag) {
                self.projects.insert(tag.clone());
            }
        }
        self.days.extend(record.timestamp.map(|at| at.date_naive()));
    }

    pub(super) fn to_counts(&self) -> HistoryCounts {
        HistoryCounts {
            sessions: self.sessions.len(),
            projects: self.projects.len(),
            days: self.days.len(),
            ..HistoryCounts::default()
        }
    }
}

/// Stores the lessons that the sessions state, and learns from the outcomes of their tests. The new
/// lessons get their embeddings unless that is left for `later`; a daemon does it by itself.
pub(super) fn learn_from_sessions(
    context: &Context,
    user: &UserId,
    sessions: BTreeSet<String>,
    later: bool,
    counted: &mut HistoryCounts,
) -> anyhow::Result<()> {
    if sessions.is_empty() {
        return Ok(());
    }
    let open = Session::open(context, user, Effect::Adds)?;
    for session in sessions {
        let done = open.call::<ExtractLearnings>(ExtractLearningsArguments {
            session,
            dry_run: false,
            outcomes: true,
        })?;
        counted.learnings += done.ids.len() as u64;
        counted.outcomes += done.outcomes;
    }
    let is_own = matches!(open, Session::InProcess(..));
    if is_own && !later && counted.learnings > 0 && context.model().is_some() {
        while open.call::<Reembed>(NoArguments {})?.goes_on {}
    }
    Ok(())
}

/// A program's history in one place.
#[derive(Debug)]
pub(crate) struct FoundHistory {
    pub(crate) path: PathBuf,
    /// Its sessions, projects and days, with "at least" if there was no time to read all of it.
    pub(crate) summary: String,
    /// Whether memory has every session of it, or has forgotten it.
    pub(crate) is_known: bool,
}

/// The sessions that a user's memory has.
pub(crate) struct KnownSessions {
    memory: Option<Arc<Snapshot>>,
    /// What was found of each session that was looked for.
    looked: BTreeMap<String, bool>,
}

impl KnownSessions {
    /// Reads which sessions a memory on this machine has; of one elsewhere none is known.
    pub(crate) fn of(context: &Context, user: &UserId) -> Self {
        let is_here = context.remote.is_none() && store::exists(context, user).unwrap_or(false);
        let opened = is_here.then(|| store::open_for_reading(context, user));
        let memory = opened.and_then(Result::ok).map(|engine| engine.snapshot());
        let looked = BTreeMap::new();
        Self { memory, looked }
    }

    /// Looks whether memory has what a history has of a session.
    fn look_for(&mut self, record: &NewRecord) {
        let Some(memory) = &self.memory else { return };
        let known = self
            .looked
            .entry(record.session_id.clone())
            .or_insert_with(|| {
                let of_session = ListRequest {
                    filter: MemoryFilter {
                        session_id: Some(record.session_id.clone()),
                        ..MemoryFilter::default()
                    },
                    limit: 1,
                    after: None,
                };
                !memory.list(&of_session).records.is_empty()
            });
        // A short text is never stored.
        *known = *known || !says_enough(&record.text) || memory.find_known(record).is_some();
    }

    /// Whether memory has all the sessions that were looked for since the last time.
    fn has_all(&mut self) -> bool {
        let looked = std::mem::take(&mut self.looked);
        self.memory.is_some() && looked.into_values().all(|known| known)
    }
}

/// Finds a program's histories under a home directory, and which of them memory has; only what
/// happened `since` then counts.
pub(crate) fn find_histories(
    kind: ImportKind,
    home: &Path,
    since: Option<DateTime<Utc>>,
    known: &mut KnownSessions,
) -> Vec<FoundHistory> {
    let mut found = Vec::new();
    for place in default_session_locations(kind) {
        let path = home.join(place);
        let (mut history, begun, mut whole) = (SessionHistory::default(), Instant::now(), true);
        let looked = read_source(
            &path,
            kind,
            Zone::default(),
            &mut |ImportItem { content, .. }| {
                if let ItemContent::Record(record) = content
                    && since.is_none_or(|since| record.timestamp.is_some_and(|at| at >= since))
                {
                    history.add_record(&record);
                    known.look_for(&record);
                }
                whole = begun.elapsed() < LOOK;
                whole
            },
        );
        let counts = history.to_counts();
        let is_known = known.has_all() && whole;
        if counts.sessions > 0 && (looked.is_ok() || !whole) {
            let least = if whole { "" } else { "at least " };
            let summary = [least, &counts.scope_summary()].concat();
            found.push(FoundHistory {
                path,
                summary,
                is_known,
            });
        }
    }
    found
}

/// Prints what a program's history contains and how to import it; nothing without a history, or
/// where memory has all of it.
pub(crate) fn offer_import(context: &Context, kind: ImportKind, home: &Path, user: &UserId) {
    let mut known = KnownSessions::of(context, user);
    let found = find_histories(kind, home, None, &mut known).into_iter();
    for FoundHistory { path, summary, .. } in found.filter(|history| !history.is_known) {
        let path = path.display();
        tell!(
            "{path} holds {summary}; `reprise import {path} --user {user} --dry-run` shows what \
             would be imported; leave out --dry-run to import it"
        );
    }
}
