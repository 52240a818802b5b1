//! What is known of the sessions under way; whether what was said says something ("yes please go on
//! with that" does not); and how an answer was taken that no test judged: by the time to the next
//! prompt, and by whether the session went on.

use std::num::NonZeroUsize;

use crate::prelude::*;

/// Sessions that are remembered between their events; the one idle for longest goes first.
pub(crate) const SESSIONS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(999);

/// Memories that a session is known to have seen, and files that it is known to have edited.
pub(super) const SEEN_MAX: usize = 400;

/// Bytes of what was said and done after a prompt that are held.
pub(super) const SAID_BYTES_MAX: usize = 32 * 1024;

/// What is known of a session under way; lost with the daemon, and then taught by nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Session {
    /// The last prompt's recall.
    pub(super) recalled: Option<Asked>,
    /// What was said and done since: an answer, commands, files.
    pub(super) said: String,
    /// The run of its last answer, and when that was finished, where no test judged it: what comes
    /// next tells how it was taken.
    pub(super) unjudged: Option<(String, DateTime<Utc>)>,
    /// How the last test since then went.
    pub(super) judged: Option<bool>,
    /// What was put into its prompts: it stands there already.
    pub(super) seen: BTreeSet<RecordId>,
    /// Files edited since its agent last answered.
    pub(super) edited: BTreeSet<String>,
}

/// A prompt that was answered with memory.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) recall_id: RecallId,
    pub(super) prompt: String,
    /// What was put into it.
    pub(super) put_in: Vec<RecordId>,
}

impl Session {
    /// Begins anew with a prompt, where that was answered with memory.
    pub(super) fn prompted(&mut self, recalled: Option<Asked>) {
        (self.recalled, self.judged) = (recalled, None);
        self.said.clear();
    }

    /// Notes what was said or done after a prompt.
    pub(super) fn say(&mut self, text: &str) {
        let room = SAID_BYTES_MAX.saturating_sub(self.said.len());
        if self.recalled.is_some() && room > 0 {
            self.said.push('\n');
            self.said.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    /// Notes what stands in its prompts now; of too many the oldest records go first.
    pub(super) fn see(&mut self, records: &[RecordId]) {
        self.seen.extend(records);
        while self.seen.len() > SEEN_MAX {
            self.seen.pop_first();
        }
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

/// Whether `text` holds words of its own, or what only a file, a number or code has.
pub(super) fn says_something(text: &str) -> bool {
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
    // A language without spaces says much in one word.
    words >= WORDS_MIN || words > 0 && text.chars().filter(|c| *c > '\u{2e7f}').count() >= 4
}

/// A prompt within so long puts right what was answered,
const AT_ONCE: TimeDelta = TimeDelta::seconds(20);
/// and one after so long goes on to something else. What comes in between says nothing.
const LATER: TimeDelta = TimeDelta::minutes(2);
/// Quality of an answer that had to be put right, and of one that was good enough to go on, or to
/// end with.
const PUT_RIGHT: f32 = 0.6;
const GOOD_ENOUGH: f32 = 0.85;

/// What came after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Prompt,
    End,
}

/// What that says of the answer, `pause` after it.
fn quality(next: Next, pause: TimeDelta) -> Option<f32> {
    match next {
        Next::Prompt if pause <= AT_ONCE => Some(PUT_RIGHT),
        Next::Prompt if pause < LATER => None,
        Next::Prompt | Next::End => Some(GOOD_ENOUGH),
    }
}

impl Memory {
    /// Revises the run of the last answer by what came after it.
    pub(super) async fn taken(
        &self,
        session: &str,
        next: Next,
        now: DateTime<Utc>,
    ) -> Result<(), Problem> {
        let answered = self.session(session, |session| session.unjudged.take());
        let Some((run_id, at)) = answered else {
            return Ok(());
        };
        let Some(quality) = quality(next, now - at) else {
            return Ok(());
        };
        let revise = move |engine: &mut Engine| {
            engine.revise_run(&run_id, Revision::Scored, Some(quality), now)
        };
        Ok(self.with_engine(revise).await??)
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
        ] {
            assert!(says_something(text), "{text}");
        }
        assert!(FILLERS.iter().all(|word| word.to_lowercase() == **word));
    }
}
