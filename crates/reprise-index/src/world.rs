//! Which documents are alive, who their neighbours are, and the statistics that follow from that.
//!
//! One `World` is the present, kept up by the writer; a question about the past builds its own, so
//! that its answer is the one that a store stopped at that instant would have given.
//! Must never live here: filters, terms, scores.

use std::sync::OnceLock;

use crate::cow::CowVec;
use crate::docs::{NO_SESSION, Row};

/// BM25's term saturation and length normalisation (Robertson and Zaragoza 2009, usual values).
pub(crate) const K1: f32 = 1.2;
const B: f32 = 0.75;
/// "No document" in a link.
pub(crate) const NONE: u32 = u32::MAX;

/// A document's place among the living of its session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) session: u32,
    pub(crate) previous: u32,
    pub(crate) next: u32,
    terms: u32,
    head_terms: u8,
    pub(crate) live: bool,
}

impl Link {
    fn new(row: &Row, live: bool) -> Self {
        Self {
            session: row.session,
            previous: NONE,
            next: NONE,
            terms: row.terms,
            head_terms: row.head_terms,
            live,
        }
    }
}

/// Liveness and neighbourhood of every document at one instant.
#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    links: CowVec<Link>,
    /// The last live document of each session.
    tails: CowVec<u32>,
    live: u32,
    derived: OnceLock<Derived>,
}

/// What a lexical pass needs of a document, side by side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hot {
    /// `K1 * (1 - B + B * length / average)` of the document's text and head.
    pub(crate) whole_norm: f32,
    pub(crate) head_norm: f32,
    pub(crate) session: u32,
    pub(crate) previous: u32,
    pub(crate) next: u32,
}

/// Statistics of a world, computed once when first asked for.
#[derive(Debug, Clone)]
pub(crate) struct Derived {
    pub(crate) hot: Vec<Hot>,
    /// The same norm of each document's head together with its neighbours' heads.
    pub(crate) around_norms: Vec<f32>,
    /// One bit per document.
    pub(crate) live: Vec<u64>,
    /// BM25 norm of each session as one long document.
    pub(crate) session_norms: Vec<f32>,
    /// Sessions that hold a live document.
    pub(crate) sessions: u32,
}

