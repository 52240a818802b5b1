//! What a node knows of each shelf without asking: how much it holds, how words and vectors spread
//! over it. Of this moment where a shelf is small, a minute old where it is large, and older
//! while the database has no time to be asked.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deadpool_postgres::{GenericClient, Object, Transaction};
use reprise_engine::TextTerm;
use reprise_global::Caller;
use reprise_types::{lock, sha256_hex};

use super::connect::{Failure, get_connection, literal};
use super::node::{CHANGE_TIME, Node, begin_read_within};
use super::sample::{Cosines, Moments, SMALL, frequent, moments};
use super::sql::{change, one, row, rows};
use super::statements;

/// A shelf of no more things is looked at anew for each question.
const TINY: u32 = 256;
/// How old what is known of one that is not tiny may be.
const FRESH: Duration = Duration::from_mins(1);
/// Shelves and words that a node knows at a time.
const SHELVES_MAX: usize = 256;
const WORDS_MAX: usize = 50_000;
/// Shelves with an index of their own: every write looks at each.
const INDEXES_MAX: usize = 100;
/// Held by the node that builds the index.
const LOCK: i64 = 0x0072_6570_6964_7800;

/// One shelf.
#[derive(Debug)]
pub(super) struct ShelfFacts {
    /// Newest versions on it.
    pub(super) things: u32,
    /// The mean length of their heads, in terms.
    head: f32,
    /// How some of their vectors lie; none of a small shelf.
    moments: Option<Moments>,
    /// How many of them hold a word: of frequent ones about so many.
    words: Mutex<HashMap<i64, u32>>,
    /// Whether there is a sound index of its vectors, and when that was asked.
    index: Mutex<Option<(bool, Instant)>>,
    /// When it was looked at, or last to be.
    at: Mutex<Instant>,
}

/// All shelves, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Shelves {
    known: Mutex<HashMap<String, Arc<ShelfFacts>>>,
    /// Those that are looked at in the background.
    looking: Mutex<BTreeSet<String>>,
}

/// The shelves of one question together.
#[derive(Debug)]
pub(super) struct QuestionShelves {
    shelves: Vec<(String, Arc<ShelfFacts>)>,
    pub(super) things: u32,
    pub(super) head: f32,
}

