//! A memory as a file: counted, made smaller, merged, written for others.

mod projections;
mod streams;

use reprise_engine::{EngineStats, MergeReport, OtherSpace};

use crate::prelude::*;

pub use projections::{
    ConfiguredProjection, Projected, ProjectionReport, ProjectionRequest, Rebuild,
    RebuildArguments, compare_with_memory, update_projections,
};
pub use streams::BodyParts;

operation! {
    Spec::for_reading("stats", "The memory in numbers.")
        .with_routes(&[(Method::Get, "/v1/users/{user}/stats")])
        .with_tool("stats", Profile::Full);
    Stats(memory, _: NoArguments) -> EngineStats {
        memory.stats().await
    }

    fn render_text(stats: &EngineStats) -> Cow<'_, str> {
        let records = format_count(stats.live, "memory");
        format!("{records} in {}", format_count(stats.sessions, "session")).into()
    }
}

/// A memory in numbers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Numbers {
    /// Live records that have a vector.
    pub total_vectors: u32,
    /// Bytes of the file.
    pub rvf_file_size_bytes: u64,
    /// When the newest record was kept; null means never.
    pub last_ingest_at: Option<DateTime<Utc>>,
    /// All of it.
    #[serde(flatten)]
    pub stats: EngineStats,
}

operation! {
    Spec::for_reading("host_stats", "ChoirOS: the memory in numbers.")
        .with_routes(&[(Method::Get, "/api/memory/stats")]);
    HostStats(memory, arguments: NoArguments) -> Numbers {
        let stats = Stats::run(memory, arguments).await?;
        Ok(Numbers {
            total_vectors: stats.live - stats.unembedded.min(stats.live),
            rvf_file_size_bytes: stats.file_bytes,
            last_ingest_at: stats.last_ingest,
            stats,
        })
    }
}

/// What is in force.
#[expect(clippy::struct_excessive_bools, reason = "the form is ChoirOS's")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "InForce")]
pub struct SettingsInForce {
    /// Memory is there.
    pub enabled: bool,
    /// Records are kept.
    pub ingest_enabled: bool,
    /// Questions are answered.
    pub retrieval_enabled: bool,
    /// Results of a recall that does not say.
    pub retrieval_top_k: usize,
    /// Outcomes change rankings.
    pub use_sona: bool,
}

operation! {
    Spec::for_reading("host_config", "ChoirOS: what is in force.")
        .with_routes(&[(Method::Get, "/api/memory/config")]);
    HostConfig(_, _: NoArguments) -> SettingsInForce {
        Ok(SettingsInForce {
            enabled: true,
            ingest_enabled: true,
            retrieval_enabled: true,
            retrieval_top_k: TOP_K_DEFAULT,
            use_sona: true,
        })
    }
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compacted {
    /// Size of the file before.
    pub bytes_before: u64,
    /// Size of the file after.
    pub bytes_after: u64,
    /// Records whose content was carried over.
    pub records: u32,
    /// Records of which only the stub was.
    pub forgotten: u32,
}

operation! {
    Spec::for_adding("compact", "Remove forgotten memories from the file.").with_routes(&[
        (Method::Post, "/v1/users/{user}/compact"),
        (Method::Post, "/api/memory/compact"),
    ]);
    Compact(memory, _: NoArguments) -> Compacted {
        // Who asks for it wants no more of what had its time.
        let now = memory.now();
        memory
            .run_on_engine(move |engine| engine.forget_expired(now, now))
            .await??;
        let report = memory.require_service()?.compact(memory.user()).await??;
        Ok(Compacted {
            bytes_before: report.bytes_before,
            bytes_after: report.bytes_after,
            records: report.records,
            forgotten: report.forgotten,
        })
    }
}

/// Batches of 32 texts that one request embeds: a second or two.
const BATCHES: usize = 4;

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reembedded {
    /// The space of the model in use, as `model/version`.
    pub space: Option<String>,
    /// Live records that have a vector of it.
    pub embedded: u32,
    /// Live records that wait for one.
    pub waiting: u32,
    /// The spaces in which records have their vector meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_spaces: Vec<OtherSpace>,
    /// Whether to ask again: there is more, and the model makes it.
    pub goes_on: bool,
}

operation! {
    Spec::for_adding(
        "reembed",
        "Make some of the vectors that wait for the model in use; ask again while it goes on.",
    );
    Reembed(memory, _: NoArguments) -> Reembedded {
        let mut goes_on = true;
        for _ in 0..BATCHES {
            goes_on = goes_on && memory.require_service()?.embed_waiting(memory.user()).await?;
        }
        let stats = memory.stats().await?;
        let EngineStats {
            space,
            embedded,
            unembedded,
            other_spaces,
            ..
        } = stats;
        Ok(Reembedded {
            space,
            embedded,
            waiting: unembedded,
            goes_on: goes_on && (unembedded > 0 || !other_spaces.is_empty()),
            other_spaces,
        })
    }

    fn render_text(done: &Reembedded) -> Cow<'_, str> {
        format!("{} embedded, {} waiting", done.embedded, done.waiting).into()
    }
}

/// It is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpointed {
    /// Always.
    pub checkpointed: bool,
}

operation! {
    Spec::for_adding(
        "checkpoint",
        "Write the derived parts now, so that the file can be copied and opens quickly.",
    )
    .with_routes(&[
        (Method::Post, "/v1/users/{user}/checkpoint"),
        (Method::Post, "/api/memory/snapshot"),
    ]);
    Checkpoint(memory, _: NoArguments) -> Checkpointed {
        memory.require_service()?.checkpoint(memory.user()).await??;
        Ok(Checkpointed { checkpointed: true })
    }
}

/// The name under which a branch knows its parent.
pub fn fork_stream_name(parent: &UserId) -> String {
    format!("fork/{parent}")
}

operation! {
    Spec::for_adding("merge", "Add what only a branch of this memory has.").with_machine_callers_only();
    /// Which branch.
    Merge(memory, asked: MergeArguments {
        /// The user id of the branch.
        pub branch: UserId,
    }) -> MergeReport {
        let MergeArguments { branch } = asked;
        let user = memory.user();
        memory.refuse_unknown_user()?;
        let stream = fork_stream_name(user);
        let other = memory.all_memories().user_memory(&branch);
        let is_branch = move |engine: &mut Engine| engine.stream_cursor(&stream).is_some();
        if !other.run_on_engine(is_branch).await? {
            return Err(Problem::invalid(format!(
                "`{branch}` is a memory, but no branch of `{user}`; `reprise branch list` names them"
            )));
        }
        let (theirs, now) = (other.snapshot().await?, memory.now());
        // Reads all records of both without blocking the writer.
        let compared = Arc::clone(&theirs);
        let diff = memory.run_on_snapshot(move |own| own.diff(&compared)).await?;
        let merge = move |engine: &mut Engine| engine.merge_diff(&theirs, diff, now);
        let report = memory.run_on_engine(merge).await??;
        if report.added + report.retagged > 0 {
            memory.announce_change("merged", Vec::new());
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests;
