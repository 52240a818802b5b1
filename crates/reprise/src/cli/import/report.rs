//! What became of a source, line by line where it could not be used. Of sessions: how many came in,
//! of which projects, over how many days; and what they taught.

use chrono::NaiveDate;
use reprise_knowledge::{Found, ImportKind, Item, read, session_places};
use reprise_operations::operations::lessons::{ExtractLearnings, ExtractLearningsArguments};

use super::notes::GoneRow;
use crate::cli::keep::{DIFFERS, cut_off};
use crate::cli::prelude::*;

/// What became of a source.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) kind: &'static str,
    pub(super) inserted: u64,
    /// What was changed in its note, and is a new version now.
    pub(super) replaced: u64,
    pub(super) duplicate: u64,
    /// How many of them were forgotten here, and stay so.
    pub(super) forgotten: usize,
    /// The records that they are.
    #[serde(skip)]
    pub(super) known: Vec<RecordId>,
    pub(super) rejected: u64,
    pub(super) truncated: u64,
    pub(super) links: u64,
    pub(super) dry_run: bool,
    /// Of a program's sessions: how many there are, and what they taught.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) history: Option<Counted>,
    /// Where copies of the files are that moved in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backup: Option<PathBuf>,
    /// What was taken out, without the values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) redacted: Vec<TakenOut>,
    pub(super) lines: Vec<Line>,
    /// Records whose notes or sections are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) gone: Vec<GoneRow>,
}

/// What cannot be used, not the whole of it, or not what is there.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    pub(super) r#where: String,
    pub(super) why: String,
}

/// A secret that was taken out.
#[derive(Debug, Serialize)]
pub(super) struct TakenOut {
    #[serde(rename = "where")]
    pub(super) place: String,
    #[serde(flatten)]
    pub(super) redaction: Redaction,
}

/// Secrets whose places are named.
const REDACTED_MAX: usize = 1_000;

impl Report {
    /// Secrets that were taken out of a record.
    pub(super) fn take_out(&mut self, place: &str, redacted: Vec<Redaction>) {
        for redaction in redacted {
            if self.redacted.len() < REDACTED_MAX {
                let place = place.to_owned();
                self.redacted.push(TakenOut { place, redaction });
            }
        }
    }

    pub(super) fn refuse(&mut self, place: String, why: String) {
        self.rejected += 1;
        self.say(place, why);
    }

    /// What a file says of itself may hold a secret, too.
    fn say(&mut self, place: String, why: String) {
        let [r#where, why] = [place, why].map(|said| Redactor::new().redact_text(&said).text);
        self.lines.push(Line { r#where, why });
    }

    /// A text that is longer than a record keeps.
    pub(super) fn truncate(&mut self, place: String, bytes: usize) {
        self.truncated += 1;
        self.say(place, cut_off(bytes));
    }

    pub(super) fn count(&mut self, place: String, fate: Fate) {
        match fate {
            Fate::Inserted {
                truncated_from_bytes,
                ..
            } => {
                self.inserted += 1;
                if let Some(bytes) = truncated_from_bytes {
                    self.truncate(place, bytes);
                }
            }
            Fate::Duplicate { of, differs } => {
                self.duplicate += 1;
                self.known.push(of);
                if differs {
                    self.say(place, DIFFERS.to_owned());
                }
            }
            Fate::Rejected { why } => self.refuse(place, why),
        }
    }
}

/// How long `connect` looks at a history before it says what it has seen of it.
const LOOK: Duration = Duration::from_secs(5);

/// What of a history was seen.
#[derive(Debug, Default)]
pub(super) struct History {
    sessions: BTreeSet<String>,
    projects: BTreeSet<String>,
    days: BTreeSet<NaiveDate>,
}

/// The same in numbers, and what was learned from it.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counted {
    pub(super) sessions: usize,
    pub(super) projects: usize,
    pub(super) days: usize,
    pub(super) learnings: u64,
    pub(super) outcomes: u64,
}

impl Counted {
    /// A sentence for people.
    pub(super) fn says(&self) -> String {
        format!(
            "{}; new: {}, {} of tests",
            self.of(),
            counted(self.learnings, "learning"),
            counted(self.outcomes, "outcome"),
        )
    }

    /// What the history is of.
    fn of(&self) -> String {
        format!(
            "{} of {} on {}",
            counted(self.sessions, "session"),
            counted(self.projects, "project"),
            counted(self.days, "day"),
        )
    }
}

impl History {
    pub(super) fn see(&mut self, record: &NewRecord) {
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

    pub(super) fn counted(&self) -> Counted {
        Counted {
            sessions: self.sessions.len(),
            projects: self.projects.len(),
            days: self.days.len(),
            ..Counted::default()
        }
    }
}

/// Keeps the sentences of sessions that say what was learned in them, and learns from how their
/// tests went.
pub(super) fn teach(
    context: &Context,
    user: &UserId,
    sessions: BTreeSet<String>,
    counted: &mut Counted,
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
    Ok(())
}

/// Says what a program's history holds, and how it comes in; nothing where there is none.
pub(crate) fn offer(kind: ImportKind, home: &Path, user: &UserId) {
    for place in session_places(kind) {
        let path = home.join(place);
        let (mut history, begun, mut whole) = (History::default(), Instant::now(), true);
        let looked = read(
            &path,
            kind,
            Zone::default(),
            &mut |Item { found, .. }| {
                if let Found::Record(record) = found {
                    history.see(&record);
                }
                whole = begun.elapsed() < LOOK;
                whole
            },
        );
        let held = history.counted();
        if held.sessions == 0 || looked.is_err() && whole {
            continue;
        }
        let least = if whole { "" } else { "at least " };
        let (path, held) = (path.display(), held.of());
        tell!(
            "{path} holds {least}{held}; `reprise import {path} --user {user} --dry-run` says what \
             of them would be kept, and without --dry-run it is"
        );
    }
}
