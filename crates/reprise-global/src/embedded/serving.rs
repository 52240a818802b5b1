//! The embedded store as what every store is: each operation off the async threads. And many new
//! things of one author at once.

use std::collections::BTreeMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_types::{RecordId, WriteOutcome};

use super::keep::{NewVersion, Reader};
use super::ledger::{LedgerEntry, NamedEntry, read_audit};
use super::{EmbeddedStore, StoreInner, read_file_stamp};
use crate::audit::{AuditFilter, AuditLine};
use crate::caller::Caller;
use crate::error::{GlobalError, GlobalResult};
use crate::published::Published;
use crate::record::{GlobalRecord, Publication, Version};
use crate::rules::{plan_import, publication_shelf};
use crate::store::{
    Branch, Fate, GlobalAnswer, GlobalQuery, GlobalStore, ListPage, Merged, StoreMetric,
    Unpublished, UsageReport, check_name, check_publication, check_rating, check_reports,
    name_taken_error, no_branch_error,
};

/// Things of one commit.
const BATCH: usize = 500;

/// Each operation with what it is given, which is taken along, and with what it answers.
macro_rules! off_the_threads {
    ($($name:ident($($given:ident: $kind:ty => $taken:expr),*) -> $told:ty;)+) => {
        #[async_trait]
        impl GlobalStore for EmbeddedStore {
            $(async fn $name(&self, caller: &Caller $(, $given: $kind)*) -> GlobalResult<$told> {
                $(let $given = $given.to_owned();)*
                self.run_for_caller(caller, move |store, caller| store.$name(caller $(, $taken)*)).await
            })+

            async fn list_metrics(&self) -> GlobalResult<Vec<StoreMetric>> {
                self.run_blocking(|store| Ok(store.list_metrics())).await
            }

            async fn check_ready(&self) -> GlobalResult<()> {
                // What was never written is empty.
                self.run_blocking(|store| read_file_stamp(&store.file_path()).map(drop)).await
            }
        }
    };
}

off_the_threads! {
    publish(publication: Publication => &publication) -> Published;
    get(id: RecordId => id, version: Option<Version> => version) -> GlobalRecord;
    list_versions_page(id: RecordId => id, page: ListPage => page) -> Vec<GlobalRecord>;
    query(query: &GlobalQuery => &query) -> GlobalAnswer;
    list_own_published_page(page: ListPage => page) -> Vec<GlobalRecord>;
    unpublish(id: RecordId => id) -> Unpublished;
    rate(id: RecordId => id, rating: f32 => rating) -> ();
    report_usage(reports: &[UsageReport] => &reports) -> Vec<Fate>;
    create_snapshot(name: &str => &name) -> DateTime<Utc>;
    open_branch(name: &str => &name) -> Branch;
    list_branches() -> Vec<Branch>;
    publish_on_branch(branch: &str => &branch, publication: Publication => &publication) -> Published;
    merge_branch(branch: &str => &branch) -> Vec<Merged>;
    drop_branch(branch: &str => &branch) -> Branch;
    list_audit_lines(limit: usize => limit) -> Vec<AuditLine>;
    list_told_audit_lines(limit: usize => limit) -> Vec<AuditLine>;
}

impl EmbeddedStore {
    /// Publishes many things of one author, some hundred a commit, and returns how many are new or
    /// changed. What is published already is not embedded again, and overlaps are not searched.
    pub async fn import(
        &self,
        caller: &Caller,
        publications: Vec<Publication>,
    ) -> GlobalResult<usize> {
        self.run_for_caller(caller, move |store, caller| {
            store.import(caller, publications)
        })
        .await
    }
}

impl StoreInner {
    /// Opens a reader for one thing; `NotFound` if nothing was ever published.
    pub(super) fn open_reader_for(&self, id: RecordId) -> GlobalResult<Reader> {
        self.open_reader()?.ok_or(GlobalError::NotFound { id })
    }

    fn get(
        &self,
        caller: &Caller,
        id: RecordId,
        version: Option<Version>,
    ) -> GlobalResult<GlobalRecord> {
        let reader = self.open_reader_for(id)?;
        let found = match version {
            None => Some(reader.get_findable(caller, id)?.record),
            Some(version) => {
                let mut versions = reader.list_versions(caller, id)?.into_iter();
                versions.find(|record| record.version == version)
            }
        };
        let found = found.map(|found| found.anonymize_for_reader(&caller.user));
        found.ok_or(GlobalError::NotFound { id })
    }

    fn list_versions_page(
        &self,
        caller: &Caller,
        id: RecordId,
        page: ListPage,
    ) -> GlobalResult<Vec<GlobalRecord>> {
        let versions = page
            .slice_list(self.open_reader_for(id)?.list_versions(caller, id)?)
            .into_iter();
        Ok(versions
            .map(|one| one.anonymize_for_reader(&caller.user))
            .collect())
    }

