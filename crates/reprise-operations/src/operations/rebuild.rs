//! Writing the files that other programs read, or comparing them with memory.

use std::path::PathBuf;

use reprise_knowledge::ProjectionKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec};
use crate::memories::{Memory, Projection};
use crate::problem::Problem;

/// Which files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Each with its place.
    pub projections: Vec<Wanted>,
    /// Take over files that another program wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopt: bool,
    /// Only say how they differ from memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compare: bool,
}

/// A projection and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// sunwell, ai-lessons, frames or markdown.
    pub kind: String,
    /// A folder, or of ai-lessons and frames a file.
    pub path: PathBuf,
    /// Only records of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Projected {
    /// In the order of the request.
    pub projections: Vec<Done>,
}

/// What was done to one projection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// Its kind.
    pub kind: String,
    /// Where it stands.
    pub path: PathBuf,
    /// Files that were written.
    pub written: usize,
    /// Files that said the same already.
    pub unchanged: usize,
    /// Files that stood for nothing any more.
    pub removed: usize,
    /// How it differs from memory, where that was asked for.
    pub differs: Vec<String>,
}

#[derive(Debug)]
pub struct Rebuild;

impl Operation for Rebuild {
    const SPEC: Spec = Spec::reads(
        "rebuild",
        "Write what other programs read: .sunwell/memory, knowledge.db, frames, Markdown.",
    )
    .for_machine();
    type Arguments = Arguments;
    type Answer = Projected;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Projected, Problem> {
        let mut done = Vec::with_capacity(arguments.projections.len());
        for wanted in arguments.projections {
            let kind: ProjectionKind = wanted.kind.parse().map_err(Problem::invalid)?;
            let projection = Projection {
                user: memory.user().clone(),
                kind,
                path: wanted.path.clone(),
                project: wanted.project,
            };
            let mut one = Done {
                kind: wanted.kind,
                path: wanted.path,
                written: 0,
                unchanged: 0,
                removed: 0,
                differs: Vec::new(),
            };
            if arguments.compare {
                one.differs = memory.differs(&projection).await?;
            } else {
                let rebuilt = memory.rebuild(&projection, arguments.adopt).await?;
                one.written = rebuilt.written;
                one.unchanged = rebuilt.unchanged;
                one.removed = rebuilt.removed;
            }
            done.push(one);
        }
        Ok(Projected { projections: done })
    }
}
