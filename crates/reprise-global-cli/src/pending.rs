//! The store of a service whose database is not there yet: it refuses every operation as
//! unavailable until the database is there.

use std::sync::OnceLock;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_global::{
    AuditLine, Branch, Caller, Erased, Fate, GlobalAnswer, GlobalError, GlobalQuery, GlobalRecord,
    GlobalResult, GlobalStore, HolderQuota, KeptToken, ListPage, Listed, Merged,
    OrganisationSettings, OwnSubmission, PersonLine, ProjectId, Publication, Published, PutBack,
    QuotaChange, ReviewDone, SharedTokens, StoreMetric, Submission, SubmissionVerdict, TakeDown,
    TakeDownDone, TakenDown, TokenEdit, Unpublished, UsageReport, Version,
};
use reprise_postgres::PostgresStore;
use reprise_types::RecordId;

use crate::prelude::*;

/// A store in PostgreSQL that may be opened later. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingStore(Arc<OnceLock<PostgresStore>>);

impl PendingStore {
    /// Hands every further operation to this store; the first one stays.
    pub(crate) fn set(&self, store: PostgresStore) {
        let _is_first = self.0.set(store).is_ok();
    }

    fn store(&self) -> GlobalResult<&PostgresStore> {
        let opened = self.0.get();
        opened.ok_or_else(|| GlobalError::unavailable("its database is not there yet"))
    }
}

/// Implements each operation by that of the store, once it is there.
macro_rules! delegate {
    ($($name:ident($($given:ident: $kind:ty),*) -> $answer:ty;)+) => {
        #[async_trait]
        impl GlobalStore for PendingStore {
            $(async fn $name(&self, caller: &Caller $(, $given: $kind)*) -> GlobalResult<$answer> {
                self.store()?.$name(caller $(, $given)*).await
            })+

            async fn list_metrics(&self) -> GlobalResult<Vec<StoreMetric>> {
                self.store()?.list_metrics().await
            }

            async fn check_ready(&self) -> GlobalResult<()> {
                self.store()?.check_ready().await
            }
        }
    };
}

delegate! {
    publish(publication: Publication) -> Published;
    get(id: RecordId, version: Option<Version>) -> GlobalRecord;
    list_versions_page(id: RecordId, page: ListPage) -> Vec<GlobalRecord>;
    query(query: &GlobalQuery) -> GlobalAnswer;
    list_own_published_page(page: ListPage) -> Vec<GlobalRecord>;
    unpublish(id: RecordId) -> Unpublished;
    rate(id: RecordId, rating: f32) -> ();
    report_usage(reports: &[UsageReport]) -> Vec<Fate>;
    create_snapshot(name: &str) -> DateTime<Utc>;
    open_branch(name: &str) -> Branch;
    list_branches() -> Vec<Branch>;
    publish_on_branch(branch: &str, publication: Publication) -> Published;
    merge_branch(branch: &str) -> Vec<Merged>;
    drop_branch(branch: &str) -> Branch;
    list_catalogue_page(page: ListPage) -> Vec<Listed>;
    take_down(id: RecordId, order: &TakeDown) -> TakeDownDone;
    put_back(id: RecordId) -> PutBack;
    list_own_taken_down() -> Vec<TakenDown>;
    list_projects() -> Vec<ProjectId>;
    list_quotas(users: &[UserId]) -> Vec<HolderQuota>;
    set_quota(change: &QuotaChange) -> HolderQuota;
    read_organisation() -> OrganisationSettings;
    change_organisation(settings: OrganisationSettings) -> OrganisationSettings;
    list_submissions_page(page: ListPage) -> Vec<Submission>;
    review_submission(id: RecordId, verdict: &SubmissionVerdict) -> ReviewDone;
    list_own_submissions() -> Vec<OwnSubmission>;
    list_person_lines() -> Vec<PersonLine>;
    erase_person() -> Erased;
    list_audit_lines(limit: usize) -> Vec<AuditLine>;
    list_told_audit_lines(limit: usize) -> Vec<AuditLine>;
}

#[async_trait]
impl SharedTokens for PendingStore {
    async fn list_tokens(&self) -> GlobalResult<Vec<KeptToken>> {
        self.store()?.list_tokens().await
    }

    async fn find_token_and_note_use(&self, hash: &str) -> GlobalResult<Option<KeptToken>> {
        self.store()?.find_token_and_note_use(hash).await
    }

    async fn change_tokens(&self, edit: TokenEdit<'_>) -> GlobalResult<()> {
        self.store()?.change_tokens(edit).await
    }
}
