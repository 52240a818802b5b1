//! The store for whoever outgrows one machine: PostgreSQL with pgvector, any number of nodes before
//! one database.
//!
//! Each operation is one transaction that tells the database who asks; statements ask for the open
//! shelves alone, and policies of the tables hold them to it once more (ADR 0021).

mod branches;
mod candidates;
mod connect;
mod node;
mod person;
mod publish;
mod read;
mod role;
mod sample;
mod schema;
mod search;
mod shelves;
mod statements;
mod sweep;
mod takedown;
mod tokens;
mod voices;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use deadpool_postgres::{Object, Pool};
use reprise_types::{Clock, EmbeddingSpace, RecordId};
use tokio_postgres::error::SqlState;

use crate::caller::Caller;
use crate::coordination::{CoordinationSettings, RETRIEVED_AFTER};
use crate::error::{GlobalError, Result};
use crate::record::{GlobalRecord, Publication, Version};
use crate::store::{
    AuditLine, Branch, Fate, GlobalAnswer, GlobalQuery, GlobalStore, ListPage, Merged, Published,
    TextVectors, Unpublished, UsageReport, check_branch, check_name, check_publication,
    check_rating, check_reports,
};
use crate::takedown::{
    Erased, Listed, PersonLine, PutBack, Quotas, TakeDown, TakeDownDone, TakenDown,
};
use connect::Repeats::{BeforeCommit, Safely};
use connect::{Failure, within};
use node::{Node, Shared};
pub use schema::Migration;
pub use tokens::KeptToken;
use voices::Voices;

/// Where the database is, and what the store is lent.
#[derive(Clone)]
pub struct PostgresOptions {
    /// Its address, as libpq writes it: `postgresql://...` or `host=... user=... dbname=...`.
    pub url: String,
    /// A PEM file of the authority that signed the server's certificate; the web's where none is
    /// named.
    pub authority: Option<PathBuf>,
    /// The role that serves where who connects owns the tables; made where it is missing and that
    /// is allowed.
    pub serving_role: String,
    /// Serve as the owner of the tables all the same.
    pub serves_as_owner: bool,
    /// Length of every vector.
    pub dimensions: u16,
    /// The space of the model in use.
    pub space: Option<EmbeddingSpace>,
    pub vectors: TextVectors,
    /// What new ids are made from; the instants of versions are the database's.
    pub clock: Arc<dyn Clock>,
    /// Connections of this node. A question takes two while no more than half are in use.
    pub connections: usize,
    /// How long an operation waits for one of them before it is refused.
    pub patience: Duration,
    /// How long one statement of a question may take.
    pub question_time: Duration,
    /// Shelves of up to so many things are searched exactly.
    pub exact_max: u32,
    /// How many things an index keeps in sight while it is walked, 1 to 1,000: more find more, and
    /// take longer.
    pub sight: u32,
    /// Rows of a question's words that are read to bring things forward: the rarest words come
    /// first, and of the rarest up to four times as many are read. The others weigh what was
    /// brought forward.
    pub word_rows: u32,
    /// Things that rare words bring forward to be weighed by the frequent ones too.
    pub worded_max: u32,
    /// Things that words bring forward to be compared with the question.
    pub compared_max: u32,
    /// How old what everybody's runs say may be.
    pub standings_age: Duration,
    /// How much one user, and one organisation, may have published.
    pub quotas: Quotas,
    /// How far everybody's runs move what is found.
    pub coordination: CoordinationSettings,
    /// Statements ask for every shelf, so that the policies of the tables alone hold.
    #[doc(hidden)]
    pub policies_alone: bool,
}

impl PostgresOptions {
    /// The usual limits for a database with these vectors.
    pub fn new(
        url: impl Into<String>,
        dimensions: u16,
        space: Option<EmbeddingSpace>,
        vectors: TextVectors,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            url: url.into(),
            authority: None,
            serving_role: "reprise_serving".to_owned(),
            serves_as_owner: false,
            dimensions,
            space,
            vectors,
            clock,
            connections: 16,
            patience: Duration::from_millis(100),
            question_time: Duration::from_secs(2),
            exact_max: 4_096,
            sight: 160,
            word_rows: 2_000,
            worded_max: 512,
            compared_max: 128,
            standings_age: Duration::from_secs(1),
            quotas: Quotas::default(),
            coordination: CoordinationSettings::default(),
            policies_alone: false,
        }
    }
}

