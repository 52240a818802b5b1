//! The embedded store as what every store is: each operation off the async threads.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_types::RecordId;

use super::EmbeddedStore;
use super::ledger::{Line, audit};
use crate::caller::Caller;
use crate::error::{GlobalError, Result};
use crate::record::{GlobalRecord, Publication, Version};
use crate::store::{
    AuditLine, Branch, Fate, GlobalAnswer, GlobalQuery, GlobalStore, ListPage, Merged, Published,
    Unpublished, UsageReport, check_name, check_rating, check_reports, name_is_taken, no_branch,
};

use crate::takedown::{Erased, Listed, PersonLine, PutBack, TakeDown, TakeDownDone, TakenDown};

#[async_trait]
impl GlobalStore for EmbeddedStore {
    async fn publish(&self, caller: &Caller, publication: Publication) -> Result<Published> {
        let caller = caller.clone();
        self.blocking(move |store| store.publish(&caller, &publication))
            .await
    }

    async fn get(
        &self,
        caller: &Caller,
        id: RecordId,
        version: Option<Version>,
    ) -> Result<GlobalRecord> {
        let caller = caller.clone();
        self.blocking(move |store| {
            let reader = store.reader()?.ok_or(GlobalError::NotFound { id })?;
            match version {
                None => Ok(reader.get(&caller, id)?.record.for_reader(&caller.user)),
                Some(version) => {
                    let versions = reader.versions(&caller, id)?;
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
        let caller = caller.clone();
        self.blocking(move |store| {
            let reader = store.reader()?.ok_or(GlobalError::NotFound { id })?;
            let versions = page.of(reader.versions(&caller, id)?).into_iter();
            Ok(versions.map(|one| one.for_reader(&caller.user)).collect())
        })
        .await
    }

    async fn query(&self, caller: &Caller, query: &GlobalQuery) -> Result<GlobalAnswer> {
        let (caller, query) = (caller.clone(), query.clone());
        self.blocking(move |store| {
            query.check()?;
            let Some(reader) = store.reader()? else {
                return match query.branch {
                    Some(name) => Err(no_branch(&name)),
                    None => Ok(GlobalAnswer::default()),
                };
            };
            let vector = store.vector(&reprise_engine::subject(&query.text));
            let answer = reader.query(&caller, &query, vector.as_ref())?;
            store.note_retrieved(&caller, &query, &answer.hits);
            Ok(answer.for_reader(&caller.user))
        })
        .await
    }

    async fn published_page(&self, caller: &Caller, page: ListPage) -> Result<Vec<GlobalRecord>> {
        let caller = caller.clone();
        self.blocking(move |store| match store.reader()? {
            Some(reader) => Ok(page.of(reader.published(&caller)?)),
            None => Ok(Vec::new()),
        })
        .await
    }

    async fn unpublish(&self, caller: &Caller, id: RecordId) -> Result<Unpublished> {
        let caller = caller.clone();
        self.blocking(move |store| store.unpublish(&caller, id))
            .await
    }

    async fn rate(&self, caller: &Caller, id: RecordId, rating: f32) -> Result<()> {
        check_rating(rating)?;
        let caller = caller.clone();
        self.blocking(move |store| {
            let at = store.now();
            store.reader()?.ok_or(GlobalError::NotFound { id })?;
            store.say(|reader, ledger| {
                let found = reader.get(&caller, id)?;
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
        let (caller, reports) = (caller.clone(), reports.to_vec());
        self.blocking(move |store| {
            let at = store.now();
            let mut fates = Vec::with_capacity(reports.len());
            store.say(|reader, ledger| {
                let by = ledger.contributor(&caller.user)?;
                let mut lines = Vec::new();
                for UsageReport { id, score, count } in reports {
                    fates.push(match reader.get(&caller, id) {
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
        let (caller, name) = (caller.clone(), name.to_owned());
        self.blocking(move |store| {
            let at = store.now();
            store.say(|_, ledger| {
                if ledger.snapshots.contains_key(&name) {
                    return Err(name_is_taken("snapshot", &name));
                }
                let who = caller.user;
                ledger.write(&[Line::Snapshot { at, who, name }])
            })?;
            Ok(at)
        })
        .await
    }

    async fn branch(&self, caller: &Caller, name: &str) -> Result<Branch> {
        check_name(name)?;
        let (caller, name) = (caller.clone(), name.to_owned());
        self.blocking(move |store| store.branch(&caller, name))
            .await
    }

    async fn branches(&self, caller: &Caller) -> Result<Vec<Branch>> {
        let caller = caller.clone();
        self.blocking(move |store| store.branches(&caller)).await
    }

    async fn draft(
        &self,
        caller: &Caller,
        branch: &str,
        publication: Publication,
    ) -> Result<Published> {
        let (caller, branch) = (caller.clone(), branch.to_owned());
        self.blocking(move |store| store.draft(&caller, &branch, &publication))
            .await
    }

    async fn merge(&self, caller: &Caller, branch: &str) -> Result<Vec<Merged>> {
        let (caller, branch) = (caller.clone(), branch.to_owned());
        self.blocking(move |store| store.merge(&caller, &branch))
            .await
    }

    async fn drop_branch(&self, caller: &Caller, branch: &str) -> Result<Branch> {
        let (caller, branch) = (caller.clone(), branch.to_owned());
        self.blocking(move |store| store.drop_branch(&caller, &branch))
            .await
    }

    async fn catalogue(&self, caller: &Caller, page: ListPage) -> Result<Vec<Listed>> {
        let caller = caller.clone();
        self.blocking(move |store| store.catalogue(&caller, page))
            .await
    }

    async fn take_down(
        &self,
        operator: &Caller,
        id: RecordId,
        order: &TakeDown,
    ) -> Result<TakeDownDone> {
        let (operator, order) = (operator.clone(), order.clone());
        self.blocking(move |store| store.take_down(&operator, id, &order))
            .await
    }

    async fn put_back(&self, operator: &Caller, id: RecordId) -> Result<PutBack> {
        let operator = operator.clone();
        self.blocking(move |store| store.put_back(&operator, id))
            .await
    }

    async fn taken_down(&self, caller: &Caller) -> Result<Vec<TakenDown>> {
        let caller = caller.clone();
        self.blocking(move |store| store.taken_down(&caller)).await
    }

    async fn person(&self, caller: &Caller) -> Result<Vec<PersonLine>> {
        let caller = caller.clone();
        self.blocking(move |store| store.person(&caller)).await
    }

    async fn erase_person(&self, caller: &Caller) -> Result<Erased> {
        let caller = caller.clone();
        self.blocking(move |store| store.erase_person(&caller))
            .await
    }

    async fn audit(&self, _: &Caller, limit: usize) -> Result<Vec<AuditLine>> {
        self.blocking(move |store| audit(&store.options.folder, limit))
            .await
    }

    async fn answers(&self) -> Result<()> {
        self.blocking(super::Shared::is_reachable).await
    }
}
