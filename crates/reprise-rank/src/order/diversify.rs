//! Diversity: from the sixth result on, a record gives way to other kinds the more often its own
//! kind came before, and then every other position goes to the best record of a session that did
//! not come before.
//!
//! A question with several answers finds them in several conversations; the best five of one crowd
//! the others out. Measured on the development conversations: R@10 80.0 to 80.9 by turns and 93.0
//! to 95.0 by sessions, R@20 86.2 to 85.7.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Results that stay as they are ranked.
const FIRST: usize = 5;
/// Logit by which a record gives way for each one of its kind before it. In a memory of a terminal,
/// a chat, notes and commits R@10 of these, in that order, goes from 69.0, 78.3, 72.1 and 80.8 to
/// 70.0, 77.7, 72.1 and 80.8.
const GIVES_WAY: f32 = 0.2;

/// Reorders `ranked`, best first, by how often a kind came before; within one kind nothing changes.
pub(super) fn mix_kinds<T>(
    ranked: Vec<T>,
    kind: impl Fn(&T) -> u32,
    logit: impl Fn(&T) -> f32,
) -> Vec<T> {
    let mut seen: BTreeMap<u32, f32> = BTreeMap::new();
    let mut waiting: BTreeMap<u32, VecDeque<T>> = BTreeMap::new();
    let mut out = Vec::with_capacity(ranked.len());
    for item in ranked {
        let kind = kind(&item);
        if out.len() < FIRST {
            *seen.entry(kind).or_default() += 1.0;
            out.push(item);
        } else {
            waiting.entry(kind).or_default().push_back(item);
        }
    }
    loop {
        let next = waiting.iter().filter_map(|(kind, items)| {
            let before = seen.get(kind).copied().unwrap_or_default();
            Some((*kind, logit(items.front()?) - GIVES_WAY * before))
        });
        let Some((kind, _)) = next.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            return out;
        };
        *seen.entry(kind).or_default() += 1.0;
        out.extend(waiting.get_mut(&kind).and_then(VecDeque::pop_front));
    }
}

/// Reorders `ranked`, best first, by position only. Records without a session, and stores of few
/// sessions, stay as they are.
pub(super) fn spread_sessions<T>(ranked: Vec<T>, session: impl Fn(&T) -> Option<u32>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    let (mut first, mut unseen, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for item in ranked {
        let is_new = session(&item).is_some_and(|session| seen.insert(session));
        if first.len() < FIRST {
            first.push(item);
        } else if is_new {
            unseen.push(item);
        } else {
            others.push(item);
        }
    }
    let (mut unseen, mut others) = (unseen.into_iter(), others.into_iter());
    loop {
        let pair = [unseen.next(), others.next()];
        if pair.iter().all(Option::is_none) {
            return first;
        }
        first.extend(pair.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_order(sessions: &[Option<u32>]) -> Vec<usize> {
        let ranked: Vec<usize> = (0..sessions.len()).collect();
        spread_sessions(ranked, |at| sessions[*at])
    }

    #[test]
    fn the_first_five_stay_and_new_sessions_take_every_other_place() {
        let sessions = [1, 1, 1, 1, 1, 1, 1, 2, 1, 2, 3].map(Some);
        assert_eq!(spread_order(&sessions), [0, 1, 2, 3, 4, 7, 5, 10, 6, 8, 9]);
    }

    #[test]
    fn a_kind_that_was_heard_gives_way_from_the_sixth_place_on() {
        let order = |logits: &[f32], kinds: &[u32]| -> Vec<usize> {
            let ranked: Vec<usize> = (0..kinds.len()).collect();
            mix_kinds(ranked, |at| kinds[*at], |at| logits[*at])
        };
        let logits = [2.0, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4, 1.0, 0.8, 0.6];
        // Five of the first kind are worth a logit; a record that is behind by more stays behind.
        let kinds = [1, 1, 1, 1, 1, 1, 1, 2, 2, 1];
        assert_eq!(order(&logits, &kinds), [0, 1, 2, 3, 4, 7, 8, 5, 6, 9]);
        let far = [2.0, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4, -1.0, -2.0, -3.0];
        assert_eq!(order(&far, &kinds), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(order(&logits, &[3; 10]), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(order(&logits, &[1, 2, 1]), [0, 1, 2]);
        assert_eq!(order(&[], &[]), [0; 0]);
    }

    #[test]
    fn nothing_changes_without_other_sessions() {
        assert_eq!(spread_order(&[None; 8]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(spread_order(&[Some(4); 7]), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(spread_order(&[]), [0; 0]);
        assert_eq!(spread_order(&[Some(1), Some(2)]), [0, 1]);
    }
}
