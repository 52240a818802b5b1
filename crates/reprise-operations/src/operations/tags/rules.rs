//! Tags in one spelling: aliases from the configuration, doubts about new ones, merging.
//!
//! What a tag is called.

use std::ops::RangeInclusive;

use reprise_knowledge::TagRelation;
use reprise_types::{RejectReason, normalize_tag};

use crate::prelude::*;

/// Tags of fewer characters are alike by chance, and of more nobody compares the letters.
const ALIKE_CHARS: RangeInclusive<usize> = 4..=64;

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
                .filter_map(|(from, to)| Some((normalize_tag(&from)?, normalize_tag(&to)?)))
                .collect(),
            known: known
                .into_iter()
                .filter_map(|tag| normalize_tag(&tag))
                .collect(),
        }
    }

    /// From a spelling to the tag that is kept.
    pub fn aliases(&self) -> &BTreeMap<String, String> {
        &self.aliases
    }

    /// The tags that are meant, each once.
    pub fn resolve_tags(&self, tags: &[String]) -> Vec<String> {
        let normal = normalize_tags(tags).into_iter();
        let meant = normal.map(|tag| self.aliases.get(&tag).cloned().unwrap_or(tag));
        normalize_tags(&meant.collect::<Vec<_>>())
    }

    /// The aliases of these tags, each with the tag it leads to.
    pub(crate) fn list_aliases_of(&self, tags: &[String]) -> Vec<(String, String)> {
        let aliases = self.aliases.iter().filter(|(_, to)| tags.contains(to));
        aliases
            .map(|(from, to)| (from.clone(), to.clone()))
            .collect()
    }

    /// Every tag in use with the number of records that have it, also under an alias.
    fn count_tags(&self, memory: &Snapshot) -> Vec<(String, usize)> {
        let mut tags: BTreeMap<String, usize> = memory.tag_counts().into_iter().collect();
        let aliased: BTreeSet<&String> = tags
            .keys()
            .filter_map(|tag| self.aliases.get(tag))
            .collect();
        let mut meant = Vec::new();
        for tag in aliased {
            let aliases = self.list_aliases_of(std::slice::from_ref(tag)).into_iter();
            let mut spellings: BTreeSet<String> = aliases.map(|(alias, _)| alias).collect();
            spellings.insert(tag.clone());
            let records = spellings.iter().flat_map(|tag| memory.ids_with_tag(tag));
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
    fn list_tag_doubts(&self, tags: &[String], in_use: &[(String, usize)]) -> Vec<String> {
        let counts: HashMap<&str, usize> = in_use
            .iter()
            .map(|(tag, count)| (tag.as_str(), *count))
            .collect();
        let uses = |tag: &str| counts.get(tag).copied().unwrap_or_default();
        let new = tags.iter().map(String::as_str);
        let new = new.filter(|tag| !self.known.contains(*tag) && uses(tag) <= 1);
        let new: Vec<&str> = new.collect();
        let used = in_use.iter().map(|(used, _)| used.as_str());
        let others = self.known.iter().map(String::as_str).chain(used);
        let others = SpellingIndex::find_first_alike(&new, others);
        let one = new.iter().zip(others);
        one.filter_map(|(tag, other)| {
            let meant = |other: &str| self.known.contains(other) || uses(other) > 1;
            match other {
                Some(other) if meant(other) => {
                    Some(format!("`{tag}` is new here; is `{other}` meant?"))
                }
                Some(other) if uses(tag) == 0 => Some(format!(
                    "`{tag}` is nearly `{other}`, which one memory has; give both one spelling"
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
pub(crate) fn refuse_receipt_tag(tags: &[String]) -> Result<(), Problem> {
    if normalize_tags(tags)
        .iter()
        .any(|tag| tag == MemoryRecord::RECEIPT_TAG)
    {
        return Err(Problem::invalid(RejectReason::Receipt));
    }
    Ok(())
}

/// Refuses to change what Reprise itself said of what left.
pub(crate) fn refuse_receipt_change(record: &MemoryRecord) -> Result<(), Problem> {
    if record.is_receipt() {
        return Err(Problem::invalid(format!(
            "`{}` is a receipt of what left this memory, and stays as it was written",
            record.id
        )));
    }
    Ok(())
}

/// A tag as slips are looked for in it.
struct Spelling<'a> {
    tag: &'a str,
    /// Its letters and digits.
    bare: String,
    digits: String,
}

impl<'a> Spelling<'a> {
    fn new(tag: &'a str) -> Self {
        Self {
            tag,
            bare: tag.chars().filter(|c| c.is_alphanumeric()).collect(),
            digits: tag.chars().filter(char::is_ascii_digit).collect(),
        }
    }

    /// What one slip may have left: two spellings of what may be one word have one in common.
    fn list_slip_traces(&self) -> impl Iterator<Item = String> {
        let singular = self.bare.strip_suffix('s').map(str::to_owned);
        let near = ALIKE_CHARS.contains(&self.bare.chars().count());
        let places = self.bare.char_indices().filter(move |_| near);
        let shorter = places.map(|(at, c)| {
            let (before, after) = self.bare.split_at(at);
            [before, after.get(c.len_utf8()..).unwrap_or_default()].concat()
        });
        std::iter::once(self.bare.clone())
            .chain(singular)
            .chain(shorter)
    }

    /// Two spellings of what may be one word: the same letters and digits, with or without a
    /// plural's `s`, or one edit apart.
    fn is_like(&self, other: &Self) -> bool {
        let (a, b) = (&self.bare, &other.bare);
        let plural = |one: &str, two: &str| one.strip_suffix('s') == Some(two);
        if a == b || plural(a, b) || plural(b, a) {
            return true;
        }
        let near = |bare: &str| ALIKE_CHARS.contains(&bare.chars().count());
        // Numbers that differ are different things: `v1` and `v2`, `ops-17` and `ops-18`.
        near(a) && near(b) && self.digits == other.digits && strsim::osa_distance(a, b) <= 1
    }
}

/// Tags by the traces of one slip, so that those alike are found without comparing all pairs.
#[derive(Default)]
struct SpellingIndex<'a> {
    all: Vec<Spelling<'a>>,
    by_trace: HashMap<String, Vec<usize>>,
}

impl<'a> SpellingIndex<'a> {
    fn push(&mut self, spelling: Spelling<'a>) {
        for trace in spelling.list_slip_traces() {
            let places = self.by_trace.entry(trace).or_default();
            if places.last() != Some(&self.all.len()) {
                places.push(self.all.len());
            }
        }
        self.all.push(spelling);
    }

    /// The places of those that are like this one and have another name, in order for each trace.
    fn find_alike<'s>(
        &'s self,
        spelling: &'s Spelling<'_>,
    ) -> impl Iterator<Item = impl Iterator<Item = usize>> {
        let is_like = |place: &usize| {
            let other = self.all.get(*place);
            other.is_some_and(|other| other.tag != spelling.tag && other.is_like(spelling))
        };
        let near = spelling
            .list_slip_traces()
            .filter_map(|trace| self.by_trace.get(&trace));
        near.map(move |places| places.iter().copied().filter(is_like))
    }

    /// Of each tag the first of `others` that it may be.
    fn find_first_alike<'b>(
        tags: &[&'a str],
        others: impl Iterator<Item = &'b str>,
    ) -> Vec<Option<&'b str>> {
        let mut likes = Self::default();
        for tag in tags {
            likes.push(Spelling::new(tag));
        }
        let mut first = vec![None; tags.len()];
        for other in others {
            for place in likes.find_alike(&Spelling::new(other)).flatten() {
                if let Some(first) = first.get_mut(place) {
                    first.get_or_insert(other);
                }
            }
        }
        first
    }
}

/// Two tags in use that may be one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Alike")]
pub struct AlikeTags {
    /// The rarer one.
    pub tag: String,
    /// The one that it may be merged into.
    pub into: String,
}

impl Memory {
    /// What may be slips among a record's tags.
    pub(crate) async fn find_tag_doubts(&self, tags: &[String]) -> Result<Vec<String>, Problem> {
        if tags.is_empty() {
            return Ok(Vec::new());
        }
        let around = Arc::clone(&self.all.around);
        let tags = around.tags.resolve_tags(tags);
        self.run_on_tag_counts(move |in_use| around.tags.list_tag_doubts(&tags, in_use))
            .await
    }

    /// What is made of every tag with the number of records that have it, the most used first, on
    /// a thread that may take its time.
    pub(crate) async fn run_on_tag_counts<T: Send + 'static>(
        &self,
        look: impl FnOnce(&[(String, usize)]) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        if !self.exists() {
            return Ok(look(&[]));
        }
        let around = Arc::clone(&self.all.around);
        self.run_on_snapshot(move |memory| {
            let mut tags = around.tags.count_tags(memory);
            // It marks a meaning of ours and says nothing of a record.
            tags.retain(|(tag, _)| {
                ![EvidenceDefinition::TAG, TagRelation::TAG].contains(&tag.as_str())
            });
            tags.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            look(&tags)
        })
        .await
    }
}

/// The pairs in a list of tags, most used first, that may be one word.
pub(crate) fn find_alike_pairs(tags: &[(String, usize)]) -> Vec<AlikeTags> {
    let mut more_used = SpellingIndex::default();
    let mut pairs = Vec::new();
    for (tag, _) in tags {
        let spelling = Spelling::new(tag);
        let first = more_used
            .find_alike(&spelling)
            .filter_map(|mut like| like.next())
            .min();
        if let Some(into) = first.and_then(|first| more_used.all.get(first)) {
            pairs.push(AlikeTags {
                tag: tag.clone(),
                into: into.tag.to_owned(),
            });
        }
        more_used.push(spelling);
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
        assert_eq!(
            rules.resolve_tags(&words(&["rs", "Rust", "CI"])),
            ["rust", "ci"]
        );
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
            let doubts = rules.list_tag_doubts(&words(&[tag]), &in_use);
            assert_eq!(!doubts.is_empty(), doubted, "{tag}: {doubts:?}");
        }
        let strict = TagRules::new([], words(&["rust"]));
        assert!(
            !strict
                .list_tag_doubts(&words(&["kubernetes"]), &in_use)
                .is_empty()
        );
        assert!(
            strict
                .list_tag_doubts(&words(&["project:x"]), &in_use)
                .is_empty()
        );
    }

    #[test]
    fn a_slip_that_was_kept_once_is_not_what_is_meant() {
        let rules = TagRules::default();
        let doubts = |tag: &str, in_use: &[(&str, usize)]| {
            let in_use: Vec<(String, usize)> = in_use
                .iter()
                .map(|(tag, n)| ((*tag).to_owned(), *n))
                .collect();
            rules.list_tag_doubts(&words(&[tag]), &in_use).join(" ")
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
    fn alike_are_those_of_which_a_comparison_of_all_says_so() {
        let mut tags = words(&[
            "ab", "abs", "release", "releases", "relaese", "re-lease", "ops-1",
        ]);
        for (at, letter) in ('a'..='z').flat_map(|letter| (0..6).map(move |at| (at, letter))) {
            let mut tag = String::from("docker");
            tag.insert(at, letter);
            tags.push(tag.clone());
            tag.remove(5 - at);
            tags.push(tag);
        }
        tags.sort();
        tags.dedup();
        let counted: Vec<(String, usize)> = tags.iter().map(|tag| (tag.clone(), 1)).collect();
        let found: Vec<(String, String)> = find_alike_pairs(&counted)
            .into_iter()
            .map(|pair| (pair.tag, pair.into))
            .collect();
        let all = tags.iter().enumerate().filter_map(|(place, tag)| {
            let mut before = tags.iter().take(place);
            let like = |other: &&String| Spelling::new(tag).is_like(&Spelling::new(other));
            Some((tag.clone(), before.find(like)?.clone()))
        });
        assert_eq!(found, all.collect::<Vec<_>>());
        assert!(found.len() > 100, "{}", found.len());
    }

    #[test]
    fn numbers_that_differ_are_different_things() {
        let tags = ["ops-17", "ops-18", "release", "releases", "ios", "aws"];
        let tags: Vec<(String, usize)> = tags.map(|tag| (tag.to_owned(), 1)).into();
        let pairs = find_alike_pairs(&tags);
        assert_eq!(pairs.len(), 1, "{pairs:?}");
        assert_eq!(
            (pairs[0].tag.as_str(), pairs[0].into.as_str()),
            ("releases", "release")
        );
    }
}
