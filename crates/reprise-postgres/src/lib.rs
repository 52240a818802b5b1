//! The store for teams that outgrow one machine: PostgreSQL with pgvector, any number of nodes
//! before one database.
//!
//! Each operation is one transaction that tells the database who asks; statements ask for the open
//! shelves alone, and policies of the tables hold them to it once more (ADR 0021).

mod branches;
mod connect;
mod drafts;
mod node;
mod options;
mod person;
mod publish;
mod quotas;
mod read;
mod reputations;
mod reviews;
mod role;
mod sample;
mod schema;
mod search;
mod shelves;
mod sql;
mod statements;
mod store;
mod sweep;
mod takedown;
mod things;
mod tokens;

pub use options::PostgresOptions;
pub use publish::CatalogueImportReport;
pub use schema::Migration;
pub use store::PostgresStore;
