//! Places of one kind, shared out so that no asker holds those that the others need.
//!
//! Counting.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use reprise_operations::{Problem, ProblemKind};
use reprise_types::lock;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A process of the daemon's own user, over the socket.
    Machine,
    /// Whoever has the token of this name, over TCP.
    Token(String),
}

/// The places: some for the machine's own processes, as many for all tokens together, and of those
/// a quarter for any one.
#[derive(Debug)]
pub(crate) struct Shares {
    each_side: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    machine: usize,
    tokens: usize,
    by_token: BTreeMap<String, usize>,
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    of: Arc<Shares>,
    asker: Asker,
}

impl Shares {
    /// So many places for each side.
    pub(crate) fn new(each_side: usize) -> Arc<Self> {
        Arc::new(Self {
            each_side,
            taken: Mutex::default(),
        })
    }

    /// A place, where this asker may have one more.
    fn take(self: &Arc<Self>, asker: &Asker) -> Option<Share> {
        let mut taken = lock(&self.taken);
        match asker {
            Asker::Machine if taken.machine < self.each_side => taken.machine += 1,
            Asker::Token(name) if taken.tokens < self.each_side => {
                let held = taken.by_token.entry(name.clone()).or_default();
                if *held >= (self.each_side / 4).max(1) {
                    return None;
                }
                *held += 1;
                taken.tokens += 1;
            }
            _ => return None,
        }
        drop(taken);
        Some(Share {
            of: Arc::clone(self),
            asker: asker.clone(),
        })
    }

    /// The same; `full` says that there is none.
    pub(crate) fn place(self: &Arc<Self>, asker: &Asker, full: &str) -> Result<Share, Problem> {
        let refused = || Problem::new(ProblemKind::Overloaded, full);
        self.take(asker).ok_or_else(refused)
    }

    /// The free places: of the machine's side, and of the tokens'.
    pub(crate) fn free(&self) -> [usize; 2] {
        let taken = lock(&self.taken);
        [taken.machine, taken.tokens].map(|taken| self.each_side - taken)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.free() == [self.each_side; 2]
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = lock(&self.of.taken);
        match &self.asker {
            Asker::Machine => taken.machine -= 1,
            Asker::Token(name) => {
                taken.tokens -= 1;
                if let Some(held) = taken.by_token.get_mut(name) {
                    *held -= 1;
                    if *held == 0 {
                        taken.by_token.remove(name);
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
        let places = Shares::new(8);
        let token = |name: &str| Asker::Token(name.to_owned());
        let mut held: Vec<Share> = Vec::new();
        for (name, most) in [("a", 2), ("b", 2), ("c", 2), ("d", 2), ("e", 0)] {
            let got: Vec<Share> = (0..9).filter_map(|_| places.take(&token(name))).collect();
            assert_eq!(got.len(), most, "{name}");
            held.extend(got);
        }
        assert_eq!(places.free(), [8, 0]);
        held.extend((0..9).filter_map(|_| places.take(&Asker::Machine)));
        assert_eq!((held.len(), places.free()), (16, [0, 0]));
        held.remove(0);
        assert!(places.take(&token("e")).is_some() && !places.is_idle());
        held.clear();
        assert!(places.is_idle());
    }
}
