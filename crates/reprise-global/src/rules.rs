//! The rulebook: what becomes of a publication, a draft, a merge, a branch. Both stores look up
//! what stands, ask here, and carry out the answer; none decides by itself.

use reprise_types::RecordId;

use crate::caller::{Caller, Shelf};
use crate::error::{GlobalError, Result};
use crate::record::{Publication, Version};
use crate::store::{BRANCH_THINGS_MAX, BRANCHES_MAX, Published, name_is_taken};

/// What is published of an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) id: RecordId,
    pub(crate) version: u32,
    pub(crate) checksum: String,
    /// The name of the shelf.
    pub(crate) shelf: String,
}

/// What stands of an origin on a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drafted {
    pub(crate) id: RecordId,
    pub(crate) checksum: String,
    /// The version that it is to follow; 0 where there was none.
    pub(crate) base: u32,
}

/// What becomes of a publication. Each has the thing's id, where there is one, and its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publishing {
    /// The same bytes stand already.
    Standing(RecordId, Version),
    Next(Option<RecordId>, Version),
}

/// What becomes of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drafting {
    /// The author is back at what is published: what stands on the branch goes.
    Withdrawn(RecordId, Version),
    /// The same bytes stand on the branch already.
    Standing(RecordId, Version),
    /// It takes the place of what stands there, or is new.
    Put(Option<RecordId>, Version),
}

impl Publishing {
    /// The version, and whether it stands already.
    pub(crate) fn version(self) -> (Version, bool) {
        match self {
            Self::Standing(_, version) => (version, true),
            Self::Next(_, version) => (version, false),
        }
    }
}

/// The shelf where a publication is to stand.
pub(crate) fn shelf_of(caller: &Caller, publication: &Publication) -> Result<Shelf> {
    Shelf::of(caller, publication.access_policy).ok_or_else(|| GlobalError::NoOrganisation {
        user: caller.user.to_string(),
    })
}

/// What an author is told.
pub(crate) fn told(
    id: RecordId,
    version: Version,
    publication: &Publication,
    unchanged: bool,
) -> Published {
    Published {
        id,
        version,
        bytes: publication.bytes().len(),
        unchanged,
        overlaps: Vec::new(),
    }
}

/// A thing stays on its shelf for as long as it is published, and the same bytes are one version.
pub(crate) fn decide_publish(
    standing: Option<&Standing>,
    shelf: &Shelf,
    checksum: &str,
) -> Result<Publishing> {
    let Some(standing) = standing else {
        return Ok(Publishing::Next(None, Version(1)));
    };
    let id = standing.id;
    if standing.shelf != shelf.to_string() {
        let was = standing.shelf.clone();
        return Err(GlobalError::PolicyChanged { id, was });
    }
    if standing.checksum == checksum {
        return Ok(Publishing::Standing(id, Version(standing.version)));
    }
    Ok(Publishing::Next(Some(id), Version(standing.version + 1)))
}

/// A draft is the version after what is published when it is put on the branch. `held` things stand
/// there.
pub(crate) fn decide_draft(
    branch: &str,
    standing: Option<&Standing>,
    before: Option<&Drafted>,
    held: usize,
    (shelf, checksum): (&Shelf, &str),
) -> Result<Drafting> {
    let (thing, version) = match decide_publish(standing, shelf, checksum)? {
        Publishing::Standing(id, version) => return Ok(Drafting::Withdrawn(id, version)),
        Publishing::Next(thing, version) => (thing, version),
    };
    let Some(before) = before else {
        if held >= BRANCH_THINGS_MAX {
            return Err(GlobalError::invalid(format!(
                "branch `{branch}` holds {BRANCH_THINGS_MAX} things, which is the limit; merge it, \
                 and go on with another"
            )));
        }
        return Ok(Drafting::Put(thing, version));
    };
    let known = thing.unwrap_or(before.id);
    if before.checksum == checksum && before.base + 1 == version.0 {
        return Ok(Drafting::Standing(known, version));
    }
    Ok(Drafting::Put(Some(known), version))
}

