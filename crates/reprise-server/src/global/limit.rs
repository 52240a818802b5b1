//! How many questions are let in at once: so many as are answered while their callers still wait.
//! And how many requests a user and an organisation may make in a minute.
//!
//! An answer that took a large part of its caller's time lowers the number at once, by a share;
//! each quick one raises it a little. A question that would probably be late is refused before the
//! store is asked, so that no work is for a caller who has left.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reprise_global::Caller;
use reprise_operations::{Problem, ProblemKind};
use reprise_types::lock;

use crate::http::Refusal;
use crate::rates::KeyedRates;

/// For how long a caller waits who does not say.
const PATIENCE: Duration = Duration::from_secs(4);
/// A caller who waits for less than this says nothing of how many are too many.
const PATIENCE_MIN: Duration = Duration::from_secs(1);
/// An answer that takes more than this part of its caller's time says that too many are let in.
const SLOW_PART: u32 = 3;
/// What is left of the number of questions after a slow answer.
const LOWERED: f64 = 0.7;
/// What as many quick answers as there are questions at once add to the number.
const RAISED: f64 = 0.5;
/// The number is lowered once in this time: all that ran then were slow for the same reason.
const LOWERED_ONCE_IN: Duration = Duration::from_millis(200);
/// What the newest answer counts for in how long answers take, of so many parts.
const NEWEST: f64 = 8.0;
/// An answer is expected to take no more than the mean and so many mean deviations.
const DEVIATIONS: f64 = 3.0;

/// Counts the questions that are being answered. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct QuestionLimit(Arc<Mutex<LimitState>>);

#[derive(Debug)]
struct LimitState {
    /// Questions at once that are let in now, and at most.
    limit: f64,
    most: f64,
    running: usize,
    lowered: Option<Instant>,
    /// Mean and mean deviation of how long answers lately took, in seconds.
    took: Option<(f64, f64)>,
}

/// A question that was let in. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct AdmittedQuestion {
    limit: QuestionLimit,
    patience: Duration,
    began: Instant,
    is_answered: bool,
}

impl QuestionLimit {
    /// Begins with as many as may run.
    pub(super) fn new(most: usize) -> Self {
        let most = most.max(1) as f64;
        Self(Arc::new(Mutex::new(LimitState {
            limit: most,
            most,
            running: 0,
            lowered: None,
            took: None,
        })))
    }

    /// Returns how many questions at once are let in now.
    pub(super) fn limit_now(&self) -> u64 {
        lock(&self.0).limit as u64
    }

    /// Returns whether one more question would be let in now.
    pub(super) fn has_room(&self, patience: Option<Duration>) -> bool {
        lock(&self.0).admits(patience.unwrap_or(PATIENCE))
    }

    /// Lets a question in if it will probably be answered while its caller waits.
    pub(super) fn admit(
        &self,
        patience: Option<Duration>,
        now: Instant,
    ) -> Option<AdmittedQuestion> {
        let patience = patience.unwrap_or(PATIENCE);
        let mut state = lock(&self.0);
        if !state.admits(patience) {
            return None;
        }
        state.running += 1;
        Some(AdmittedQuestion {
            limit: self.clone(),
            patience,
            began: now,
            is_answered: false,
        })
    }
}

impl LimitState {
    /// Returns whether one more question fits; one alone always does, so that it is known how long
    /// answers take.
    fn admits(&self, patience: Duration) -> bool {
        if self.running == 0 {
            return true;
        }
        let expected = self.took.map_or(0.0, |(mean, off)| mean + DEVIATIONS * off);
        self.running < self.limit as usize && expected <= patience.as_secs_f64()
    }

    fn note_end(&mut self, took: Duration, patience: Duration, is_answered: bool, now: Instant) {
        // What nobody asks for says nothing of how many more there could be.
        let running = self.running as f64;
        let is_used = running * 2.0 >= self.limit;
        self.running = self.running.saturating_sub(1);
        let patience = patience.max(PATIENCE_MIN);
        let is_slow = took > patience / SLOW_PART;
        if is_answered || is_slow {
            let seconds = took.as_secs_f64();
            let (mean, off) = self.took.unwrap_or((seconds, seconds / 2.0));
            self.took = Some((
                mean + (seconds - mean) / NEWEST,
                off + ((seconds - mean).abs() - off) / NEWEST,
            ));
        }
        let is_old = |at: Instant| now.saturating_duration_since(at) >= LOWERED_ONCE_IN;
        if is_slow {
            if self.lowered.is_none_or(is_old) {
                // So many would have been quick, if each takes as much longer as there are more.
                let quick = running * (patience / SLOW_PART).as_secs_f64() / took.as_secs_f64();
                self.limit = (self.limit * LOWERED).min(quick).max(1.0);
                self.lowered = Some(now);
            }
        } else if is_answered && is_used {
            self.limit = (self.limit + RAISED / self.limit).min(self.most);
        }
    }
}

impl AdmittedQuestion {
    /// Says that its caller got an answer.
    pub(super) fn mark_answered(&mut self) {
        self.is_answered = true;
    }
}

impl Drop for AdmittedQuestion {
    fn drop(&mut self) {
        let now = Instant::now();
        let took = now.saturating_duration_since(self.began);
        let mut state = lock(&self.limit.0);
        state.note_end(took, self.patience, self.is_answered, now);
    }
}

/// Requests a minute of each user and of each organisation, over all of their tokens.
#[derive(Debug, Default)]
pub(super) struct MinuteQuotas {
    user: Option<KeyedRates<String>>,
    org: Option<KeyedRates<String>>,
}

