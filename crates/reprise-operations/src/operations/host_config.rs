//! What is in force, as ChoirOS asks for it; it is changed where the daemon is started.

use reprise_types::limits::TOP_K_DEFAULT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stats::Arguments;
use crate::catalogue::{Operation, Spec, get};
use crate::memories::Memory;
use crate::problem::Problem;

/// What is in force.
#[expect(clippy::struct_excessive_bools, reason = "the form is ChoirOS's")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InForce {
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

#[derive(Debug)]
pub struct HostConfig;

impl Operation for HostConfig {
    const SPEC: Spec =
        Spec::reads("host_config", "ChoirOS: what is in force.").at(&[get("/api/memory/config")]);
    type Arguments = Arguments;
    type Answer = InForce;

    async fn run(_: &Memory, Arguments {}: Arguments) -> Result<InForce, Problem> {
        Ok(InForce {
            enabled: true,
            ingest_enabled: true,
            retrieval_enabled: true,
            retrieval_top_k: TOP_K_DEFAULT,
            use_sona: true,
        })
    }
}
