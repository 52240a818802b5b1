//! What is known of the sessions under way; whether what was said says something ("yes please go on
//! with that" does not); and how an answer was taken that no test judged: by the time to the next
//! prompt, and by whether the session went on.

use std::num::NonZeroUsize;

use super::kept_prompts::list_received;
use crate::operations::sessions::HookAnswer;
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
    /// The run of its last answer, and when that was finished, where no test judged it: what comes
    /// next tells how it was taken.
    pub(super) unjudged: Option<(String, DateTime<Utc>)>,
    /// How the last test since then went.
    pub(super) judged: Option<bool>,
    /// What was put into its prompts already; `None` until that was read from its prompts.
    pub(super) seen: Option<SeenMemories>,
    /// When its conversation was shortened last: what came before may not be in it any more.
    pub(super) shortened: Option<DateTime<Utc>>,
    /// Files edited since its agent last answered.
    pub(super) edited: BTreeSet<String>,
}

/// What a conversation has of memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenMemories {
    /// All that they say is in it.
    pub(crate) whole: BTreeSet<RecordId>,
    /// A sentence of each is in it: a prompt may still need the rest.
    pub(crate) in_part: BTreeSet<RecordId>,
}

impl SeenMemories {
    /// Returns whether anything of a memory is in the conversation.
    pub(super) fn contains(&self, id: &RecordId) -> bool {
        self.whole.contains(id) || self.in_part.contains(id)
    }

    /// Counts the memories of which anything is in it.
    pub(super) fn count(&self) -> usize {
        self.whole.union(&self.in_part).count()
    }
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
    }

    /// Notes that nobody received what it begins with; its prompts say what it has.
    pub(super) fn owe_opening(&mut self) {
        (self.frozen, self.opening, self.seen) = (None, None, None);
        self.owes_opening = true;
    }

    /// Notes what was said or done after a prompt.
    pub(super) fn note_said(&mut self, text: &str) {
        let room = SAID_BYTES_MAX.saturating_sub(self.said.len());
        if self.recalled.is_some() && room > 0 {
            self.said.push('\n');
            self.said.push_str(&text[..text.floor_char_boundary(room)]);
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

/// Words that ask for more of the same, agree, or are there for grammar alone.
const FILLERS: &[&str] = &[
    "a", "again", "agree", "agreed", "ahead", "all", "alright", "also", "an", "and", "any",
    "anyway", "are", "as", "at", "awesome", "be", "but", "by", "can", "carry", "come", "continue",
    "cool", "correct", "could", "course", "did", "do", "does", "doing", "done", "else", "exactly",
    "fine", "first", "for", "from", "get", "give", "go", "going", "good", "got", "great", "have",
    "help", "hello", "hey", "hi", "how", "i", "if", "in", "is", "it", "its", "just", "keep",
    "kindly", "let", "lets", "lgtm", "like", "look", "looks", "make", "maybe", "me", "mhm", "more",
    "my", "next", "nice", "no", "nope", "not", "now", "of", "ok", "okay", "on", "one", "or",
    "perfect", "perhaps", "please", "plan", "proceed", "really", "resume", "right", "same", "see",
    "should", "so", "sounds", "step", "sure", "thank", "thanks", "that", "the", "them", "then",
    "there", "these", "they", "thing", "think", "this", "those", "to", "too", "try", "up", "us",
    "very", "wait", "want", "was", "way", "we", "well", "what", "will", "with", "work", "works",
    "would", "yeah", "yep", "yes", "you",
];
/// Other words that it takes to say something.
const WORDS_MIN: usize = 2;
/// Letters that it takes where no spaces part the words.
const UNSPACED_MIN: usize = 12;

/// Whether `text` holds words of its own, or what only a file, a number or code has.
pub(crate) fn says_something(text: &str) -> bool {
    let named = |word: &str| {
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
        inner.len() > 2
            && inner
                .contains(|c: char| matches!(c, '_' | '/' | '.' | ':' | '#') || c.is_ascii_digit())
    };
    let mut words = 0;
    for word in text.split_whitespace() {
        let plain: String = word.chars().filter(|c| c.is_alphanumeric()).collect();
        if named(word) {
            return true;
        }
        if !plain.is_empty() && !FILLERS.contains(&plain.to_lowercase().as_str()) {
            words += 1;
        }
    }
    // A language without spaces says much in one word: an ideograph as much as three letters.
    let unspaced = text.chars().map(|c| match c {
        '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => 1,
        c if c > '\u{2e7f}' => 3,
        _ => 0,
    });
    words >= WORDS_MIN || words > 0 && unspaced.sum::<usize>() >= UNSPACED_MIN
}

/// Longest pause after which a prompt counts as a correction of the answer.
const AT_ONCE: TimeDelta = TimeDelta::seconds(20);
/// Shortest pause after which a prompt counts as new work. A prompt in between says nothing.
const LATER: TimeDelta = TimeDelta::minutes(2);
/// Quality of an answer that had to be put right, and of one that was good enough to go on, or to
/// end with.
const PUT_RIGHT: f32 = 0.6;
const GOOD_ENOUGH: f32 = 0.85;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_more_of_the_same_says_nothing() {
        for text in [
            "yes please go on with that",
            "OK, that looks good. Continue!",
            "sounds good, let's do it that way please",
            "thanks, now try it again please",
            "",
        ] {
            assert!(!says_something(text), "{text}");
        }
        for text in [
            "fix the login test",
            "yes, but keep the old parser",
            "go on with src/login.rs",
            "now do the same for #412",
            "\u{4fee}\u{6b63}\u{767b}\u{5f55}\u{6d4b}\u{8bd5}",
            // "Do not change the database", in Thai.
            "\u{e2b}\u{e49}\u{e32}\u{e21}\u{e41}\u{e01}\u{e49}\u{e10}\u{e32}\u{e19}\u{e02}\u{e49}\u{e2d}\u{e21}\u{e39}\u{e25}",
        ] {
            assert!(says_something(text), "{text}");
        }
        assert!(FILLERS.iter().all(|word| word.to_lowercase() == **word));
    }
}
