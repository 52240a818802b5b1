//! What operators take down and put back, and everything of one person, in the file and its ledger.

use std::collections::BTreeMap;

use reprise_engine::{Engine, ForgetSelector};
use reprise_files::Folder;
use reprise_types::RecordId;

use super::StoreInner;
use super::keep::{Reader, StoredThing};
use super::ledger::{self, LedgerEntry, LedgerWriter};
use crate::caller::{Caller, Shelf};
use crate::error::{GlobalError, GlobalResult};
use crate::record::{GlobalRecord, Publication};
use crate::rules::publication_shelf;
use crate::store::{ListPage, check_publication};
use crate::takedown::{
    Erased, Listed, PERSON_VERSIONS_MAX, PersonLine, PutBack, TakeDown, TakeDownDone, TakenDown,
    author_as_caller, too_many_versions_error,
};

/// Longest file of what is held: a publication with every byte escaped.
const HELD_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Returns the name of the file that holds the newest version of a thing that was taken down.
fn held_file_name(id: RecordId) -> String {
    format!("held-{id}.json")
}

/// Refuses what was taken down: this origin of its author, and the same content of anybody.
pub(super) fn refuse_taken_down(
    taken: &BTreeMap<RecordId, TakenDown>,
    caller: &Caller,
    publication: &Publication,
) -> GlobalResult<()> {
    let content = publication.content_sha256();
    for bar in taken.values() {
        let id = bar.id;
        if bar.author == caller.user && bar.origin == publication.origin {
            let reason = bar.reason.clone();
            return Err(GlobalError::TakenDown { id, reason });
        }
        if bar.content_sha256 == content {
            let reason = "the same content".to_owned();
            return Err(GlobalError::TakenDown { id, reason });
        }
    }
    Ok(())
}

/// Finds what was taken down from a shelf that is open to this operator.
fn find_taken_down(
    ledger: &LedgerWriter,
    operator: &Caller,
    id: RecordId,
) -> GlobalResult<TakenDown> {
    let shelves = operator.open_shelves();
    let is_open = |was: &&TakenDown| shelves.iter().any(|shelf| shelf.to_string() == was.shelf);
    let was = ledger.state.taken.get(&id).filter(is_open);
    was.cloned().ok_or(GlobalError::NotFound { id })
}

impl StoreInner {
    pub(super) fn list_catalogue_page(
        &self,
        caller: &Caller,
        page: ListPage,
    ) -> GlobalResult<Vec<Listed>> {
        let Some(reader) = self.open_reader()? else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        for shelf in caller.open_shelves() {
            all.extend(
                reader
                    .list_shelf(&shelf)?
                    .into_iter()
                    .map(|found| found.record),
            );
        }
        all.sort_by(|a, b| {
            let newest = b.published_at.cmp(&a.published_at);
            newest.then(a.id.cmp(&b.id))
        });
        Ok(page.slice_list(all).into_iter().map(Listed::from).collect())
    }

    pub(super) fn take_down(
        &self,
        operator: &Caller,
        id: RecordId,
        order: &TakeDown,
    ) -> GlobalResult<TakeDownDone> {
        order.check()?;
        // Also a pattern that others are not told of yet.
        let found = self.open_reader_for(id)?.get_visible(operator, id)?;
        let shelf = Shelf::of_record(&found.record);
        // What is an author's own may stand on a shelf that is closed to him by now.
        if !operator.open_shelves().contains(&shelf) {
            return Err(GlobalError::NotFound { id });
        }
        let author = author_as_caller(found.record.author_id, &shelf.to_string());
        let at = self.now();
        self.write_exclusively(|engine, ledger| {
            let newest = Reader::without_ledger(engine.snapshot()).get_findable(&author, id)?;
            let held = (!order.leaked).then(|| newest.record.publication.to_json_bytes());
            if let Some(bytes) = &held {
                self.open_folder()?.replace(held_file_name(id), bytes)?;
            }
            let mut taken = TakenDown {
                id,
                author: author.user.clone(),
                origin: newest.record.publication.origin.clone(),
                shelf: shelf.to_string(),
                versions: 0,
                checksum: newest.record.checksum.clone(),
                reason: order.reason.clone(),
                operator: operator.user.clone(),
                at,
                is_held: held.is_some(),
                content_sha256: newest.record.publication.content_sha256(),
            };
            let why = "taken down by an operator";
            taken.versions = withdraw_thing(engine, &newest, why, at)?;
            let line = LedgerEntry::TakenDown {
                who: operator.user.clone(),
                was: taken.clone(),
            };
            ledger.append_entries(&[line])?;
            self.retrieved.forget_thing(id);
            engine.compact()?;
            let verified = Reader::without_ledger(engine.snapshot()).is_gone(engine, &newest)?;
            Ok(TakeDownDone {
                taken,
                verified,
                swept: order.leaked,
            })
        })
    }

