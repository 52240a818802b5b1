//! What must be true of a store, seen from outside: which records are sure, possible, or gone.
//!
//! It keeps the books and judges an export.

use std::collections::{BTreeMap, BTreeSet};

/// Record numbers by what is known of them.
#[derive(Debug, Default)]
pub(crate) struct CrashLedger {
    /// Acknowledged, or seen after a reopening: must be there from now on.
    pub(crate) sure: BTreeSet<usize>,
    /// Sent and neither acknowledged nor seen yet: may be there.
    pub(crate) possible: BTreeSet<usize>,
    /// Forgotten and acknowledged so: must never be there again.
    pub(crate) gone: BTreeSet<usize>,
    /// Forgetting them was cut short: may be there, or be gone as a whole.
    pub(crate) fading: BTreeSet<usize>,
}

impl CrashLedger {
    /// Compares what a fresh process exported (external id to text, and how often) with what is
    /// known, and learns from it. Returns what is wrong.
    pub(crate) fn compare(
        &mut self,
        found: &BTreeMap<String, (usize, String)>,
        name: &dyn Fn(usize) -> String,
        text: &dyn Fn(usize) -> String,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let known = self
            .sure
            .iter()
            .chain(&self.possible)
            .chain(&self.gone)
            .chain(&self.fading);
        let names: BTreeMap<String, usize> = known.map(|&number| (name(number), number)).collect();
        let mut seen = BTreeSet::new();
        for (id, (times, exported)) in found {
            let Some(&number) = names.get(id) else {
                wrong.push(format!("{id} was never sent"));
                continue;
            };
            seen.insert(number);
            if *times != 1 {
                wrong.push(format!("{id} is there {times} times"));
            }
            if self.gone.contains(&number) {
                wrong.push(format!("{id} was forgotten and is back"));
            }
            if *exported != text(number) {
                wrong.push(format!("{id} says something else: {exported:?}"));
            }
        }
        for &number in self.sure.difference(&seen) {
            wrong.push(format!("{} was acknowledged and is lost", name(number)));
        }
        // Once a fresh process has shown a record it may not vanish; what it did not show never
        // reached the disk.
        self.gone.extend(self.fading.difference(&seen));
        self.sure
            .extend(seen.iter().filter(|number| !self.gone.contains(number)));
        self.fading.clear();
        self.possible.clear();
        wrong
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::CrashLedger;

    fn name(number: usize) -> String {
        number.to_string()
    }

    fn text(number: usize) -> String {
        format!("text {number}")
    }

    fn compare(ledger: &mut CrashLedger, found: &[(usize, usize)]) -> Vec<String> {
        let found: BTreeMap<_, _> = found
            .iter()
            .map(|&(number, times)| (name(number), (times, text(number))))
            .collect();
        ledger.compare(&found, &name, &text)
    }

    fn ledger(sure: &[usize], possible: &[usize], gone: &[usize]) -> CrashLedger {
        let set = |numbers: &[usize]| numbers.iter().copied().collect();
        CrashLedger {
            sure: set(sure),
            possible: set(possible),
            gone: set(gone),
            ..CrashLedger::default()
        }
    }

    #[test]
    fn what_may_be_is_accepted_and_learned() {
        let mut ledger = ledger(&[1], &[2, 3], &[4]);
        assert!(compare(&mut ledger, &[(1, 1), (2, 1)]).is_empty());
        assert!(ledger.sure.contains(&2), "seen once, sure from then on");
        assert_eq!(
            compare(&mut ledger, &[(1, 1)]),
            ["2 was acknowledged and is lost"]
        );
    }

    #[test]
    fn a_lost_a_doubled_a_risen_and_a_strange_record_are_noticed() {
        assert_eq!(compare(&mut ledger(&[1], &[], &[]), &[]).len(), 1);
        assert_eq!(compare(&mut ledger(&[1], &[], &[]), &[(1, 2)]).len(), 1);
        assert_eq!(compare(&mut ledger(&[], &[], &[1]), &[(1, 1)]).len(), 1);
        assert_eq!(compare(&mut ledger(&[], &[], &[]), &[(1, 1)]).len(), 1);
        let other = BTreeMap::from([(name(1), (1, "changed".to_owned()))]);
        assert_eq!(
            ledger(&[1], &[], &[]).compare(&other, &name, &text).len(),
            1
        );
    }

    #[test]
    fn a_forgetting_cut_short_may_go_either_way_once() {
        let mut ledger = ledger(&[], &[], &[]);
        ledger.fading.extend([1, 2]);
        assert!(compare(&mut ledger, &[(1, 1)]).is_empty());
        assert_eq!(compare(&mut ledger, &[(1, 1), (2, 1)]).len(), 1);
    }
}
