//! The embedded store as what every store is: each operation off the async threads. And many new
//! things of one author at once.

use std::collections::HashSet;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_types::{RecordId, WriteOutcome};

use super::keep::{Making, Reader};
use super::ledger::{Line, Named, audit};
use super::{EmbeddedStore, Shared, stamp};
use crate::caller::Caller;
use crate::error::{GlobalError, Result};
use crate::record::{GlobalRecord, Publication, Version};
use crate::rules::shelf_of;
use crate::store::{
    AuditLine, Branch, Fate, GlobalAnswer, GlobalQuery, GlobalStore, ListPage, Merged, Published,
    Unpublished, UsageReport, check_name, check_publication, check_rating, check_reports,
    name_is_taken, no_branch,
};
use crate::takedown::{Erased, Listed, PersonLine, PutBack, TakeDown, TakeDownDone, TakenDown};

/// Things of one commit.
const BATCH: usize = 500;

/// Each operation with what it is given, which is taken along, and with what it answers.
macro_rules! off_the_threads {
    ($($name:ident($($given:ident: $kind:ty => $taken:expr),*) -> $told:ty;)+) => {
        #[async_trait]
        impl GlobalStore for EmbeddedStore {
            $(async fn $name(&self, caller: &Caller $(, $given: $kind)*) -> Result<$told> {
                $(let $given = $given.to_owned();)*
                self.asked_by(caller, move |store, caller| store.$name(caller $(, $taken)*)).await
            })+

            async fn answers(&self) -> Result<()> {
                // What was never written is empty.
                self.blocking(|store| stamp(&store.file()).map(drop)).await
            }
        }
    };
}

off_the_threads! {
    publish(publication: Publication => &publication) -> Published;
    get(id: RecordId => id, version: Option<Version> => version) -> GlobalRecord;
    versions_page(id: RecordId => id, page: ListPage => page) -> Vec<GlobalRecord>;
    query(query: &GlobalQuery => &query) -> GlobalAnswer;
    published_page(page: ListPage => page) -> Vec<GlobalRecord>;
    unpublish(id: RecordId => id) -> Unpublished;
    rate(id: RecordId => id, rating: f32 => rating) -> ();
    report(reports: &[UsageReport] => &reports) -> Vec<Fate>;
    snapshot(name: &str => &name) -> DateTime<Utc>;
    branch(name: &str => &name) -> Branch;
    branches() -> Vec<Branch>;
    draft(branch: &str => &branch, publication: Publication => &publication) -> Published;
    merge(branch: &str => &branch) -> Vec<Merged>;
    drop_branch(branch: &str => &branch) -> Branch;
    catalogue(page: ListPage => page) -> Vec<Listed>;
    take_down(id: RecordId => id, order: &TakeDown => &order) -> TakeDownDone;
    put_back(id: RecordId => id) -> PutBack;
    taken_down() -> Vec<TakenDown>;
    person() -> Vec<PersonLine>;
    erase_person() -> Erased;
    audit(limit: usize => limit) -> Vec<AuditLine>;
}

impl EmbeddedStore {
    /// Publishes many new things of one author, some hundred a commit, and passes over what he has
    /// published before. Nobody is told what they overlap with. How many are new.
    pub async fn import(&self, caller: &Caller, publications: Vec<Publication>) -> Result<usize> {
        self.asked_by(caller, move |store, caller| {
            store.import(caller, publications)
        })
        .await
    }
}

impl Shared {
    /// A reader for what concerns one thing, which is not there where nothing ever was.
    pub(super) fn reader_of(&self, id: RecordId) -> Result<Reader> {
        self.reader()?.ok_or(GlobalError::NotFound { id })
    }

    fn get(&self, caller: &Caller, id: RecordId, version: Option<Version>) -> Result<GlobalRecord> {
        let reader = self.reader_of(id)?;
        let found = match version {
            None => Some(reader.get(caller, id)?.record),
            Some(version) => {
                let mut versions = reader.versions(caller, id)?.into_iter();
                versions.find(|record| record.version == version)
            }
        };
        let found = found.map(|found| found.for_reader(&caller.user));
        found.ok_or(GlobalError::NotFound { id })
    }

    fn versions_page(
        &self,
        caller: &Caller,
        id: RecordId,
        page: ListPage,
    ) -> Result<Vec<GlobalRecord>> {
        let versions = page
            .of(self.reader_of(id)?.versions(caller, id)?)
            .into_iter();
        Ok(versions.map(|one| one.for_reader(&caller.user)).collect())
    }

