//! Numbers about a store, for people and for tests.

use chrono::{DateTime, Utc};
use reprise_store::LogStats;
use reprise_types::{EmbeddingSpace, MemoryFilter, REFERENCE_MODEL, VectorStore as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::recall::dialogue_share;
use crate::snapshot::Snapshot;
use crate::snapshot::other_spaces::{SpaceVectors, percent_done};
use crate::write::prepare::format_space;

/// Fewest records in other languages for which a model is proposed.
const FOREIGN_MIN: u32 = 10;

/// A space whose vectors are being replaced by those of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherSpace {
    /// Name of the space, as `model/version`.
    pub space: String,
    /// Records that have their vector in it, corrected ones included.
    pub records: u32,
}

/// A space that a memory has vectors in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Space")]
pub struct SpaceStats {
    pub model: String,
    pub version: String,
    /// Numbers of each vector.
    pub width: u16,
    /// Records that have their vector in it; for the space in use, only live ones.
    pub records: u32,
}

/// The number of records in a language other than English.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "InLanguage")]
pub struct LanguageCount {
    /// Code of the language in ISO 639.
    pub language: String,
    pub records: u32,
}

/// The numbers of one store.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EngineStats {
    /// Records that can be recalled.
    pub live: u32,
    /// Records that were forgotten.
    pub forgotten: u32,
    /// Records replaced by a correction.
    pub superseded: u32,
    /// Live records still without a vector of the space in use.
    pub unembedded: u32,
    /// Unembedded records that have a vector of another space, in which they are searched.
    pub foreign_vectors: u32,
    /// Live records that have a vector of the space in use.
    #[serde(default)]
    pub embedded: u32,
    /// The other spaces, while vectors are being replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_spaces: Vec<OtherSpace>,
    /// The space of the model in use, then the others.
    #[serde(default)]
    pub spaces: Vec<SpaceStats>,
    /// The languages other than English, most records first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<LanguageCount>,
    /// A model that would find more by meaning, and how to use it, if most records are not English
    /// and the model in use reads only English.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Distinct sessions.
    pub sessions: u32,
    /// Mean share of a live record's neighbours with which it is in a dialogue, 0..1, which decides
    /// how much neighbours and sessions count when records are ranked.
    #[serde(default)]
    pub dialogue: f32,
    /// Mean words of a live record, without stop words: the shorter, the more its neighbours
    /// explain it.
    #[serde(default)]
    pub words_mean: f32,
    /// Distinct external ids.
    pub external_ids: usize,
    /// When the newest record became known; `None` means never.
    pub last_ingest: Option<DateTime<Utc>>,
    /// The embedding space, as `model/version`.
    pub space: Option<String>,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of the file that a compaction would give back.
    pub reclaimable_bytes: u64,
    /// Commits since the file was made.
    pub commits: u64,
    /// The last commit that a compaction merged; 0 if there was none.
    pub compacted_to: u64,
    /// Whether a compaction is under way.
    pub compacting: bool,
    /// Whether a compaction should start.
    pub compaction_due: bool,
    /// Which store answers for vectors: `log`, the file itself, or the kind of the second store.
    #[serde(default)]
    pub vector_store: String,
    /// Bytes of memory that the index holds.
    pub index_bytes: usize,
}

impl SpaceStats {
    fn of(space: &EmbeddingSpace, records: u32) -> Self {
        Self {
            model: space.model.clone(),
            version: space.version.clone(),
            width: space.dimensions,
            records,
        }
    }
}

impl EngineStats {
    /// Returns how much of the vectors has been replaced, 0..=100; `None` while none are being
    /// replaced.
    pub fn re_embedded_percent(&self) -> Option<u32> {
        let left: u32 = self.other_spaces.iter().map(|other| other.records).sum();
        percent_done(self.embedded, left)
    }
}

impl Engine {
    /// Counts the records that claim to have become known after `now`, and returns the latest such
    /// instant: the clock was wrong then, or it is now.
    pub fn count_known_after(&self, now: DateTime<Utc>) -> Option<(usize, DateTime<Utc>)> {
        let docs = self.snapshot.docs();
        let later = docs.filter(|(_, doc)| !doc.is_hole() && doc.known_at() > now);
        let later: Vec<_> = later.map(|(_, doc)| doc.known_at()).collect();
        Some((later.len(), later.iter().max().copied()?))
    }

    /// Counts everything in one pass over the documents.
    pub fn stats(&self) -> EngineStats {
        self.stats_job()()
    }

    /// Returns the counting as work for another thread, which needs nothing of the writer.
    pub fn stats_job(&self) -> impl FnOnce() -> EngineStats + Send + use<> {
        let snapshot = self.snapshot();
        let keys = self.state.keys.clone();
        let compacting = self.log.is_compacting();
        let compaction_due = self.is_compaction_due();
        let log = self.log.stats();
        move || EngineStats {
            external_ids: keys.len(),
            compacting,
            compaction_due,
            ..snapshot.count_stats(&log)
        }
    }
}

