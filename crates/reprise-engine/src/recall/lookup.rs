//! Look-ups: what a question names letter by letter (an identifier, a name of the metadata, a
//! phrase in quotes), and which records have it. They come first where a question is after that,
//! whatever the ranking thinks, and are preferred where it is a detail.
//!
//! A mechanism of its own beside the fusion: no refit moves it.

mod reader;

use std::collections::HashSet;
use std::sync::LazyLock;

use reprise_types::{MatchedIdentifier, MemoryRecord};

use super::fuse::Scored;
use crate::identifiers::{each, plain};
use crate::names::{self, name, pair, walk};

/// Records that are brought in, the newest first, where more have what is sought.
const HOLDERS_MAX: usize = 256;
/// Share of a record that names what another one is called.
const MENTION: f32 = 0.9;
/// Share from which on a record has what the question asks for, and nothing else is asked.
const WHOLE_SHARE: f32 = 0.85;
/// Logit that such a record has at least: nine in ten.
const CERTAIN: f32 = 2.2;
/// How far the worst record of one share lies above the best of the next, as a logit.
const STEP: f32 = 0.01;
/// Logit of having all that is named where something else is asked too. On the development commits
/// 1 and 2 are within .4 of each other in R@5 and R@10, and 1 is better calibrated; to put them
/// first costs 1.6 of R@10 on one store.
const ALL_OF_IT: f32 = 1.0;

#[expect(
    clippy::struct_excessive_bools,
    reason = "independent answers about one question"
)]
#[derive(Debug, Default)]
pub(super) struct Lookup {
    sought: Vec<Sought>,
    /// It asks for nothing else.
    whole: bool,
    /// It asks for little else: who has what is named comes first.
    first: bool,
    /// It names what no word of a language looks like, and asks for little else.
    strong: bool,
    /// It asks for all of a time, and for nothing else: the oldest comes first.
    of_a_time: bool,
    /// It asks for nothing else, and no record has it.
    pub(super) in_vain: bool,
    /// What its reader should know.
    pub(super) notes: Vec<String>,
    /// What each record that has some of it was given: its share, and logit.
    lifts: Vec<(u32, f32, f32)>,
}

/// One thing that is named, and who has it.
#[derive(Debug, Default)]
struct Sought {
    /// As the question writes it.
    surface: String,
    /// The terms that it was found by; one that stands in quotes has none.
    terms: Vec<String>,
    phrase: Option<String>,
    /// No word of a language looks so, or the question says that it is by this one.
    is_certain: bool,
    /// Where every holder has it, where that is known.
    field: Option<&'static str>,
    /// Shapes that other words have are dropped where something else is asked.
    loose: bool,
    /// Where something else is asked it adds so much to a logit, and puts nothing first: a time is
    /// not always that of the record. 0 for what is certain.
    soft: f32,
    /// Admitted records that have it, ascending.
    holders: Vec<u32>,
    /// Those of them that are called so.
    owners: Vec<u32>,
}

impl Lookup {
    /// Records that have some of it, ascending: the newest of each where there are many.
    pub(super) fn holders(&self) -> Vec<u32> {
        let mut holders: Vec<u32> = Vec::new();
        for sought in &self.sought {
            holders.extend(sought.owners.iter().rev().take(HOLDERS_MAX));
            holders.extend(sought.holders.iter().rev().take(HOLDERS_MAX));
        }
        holders.sort_unstable();
        holders.dedup();
        holders
    }

    /// Whether a record has all that is named, and little else is asked.
    pub(super) fn is_certain(&self, ordinal: u32) -> bool {
        let share = self.lift(ordinal).map_or(0.0, |lift| lift.0);
        (self.whole || self.strong) && share >= WHOLE_SHARE
    }

