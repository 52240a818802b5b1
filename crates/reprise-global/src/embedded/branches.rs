//! Branches of the catalogue: what an author tries out stands in the same file, on a shelf of its
//! own that nobody else's question reads.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, ForgetSelector};
use reprise_types::{Embedding, NewRecord, RecordId};

use super::Shared;
use super::keep::{Found, Making, Reader, inserted};
use super::ledger::{Line, Named, Pen};
use super::takedown::not_barred;
use crate::caller::{Caller, Shelf};
use crate::error::Result;
use crate::record::Publication;
use crate::rules::{
    Drafting, Publishing, decide_branch, decide_draft, decide_merge, shelf_of, told,
};
use crate::store::{
    Branch, Merged, Published, branch_has_changed, check_name, check_publication, no_branch,
};

/// Takes away what stands on a branch that is over, and says what was done.
fn close(
    engine: &mut Engine,
    ledger: &Pen,
    gone: Vec<RecordId>,
    why: &str,
    at: DateTime<Utc>,
    lines: &[Line],
) -> Result<()> {
    engine.forget(&ForgetSelector::All(gone), why, at)?;
    ledger.write(lines)?;
    engine.compact()?;
    Ok(())
}

/// What is to happen with one thing of a branch when it is merged.
struct Step {
    shelf: Shelf,
    decided: Publishing,
    /// As it is told where it is no new thing.
    told: Merged,
    /// What is to be kept, taken from here for the commit.
    new: Option<NewRecord>,
}

/// One thing of a branch against what is published now.
fn step(
    caller: &Caller,
    reader: &Reader,
    branch: &str,
    (draft, vector): (Found, Option<Embedding>),
    at: DateTime<Utc>,
) -> Result<Step> {
    let drafted = draft.drafted();
    let publication = draft.record.publication;
    let shelf = shelf_of(caller, &publication)?;
    let earlier = reader.by_origin(caller, &publication.origin)?;
    let standing = earlier.as_ref().map(Found::standing);
    let decided = decide_merge(branch, standing.as_ref(), &drafted, &shelf)?;
    let first = earlier.as_ref().map(|earlier| earlier.record.id);
    let (version, is_standing) = decided.version();
    let told = Merged {
        published: told(
            first.unwrap_or(drafted.id),
            version,
            &publication,
            is_standing,
        ),
        checksum: drafted.checksum,
    };
    let making = Making {
        caller,
        shelf: &shelf,
        version,
        first,
        supersedes: earlier.map(|earlier| earlier.kept),
        at,
    };
    let new = (!is_standing)
        .then(|| making.record(publication, vector))
        .transpose()?;
    Ok(Step {
        shelf,
        decided,
        told,
        new,
    })
}

impl Shared {
    pub(super) fn branch(&self, caller: &Caller, name: &str) -> Result<Branch> {
        check_name(name)?;
        let at = self.now();
        self.write(|_, ledger| {
            let open = &ledger.said.branches;
            let is_taken = open.contains_key(&(caller.user.clone(), name.to_owned()));
            let own = ledger.said.branches_of(&caller.user);
            decide_branch(name, is_taken, own.count())?;
            ledger.write(&[Line::Branched(Named::new(at, caller, name))])?;
            Ok(Branch {
                name: name.to_owned(),
                at,
                things: 0,
            })
        })
    }

    pub(super) fn branches(&self, caller: &Caller) -> Result<Vec<Branch>> {
        let Some(reader) = self.reader()? else {
            return Ok(Vec::new());
        };
        let own = reader.said.branches_of(&caller.user);
        own.map(|(name, at)| {
            Ok(Branch {
                name: name.to_owned(),
                at,
                things: reader.on(&caller.branch(name))?.len(),
            })
        })
        .collect()
    }

