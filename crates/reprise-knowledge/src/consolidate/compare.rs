//! What two records are to each other.

use reprise_engine::Snapshot;
use reprise_types::RecordId;
use serde::Serialize;

use super::entry::Entry;
use super::judge::{Judgement, judge};

/// Least cosine of two texts that are merged, where both have a vector: words that agree in a text
/// whose meaning does not are a doubt.
const COSINE_MIN: f32 = 0.8;

/// Two records, and what is with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The older first.
    pub pair: [RecordId; 2],
    /// The one that happened later.
    pub newest: RecordId,
    pub why: String,
}

/// Two records that have to do with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Related {
    /// One is enough.
    Same,
    /// A person has to look at them.
    Doubt(Pair),
    /// They cannot both hold.
    Contrary(Pair),
}

/// `None` where the two have nothing to do with each other, or somebody said so.
pub(super) fn compare(memory: &Snapshot, one: &Entry, other: &Entry) -> Option<Related> {
    if one.scope != other.scope || one.form != other.form {
        return None;
    }
    let judgement = if one.is_copy_of(other) {
        Judgement::Same
    } else {
        judge((&one.text, &one.facts), (&other.text, &other.facts))
    };
    if judgement == Judgement::Other || memory.are_apart(one.id, other.id) {
        return None;
    }
    let (older, newer) = if (one.at, one.id) <= (other.at, other.id) {
        (one, other)
    } else {
        (other, one)
    };
    let pair = |why: &str| Pair {
        pair: [older.id, newer.id],
        newest: newer.id,
        why: why.to_owned(),
    };
    let meaning = || memory.cosine_of(one.id, other.id);
    match judgement {
        Judgement::Other => None,
        Judgement::Contrary(why) => Some(Related::Contrary(pair(&why))),
        Judgement::Doubt(why) => Some(Related::Doubt(pair(&why))),
        Judgement::Same if !one.is_tagged_like(other) => Some(Related::Doubt(pair(
            "they say the same under different tags",
        ))),
        Judgement::Same if meaning().is_some_and(|cosine| cosine < COSINE_MIN) => Some(
            Related::Doubt(pair("their words agree and their meaning may not")),
        ),
        Judgement::Same => Some(Related::Same),
    }
}