    /// How much of what is named a record has, 0..1; what few have counts for more.
    fn share(&self, ordinal: u32) -> f32 {
        let (mut held, mut all) = (0.0, 0.0);
        for sought in self.sought.iter().filter(|s| self.whole || s.soft == 0.0) {
            let weight = 1.0 / (1.0 + sought.holders.len() as f32).ln_1p();
            all += weight;
            if sought.owners.binary_search(&ordinal).is_ok() {
                held += weight;
            } else if sought.holders.binary_search(&ordinal).is_ok() {
                held += weight * MENTION;
            }
        }
        if all > 0.0 { held / all } else { 0.0 }
    }

    /// Lifts the records that have some of what is named: where little else is asked, above those
    /// that have none, and where nothing else is, those that have more of it above those that have
    /// less. Within one share the order stays.
    pub(super) fn raise(&mut self, ranked: &mut [Scored]) {
        if self.sought.is_empty() || ranked.is_empty() {
            return;
        }
        let mut soft = vec![0.0; ranked.len()];
        for sought in self.sought.iter().filter(|s| !self.whole && s.soft > 0.0) {
            for (scored, soft) in ranked.iter_mut().zip(&mut soft) {
                if sought.holders.binary_search(&scored.ordinal).is_ok() {
                    scored.logit += sought.soft;
                    *soft += sought.soft;
                }
            }
        }
        let mut shares: Vec<(f32, usize)> = (0..ranked.len())
            .map(|at| (self.share(ranked[at].ordinal), at))
            .collect();
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        let whole = self.whole;
        let same = |a: &(f32, usize), b: &(f32, usize)| {
            let both_some = a.0 > 0.0 && b.0 > 0.0;
            a.0.total_cmp(&b.0).is_eq() || (both_some && !whole)
        };
        let mut floor = f32::NEG_INFINITY;
        for tier in shares.chunk_by(same) {
            let own = |(share, at): &(f32, usize)| {
                ranked[*at].logit + if whole { 0.0 } else { ALL_OF_IT * share }
            };
            let low = tier.iter().map(own).fold(f32::INFINITY, f32::min);
            let first = tier.first().map_or(0.0, |(share, _)| *share);
            let mut lift = if self.first {
                (floor + STEP - low).max(0.0)
            } else {
                0.0
            };
            if (whole || self.strong) && first >= WHOLE_SHARE {
                lift = lift.max(CERTAIN - low);
            }
            for (share, at) in tier {
                let scored = &mut ranked[*at];
                let mut more = soft[*at];
                if *share > 0.0 {
                    let named = lift + if whole { 0.0 } else { ALL_OF_IT * share };
                    scored.logit += named;
                    more += named;
                }
                if *share > 0.0 || more > 0.0 {
                    self.lifts.push((scored.ordinal, *share, more));
                }
                floor = floor.max(scored.logit);
            }
        }
        self.lifts.sort_unstable_by_key(|lift| lift.0);
        ranked.sort_unstable_by(super::fuse::order);
    }

    /// The share of a record, 0 for one that has no more than the time, and the logit that it was
    /// given; `None` for one that has nothing.
    pub(super) fn lift(&self, ordinal: u32) -> Option<(f32, f32)> {
        let at = self
            .lifts
            .binary_search_by_key(&ordinal, |lift| lift.0)
            .ok()?;
        self.lifts.get(at).map(|(_, share, lift)| (*share, *lift))
    }

    /// Where little else is asked, the records that have some of what is named before the others,
    /// in the order that they come in; where nothing else is, those with more of it before those
    /// with less; and of a time the oldest, by their `place` in it.
    pub(super) fn sorted<T>(
        &self,
        mut ranked: Vec<T>,
        ordinal: impl Fn(&T) -> u32,
        place: impl Fn(u32) -> Option<i64>,
    ) -> Vec<T> {
        if self.of_a_time {
            ranked.sort_by_key(|item| {
                let is_of_it = self.lift(ordinal(item)).is_some();
                (!is_of_it, place(ordinal(item)))
            });
        } else if self.first {
            ranked.sort_by(|a, b| {
                let share = |item: &T| {
                    let share = self.lift(ordinal(item)).map_or(0.0, |lift| lift.0);
                    if self.whole { share } else { share.ceil() }
                };
                share(b).total_cmp(&share(a))
            });
        }
        ranked
    }

