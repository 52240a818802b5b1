//! Slots of one kind, limited so that no caller holds those that the others need.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use reprise_operations::{Problem, ProblemKind};
use reprise_types::lock;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallerId {
    /// A process of the daemon's own user, over the socket.
    Machine,
    /// A client with the token of this name, over TCP.
    Token(String),
}

/// Hands out slots: some for this machine's own processes, as many for all tokens together, and a
/// quarter of those for any one token.
#[derive(Debug)]
pub(crate) struct SlotQuota {
    slots_per_side: usize,
    used: Mutex<SlotCounts>,
}

#[derive(Debug, Default)]
struct SlotCounts {
    machine: usize,
    tokens: usize,
    by_token: BTreeMap<String, usize>,
}

/// A slot, which is released when it is dropped.
#[derive(Debug)]
pub(crate) struct QuotaSlot {
    quota: Arc<SlotQuota>,
    caller: CallerId,
}

impl SlotQuota {
    /// Returns a quota of this many slots for each side.
    pub(crate) fn new(slots_per_side: usize) -> Arc<Self> {
        Arc::new(Self {
            slots_per_side,
            used: Mutex::default(),
        })
    }

    /// Takes a slot, if this caller may have one more.
    fn try_acquire(self: &Arc<Self>, caller: &CallerId) -> Option<QuotaSlot> {
        let mut used = lock(&self.used);
        match caller {
            CallerId::Machine if used.machine < self.slots_per_side => used.machine += 1,
            CallerId::Token(name) if used.tokens < self.slots_per_side => {
                let token_slots = used.by_token.entry(name.clone()).or_default();
                if *token_slots >= (self.slots_per_side / 4).max(1) {
                    return None;
                }
                *token_slots += 1;
                used.tokens += 1;
            }
            _ => return None,
        }
        drop(used);
        Some(QuotaSlot {
            quota: Arc::clone(self),
            caller: caller.clone(),
        })
    }

    /// Takes a slot, or fails with the message `full`.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        caller: &CallerId,
        full: &str,
    ) -> Result<QuotaSlot, Problem> {
        let refused = || Problem::new(ProblemKind::Overloaded, full);
        self.try_acquire(caller).ok_or_else(refused)
    }

    /// Returns the free slots of this machine's side and of the tokens' side.
    pub(crate) fn free_slots(&self) -> [usize; 2] {
        let used = lock(&self.used);
        [used.machine, used.tokens].map(|used| self.slots_per_side - used)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.free_slots() == [self.slots_per_side; 2]
    }
}

impl Drop for QuotaSlot {
    fn drop(&mut self) {
        let mut used = lock(&self.quota.used);
        match &self.caller {
            CallerId::Machine => used.machine -= 1,
            CallerId::Token(name) => {
                used.tokens -= 1;
                if let Some(token_slots) = used.by_token.get_mut(name) {
                    *token_slots -= 1;
                    if *token_slots == 0 {
                        used.by_token.remove(name);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_takes_what_others_need_and_none_takes_the_machines() {
        let places = SlotQuota::new(8);
        let token = |name: &str| CallerId::Token(name.to_owned());
        let mut token_slots: Vec<QuotaSlot> = Vec::new();
        for (name, most) in [("a", 2), ("b", 2), ("c", 2), ("d", 2), ("e", 0)] {
            let got: Vec<QuotaSlot> = (0..9)
                .filter_map(|_| places.try_acquire(&token(name)))
                .collect();
            assert_eq!(got.len(), most, "{name}");
            token_slots.extend(got);
        }
        assert_eq!(places.free_slots(), [8, 0]);
        token_slots.extend((0..9).filter_map(|_| places.try_acquire(&CallerId::Machine)));
        assert_eq!((token_slots.len(), places.free_slots()), (16, [0, 0]));
        token_slots.remove(0);
        assert!(places.try_acquire(&token("e")).is_some() && !places.is_idle());
        token_slots.clear();
        assert!(places.is_idle());
    }
}
