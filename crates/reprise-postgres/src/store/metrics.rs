//! What an operator watches of a database and of one node before it: nothing here reads a shelf.

use reprise_global::{GlobalError, StoreMetric};

use super::super::connect::{Failure, get_connection};
use super::super::node::NodeState;
use super::super::sample::SMALL;
use super::super::shelves::{list_shelf_sizes, list_vector_indexes, vector_index_name};
use super::super::sql::one;

/// Lists the metrics of the store, as this node sees it; those of its connections alone while all
/// of these are in use.
pub(super) async fn list_metrics(
    shared: &NodeState,
    (used, all): (usize, usize),
) -> Result<Vec<StoreMetric>, Failure> {
    let node = &shared.node;
    let waiting = node.pool.status().waiting as u64;
    let mut metrics = vec![
        metric(
            "connections_used",
            "Connections to the database in use.",
            used as u64,
        ),
        metric(
            "connections_max",
            "Connections that this node may open.",
            all as u64,
        ),
        metric(
            "connections_awaited",
            "Operations that wait for one.",
            waiting,
        ),
    ];
    let client = match get_connection(&node.pool).await {
        Err(Failure::Said(GlobalError::Busy { .. })) => return Ok(metrics),
        client => client?,
    };
    let sizes = list_shelf_sizes(&client).await?;
    let indexes = list_vector_indexes(&client).await?;
    let broken = indexes.values().filter(|is_sound| !**is_sound).count();
    let large = u64::from(node.options.exact_max.max(SMALL));
    let is_without_index = |shelf: &str| indexes.get(&vector_index_name(shelf)) != Some(&true);
    let without = sizes.iter().take_while(|(_, things)| *things > large);
    let without = without.filter(|(shelf, _)| is_without_index(shelf)).count();
    let (heard, heard_at) = shared.voices.count_heard();
    metrics.extend([
        metric("shelves", "Shelves with publications.", sizes.len() as u64),
        metric(
            "publications",
            "Publications.",
            sizes.iter().map(|one| one.1).sum(),
        ),
        metric(
            "largest_shelf_publications",
            "Publications on the largest shelf.",
            sizes.first().map_or(0, |one| one.1),
        ),
        metric(
            "shelves_without_index",
            "Large shelves without a vector index.",
            without as u64,
        ),
        metric("vector_indexes", "Vector indexes.", indexes.len() as u64),
        metric(
            "vector_indexes_invalid",
            "Those not built to their end.",
            broken as u64,
        ),
        metric("voices", "Reports and ratings that this node knows.", heard),
        metric(
            "voices_age_seconds",
            "Since it last looked for new ones.",
            heard_at,
        ),
    ]);
    let statement = "SELECT pg_database_size(current_database()), \
         CASE WHEN current_setting('archive_mode') = 'off' THEN NULL ELSE \
         greatest(extract(epoch FROM now() - \
         coalesce(last_archived_time, pg_postmaster_start_time())), 0)::int8 END \
         FROM pg_stat_archiver";
    let figures = one(&client, statement, &[]).await?;
    let bytes = figures.get::<_, i64>(0).unsigned_abs();
    metrics.push(metric("database_bytes", "Size of the database.", bytes));
    if let Some(age) = figures.get::<_, Option<i64>>(1) {
        let help = "Since the write-ahead log was last archived.";
        metrics.push(metric("archive_age_seconds", help, age.unsigned_abs()));
    }
    Ok(metrics)
}

fn metric(name: &'static str, help: &'static str, value: u64) -> StoreMetric {
    StoreMetric { name, help, value }
}
