//! Where the database is, and the limits of a store in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reprise_global::{CoordinationSettings, Quotas, TextVectors};
use reprise_types::{Clock, EmbeddingSpace};

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
    /// A larger shelf is answered from words while its index is missing: to compare all of it would
    /// take a question longer than it may.
    pub unindexed_max: u32,
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
    /// After so long a node reads them all anew in the background: the database may have been
    /// restored from a backup.
    pub voices_anew: Duration,
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
            unindexed_max: 32_768,
            sight: 160,
            word_rows: 2_000,
            worded_max: 512,
            compared_max: 128,
            standings_age: Duration::from_secs(1),
            voices_anew: Duration::from_mins(10),
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
