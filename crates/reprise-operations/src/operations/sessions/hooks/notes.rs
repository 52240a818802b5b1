//! What is known of the sessions under way; and how an answer was taken that no test judged: by the
//! time to the next prompt, and by whether the session went on.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use super::kept_prompts::{SeenMemories, list_received};
use crate::operations::sessions::HookAnswer;
use crate::operations::sessions::implied_quality::{GOOD_ENOUGH, PUT_RIGHT};
use crate::operations::sessions::prompts::InjectedBlock;
use crate::prelude::*;

/// Sessions that are remembered between their events; the one idle for longest goes first.
pub(crate) const SESSIONS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(999);

/// Memories that a session is known to have seen, and files that it is known to have edited.
pub(super) const SEEN_MAX: usize = 4_000;

/// Bytes of what was said and done after a prompt that are held.
pub(super) const SAID_BYTES_MAX: usize = 32 * 1024;

/// What is known of a session under way. A daemon that began anew knows of it only what its prompts
/// received, and learns nothing from what came before.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveSession {
    /// What it began with, as it is repeated when the session goes on.
    pub(super) frozen: Option<FrozenOpening>,
    /// What it began with, until its first prompt is kept.
    pub(super) opening: Option<InjectedBlock>,
    /// Whether its program did not receive in time what it begins with: its next prompt does.
    pub(super) owes_opening: bool,
    /// The last prompt's recall.
    pub(super) recalled: Option<AnsweredPrompt>,
    /// What was said and done since: an answer, commands, files.
    pub(super) said: String,
    /// What commands printed since. That is no trace of a memory, but says which of two is right.
    pub(super) printed: String,
    /// The run of its last answer, and when that was finished, where no test judged it: what comes
    /// next tells how it was taken.
    pub(super) unjudged: Option<(String, DateTime<Utc>)>,
    /// How the last test since then went.
    pub(super) judged: Option<bool>,
    /// What was put into its prompts already; `None` until that was read from its prompts.
    pub(super) seen: Option<SeenMemories>,
    /// Rules that hold in its project and that its beginning has no room for: a prompt that one of
    /// them concerns gets it.
    pub(super) left_out_rules: BTreeSet<RecordId>,
    /// When its conversation was shortened last: what came before may not be in it any more.
    pub(super) shortened: Option<DateTime<Utc>>,
    /// Files edited since its agent last answered.
    pub(super) edited: BTreeSet<String>,
    /// Held while a run of a command is counted and stored: the next one is counted after it.
    pub(super) storing_run: Arc<tokio::sync::Mutex<()>>,
    /// Requests whose programs went on without the answer, by their keys; the oldest first.
    late: VecDeque<String>,
    /// What its last prompt was answered with, for a program that went on without it.
    answered: Option<GivenAnswer>,
}

/// Requests of a session that are remembered as late.
const LATE_MAX: usize = 64;

/// What a prompt was answered with, and the key of its request.
#[derive(Debug, Clone)]
struct GivenAnswer {
    request: String,
    given: SeenMemories,
    /// Whether it had what the session should have begun with.
    with_opening: bool,
}

/// The text that a session began with. It is repeated byte for byte while its memories hold, so
/// that what a program has cached of the conversation stays valid.
#[derive(Debug, Clone)]
pub(super) struct FrozenOpening {
    pub(super) project: String,
    pub(super) answer: HookAnswer,
    /// The answer as its next prompt notes it.
    pub(super) block: Option<InjectedBlock>,
    /// Its memories.
    pub(super) shown: SeenMemories,
}

/// What a session did after a prompt: what was said and done, and what commands printed.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionTrace {
    pub(super) said: String,
    pub(super) printed: String,
}

/// A prompt that was answered with memory.
#[derive(Debug, Clone)]
pub(super) struct AnsweredPrompt {
    pub(super) recall_id: RecallId,
    pub(super) prompt: String,
    /// What was put into it.
    pub(super) put_in: Vec<RecordId>,
}

impl LiveSession {
    /// Begins anew with a prompt, where that was answered with memory.
    pub(super) fn begin_prompt(&mut self, recalled: Option<AnsweredPrompt>) {
        (self.recalled, self.judged) = (recalled, None);
        self.said.clear();
        self.printed.clear();
    }

    /// Notes that nobody received what it begins with; its prompts say what it has.
    pub(super) fn owe_opening(&mut self) {
        (self.frozen, self.opening, self.seen) = (None, None, None);
        self.owes_opening = true;
    }

    /// Returns whether the program that sent a request went on without the answer.
    pub(super) fn is_late(&self, request: Option<&str>) -> bool {
        request.is_some_and(|request| self.late.iter().any(|late| late == request))
    }

