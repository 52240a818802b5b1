//! The rulebook: what becomes of a publication, a draft, a merge, a branch; which patterns and
//! overlaps are told. Both stores look up what is stored, ask here, and carry out the answer; none
//! decides by itself.

use std::collections::{BTreeMap, HashSet};

use reprise_types::{RecordId, UserId};

use crate::caller::{Caller, Shelf};
use crate::error::{GlobalError, GlobalResult};
use crate::published::{Overlap, Published};
use crate::record::{GlobalRecord, PATTERN_AUTHORS_MIN, Publication, Version};
use crate::store::{
    BRANCH_THINGS_MAX, BRANCHES_MAX, OVERLAP_FROM, OVERLAPS_MAX, PATTERNS_LONE_MAX,
    name_taken_error,
};

/// What is published of an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedState {
    pub id: RecordId,
    pub version: u32,
    pub checksum: String,
    /// The name of the shelf.
    pub shelf: String,
}

/// The draft of an origin on a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftState {
    pub id: RecordId,
    pub checksum: String,
    /// The version that it is to follow; 0 where there was none.
    pub base: u32,
}

/// What becomes of a publication. Each has the thing's id, where there is one, and its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Publishing {
    /// Its bytes are published already.
    Unchanged(RecordId, Version),
    Next(Option<RecordId>, Version),
}

/// What becomes of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drafting {
    /// The author is back at what is published: the draft is removed.
    Withdrawn(RecordId, Version),
    /// Its bytes are on the branch already.
    Unchanged(RecordId, Version),
    /// It replaces the draft that is there, or is new.
    Replace(Option<RecordId>, Version),
}

impl Publishing {
    /// Returns the version, and whether it is published already.
    pub fn version_and_is_published(self) -> (Version, bool) {
        match self {
            Self::Unchanged(_, version) => (version, true),
            Self::Next(_, version) => (version, false),
        }
    }
}

/// Returns the shelf of a publication; refuses one for an organisation or a project
/// that its caller is not in.
pub fn publication_shelf(caller: &Caller, publication: &Publication) -> GlobalResult<Shelf> {
    Shelf::for_publication(caller, publication).ok_or_else(|| {
        let user = caller.user.to_string();
        match (&caller.org, &publication.project) {
            (Some(_), Some(project)) => GlobalError::NoProject {
                user,
                project: project.to_string(),
            },
            _ => GlobalError::NoOrganisation { user },
        }
    })
}

/// Builds the report for an author, without overlaps.
pub fn build_published_report(
    id: RecordId,
    version: Version,
    publication: &Publication,
    unchanged: bool,
) -> Published {
    Published {
        id,
        version,
        bytes: publication.to_json_bytes().len(),
        unchanged,
        overlaps: Vec::new(),
        awaits_review: false,
    }
}

/// A thing stays on its shelf for as long as it is published, and the same bytes are one version.
pub fn decide_publish(
    standing: Option<&PublishedState>,
    shelf: &Shelf,
    checksum: &str,
) -> GlobalResult<Publishing> {
    let Some(standing) = standing else {
        return Ok(Publishing::Next(None, Version(1)));
    };
    let id = standing.id;
    if standing.shelf != shelf.to_string() {
        let was = standing.shelf.clone();
        return Err(GlobalError::PolicyChanged { id, was });
    }
    if standing.checksum == checksum {
        return Ok(Publishing::Unchanged(id, Version(standing.version)));
    }
    Ok(Publishing::Next(Some(id), Version(standing.version + 1)))
}

/// A draft is the version after what is published when it is put on the branch, which holds `held`
/// things.
pub fn decide_draft(
    branch: &str,
    standing: Option<&PublishedState>,
    before: Option<&DraftState>,
    held: usize,
    (shelf, checksum): (&Shelf, &str),
) -> GlobalResult<Drafting> {
    let (thing, version) = match decide_publish(standing, shelf, checksum)? {
        Publishing::Unchanged(id, version) => return Ok(Drafting::Withdrawn(id, version)),
        Publishing::Next(thing, version) => (thing, version),
    };
    let Some(before) = before else {
        if held >= BRANCH_THINGS_MAX {
            return Err(GlobalError::invalid(format!(
                "branch `{branch}` holds {BRANCH_THINGS_MAX} things, which is the limit; merge it, \
                 and go on with another"
            )));
        }
        return Ok(Drafting::Replace(thing, version));
    };
    let known = thing.unwrap_or(before.id);
    if before.checksum == checksum && before.base + 1 == version.0 {
        return Ok(Drafting::Unchanged(known, version));
    }
    Ok(Drafting::Replace(Some(known), version))
}

