//! Compares two records, and finds what a memory already knows about a new record.

use reprise_engine::SimilarityScratch;

use super::entry::{ComparisonEntry, Decidable};
use super::judge::{Judgement, judge_statements};
use crate::prelude::*;
use crate::sunwell::{corrects, ends_rule_of};

/// Most records with which a new one is compared: those with the most similar words.
const SIMILAR_MAX: usize = 32;
/// Least cosine of two texts that are merged, if both have a vector; below it, texts with the same
/// words wait for a review.
const COSINE_MIN: f32 = 0.8;

/// Two records, and how they are related.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RelatedPair {
    /// Their ids, the older first.
    pub pair: [RecordId; 2],
    /// The record that happened later.
    pub newest: RecordId,
    pub why: String,
}

/// Pairs by their ids, the older id first.
pub(super) type PairMap = BTreeMap<[RecordId; 2], RelatedPair>;

impl RelatedPair {
    pub(super) fn of(one: &ComparisonEntry, other: &ComparisonEntry, why: &str) -> Self {
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

/// How two records are related.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PairRelation {
    /// They say the same; one is enough if they [`have_similar_meaning`].
    Same,
    /// They are alike, and a person has to decide.
    Doubt(RelatedPair),
    /// They cannot both hold.
    Contradiction(RelatedPair),
}

/// Compares two entries; `None` if they are unrelated, or somebody marked them as distinct.
pub(super) fn compare_entries(
    memory: &Snapshot,
    one: &ComparisonEntry,
    other: &ComparisonEntry,
) -> Option<PairRelation> {
    if one.scope != other.scope || one.knowledge_type != other.knowledge_type {
        return None;
    }
    let judgement = judge_entries(one, other);
    let pair = |why: &str| RelatedPair::of(one, other, why);
    let either = |decidable| one.decidable == decidable || other.decidable == decidable;
    let is_undecidable = either(Decidable::Nothing);
    let related = match judgement {
        Judgement::Unrelated => return None,
        Judgement::Contradiction(_) | Judgement::Doubt(_) if is_undecidable => return None,
        Judgement::Doubt(_) if either(Decidable::Said) => return None,
        Judgement::Contradiction(why) => PairRelation::Contradiction(pair(&why)),
        Judgement::Doubt(why) => PairRelation::Doubt(pair(&why)),
        // Each prompt of a person stays what was said in its session.
        Judgement::Same if one.is_prompt() && other.is_prompt() => return None,
        // What they ask in addition may differ.
        Judgement::Same
            if (one.stated.is_some() || other.stated.is_some()) && !one.is_copy_of(other) =>
        {
            return None;
        }
        Judgement::Same if !one.is_tagged_like(other) => {
            if is_undecidable || either(Decidable::Said) {
                return None;
            }
            PairRelation::Doubt(pair("they say the same under different tags"))
        }
        Judgement::Same => PairRelation::Same,
    };
    (!memory.are_distinct(one.id, other.id)).then_some(related)
}

fn judge_entries(one: &ComparisonEntry, other: &ComparisonEntry) -> Judgement {
    let ends = |one: &ComparisonEntry, other: &ComparisonEntry| {
        one.ends_rules && ends_rule_of(one.stated_text(), other.stated_text())
    };
    // Only what was said before can be corrected.
    let is_corrected = |old: &ComparisonEntry, new: &ComparisonEntry| {
        new.corrects
            && (old.at, old.id) < (new.at, new.id)
            && corrects(new.stated_text(), old.stated_text())
    };
    if one.is_copy_of(other) {
        Judgement::Same
    } else if is_corrected(one, other) || is_corrected(other, one) {
        Judgement::Contradiction("one corrects what the other says".to_owned())
    } else if ends(one, other) || ends(other, one) {
        Judgement::Contradiction("one ends the rule that the other sets".to_owned())
    } else {
        judge_statements(&one.facts, &other.facts)
    }
}

/// Whether the vectors of two texts allow a merge. It is asked whenever it counts, because a vector
/// may come late and be replaced.
pub(super) fn have_similar_meaning(memory: &Snapshot, one: RecordId, other: RecordId) -> bool {
    let cosine = memory.cosine_between(one, other);
    cosine.is_none_or(|cosine| cosine >= COSINE_MIN)
}

/// Finds how the records of each pair are related, reading each live record once.
pub(super) fn find_pair_relations(
    memory: &Snapshot,
    pairs: BTreeSet<[RecordId; 2]>,
) -> Vec<([RecordId; 2], PairRelation)> {
    let mut entries: BTreeMap<RecordId, Option<ComparisonEntry>> = BTreeMap::new();
    for id in pairs.iter().flatten() {
        let read = || ComparisonEntry::of(memory.get(*id)?.ok()?);
        entries.entry(*id).or_insert_with(read);
    }
    let entry = |id: &RecordId| entries.get(id)?.as_ref();
    let related = pairs.into_iter().filter_map(|[one, other]| {
        let found = compare_entries(memory, entry(&one)?, entry(&other)?)?;
        Some(([one, other], found))
    });
    related.collect()
}

/// Most records that are returned for one.
const TOLD_MAX: usize = 3;

/// A record that is a duplicate of a new one, contradicts it, or is similar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownMatch {
    pub id: RecordId,
    /// Why both cannot hold.
    pub contrary: Option<String>,
    /// Why it is only similar; it says the same if neither is there.
    pub similar: Option<String>,
}

