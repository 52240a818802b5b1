//! An answer without the patterns that are not told yet: each of somebody else's is looked up among
//! all that are near to it.

use std::collections::HashSet;

use reprise_types::{Embedding, RecordId};

use super::keep::Reader;
use crate::caller::Caller;
use crate::error::Result;
use crate::record::{GlobalContentType, GlobalRecord, PATTERN_AUTHORS_MIN};
use crate::store::{
    GlobalAnswer, GlobalHit, GlobalQuery, OVERLAP_FROM, PATTERNS_LONE_MAX, PATTERNS_NEAR,
};

/// How many times as much is asked for where patterns that are not told took the places.
const WIDER: usize = 8;
/// The most that is asked for so.
const WIDEST: usize = 256;

impl Reader {
    /// What resonates and is told to the caller.
    pub(super) fn query(
        &self,
        caller: &Caller,
        query: &GlobalQuery,
        vector: Option<&Embedding>,
    ) -> Result<GlobalAnswer> {
        let (mut wider, mut lone) = (query.clone(), HashSet::new());
        loop {
            let mut answer = self.asked(caller, &wider, vector)?;
            let all = answer.hits.len();
            let hits = std::mem::take(&mut answer.hits);
            answer.hits = self.told(caller, hits, query.top_k, &mut lone)?;
            let is_whole = answer.hits.len() == all.min(query.top_k);
            if is_whole || all < wider.top_k || wider.top_k >= WIDEST {
                return Ok(answer);
            }
            wider.top_k = wider.top_k.saturating_mul(WIDER).min(WIDEST);
        }
    }

    /// The first hits that are told to the caller; `lone` are patterns that were looked up and are
    /// not.
    fn told(
        &self,
        caller: &Caller,
        hits: Vec<GlobalHit>,
        most: usize,
        lone: &mut HashSet<RecordId>,
    ) -> Result<Vec<GlobalHit>> {
        let (mut told, mut copies) = (Vec::with_capacity(most.min(hits.len())), HashSet::new());
        for hit in hits {
            if told.len() == most {
                break;
            }
            let id = hit.record.id;
            if hit.record.is_of_others(&caller.user) {
                if copies.contains(&id) || lone.contains(&id) || lone.len() >= PATTERNS_LONE_MAX {
                    continue;
                }
                if let Some(same) = self.of_several(caller, &hit.record)? {
                    copies.extend(same);
                } else {
                    lone.insert(id);
                    continue;
                }
            }
            told.push(hit);
        }
        Ok(told)
    }

    /// The patterns that say nearly the same as this one in its newest version, where so many
    /// authors have published one that none of them is known by it.
    pub(super) fn of_several(
        &self,
        caller: &Caller,
        record: &GlobalRecord,
    ) -> Result<Option<Vec<RecordId>>> {
        let newest = self.seen(caller, record.id)?.record;
        let (Some(space), true) = (newest.embedding_space, newest.version == record.version) else {
            return Ok(None);
        };
        let vector = Embedding::new(space, newest.embedding);
        let query = GlobalQuery {
            content_types: vec![GlobalContentType::Pattern],
            ..GlobalQuery::new(record.publication.search_text(), PATTERNS_NEAR)
        };
        let hits = self.asked(caller, &query, Some(&vector))?.hits;
        let (mut authors, mut same) = (HashSet::new(), Vec::new());
        for GlobalHit { record, .. } in hits {
            let newest = self.snapshot.current(record.id);
            let near = newest.and_then(|newest| self.snapshot.nearness(newest, &vector));
            if near.is_some_and(|near| near as f32 >= OVERLAP_FROM) {
                authors.insert(record.author_id);
                same.push(record.id);
            }
        }
        Ok((authors.len() >= PATTERN_AUTHORS_MIN).then_some(same))
    }
}