impl Shelves {
    fn lock_facts(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<ShelfFacts>>> {
        lock(&self.known)
    }

    fn lock_looking(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        lock(&self.looking)
    }

    /// Notes that a shelf has changed.
    pub(super) fn note_change(&self, shelf: &str) {
        let mut known = self.lock_facts();
        if known.get(shelf).is_some_and(|known| known.things <= SMALL) {
            known.remove(shelf);
        }
    }

    fn keep(&self, shelf: &str, known: ShelfFacts) -> Arc<ShelfFacts> {
        let mut all = self.lock_facts();
        let is_full = |all: &HashMap<_, _>| all.len() >= SHELVES_MAX;
        if is_full(&all) && !all.contains_key(shelf) {
            // What takes long to look at stays, as far as there is room.
            all.retain(|_, one| one.things > SMALL);
            if is_full(&all) {
                all.clear();
            }
        }
        let known = Arc::new(known);
        all.insert(shelf.to_owned(), Arc::clone(&known));
        known
    }

    /// What is known of the shelves that a question of this caller reads.
    pub(super) async fn load_question_shelves(
        self: &Arc<Self>,
        node: &Arc<Node>,
        transaction: &Transaction<'_>,
        caller: &Caller,
        asked: &[String],
    ) -> Result<QuestionShelves, Failure> {
        let before = |name: &String| self.lock_facts().get(name).cloned();
        let is_large = |known: &Arc<ShelfFacts>| known.things > TINY;
        let large: Vec<Option<Arc<ShelfFacts>>> = asked
            .iter()
            .map(|name| before(name).filter(is_large))
            .collect();
        let small = asked
            .iter()
            .zip(&large)
            .filter(|(_, known)| known.is_none());
        let small: Vec<String> = small.map(|(name, _)| name.clone()).collect();
        let looked = read_facts(transaction, &small).await;
        if looked.as_ref().is_err_and(Failure::is_late) {
            // The next questions know it.
            for name in &small {
                spawn_facts_refresh(self, node, caller, name);
            }
        }
        let mut looked = looked?;
        let mut shelves = Vec::with_capacity(asked.len());
        for (name, known) in asked.iter().zip(large) {
            let known = if let Some(known) = known {
                if known.is_due() {
                    spawn_facts_refresh(self, node, caller, name);
                }
                known
            } else {
                let now = looked.remove(name).unwrap_or_default();
                // Its words are counted already.
                match before(name).filter(|before| before.is_like(&now)) {
                    Some(before) => before,
                    None => self.keep(name, now),
                }
            };
            shelves.push((name.clone(), known));
        }
        let things = shelves.iter().map(|(_, known)| known.things).sum::<u32>();
        let terms = shelves.iter().map(|(_, k)| k.head * k.things as f32);
        let head = terms.sum::<f32>() / things.max(1) as f32;
        Ok(QuestionShelves {
            shelves,
            things,
            head,
        })
    }
}

/// Looks at a shelf in the background, for as long as a change may take.
fn spawn_facts_refresh(shelves: &Arc<Shelves>, node: &Arc<Node>, caller: &Caller, shelf: &str) {
    if !shelves.lock_looking().insert(shelf.to_owned()) {
        return;
    }
    let (node, caller) = (Arc::clone(node), caller.clone());
    let (shelves, shelf) = (Arc::clone(shelves), shelf.to_owned());
    tokio::spawn(async move {
        let looked = async {
            let mut client = get_connection(&node.pool).await?;
            let transaction = begin_read_within(CHANGE_TIME, &mut client, &caller, "").await?;
            read_facts(&transaction, std::slice::from_ref(&shelf)).await
        };
        match looked.await {
            Ok(mut known) => {
                let known = known.remove(&shelf).unwrap_or_default();
                shelves.keep(&shelf, known);
            }
            // What is known of it serves for another while.
            Err(error) => tracing::debug!(?error, "a shelf could not be looked at"),
        }
        shelves.lock_looking().remove(&shelf);
    });
}

/// What is known of these shelves from now on; an empty one is not in the answer.
async fn read_facts(
    transaction: &Transaction<'_>,
    shelves: &[String],
) -> Result<HashMap<String, ShelfFacts>, Failure> {
    let mut found = HashMap::new();
    if shelves.is_empty() {
        return Ok(found);
    }
    // Of a branch, which has few things, nobody keeps a count.
    let (branches, others): (Vec<&str>, Vec<&str>) = shelves
        .iter()
        .map(String::as_str)
        .partition(|shelf| shelf.starts_with("branch:"));
    let kept = "SELECT shelf, sum(things)::int8, (sum(heads) / sum(things))::float4 \
         FROM reprise_global.shelf_size WHERE shelf = ANY($1) GROUP BY shelf \
         HAVING sum(things) > 0";
    let mut sizes = rows(transaction, kept, &[&others]).await?;
    if !branches.is_empty() {
        let counted = "SELECT shelf, count(*), avg(head)::float4 FROM reprise_global.search \
             WHERE shelf = ANY($1) AND until IS NULL GROUP BY shelf";
        sizes.extend(rows(transaction, counted, &[&branches]).await?);
    }
    for row in sizes {
        let shelf: String = row.get(0);
        let things = u32::try_from(row.get::<_, i64>(1)).unwrap_or(u32::MAX);
        let known = ShelfFacts {
            things,
            head: row.get(2),
            words: Mutex::new(frequent(transaction, &shelf, things).await?),
            moments: moments(transaction, &shelf, things).await?,
            ..ShelfFacts::default()
        };
        found.insert(shelf, known);
    }
    Ok(found)
}

impl QuestionShelves {
    /// What is known of a shelf that the question reads.
    pub(super) fn find_facts(&self, shelf: &str) -> Option<&ShelfFacts> {
        let known = self.shelves.iter().find(|(name, _)| name == shelf);
        known.map(|(_, known)| &**known)
    }

    /// Returns whether a shelf holds anything.
    pub(super) fn holds(&self, shelf: &str) -> bool {
        self.find_facts(shelf).is_none_or(|known| known.things > 0)
    }

