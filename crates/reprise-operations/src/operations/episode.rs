//! The records of one run or session.

use reprise_types::MemoryRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::episodes::name_of;
use crate::catalogue::{Operation, Spec, get};
use crate::memories::Memory;
use crate::problem::Problem;

/// Which episode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id: the run's, else the session's.
    pub id: String,
}

/// An episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// Its id.
    pub id: String,
    /// Oldest first, without their vectors.
    pub records: Vec<MemoryRecord>,
}

#[derive(Debug)]
pub struct Episode;

impl Operation for Episode {
    const SPEC: Spec = Spec::reads("episode", "The records of one run or session.").at(&[
        get("/v1/users/{user}/episodes/{id}"),
        get("/api/memory/episodes/{id}"),
    ]);
    type Arguments = Arguments;
    type Answer = Found;

    async fn run(memory: &Memory, Arguments { id }: Arguments) -> Result<Found, Problem> {
        let wanted = id.clone();
        let read = memory.read(move |memory| {
            let records = memory.records().filter_map(Result::ok);
            let of_it = records.filter(|record| name_of(record) == wanted);
            of_it.map(MemoryRecord::without_vector).collect::<Vec<_>>()
        });
        let records = read.await?;
        if records.is_empty() {
            let id: String = id.chars().take(64).collect();
            return Err(Problem::not_found(format!(
                "there is no episode `{id}` in this memory; `/api/memory/episodes` lists them"
            )));
        }
        Ok(Found { id, records })
    }
}
