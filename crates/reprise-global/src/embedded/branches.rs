//! Branches of the catalogue: what an author tries out is in the same file, on a shelf of its own
//! that no question of others reads.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, ForgetSelector};
use reprise_types::{Embedding, NewRecord, RecordId};

use super::StoreInner;
use super::keep::{NewVersion, Reader, StoredThing, inserted_id};
use super::ledger::{LedgerEntry, LedgerWriter, NamedEntry};
use crate::caller::{Caller, Shelf};
use crate::error::GlobalResult;
use crate::published::Published;
use crate::record::Publication;
use crate::rules::{
    Drafting, Publishing, build_published_report, decide_branch, decide_draft, decide_merge,
    publication_shelf,
};
use crate::store::{
    Branch, Merged, branch_changed_error, check_name, check_publication, no_branch_error,
};

/// Removes the drafts of a branch that is over, and appends `lines` to the ledger.
fn close_branch(
    engine: &mut Engine,
    ledger: &LedgerWriter,
    gone: Vec<RecordId>,
    why: &str,
    at: DateTime<Utc>,
    lines: &[LedgerEntry],
) -> GlobalResult<()> {
    engine.forget(&ForgetSelector::All(gone), why, at)?;
    ledger.append_entries(lines)?;
    engine.compact()?;
    Ok(())
}

/// What is to happen with one thing of a branch when it is merged.
struct MergeStep {
    shelf: Shelf,
    decided: Publishing,
    /// The report for its author; the id is filled in later if the thing is new.
    outcome: Merged,
    /// What is to be kept, taken from here for the commit.
    new: Option<NewRecord>,
}

/// Plans the merge of one draft, compared with what is published now.
fn plan_merge_step(
    caller: &Caller,
    reader: &Reader,
    branch: &str,
    (draft, vector): (StoredThing, Option<Embedding>),
    at: DateTime<Utc>,
) -> GlobalResult<MergeStep> {
    let drafted = draft.to_draft_state();
    let publication = draft.record.publication;
    let shelf = publication_shelf(caller, &publication)?;
    let earlier = reader.find_by_origin(caller, &publication.origin)?;
    let standing = earlier.as_ref().map(StoredThing::to_published_state);
    let decided = decide_merge(branch, standing.as_ref(), &drafted, &shelf)?;
    let first = earlier.as_ref().map(|earlier| earlier.record.id);
    let (version, is_standing) = decided.version_and_is_published();
    let outcome = Merged {
        published: build_published_report(
            first.unwrap_or(drafted.id),
            version,
            &publication,
            is_standing,
        ),
        checksum: drafted.checksum,
    };
    let making = NewVersion {
        caller,
        shelf: &shelf,
        version,
        first,
        supersedes: earlier.map(|earlier| earlier.kept),
        at,
    };
    let new = (!is_standing)
        .then(|| making.build_record(publication, vector))
        .transpose()?;
    Ok(MergeStep {
        shelf,
        decided,
        outcome,
        new,
    })
}

impl StoreInner {
    pub(super) fn open_branch(&self, caller: &Caller, name: &str) -> GlobalResult<Branch> {
        check_name(name)?;
        let at = self.now();
        self.write_exclusively(|_, ledger| {
            let open = &ledger.state.branches;
            let is_taken = open.contains_key(&(caller.user.clone(), name.to_owned()));
            let own = ledger.state.list_open_branches(&caller.user);
            decide_branch(name, is_taken, own.count())?;
            ledger.append_entries(&[LedgerEntry::Branched(NamedEntry::new(at, caller, name))])?;
            Ok(Branch {
                name: name.to_owned(),
                at,
                things: 0,
            })
        })
    }

    pub(super) fn list_branches(&self, caller: &Caller) -> GlobalResult<Vec<Branch>> {
        let Some(reader) = self.open_reader()? else {
            return Ok(Vec::new());
        };
        let own = reader.ledger_state.list_open_branches(&caller.user);
        own.map(|(name, at)| {
            Ok(Branch {
                name: name.to_owned(),
                at,
                things: reader.list_shelf(&caller.branch_shelf(name))?.len(),
            })
        })
        .collect()
    }

