//! What a node knows of each shelf without asking: how much stands there, how words and vectors
//! spread over it. Of this moment where a shelf is small, a minute old where it is large, and older
//! while the database has no time to be asked.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deadpool_postgres::{Object, Transaction};
use reprise_engine::TextTerm;
use reprise_types::{lock, sha256_hex};
use tokio_postgres::SimpleQueryMessage;

use super::connect::{Failure, connection, literal};
use super::node::{CHANGE_TIME, Node, one, reading_within, row, rows};
use super::sample::{Cosines, Moments, SMALL, frequent, moments};
use super::statements;
use crate::caller::Caller;

/// A shelf of no more things is looked at anew for each question.
const TINY: u32 = 256;
/// How old what is known of one that is not tiny may be.
const FRESH: Duration = Duration::from_mins(1);
/// Shelves and words that a node knows at a time.
const SHELVES_MAX: usize = 256;
const WORDS_MAX: usize = 50_000;
/// Shelves with an index of their own: every write looks at each.
const INDEXES_MAX: i64 = 100;
/// Held by the node that builds the index.
const LOCK: i64 = 0x0072_6570_6964_7800;

/// One shelf.
#[derive(Debug)]
pub(super) struct Known {
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
    known: Mutex<HashMap<String, Arc<Known>>>,
    /// Those that are looked at beside the questions.
    looking: Mutex<BTreeSet<String>>,
    /// Those that this node has written on or read, and that may want an index.
    used: Mutex<BTreeSet<String>>,
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
        lock(&self.known)
    }

    fn looking(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        lock(&self.looking)
    }

    /// Something stands there that did not, or does no more.
    pub(super) fn changed(&self, shelf: &str) {
        self.using(shelf);
        let mut known = self.known();
        if known.get(shelf).is_some_and(|known| known.things <= SMALL) {
            known.remove(shelf);
        }
    }

    fn using(&self, shelf: &str) {
        let mut used = lock(&self.used);
        if used.len() < SHELVES_MAX && !used.contains(shelf) {
            used.insert(shelf.to_owned());
        }
    }

    /// A small shelf makes room; it is known again once it is written on.
    fn forget(&self, shelf: &str) {
        self.known().remove(shelf);
        let mut used = lock(&self.used);
        used.remove(shelf);
    }

    fn keep(&self, shelf: &str, known: Known) -> Arc<Known> {
        if known.things > SMALL {
            self.using(shelf);
        }
        let mut all = self.known();
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
    pub(super) async fn world(
        self: &Arc<Self>,
        node: &Arc<Node>,
        transaction: &Transaction<'_>,
        caller: &Caller,
        asked: &[String],
    ) -> Result<World, Failure> {
        let before = |name: &String| self.known().get(name).cloned();
        let is_large = |known: &Arc<Known>| known.things > TINY;
        let large: Vec<Option<Arc<Known>>> = asked
            .iter()
            .map(|name| before(name).filter(is_large))
            .collect();
        let small = asked
            .iter()
            .zip(&large)
            .filter(|(_, known)| known.is_none());
        let small: Vec<String> = small.map(|(name, _)| name.clone()).collect();
        let looked = look(transaction, &small).await;
        if looked.as_ref().is_err_and(Failure::is_late) {
            // The next questions know it.
            for name in &small {
                look_later(self, node, caller, name);
            }
        }
        let mut looked = looked?;
        let mut shelves = Vec::with_capacity(asked.len());
        for (name, known) in asked.iter().zip(large) {
            let known = if let Some(known) = known {
                if known.is_due() {
                    look_later(self, node, caller, name);
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
        Ok(World {
            shelves,
            things,
            head,
        })
    }
}

/// Whether an index stands, and was built to its end.
const SOUND: &str = "SELECT indisvalid AND indisready FROM pg_index \
     WHERE indexrelid = to_regclass($1)";

/// The index of the vectors of one shelf.
fn index_of(shelf: &str) -> String {
    let hash = sha256_hex(shelf.as_bytes());
    format!("search_by_meaning_{}", hash.get(..16).unwrap_or_default())
}

/// Looks at a shelf beside the questions, for as long as a change may take.
fn look_later(shelves: &Arc<Shelves>, node: &Arc<Node>, caller: &Caller, shelf: &str) {
    if !shelves.looking().insert(shelf.to_owned()) {
        return;
    }
    let (node, caller) = (Arc::clone(node), caller.clone());
    let (shelves, shelf) = (Arc::clone(shelves), shelf.to_owned());
    tokio::spawn(async move {
        let looked = async {
            let mut client = connection(&node.pool).await?;
            let transaction = reading_within(CHANGE_TIME, &mut client, &caller, "").await?;
            look(&transaction, std::slice::from_ref(&shelf)).await
        };
        match looked.await {
            Ok(mut known) => {
                let known = known.remove(&shelf).unwrap_or_default();
                shelves.keep(&shelf, known);
            }
            // What is known of it serves for another while.
            Err(error) => tracing::debug!(?error, "a shelf could not be looked at"),
        }
        shelves.looking().remove(&shelf);
    });
}

/// What is known of these shelves from now on; an empty one is not in the answer.
async fn look(
    transaction: &Transaction<'_>,
    shelves: &[String],
) -> Result<HashMap<String, Known>, Failure> {
    let mut found = HashMap::new();
    if shelves.is_empty() {
        return Ok(found);
    }
    let counted = "SELECT shelf, count(*), avg(head)::float4 FROM reprise_global.search \
         WHERE shelf = ANY($1) AND until IS NULL GROUP BY shelf";
    for row in rows(transaction, counted, &[&shelves]).await? {
        let shelf: String = row.get(0);
        let things = u32::try_from(row.get::<_, i64>(1)).unwrap_or(u32::MAX);
        let known = Known {
            things,
            head: row.get(2),
            words: Mutex::new(frequent(transaction, &shelf, things).await?),
            moments: moments(transaction, &shelf, things).await?,
            ..Known::default()
        };
        found.insert(shelf, known);
    }
    Ok(found)
}

impl World {
    /// What is known of a shelf that the question reads.
    pub(super) fn known(&self, shelf: &str) -> Option<&Known> {
        let known = self.shelves.iter().find(|(name, _)| name == shelf);
        known.map(|(_, known)| &**known)
    }

    /// Whether anything stands on a shelf.
    pub(super) fn holds(&self, shelf: &str) -> bool {
        self.known(shelf).is_none_or(|known| known.things > 0)
    }

    /// How many things hold each term, counted up to a bound and estimated beyond it.
    pub(super) async fn holding(
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
                let numbers = terms.iter().map(|term| term.number);
                numbers.filter(|term| !words.contains_key(term)).collect()
            };
            if !unknown.is_empty() {
                let rows = rows(transaction, &statement, &[shelf, &unknown]).await?;
                let mut words = lock(&known.words);
                if words.len() > WORDS_MAX {
                    let is_asked = |word: &i64| terms.iter().any(|term| term.number == *word);
                    words.retain(|word, count| *count > SMALL || is_asked(word));
                }
                for row in rows {
                    let count = u32::try_from(row.get::<_, i64>(1)).unwrap_or(u32::MAX);
                    words.insert(row.get(0), count);
                }
            }
            let words = lock(&known.words);
            for (count, term) in all.iter_mut().zip(terms) {
                *count += words.get(&term.number).copied().unwrap_or_default();
            }
        }
        Ok(all)
    }
}

impl Default for Known {
    /// Of a shelf on which nothing stands.
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

impl Known {
    /// Whether as much stands there as before, not long ago.
    fn is_like(&self, now: &Self) -> bool {
        let is_same = self.things == now.things && self.head.to_bits() == now.head.to_bits();
        is_same && lock(&self.at).elapsed() < FRESH
    }

    /// Whether it is to be looked at again, which is said once in so long.
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
        self.is_indexed(shelf, transaction).await
    }

    async fn is_indexed(
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
        let name = format!("reprise_global.{}", index_of(shelf));
        let sound = row(transaction, SOUND, &[&name]).await?;
        let sound = sound.is_some_and(|row| row.get(0));
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
    let client = connection(keeper).await?;
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
        let used: Vec<String> = {
            let used = lock(&shelves.used);
            used.iter().cloned().collect()
        };
        let mut built = false;
        for shelf in used {
            match index(&client, node, &shelf).await? {
                Some(is_new) => built |= is_new,
                None => shelves.forget(&shelf),
            }
        }
        if built {
            // What was known of them said that there was none.
            shelves.known().clear();
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

/// Builds the index of one shelf, and says whether it was built; gives `None` for a shelf that is
/// not large enough to want one, and drops its index where it is far from that.
async fn index(client: &Object, node: &Node, shelf: &str) -> Result<Option<bool>, Failure> {
    let most = u64::from(node.options.exact_max.max(SMALL));
    // For its policies whoever writes on a shelf may count it.
    let counted = format!(
        "BEGIN READ ONLY; SET LOCAL reprise.writing = {shelf}; \
         SELECT count(*) FROM (SELECT 1 FROM reprise_global.search \
         WHERE shelf = {shelf} AND until IS NULL LIMIT {}) AS few; COMMIT",
        most + 1,
        shelf = literal(shelf),
    );
    let counted = client.simple_query(&counted).await?;
    let counted = counted.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse::<u64>().ok(),
        _ => None,
    });
    let things = counted.unwrap_or_default();
    let name = index_of(shelf);
    let known = format!("reprise_global.{name}");
    let sound = row(client, SOUND, &[&known]).await?;
    let is_sound = sound.map(|row| row.get::<_, bool>(0));
    if things <= most {
        // Things come and go: what may be wanted again soon stays.
        let stays = is_sound == Some(true) && things > most / 2;
        if is_sound.is_some() && !stays {
            let drop = format!("DROP INDEX CONCURRENTLY IF EXISTS {known}");
            client.batch_execute(&drop).await?;
        }
        return Ok(None);
    }
    if is_sound == Some(true) {
        return Ok(Some(false));
    }
    let there = "SELECT count(*) FROM pg_indexes WHERE schemaname = 'reprise_global' \
         AND indexname LIKE 'search\\_by\\_meaning\\_%'";
    let there: i64 = one(client, there, &[]).await?.get(0);
    if there >= INDEXES_MAX {
        return Ok(Some(false));
    }
    // One that was not built to its end serves nobody.
    for statement in [
        format!("DROP INDEX IF EXISTS {known}"),
        format!(
            "CREATE INDEX CONCURRENTLY {name} ON reprise_global.search \
             USING hnsw (embedding halfvec_cosine_ops) WHERE shelf = {}",
            literal(shelf)
        ),
    ] {
        client.batch_execute(&statement).await?;
    }
    Ok(Some(true))
}

#[cfg(test)]
mod tests;
