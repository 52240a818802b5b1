//! What a session begins with: what is open in its project, how the last session there ended, and
//! the decisions and lessons that hold. Put together from sentences that were kept; no prompt, no
//! question and no thanks is among them.

use std::collections::BTreeSet;

use reprise_knowledge::{Learning, Lesson};
use reprise_types::{MemoryKind, MemoryRecord, MemorySource, RecordId, UserId};

use super::{Line, Memory, content, injected, tag_of};
use crate::hook::HookAnswer;
use crate::memories::Memories;
use crate::problem::Problem;
use crate::wire::LessonCard;

/// Newest memories that are looked through.
const LOOKED_AT: usize = 400;
/// Lines at most, and of each kind.
const LINES_MAX: usize = 6;
const OPEN_MAX: usize = 2;
const LAST_MAX: usize = 3;
/// Words of a sentence that says how something ended.
const WORDS_MIN: usize = 5;

const HEAD: &str = "Where this project stands; ";

/// What a record is to a session that begins.
#[derive(Debug, PartialEq, Eq)]
enum Part<'r> {
    /// A command that failed, or passed.
    Ran {
        command: &'r str,
        passed: bool,
    },
    /// What was committed or edited.
    Changed,
    /// What an agent said at the end, as far as it says something.
    Answer(&'r str),
    /// A decision, a lesson, a note.
    Holds,
    Nothing,
}

impl<'r> Part<'r> {
    fn of(record: &'r MemoryRecord) -> Self {
        let text = record.text.as_str();
        if record.is_prompt() {
            return Self::Nothing;
        }
        if Learning::is_in(record)
            || Lesson::of(record).is_some()
            || record.kind != MemoryKind::Episode
        {
            return Self::Holds;
        }
        if record.source == MemorySource::UserInput {
            // A note; what was said in a session is its own.
            let is_note = record.session_id.is_empty() && content::says_something(text);
            return if is_note { Self::Holds } else { Self::Nothing };
        }
        if text.starts_with("Committed ") || text.starts_with("Edited ") {
            return Self::Changed;
        }
        if let Some((command, ended)) = text.strip_prefix('`').and_then(|rest| rest.split_once('`'))
        {
            let (passed, failed) = (ended.starts_with(" passed"), ended.starts_with(" failed"));
            if passed || failed {
                return Self::Ran { command, passed };
            }
        }
        ending(text).map_or(Self::Nothing, Self::Answer)
    }
}

/// The first sentence that says how something ended, and asks nothing.
fn ending(text: &str) -> Option<&str> {
    sentences(text).find(|sentence| {
        let words = sentence.split_whitespace().count();
        words >= WORDS_MIN && !sentence.ends_with('?') && content::says_something(sentence)
    })
}

/// A text from its first sentence on that says something: no thanks, no greeting.
fn said(text: &str) -> &str {
    let first = sentences(text).find(|sentence| content::says_something(sentence));
    let at = first.and_then(|first| text.find(first));
    text.get(at.unwrap_or(0)..).unwrap_or(text)
}

/// The sentences of a text, each with its mark; a line ends one too.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| {
        let mut last = ' ';
        let is_end = move |c: char| {
            let before = std::mem::replace(&mut last, c);
            c == ' ' && matches!(before, '.' | '!' | '?')
        };
        line.split_inclusive(is_end).map(str::trim)
    })
}

impl Memory {
    /// What a session in a project begins with.
    pub(super) async fn opened(
        &self,
        key: (UserId, String),
        project: &str,
    ) -> Result<HookAnswer, Problem> {
        let Some(own) = tag_of(project).filter(|_| self.exists()) else {
            return Ok(HookAnswer::default());
        };
        let (session, here, now) = (key.1.clone(), project.to_owned(), self.now());
        let found = self.read(move |memory| {
            let newest = memory.newest(LOOKED_AT).into_iter().filter_map(Result::ok);
            // A session that goes on after a compaction has words of its own.
            let of_it = newest
                .filter(|record| record.tags.contains(&own) && !record.is_sensitive())
                .filter(|record| session.is_empty() || record.session_id != session)
                .filter(|record| !record.is_over(now));
            lines(&of_it.collect::<Vec<_>>(), &here)
        });
        let found = found.await?;
        let shown: Vec<RecordId> = found.iter().map(|line| line.id).collect();
        self.all.sessions.change(key, |session| {
            session.seen.clear();
            session.see(&shown);
        });
        Ok(injected(HEAD, &found, Memories::random()))
    }
}

/// The lines, from a project's records, newest first.
fn lines(records: &[MemoryRecord], project: &str) -> Vec<Line> {
    let here = [project.to_owned()];
    let holds_here = |record: &MemoryRecord| {
        let card = LessonCard::of(record).map(|mut card| {
            card.place(&here, "");
            card
        });
        card.is_none_or(|card| card.applies != Some(false))
    };
    let line = |record: &MemoryRecord, said, text: &str| Line {
        at: record.timestamp,
        id: record.id,
        said,
        text: text.to_owned(),
    };
    let of_session = |record: &&MemoryRecord| !record.session_id.is_empty();
    let last = records
        .iter()
        .find(of_session)
        .map(|record| &record.session_id);
    let (mut open, mut ended, mut hold) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ran, mut answered) = (BTreeSet::new(), false);
    for record in records {
        let is_last = Some(&record.session_id) == last;
        match Part::of(record) {
            // The last run of a command counts.
            Part::Ran { command, passed } if ran.insert(command.to_owned()) && !passed => {
                open.push(line(record, "Open: ", &record.text));
            }
            Part::Changed if is_last => ended.push(line(record, "Last session: ", &record.text)),
            Part::Answer(said) if is_last && !answered => {
                answered = true;
                ended.push(line(record, "Last session: ", said));
            }
            Part::Holds if holds_here(record) => hold.push(line(record, "", said(&record.text))),
            _ => {}
        }
    }
    open.truncate(OPEN_MAX);
    ended.truncate(LAST_MAX);
    let mut seen = BTreeSet::new();
    let all = open.into_iter().chain(ended).chain(hold);
    all.filter(|line| seen.insert(line.text.to_lowercase()))
        .take(LINES_MAX)
        .collect()
}