/// What was published meanwhile is not written over: a draft follows the version that it began
/// from, unless the very same bytes stand already.
pub(crate) fn decide_merge(
    branch: &str,
    standing: Option<&Standing>,
    draft: &Drafted,
    shelf: &Shelf,
) -> Result<Publishing> {
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
pub(crate) fn decide_branch(name: &str, is_taken: bool, open: usize) -> Result<()> {
    if is_taken {
        return Err(name_is_taken("branch", name));
    }
    if open >= BRANCHES_MAX {
        return Err(GlobalError::invalid(format!(
            "there are {BRANCHES_MAX} branches open, which is the limit; merge or drop one"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> RecordId {
        RecordId::from_parts(1, number)
    }

    fn standing(version: u32, checksum: &str) -> Standing {
        Standing {
            id: id(1),
            version,
            checksum: checksum.to_owned(),
            shelf: Shelf::Public.to_string(),
        }
    }

    fn drafted(base: u32, checksum: &str) -> Drafted {
        Drafted {
            id: id(2),
            checksum: checksum.to_owned(),
            base,
        }
    }

    #[test]
    fn a_thing_keeps_its_shelf_and_the_same_bytes_are_one_version() {
        let decide = |standing: Option<&Standing>| decide_publish(standing, &Shelf::Public, "b");
        assert_eq!(decide(None).unwrap(), Publishing::Next(None, Version(1)));
        let (same, other) = (standing(3, "b"), standing(3, "a"));
        let stands = Publishing::Standing(id(1), Version(3));
        assert_eq!(decide(Some(&same)).unwrap(), stands);
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
        let decide = |standing: Option<&Standing>, before: Option<&Drafted>, held| {
            decide_draft("b", standing, before, held, (&Shelf::Public, "b"))
        };
        let (same, other) = (standing(3, "b"), standing(3, "a"));
        let known = drafted(3, "b");
        assert_eq!(
            decide(None, None, 0).unwrap(),
            Drafting::Put(None, Version(1))
        );
        let withdrawn = Drafting::Withdrawn(id(1), Version(3));
        assert_eq!(decide(Some(&same), Some(&known), 1).unwrap(), withdrawn);
        let stands = Drafting::Standing(id(1), Version(4));
        assert_eq!(decide(Some(&other), Some(&known), 1).unwrap(), stands);
        // Of a version that was published since it is another draft.
        let put = Drafting::Put(Some(id(1)), Version(4));
        assert_eq!(
            decide(Some(&other), Some(&drafted(2, "b")), 1).unwrap(),
            put
        );
        assert!(decide(None, None, BRANCH_THINGS_MAX).is_err());
        assert!(decide(None, Some(&drafted(0, "a")), BRANCH_THINGS_MAX).is_ok());
    }

    #[test]
    fn a_merge_writes_over_nothing_that_was_published_meanwhile() {
        let decide = |standing: Option<&Standing>, draft: &Drafted| {
            decide_merge("b", standing, draft, &Shelf::Public)
        };
        let other = standing(3, "a");
        let next = Publishing::Next(Some(id(1)), Version(4));
        assert_eq!(decide(Some(&other), &drafted(3, "b")).unwrap(), next);
        let moved = decide(Some(&other), &drafted(2, "b")).unwrap_err();
        assert!(
            matches!(moved, GlobalError::BranchMoved { was: 2, now: 3, .. }),
            "{moved}"
        );
        let gone = decide(None, &drafted(2, "b")).unwrap_err();
        assert!(
            matches!(gone, GlobalError::BranchMoved { was: 2, now: 0, .. }),
            "{gone}"
        );
        let same = standing(5, "b");
        let stands = Publishing::Standing(id(1), Version(5));
        assert_eq!(decide(Some(&same), &drafted(2, "b")).unwrap(), stands);
    }

    #[test]
    fn a_branch_has_a_name_of_its_own_and_an_author_so_many() {
        assert!(decide_branch("b", false, BRANCHES_MAX - 1).is_ok());
        let taken = decide_branch("b", true, 0).unwrap_err().to_string();
        assert!(taken.contains("`b`"), "{taken}");
        assert!(decide_branch("b", false, BRANCHES_MAX).is_err());
    }
}