impl World {
    /// The world as it was at `instant` (microseconds).
    pub(crate) fn at<'a>(rows: impl Iterator<Item = &'a Row>, instant: i64) -> Self {
        Self::of(rows.map(|row| (row, row.was_live(instant))))
    }

    /// The world as it is.
    pub(crate) fn now<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        Self::of(rows.map(|row| (row, row.is_live())))
    }

    /// As if each had been pushed, in plain vectors until all are known.
    fn of<'a>(rows: impl Iterator<Item = (&'a Row, bool)>) -> Self {
        let mut links: Vec<Link> = Vec::new();
        let mut tails: Vec<u32> = Vec::new();
        let mut alive = 0;
        for (ordinal, (row, live)) in (0_u32..).zip(rows) {
            let mut link = Link::new(row, live);
            alive += u32::from(live);
            if live && row.session != NO_SESSION {
                let session = row.session as usize;
                if tails.len() <= session {
                    tails.resize(session + 1, NONE);
                }
                link.previous = std::mem::replace(&mut tails[session], ordinal);
                if let Some(previous) = links.get_mut(link.previous as usize) {
                    previous.next = ordinal;
                }
            }
            links.push(link);
        }
        Self {
            links: links.into_iter().collect(),
            tails: tails.into_iter().collect(),
            live: alive,
            derived: OnceLock::new(),
        }
    }

    pub(crate) fn push(&mut self, row: &Row, live: bool) {
        let ordinal = self.links.len() as u32;
        let mut link = Link::new(row, live);
        self.live += u32::from(live);
        if live && row.session != NO_SESSION {
            while self.tails.len() <= row.session as usize {
                self.tails.push(NONE);
            }
            if let Some(tail) = self.tails.get_mut(row.session as usize) {
                link.previous = std::mem::replace(tail, ordinal);
            }
            if let Some(previous) = self.links.get_mut(link.previous as usize) {
                previous.next = ordinal;
            }
        }
        self.links.push(link);
    }

    /// Takes a document out; its neighbours become each other's.
    pub(crate) fn kill(&mut self, ordinal: u32) {
        let Some(link) = self.links.get_mut(ordinal as usize) else {
            return;
        };
        if !std::mem::replace(&mut link.live, false) {
            return;
        }
        let gone = *link;
        link.previous = NONE;
        link.next = NONE;
        self.live -= 1;
        if let Some(previous) = self.links.get_mut(gone.previous as usize) {
            previous.next = gone.next;
        }
        if let Some(next) = self.links.get_mut(gone.next as usize) {
            next.previous = gone.previous;
        } else if let Some(tail) = self.tails.get_mut(gone.session as usize) {
            *tail = gone.previous;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    pub(crate) fn live_count(&self) -> u32 {
        self.live
    }

    pub(crate) fn link(&self, ordinal: u32) -> Option<&Link> {
        self.links.get(ordinal as usize)
    }

    pub(crate) fn is_live(&self, ordinal: u32) -> bool {
        self.link(ordinal).is_some_and(|link| link.live)
    }

    pub(crate) fn lives(&self) -> impl Iterator<Item = bool> {
        self.links.iter().map(|link| link.live)
    }

    pub(crate) fn derived(&self) -> &Derived {
        self.derived.get_or_init(|| self.derive())
    }

    fn derive(&self) -> Derived {
        let len = self.links.len();
        let mut live = vec![0_u64; len.div_ceil(64)];
        let mut hot = Vec::with_capacity(len);
        let mut around_norms = Vec::with_capacity(len);
        let mut session_terms = vec![0_u64; self.tails.len()];
        let (mut whole_total, mut head_total, mut around_total) = (0_u64, 0_u64, 0_u64);
        let head_of = |ordinal: u32| {
            self.link(ordinal)
                .map_or(0, |link| u32::from(link.head_terms))
        };
        for (ordinal, link) in self.links.iter().enumerate() {
            let mut around = 0;
            if link.live {
                live[ordinal / 64] |= 1 << (ordinal % 64);
                around = u32::from(link.head_terms) + head_of(link.previous) + head_of(link.next);
                whole_total += u64::from(link.terms);
                head_total += u64::from(link.head_terms);
                around_total += u64::from(around);
                if let Some(terms) = session_terms.get_mut(link.session as usize) {
                    *terms += u64::from(link.terms);
                }
            }
            around_norms.push(around as f32);
            hot.push(Hot {
                whole_norm: link.terms as f32,
                head_norm: f32::from(link.head_terms),
                session: link.session,
                previous: link.previous,
                next: link.next,
            });
        }
        let whole = norm_of(whole_total, self.live);
        let head = norm_of(head_total, self.live);
        let around = norm_of(around_total, self.live);
        for hot in &mut hot {
            hot.whole_norm = whole(hot.whole_norm);
            hot.head_norm = head(hot.head_norm);
        }
        for norm in &mut around_norms {
            *norm = around(*norm);
        }
        let sessions = self.tails.iter().filter(|tail| **tail != NONE).count() as u32;
        let session = norm_of(session_terms.iter().sum(), sessions);
        let session_norms = session_terms.iter().map(|t| session(*t as f32)).collect();
        Derived {
            hot,
            around_norms,
            live,
            session_norms,
            sessions,
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let derived = self.derived.get().map_or(0, |derived| {
            derived.hot.len() * (size_of::<Hot>() + size_of::<f32>()) + derived.live.len() * 8
        });
        self.links.memory_bytes() + self.tails.memory_bytes() + derived
    }
}

/// From a length in terms to its BM25 norm, for texts of `total` terms in `documents` documents.
fn norm_of(total: u64, documents: u32) -> impl Fn(f32) -> f32 {
    let average = total as f64 / f64::from(documents.max(1));
    let per_term = if total == 0 {
        K1 * B
    } else {
        (f64::from(K1 * B) / average) as f32
    };
    move |length| K1 * (1.0 - B) + per_term * length
}
