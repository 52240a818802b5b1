//! `reprise recall --scope`: what others published, beside the user's own.

use std::sync::Arc;

use reprise_global::{Caller, GlobalQuery, GlobalStore, Scores, Thresholds, merged};
use reprise_operations::{Answer, Hit};
use reprise_types::{Degraded, Recall, RecallScope, RetrievedMemory, UserId, Verdict};

use super::store;
use crate::cli::Context;

/// The global store, asked for one user.
pub(crate) struct Others {
    store: Arc<dyn GlobalStore>,
    caller: Caller,
    runtime: tokio::runtime::Runtime,
    scope: RecallScope,
}

impl Others {
    /// What a scope needs; nothing for the user's own memory alone.
    pub(crate) fn open(
        context: &Context,
        user: &UserId,
        scope: RecallScope,
    ) -> anyhow::Result<Option<Self>> {
        if scope == RecallScope::Local {
            return Ok(None);
        }
        let (store, caller) = match scope {
            RecallScope::Global => store::open(context, user)?,
            _ => store::open_within(context, user, None)?,
        };
        let runtime = crate::cli::runtime::asking()?;
        Ok(Some(Self {
            store,
            caller,
            runtime,
            scope,
        }))
    }

    /// Whether the user's own memory is asked at all.
    pub(crate) fn is_alone(&self) -> bool {
        self.scope == RecallScope::Global
    }

    fn ask(
        &self,
        query: &str,
        top_k: usize,
    ) -> anyhow::Result<(Vec<RetrievedMemory>, Vec<Degraded>)> {
        let query = GlobalQuery::new(query, top_k);
        let asked = self
            .runtime
            .block_on(self.store.query(&self.caller, &query));
        match asked {
            Ok(answer) => {
                let hits = answer.hits.into_iter().map(RetrievedMemory::from);
                Ok((hits.collect(), answer.degraded))
            }
            Err(error) if self.is_alone() => Err(error.into()),
            Err(error) => {
                crate::cli::note(&format!("degraded: {error}"));
                Ok((Vec::new(), vec![Degraded::NoGlobal]))
            }
        }
    }

    /// An answer with what others know, each result saying where it is from.
    pub(crate) fn widen(
        &self,
        mut answer: Answer,
        query: &str,
        top_k: usize,
    ) -> anyhow::Result<Answer> {
        let (found, degraded) = self.ask(query, top_k)?;
        for hit in &mut answer.results {
            hit.scope = Some(RecallScope::Local);
        }
        let global: Vec<Hit> = found.into_iter().map(told).collect();
        let own = std::mem::take(&mut answer.results);
        let scores = |hit: &Hit| Scores {
            score: hit.score,
            sona_score: hit.sona_score,
            quality: hit.quality,
        };
        answer.considered = answer.considered.saturating_add(global.len() as u32);
        answer.results = merged(own, global, top_k, Thresholds::default(), scores);
        let best = answer.results.iter().map(|hit| hit.score);
        answer.verdict = Verdict::of(best.reduce(f32::max)).max(answer.verdict);
        answer.nothing_relevant = answer.verdict == Verdict::Nothing;
        for part in degraded {
            if !answer.degraded.contains(&part) {
                answer.degraded.push(part);
            }
        }
        Ok(answer)
    }

    /// The same for what becomes a text for a prompt.
    pub(crate) fn widen_recall(
        &self,
        mut recall: Recall,
        query: &str,
        top_k: usize,
    ) -> anyhow::Result<Recall> {
        let (found, degraded) = self.ask(query, top_k)?;
        let own = std::mem::take(&mut recall.results);
        let scores = |found: &RetrievedMemory| Scores {
            score: found.score,
            sona_score: found.sona_score,
            quality: found.published.as_ref().map(|by| by.quality),
        };
        recall.results = merged(own, found, top_k, Thresholds::default(), scores);
        let best = recall.results.iter().map(|found| found.score);
        recall.verdict = Verdict::of(best.reduce(f32::max)).max(recall.verdict);
        recall.nothing_relevant = recall.verdict == Verdict::Nothing;
        recall.degraded.extend(degraded);
        Ok(recall)
    }
}

/// A hit whose plain line says who published it.
fn told(found: RetrievedMemory) -> Hit {
    let mut hit = Hit::from(found);
    if let (Some(author), Some(version)) = (&hit.author, &hit.version) {
        let reason = &hit.reason;
        hit.reason = match reason.as_str() {
            "" => format!("published by {author}, version {version}"),
            _ => format!("published by {author}, version {version}; {reason}"),
        };
    }
    hit
}
