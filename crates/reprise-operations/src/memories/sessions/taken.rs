//! How an answer was taken that no test judged: by the time to the next prompt, and by whether the
//! session went on.

use reprise_types::Revision;

use super::notes::Session;
use crate::prelude::*;

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
    /// Notes that a run's answer was finished and that no test judged it.
    pub(super) fn unjudged(&self, key: (UserId, String), run_id: String, at: DateTime<Utc>) {
        let unjudged = Some((run_id, at));
        self.all
            .sessions
            .change(key, |session| session.unjudged = unjudged);
    }

    /// Revises the run of the last answer by what came after it.
    pub(super) async fn taken(
        &self,
        key: (UserId, String),
        next: Next,
        now: DateTime<Utc>,
    ) -> Result<(), Problem> {
        let take = |session: &mut Session| session.unjudged.take();
        let answered: Option<(String, DateTime<Utc>)> = self.all.sessions.change(key, take);
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