// Without the address: it may hold a password.
reprise_types::show_fields!(PostgresOptions {
    connections,
    exact_max
});

/// A global store in a database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PostgresStore(Arc<Shared>);

impl PostgresStore {
    /// Connects, and brings the tables to this version where that is needed and allowed.
    pub async fn open(options: PostgresOptions) -> Result<Self> {
        let own = connect::pool(&options, None, 1)?;
        let mut client = without_types(&options, &own).await?;
        let (salt, serving) = schema::prepare(&mut client, &options).await?;
        drop(client);
        let role = serving.role.as_deref();
        let pool = connect::pool(&options, role, options.connections)?;
        let voices = Voices::new(options.coordination);
        Ok(Self(Arc::new(Shared {
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
    pub async fn pending(options: &PostgresOptions) -> Result<Vec<Migration>> {
        let own = connect::pool(options, None, 1)?;
        let client = without_types(options, &own).await?;
        schema::pending(&client, options.dimensions).await
    }

    /// Builds the index of vectors of each shelf that this node has used and that is too large to
    /// be searched without, vacuums, and gathers the planner's figures. Others go on reading and
    /// writing meanwhile. Whether an index was built; a node that does not own the tables does
    /// nothing.
    pub async fn maintain(&self) -> Result<bool> {
        Ok(shelves::maintain(&self.0.node, &self.0.shelves).await?)
    }

    /// Publishes many new things of one author, a thousand a transaction, and passes over what he
    /// has published before. How many are new.
    pub async fn import(&self, caller: &Caller, publications: Vec<Publication>) -> Result<usize> {
        publish::import(&self.0, caller, publications).await
    }

    /// Connections in use and in all, for metrics.
    pub fn connections(&self) -> (usize, usize) {
        let status = self.0.node.pool.status();
        (
            status.size.saturating_sub(status.available),
            status.max_size,
        )
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
async fn without_types(options: &PostgresOptions, pool: &Pool) -> Result<Object> {
    let error = match connect::connection(pool).await {
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
        Some(&SqlState::UNDEFINED_OBJECT) => Err(schema::no_vector(&database())),
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
            match within(LONGEST, $once).await {
                Ok(done) => break Ok(done),
                Err(failure) if failure.again(&mut $tries, $repeats).await => {}
                Err(failure) => break Err(GlobalError::from(failure)),
            }
        }
    }};
}

#[async_trait]
impl GlobalStore for PostgresStore {
    async fn publish(&self, caller: &Caller, publication: Publication) -> Result<Published> {
        check_publication(&publication)?;
        let prepared = publish::Prepared::of(&self.0.node, caller, publication).await?;
        tried!(Safely, publish::publish(&self.0, caller, &prepared))
    }

    async fn get(
        &self,
        caller: &Caller,
        id: RecordId,
        version: Option<Version>,
    ) -> Result<GlobalRecord> {
        tried!(Safely, read::get(&self.0, caller, id, version))
    }

    async fn versions_page(
        &self,
        caller: &Caller,
        id: RecordId,
        page: ListPage,
    ) -> Result<Vec<GlobalRecord>> {
        tried!(Safely, read::versions(&self.0, caller, id, page))
    }

    async fn query(&self, caller: &Caller, query: &GlobalQuery) -> Result<GlobalAnswer> {
        query.check()?;
        let subject = reprise_engine::subject(&query.text).into_owned();
        // Without one it is answered by words.
        let vector = self.0.node.vector(subject).await.unwrap_or_default();
        let answer: Result<GlobalAnswer> = tried!(
            Safely,
            within(
                self.0.node.options.question_time * STATEMENTS,
                search::query(&self.0, caller, query, vector.as_deref())
            )
        );
        let answer = answer?;
        if self.0.voices.retrieved.note(caller, query, &answer.hits) {
            let shared = Arc::clone(&self.0);
            // No answer waits for it.
            tokio::spawn(async move {
                tokio::time::sleep(RETRIEVED_AFTER).await;
                if let Err(error) = shared.voices.tell_retrieved(&shared.node).await {
                    let error = GlobalError::from(error);
                    tracing::warn!(%error, "what was retrieved is not counted");
                }
            });
        }
        Ok(answer.for_reader(&caller.user))
    }

    async fn published_page(&self, caller: &Caller, page: ListPage) -> Result<Vec<GlobalRecord>> {
        tried!(Safely, read::published(&self.0, caller, page))
    }

    async fn unpublish(&self, caller: &Caller, id: RecordId) -> Result<Unpublished> {
        // An answer that was lost: the thing is gone, and the audit knows who took it back.
        self.0.voices.retrieved.forget(id);
        tried!(
            tries,
            Safely,
            publish::unpublish(&self.0, caller, id, tries > 0)
        )
    }

    async fn rate(&self, caller: &Caller, id: RecordId, rating: f32) -> Result<()> {
        check_rating(rating)?;
        tried!(Safely, voices::rate(&self.0.node, caller, id, rating))
    }

    async fn report(&self, caller: &Caller, reports: &[UsageReport]) -> Result<Vec<Fate>> {
        check_reports(reports)?;
        tried!(BeforeCommit, self.0.voices.tell_retrieved(&self.0.node))?;
        tried!(BeforeCommit, voices::report(&self.0.node, caller, reports))
    }

    async fn snapshot(&self, caller: &Caller, name: &str) -> Result<DateTime<Utc>> {
        check_name(name)?;
        tried!(BeforeCommit, publish::snapshot(&self.0.node, caller, name))
    }

    async fn branch(&self, caller: &Caller, name: &str) -> Result<Branch> {
        check_name(name)?;
        tried!(BeforeCommit, branches::branch(&self.0.node, caller, name))
    }

    async fn branches(&self, caller: &Caller) -> Result<Vec<Branch>> {
        tried!(Safely, branches::branches(&self.0.node, caller))
    }

    async fn draft(
        &self,
        caller: &Caller,
        branch: &str,
        publication: Publication,
    ) -> Result<Published> {
        check_branch(branch)?;
        check_publication(&publication)?;
        let prepared = publish::Prepared::of(&self.0.node, caller, publication).await?;
        tried!(Safely, branches::draft(&self.0, caller, branch, &prepared))
    }

    async fn merge(&self, caller: &Caller, branch: &str) -> Result<Vec<Merged>> {
        check_branch(branch)?;
        tried!(BeforeCommit, branches::merge(&self.0, caller, branch))
    }

    async fn drop_branch(&self, caller: &Caller, branch: &str) -> Result<Branch> {
        check_branch(branch)?;
        tried!(
            BeforeCommit,
            branches::drop_branch(&self.0.node, caller, branch)
        )
    }

    async fn catalogue(&self, caller: &Caller, page: ListPage) -> Result<Vec<Listed>> {
        tried!(Safely, takedown::catalogue(&self.0, caller, page))
    }

    async fn take_down(
        &self,
        operator: &Caller,
        id: RecordId,
        order: &TakeDown,
    ) -> Result<TakeDownDone> {
        order.check()?;
        self.0.voices.retrieved.forget(id);
        tried!(
            BeforeCommit,
            takedown::take_down(&self.0, operator, id, order)
        )
    }

    async fn put_back(&self, operator: &Caller, id: RecordId) -> Result<PutBack> {
        tried!(BeforeCommit, takedown::put_back(&self.0, operator, id))
    }

    async fn taken_down(&self, caller: &Caller) -> Result<Vec<TakenDown>> {
        tried!(Safely, takedown::taken_down(&self.0.node, caller))
    }

    async fn person(&self, caller: &Caller) -> Result<Vec<PersonLine>> {
        tried!(Safely, person::person(&self.0.node, caller))
    }

    async fn erase_person(&self, caller: &Caller) -> Result<Erased> {
        tried!(Safely, person::erase(&self.0, caller))
    }

    async fn audit(&self, _: &Caller, limit: usize) -> Result<Vec<AuditLine>> {
        tried!(Safely, read::audit(&self.0.node, limit))
    }

    async fn answers(&self) -> Result<()> {
        let asked = async {
            let client = connect::connection(&self.0.node.pool).await?;
            Ok::<_, Failure>(client.simple_query("SELECT 1").await.map(drop)?)
        };
        Ok(within(READY, asked).await?)
    }
}