    pub(super) fn draft(
        &self,
        caller: &Caller,
        branch: &str,
        publication: &Publication,
    ) -> Result<Published> {
        check_publication(publication)?;
        let destined = shelf_of(caller, publication)?;
        let vector = self.vector(&publication.search_text());
        let at = self.now();
        self.write(|engine, ledger| {
            ledger.said.opened(caller, branch)?;
            let shelf = caller.branch(branch);
            let reader = Reader::of(engine.snapshot());
            let origin = &publication.origin;
            let (earlier, before) = (
                reader.by_origin(caller, origin)?,
                reader.draft(&shelf, origin)?,
            );
            let standing = earlier.as_ref().map(Found::standing);
            let drafted = before.as_ref().map(Found::drafted);
            let held = reader.on(&shelf)?.len();
            let checksum = publication.checksum();
            let given = (&destined, checksum.as_str());
            let (first, version) =
                match decide_draft(branch, standing.as_ref(), drafted.as_ref(), held, given)? {
                    Drafting::Withdrawn(id, version) => {
                        let gone = before.iter().map(|before| before.kept).collect();
                        let selector = ForgetSelector::All(gone);
                        engine.forget(&selector, "as it was published", at)?;
                        return Ok(told(id, version, publication, true));
                    }
                    Drafting::Standing(id, version) => {
                        return Ok(told(id, version, publication, true));
                    }
                    Drafting::Put(first, version) => (first, version),
                };
            let overlaps = reader.overlaps(caller, publication, vector.as_ref(), first)?;
            let made = Making {
                caller,
                shelf: &shelf,
                version,
                first,
                supersedes: before.map(|before| before.kept),
                at,
            };
            let new = made.record(publication.clone(), vector)?;
            let kept = engine.observe(vec![new], None, at)?;
            let id = inserted(kept.into_iter().next())?;
            Ok(Published {
                overlaps,
                ..told(first.unwrap_or(id), version, publication, false)
            })
        })
    }

    pub(super) fn merge(&self, caller: &Caller, branch: &str) -> Result<Vec<Merged>> {
        let mut vectors = self.vectors(caller, branch)?;
        let at = self.now();
        self.write(|engine, ledger| {
            ledger.said.opened(caller, branch)?;
            let reader = Reader::of(engine.snapshot());
            let mut drafts = reader.on(&caller.branch(branch))?;
            // In the order in which they came.
            drafts.reverse();
            let gone = drafts.iter().map(|draft| draft.kept).collect();
            let steps = drafts.into_iter().map(|draft| {
                let vector = vectors.remove(&draft.kept);
                let vector = vector.ok_or_else(branch_has_changed)?;
                not_barred(ledger, caller, &draft.record.publication.origin)?;
                step(caller, &reader, branch, (draft, vector), at)
            });
            let mut steps = steps.collect::<Result<Vec<Step>, _>>()?;
            let new = steps.iter().filter(|step| step.new.is_some());
            let new = new.map(|step| {
                let published = &step.told.published;
                (&step.shelf, published.version.0 == 1, published.bytes)
            });
            self.within_quotas(&reader, caller, &new.collect::<Vec<_>>())?;
            // All of them in one commit.
            let new: Vec<NewRecord> = steps.iter_mut().filter_map(|s| s.new.take()).collect();
            let mut kept = engine.observe(new, None, at)?.into_iter();
            let (mut merged, mut lines) = (Vec::with_capacity(steps.len()), Vec::new());
            for mut step in steps {
                if let Publishing::Next(first, version) = step.decided {
                    let made = inserted(kept.next())?;
                    let id = first.unwrap_or(made);
                    step.told.published.id = id;
                    lines.push(Line::published(at, caller, (id, version), &step.shelf));
                }
                merged.push(step.told);
            }
            lines.push(Line::Merged(Named::new(at, caller, branch)));
            close(engine, ledger, gone, "merged", at, &lines)?;
            Ok(merged)
        })
    }

    /// The vectors of what stands on a branch, made while others may write.
    fn vectors(
        &self,
        caller: &Caller,
        branch: &str,
    ) -> Result<HashMap<RecordId, Option<Embedding>>> {
        let Some(reader) = self.reader()? else {
            return Err(no_branch(branch));
        };
        let drafts = reader.on(&caller.branch(branch))?.into_iter();
        let vector = |draft: Found| {
            let text = draft.record.publication.search_text();
            (draft.kept, self.vector(&text))
        };
        Ok(drafts.map(vector).collect())
    }

    pub(super) fn drop_branch(&self, caller: &Caller, branch: &str) -> Result<Branch> {
        let at = self.now();
        self.write(|engine, ledger| {
            let since = ledger.said.opened(caller, branch)?;
            let reader = Reader::of(engine.snapshot());
            let drafts = reader.on(&caller.branch(branch))?;
            let things = drafts.len();
            let gone = drafts.into_iter().map(|draft| draft.kept).collect();
            let line = Line::Dropped(Named::new(at, caller, branch));
            close(engine, ledger, gone, "dropped by its author", at, &[line])?;
            Ok(Branch {
                name: branch.to_owned(),
                at: since,
                things,
            })
        })
    }
}
