//! Making two tags one.

use std::borrow::Cow;

use reprise_engine::Engine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Profile, Spec};
use crate::memories::{Memory, counted, refuse_receipts};
use crate::problem::Problem;

/// Which tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The tag to leave.
    #[schemars(regex(pattern = r"\S"))]
    pub from: String,
    /// The tag to keep.
    #[schemars(regex(pattern = r"\S"))]
    pub into: String,
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergedTags {
    /// Records that had the tag.
    pub merged: usize,
    /// The tag that they had.
    pub from: String,
    /// The tag that they have now.
    pub into: String,
}

#[derive(Debug)]
pub struct MergeTags;

impl Operation for MergeTags {
    const SPEC: Spec = Spec::destroys(
        "merge_tags",
        "Give every record that has one tag another one in its place.",
    )
    .tool("merge_tags", Profile::Full);
    type Arguments = Arguments;
    type Answer = MergedTags;

    async fn run(
        memory: &Memory,
        Arguments { from, into }: Arguments,
    ) -> Result<MergedTags, Problem> {
        let now = memory.now();
        let tags = [from.clone(), into.clone()];
        refuse_receipts(&tags)?;
        let merge = move |engine: &mut Engine| engine.merge_tag(&tags[0], &tags[1], now);
        let merged = memory.with_engine(merge).await??;
        if merged > 0 {
            memory.tell("retagged", Vec::new());
        }
        Ok(MergedTags { merged, from, into })
    }

    fn text(done: &MergedTags) -> Cow<'_, str> {
        let MergedTags { merged, from, into } = done;
        let merged = counted(*merged, "record");
        format!("{merged} with `{into}` instead of `{from}` now").into()
    }
}