    fn query(&self, caller: &Caller, query: &GlobalQuery) -> Result<GlobalAnswer> {
        query.check()?;
        let Some(reader) = self.reader()? else {
            return match &query.branch {
                Some(name) => Err(no_branch(name)),
                None => Ok(GlobalAnswer::default()),
            };
        };
        let vector = self.vector(&reprise_engine::subject(&query.text));
        let answer = reader.query(caller, query, vector.as_ref())?;
        self.note_retrieved(caller, query, &answer.hits);
        Ok(answer.for_reader(&caller.user))
    }

    fn published_page(&self, caller: &Caller, page: ListPage) -> Result<Vec<GlobalRecord>> {
        match self.reader()? {
            Some(reader) => Ok(page.of(reader.published(caller)?)),
            None => Ok(Vec::new()),
        }
    }

    fn rate(&self, caller: &Caller, id: RecordId, rating: f32) -> Result<()> {
        check_rating(rating)?;
        let at = self.now();
        self.reader_of(id)?;
        self.say(|reader, ledger| {
            let found = reader.get(caller, id)?;
            if found.record.author_id == caller.user {
                return Err(GlobalError::OwnWork { id });
            }
            let by = ledger.contributor(&caller.user)?;
            ledger.write(&[Line::Rated { at, by, id, rating }])
        })
    }

    fn report(&self, caller: &Caller, reports: &[UsageReport]) -> Result<Vec<Fate>> {
        check_reports(reports)?;
        let at = self.now();
        let mut fates = Vec::with_capacity(reports.len());
        self.say(|reader, ledger| {
            let by = ledger.contributor(&caller.user)?;
            let mut lines = Vec::new();
            for &UsageReport { id, score, count } in reports {
                fates.push(match reader.get(caller, id) {
                    Ok(found) if found.record.author_id == caller.user => Fate::OwnWork,
                    Ok(_) => {
                        let by = by.clone();
                        lines.push(Line::Reported {
                            at,
                            by,
                            id,
                            score,
                            count,
                        });
                        Fate::Counted
                    }
                    Err(GlobalError::NotFound { .. }) => Fate::NotFound,
                    Err(error) => return Err(error),
                });
            }
            ledger.write(&lines)
        })?;
        Ok(fates)
    }

    fn snapshot(&self, caller: &Caller, name: &str) -> Result<DateTime<Utc>> {
        check_name(name)?;
        let at = self.now();
        self.say(|_, ledger| {
            if ledger.said.snapshots.contains_key(name) {
                return Err(name_is_taken("snapshot", name));
            }
            ledger.write(&[Line::Snapshot(Named::new(at, caller, name))])
        })?;
        Ok(at)
    }

    fn audit(&self, _: &Caller, limit: usize) -> Result<Vec<AuditLine>> {
        audit(&self.options.folder, limit)
    }

    fn import(&self, caller: &Caller, all: Vec<Publication>) -> Result<usize> {
        for publication in &all {
            check_publication(publication)?;
        }
        let own = match self.reader()? {
            Some(reader) => reader.published(caller)?,
            None => Vec::new(),
        };
        let known = own.into_iter().map(|record| record.publication.origin);
        let mut known: HashSet<String> = known.collect();
        // What an operator took down is passed over, too.
        known.extend(self.taken_down(caller)?.into_iter().map(|one| one.origin));
        let mut new = all
            .into_iter()
            .filter(|publication| known.insert(publication.origin.clone()));
        let mut made = 0;
        loop {
            let batch: Vec<Publication> = new.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return Ok(made);
            }
            made += self.import_batch(caller, batch)?;
        }
    }

    fn import_batch(&self, caller: &Caller, batch: Vec<Publication>) -> Result<usize> {
        let (at, version) = (self.now(), Version(1));
        let mut shelves = Vec::with_capacity(batch.len());
        let mut records = Vec::with_capacity(batch.len());
        for publication in batch {
            let shelf = shelf_of(caller, &publication)?;
            let vector = self.vector(&publication.search_text());
            let making = Making {
                caller,
                shelf: &shelf,
                version,
                first: None,
                supersedes: None,
                at,
            };
            records.push(making.record(publication, vector)?);
            shelves.push(shelf);
        }
        self.write(|engine, ledger| {
            let outcomes = engine.observe(records, None, at)?;
            let kept = outcomes.into_iter().zip(shelves);
            let lines = kept.filter_map(|(outcome, shelf)| match outcome {
                WriteOutcome::Inserted { id } => {
                    Some(Line::published(at, caller, (id, version), &shelf))
                }
                _ => None,
            });
            let lines: Vec<Line> = lines.collect();
            ledger.write(&lines)?;
            Ok(lines.len())
        })
    }
}