    pub(super) fn publish_on_branch(
        &self,
        caller: &Caller,
        branch: &str,
        publication: &Publication,
    ) -> GlobalResult<Published> {
        check_publication(publication)?;
        let destined = publication_shelf(caller, publication)?;
        let vector = self.embed_text(&publication.search_text());
        let at = self.now();
        self.write_exclusively(|engine, ledger| {
            ledger.state.find_branch_opening(caller, branch)?;
            let shelf = caller.branch_shelf(branch);
            let reader = Reader::without_ledger(engine.snapshot());
            let origin = &publication.origin;
            let (earlier, before) = (
                reader.find_by_origin(caller, origin)?,
                reader.find_draft(&shelf, origin)?,
            );
            let standing = earlier.as_ref().map(StoredThing::to_published_state);
            let drafted = before.as_ref().map(StoredThing::to_draft_state);
            let held = reader.list_shelf(&shelf)?.len();
            let checksum = publication.checksum();
            let given = (&destined, checksum.as_str());
            let (first, version) =
                match decide_draft(branch, standing.as_ref(), drafted.as_ref(), held, given)? {
                    Drafting::Withdrawn(id, version) => {
                        let gone = before.iter().map(|before| before.kept).collect();
                        let selector = ForgetSelector::All(gone);
                        engine.forget(&selector, "as it was published", at)?;
                        return Ok(build_published_report(id, version, publication, true));
                    }
                    Drafting::Unchanged(id, version) => {
                        return Ok(build_published_report(id, version, publication, true));
                    }
                    Drafting::Replace(first, version) => (first, version),
                };
            let overlaps = reader.find_overlaps(caller, publication, vector.as_ref(), first)?;
            let made = NewVersion {
                caller,
                shelf: &shelf,
                version,
                first,
                supersedes: before.map(|before| before.kept),
                at,
            };
            let new = made.build_record(publication.clone(), vector)?;
            let kept = engine.observe(vec![new], None, at)?;
            let id = inserted_id(kept.into_iter().next())?;
            Ok(Published {
                overlaps,
                ..build_published_report(first.unwrap_or(id), version, publication, false)
            })
        })
    }

    pub(super) fn merge_branch(&self, caller: &Caller, branch: &str) -> GlobalResult<Vec<Merged>> {
        let mut vectors = self.embed_drafts(caller, branch)?;
        let at = self.now();
        self.write_exclusively(|engine, ledger| {
            ledger.state.find_branch_opening(caller, branch)?;
            let reader = Reader::without_ledger(engine.snapshot());
            let mut drafts = reader.list_shelf(&caller.branch_shelf(branch))?;
            // In the order in which they came.
            drafts.reverse();
            let gone = drafts.iter().map(|draft| draft.kept).collect();
            let steps = drafts.into_iter().map(|draft| {
                let vector = vectors.remove(&draft.kept);
                let vector = vector.ok_or_else(branch_changed_error)?;
                plan_merge_step(caller, &reader, branch, (draft, vector), at)
            });
            let mut steps = steps.collect::<GlobalResult<Vec<MergeStep>, _>>()?;
            // All of them in one commit.
            let new: Vec<NewRecord> = steps.iter_mut().filter_map(|s| s.new.take()).collect();
            let mut kept = engine.observe(new, None, at)?.into_iter();
            let (mut merged, mut lines) = (Vec::with_capacity(steps.len()), Vec::new());
            for mut step in steps {
                if let Publishing::Next(first, version) = step.decided {
                    let made = inserted_id(kept.next())?;
                    let id = first.unwrap_or(made);
                    step.outcome.published.id = id;
                    lines.push(LedgerEntry::new_published(
                        at,
                        caller,
                        (id, version),
                        &step.shelf,
                    ));
                }
                merged.push(step.outcome);
            }
            lines.push(LedgerEntry::Merged(NamedEntry::new(at, caller, branch)));
            close_branch(engine, ledger, gone, "merged", at, &lines)?;
            Ok(merged)
        })
    }

    /// Embeds the drafts of a branch, while others may write.
    fn embed_drafts(
        &self,
        caller: &Caller,
        branch: &str,
    ) -> GlobalResult<HashMap<RecordId, Option<Embedding>>> {
        let Some(reader) = self.open_reader()? else {
            return Err(no_branch_error(branch));
        };
        let drafts = reader.list_shelf(&caller.branch_shelf(branch))?.into_iter();
        let vector = |draft: StoredThing| {
            let text = draft.record.publication.search_text();
            (draft.kept, self.embed_text(&text))
        };
        Ok(drafts.map(vector).collect())
    }

    pub(super) fn drop_branch(&self, caller: &Caller, branch: &str) -> GlobalResult<Branch> {
        let at = self.now();
        self.write_exclusively(|engine, ledger| {
            let since = ledger.state.find_branch_opening(caller, branch)?;
            let reader = Reader::without_ledger(engine.snapshot());
            let drafts = reader.list_shelf(&caller.branch_shelf(branch))?;
            let things = drafts.len();
            let gone = drafts.into_iter().map(|draft| draft.kept).collect();
            let line = LedgerEntry::Dropped(NamedEntry::new(at, caller, branch));
            close_branch(engine, ledger, gone, "dropped by its author", at, &[line])?;
            Ok(Branch {
                name: branch.to_owned(),
                at: since,
                things,
            })
        })
    }
}
