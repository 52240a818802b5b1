//! An answer without the patterns that are not told yet: each of somebody else's is looked up among
//! all that are near to it.

use reprise_types::{Embedding, RecordId};

use super::keep::Reader;
use crate::caller::Caller;
use crate::error::GlobalResult;
use crate::record::{GlobalContentType, GlobalRecord};
use crate::rules::{PatternFilter, find_common_patterns};
use crate::store::{GlobalAnswer, GlobalHit, GlobalQuery, PATTERNS_NEAR};

/// How many times as much is asked for where patterns that are not told took the places.
const WIDER: usize = 8;
/// The most that is asked for so.
const WIDEST: usize = 256;

impl Reader {
    /// Searches for what the caller may find.
    pub(super) fn search_findable(
        &self,
        caller: &Caller,
        query: &GlobalQuery,
        vector: Option<&Embedding>,
    ) -> GlobalResult<GlobalAnswer> {
        let (mut wider, mut patterns) = (query.clone(), PatternFilter::default());
        loop {
            let mut answer = self.search_open_shelves(caller, &wider, vector)?;
            let all = answer.hits.len();
            let hits = std::mem::take(&mut answer.hits);
            answer.hits = self.keep_visible_hits(caller, hits, query.top_k, &mut patterns)?;
            let is_whole = answer.hits.len() == all.min(query.top_k);
            if is_whole || all < wider.top_k || wider.top_k >= WIDEST {
                return Ok(answer);
            }
            wider.top_k = wider.top_k.saturating_mul(WIDER).min(WIDEST);
        }
    }

    /// Returns the first hits that the caller may find.
    fn keep_visible_hits(
        &self,
        caller: &Caller,
        hits: Vec<GlobalHit>,
        most: usize,
        patterns: &mut PatternFilter,
    ) -> GlobalResult<Vec<GlobalHit>> {
        let mut told = Vec::with_capacity(most.min(hits.len()));
        patterns.restart();
        for hit in hits {
            if told.len() == most {
                break;
            }
            let id = hit.record.id;
            if hit.record.is_pattern_of_others(&caller.user) {
                if !patterns.needs_look_up(id) {
                    continue;
                }
                let same = self.list_common_patterns(caller, &hit.record)?;
                if !patterns.admit(id, same) {
                    continue;
                }
            }
            told.push(hit);
        }
        Ok(told)
    }

    /// Lists the patterns that say nearly the same as this one in its newest version, if so many
    /// authors have published one that none of them is known by it.
    pub(super) fn list_common_patterns(
        &self,
        caller: &Caller,
        record: &GlobalRecord,
    ) -> GlobalResult<Option<Vec<RecordId>>> {
        let newest = self.get_visible(caller, record.id)?.record;
        let (Some(space), true) = (newest.embedding_space, newest.version == record.version) else {
            return Ok(None);
        };
        let vector = Embedding::new(space, newest.embedding);
        let query = GlobalQuery {
            content_types: vec![GlobalContentType::Pattern],
            ..GlobalQuery::new(record.publication.search_text(), PATTERNS_NEAR)
        };
        let hits = self
            .search_open_shelves(caller, &query, Some(&vector))?
            .hits;
        Ok(find_common_patterns(self.measure_hits(hits, &vector)))
    }

    /// Returns the things of an answer, each with its cosine to a vector.
    pub(super) fn measure_hits(
        &self,
        hits: Vec<GlobalHit>,
        vector: &Embedding,
    ) -> impl Iterator<Item = (GlobalRecord, f32)> {
        hits.into_iter().filter_map(move |hit| {
            let newest = self.snapshot.current_version(hit.record.id)?;
            let cosine = self.snapshot.cosine_to(newest, vector)?.min(1.0) as f32;
            Some((hit.record, cosine))
        })
    }
}
