//! Tokens and invitations of a service, for all of its nodes: what each opens is the service's own
//! word, found here by a hash.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::PostgresStore;
use super::connect::{Failure, connection};
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

impl PostgresStore {
    /// Every token, by name.
    pub async fn tokens(&self) -> Result<Vec<KeptToken>> {
        let listed = async {
            let client = connection(&self.0.node.pool).await?;
            let statement =
                "SELECT name, hashes, entry, used FROM reprise_global.token ORDER BY name";
            let rows = client.query(statement, &[]).await?;
            Ok::<_, Failure>(rows.iter().map(kept).collect())
        };
        Ok(listed.await?)
    }

    /// The token that a hash opens; that it was used is noted once a minute.
    pub async fn token_of(&self, hash: &str) -> Result<Option<KeptToken>> {
        let found = async {
            let client = connection(&self.0.node.pool).await?;
            let statement = "SELECT name, hashes, entry, used, \
                 used IS NULL OR used < now() - interval '1 minute' \
                 FROM reprise_global.token WHERE hashes @> ARRAY[$1]";
            let statement = client.prepare_cached(statement).await?;
            let Some(row) = client.query_opt(&statement, &[&hash]).await? else {
                return Ok(None);
            };
            let token = kept(&row);
            if row.get(4) {
                let statement = "UPDATE reprise_global.token SET used = now() WHERE name = $1";
                // A database that takes no writes says all the same what a token opens.
                if let Err(error) = client.execute(statement, &[&token.name]).await {
                    tracing::debug!(%error, "that a token was used is not noted");
                }
            }
            Ok::<_, Failure>(Some(token))
        };
        Ok(found.await?)
    }

    /// Changes the tokens as one step among all nodes, and writes down who did what.
    pub async fn change_tokens<T, E: From<GlobalError>>(
        &self,
        edit: impl FnOnce(&mut Vec<KeptToken>) -> Result<(T, AuditLine), E>,
    ) -> Result<T, E> {
        let failed = |error: Failure| E::from(GlobalError::from(error));
        let database =
            |error: tokio_postgres::Error| E::from(GlobalError::from(Failure::from(error)));
        let mut client = connection(&self.0.node.pool).await.map_err(failed)?;
        let transaction = client.transaction().await.map_err(database)?;
        // Whoever only reads goes on; another who changes waits.
        let lock = "LOCK TABLE reprise_global.token IN SHARE ROW EXCLUSIVE MODE";
        transaction.batch_execute(lock).await.map_err(database)?;
        let statement = "SELECT name, hashes, entry, used FROM reprise_global.token ORDER BY name";
        let rows = transaction.query(statement, &[]).await.map_err(database)?;
        let before: Vec<KeptToken> = rows.iter().map(kept).collect();
        let mut after = before.clone();
        let (done, line) = edit(&mut after)?;
        let stood: HashMap<&str, &KeptToken> = before
            .iter()
            .map(|token| (token.name.as_str(), token))
            .collect();
        for gone in before
            .iter()
            .filter(|token| after.iter().all(|other| other.name != token.name))
        {
            let statement = "DELETE FROM reprise_global.token WHERE name = $1";
            let deleted = transaction.execute(statement, &[&gone.name]).await;
            deleted.map_err(database)?;
        }
        for new in after
            .iter()
            .filter(|token| stood.get(token.name.as_str()) != Some(token))
        {
            let statement = "INSERT INTO reprise_global.token (name, hashes, entry) \
                 VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE \
                 SET hashes = excluded.hashes, entry = excluded.entry";
            transaction
                .execute(statement, &[&new.name, &new.hashes, &new.entry])
                .await
                .map_err(database)?;
        }
        note(&transaction, &line).await.map_err(failed)?;
        transaction.commit().await.map_err(database)?;
        Ok(done)
    }
}
