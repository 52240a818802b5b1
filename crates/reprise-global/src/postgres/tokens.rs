//! Tokens and invitations of a service, for all of its nodes: what each opens is the service's own
//! word, found here by a hash.

use chrono::{DateTime, Utc};
use deadpool_postgres::{GenericClient, Object, Transaction};
use tokio_postgres::Row;

use super::PostgresStore;
use super::connect::{Failure, connection};
use super::node::{Given, change, delete, row, rows};
use super::takedown::note;
use crate::error::{GlobalError, Result};
use crate::store::AuditLine;

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptToken {
    pub name: String,
    /// SHA-256 in hex of what opens it.
    pub hashes: Vec<String>,
    /// The service's own word about it, as JSON.
    pub entry: String,
    /// When it was last used, to the minute.
    pub used: Option<DateTime<Utc>>,
}

fn kept(row: &Row) -> KeptToken {
    KeptToken {
        name: row.get(0),
        hashes: row.get(1),
        entry: row.get(2),
        used: row.get(3),
    }
}

/// Every token, by name.
async fn all(client: &impl GenericClient) -> Result<Vec<KeptToken>, Failure> {
    let statement = "SELECT name, hashes, entry, used FROM reprise_global.token ORDER BY name";
    let all = rows(client, statement, &[]).await?;
    Ok(all.iter().map(kept).collect())
}

impl PostgresStore {
    /// Every token, by name.
    pub async fn tokens(&self) -> Result<Vec<KeptToken>> {
        let client = connection(&self.0.node.pool).await?;
        Ok(all(&client).await?)
    }

    /// The token that a hash opens; that it was used is noted once a minute.
    pub async fn token_of(&self, hash: &str) -> Result<Option<KeptToken>> {
        let client = connection(&self.0.node.pool).await?;
        let statement = "SELECT name, hashes, entry, used, \
             used IS NULL OR used < now() - interval '1 minute' \
             FROM reprise_global.token WHERE hashes @> ARRAY[$1]";
        let Some(found) = row(&client, statement, &[&hash]).await? else {
            return Ok(None);
        };
        let token = kept(&found);
        if found.get(4) {
            let statement = "UPDATE reprise_global.token SET used = now() WHERE name = $1";
            // A database that takes no writes says all the same what a token opens.
            if let Err(error) = change(&client, statement, &[&token.name]).await {
                let error = GlobalError::from(error);
                tracing::debug!(%error, "that a token was used is not noted");
            }
        }
        Ok(Some(token))
    }

    /// Changes the tokens as one step among all nodes, and writes down who did what.
    pub async fn change_tokens<T, E: From<GlobalError>>(
        &self,
        edit: impl FnOnce(&mut Vec<KeptToken>) -> Result<(T, AuditLine), E>,
    ) -> Result<T, E> {
        let failed = |error: Failure| E::from(GlobalError::from(error));
        let mut client = connection(&self.0.node.pool).await.map_err(failed)?;
        let (transaction, before) = locked(&mut client).await.map_err(failed)?;
        let mut after = before.clone();
        let (done, line) = edit(&mut after)?;
        let written = write(transaction, &before, &after, &line);
        written.await.map_err(failed)?;
        Ok(done)
    }
}

/// The tokens for whoever changes them: who only reads goes on, another who changes waits.
async fn locked(client: &mut Object) -> Result<(Transaction<'_>, Vec<KeptToken>), Failure> {
    let transaction = client.transaction().await?;
    let lock = "LOCK TABLE reprise_global.token IN SHARE ROW EXCLUSIVE MODE";
    transaction.batch_execute(lock).await?;
    let before = all(&transaction).await?;
    Ok((transaction, before))
}

async fn write(
    transaction: Transaction<'_>,
    before: &[KeptToken],
    after: &[KeptToken],
    line: &AuditLine,
) -> Result<(), Failure> {
    let is_gone = |token: &&KeptToken| after.iter().all(|other| other.name != token.name);
    for gone in before.iter().filter(is_gone) {
        delete(&transaction, "token WHERE name = $1", &[&gone.name]).await?;
    }
    for new in after.iter().filter(|token| !before.contains(token)) {
        let statement = "INSERT INTO reprise_global.token (name, hashes, entry) \
             VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE \
             SET hashes = excluded.hashes, entry = excluded.entry";
        let given: Given<'_> = &[&new.name, &new.hashes, &new.entry];
        change(&transaction, statement, given).await?;
    }
    note(&transaction, line).await?;
    Ok(transaction.commit().await?)
}
