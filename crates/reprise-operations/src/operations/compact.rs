//! Rewriting the file without what was forgotten.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec, post};
use crate::memories::Memory;
use crate::problem::Problem;

/// None.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

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

#[derive(Debug)]
pub struct Compact;

impl Operation for Compact {
    const SPEC: Spec = Spec::adds("compact", "Remove the forgotten from the file.").at(&[
        post("/v1/users/{user}/compact"),
        post("/api/memory/compact"),
    ]);
    type Arguments = Arguments;
    type Answer = Compacted;

    async fn run(memory: &Memory, Arguments {}: Arguments) -> Result<Compacted, Problem> {
        // Who asks for it wants no more of what had its time.
        let now = memory.now();
        memory
            .with_engine(move |engine| engine.forget_over(now, now))
            .await??;
        let report = memory.compact().await??;
        Ok(Compacted {
            bytes_before: report.bytes_before,
            bytes_after: report.bytes_after,
            records: report.records,
            forgotten: report.forgotten,
        })
    }
}
