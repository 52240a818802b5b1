//! The store itself: how it is opened, and each operation as one transaction.

mod metrics;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use deadpool_postgres::{Object, Pool};
use reprise_global::backend::{RETRIEVED_AFTER, check_branch_name, check_rating, check_reports};
use reprise_global::{
    AuditLine, Branch, Caller, DecisionReport, Erased, Fate, GlobalAnswer, GlobalError,
    GlobalQuery, GlobalRecord, GlobalResult, GlobalStore, HolderQuota, ListPage, Listed, Merged,
    OrganisationSettings, OwnSubmission, PersonLine, Publication, Published, QuotaChange,
    StoreMetric, Submission, SubmissionVerdict, TakeDown, TakeDownDone, TakenDown, Unpublished,
    UsageReport, Version, check_name, check_publication,
};
use reprise_types::{RecordId, UserId};
use tokio_postgres::error::SqlState;

use super::connect::Repeats::{BeforeCommit, Safely};
use super::connect::{Failure, limit_time};
use super::node::{Node, NodeState};
use super::options::PostgresOptions;
use super::reputations::Voices;
use super::schema::Migration;
use super::{
    branches, connect, person, publish, quotas, read, reputations, reviews, sample, schema, search,
    shelves, statements, takedown, things,
};

/// A global store in a database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PostgresStore(pub(crate) Arc<NodeState>);

impl PostgresStore {
    /// Connects, and brings the tables to this version where that is needed and allowed.
    pub async fn open(options: PostgresOptions) -> GlobalResult<Self> {
        let own = connect::build_pool(&options, None, 1)?;
        let mut client = connect_without_types(&options, &own).await?;
        let (salt, serving) = schema::prepare(&mut client, &options).await?;
        drop(client);
        let role = serving.role.as_deref();
        let pool = connect::build_pool(&options, role, options.connections)?;
        let voices = Voices::new(options.coordination);
        Ok(Self(Arc::new(NodeState {
            node: Arc::new(Node {
                options,
                pool,
                keeper: serving.keeps.then_some(own),
                salt,
            }),
            shelves: Arc::default(),
            voices,
        })))
    }

    /// The migrations that opening a store would make, in their order; nothing is changed.
    pub async fn list_pending_migrations(
        options: &PostgresOptions,
    ) -> GlobalResult<Vec<Migration>> {
        let own = connect::build_pool(options, None, 1)?;
        let client = connect_without_types(options, &own).await?;
        schema::list_pending(&client, options.dimensions).await
    }

    /// Builds the index of vectors of each shelf that is too large to be searched without, vacuums,
    /// and gathers the planner's figures. Others go on reading and writing meanwhile. Returns
    /// whether an index was built; a node that does not own the tables does nothing.
    pub async fn maintain(&self) -> GlobalResult<bool> {
        Ok(shelves::maintain(&self.0.node, &self.0.shelves).await?)
    }

    /// Publishes many new things of one author, a thousand a transaction, and passes over what he
    /// has published before. What says nearly the same as what was taken down waits for a review.
    pub async fn import(
        &self,
        caller: &Caller,
        publications: Vec<Publication>,
    ) -> GlobalResult<publish::CatalogueImportReport> {
        publish::import(&self.0, caller, publications).await
    }

    /// Connections in use and in all.
    pub fn connections(&self) -> (usize, usize) {
        let status = self.0.node.pool.status();
        let used = status.size.saturating_sub(status.available);
        (used, status.max_size)
    }

    /// The statements of every question, by name, with those that look at a shelf for it.
    #[doc(hidden)]
    pub fn hot_statements(&self) -> Vec<(&'static str, String)> {
        let all = statements::all().into_iter();
        all.chain(sample::statements())
            .map(|(name, statement)| (name, self.0.node.sql(&statement)))
            .collect()
    }
}

/// A connection for the first look: where pgvector is missing, the pool's own cannot be made. A
/// server may be up before its database is made: now it is not there yet, later it would be gone.
async fn connect_without_types(options: &PostgresOptions, pool: &Pool) -> GlobalResult<Object> {
    let error = match connect::get_connection(pool).await {
        Ok(client) => return Ok(client),
        Err(Failure::Database(error)) => error,
        Err(failure) => return Err(failure.into()),
    };
    let database = || {
        let config = options.url.parse::<tokio_postgres::Config>().ok();
        let name = config.and_then(|config| config.get_dbname().map(str::to_owned));
        name.unwrap_or_default()
    };
    match error.code() {
        Some(&SqlState::UNDEFINED_OBJECT) => Err(schema::no_vector_error(&database())),
        Some(&SqlState::INVALID_CATALOG_NAME) => {
            let said = format!("its server has no database `{}`; create it", database());
            Err(GlobalError::unavailable(said))
        }
        _ => Err(Failure::Database(error).into()),
    }
}