    /// How many things hold each term, counted up to a bound and estimated beyond it.
    pub(super) async fn count_holders_of_terms(
        &self,
        transaction: &Transaction<'_>,
        terms: &[TextTerm],
    ) -> Result<Vec<u32>, Failure> {
        let mut all = vec![0_u32; terms.len()];
        let statement = statements::holding();
        for (shelf, known) in &self.shelves {
            if known.things == 0 {
                continue;
            }
            let unknown: Vec<i64> = {
                let words = lock(&known.words);
                let numbers = terms.iter().map(|term| term.hash);
                numbers.filter(|term| !words.contains_key(term)).collect()
            };
            if !unknown.is_empty() {
                let rows = rows(transaction, &statement, &[shelf, &unknown]).await?;
                let mut words = lock(&known.words);
                if words.len() > WORDS_MAX {
                    let is_asked = |word: &i64| terms.iter().any(|term| term.hash == *word);
                    words.retain(|word, count| *count > SMALL || is_asked(word));
                }
                for row in rows {
                    let count = u32::try_from(row.get::<_, i64>(1)).unwrap_or(u32::MAX);
                    words.insert(row.get(0), count);
                }
            }
            let words = lock(&known.words);
            for (count, term) in all.iter_mut().zip(terms) {
                *count += words.get(&term.hash).copied().unwrap_or_default();
            }
        }
        Ok(all)
    }
}

impl Default for ShelfFacts {
    /// Returns the facts of an empty shelf.
    fn default() -> Self {
        Self {
            things: 0,
            head: 0.0,
            moments: None,
            words: Mutex::default(),
            index: Mutex::default(),
            at: Mutex::new(Instant::now()),
        }
    }
}

impl ShelfFacts {
    /// Returns whether a shelf holds as much as before, not long ago.
    fn is_like(&self, now: &Self) -> bool {
        let is_same = self.things == now.things && self.head.to_bits() == now.head.to_bits();
        is_same && lock(&self.at).elapsed() < FRESH
    }

    /// Returns whether these facts are to be read again; at most once in each [`FRESH`].
    fn is_due(&self) -> bool {
        let mut at = lock(&self.at);
        let is_due = at.elapsed() > FRESH;
        if is_due {
            *at = Instant::now();
        }
        is_due
    }

    /// Whether its index of vectors is to be walked, and not all of them compared.
    pub(super) async fn is_walked(
        &self,
        shelf: &str,
        node: &Node,
        transaction: &Transaction<'_>,
    ) -> Result<bool, Failure> {
        let is_large = self.things > node.options.exact_max.max(SMALL);
        if !is_large || self.moments.is_none() {
            return Ok(false);
        }
        self.has_sound_index(shelf, transaction).await
    }

    /// Returns whether all vectors of the shelf may be compared with one question.
    pub(super) fn may_be_compared(&self, node: &Node) -> bool {
        self.things <= node.options.unindexed_max.max(node.options.exact_max)
    }

    async fn has_sound_index(
        &self,
        shelf: &str,
        transaction: &Transaction<'_>,
    ) -> Result<bool, Failure> {
        let known = *lock(&self.index);
        if let Some((is_indexed, at)) = known
            && at.elapsed() < FRESH
        {
            return Ok(is_indexed);
        }
        let sound = has_vector_index(transaction, shelf).await?;
        *lock(&self.index) = Some((sound, Instant::now()));
        Ok(sound)
    }

