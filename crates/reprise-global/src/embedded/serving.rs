//! The embedded store as what every store is: each operation off the async threads. And many new
//! things of one author at once.

use std::collections::HashSet;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_types::{RecordId, WriteOutcome};

use super::keep::Making;
use super::ledger::{Line, Named, audit};
use super::{EmbeddedStore, Shared};
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

#[async_trait]
impl GlobalStore for EmbeddedStore {
    async fn publish(&self, caller: &Caller, publication: Publication) -> Result<Published> {
        self.asked_by(caller, move |store, caller| {
            store.publish(caller, &publication)
        })
        .await
    }

    async fn get(
        &self,
        caller: &Caller,
        id: RecordId,
        version: Option<Version>,
    ) -> Result<GlobalRecord> {
        self.asked_by(caller, move |store, caller| {
            let reader = store.reader()?.ok_or(GlobalError::NotFound { id })?;
            match version {
                None => Ok(reader.get(caller, id)?.record.for_reader(&caller.user)),
                Some(version) => {
                    let versions = reader.versions(caller, id)?;
                    let mut versions = versions.into_iter();
                    let found = versions.find(|record| record.version == version);
                    let found = found.map(|found| found.for_reader(&caller.user));
                    found.ok_or(GlobalError::NotFound { id })
                }
            }
        })
        .await
    }

    async fn versions_page(
        &self,
        caller: &Caller,
        id: RecordId,
        page: ListPage,
    ) -> Result<Vec<GlobalRecord>> {
        self.asked_by(caller, move |store, caller| {
            let reader = store.reader()?.ok_or(GlobalError::NotFound { id })?;
            let versions = page.of(reader.versions(caller, id)?).into_iter();
            Ok(versions.map(|one| one.for_reader(&caller.user)).collect())
        })
        .await
    }

    async fn query(&self, caller: &Caller, query: &GlobalQuery) -> Result<GlobalAnswer> {
        let query = query.clone();
        self.asked_by(caller, move |store, caller| {
            query.check()?;
            let Some(reader) = store.reader()? else {
                return match query.branch {
                    Some(name) => Err(no_branch(&name)),
                    None => Ok(GlobalAnswer::default()),
                };
            };
            let vector = store.vector(&reprise_engine::subject(&query.text));
            let answer = reader.query(caller, &query, vector.as_ref())?;
            store.note_retrieved(caller, &query, &answer.hits);
            Ok(answer.for_reader(&caller.user))
        })
        .await
    }

    async fn published_page(&self, caller: &Caller, page: ListPage) -> Result<Vec<GlobalRecord>> {
        self.asked_by(caller, move |store, caller| match store.reader()? {
            Some(reader) => Ok(page.of(reader.published(caller)?)),
            None => Ok(Vec::new()),
        })
        .await
    }

    async fn unpublish(&self, caller: &Caller, id: RecordId) -> Result<Unpublished> {
        self.asked_by(caller, move |store, caller| store.unpublish(caller, id))
            .await
    }

    async fn rate(&self, caller: &Caller, id: RecordId, rating: f32) -> Result<()> {
        check_rating(rating)?;
        self.asked_by(caller, move |store, caller| {
            let at = store.now();
            store.reader()?.ok_or(GlobalError::NotFound { id })?;
            store.say(|reader, ledger| {
                let found = reader.get(caller, id)?;
                if found.record.author_id == caller.user {
                    return Err(GlobalError::OwnWork { id });
                }
                let by = ledger.contributor(&caller.user)?;
                ledger.write(&[Line::Rated { at, by, id, rating }])
            })
        })
        .await
    }

    async fn report(&self, caller: &Caller, reports: &[UsageReport]) -> Result<Vec<Fate>> {
        check_reports(reports)?;
        let reports = reports.to_vec();
        self.asked_by(caller, move |store, caller| {
            let at = store.now();
            let mut fates = Vec::with_capacity(reports.len());
            store.say(|reader, ledger| {
                let by = ledger.contributor(&caller.user)?;
                let mut lines = Vec::new();
                for UsageReport { id, score, count } in reports {
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
        })
        .await
    }

    async fn snapshot(&self, caller: &Caller, name: &str) -> Result<DateTime<Utc>> {
        check_name(name)?;
        let name = name.to_owned();
        self.asked_by(caller, move |store, caller| {
            let at = store.now();
            store.say(|_, ledger| {
                if ledger.snapshots.contains_key(&name) {
                    return Err(name_is_taken("snapshot", &name));
                }
                ledger.write(&[Line::Snapshot(Named::new(at, caller, &name))])
            })?;
            Ok(at)
        })
        .await
    }

    async fn branch(&self, caller: &Caller, name: &str) -> Result<Branch> {
        check_name(name)?;
        let name = name.to_owned();
        self.asked_by(caller, move |store, caller| store.branch(caller, name))
            .await
    }

    async fn branches(&self, caller: &Caller) -> Result<Vec<Branch>> {
        self.asked_by(caller, Shared::branches).await
    }

    async fn draft(
        &self,
        caller: &Caller,
        branch: &str,
        publication: Publication,
    ) -> Result<Published> {
        let branch = branch.to_owned();
        self.asked_by(caller, move |store, caller| {
            store.draft(caller, &branch, &publication)
        })
        .await
    }

    async fn merge(&self, caller: &Caller, branch: &str) -> Result<Vec<Merged>> {
        let branch = branch.to_owned();
        self.asked_by(caller, move |store, caller| store.merge(caller, &branch))
            .await
    }

    async fn drop_branch(&self, caller: &Caller, branch: &str) -> Result<Branch> {
        let branch = branch.to_owned();
        self.asked_by(caller, move |store, caller| {
            store.drop_branch(caller, &branch)
        })
        .await
    }

    async fn catalogue(&self, caller: &Caller, page: ListPage) -> Result<Vec<Listed>> {
        self.asked_by(caller, move |store, caller| store.catalogue(caller, page))
            .await
    }

    async fn take_down(
        &self,
        operator: &Caller,
        id: RecordId,
        order: &TakeDown,
    ) -> Result<TakeDownDone> {
        let order = order.clone();
        self.asked_by(operator, move |store, operator| {
            store.take_down(operator, id, &order)
        })
        .await
    }

    async fn put_back(&self, operator: &Caller, id: RecordId) -> Result<PutBack> {
        self.asked_by(operator, move |store, operator| {
            store.put_back(operator, id)
        })
        .await
    }

    async fn taken_down(&self, caller: &Caller) -> Result<Vec<TakenDown>> {
        self.asked_by(caller, Shared::taken_down).await
    }

    async fn person(&self, caller: &Caller) -> Result<Vec<PersonLine>> {
        self.asked_by(caller, Shared::person).await
    }

    async fn erase_person(&self, caller: &Caller) -> Result<Erased> {
        self.asked_by(caller, Shared::erase_person).await
    }

    async fn audit(&self, _: &Caller, limit: usize) -> Result<Vec<AuditLine>> {
        self.blocking(move |store| audit(&store.options.folder, limit))
            .await
    }

    async fn answers(&self) -> Result<()> {
        self.blocking(Shared::is_reachable).await
    }
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
