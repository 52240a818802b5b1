//! Tokens and invitations of a service, for all of its nodes: what each opens is the service's own
//! word, found here by a hash.

use async_trait::async_trait;
use deadpool_postgres::{GenericClient, Object, Transaction};
use reprise_global::{AuditLine, GlobalError, GlobalResult, KeptToken, SharedTokens, TokenEdit};
use tokio_postgres::Row;

use super::PostgresStore;
use super::connect::{Failure, get_connection};
use super::sql::{SqlParameters, append_audit_line, change, delete, row, rows};

fn decode_token(row: &Row) -> KeptToken {
    KeptToken {
        name: row.get(0),
        hashes: row.get(1),
        entry: row.get(2),
        used: row.get(3),
    }
}

/// Every token, by name.
async fn read_tokens(client: &impl GenericClient) -> GlobalResult<Vec<KeptToken>, Failure> {
    let statement = "SELECT name, hashes, entry, used FROM reprise_global.token ORDER BY name";
    let all = rows(client, statement, &[]).await?;
    Ok(all.iter().map(decode_token).collect())
}

#[async_trait]
impl SharedTokens for PostgresStore {
    async fn list_tokens(&self) -> GlobalResult<Vec<KeptToken>> {
        let client = get_connection(&self.0.node.pool).await?;
        Ok(read_tokens(&client).await?)
    }

    async fn find_token_and_note_use(&self, hash: &str) -> GlobalResult<Option<KeptToken>> {
        let client = get_connection(&self.0.node.pool).await?;
        let statement = "SELECT name, hashes, entry, used, \
             used IS NULL OR used < now() - interval '1 minute' \
             FROM reprise_global.token WHERE hashes @> ARRAY[$1]";
        let Some(found) = row(&client, statement, &[&hash]).await? else {
            return Ok(None);
        };
        let token = decode_token(&found);
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

    async fn change_tokens(&self, edit: TokenEdit<'_>) -> GlobalResult<()> {
        let mut client = get_connection(&self.0.node.pool).await?;
        let (transaction, before) = lock_tokens(&mut client).await?;
        let mut after = before.clone();
        if let Some(line) = edit(&mut after) {
            write_tokens(transaction, &before, &after, &line).await?;
        }
        Ok(())
    }
}

/// Locks the tokens for a change: readers go on, another change waits.
async fn lock_tokens(
    client: &mut Object,
) -> GlobalResult<(Transaction<'_>, Vec<KeptToken>), Failure> {
    let transaction = client.transaction().await?;
    let lock = "LOCK TABLE reprise_global.token IN SHARE ROW EXCLUSIVE MODE";
    transaction.batch_execute(lock).await?;
    let before = read_tokens(&transaction).await?;
    Ok((transaction, before))
}

async fn write_tokens(
    transaction: Transaction<'_>,
    before: &[KeptToken],
    after: &[KeptToken],
    line: &AuditLine,
) -> GlobalResult<(), Failure> {
    let is_gone = |token: &&KeptToken| after.iter().all(|other| other.name != token.name);
    for gone in before.iter().filter(is_gone) {
        delete(&transaction, "token WHERE name = $1", &[&gone.name]).await?;
    }
    for new in after.iter().filter(|token| !before.contains(token)) {
        let statement = "INSERT INTO reprise_global.token (name, hashes, entry) \
             VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE \
             SET hashes = excluded.hashes, entry = excluded.entry";
        let given: SqlParameters<'_> = &[&new.name, &new.hashes, &new.entry];
        change(&transaction, statement, given).await?;
    }
    append_audit_line(&transaction, line).await?;
    Ok(transaction.commit().await?)
}
