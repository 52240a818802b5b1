//! Making a long session's observations fewer (Story 3.8): old ones are put behind a summary of
//! their own words, errors and decisions stay, and all of it can be taken back.

use reprise_knowledge::{FramePlan, FrameRules, plan_frame_compaction};
use reprise_types::limits::LIST_ITEMS_MAX;

use crate::prelude::*;

/// What was done, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// Nothing was done.
    pub dry_run: bool,
    /// Frames that were looked at.
    pub frames_processed: usize,
    /// Frames that a summary replaces now.
    pub frames_compacted: usize,
    /// Those that stayed.
    pub frames_preserved: usize,
    /// Summaries that were made.
    pub summaries_created: usize,
    /// Of all frames, four characters each.
    pub tokens_before: usize,
    /// Of what stays and the summaries.
    pub tokens_after: usize,
    /// What that saves, of 100.
    pub reduction_percentage: f64,
    /// The summaries.
    pub summaries: Vec<RecordId>,
}

operation! {
    Spec::for_destroying(
        "compact_observations",
        "ralph: put old observations of long sessions behind summaries of their own words.",
    );
    /// How far; the defaults are the original's.
    #[derive(Default)]
    CompactObservations(memory, asked: Arguments {
        /// Only this session; every one by default, each on its own.
        pub session | "session_id": Option<String> as StoredSession,
        /// Only say what would be done.
        pub dry_run: bool,
        /// Sessions with fewer frames are left alone; 50 by default.
        pub threshold_frames: Option<usize> as ItemCount,
        /// The newest frames, which stay; 10 by default.
        pub recent_count: Option<usize> as ItemCount,
        /// Those before them, of which what matters stays; 20 by default.
        pub medium_count: Option<usize> as ItemCount,
        /// Of one summary; 500 by default.
        pub max_summary_tokens: Option<usize> as ItemCount,
        /// Errors may go, too.
        pub compact_errors: bool,
        /// Decisions may go, too.
        pub compact_decisions: bool,
    }) -> Compaction {
        let default = FrameRules::default();
        let rules = FrameRules {
            threshold_frames: asked.threshold_frames.unwrap_or(default.threshold_frames),
            recent_count: asked.recent_count.unwrap_or(default.recent_count),
            medium_count: asked.medium_count.unwrap_or(default.medium_count),
            max_summary_tokens: asked
                .max_summary_tokens
                .unwrap_or(default.max_summary_tokens),
            preserve_errors: !asked.compact_errors,
            preserve_decisions: !asked.compact_decisions,
        };
        let session = asked.session;
        let plan = memory.run_on_snapshot(move |memory| {
            let records = memory.records().filter_map(Result::ok);
            let own = records.filter(|one| {
                session
                    .as_ref()
                    .is_none_or(|session| one.session_id == *session)
            });
            plan_frame_compaction(&own.collect::<Vec<_>>(), &rules)
        });
        let plan = plan.await?;
        let summaries = if asked.dry_run {
            Vec::new()
        } else {
            apply_frame_plan(memory, &plan).await?
        };
        Ok(Compaction {
            dry_run: asked.dry_run,
            frames_processed: plan.frames_processed,
            frames_compacted: plan.frames_compacted,
            frames_preserved: plan.frames_preserved,
            summaries_created: plan.summaries.len(),
            tokens_before: plan.tokens_before,
            tokens_after: plan.tokens_after,
            reduction_percentage: plan.reduction_percentage(),
            summaries,
        })
    }
}

/// Keeps each summary, and retires what it replaces.
async fn apply_frame_plan(memory: &Memory, plan: &FramePlan) -> Result<Vec<RecordId>, Problem> {
    let mut summaries = Vec::with_capacity(plan.summaries.len());
    for one in &plan.summaries {
        let mut record = one.observation.to_record(&one.session);
        record.timestamp = Some(one.at);
        // The whole list is in its metadata.
        let originals = one.originals.iter().take(LIST_ITEMS_MAX);
        record.provenance.source_refs = originals.map(RecordId::to_string).collect();
        // Each by a name of its own, where the request has one.
        let key = memory
            .request_key()
            .map(|key| format!("{key} {}", summaries.len()));
        let mut keeping = memory.clone().with_request_key(key);
        keeping.options.stands_for.clone_from(&one.originals);
        let id = keeping.store_new(record).await?;
        memory.announce_change("updated", one.originals.clone());
        summaries.push(id);
    }
    Ok(summaries)
}
