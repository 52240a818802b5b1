//! How much users and organisations have published, and how much they may: the limits of the
//! service, and those that operators set.

use deadpool_postgres::Transaction;
use reprise_global::backend::organisation_shelf;
use reprise_global::{AuditLine, Caller, HolderQuota, Quota, QuotaChange, Quotas};
use reprise_types::UserId;
use tokio_postgres::Row;

use super::connect::{Failure, get_connection};
use super::node::{CHANGE_TIME, Node, NodeState, begin_change, begin_read_within};
use super::sql::{append_audit_line, change, one, rows};

/// Reads a set limit from two columns.
fn decode_quota(row: &Row, [things, bytes]: [usize; 2]) -> Quota {
    let limit = |at| row.get::<_, Option<i64>>(at).map(i64::unsigned_abs);
    Quota {
        things: limit(things),
        bytes: limit(bytes),
    }
}

/// Counts what a shelf of an author's has more of, or less, and refuses what is over a quota.
pub(super) async fn add_usage(
    shared: &NodeState,
    transaction: &Transaction<'_>,
    author: &Caller,
    shelf: &str,
    (things, bytes): (i64, i64),
) -> Result<(), Failure> {
    let statement = "INSERT INTO reprise_global.usage AS u (holder, things, bytes) \
         VALUES ($1, greatest($2::int8, 0), greatest($3::int8, 0)) ON CONFLICT (holder) DO UPDATE SET \
         things = greatest(u.things + $2::int8, 0), bytes = greatest(u.bytes + $3::int8, 0) \
         RETURNING things, bytes, \
         (SELECT q.things FROM reprise_global.quota q WHERE q.holder = u.holder), \
         (SELECT q.bytes FROM reprise_global.quota q WHERE q.holder = u.holder)";
    let quotas = shared.node.options.quotas;
    for (holder, quota) in quotas.list_holders_with_quota(&author.user, shelf) {
        let row = one(transaction, statement, &[&holder, &things, &bytes]).await?;
        let [all, size] = [0, 1].map(|at| row.get::<_, i64>(at).unsigned_abs());
        if bytes > 0 {
            let quota = quota.tighten(decode_quota(&row, [2, 3]));
            quota.refuse_excess(&holder, all, size)?;
        }
    }
    Ok(())
}

/// Lists what each of these holders has, in their order.
async fn list_holders(
    transaction: &Transaction<'_>,
    quotas: &Quotas,
    holders: &[String],
) -> Result<Vec<HolderQuota>, Failure> {
    let statement = "SELECT h.holder, coalesce(u.things, 0), coalesce(u.bytes, 0), q.things, q.bytes \
         FROM unnest($1::text[]) WITH ORDINALITY AS h(holder, place) \
         LEFT JOIN reprise_global.usage u ON u.holder = h.holder \
         LEFT JOIN reprise_global.quota q ON q.holder = h.holder ORDER BY h.place";
    let found = rows(transaction, statement, &[&holders]).await?;
    let listed = found.iter().map(|row| {
        let holder: String = row.get(0);
        let of_service = if holder.starts_with("user:") {
            quotas.user
        } else {
            quotas.org
        };
        let [things, bytes] = [1, 2].map(|at| row.get::<_, i64>(at).unsigned_abs());
        let set = decode_quota(row, [3, 4]);
        HolderQuota {
            holder,
            things,
            bytes,
            set,
            quota: of_service.tighten(set),
        }
    });
    Ok(listed.collect())
}

pub(super) async fn list_quotas(
    node: &Node,
    operator: &Caller,
    users: &[UserId],
) -> Result<Vec<HolderQuota>, Failure> {
    let own = organisation_shelf(operator).ok();
    let own = own.iter().map(ToString::to_string);
    let holders: Vec<String> = own
        .chain(users.iter().map(|user| format!("user:{user}")))
        .collect();
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_read_within(CHANGE_TIME, &mut client, operator, "").await?;
    list_holders(&transaction, &node.options.quotas, &holders).await
}

pub(super) async fn set_quota(
    node: &Node,
    operator: &Caller,
    asked: &QuotaChange,
) -> Result<HolderQuota, Failure> {
    let user = asked.find_user(operator)?;
    let limit = |number: Option<u64>| number.map(u64::cast_signed);
    let (things, bytes) = (limit(asked.things), limit(asked.bytes));
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_change(&mut client, operator).await?;
    let holder = &asked.holder;
    if things.is_none() && bytes.is_none() {
        let statement = "DELETE FROM reprise_global.quota WHERE holder = $1";
        change(&transaction, statement, &[holder]).await?;
    } else {
        let statement = "INSERT INTO reprise_global.quota (holder, things, bytes) \
             VALUES ($1, $2, $3) ON CONFLICT (holder) DO UPDATE \
             SET things = excluded.things, bytes = excluded.bytes";
        change(&transaction, statement, &[holder, &things, &bytes]).await?;
    }
    let told =
        |number: Option<i64>| number.map_or_else(|| "no limit".to_owned(), |n| n.to_string());
    let line = AuditLine {
        name: user.is_none().then(|| holder.clone()),
        about: user,
        reason: Some(format!("things: {}, bytes: {}", told(things), told(bytes))),
        ..AuditLine::new(node.options.clock.now(), operator.user.as_str(), "quota")
    };
    append_audit_line(&transaction, &line).await?;
    let holders = [holder.clone()];
    let listed = list_holders(&transaction, &node.options.quotas, &holders).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    let none = || reprise_global::GlobalError::storage(&"the quota that was set is not there");
    Ok(listed.into_iter().next().ok_or_else(none)?)
}