/// What was published meanwhile is not written over: a draft follows the version that it began
/// from, unless the very same bytes are published already.
pub fn decide_merge(
    branch: &str,
    standing: Option<&PublishedState>,
    draft: &DraftState,
    shelf: &Shelf,
) -> GlobalResult<Publishing> {
    let decided = decide_publish(standing, shelf, &draft.checksum)?;
    match decided {
        Publishing::Next(thing, version) if version.0 != draft.base + 1 => {
            Err(GlobalError::BranchMoved {
                id: thing.unwrap_or(draft.id),
                branch: branch.to_owned(),
                was: draft.base,
                now: version.0 - 1,
            })
        }
        decided => Ok(decided),
    }
}

/// An author has so many branches open, each under a name of its own.
pub fn decide_branch(name: &str, is_taken: bool, open: usize) -> GlobalResult<()> {
    if is_taken {
        return Err(name_taken_error("branch", name));
    }
    if open >= BRANCHES_MAX {
        return Err(GlobalError::invalid(format!(
            "there are {BRANCHES_MAX} branches open, which is the limit; merge or drop one"
        )));
    }
    Ok(())
}

/// What an import has to write.
#[derive(Debug, Default)]
pub struct ImportPlan {
    pub new: Vec<Publication>,
    /// The next versions of what their author has published.
    pub changed: Vec<Publication>,
}

/// Plans an import: what is published already is neither embedded nor written again, and of two
/// with one origin the first counts. `published` has the checksum of each origin of the author.
pub fn plan_import(
    publications: Vec<Publication>,
    published: &BTreeMap<String, String>,
) -> ImportPlan {
    let (mut plan, mut origins) = (ImportPlan::default(), HashSet::new());
    for publication in publications {
        match published.get(&publication.origin) {
            None if origins.insert(publication.origin.clone()) => plan.new.push(publication),
            Some(checksum) if *checksum != publication.checksum() => plan.changed.push(publication),
            None | Some(_) => {}
        }
    }
    plan
}

/// Which patterns of others an answer tells: of those that say nearly the same one, and none of too
/// few authors.
#[derive(Debug, Default)]
pub struct PatternFilter {
    /// What says nearly the same as one that is told.
    copies: HashSet<RecordId>,
    /// Those of too few authors.
    lone: HashSet<RecordId>,
}

impl PatternFilter {
    /// Returns whether it is to be looked up what says nearly the same as a pattern; otherwise it
    /// is not told. Each look costs a search of its own, so that there are not many in vain.
    pub fn needs_look_up(&self, id: RecordId) -> bool {
        let is_known = self.copies.contains(&id) || self.lone.contains(&id);
        !is_known && self.lone.len() < PATTERNS_LONE_MAX
    }

    /// Begins an answer anew with what is known of lone patterns.
    pub(crate) fn restart(&mut self) {
        self.copies.clear();
    }

    /// Takes what [`find_common_patterns`] found of a pattern, and returns whether it is told.
    pub fn admit(&mut self, id: RecordId, same: Option<Vec<RecordId>>) -> bool {
        let is_told = same.is_some();
        self.copies.extend(same.into_iter().flatten());
        if !is_told {
            self.lone.insert(id);
        }
        is_told
    }
}

/// Returns the patterns that say nearly the same as one, if so many authors have published one that
/// none of them is known by it. Given are all that are near, each with the cosine.
pub fn find_common_patterns(
    near: impl IntoIterator<Item = (GlobalRecord, f32)>,
) -> Option<Vec<RecordId>> {
    let (mut authors, mut same) = (HashSet::new(), Vec::new());
    for (record, cosine) in near {
        if cosine >= OVERLAP_FROM {
            authors.insert(record.author_id);
            same.push(record.id);
        }
    }
    (authors.len() >= PATTERN_AUTHORS_MIN).then_some(same)
}