impl Snapshot {
    fn count_languages(&self) -> Vec<LanguageCount> {
        let found = self.index.count_languages().into_iter();
        let found = found.map(|(language, records)| LanguageCount {
            language: language.code().to_owned(),
            records: records as u32,
        });
        let mut languages: Vec<_> = found.collect();
        languages.sort_by_key(|one| std::cmp::Reverse(one.records));
        languages
    }

    fn count_stats(&self, log: &LogStats) -> EngineStats {
        let index = &self.index;
        // The receipt of a publication is no memory.
        let view = self.view(&MemoryFilter::default(), None);
        let mut unembedded = index.list_unembedded(0, usize::MAX);
        unembedded.retain(|ordinal| view.contains(*ordinal));
        let foreign = |ordinal: &&u32| self.reader.space_of(**ordinal).is_some();
        let (mut live, mut embedded, mut in_dialogue, mut words) = (0, 0, 0.0, 0.0);
        for traits in view
            .ordinals()
            .filter_map(|ordinal| index.doc_traits(ordinal, &view))
        {
            live += 1;
            in_dialogue += f64::from(dialogue_share(&traits));
            words += f64::from(traits.terms);
            embedded += u32::from(traits.embedded);
        }
        let (forgotten, superseded) = index.count_ended();
        let mean = |sum: f64| (sum / f64::from(live.max(1))) as f32;
        let own = self.space.iter().map(|own| SpaceStats::of(own, embedded));
        let others = self.other_spaces.iter();
        let others = others.map(|other| SpaceStats::of(&other.space, other.vectors.len()));
        let languages = self.count_languages();
        let newest = self.docs().rfind(|(_, doc)| !doc.is_hole());
        let of_other = |other: &SpaceVectors| OtherSpace {
            space: format_space(&other.space),
            records: other.vectors.len(),
        };
        EngineStats {
            proposal: propose_model(self.space.as_ref(), &languages, live),
            languages,
            spaces: own.chain(others).collect(),
            live,
            forgotten,
            superseded,
            unembedded: unembedded.len() as u32,
            foreign_vectors: unembedded.iter().filter(foreign).count() as u32,
            embedded,
            other_spaces: self.other_spaces.iter().map(of_other).collect(),
            sessions: index.session_count(),
            dialogue: mean(in_dialogue),
            words_mean: mean(words),
            external_ids: 0,
            last_ingest: newest.map(|(_, doc)| doc.known_at()),
            space: self.space.as_ref().map(format_space),
            file_bytes: log.file_bytes,
            reclaimable_bytes: log.bytes_reclaimable,
            commits: log.commits,
            compacted_to: log.compacted_to,
            compacting: false,
            compaction_due: false,
            vector_store: match &self.second_store {
                Some(store) => store.name().to_owned(),
                None => self.reader.name().to_owned(),
            },
            index_bytes: index.memory_bytes() + self.other_spaces.memory_bytes(),
        }
    }
}

/// Proposes a model if most of `live` records are in other languages than English.
fn propose_model(
    space: Option<&EmbeddingSpace>,
    languages: &[LanguageCount],
    live: u32,
) -> Option<String> {
    let foreign: u32 = languages.iter().map(|one| one.records).sum();
    let reads_english_alone = space.is_some_and(|space| space.model == REFERENCE_MODEL);
    let most = foreign >= FOREIGN_MIN && foreign > live / 2;
    (reads_english_alone && most).then(|| {
        format!(
            "{foreign} of {live} records are not English, and `{REFERENCE_MODEL}` finds nothing else \
             by meaning; `reprise doctor models add multilingual-e5-small`, then `reprise doctor models use \
             multilingual-e5-small`, has a model that does"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_proposed_where_most_is_not_english_and_the_one_in_use_reads_nothing_else() {
        let space = |model: &str| EmbeddingSpace {
            model: model.to_owned(),
            version: "1".to_owned(),
            dimensions: 384,
        };
        let of = |records: &[u32]| -> Vec<LanguageCount> {
            let all = records.iter().map(|records| LanguageCount {
                language: "ru".to_owned(),
                records: *records,
            });
            all.collect()
        };
        let reference = space(REFERENCE_MODEL);
        let proposal = propose_model(Some(&reference), &of(&[20, 12]), 40).unwrap();
        assert!(
            proposal.contains("32 of 40") && proposal.contains("models use"),
            "{proposal}"
        );
        assert_eq!(propose_model(Some(&reference), &of(&[20]), 40), None);
        assert_eq!(propose_model(Some(&reference), &of(&[9]), 9), None);
        assert_eq!(propose_model(Some(&space("other")), &of(&[40]), 40), None);
        assert_eq!(propose_model(None, &of(&[40]), 40), None);
    }
}
