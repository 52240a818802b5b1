//! Tags in one spelling: aliases from the configuration, doubts about new ones, merging.
//!
//! What a tag is called.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reprise_engine::Snapshot;
use reprise_knowledge::Definition;
use reprise_types::{MemoryRecord, RecordId, RejectReason, normal_tag, normal_tags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Memory;
use crate::problem::Problem;

/// Tags of fewer characters are alike by chance.
const ALIKE_CHARS_MIN: usize = 4;

/// What the configuration says of tags, each in its one spelling.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagRules {
    aliases: BTreeMap<String, String>,
    known: BTreeSet<String>,
}

impl TagRules {
    /// `aliases` lead from a spelling to the tag that is kept; `known` are the tags that a team has
    /// agreed on, none for no such list.
    pub fn new(
        aliases: impl IntoIterator<Item = (String, String)>,
        known: impl IntoIterator<Item = String>,
    ) -> Self {
        let pairs = aliases.into_iter();
        Self {
            aliases: pairs
                .filter_map(|(from, to)| Some((normal_tag(&from)?, normal_tag(&to)?)))
                .collect(),
            known: known
                .into_iter()
                .filter_map(|tag| normal_tag(&tag))
                .collect(),
        }
    }

    /// From a spelling to the tag that is kept.
    #[must_use]
    pub fn aliases(&self) -> &BTreeMap<String, String> {
        &self.aliases
    }

    /// The tags that are meant, each once.
    #[must_use]
    pub fn resolve(&self, tags: &[String]) -> Vec<String> {
        let normal = normal_tags(tags).into_iter();
        let meant = normal.map(|tag| self.aliases.get(&tag).cloned().unwrap_or(tag));
        normal_tags(&meant.collect::<Vec<_>>())
    }

    /// The aliases of these tags, each with the tag it leads to.
    pub(crate) fn aliases_of(&self, tags: &[String]) -> Vec<(String, String)> {
        let aliases = self.aliases.iter().filter(|(_, to)| tags.contains(to));
        aliases
            .map(|(from, to)| (from.clone(), to.clone()))
            .collect()
    }

    /// Every tag in use with the number of records that have it, also under an alias.
    fn counted(&self, memory: &Snapshot) -> Vec<(String, usize)> {
        let mut tags: BTreeMap<String, usize> = memory.tags().into_iter().collect();
        let aliased: BTreeSet<&String> = tags
            .keys()
            .filter_map(|tag| self.aliases.get(tag))
            .collect();
        let mut meant = Vec::new();
        for tag in aliased {
            let aliases = self.aliases_of(std::slice::from_ref(tag)).into_iter();
            let mut spellings: BTreeSet<String> = aliases.map(|(alias, _)| alias).collect();
            spellings.insert(tag.clone());
            let records = spellings.iter().flat_map(|tag| memory.tagged(tag));
            let records: BTreeSet<RecordId> = records.collect();
            meant.push((tag.clone(), records.len(), spellings));
        }
        for (tag, count, spellings) in meant {
            tags.retain(|tag, _| !spellings.contains(tag));
            tags.insert(tag, count);
        }
        tags.into_iter().collect()
    }

    /// A sentence for each tag that may be a slip: it is nearly one in use, or not on the list.
    /// What is agreed on, or used more than once, is meant; and nothing is recommended that is not.
    fn doubts(&self, tags: &[String], in_use: &[(String, usize)]) -> Vec<String> {
        let uses = |tag: &String| {
            let found = in_use.iter().find(|(used, _)| used == tag);
            found.map_or(0, |(_, count)| *count)
        };
        let new = tags
            .iter()
            .filter(|tag| !self.known.contains(*tag) && uses(tag) <= 1);
        new.filter_map(|tag| {
            let used = in_use.iter().map(|(used, _)| used);
            let mut others = self.known.iter().chain(used).filter(|other| *other != tag);
            let other = others.find(|other| alike(tag, other));
            let meant = |other: &String| self.known.contains(other) || uses(other) > 1;
            match other {
                Some(other) if meant(other) => {
                    Some(format!("`{tag}` is new here; is `{other}` meant?"))
                }
                Some(other) if uses(tag) == 0 => Some(format!(
                    "`{tag}` is nearly `{other}`, which one record has; give both one spelling"
                )),
                _ if self.known.is_empty() || tag.contains(':') => None,
                _ => Some(format!("`{tag}` is not among the known tags")),
            }
        })
        .collect()
    }
}

/// Refuses the tag of receipts among a caller's: what Reprise itself said of what left is read by
/// it.
pub(crate) fn refuse_receipts(tags: &[String]) -> Result<(), Problem> {
    if normal_tags(tags)
        .iter()
        .any(|tag| tag == MemoryRecord::RECEIPT)
    {
        return Err(Problem::invalid(RejectReason::Receipt));
    }
    Ok(())
}

/// Refuses to change what Reprise itself said of what left.
pub(crate) fn refuse_receipt(record: &MemoryRecord) -> Result<(), Problem> {
    if record.is_receipt() {
        return Err(Problem::invalid(format!(
            "`{}` is a receipt of what left this memory, and stays as it was written",
            record.id
        )));
    }
    Ok(())
}

