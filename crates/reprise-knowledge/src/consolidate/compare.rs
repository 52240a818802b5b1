//! What two records are to each other, and what a memory knew before a record came.

use reprise_engine::AlikeScratch;

use super::entry::Entry;
use super::judge::{Judgement, judge};
use super::planner::alike_to;
use crate::prelude::*;

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

/// Pairs by their ids, the older first.
pub(super) type Pairs = BTreeMap<[RecordId; 2], Pair>;

impl Pair {
    pub(super) fn of(one: &Entry, other: &Entry, why: &str) -> Self {
        let (older, newer) = if (one.at, one.id) <= (other.at, other.id) {
            (one, other)
        } else {
            (other, one)
        };
        Self {
            pair: [older.id, newer.id],
            newest: newer.id,
            why: why.to_owned(),
        }
    }
}

/// Two records that have to do with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Related {
    /// One is enough, where they [`agree`].
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
    let pair = |why: &str| Pair::of(one, other, why);
    let related = match judgement {
        Judgement::Other => return None,
        Judgement::Contrary(why) => Related::Contrary(pair(&why)),
        Judgement::Doubt(why) => Related::Doubt(pair(&why)),
        Judgement::Same if !one.is_tagged_like(other) => {
            Related::Doubt(pair("they say the same under different tags"))
        }
        Judgement::Same => Related::Same,
    };
    (!memory.are_apart(one.id, other.id)).then_some(related)
}

/// Whether the meaning of two texts does not speak against their words: asked whenever it counts,
/// because a vector may come late and be replaced.
pub(super) fn agree(memory: &Snapshot, one: RecordId, other: RecordId) -> bool {
    let cosine = memory.cosine_of(one, other);
    cosine.is_none_or(|cosine| cosine >= COSINE_MIN)
}

/// What live records are to each other, each read once.
pub(super) fn related(
    memory: &Snapshot,
    pairs: BTreeSet<[RecordId; 2]>,
) -> Vec<([RecordId; 2], Related)> {
    let mut entries: BTreeMap<RecordId, Option<Entry>> = BTreeMap::new();
    for id in pairs.iter().flatten() {
        let read = || Entry::of(memory.get(*id)?.ok()?);
        entries.entry(*id).or_insert_with(read);
    }
    let entry = |id: &RecordId| entries.get(id)?.as_ref();
    let related = pairs.into_iter().filter_map(|[one, other]| {
        let found = compare(memory, entry(&one)?, entry(&other)?)?;
        Some(([one, other], found))
    });
    related.collect()
}

/// Records that are told of one.
const TOLD_MAX: usize = 3;

/// A record that has to do with a new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Known {
    pub id: RecordId,
    /// Why both cannot hold; `None` where it says the same.
    pub contrary: Option<String>,
}

/// The live records that say the same as this one, or the contrary, the most alike first. Of what
/// kind they are, and under which tags, does not count: a lesson may be known from an episode.
pub fn known(memory: &Snapshot, id: RecordId) -> Vec<Known> {
    let record = memory.get(id).and_then(Result::ok);
    let Some(entry) = record.and_then(Entry::of) else {
        return Vec::new();
    };
    let others = alike_to(memory, &entry, &mut AlikeScratch::default()).into_iter();
    let known = others.filter_map(|mut other| {
        other.form.clone_from(&entry.form);
        other.tags.clone_from(&entry.tags);
        let contrary = match compare(memory, &entry, &other)? {
            Related::Same if !agree(memory, id, other.id) => return None,
            Related::Same => None,
            Related::Contrary(pair) => Some(pair.why),
            Related::Doubt(_) => return None,
        };
        let id = other.id;
        Some(Known { id, contrary })
    });
    known.take(TOLD_MAX).collect()
}