/// Longer than all statements of a change may take: a server that is silent for so long is gone.
const LONGEST: Duration = Duration::from_mins(2);
/// How long a database that is there may take to say so.
const READY: Duration = Duration::from_secs(5);
/// Statements of a question that may each take their time.
const STATEMENTS: u32 = 4;

/// Tries until it is done, refused, or beyond patience.
macro_rules! tried {
    ($repeats:expr, $once:expr) => {
        tried!(tries, $repeats, $once)
    };
    ($tries:ident, $repeats:expr, $once:expr) => {{
        let mut $tries = 0;
        loop {
            match limit_time(LONGEST, $once).await {
                Ok(done) => break Ok(done),
                Err(failure) if failure.again(&mut $tries, $repeats).await => {}
                Err(failure) => break Err(GlobalError::from(failure)),
            }
        }
    }};
}

#[async_trait]
impl GlobalStore for PostgresStore {
    async fn publish(&self, caller: &Caller, publication: Publication) -> GlobalResult<Published> {
        check_publication(&publication)?;
        let prepared = things::Prepared::new(&self.0.node, caller, publication).await?;
        let by = reviews::PublishedBy::Author;
        tried!(Safely, publish::publish(&self.0, caller, &prepared, by))
    }

    async fn get(
        &self,
        caller: &Caller,
        id: RecordId,
        version: Option<Version>,
    ) -> GlobalResult<GlobalRecord> {
        tried!(Safely, read::get(&self.0, caller, id, version))
    }

    async fn list_versions_page(
        &self,
        caller: &Caller,
        id: RecordId,
        page: ListPage,
    ) -> GlobalResult<Vec<GlobalRecord>> {
        tried!(Safely, read::versions(&self.0, caller, id, page))
    }

    async fn query(&self, caller: &Caller, query: &GlobalQuery) -> GlobalResult<GlobalAnswer> {
        query.check()?;
        let subject = reprise_engine::question_subject(&query.text).into_owned();
        // Without one it is answered by words.
        let vector = self.0.node.vector(subject).await.unwrap_or_default();
        let answer: GlobalResult<GlobalAnswer> = tried!(
            Safely,
            limit_time(
                self.0.node.options.question_time * STATEMENTS,
                search::query(&self.0, caller, query, vector.as_deref())
            )
        );
        let answer = answer?;
        if self
            .0
            .voices
            .retrieved
            .add_hits(caller, query, &answer.hits)
        {
            let shared = Arc::clone(&self.0);
            // No answer waits for it.
            tokio::spawn(async move {
                tokio::time::sleep(RETRIEVED_AFTER).await;
                if let Err(error) = shared.voices.write_retrieved(&shared.node).await {
                    let error = GlobalError::from(error);
                    tracing::warn!(%error, "what was retrieved is not counted");
                }
            });
        }
        Ok(answer.anonymize_for_reader(&caller.user))
    }

    async fn list_own_published_page(
        &self,
        caller: &Caller,
        page: ListPage,
    ) -> GlobalResult<Vec<GlobalRecord>> {
        tried!(Safely, read::list_own_publications(&self.0, caller, page))
    }

    async fn unpublish(&self, caller: &Caller, id: RecordId) -> GlobalResult<Unpublished> {
        // An answer that was lost: the thing is gone, and the audit knows who took it back.
        self.0.voices.retrieved.forget_thing(id);
        tried!(
            tries,
            Safely,
            publish::unpublish(&self.0, caller, id, tries > 0)
        )
    }

    async fn rate(&self, caller: &Caller, id: RecordId, rating: f32) -> GlobalResult<()> {
        check_rating(rating)?;
        tried!(Safely, reputations::rate(&self.0.node, caller, id, rating))
    }

    async fn report_usage(
        &self,
        caller: &Caller,
        reports: &[UsageReport],
    ) -> GlobalResult<Vec<Fate>> {
        check_reports(reports)?;
        tried!(BeforeCommit, self.0.voices.write_retrieved(&self.0.node))?;
        tried!(
            BeforeCommit,
            reputations::report(&self.0.node, caller, reports)
        )
    }

    async fn create_snapshot(&self, caller: &Caller, name: &str) -> GlobalResult<DateTime<Utc>> {
        check_name(name)?;
        tried!(BeforeCommit, publish::snapshot(&self.0.node, caller, name))
    }

    async fn open_branch(&self, caller: &Caller, name: &str) -> GlobalResult<Branch> {
        check_name(name)?;
        tried!(BeforeCommit, branches::branch(&self.0.node, caller, name))
    }

    async fn list_branches(&self, caller: &Caller) -> GlobalResult<Vec<Branch>> {
        tried!(Safely, branches::branches(&self.0.node, caller))
    }

