//! Diversity: from the sixth result on, every other place goes to the best record of a session that
//! has not been heard yet.
//!
//! A question with several answers finds them in several conversations; the best five of one crowd
//! the others out. Measured on the development conversations: R@10 80.0 to 80.9 by turns and 93.0
//! to 95.0 by sessions, R@20 86.2 to 85.7.

use std::collections::BTreeSet;

/// Results that stay as they are ranked.
const FIRST: usize = 5;

/// Reorders `ranked`, best first, in place of order alone. Records without a session, and stores of
/// few sessions, stay as they are.
pub(super) fn spread<T>(ranked: Vec<T>, session: impl Fn(&T) -> Option<u32>) -> Vec<T> {
    let mut heard = BTreeSet::new();
    let (mut first, mut unheard, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for item in ranked {
        let is_new = session(&item).is_some_and(|session| heard.insert(session));
        if first.len() < FIRST {
            first.push(item);
        } else if is_new {
            unheard.push(item);
        } else {
            others.push(item);
        }
    }
    let (mut unheard, mut others) = (unheard.into_iter(), others.into_iter());
    loop {
        let pair = [unheard.next(), others.next()];
        if pair.iter().all(Option::is_none) {
            return first;
        }
        first.extend(pair.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(sessions: &[Option<u32>]) -> Vec<usize> {
        let ranked: Vec<usize> = (0..sessions.len()).collect();
        spread(ranked, |at| sessions[*at])
    }

    #[test]
    fn the_first_five_stay_and_new_sessions_take_every_other_place() {
        let sessions = [1, 1, 1, 1, 1, 1, 1, 2, 1, 2, 3].map(Some);
        assert_eq!(order(&sessions), [0, 1, 2, 3, 4, 7, 5, 10, 6, 8, 9]);
    }

    #[test]
    fn nothing_changes_without_other_sessions() {
        assert_eq!(order(&[None; 8]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(&[Some(4); 7]), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(order(&[]), [0; 0]);
        assert_eq!(order(&[Some(1), Some(2)]), [0, 1]);
    }
}
