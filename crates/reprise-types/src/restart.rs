//! The restart limit of a supervised child.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const RESTARTS_MAX: usize = 5;
const WINDOW: Duration = Duration::from_mins(1);
/// A child that was given up is tried again after so long, where somebody asks for it.
const REST: Duration = Duration::from_secs(1);

/// The restarts of one child, at most five within a minute.
#[derive(Debug, Default)]
pub struct RestartBudget(VecDeque<Instant>);

impl RestartBudget {
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

    /// Whether one that is asked for may be started now: where it was given up, what made it fail
    /// may be over by now, and it is tried once in a while.
    pub fn try_again(&mut self, now: Instant) -> bool {
        let since = |at: &Instant| now.duration_since(*at);
        let recent = self.0.iter().filter(|at| since(at) <= WINDOW);
        if recent.count() < RESTARTS_MAX {
            return true;
        }
        if self.0.back().is_some_and(|last| since(last) < REST) {
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
        assert!((0..RESTARTS_MAX).all(|_| budget.take(start)));
        assert!(!budget.take(start + WINDOW));
        let almost = REST.saturating_sub(Duration::from_millis(1));
        assert!(!budget.try_again(start + almost) && budget.try_again(start + REST));
        // It fails again: it is not started by itself, and rests once more.
        assert!(!budget.take(start + REST));
        assert!(!budget.try_again(start + REST + almost) && budget.try_again(start + 2 * REST));
        let later = start + 2 * REST + WINDOW + Duration::from_millis(1);
        assert!(budget.try_again(later) && budget.take(later));
    }
}
