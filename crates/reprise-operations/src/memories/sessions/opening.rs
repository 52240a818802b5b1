//! What a session begins with: what is open in its project, how the last session there ended, and
//! the decisions and lessons that hold. Put together from sentences that were kept; no prompt, no
//! question and no thanks is among them.

use super::{Line, WHOLE, injected, says_something, tag_of};
use crate::hook::HookAnswer;
use crate::prelude::*;

/// The project's newest records that are looked through for what was done, and its newest
/// decisions and lessons.
const LOOKED_AT: usize = 200;
const HOLDING: usize = 24;
/// Lines at most, of what is open where the others fill the rest, and of the last session.
const LINES_MAX: usize = 6;
const OPEN_MAX: usize = 2;
const LAST_MAX: usize = 3;
/// Words of a sentence that says how something ended.
const WORDS_MIN: usize = 5;

/// How a sentence begins that promises, offers, asks for or orders something.
const PROMISES: [&str; 26] = [
    "i'll",
    "i will",
    "i'm going",
    "i am going",
    "i can",
    "i could",
    "i would",
    "let me",
    "let's",
    "let us",
    "now i",
    "next",
    "first",
    "shall",
    "should",
    "would you",
    "do you",
    "can you",
    "could you",
    "you can",
    "you should",
    "please",
    "make sure",
    "run ",
    "try ",
    "feel free",
];

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
    /// A note of somebody's own.
    Note,
    Nothing,
}

impl<'r> Part<'r> {
    fn of(record: &'r MemoryRecord) -> Self {
        let text = record.text.as_str();
        match record.record_type() {
            RecordType::Commit | RecordType::Document => Self::Changed,
            RecordType::Test | RecordType::Command => ran(text).unwrap_or(Self::Nothing),
            RecordType::Answer => ending(text).map_or(Self::Nothing, Self::Answer),
            RecordType::Note if is_plain(record) && says_something(text) => Self::Note,
            _ => Self::Nothing,
        }
    }
}

/// Whether somebody wrote a note of his own: what was read out of files stands in them.
fn is_plain(record: &MemoryRecord) -> bool {
    let is_own = record.session_id.is_empty() && record.source == MemorySource::UserInput;
    record.details.is_none() && (record.kind != MemoryKind::Episode || is_own)
}

/// A command and how it ended, as a hook has kept it.
fn ran(text: &str) -> Option<Part<'_>> {
    let (command, ended) = text.strip_prefix('`')?.split_once('`')?;
    let passed = ended.starts_with(" passed");
    (passed || ended.starts_with(" failed")).then_some(Part::Ran { command, passed })
}

/// The first sentence that says how something ended, and asks nothing.
fn ending(text: &str) -> Option<&str> {
    sentences(text).find(|sentence| {
        let words = sentence.split_whitespace().count();
        let begins = sentence.to_lowercase().replace('\u{2019}', "'");
        let promises = PROMISES.iter().any(|word| begins.starts_with(word));
        words >= WORDS_MIN
            && !promises
            && !sentence.ends_with(['?', ':'])
            && says_something(sentence)
    })
}

/// A text from its first sentence on that says something: no thanks, no greeting.
fn said(text: &str) -> &str {
    let first = sentences(text).find(|sentence| says_something(sentence));
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
    /// What a session in a project begins with, or goes on with; in a conversation that is about to
    /// be shortened it will not `stay`.
    pub(super) async fn opened(
        &self,
        session: &str,
        project: &str,
        stay: bool,
    ) -> Result<HookAnswer, Problem> {
        let found = self.where_it_stands(session, project).await?;
        if stay {
            let shown: Vec<RecordId> = found.iter().map(|line| line.id).collect();
            self.session(session, |session| {
                session.seen.clear();
                session.see(&shown);
            });
        }
        Ok(injected(&[(HEAD, WHOLE, found)], system_entropy()))
    }

    async fn where_it_stands(&self, session: &str, project: &str) -> Result<Vec<Line>, Problem> {
        if tag_of(project).is_none() || !self.exists() {
            return Ok(Vec::new());
        }
        let (session, here) = (session.to_owned(), project.to_owned());
        let calendar = self.calendar();
        self.read(move |memory| lines(memory, &session, &here, &calendar))
            .await
    }
}

/// A project's live records of these types, the newest first.
fn newest(
    memory: &Snapshot,
    project: &str,
    types: Option<Vec<RecordType>>,
    limit: usize,
    calendar: &Calendar,
) -> Vec<MemoryRecord> {
    let listed = memory.list(&ListRequest {
        filter: MemoryFilter {
            types,
            project: Some(project.to_owned()),
            until: Some(calendar.now),
            ..MemoryFilter::default()
        },
        limit,
        after: None,
    });
    let records = listed.records.into_iter();
    let stays = |record: &MemoryRecord| !record.is_sensitive() && !record.is_over(calendar.now);
    records.filter(stays).collect()
}

/// The lines of a project for a session that begins or goes on in it.
fn lines(memory: &Snapshot, session: &str, project: &str, calendar: &Calendar) -> Vec<Line> {
    let here = [project.to_owned()];
    let records = newest(memory, project, None, LOOKED_AT, calendar);
    let kinds = vec![RecordType::Decision, RecordType::Lesson];
    let mut holding = newest(memory, project, Some(kinds), HOLDING, calendar);
    holding.retain(|record| LessonCard::holds(record, &here, ""));
    let line = |record: &MemoryRecord, said, text: &str| Line {
        at: record.timestamp,
        id: record.id,
        told: Told::of(record, None).words(calendar),
        said,
        text: text.to_owned(),
    };
    // One that has just begun, or was broken off, has only asked.
    let parts: Vec<_> = records.iter().map(|one| (one, Part::of(one))).collect();
    let last = parts.iter().find(|(record, part)| {
        !record.session_id.is_empty() && matches!(part, Part::Changed | Part::Answer(_))
    });
    let last = last.map(|(record, _)| &record.session_id);
    let head = if last.is_some_and(|last| last == session) {
        "This session: "
    } else {
        "Last session: "
    };
    let (mut open, mut ended, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ran, mut answered) = (BTreeSet::new(), false);
    for (record, part) in parts {
        let is_last = last.is_some_and(|last| *last == record.session_id);
        match part {
            // The last run of a command counts.
            Part::Ran { command, passed } if ran.insert(command.to_owned()) && !passed => {
                open.push(line(record, "Open: ", &record.text));
            }
            Part::Changed if is_last => ended.push(line(record, head, &record.text)),
            Part::Answer(said) if is_last && !answered => {
                answered = true;
                ended.push(line(record, head, said));
            }
            Part::Note => notes.push(line(record, "", said(&record.text))),
            _ => {}
        }
    }
    ended.truncate(LAST_MAX);
    let holding = holding.iter();
    let holding = holding.map(|record| line(record, "", said(&record.text)));
    let mut seen = BTreeSet::new();
    let others = ended.into_iter().chain(holding).chain(notes);
    let others = others.filter(|line| seen.insert(line.text.to_lowercase()));
    let others: Vec<Line> = others.take(LINES_MAX).collect();
    // All that is open is told where the others leave room.
    open.truncate(OPEN_MAX.max(LINES_MAX.saturating_sub(others.len())));
    open.into_iter().chain(others).take(LINES_MAX).collect()
}
