//! Projects: which one a name means, of those that memories belong to.

use reprise_types::short_project_name;

use super::{Tagged, Tags, TagsArguments};
use crate::prelude::*;
use crate::wire::find_meant_name;

/// Prefix of a project's tag.
pub(crate) const PROJECT_TAG: &str = "project:";

impl Tagged {
    /// Returns the projects that memories belong to, by tag or by metadata, in order.
    #[must_use]
    pub fn project_names(&self) -> BTreeSet<&str> {
        let tagged = self.tags.iter();
        let tagged = tagged.filter_map(|one| one.tag.strip_prefix(PROJECT_TAG));
        tagged
            .chain(self.projects.iter().map(String::as_str))
            .collect()
    }
}

/// Finds the project that a name means: by its whole name, its last parts, or its short name;
/// `None` if no memory is of it.
///
/// # Errors
///
/// If the name may mean several.
pub fn find_meant_project(typed: &str, known: &BTreeSet<&str>) -> Result<Option<String>, Problem> {
    let word = typed.trim().to_lowercase();
    if let Some(whole) = known.iter().find(|name| name.to_lowercase() == word) {
        return Ok(Some((*whole).to_owned()));
    }
    let meant = known.iter().filter(|name| is_short_for(&word, name));
    let meant: Vec<&str> = meant.copied().collect();
    match meant.as_slice() {
        [] => Ok(None),
        [name] => Ok(Some((*name).to_owned())),
        several => {
            let several: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
            let several = several.join(" or ");
            Err(Problem::invalid(format!(
                "`{typed}` may be {several}; name the one that is meant"
            )))
        }
    }
}

/// Returns whether a word is a short name, as `api` for `api-1f2e3d4c`, and `api` and `acme/api`
/// for `github.com/acme/api`.
fn is_short_for(word: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let rest = name.strip_suffix(word);
    let is_end = !word.is_empty() && rest.is_some_and(|rest| rest.ends_with('/'));
    is_end || short_project_name(&name) == word
}

impl Memory {
    /// Returns the whole name of the project that a caller means; one that no memory is of only if
    /// it is new.
    pub(crate) async fn require_project(
        &self,
        typed: &str,
        is_new: bool,
    ) -> Result<String, Problem> {
        match self.find_project_named(typed).await? {
            Ok(name) => Ok(name),
            Err(_) if is_new => Ok(typed.to_owned()),
            Err(unknown) => Err(Problem::not_found(format!(
                "{unknown}, and `--new` allows one that has no memory yet"
            ))),
        }
    }

    /// Returns the whole name of the project that a caller means, of which there are memories.
    pub(crate) async fn require_project_with_memory(&self, typed: &str) -> Result<String, Problem> {
        let found = self.find_project_named(typed).await?;
        found.map_err(Problem::not_found)
    }

    /// Returns the whole name of the project that a caller means; else why there is none.
    async fn find_project_named(&self, typed: &str) -> Result<Result<String, String>, Problem> {
        if typed.starts_with(['.', '/', '~']) {
            return Err(Problem::invalid(format!(
                "`{typed}` is a folder; name its project, as `reprise tags` lists it"
            )));
        }
        let tagged = Tags::run(self, TagsArguments::default()).await?;
        let known = tagged.project_names();
        if let Some(name) = find_meant_project(typed, &known)? {
            return Ok(Ok(name));
        }
        let shorts = known.iter().map(|name| short_project_name(name));
        let names = known.iter().copied().chain(shorts);
        let names: Vec<&str> = names.collect();
        let similar = find_meant_name(typed, names.iter().copied());
        let similar = similar.map(|name| format!(" (did you mean `{name}`?)"));
        Ok(Err(format!(
            "no memory is of a project `{typed}`{}; `reprise tags` lists the projects",
            similar.unwrap_or_default()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_meant_by_its_whole_name_its_last_parts_or_its_short_name() {
        let all = [
            "api-1f2e3d4c",
            "github.com/acme/shop",
            "web",
            "git.org/x/web",
        ];
        let known = BTreeSet::from(all);
        for (typed, expected) in [
            ("api", Some("api-1f2e3d4c")),
            ("shop ", Some("github.com/acme/shop")),
            ("SHOP", Some("github.com/acme/shop")),
            ("acme/shop", Some("github.com/acme/shop")),
            ("github.com/acme/shop", Some("github.com/acme/shop")),
            ("web", Some("web")),
            ("x/web", Some("git.org/x/web")),
            ("me/shop", None),
            ("api-gateway", None),
            ("acme", None),
            ("", None),
        ] {
            let found = find_meant_project(typed, &known).unwrap();
            assert_eq!(found.as_deref(), expected, "{typed}");
        }
        let known = BTreeSet::from(["github.com/acme/shop", "github.com/bea/shop"]);
        let problem = find_meant_project("shop", &known).unwrap_err();
        assert!(problem.detail.contains("` or `"), "{problem:?}");
    }
}
