//! A few things of a large shelf say how its vectors lie and which words are frequent there.

use std::collections::HashMap;

use deadpool_postgres::Transaction;

use super::connect::Failure;
use super::moments::Moments;

/// A shelf of no more things has no index of its own, and no word in it is too common to look for.
pub(super) const SMALL: u32 = 4_096;
/// Vectors that tell how cosines spread. Where one in two hundred is about the question, twenty of
/// these are: they make most of the deviation.
const SAMPLE: i64 = 4_096;
const ENOUGH: usize = 128;
/// Things whose words tell which words are frequent.
const READ: i64 = 1_024;

/// Pages by chance where the shelf fills many, else those that stand first. Every node takes the
/// same, and gives the same scores.
fn chances(rows: i64, things: u32) -> [String; 2] {
    let percent = (110.0 * rows as f64 / f64::from(things)).min(100.0);
    let chance = format!("TABLESAMPLE SYSTEM ({percent:.4}) REPEATABLE (1)");
    [chance, String::new()]
}

/// About how many things of a shelf hold each word that more than [`SMALL`] seem to hold: to count
/// them would read as much as stands there.
pub(super) async fn frequent(
    transaction: &Transaction<'_>,
    shelf: &str,
    things: u32,
) -> Result<HashMap<i64, u32>, Failure> {
    let mut words = HashMap::new();
    if things <= SMALL {
        return Ok(words);
    }
    for chance in chances(READ, things) {
        let row = transaction
            .query_one(
                &format!(
                    "WITH sample AS MATERIALIZED (SELECT tokens FROM reprise_global.thing {chance} \
                     WHERE shelf = $1 AND until IS NULL LIMIT $2), \
                     word AS MATERIALIZED (SELECT token, count(*) \
                     FROM sample, unnest(tokens) AS token GROUP BY token \
                     HAVING count(*) * $3::int8 > {SMALL} * (SELECT count(*) FROM sample)) \
                     SELECT (SELECT count(*) FROM sample), \
                     ARRAY(SELECT token FROM word), ARRAY(SELECT count FROM word)"
                ),
                &[&shelf, &READ, &i64::from(things)],
            )
            .await?;
        let (read, tokens, counts): (i64, Vec<i64>, Vec<i64>) =
            (row.get(0), row.get(1), row.get(2));
        let all = f64::from(things) / read.max(1) as f64;
        let counts = counts.iter().map(|count| (*count as f64 * all) as u32);
        words = tokens.into_iter().zip(counts).collect();
        if usize::try_from(read).is_ok_and(|read| read >= ENOUGH) {
            break;
        }
    }
    Ok(words)
}

/// How some of the vectors of a shelf lie; none of a small one.
pub(super) async fn moments(
    transaction: &Transaction<'_>,
    shelf: &str,
    things: u32,
) -> Result<Option<Moments>, Failure> {
    if things <= SMALL {
        return Ok(None);
    }
    let mut sample: Vec<Vec<f32>> = Vec::new();
    for chance in chances(SAMPLE, things) {
        let rows = transaction
            .query(
                &format!(
                    "SELECT embedding::real[] FROM reprise_global.search {chance} \
                     WHERE shelf = $1 AND until IS NULL AND embedding IS NOT NULL LIMIT $2"
                ),
                &[&shelf, &SAMPLE],
            )
            .await?;
        sample = rows.iter().map(|row| row.get(0)).collect();
        if sample.len() >= ENOUGH {
            break;
        }
    }
    let summed = tokio::task::spawn_blocking(move || Moments::of(&sample)).await;
    Ok(summed.ok().flatten())
}
