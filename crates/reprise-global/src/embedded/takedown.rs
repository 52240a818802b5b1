//! What operators take down and put back, and everything of one person, in the file and its ledger.

use std::collections::BTreeMap;

use reprise_engine::{Engine, ForgetSelector};
use reprise_files::Folder;
use reprise_types::RecordId;

use super::Shared;
use super::keep::{Found, Reader};
use super::ledger::{self, Line, Pen};
use crate::caller::{Caller, Shelf};
use crate::error::{GlobalError, Result};
use crate::record::{GlobalRecord, Publication};
use crate::rules::shelf_of;
use crate::store::{ListPage, check_publication};
use crate::takedown::{
    Erased, Listed, PERSON_VERSIONS_MAX, PersonLine, PutBack, TakeDown, TakeDownDone, TakenDown,
    author_of, too_much_to_tell,
};

/// Longest file of what is held: a publication with every byte escaped.
const HELD_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Where the newest version of what was taken down is held, for putting it back.
fn held_name(id: RecordId) -> String {
    format!("held-{id}.json")
}

/// Refuses what was taken down of this origin.
pub(super) fn not_barred(ledger: &Pen, caller: &Caller, origin: &str) -> Result<()> {
    let mut taken = ledger.said.taken.values();
    let bar = taken.find(|one| one.author == caller.user && one.origin == origin);
    bar.map_or(Ok(()), |bar| {
        let (id, reason) = (bar.id, bar.reason.clone());
        Err(GlobalError::TakenDown { id, reason })
    })
}

/// What was taken down of a shelf that is open to this operator.
fn taken_of(ledger: &Pen, operator: &Caller, id: RecordId) -> Result<TakenDown> {
    let shelves = operator.shelves();
    let is_open = |was: &&TakenDown| shelves.iter().any(|shelf| shelf.to_string() == was.shelf);
    let was = ledger.said.taken.get(&id).filter(is_open);
    was.cloned().ok_or(GlobalError::NotFound { id })
}

impl Shared {
    pub(super) fn catalogue(&self, caller: &Caller, page: ListPage) -> Result<Vec<Listed>> {
        let Some(reader) = self.reader()? else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        for shelf in caller.shelves() {
            all.extend(reader.on(&shelf)?.into_iter().map(|found| found.record));
        }
        all.sort_by(|a, b| {
            let newest = b.published_at.cmp(&a.published_at);
            newest.then(a.id.cmp(&b.id))
        });
        Ok(page.of(all).into_iter().map(Listed::from).collect())
    }

    pub(super) fn take_down(
        &self,
        operator: &Caller,
        id: RecordId,
        order: &TakeDown,
    ) -> Result<TakeDownDone> {
        order.check()?;
        // Also a pattern that others are not told of yet.
        let found = self.reader_of(id)?.seen(operator, id)?;
        let shelf = Shelf::holding(&found.record);
        // What is an author's own may stand on a shelf that is closed to him by now.
        if !operator.shelves().contains(&shelf) {
            return Err(GlobalError::NotFound { id });
        }
        let author = author_of(found.record.author_id, &shelf.to_string());
        let at = self.now();
        self.write(|engine, ledger| {
            let newest = Reader::of(engine.snapshot()).get(&author, id)?;
            let held = (!order.leaked).then(|| newest.record.publication.bytes());
            if let Some(bytes) = &held {
                self.own_folder()?.replace(held_name(id), bytes)?;
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
            };
            let why = "taken down by an operator";
            taken.versions = withdraw(engine, &newest, why, at)?;
            let line = Line::TakenDown {
                who: operator.user.clone(),
                was: taken.clone(),
            };
            ledger.write(&[line])?;
            self.retrieved.forget(id);
            engine.compact()?;
            let verified = Reader::of(engine.snapshot()).is_gone(engine, &newest)?;
            Ok(TakeDownDone {
                taken,
                verified,
                swept: order.leaked,
            })
        })
    }

    pub(super) fn put_back(&self, operator: &Caller, id: RecordId) -> Result<PutBack> {
        let at = self.now();
        let was = taken_of(&self.pen()?, operator, id)?;
        let author = author_of(was.author, &was.shelf);
        let held = self.own_folder()?.read(held_name(id), HELD_BYTES_MAX)?;
        let held = held.map(|bytes| serde_json::from_slice::<Publication>(&bytes));
        let held = held
            .transpose()
            .map_err(|_| GlobalError::storage(&"what was held of it is damaged"))?;
        let ready = held.map(|held| -> Result<_> {
            check_publication(&held)?;
            let (shelf, vector) = (shelf_of(&author, &held)?, self.vector(&held.search_text()));
            Ok((held, shelf, vector))
        });
        let ready = ready.transpose()?;
        let published = self.write(|engine, ledger| {
            let was = taken_of(ledger, operator, id)?;
            let reader = Reader::of(engine.snapshot());
            // It stands before it is said to: what is refused, or ends between the two, is put back
            // by asking again.
            let published = ready.map(|(held, shelf, vector)| {
                let held = (&held, &shelf, vector);
                self.publish_in(engine, ledger, &reader, &author, held, at)
            });
            let published = published.transpose()?;
            let who = operator.user.clone();
            ledger.write(&[Line::PutBack { at, who, was }])?;
            Ok(published)
        })?;
        self.drop_held(id)?;
        Ok(PutBack {
            id,
            author: author.user,
            published,
        })
    }

    pub(super) fn taken_down(&self, caller: &Caller) -> Result<Vec<TakenDown>> {
        let taken = self.pen()?.said.taken;
        let own = taken.values().filter(|one| one.author == caller.user);
        let mut own: Vec<TakenDown> = own.cloned().collect();
        own.sort_by_key(|one| std::cmp::Reverse(one.at));
        Ok(own)
    }