    /// Adds how cosines with a vector spread over this shelf, and says whether that is known.
    pub(super) fn spread(&self, vector: &[f32], into: &mut Cosines) -> bool {
        let moments = self.moments.as_ref();
        moments
            .map(|moments| into.sampled(moments, vector, self.things))
            .is_some()
    }
}

/// See [`super::PostgresStore::maintain`].
pub(super) async fn maintain(node: &Node, shelves: &Shelves) -> Result<bool, Failure> {
    let Some(keeper) = &node.keeper else {
        return Ok(false);
    };
    let client = get_connection(keeper).await?;
    // Of this session, not of a transaction: the index is built outside of any.
    let alone = one(&client, "SELECT pg_try_advisory_lock($1)", &[&LOCK]).await?;
    if !alone.get::<_, bool>(0) {
        return Ok(false);
    }
    let done = async {
        // What was imported is read from the index alone once its pages are known to be visible.
        client
            .batch_execute(
                "VACUUM (ANALYZE, INDEX_CLEANUP OFF, SKIP_LOCKED) reprise_global.thing, \
                 reprise_global.search, reprise_global.posting",
            )
            .await?;
        let mut indexes = list_vector_indexes(&client).await?;
        let mut built = false;
        for (shelf, things) in list_shelf_sizes(&client).await? {
            built |= build_or_drop_index(&client, node, (&shelf, things), &mut indexes).await?;
        }
        merge_shelf_sizes(&client).await?;
        if built {
            // What was known of them said that there was none.
            shelves.lock_facts().clear();
        }
        Ok(built)
    };
    let done = done.await;
    let unlocked = one(&client, "SELECT pg_advisory_unlock($1)", &[&LOCK]).await;
    if done.is_err() || unlocked.is_err() {
        // A transaction that failed, or the lock, may still hold the session: nobody else gets it.
        drop(Object::take(client));
    }
    unlocked?;
    done
}

/// Builds the index of one shelf if it wants one and has none, and returns whether it was built;
/// drops it where the shelf is far too small for one.
async fn build_or_drop_index(
    client: &impl GenericClient,
    node: &Node,
    (shelf, things): (&str, u64),
    indexes: &mut HashMap<String, bool>,
) -> Result<bool, Failure> {
    let most = u64::from(node.options.exact_max.max(SMALL));
    let name = vector_index_name(shelf);
    let is_sound = indexes.get(&name).copied();
    if things <= most {
        // Things come and go: what may be wanted again soon stays.
        let stays = is_sound == Some(true) && things > most / 2;
        if is_sound.is_some() && !stays {
            let drop = format!("DROP INDEX CONCURRENTLY IF EXISTS reprise_global.{name}");
            client.batch_execute(&drop).await?;
            indexes.remove(&name);
        }
        return Ok(false);
    }
    if is_sound == Some(true) {
        return Ok(false);
    }
    if indexes.len() >= INDEXES_MAX {
        tracing::warn!(
            things,
            "no further vector index is built: there are {INDEXES_MAX}"
        );
        return Ok(false);
    }
    // One that was not built to its end serves nobody.
    for statement in [
        format!("DROP INDEX IF EXISTS reprise_global.{name}"),
        format!(
            "CREATE INDEX CONCURRENTLY {name} ON reprise_global.search \
             USING hnsw (embedding halfvec_cosine_ops) WHERE shelf = {}",
            literal(shelf)
        ),
    ] {
        client.batch_execute(&statement).await?;
    }
    indexes.insert(name, true);
    Ok(true)
}

/// Shelves and the number of newest versions on each, the largest first.
pub(super) async fn list_shelf_sizes(
    client: &impl GenericClient,
) -> Result<Vec<(String, u64)>, Failure> {
    let statement = "SELECT shelf, sum(things)::int8 FROM reprise_global.shelf_size \
         GROUP BY shelf ORDER BY 2 DESC, 1";
    let sizes = rows(client, statement, &[]).await?;
    let decode = |row: &tokio_postgres::Row| {
        let things = row.get::<_, i64>(1);
        (row.get(0), u64::try_from(things).unwrap_or_default())
    };
    Ok(sizes.iter().map(decode).collect())
}

/// Sums up the rows of each shelf, as far as no transaction holds them, and drops those of empty
/// shelves.
pub(super) async fn merge_shelf_sizes(client: &impl GenericClient) -> Result<(), Failure> {
    let merge = "WITH free AS MATERIALIZED (SELECT shelf, slot FROM reprise_global.shelf_size \
             WHERE slot <> 0 FOR UPDATE SKIP LOCKED), \
         gone AS (DELETE FROM reprise_global.shelf_size s USING free \
             WHERE s.shelf = free.shelf AND s.slot = free.slot \
             RETURNING s.shelf, s.things, s.heads) \
         INSERT INTO reprise_global.shelf_size AS s \
         SELECT shelf, 0, sum(things), sum(heads) FROM gone GROUP BY shelf \
         ON CONFLICT (shelf, slot) DO UPDATE \
         SET things = s.things + excluded.things, heads = s.heads + excluded.heads";
    change(client, merge, &[]).await?;
    let empty = "DELETE FROM reprise_global.shelf_size WHERE slot = 0 AND things = 0";
    change(client, empty, &[]).await?;
    Ok(())
}

/// Name of the index of the vectors of one shelf.
pub(super) fn vector_index_name(shelf: &str) -> String {
    let hash = sha256_hex(shelf.as_bytes());
    format!("search_by_meaning_{}", hash.get(..16).unwrap_or_default())
}

/// Names of the indexes of vectors, each with whether it was built to its end.
pub(super) async fn list_vector_indexes(
    client: &impl GenericClient,
) -> Result<HashMap<String, bool>, Failure> {
    let statement = "SELECT c.relname::text, i.indisvalid AND i.indisready \
         FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
         WHERE c.relnamespace = to_regnamespace('reprise_global') \
         AND c.relname LIKE 'search\\_by\\_meaning\\_%'";
    let indexes = rows(client, statement, &[]).await?;
    Ok(indexes.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Returns whether a shelf has an index of its vectors that was built to its end.
pub(super) async fn has_vector_index(
    client: &impl GenericClient,
    shelf: &str,
) -> Result<bool, Failure> {
    let statement = "SELECT indisvalid AND indisready FROM pg_index \
         WHERE indexrelid = to_regclass($1)";
    let name = format!("reprise_global.{}", vector_index_name(shelf));
    let found = row(client, statement, &[&name]).await?;
    Ok(found.is_some_and(|row| row.get(0)))
}

#[cfg(test)]
mod tests;
