//! The restart limit of a supervised child.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const RESTARTS_MAX: usize = 5;
const WINDOW: Duration = Duration::from_mins(1);
/// Time after which a child that was given up may be started again on request.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The restarts of one child, at most five within a minute.
#[derive(Debug, Default)]
pub struct RestartBudget(VecDeque<Instant>);

impl RestartBudget {
    /// Counts a restart. Returns `false` if the limit is reached: the child must not be started.
    pub fn try_restart(&mut self, now: Instant) -> bool {
        while self
            .0
            .front()
            .is_some_and(|at| now.duration_since(*at) > WINDOW)
        {
            self.0.pop_front();
        }
        if self.0.len() >= RESTARTS_MAX {
            return false;
        }
        self.0.push_back(now);
        true
    }

    /// Counts a start that somebody requested, and returns whether it is allowed. A child that was
    /// given up may be tried once a second, as what made it fail may be over by now.
    pub fn try_requested_restart(&mut self, now: Instant) -> bool {
        let since = |at: &Instant| now.duration_since(*at);
        let recent = self.0.iter().filter(|at| since(at) <= WINDOW);
        if recent.count() < RESTARTS_MAX {
            return true;
        }
        if self.0.back().is_some_and(|last| since(last) < RETRY_PAUSE) {
            return false;
        }
        self.0.pop_front();
        self.0.push_back(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_restarts_a_minute_and_then_one_try_a_second_where_somebody_asks() {
        let mut budget = RestartBudget::default();
        let start = Instant::now();
        assert!((0..RESTARTS_MAX).all(|_| budget.try_restart(start)));
        assert!(!budget.try_restart(start + WINDOW));
        let almost = RETRY_PAUSE.saturating_sub(Duration::from_millis(1));
        assert!(
            !budget.try_requested_restart(start + almost)
                && budget.try_requested_restart(start + RETRY_PAUSE)
        );
        // It fails again: it is not started by itself, and has to wait once more.
        assert!(!budget.try_restart(start + RETRY_PAUSE));
        assert!(
            !budget.try_requested_restart(start + RETRY_PAUSE + almost)
                && budget.try_requested_restart(start + 2 * RETRY_PAUSE)
        );
        let later = start + 2 * RETRY_PAUSE + WINDOW + Duration::from_millis(1);
        assert!(budget.try_requested_restart(later) && budget.try_restart(later));
    }
}
