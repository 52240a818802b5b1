//! The restart limit of a supervised child.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const RESTARTS_MAX: usize = 5;
const WINDOW: Duration = Duration::from_mins(1);

/// The restarts of one child, at most five within a minute.
#[derive(Debug, Default)]
pub struct RestartBudget(VecDeque<Instant>);

impl RestartBudget {
    /// Whether a restart now would exceed the limit.
    #[must_use]
    pub fn is_spent(&self, now: Instant) -> bool {
        let recent = self
            .0
            .iter()
            .filter(|at| now.duration_since(**at) <= WINDOW);
        recent.count() >= RESTARTS_MAX
    }

    /// Counts a restart; `false` where the limit is reached.
    pub fn take(&mut self, now: Instant) -> bool {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_restarts_a_minute_and_no_more() {
        let mut budget = RestartBudget::default();
        let start = Instant::now();
        assert!((0..RESTARTS_MAX).all(|_| budget.take(start)));
        assert!(budget.is_spent(start + WINDOW));
        assert!(!budget.take(start + WINDOW));
        assert!(!budget.is_spent(start + WINDOW + Duration::from_millis(1)));
        assert!(budget.take(start + WINDOW + Duration::from_millis(1)));
    }
}