    async fn publish_on_branch(
        &self,
        caller: &Caller,
        branch: &str,
        publication: Publication,
    ) -> GlobalResult<Published> {
        check_branch_name(branch)?;
        check_publication(&publication)?;
        let prepared = things::Prepared::new(&self.0.node, caller, publication).await?;
        tried!(Safely, branches::draft(&self.0, caller, branch, &prepared))
    }

    async fn merge_branch(&self, caller: &Caller, branch: &str) -> GlobalResult<Vec<Merged>> {
        check_branch_name(branch)?;
        tried!(BeforeCommit, branches::merge(&self.0, caller, branch))
    }

    async fn drop_branch(&self, caller: &Caller, branch: &str) -> GlobalResult<Branch> {
        check_branch_name(branch)?;
        tried!(
            BeforeCommit,
            branches::drop_branch(&self.0.node, caller, branch)
        )
    }

    async fn list_catalogue_page(
        &self,
        caller: &Caller,
        page: ListPage,
    ) -> GlobalResult<Vec<Listed>> {
        tried!(Safely, takedown::catalogue(&self.0, caller, page))
    }

    async fn take_down(
        &self,
        operator: &Caller,
        id: RecordId,
        order: &TakeDown,
    ) -> GlobalResult<TakeDownDone> {
        order.check()?;
        self.0.voices.retrieved.forget_thing(id);
        tried!(
            BeforeCommit,
            takedown::take_down(&self.0, operator, id, order)
        )
    }

    async fn put_back(&self, operator: &Caller, id: RecordId) -> GlobalResult<DecisionReport> {
        tried!(BeforeCommit, takedown::put_back(&self.0, operator, id))
    }

    async fn list_own_taken_down(&self, caller: &Caller) -> GlobalResult<Vec<TakenDown>> {
        tried!(Safely, takedown::taken_down(&self.0.node, caller))
    }

    async fn list_quotas(
        &self,
        operator: &Caller,
        users: &[UserId],
    ) -> GlobalResult<Vec<HolderQuota>> {
        tried!(Safely, quotas::list_quotas(&self.0.node, operator, users))
    }

    async fn set_quota(
        &self,
        operator: &Caller,
        change: &QuotaChange,
    ) -> GlobalResult<HolderQuota> {
        tried!(Safely, quotas::set_quota(&self.0.node, operator, change))
    }

    async fn read_organisation(&self, caller: &Caller) -> GlobalResult<OrganisationSettings> {
        tried!(Safely, reviews::read_organisation(&self.0.node, caller))
    }

    async fn change_organisation(
        &self,
        operator: &Caller,
        settings: OrganisationSettings,
    ) -> GlobalResult<OrganisationSettings> {
        tried!(
            BeforeCommit,
            reviews::change_organisation(&self.0.node, operator, settings)
        )
    }

    async fn list_submissions_page(
        &self,
        reviewer: &Caller,
        page: ListPage,
    ) -> GlobalResult<Vec<Submission>> {
        tried!(
            Safely,
            reviews::list_submissions(&self.0.node, reviewer, page)
        )
    }

    async fn review_submission(
        &self,
        reviewer: &Caller,
        id: RecordId,
        verdict: &SubmissionVerdict,
    ) -> GlobalResult<DecisionReport> {
        verdict.check()?;
        tried!(
            BeforeCommit,
            reviews::review(&self.0, reviewer, id, verdict)
        )
    }

    async fn list_own_submissions(&self, caller: &Caller) -> GlobalResult<Vec<OwnSubmission>> {
        tried!(Safely, reviews::list_own_submissions(&self.0.node, caller))
    }

    async fn list_person_lines(&self, caller: &Caller) -> GlobalResult<Vec<PersonLine>> {
        tried!(Safely, person::person(&self.0.node, caller))
    }

    async fn erase_person(&self, caller: &Caller) -> GlobalResult<Erased> {
        tried!(Safely, person::erase(&self.0, caller))
    }

    async fn list_audit_lines(&self, _: &Caller, limit: usize) -> GlobalResult<Vec<AuditLine>> {
        tried!(Safely, read::audit(&self.0.node, limit))
    }

    async fn list_told_audit_lines(
        &self,
        caller: &Caller,
        limit: usize,
    ) -> GlobalResult<Vec<AuditLine>> {
        tried!(Safely, read::audit_told_to(&self.0.node, caller, limit))
    }

    async fn list_metrics(&self) -> GlobalResult<Vec<StoreMetric>> {
        tried!(Safely, metrics::list_metrics(&self.0, self.connections()))
    }

    async fn check_ready(&self) -> GlobalResult<()> {
        let asked = async {
            let client = connect::get_connection(&self.0.node.pool).await?;
            Ok::<_, Failure>(client.simple_query("SELECT 1").await.map(drop)?)
        };
        Ok(limit_time(READY, asked).await?)
    }
}