impl MinuteQuotas {
    pub(super) fn new(user: Option<NonZeroU32>, org: Option<NonZeroU32>) -> Self {
        let limiter = |limit| KeyedRates::new(limit, 60, limit);
        Self {
            user: user.map(limiter),
            org: org.map(limiter),
        }
    }

    /// Takes one of each; the refusal says in how many seconds there is another.
    pub(super) fn take(&self, caller: &Caller) -> Result<(), Refusal> {
        let user = Some(("user", caller.user.to_string()));
        let org = caller
            .org
            .as_ref()
            .map(|org| ("organisation", org.to_string()));
        for (limits, holder) in [(&self.user, user), (&self.org, org)] {
            let Some((limits, (what, name))) = limits.as_ref().zip(holder) else {
                continue;
            };
            if let Err(wait) = limits.take(name.clone()) {
                let seconds = wait.as_secs() + 1;
                let said = format!(
                    "{what} `{name}` asks more often than its quota of requests a minute; ask again \
                     in {seconds} s"
                );
                let problem = Problem::new(ProblemKind::Overloaded, said);
                return Err(Refusal::from(problem).after(seconds));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::mem::ManuallyDrop;

    use super::*;

    #[test]
    fn a_quota_is_of_a_user_and_of_an_organisation_over_all_tokens() {
        let of = |user: &str, org: Option<&str>| Caller {
            org: org.map(|org| org.parse().unwrap()),
            ..Caller::new(user.parse().unwrap())
        };
        let minutes = MinuteQuotas::new(NonZeroU32::new(2), NonZeroU32::new(3));
        let (ann, bob) = (of("ann", Some("acme")), of("bob", Some("acme")));
        assert!(minutes.take(&ann).is_ok() && minutes.take(&ann).is_ok());
        assert!(minutes.take(&ann).is_err(), "ann's own");
        assert!(minutes.take(&bob).is_ok());
        assert!(minutes.take(&bob).is_err(), "that of acme");
        assert!(minutes.take(&of("cid", None)).is_ok());
        let free = MinuteQuotas::default();
        assert!((0..100).all(|_| free.take(&ann).is_ok()));
    }

    const SECOND: Duration = Duration::from_secs(1);

    /// Ends a question after some time, as one that was answered if that was within its patience.
    fn end_after(question: AdmittedQuestion, took: Duration) {
        // Its own end would say how long the test took.
        let question = ManuallyDrop::new(question);
        let (now, is_answered) = (question.began + took, took <= question.patience);
        let mut state = lock(&question.limit.0);
        state.note_end(took, question.patience, is_answered, now);
    }

    /// A machine that does the work of two questions at a time: each takes as much longer as there
    /// are more. Returns how many were answered and how many were late, of many more than that.
    fn flood(limit: &QuestionLimit, now: &mut Instant, rounds: u32) -> (u32, u32) {
        let (mut answered, mut late) = (0, 0);
        for _ in 0..rounds {
            let asked = (0..40).filter_map(|_| limit.admit(Some(2 * SECOND), *now));
            let running: Vec<AdmittedQuestion> = asked.collect();
            let took = SECOND.mul_f64(0.2 * (running.len() as f64 / 2.0).max(1.0));
            *now += took;
            for question in running {
                let is_late = took > question.patience;
                end_after(question, took);
                late += u32::from(is_late);
                answered += u32::from(!is_late);
            }
        }
        (answered, late)
    }

    #[test]
    fn so_many_are_let_in_as_are_answered_while_their_callers_wait() {
        let limit = QuestionLimit::new(64);
        let mut now = Instant::now();
        flood(&limit, &mut now, 20);
        let (answered, late) = flood(&limit, &mut now, 200);
        assert_eq!(late, 0, "{answered} were answered");
        assert!(answered >= 2 * 200, "{answered}: the machine is used");
        let few = limit.limit_now();
        assert!((2..=12).contains(&few), "{few}");
    }

    #[test]
    fn whose_caller_waits_too_short_is_refused_unless_it_is_alone() {
        let limit = QuestionLimit::new(8);
        for _ in 0..20 {
            let question = limit.admit(None, Instant::now()).unwrap();
            end_after(question, SECOND);
        }
        let hurried = Some(SECOND / 10);
        let alone = limit.admit(hurried, Instant::now());
        assert!(alone.is_some(), "one alone says how long answers take");
        assert!(limit.admit(hurried, Instant::now()).is_none());
        assert!(!limit.has_room(hurried) && limit.has_room(None));
        assert!(limit.admit(None, Instant::now()).is_some());
    }

    #[test]
    fn a_caller_who_does_not_wait_closes_it_for_nobody() {
        let limit = QuestionLimit::new(8);
        let mut now = Instant::now();
        for _ in 0..20 {
            now += SECOND;
            let question = limit.admit(Some(Duration::ZERO), now).unwrap();
            end_after(question, SECOND / 100);
        }
        assert_eq!(limit.limit_now(), 8);
    }

    #[test]
    fn a_caller_who_leaves_soon_says_nothing_and_quick_answers_open_it_again() {
        let limit = QuestionLimit::new(8);
        drop(limit.admit(None, Instant::now()));
        assert_eq!(limit.limit_now(), 8);
        let mut now = Instant::now();
        for _ in 0..20 {
            now += SECOND;
            let question = limit.admit(None, now).unwrap();
            end_after(question, 3 * SECOND);
        }
        assert_eq!(limit.limit_now(), 1);
        for _ in 0..100 {
            let asked: Vec<_> = (0..8).filter_map(|_| limit.admit(None, now)).collect();
            for question in asked {
                end_after(question, SECOND / 100);
            }
        }
        assert_eq!(limit.limit_now(), 8);
    }
}
