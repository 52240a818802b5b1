//! What a node knows of each shelf without asking: how much stands there, how words and vectors
//! spread over it. A minute old at most where a shelf is large, of this moment where it is small.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::Transaction;
use reprise_engine::{Spread, TextTerm};

use super::connect::{Failure, connection};
use super::node::{Node, reading};
use crate::caller::{Caller, Shelf};

/// A shelf of no more things is looked at anew for each question.
pub(super) const SMALL: u32 = 4_096;
/// How old what is known of a larger one may be.
const FRESH: Duration = Duration::from_mins(1);
/// Vectors that tell how cosines spread: the deviation is then known to 3 %.
const SAMPLE: i64 = 512;
const ENOUGH: usize = 128;
/// Shelves and words that a node knows at a time.
const SHELVES_MAX: usize = 256;
const WORDS_MAX: usize = 50_000;
/// Held by the node that builds the index.
const LOCK: i64 = 0x0072_6570_6964_7800;

/// One shelf.
#[derive(Debug)]
pub(super) struct Known {
    /// Newest versions on it.
    pub(super) things: u32,
    /// The mean length of their heads, in terms.
    head: f32,
    /// Some of their vectors; none of a small shelf.
    sample: Vec<Vec<f32>>,
    /// How many of them hold a word.
    words: Mutex<HashMap<i64, u32>>,
    at: Instant,
    is_asked: AtomicBool,
}

/// All shelves, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Shelves {
    known: Mutex<HashMap<String, Arc<Known>>>,
    /// Whether there is a sound index of vectors, and when that was asked.
    index: Mutex<Option<(bool, Instant)>>,
}

/// The shelves of one question together.
#[derive(Debug)]
pub(super) struct World {
    shelves: Vec<(String, Arc<Known>)>,
    pub(super) things: u32,
    pub(super) head: f32,
}

impl Shelves {
    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something stands there that did not, or does no more.
    pub(super) fn changed(&self, shelf: &str) {
        let mut known = self.known();
        if known.get(shelf).is_some_and(|known| known.things <= SMALL) {
            known.remove(shelf);
        }
    }

    fn keep(&self, shelf: &str, known: Arc<Known>) {
        let mut all = self.known();
        if all.len() >= SHELVES_MAX {
            all.clear();
        }
        all.insert(shelf.to_owned(), known);
    }

    /// What is known of the shelves open to a caller.
    pub(super) async fn world(
        self: &Arc<Self>,
        node: &Arc<Node>,
        transaction: &Transaction<'_>,
        caller: &Caller,
    ) -> Result<World, Failure> {
        let mut shelves = Vec::new();
        for shelf in caller.shelves() {
            let name = shelf.to_string();
            let known = self.known().get(&name).cloned();
            let known = if let Some(known) = known.filter(|known| known.things > SMALL) {
                if known.at.elapsed() > FRESH && !known.is_asked.swap(true, Ordering::Relaxed) {
                    look_later(self, node, caller, shelf);
                }
                known
            } else {
                let known = Arc::new(look(transaction, &name).await?);
                self.keep(&name, Arc::clone(&known));
                known
            };
            shelves.push((name, known));
        }
        let things = shelves.iter().map(|(_, known)| known.things).sum::<u32>();
        let terms = shelves.iter().map(|(_, k)| k.head * k.things as f32);
        let head = terms.sum::<f32>() / things.max(1) as f32;
        Ok(World {
            shelves,
            things,
            head,
        })
    }

    /// Whether the index of vectors can be used.
    pub(super) async fn is_indexed(&self, transaction: &Transaction<'_>) -> Result<bool, Failure> {
        let known = *self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((is_indexed, at)) = known
            && at.elapsed() < FRESH
        {
            return Ok(is_indexed);
        }
        let statement = transaction.prepare_cached(SOUND).await?;
        let sound = transaction.query_opt(&statement, &[]).await?;
        let sound = sound.is_some_and(|row| row.get(0));
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = Some((sound, Instant::now()));
        Ok(sound)
    }
}

/// Whether the index stands, and was built to its end.
const SOUND: &str = "SELECT indisvalid AND indisready FROM pg_index \
     WHERE indexrelid = to_regclass('reprise_global.search_by_meaning')";

fn look_later(shelves: &Arc<Shelves>, node: &Arc<Node>, caller: &Caller, shelf: Shelf) {
    let (node, caller) = (Arc::clone(node), caller.clone());
    let shelves = Arc::clone(shelves);
    tokio::spawn(async move {
        let looked = async {
            let mut client = connection(&node.pool).await?;
            let transaction = reading(&node, &mut client, &caller, "").await?;
            look(&transaction, &shelf.to_string()).await
        };
        match looked.await {
            Ok(known) => shelves.keep(&shelf.to_string(), Arc::new(known)),
            Err(error) => {
                tracing::debug!(?error, "a shelf could not be looked at");
                shelves.known().remove(&shelf.to_string());
            }
        }
    });
}