    pub(super) fn person(&self, caller: &Caller) -> Result<Vec<PersonLine>> {
        let mut lines = Vec::new();
        if let Some(reader) = self.reader()? {
            let thing = |shelf: &Shelf, record: GlobalRecord| PersonLine::Thing {
                id: record.id,
                version: record.version,
                shelf: shelf.to_string(),
                at: record.published_at,
                publication: record.publication,
            };
            for found in reader.own(caller)? {
                let shelf = Shelf::holding(&found.record);
                let versions = reader.versions(caller, found.record.id)?;
                lines.extend(versions.into_iter().map(|one| thing(&shelf, one)));
            }
            for (branch, _) in reader.said.branches_of(&caller.user) {
                let shelf = caller.branch(branch);
                let drafts = reader.on(&shelf)?.into_iter();
                lines.extend(drafts.map(|draft| thing(&shelf, draft.record)));
            }
        }
        if lines.len() > PERSON_VERSIONS_MAX {
            return Err(too_much_to_tell(&caller.user));
        }
        lines.extend(
            self.taken_down(caller)?
                .into_iter()
                .map(PersonLine::TakenDown),
        );
        lines.extend(ledger::of_person(&self.options.folder, &caller.user)?);
        Ok(lines)
    }

    pub(super) fn erase_person(&self, caller: &Caller) -> Result<Erased> {
        let at = self.now();
        let user = &caller.user;
        let mut erased = Erased::default();
        self.write(|engine, ledger| {
            let reader = Reader::of(engine.snapshot());
            let why = "its author was erased";
            let mut gone = Vec::new();
            for found in reader.own(caller)? {
                erased.things += 1;
                let (who, id) = (user.clone(), found.record.id);
                let versions = withdraw(engine, &found, why, at)?;
                erased.versions += u64::from(versions);
                // What was said of it is forgotten with it.
                gone.push(Line::Unpublished {
                    at,
                    who,
                    id,
                    versions,
                });
            }
            for (branch, _) in ledger.said.branches_of(user) {
                let drafts = reader.on(&caller.branch(branch))?;
                let drafts: Vec<RecordId> = drafts.iter().map(|draft| draft.kept).collect();
                erased.drafts += drafts.len() as u64;
                let selector = ForgetSelector::All(drafts);
                engine.forget(&selector, why, at)?;
            }
            engine.compact()?;
            self.retrieved.forget_reader(user);
            // Before the ledger forgets whose it was: asked again, nothing would name these files.
            for one in ledger.said.taken.values().filter(|one| one.author == *user) {
                self.drop_held(one.id)?;
                erased.taken_down += 1;
            }
            ledger.write(&gone)?;
            let said = ledger.erase(user, at)?;
            (erased.ratings, erased.reports) = (said.ratings, said.reports);
            erased.retrieved = said.retrieved;
            erased.audit_lines = said.lines;
            erased.left = Reader::of(engine.snapshot()).own(caller)?.len() as u64 + said.left;
            Ok(())
        })?;
        erased.swept = true;
        Ok(erased)
    }

    fn own_folder(&self) -> Result<Folder> {
        Ok(Folder::own(&self.options.folder)?)
    }

    fn drop_held(&self, id: RecordId) -> Result<()> {
        self.own_folder()?.remove(held_name(id))?;
        Ok(())
    }

    /// Refuses what its author, or his organisation on its shelf, would have too much of. Each new
    /// version has its shelf, whether it is a new thing, and its bytes; what stands is looked
    /// through once for all of them, and not at all where there is no quota.
    pub(super) fn within_quotas(
        &self,
        reader: &Reader,
        caller: &Caller,
        new: &[(&Shelf, bool, usize)],
    ) -> Result<()> {
        let (quotas, mut more) = (&self.options.quotas, BTreeMap::new());
        for (shelf, is_new, bytes) in new {
            let holders = quotas.holders(&caller.user, &shelf.to_string());
            for (holder, quota) in holders.into_iter().filter(|(_, quota)| quota.is_some()) {
                let sums = more.entry(holder).or_insert((quota, *shelf, 0_u64, 0_u64));
                sums.2 += u64::from(*is_new);
                sums.3 += *bytes as u64;
            }
        }
        for (holder, (quota, shelf, things, bytes)) in more {
            let standing: Vec<Found> = if holder.starts_with("user:") {
                reader.own(caller)?
            } else {
                reader.on(shelf)?
            };
            let mut all = bytes;
            for found in &standing {
                let author = author_of(found.record.author_id.clone(), &shelf.to_string());
                let versions = reader.versions(&author, found.record.id)?;
                let sizes = versions
                    .iter()
                    .map(|one| one.publication.bytes().len() as u64);
                all += sizes.sum::<u64>();
            }
            quota.admits(&holder, standing.len() as u64 + things, all)?;
        }
        Ok(())
    }
}

/// Forgets a thing in all its versions, and what is to replace it; how many there were.
pub(super) fn withdraw(
    engine: &mut Engine,
    newest: &Found,
    why: &str,
    at: chrono::DateTime<chrono::Utc>,
) -> Result<u32> {
    let replacing = Reader::of(engine.snapshot()).replacing(newest.record.id)?;
    let selector = ForgetSelector::Record(newest.kept);
    let gone = engine.forget(&selector, why, at)?;
    // What is to replace it says nearly the same.
    let tried = ForgetSelector::All(replacing);
    engine.forget(&tried, why, at)?;
    Ok(gone.len() as u32)
}