    pub(super) fn put_back(&self, operator: &Caller, id: RecordId) -> GlobalResult<PutBack> {
        let at = self.now();
        let was = find_taken_down(&self.ledger_writer()?, operator, id)?;
        let author = author_as_caller(was.author, &was.shelf);
        let held = self
            .open_folder()?
            .read(held_file_name(id), HELD_BYTES_MAX)?;
        let held = held.map(|bytes| serde_json::from_slice::<Publication>(&bytes));
        let held = held
            .transpose()
            .map_err(|_| GlobalError::storage(&"what was held of it is damaged"))?;
        let ready = held.map(|held| -> GlobalResult<_> {
            check_publication(&held)?;
            let (shelf, vector) = (
                publication_shelf(&author, &held)?,
                self.embed_text(&held.search_text()),
            );
            Ok((held, shelf, vector))
        });
        let ready = ready.transpose()?;
        let published = self.write_exclusively(|engine, ledger| {
            let was = find_taken_down(ledger, operator, id)?;
            let reader = Reader::without_ledger(engine.snapshot());
            // Publishing comes before the entry in the ledger: after a refusal or a crash between
            // the two, the same request puts it back.
            let published = ready.map(|(held, shelf, vector)| {
                let held = (&held, &shelf, vector);
                self.publish_in_turn(engine, ledger, &reader, &author, held, at)
            });
            let published = published.transpose()?;
            let who = operator.user.clone();
            ledger.append_entries(&[LedgerEntry::PutBack { at, who, was }])?;
            Ok(published)
        })?;
        self.remove_held_file(id)?;
        Ok(PutBack {
            id,
            author: author.user,
            published,
        })
    }

    pub(super) fn list_own_taken_down(&self, caller: &Caller) -> GlobalResult<Vec<TakenDown>> {
        let taken = self.ledger_writer()?.state.taken;
        let own = taken.values().filter(|one| one.author == caller.user);
        let mut own: Vec<TakenDown> = own.cloned().collect();
        own.sort_by_key(|one| std::cmp::Reverse(one.at));
        Ok(own)
    }

    pub(super) fn list_person_lines(&self, caller: &Caller) -> GlobalResult<Vec<PersonLine>> {
        let mut lines = Vec::new();
        if let Some(reader) = self.open_reader()? {
            let thing = |shelf: &Shelf, record: GlobalRecord| PersonLine::Thing {
                id: record.id,
                version: record.version,
                shelf: shelf.to_string(),
                at: record.published_at,
                publication: record.publication,
            };
            for found in reader.list_own_things(caller)? {
                let shelf = Shelf::of_record(&found.record);
                let versions = reader.list_versions(caller, found.record.id)?;
                lines.extend(versions.into_iter().map(|one| thing(&shelf, one)));
            }
            for (branch, _) in reader.ledger_state.list_open_branches(&caller.user) {
                let shelf = caller.branch_shelf(branch);
                let drafts = reader.list_shelf(&shelf)?.into_iter();
                lines.extend(drafts.map(|draft| thing(&shelf, draft.record)));
            }
        }
        if lines.len() > PERSON_VERSIONS_MAX {
            return Err(too_many_versions_error(&caller.user));
        }
        lines.extend(
            self.list_own_taken_down(caller)?
                .into_iter()
                .map(PersonLine::TakenDown),
        );
        lines.extend(ledger::list_person_lines(
            &self.options.folder,
            &caller.user,
        )?);
        Ok(lines)
    }