/// Two spellings of what may be one word: the same letters and digits, with or without a plural's
/// `s`, or one edit apart.
fn alike(a: &str, b: &str) -> bool {
    let bare = |tag: &str| -> String { tag.chars().filter(|c| c.is_alphanumeric()).collect() };
    let (a, b) = (bare(a), bare(b));
    if a.strip_suffix('s') == Some(b.as_str()) || b.strip_suffix('s') == Some(a.as_str()) {
        return true;
    }
    let long = a.chars().count().min(b.chars().count()) >= ALIKE_CHARS_MIN;
    // Numbers that differ are different things: `v1` and `v2`, `ops-17` and `ops-18`.
    let digits = |tag: &str| -> String { tag.chars().filter(char::is_ascii_digit).collect() };
    a == b || (long && digits(&a) == digits(&b) && strsim::osa_distance(&a, &b) <= 1)
}

/// Two tags in use that may be one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Alike {
    /// The rarer one.
    pub tag: String,
    /// The one that it may be merged into.
    pub into: String,
}

impl Memory {
    /// What may be slips among a record's tags.
    pub(crate) async fn tag_doubts(&self, tags: &[String]) -> Result<Vec<String>, Problem> {
        if tags.is_empty() {
            return Ok(Vec::new());
        }
        let in_use = self.tags().await?;
        Ok(self
            .all
            .tag_rules
            .doubts(&self.all.tag_rules.resolve(tags), &in_use))
    }

    /// Every tag with the number of records that have it, the most used first.
    pub(crate) async fn tags(&self) -> Result<Vec<(String, usize)>, Problem> {
        if !self.exists() {
            return Ok(Vec::new());
        }
        let rules = Arc::clone(&self.all.tag_rules);
        let mut tags = self.read(move |memory| rules.counted(memory)).await?;
        // It marks a meaning of ours and says nothing of a record.
        tags.retain(|(tag, _)| tag != Definition::TAG);
        tags.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(tags)
    }

    /// The projects that records name in their metadata.
    pub(crate) async fn projects(&self) -> Result<Vec<String>, Problem> {
        if !self.exists() {
            return Ok(Vec::new());
        }
        self.read(Snapshot::projects).await
    }
}

/// The pairs in a list of tags, most used first, that may be one word.
pub(crate) fn alike_pairs(tags: &[(String, usize)]) -> Vec<Alike> {
    let mut pairs = Vec::new();
    for (place, (tag, _)) in tags.iter().enumerate() {
        let mut more_used = tags.iter().take(place).map(|(other, _)| other);
        if let Some(into) = more_used.find(|other| alike(tag, other)) {
            pairs.push(Alike {
                tag: tag.clone(),
                into: into.clone(),
            });
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn an_alias_leads_to_the_tag_that_is_kept() {
        let alias = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let rules = TagRules::new([alias("RS", "Rust"), alias("", "x")], words(&["rust"]));
        assert_eq!(rules.resolve(&words(&["rs", "Rust", "CI"])), ["rust", "ci"]);
    }

    #[test]
    fn a_slip_is_doubted_and_what_is_in_use_is_not() {
        let in_use = [("docker".to_owned(), 3), ("postgres".to_owned(), 2)];
        let rules = TagRules::default();
        for (tag, doubted) in [
            ("dokcer", true),
            ("dockers", true),
            ("docker", false),
            ("kubernetes", false),
            ("post-gres", true),
        ] {
            let doubts = rules.doubts(&words(&[tag]), &in_use);
            assert_eq!(!doubts.is_empty(), doubted, "{tag}: {doubts:?}");
        }
        let strict = TagRules::new([], words(&["rust"]));
        assert!(!strict.doubts(&words(&["kubernetes"]), &in_use).is_empty());
        assert!(strict.doubts(&words(&["project:x"]), &in_use).is_empty());
    }

    #[test]
    fn a_slip_that_was_kept_once_is_not_what_is_meant() {
        let rules = TagRules::default();
        let doubts = |tag: &str, in_use: &[(&str, usize)]| {
            let in_use: Vec<(String, usize)> = in_use
                .iter()
                .map(|(tag, n)| ((*tag).to_owned(), *n))
                .collect();
            rules.doubts(&words(&[tag]), &in_use).join(" ")
        };
        let both = [("docker", 1), ("dokcer", 1)];
        assert_eq!(doubts("docker", &both), "");
        assert_eq!(doubts("dokcer", &both), "");
        assert!(!doubts("docker", &[("dokcer", 1)]).contains("meant"));
        assert!(doubts("docker", &[("dokcer", 1)]).contains("one spelling"));
        assert!(doubts("dokcer", &[("docker", 2), ("dokcer", 1)]).contains("`docker` meant"));
        assert_eq!(doubts("docker", &[("docker", 2), ("dokcer", 1)]), "");
    }

    #[test]
    fn numbers_that_differ_are_different_things() {
        let tags = ["ops-17", "ops-18", "release", "releases", "ios", "aws"];
        let tags: Vec<(String, usize)> = tags.map(|tag| (tag.to_owned(), 1)).into();
        let pairs = alike_pairs(&tags);
        assert_eq!(pairs.len(), 1, "{pairs:?}");
        assert_eq!(
            (pairs[0].tag.as_str(), pairs[0].into.as_str()),
            ("releases", "release")
        );
    }
}