    /// Notes that a program went on without the answer to a request: what that had, or will have,
    /// is not in the conversation.
    pub(super) fn note_late(&mut self, request: String) {
        let is_it = |one: &mut GivenAnswer| one.request == request;
        if let Some(answered) = self.answered.take_if(is_it) {
            if let Some(seen) = &mut self.seen {
                seen.remove(&answered.given);
            }
            self.owes_opening |= answered.with_opening;
        }
        if self.late.len() >= LATE_MAX {
            self.late.pop_front();
        }
        self.late.push_back(request);
    }

    /// Notes that nobody received what it begins with, if the answer to this request is late.
    pub(super) fn owe_late_opening(&mut self, request: Option<&str>) {
        if self.is_late(request) {
            self.owe_opening();
        }
    }

    /// Notes what a prompt was answered with, unless its program went on without the answer;
    /// returns whether it did not.
    pub(super) fn note_answer(
        &mut self,
        request: Option<&str>,
        given: SeenMemories,
        with_opening: bool,
    ) -> bool {
        if self.is_late(request) {
            self.owes_opening |= with_opening;
            return false;
        }
        self.note_seen(&given);
        self.answered = request.map(|request| GivenAnswer {
            request: request.to_owned(),
            given,
            with_opening,
        });
        true
    }

    /// Notes what was said or done after a prompt.
    pub(super) fn note_said(&mut self, text: &str) {
        if self.recalled.is_some() {
            push_line(&mut self.said, text);
        }
    }

    /// Notes what a command printed after a prompt.
    pub(super) fn note_printed(&mut self, text: &str) {
        if self.recalled.is_some() {
            push_line(&mut self.printed, text);
        }
    }

    /// Notes what is in its prompts now; of too many the oldest records go first.
    pub(super) fn note_seen(&mut self, added: &SeenMemories) {
        let seen = self.seen.get_or_insert_default();
        for (seen, added) in [
            (&mut seen.whole, &added.whole),
            (&mut seen.in_part, &added.in_part),
        ] {
            seen.extend(added);
            while seen.len() > SEEN_MAX {
                seen.pop_first();
            }
        }
    }

    /// Notes that nothing is in its prompts any more.
    pub(super) fn forget_seen(&mut self) {
        self.seen = Some(SeenMemories::default());
    }

    /// Notes that its conversation is shortened now.
    pub(super) fn note_shortened(&mut self, at: DateTime<Utc>) {
        self.forget_seen();
        self.shortened = self.shortened.max(Some(at));
    }
}

/// Adds a text on a line of its own, as much as there is room for.
fn push_line(noted: &mut String, text: &str) {
    let room = SAID_BYTES_MAX.saturating_sub(noted.len());
    if room > 0 && !text.is_empty() {
        noted.push('\n');
        noted.push_str(&text[..text.floor_char_boundary(room)]);
    }
}

/// Longest pause after which a prompt counts as a correction of the answer.
const AT_ONCE: TimeDelta = TimeDelta::seconds(20);
/// Shortest pause after which a prompt counts as new work. A prompt in between says nothing.
const LATER: TimeDelta = TimeDelta::minutes(2);

/// What came after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextEvent {
    Prompt,
    End,
}

/// What that says of the answer, `pause` after it.
fn implied_quality(next: NextEvent, pause: TimeDelta) -> Option<f32> {
    match next {
        NextEvent::Prompt if pause <= AT_ONCE => Some(PUT_RIGHT),
        NextEvent::Prompt if pause < LATER => None,
        NextEvent::Prompt | NextEvent::End => Some(GOOD_ENOUGH),
    }
}

impl Memory {
    /// Returns what a session's prompts received already. Of a session that this daemon has not
    /// seen begin, its prompts say it.
    pub(super) async fn find_seen(&self, session: &str) -> Result<SeenMemories, Problem> {
        let known = self.run_on_session(session, |session| {
            session.seen.clone().ok_or(session.shortened)
        });
        let shortened = match known {
            Ok(seen) => return Ok(seen),
            Err(shortened) => shortened,
        };
        // Programs that name no session share one entry.
        let received = if session.is_empty() || !self.exists() {
            SeenMemories::default()
        } else {
            let name = session.to_owned();
            self.run_on_snapshot(move |memory| list_received(memory, &name, shortened))
                .await?
        };
        Ok(self.run_on_session(session, |session| {
            session.seen.get_or_insert(received).clone()
        }))
    }

    /// Revises the run of the last answer by what came after it.
    pub(super) async fn revise_last_answer(
        &self,
        session: &str,
        next: NextEvent,
        now: DateTime<Utc>,
    ) -> Result<(), Problem> {
        let answered = self.run_on_session(session, |session| session.unjudged.take());
        let Some((run_id, at)) = answered else {
            return Ok(());
        };
        let Some(quality) = implied_quality(next, now - at) else {
            return Ok(());
        };
        let revise = move |engine: &mut Engine| {
            engine.revise_run(&run_id, Revision::Scored, Some(quality), now)
        };
        Ok(self.run_on_engine(revise).await??)
    }
}