    pub(super) fn erase_person(&self, caller: &Caller) -> GlobalResult<Erased> {
        let at = self.now();
        let user = &caller.user;
        let mut erased = Erased::default();
        self.write_exclusively(|engine, ledger| {
            let reader = Reader::without_ledger(engine.snapshot());
            let why = "its author was erased";
            let mut gone = Vec::new();
            for found in reader.list_own_things(caller)? {
                erased.things += 1;
                let (who, id) = (user.clone(), found.record.id);
                let versions = withdraw_thing(engine, &found, why, at)?;
                erased.versions += u64::from(versions);
                // What was said of it is forgotten with it.
                gone.push(LedgerEntry::Unpublished {
                    at,
                    who,
                    id,
                    versions,
                });
            }
            for (branch, _) in ledger.state.list_open_branches(user) {
                let drafts = reader.list_shelf(&caller.branch_shelf(branch))?;
                let drafts: Vec<RecordId> = drafts.iter().map(|draft| draft.kept).collect();
                erased.drafts += drafts.len() as u64;
                let selector = ForgetSelector::All(drafts);
                engine.forget(&selector, why, at)?;
            }
            engine.compact()?;
            self.retrieved.forget_reader(user);
            // Before the ledger forgets whose it was: asked again, nothing would name these files.
            for one in ledger
                .state
                .taken
                .values()
                .filter(|one| one.author == *user)
            {
                self.remove_held_file(one.id)?;
                erased.taken_down += 1;
            }
            ledger.append_entries(&gone)?;
            let ledger_state = ledger.erase_person(user, at)?;
            (erased.ratings, erased.reports) = (ledger_state.ratings, ledger_state.reports);
            erased.retrieved = ledger_state.retrieved;
            erased.audit_lines = ledger_state.lines;
            erased.left = Reader::without_ledger(engine.snapshot())
                .list_own_things(caller)?
                .len() as u64
                + ledger_state.left;
            Ok(())
        })?;
        erased.swept = true;
        Ok(erased)
    }

    fn open_folder(&self) -> GlobalResult<Folder> {
        Ok(Folder::open_no_follow(&self.options.folder)?)
    }

    fn remove_held_file(&self, id: RecordId) -> GlobalResult<()> {
        self.open_folder()?.remove_file(held_file_name(id))?;
        Ok(())
    }

    /// Refuses new versions beyond the quota of their author, or of his organisation on its shelf.
    /// Each has its shelf, whether it is a new thing, and its bytes; what is published is read once
    /// for all of them, and not at all without a quota.
    pub(super) fn check_quotas(
        &self,
        reader: &Reader,
        caller: &Caller,
        new: &[(&Shelf, bool, usize)],
    ) -> GlobalResult<()> {
        let (quotas, mut more) = (&self.options.quotas, BTreeMap::new());
        for (shelf, is_new, bytes) in new {
            let holders = quotas.list_holders_with_quota(&caller.user, &shelf.to_string());
            for (holder, quota) in holders.into_iter().filter(|(_, quota)| quota.has_limit()) {
                let sums = more.entry(holder).or_insert((quota, *shelf, 0_u64, 0_u64));
                sums.2 += u64::from(*is_new);
                sums.3 += *bytes as u64;
            }
        }
        for (holder, (quota, shelf, things, bytes)) in more {
            let standing: Vec<StoredThing> = if holder.starts_with("user:") {
                reader.list_own_things(caller)?
            } else {
                reader.list_shelf(shelf)?
            };
            let mut all = bytes;
            for found in &standing {
                let author = author_as_caller(found.record.author_id.clone(), &shelf.to_string());
                let versions = reader.list_versions(&author, found.record.id)?;
                let sizes = versions
                    .iter()
                    .map(|one| one.publication.to_json_bytes().len() as u64);
                all += sizes.sum::<u64>();
            }
            quota.refuse_excess(&holder, standing.len() as u64 + things, all)?;
        }
        Ok(())
    }
}

/// Forgets a thing in all its versions, and the drafts that are to replace it; returns how many
/// versions there were.
pub(super) fn withdraw_thing(
    engine: &mut Engine,
    newest: &StoredThing,
    why: &str,
    at: chrono::DateTime<chrono::Utc>,
) -> GlobalResult<u32> {
    let replacing =
        Reader::without_ledger(engine.snapshot()).list_replacing_drafts(newest.record.id)?;
    let selector = ForgetSelector::Record(newest.kept);
    let gone = engine.forget(&selector, why, at)?;
    // What is to replace it says nearly the same.
    let tried = ForgetSelector::All(replacing);
    engine.forget(&tried, why, at)?;
    Ok(gone.len() as u32)
}