/// Finds the live records that say the same as this one, contradict it or are similar, the most
/// alike first. Kinds and tags are ignored: a lesson may be known from an episode.
pub fn find_known_matches(memory: &Snapshot, id: RecordId) -> Vec<KnownMatch> {
    let own = memory.get(id).and_then(Result::ok);
    let own = own.map_or_else(BTreeSet::new, |record| collect_numbers(&record.text));
    let known = find_related(memory, id).into_iter();
    let known = known.filter_map(|(other, relation)| {
        let numbers = collect_numbers(&other.text);
        let other = other.id;
        let (contrary, similar) = match relation {
            Some(PairRelation::Same) if have_similar_meaning(memory, id, other) => (None, None),
            Some(PairRelation::Same) => (None, Some("it has the same words".to_owned())),
            Some(PairRelation::Contradiction(pair)) => (Some(pair.why), None),
            // One pull request is not another.
            Some(PairRelation::Doubt(_)) | None if numbers != own => return None,
            Some(PairRelation::Doubt(pair)) => (None, Some(pair.why)),
            None if memory.are_distinct(id, other) => return None,
            None if memory.cosine_between(id, other)? >= COSINE_MIN => {
                (None, Some("it is close in meaning".to_owned()))
            }
            None => return None,
        };
        Some(KnownMatch {
            id: other,
            contrary,
            similar,
        })
    });
    let mut known: Vec<KnownMatch> = known.collect();
    known.sort_by_key(|known| known.similar.is_some());
    known.truncate(TOLD_MAX);
    known
}

/// Collects the words of a text that have a digit.
fn collect_numbers(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let numbers = words.filter(|word| word.contains(|c: char| c.is_numeric()));
    numbers.map(str::to_lowercase).collect()
}

/// Finds the live records that contradict this one, a pair each, the older first. Kinds and tags
/// are ignored.
pub fn find_contradictions(memory: &Snapshot, id: RecordId) -> Vec<(RecordId, RecordId)> {
    let contrary = find_related(memory, id).into_iter();
    let contrary = contrary.filter_map(|(_, relation)| match relation {
        Some(PairRelation::Contradiction(found)) => Some(found.pair.into()),
        _ => None,
    });
    contrary.collect()
}

/// Returns whether a record that is not stored yet ends a rule that a live record of the same scope
/// sets, or corrects what one says.
pub fn settles_known(memory: &Snapshot, new: &MemoryRecord) -> bool {
    let entry = ComparisonEntry::of(new.clone());
    let Some(entry) = entry.filter(|entry| entry.ends_rules || entry.corrects) else {
        return false;
    };
    let mut scratch = SimilarityScratch::default();
    let similar = find_similar_entries(memory, &entry, &mut scratch);
    // What a prompt says is a lesson, too, unless somebody has forgotten that.
    let mut similar = similar
        .iter()
        .filter(|other| other.scope == entry.scope && !other.is_prompt());
    similar.any(|other| {
        let (new, known) = (entry.stated_text(), other.stated_text());
        ends_rule_of(new, known) || other.at < entry.at && corrects(new, known)
    })
}

/// Describes the noted contradictions that nobody has decided, of one record or of all.
pub fn list_open_contradictions(memory: &Snapshot, of: Option<RecordId>) -> Vec<RelatedPair> {
    let open = memory.open_contradictions();
    let open = open.filter(|one| of.is_none_or(|id| [one.older, one.newer].contains(&id)));
    let mut entries: BTreeMap<RecordId, Option<ComparisonEntry>> = BTreeMap::new();
    let mut pairs = Vec::new();
    for one in open {
        let pair = [one.older, one.newer];
        for id in pair {
            let read = || ComparisonEntry::of(memory.get(id)?.ok()?);
            entries.entry(id).or_insert_with(read);
        }
        let entry = |id: &RecordId| entries.get(id)?.as_ref();
        let judged = entry(&pair[0])
            .zip(entry(&pair[1]))
            .map(|(one, other)| judge_entries(one, other));
        let why = match judged {
            Some(Judgement::Contradiction(why)) => why,
            _ => "they were noted as a contradiction".to_owned(),
        };
        pairs.push(RelatedPair {
            pair,
            newest: one.newer,
            why,
        });
    }
    pairs
}

/// Finds the records with the most similar words, best first.
pub(super) fn find_similar_entries(
    memory: &Snapshot,
    entry: &ComparisonEntry,
    scratch: &mut SimilarityScratch,
) -> Vec<ComparisonEntry> {
    let found = memory.find_similar(&entry.text, SIMILAR_MAX, scratch);
    let others = found.iter().filter_map(|(place, _)| {
        let record = memory.live_record_at(*place)?.ok()?;
        ComparisonEntry::of(record).filter(|other| other.id != entry.id)
    });
    others.collect()
}

/// Finds the live records of the same scope with similar words, and how they are related to this
/// one, whatever their kinds and tags.
fn find_related(memory: &Snapshot, id: RecordId) -> Vec<(ComparisonEntry, Option<PairRelation>)> {
    let record = memory.get(id).and_then(Result::ok);
    let Some(entry) = record.and_then(ComparisonEntry::of) else {
        return Vec::new();
    };
    let others =
        find_similar_entries(memory, &entry, &mut SimilarityScratch::default()).into_iter();
    let others = others.filter(|other| other.scope == entry.scope);
    let related = others.map(|mut other| {
        other.knowledge_type.clone_from(&entry.knowledge_type);
        other.tags.clone_from(&entry.tags);
        let relation = compare_entries(memory, &entry, &other);
        (other, relation)
    });
    related.collect()
}
