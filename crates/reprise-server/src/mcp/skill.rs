//! The Skills extension (SEP-2640): how to use this memory, served with it.
//!
//! One skill of one file, the same that the plugin folders carry.

use rmcp::ErrorData;
use rmcp::model::{Skill, SkillFrontmatter, SkillResource, SkillResources};
use serde_json::json;

/// The skill as its file has it.
pub const SKILL: &str = include_str!("../../skills/memory/SKILL.md");
/// Where it is read.
pub(super) const URI: &str = "skill://memory/SKILL.md";

/// The skill with its frontmatter and the digest of its bytes.
pub(super) fn skill() -> Skill {
    let head = SKILL.split("---").nth(1).unwrap_or_default();
    let field = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.strip_prefix(name));
        lines.next().unwrap_or_default()
    };
    let frontmatter = SkillFrontmatter::new(field("name: "), field("description: "));
    let file = SkillResource::from_bytes(URI, SKILL.as_bytes());
    Skill::new(URI, frontmatter, SkillResources::Files(vec![file]))
}

/// The skill of this address, of which there is one.
pub(super) fn get(uri: &str) -> Result<Skill, ErrorData> {
    if uri == URI {
        return Ok(skill());
    }
    let said = format!("there is one skill, `{URI}`; list the skills first");
    Err(ErrorData::resource_not_found(
        said,
        Some(json!({ "uri": uri })),
    ))
}