/// Returns what of things near to a publication, each with the cosine, its author is told: the
/// nearest first, neither the thing itself nor a pattern of somebody else.
pub fn choose_overlaps(
    near: impl IntoIterator<Item = (GlobalRecord, f32)>,
    own: Option<RecordId>,
    author: &UserId,
) -> Vec<Overlap> {
    let near = near.into_iter().filter(|(record, cosine)| {
        *cosine >= OVERLAP_FROM && Some(record.id) != own && !record.is_pattern_of_others(author)
    });
    let told = near.map(|(record, similarity)| Overlap {
        id: record.id,
        title: record.publication.title,
        similarity,
    });
    let mut told: Vec<Overlap> = told.collect();
    told.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
    told.truncate(OVERLAPS_MAX);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_told_once_and_not_of_too_few_and_few_looks_are_in_vain() {
        let mut patterns = PatternFilter::default();
        assert!(patterns.needs_look_up(id(1)));
        assert!(patterns.admit(id(1), Some(vec![id(1), id(2)])));
        assert!(!patterns.needs_look_up(id(2)), "a copy of it is told");
        assert!(!patterns.admit(id(3), None));
        assert!(!patterns.needs_look_up(id(3)), "it is known to be alone");
        for lone in 4..(3 + PATTERNS_LONE_MAX as u128) {
            assert!(patterns.needs_look_up(id(lone)));
            assert!(!patterns.admit(id(lone), None));
        }
        assert!(!patterns.needs_look_up(id(1_000)));
    }

    fn id(number: u128) -> RecordId {
        RecordId::from_parts(1, number)
    }

    fn published_state(version: u32, checksum: &str) -> PublishedState {
        PublishedState {
            id: id(1),
            version,
            checksum: checksum.to_owned(),
            shelf: Shelf::Public.to_string(),
        }
    }

    fn draft_state(base: u32, checksum: &str) -> DraftState {
        DraftState {
            id: id(2),
            checksum: checksum.to_owned(),
            base,
        }
    }

    #[test]
    fn a_thing_keeps_its_shelf_and_the_same_bytes_are_one_version() {
        let decide =
            |standing: Option<&PublishedState>| decide_publish(standing, &Shelf::Public, "b");
        assert_eq!(decide(None).unwrap(), Publishing::Next(None, Version(1)));
        let (same, other) = (published_state(3, "b"), published_state(3, "a"));
        let unchanged_state = Publishing::Unchanged(id(1), Version(3));
        assert_eq!(decide(Some(&same)).unwrap(), unchanged_state);
        let next = Publishing::Next(Some(id(1)), Version(4));
        assert_eq!(decide(Some(&other)).unwrap(), next);
        let moved = decide_publish(Some(&same), &Shelf::Paid, "b").unwrap_err();
        assert!(
            matches!(moved, GlobalError::PolicyChanged { .. }),
            "{moved}"
        );
    }

    #[test]
    fn a_draft_follows_what_is_published_and_a_full_branch_takes_changes_alone() {
        let decide = |standing: Option<&PublishedState>, before: Option<&DraftState>, held| {
            decide_draft("b", standing, before, held, (&Shelf::Public, "b"))
        };
        let (same, other) = (published_state(3, "b"), published_state(3, "a"));
        let known = draft_state(3, "b");
        assert_eq!(
            decide(None, None, 0).unwrap(),
            Drafting::Replace(None, Version(1))
        );
        let withdrawn = Drafting::Withdrawn(id(1), Version(3));
        assert_eq!(decide(Some(&same), Some(&known), 1).unwrap(), withdrawn);
        let unchanged_state = Drafting::Unchanged(id(1), Version(4));
        assert_eq!(
            decide(Some(&other), Some(&known), 1).unwrap(),
            unchanged_state
        );
        // Of a version that was published since it is another draft.
        let put = Drafting::Replace(Some(id(1)), Version(4));
        assert_eq!(
            decide(Some(&other), Some(&draft_state(2, "b")), 1).unwrap(),
            put
        );
        assert!(decide(None, None, BRANCH_THINGS_MAX).is_err());
        assert!(decide(None, Some(&draft_state(0, "a")), BRANCH_THINGS_MAX).is_ok());
    }

    #[test]
    fn a_merge_writes_over_nothing_that_was_published_meanwhile() {
        let decide = |standing: Option<&PublishedState>, draft: &DraftState| {
            decide_merge("b", standing, draft, &Shelf::Public)
        };
        let other = published_state(3, "a");
        let next = Publishing::Next(Some(id(1)), Version(4));
        assert_eq!(decide(Some(&other), &draft_state(3, "b")).unwrap(), next);
        let moved = decide(Some(&other), &draft_state(2, "b")).unwrap_err();
        assert!(
            matches!(moved, GlobalError::BranchMoved { was: 2, now: 3, .. }),
            "{moved}"
        );
        let gone = decide(None, &draft_state(2, "b")).unwrap_err();
        assert!(
            matches!(gone, GlobalError::BranchMoved { was: 2, now: 0, .. }),
            "{gone}"
        );
        let same = published_state(5, "b");
        let unchanged_state = Publishing::Unchanged(id(1), Version(5));
        assert_eq!(
            decide(Some(&same), &draft_state(2, "b")).unwrap(),
            unchanged_state
        );
    }

    #[test]
    fn a_branch_has_a_name_of_its_own_and_an_author_so_many() {
        assert!(decide_branch("b", false, BRANCHES_MAX - 1).is_ok());
        let taken = decide_branch("b", true, 0).unwrap_err().to_string();
        assert!(taken.contains("`b`"), "{taken}");
        assert!(decide_branch("b", false, BRANCHES_MAX).is_err());
    }
}