    /// What of it a record has, and where it stands.
    pub(super) fn matched(&self, ordinal: u32, record: &MemoryRecord) -> Vec<MatchedIdentifier> {
        let found = self.sought.iter().filter_map(|sought| {
            sought.holders.binary_search(&ordinal).ok()?;
            let field = sought.field_of(record)?;
            let text = sought.surface.clone();
            Some(MatchedIdentifier { text, field })
        });
        found.collect()
    }
}

impl Sought {
    /// Where in a record it stands; `None` where it does not.
    fn field_of(&self, record: &MemoryRecord) -> Option<String> {
        if let Some(phrase) = &self.phrase {
            return folded(&record.text)
                .contains(phrase.as_str())
                .then(|| "text".to_owned());
        }
        if let Some(field) = self.field {
            return Some(field.to_owned());
        }
        let is_it = |term: &str| self.terms.iter().any(|known| known == term);
        if is_it(&record.id.to_string()) {
            return Some("id".to_owned());
        }
        let called = |id: &str| plain(id).is_some_and(|id| is_it(&names::id(&id)));
        if record.external_ids.iter().any(|id| called(&id.id)) {
            return Some("external_id".to_owned());
        }
        let mut field = None;
        let mut in_text = false;
        each(&record.text, &mut |_, term| in_text |= is_it(&term));
        if in_text {
            return Some("text".to_owned());
        }
        walk(&record.metadata, "", 1, &mut |key, value| {
            let mut holds = is_it(&pair(key, &value)) || is_it(&name(&value));
            holds |= names::parts(key, &value).any(|part| is_it(&name(part)));
            each(&value, &mut |_, term| holds |= is_it(&term));
            if holds && field.is_none() {
                field = Some(["metadata.", key].concat());
            }
        });
        let sources = record.provenance.source_refs.iter();
        for source in sources {
            each(source, &mut |_, term| {
                if is_it(&term) && field.is_none() {
                    field = Some("source_refs".to_owned());
                }
            });
        }
        field
    }

    fn of(surface: &str, terms: Vec<String>, holders: Vec<u32>) -> Self {
        Self {
            surface: surface.to_owned(),
            terms,
            holders,
            ..Self::default()
        }
    }

    /// More records that have it, or are called so.
    fn add(&mut self, term: String, found: &[u32], is_id: bool) {
        let merge = |into: &mut Vec<u32>| {
            into.extend(found);
            into.sort_unstable();
            into.dedup();
        };
        if !self.terms.contains(&term) {
            self.terms.push(term);
        }
        merge(&mut self.holders);
        if is_id {
            merge(&mut self.owners);
        }
    }
}

/// Small letters, one space between words.
fn folded(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Words with which people ask for a record by name: `who wrote`, `the commit`, `show me`. A
/// question of these and of names asks for nothing else.
const FRAME: &str = "a about all an and any anything are as at author be bug by change changed \
    changes code commit commits contain containing contains did do does done \
    entries entry error errors every everything exact exit external file files \
    find flag flags for from get give had happen happened has hash have \
    history how http i id in is issue issues it its key know log look made me \
    memories memory mention mentioned mentions my of on option options or our \
    path phrase please pr pull record records release request said say says \
    show status tell that the there this ticket to tool use used user uses \
    value version was we were what when where which who with wrote";

static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| FRAME.split_whitespace().collect());

/// Whether a word only asks, or is none.
fn says_nothing(word: &str) -> bool {
    let word = word
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    word.is_empty() || WORDS.contains(word.as_str())
}

/// Whether a word asks for something of what is named, and not for what names it.
fn asks(word: &str) -> bool {
    const ASKING: [&str; 9] = [
        "who", "whose", "when", "where", "how", "why", "wer", "wann", "wo",
    ];
    ASKING.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_ask_say_nothing() {
        assert!(says_nothing("Which") && says_nothing("?") && says_nothing("(the)"));
        assert!(!says_nothing("why") && !says_nothing("broke") && !says_nothing("a b"));
    }
}
