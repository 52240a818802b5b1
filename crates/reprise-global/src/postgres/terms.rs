//! A question's terms, and what each weighs on the open shelves.

use reprise_engine::{Spread, TextTerm, TextTerms, term_score, term_share, term_weight};

use super::sample::SMALL;

/// Terms of a question that are looked up: its rarest.
pub(super) const TERMS_MAX: usize = 32;
/// A word that more than one in so many things hold is left out where there are others.
const COMMON_SHARE: u32 = 8;

/// A question's term with what it weighs here.
#[derive(Debug)]
pub(super) struct Term<'a> {
    pub(super) text: &'a TextTerm,
    pub(super) holding: u32,
    /// 0 for one that is left out.
    pub(super) weight: f32,
    pub(super) share: f32,
}

/// Terms as a statement has them.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) tokens: Vec<i64>,
    pub(super) weights: Vec<f32>,
    pub(super) shares: Vec<f32>,
}

impl Parts {
    pub(super) fn of(terms: &[&Term<'_>]) -> Self {
        Self {
            tokens: terms.iter().map(|term| term.text.number).collect(),
            weights: terms.iter().map(|term| term.weight).collect(),
            shares: terms.iter().map(|term| term.share).collect(),
        }
    }
}

/// What each term weighs: a word that most hold says nothing where there are others.
pub(super) fn weighed<'a>(terms: &'a TextTerms, holding: &[u32], things: u32) -> Vec<Term<'a>> {
    let most = if things <= SMALL {
        u32::MAX
    } else {
        things / COMMON_SHARE
    };
    let some_are_rare = holding.iter().any(|count| *count <= most);
    let mut all: Vec<Term<'_>> = terms
        .terms
        .iter()
        .zip(holding)
        .map(|(term, holding)| {
            let is_common = some_are_rare && *holding > most;
            Term {
                text: term,
                holding: *holding,
                weight: if is_common {
                    0.0
                } else {
                    term_weight(things, *holding)
                },
                share: if is_common {
                    0.0
                } else {
                    term_share(things, *holding)
                },
            }
        })
        .collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all.truncate(TERMS_MAX);
    all
}

/// How the words' scores spread over all things, as if each word fell by itself: most hold none.
pub(super) fn words_spread(terms: &[Term<'_>], things: u32, head: f32) -> Spread {
    let (mut mean, mut variance) = (0.0_f32, 0.0_f32);
    for term in terms {
        let share = term.holding as f32 / things.max(1) as f32;
        let once = term_score(term.weight, 1.0, head as u16, head);
        mean += share * once;
        variance += share * (1.0 - share).max(0.0) * once * once;
    }
    Spread {
        mean,
        deviation: variance.sqrt(),
        count: things,
    }
}