async fn look(transaction: &Transaction<'_>, shelf: &str) -> Result<Known, Failure> {
    let counted = transaction
        .prepare_cached(
            "SELECT count(*), coalesce(avg(head), 0)::float4 FROM reprise_global.search \
             WHERE shelf = $1 AND until IS NULL",
        )
        .await?;
    let row = transaction.query_one(&counted, &[&shelf]).await?;
    let things = u32::try_from(row.get::<_, i64>(0)).unwrap_or(u32::MAX);
    let mut sample: Vec<Vec<f32>> = Vec::new();
    if things > SMALL {
        // Pages by chance where the shelf fills many, else those that stand first.
        let percent = 400.0 * SAMPLE as f64 / f64::from(things);
        for chance in [format!("TABLESAMPLE SYSTEM ({percent:.4})"), String::new()] {
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
    }
    Ok(Known {
        things,
        head: row.get(1),
        sample,
        words: Mutex::default(),
        at: Instant::now(),
        is_asked: AtomicBool::new(false),
    })
}

impl World {
    /// How cosines with a vector spread, from the samples of the large shelves; `None` where there
    /// are none.
    pub(super) fn spread(&self, vector: &[f32]) -> Option<Spread> {
        let (mut sum, mut squares, mut weight, mut count) = (0.0_f64, 0.0_f64, 0.0_f64, 0_u32);
        for (_, known) in &self.shelves {
            let each = f64::from(known.things) / known.sample.len().max(1) as f64;
            for other in &known.sample {
                let cosine: f32 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
                let cosine = f64::from(cosine);
                sum += each * cosine;
                squares += each * cosine * cosine;
                weight += each;
                count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        let mean = sum / weight;
        Some(Spread {
            mean: mean as f32,
            deviation: (squares / weight - mean * mean).max(0.0).sqrt() as f32,
            count,
        })
    }

    /// How many things hold each term.
    pub(super) async fn holding(
        &self,
        transaction: &Transaction<'_>,
        terms: &[TextTerm],
    ) -> Result<Vec<u32>, Failure> {
        let mut all = vec![0_u32; terms.len()];
        let statement = transaction
            .prepare_cached(
                "SELECT token, count(*) FROM reprise_global.posting \
                 WHERE shelf = $1 AND token = ANY($2) GROUP BY token",
            )
            .await?;
        for (shelf, known) in &self.shelves {
            if known.things == 0 {
                continue;
            }
            let unknown: Vec<i64> = {
                let words = known.words();
                let numbers = terms.iter().map(|term| term.number);
                numbers.filter(|term| !words.contains_key(term)).collect()
            };
            if !unknown.is_empty() {
                let rows = transaction.query(&statement, &[shelf, &unknown]).await?;
                let mut words = known.words();
                if words.len() > WORDS_MAX {
                    words.clear();
                }
                words.extend(unknown.iter().map(|term| (*term, 0)));
                for row in rows {
                    let count = u32::try_from(row.get::<_, i64>(1)).unwrap_or(u32::MAX);
                    words.insert(row.get(0), count);
                }
            }
            let words = known.words();
            for (count, term) in all.iter_mut().zip(terms) {
                *count += words.get(&term.number).copied().unwrap_or_default();
            }
        }
        Ok(all)
    }
}

impl Known {
    fn words(&self) -> std::sync::MutexGuard<'_, HashMap<i64, u32>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`super::PostgresStore::maintain`].
pub(super) async fn maintain(node: &Node, shelves: &Shelves) -> Result<bool, Failure> {
    let client = connection(&node.pool).await?;
    // Of this session, not of a transaction: the index is built outside of any.
    let alone = client
        .query_one("SELECT pg_try_advisory_lock($1)", &[&LOCK])
        .await?;
    if !alone.get::<_, bool>(0) {
        return Ok(false);
    }
    let done = async {
        client
            .batch_execute(
                "ANALYZE reprise_global.thing, reprise_global.search, reprise_global.posting",
            )
            .await?;
        let sound = client.query_opt(SOUND, &[]).await?;
        if sound.as_ref().is_some_and(|row| row.get(0)) {
            return Ok(false);
        }
        let large = client
            .query_one(
                "SELECT coalesce((SELECT reltuples FROM pg_class \
                 WHERE oid = 'reprise_global.search'::regclass), 0)::float4",
                &[],
            )
            .await?;
        if large.get::<_, f32>(0) <= node.options.exact_max as f32 {
            return Ok(false);
        }
        // One that was not built to its end serves nobody.
        client
            .batch_execute("DROP INDEX IF EXISTS reprise_global.search_by_meaning")
            .await?;
        client
            .batch_execute(
                "CREATE INDEX CONCURRENTLY search_by_meaning ON reprise_global.search \
                 USING hnsw (embedding halfvec_cosine_ops)",
            )
            .await?;
        *shelves.index.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(true)
    };
    let done = done.await;
    let unlocked = client
        .execute("SELECT pg_advisory_unlock($1)", &[&LOCK])
        .await;
    unlocked.map_err(Failure::from)?;
    done
}
