//! Sessions that came in: how many, of which projects, over how many days; and what they taught.

use chrono::NaiveDate;
use reprise_knowledge::{Found, ImportKind, Item, Reading, read, session_places};
use reprise_operations::operations::lessons::{ExtractLearnings, ExtractLearningsArguments};

use crate::cli::prelude::*;

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
            &Reading::default(),
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