    fn query(&self, caller: &Caller, query: &GlobalQuery) -> GlobalResult<GlobalAnswer> {
        query.check()?;
        let Some(reader) = self.open_reader()? else {
            return match &query.branch {
                Some(name) => Err(no_branch_error(name)),
                None => Ok(GlobalAnswer::default()),
            };
        };
        let vector = self.embed_text(&reprise_engine::question_subject(&query.text));
        let answer = reader.search_findable(caller, query, vector.as_ref())?;
        self.note_retrieved(caller, query, &answer.hits);
        Ok(answer.anonymize_for_reader(&caller.user))
    }

    fn list_own_published_page(
        &self,
        caller: &Caller,
        page: ListPage,
    ) -> GlobalResult<Vec<GlobalRecord>> {
        match self.open_reader()? {
            Some(reader) => Ok(page.slice_list(reader.list_own_published(caller)?)),
            None => Ok(Vec::new()),
        }
    }

    fn rate(&self, caller: &Caller, id: RecordId, rating: f32) -> GlobalResult<()> {
        check_rating(rating)?;
        let at = self.now();
        self.open_reader_for(id)?;
        self.append_to_ledger(|reader, ledger| {
            let found = reader.get_findable(caller, id)?;
            if found.record.author_id == caller.user {
                return Err(GlobalError::OwnWork { id });
            }
            let by = ledger.contributor_id(&caller.user)?;
            ledger.append_entries(&[LedgerEntry::Rated { at, by, id, rating }])
        })
    }

    fn report_usage(&self, caller: &Caller, reports: &[UsageReport]) -> GlobalResult<Vec<Fate>> {
        check_reports(reports)?;
        let at = self.now();
        let mut fates = Vec::with_capacity(reports.len());
        self.append_to_ledger(|reader, ledger| {
            let by = ledger.contributor_id(&caller.user)?;
            let mut lines = Vec::new();
            for &UsageReport { id, score, count } in reports {
                fates.push(match reader.get_findable(caller, id) {
                    Ok(found) if found.record.author_id == caller.user => Fate::OwnWork,
                    Ok(_) => {
                        let by = by.clone();
                        lines.push(LedgerEntry::Reported {
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
            ledger.append_entries(&lines)
        })?;
        Ok(fates)
    }

    fn create_snapshot(&self, caller: &Caller, name: &str) -> GlobalResult<DateTime<Utc>> {
        check_name(name)?;
        let at = self.now();
        self.append_to_ledger(|_, ledger| {
            if ledger.state.snapshots.contains_key(name) {
                return Err(name_taken_error("snapshot", name));
            }
            ledger.append_entries(&[LedgerEntry::Snapshot(NamedEntry::new(at, caller, name))])
        })?;
        Ok(at)
    }

    fn list_audit_lines(&self, _: &Caller, limit: usize) -> GlobalResult<Vec<AuditLine>> {
        read_audit(&self.options.folder, limit, |_| true)
    }

    fn list_told_audit_lines(&self, caller: &Caller, limit: usize) -> GlobalResult<Vec<AuditLine>> {
        let told = AuditFilter::new(caller.org.as_ref());
        read_audit(&self.options.folder, limit, |line| told.admits(line))
    }

    fn import(&self, caller: &Caller, all: Vec<Publication>) -> GlobalResult<usize> {
        for publication in &all {
            check_publication(publication)?;
        }
        let own = match self.open_reader()? {
            Some(reader) => reader.list_own_published(caller)?,
            None => Vec::new(),
        };
        let own = own.into_iter();
        let own = own.map(|record| (record.publication.origin, record.checksum));
        let own: BTreeMap<String, String> = own.collect();
        let plan = plan_import(all, &own);
        let mut made = 0;
        for publication in &plan.changed {
            made += usize::from(!self.publish(caller, publication)?.unchanged);
        }
        let mut new = plan.new.into_iter();
        loop {
            let batch: Vec<Publication> = new.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return Ok(made);
            }
            made += self.import_batch(caller, batch)?;
        }
    }

    fn import_batch(&self, caller: &Caller, batch: Vec<Publication>) -> GlobalResult<usize> {
        let (at, version) = (self.now(), Version(1));
        let mut shelves = Vec::with_capacity(batch.len());
        let mut records = Vec::with_capacity(batch.len());
        for publication in batch {
            let shelf = publication_shelf(caller, &publication)?;
            let vector = self.embed_text(&publication.search_text());
            let making = NewVersion {
                caller,
                shelf: &shelf,
                version,
                first: None,
                supersedes: None,
                at,
            };
            records.push(making.build_record(publication, vector)?);
            shelves.push(shelf);
        }
        self.write_exclusively(|engine, ledger| {
            let outcomes = engine.observe(records, None, at)?;
            let kept = outcomes.into_iter().zip(shelves);
            let lines = kept.filter_map(|(outcome, shelf)| match outcome {
                WriteOutcome::Inserted { id } => Some(LedgerEntry::new_published(
                    at,
                    caller,
                    (id, version),
                    &shelf,
                )),
                _ => None,
            });
            let lines: Vec<LedgerEntry> = lines.collect();
            ledger.append_entries(&lines)?;
            Ok(lines.len())
        })
    }
}
