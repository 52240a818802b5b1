//! The project that a lesson belongs to, as its tag says: a lesson of one project is not put into
//! the prompts of others.

use reprise_types::normalize_tag;

use crate::operations::tags::PROJECT_TAG;
use crate::prelude::*;

/// Name that means no project: the lesson holds in all of them.
const NO_PROJECT: &str = "none";

/// Returns the project that a record's tags name.
pub(crate) fn project_of_tags(tags: &[String]) -> Option<&str> {
    tags.iter().find_map(|tag| tag.strip_prefix(PROJECT_TAG))
}

/// Returns the tags that name no project.
pub(super) fn without_project_tags(tags: &[String]) -> Vec<String> {
    let others = tags.iter().filter(|tag| !is_project_tag(tag));
    others.cloned().collect()
}

fn is_project_tag(tag: &str) -> bool {
    normalize_tag(tag).is_some_and(|tag| tag.starts_with(PROJECT_TAG))
}

impl Memory {
    /// Returns the tags of a lesson with that of the project that it is for, in place of others;
    /// [`NO_PROJECT`] leaves none. Without a project the tags stay as they are.
    pub(super) async fn tag_with_project(
        &self,
        tags: Vec<String>,
        project: Option<&str>,
    ) -> Result<Vec<String>, Problem> {
        let Some(project) = project.map(str::trim).filter(|name| !name.is_empty()) else {
            return Ok(tags);
        };
        let mut tags = without_project_tags(&tags);
        if !project.eq_ignore_ascii_case(NO_PROJECT) {
            let name = self.require_project(project, true).await?;
            tags.push([PROJECT_TAG, &name].concat());
        }
        Ok(tags)
    }
}
