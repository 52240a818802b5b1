//! The best documents by words alone, without a look at what cannot be among them.
//!
//! Block-max pruning (Ding and Suel 2011) by windows: what the blocks of a frequent term can add at
//! most to any document of a window is known without decoding them, and a window whose sum is below
//! the worst of the best so far is passed over. The others are scored as in the whole pass, in the
//! same order of the same numbers, so that the best are the same to the bit.

use super::score::{Part, set_bits};
use super::{Cell, LexicalScratch, TAIL_COUNT};
use crate::segment::{Block, List, Posting};
use crate::view::View;
use crate::words::HEAD_TERMS;
use crate::world::World;

/// Documents of a window.
const NARROW: usize = 512;
/// A term is frequent, and its blocks are short, that more than one in so many documents hold.
const FREQUENT_SHARE: usize = 64;
/// What rounding may add to a bound.
const ROUNDING: f32 = 1.0 + 1e-5;

/// The blocks of a frequent term over all segments.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    lists: Vec<List<'a>>,
    /// Each with its list, ascending.
    all: Vec<(usize, Block)>,
    /// Blocks that end before the window at hand.
    passed: usize,
    /// The block that was decoded last, and its documents.
    decoded: Option<usize>,
    own: Vec<Posting>,
}

impl<'a> Blocks<'a> {
    /// Those of a term that enough of `documents` hold; `None` of a rarer one.
    pub(super) fn of(lists: &[List<'a>], documents: usize) -> Option<Self> {
        let held: usize = lists.iter().map(|list| list.counts().0).sum();
        if held * FREQUENT_SHARE < documents {
            return None;
        }
        let lists: Vec<List<'a>> = lists.to_vec();
        let all = lists.iter().enumerate();
        let blocks = all.flat_map(|(at, list)| list.blocks().into_iter().map(move |one| (at, one)));
        Some(Self {
            all: blocks.collect(),
            lists,
            passed: 0,
            decoded: None,
            own: Vec::new(),
        })
    }

    /// The most that a document of `begin..end` gets from it.
    fn bound(&mut self, begin: u32, end: u32, part: &Part) -> f32 {
        let rest = self.all.get(self.passed..).unwrap_or_default();
        self.passed += rest
            .iter()
            .take_while(|(_, block)| block.last < begin)
            .count();
        let within = self.all.get(self.passed..).unwrap_or_default().iter();
        let within = within.take_while(|(_, block)| block.first < end);
        let bounds = within.map(|(_, block)| part.most_of(block.most, block.shortest));
        bounds.fold(0.0, f32::max)
    }

    /// Adds its documents of the window.
    fn add(&mut self, begin: u32, part: &mut Part, cells: &mut [Cell], touched: &mut [u64]) {
        for at in self.passed..self.all.len() {
            let Some((list, block)) = self.all.get(at) else {
                return;
            };
            if block.first >= begin + cells.len() as u32 {
                return;
            }
            if self.decoded != Some(at) {
                self.own.clear();
                if let Some(list) = self.lists.get(*list) {
                    list.decode(block, &mut self.own);
                }
                self.decoded = Some(at);
            }
            let from = self.own.partition_point(|posting| posting.ordinal < begin);
            part.postings = (from, self.own.len());
            part.add(&self.own, begin, cells, touched);
        }
    }
}

impl Part {
    /// The most that a document gets with so many occurrences in so short a head.
    fn most_of(&self, most: u8, shortest: u8) -> f32 {
        let norm = self.norms[usize::from(shortest).min(HEAD_TERMS)];
        let head = f32::from(most).max(TAIL_COUNT);
        self.weight * head / (head + norm) * ROUNDING
    }

    /// Passes over the documents before `end`.
    fn pass(&mut self, postings: &[Posting], end: u32) {
        while self.next(postings).is_some_and(|next| next < end) {
            self.postings.0 += 1;
        }
    }
}

impl LexicalScratch {
    /// Finds the best `k` admitted documents, where all live and none is a lead.
    pub(super) fn choose(&mut self, frequent: &mut [Blocks<'_>], view: &View, k: usize) {
        let world: &World = view.world();
        self.best.clear(k);
        let mut parts = self.parts(world);
        let tops: Vec<f32> = parts.iter().map(|part| self.top(part)).collect();
        let Self {
            cells,
            touched,
            postings,
            best,
            ..
        } = self;
        let cells = cells.get_mut(..NARROW).unwrap_or_default();
        let touched = touched.get_mut(..NARROW / 64).unwrap_or_default();
        for begin in (0..world.len() as u32).step_by(NARROW) {
            let end = begin + NARROW as u32;
            let mut bound = 0.0;
            for (part, top) in parts.iter().zip(&tops) {
                if let Some(at) = part.blocks {
                    bound += frequent
                        .get_mut(at)
                        .map_or(0.0, |own| own.bound(begin, end, part));
                } else if part.next(postings).is_some_and(|next| next < end) {
                    bound += *top;
                }
            }
            if bound <= 0.0 || !best.wants(bound) {
                for part in &mut parts {
                    part.pass(postings, end);
                }
                continue;
            }
            for part in &mut parts {
                let Some(at) = part.blocks else {
                    part.add(postings, begin, cells, touched);
                    continue;
                };
                if let Some(own) = frequent.get_mut(at) {
                    own.add(begin, part, cells, touched);
                }
            }
            for at in set_bits(touched) {
                let score = cells
                    .get_mut(at)
                    .map(std::mem::take)
                    .map_or(0.0, |cell| cell.score);
                let ordinal = begin + at as u32;
                if score > 0.0 && best.wants(score) && view.admits(ordinal) {
                    best.offer(ordinal, score);
                }
            }
            touched.fill(0);
        }
    }

    /// The most that any document gets from a part whose postings are decoded.
    fn top(&self, part: &Part) -> f32 {
        let own = self.postings.get(part.postings.0..part.postings.1);
        let own = own.unwrap_or_default().iter();
        let bounds = own.map(|posting| part.most_of(posting.head, posting.length));
        bounds.fold(0.0, f32::max)
    }
}

#[cfg(test)]
mod tests;
