//! What runs and readers say of published things, kept in the database and folded on each node.
//!
//! A node reads what was said since it last looked, a little overlapping: a word is kept whole, so
//! to read it twice changes nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use chrono::{DateTime, Utc};
use deadpool_postgres::Transaction;
use reprise_global::backend::{self, Reputations, RetrievalCounter};
use reprise_global::{Caller, Coordination, CoordinationSettings, Fate, GlobalError, UsageReport};
use reprise_types::{RecordId, UserId, lock};
use uuid::Uuid;

use super::connect::{Failure, get_connection};
use super::node::{Node, begin_change, open_shelf_names};
use super::sql::{SqlParameters, change, one, record_id, rows, uuid};

/// The most uses that one contributor's report counts for.
const USES_MAX: i32 = 1 << 30;

/// The reports and ratings that this node has read, and the reputations from them.
#[derive(Debug)]
pub(super) struct Voices {
    settings: CoordinationSettings,
    /// Locked while one reads from the database.
    fold: Arc<tokio::sync::Mutex<VoiceFold>>,
    /// Whether everything is being read anew in the background.
    is_reading_anew: Arc<AtomicBool>,
    /// Reports and ratings in the fold.
    heard: AtomicU64,
    told: Mutex<CachedReputations>,
    /// What readers were given and the database does not say yet.
    pub(super) retrieved: RetrievalCounter,
}

#[derive(Debug, Default)]
struct VoiceFold {
    said: Coordination,
    /// From when on something may not have been read; everything where nothing was.
    until: Option<DateTime<Utc>>,
    whole: Option<Instant>,
    /// As of when is told; `None` where something was said since.
    hour: Option<DateTime<Utc>>,
}

#[derive(Debug, Default)]
struct CachedReputations {
    standings: Reputations,
    at: Option<Instant>,
}

impl Voices {
    pub(super) fn new(settings: CoordinationSettings) -> Self {
        Self {
            settings,
            fold: Arc::new(tokio::sync::Mutex::new(VoiceFold {
                said: Coordination::new(settings),
                ..VoiceFold::default()
            })),
            is_reading_anew: Arc::default(),
            heard: AtomicU64::default(),
            told: Mutex::default(),
            retrieved: RetrievalCounter::default(),
        }
    }

    /// Brings what waits to the database. Beyond what counts a row is left alone: each node would
    /// read it again, and weigh everything anew, for nothing.
    pub(super) async fn write_retrieved(&self, node: &Node) -> Result<(), Failure> {
        let told = self.retrieved.drain();
        if told.is_empty() {
            return Ok(());
        }
        let by = told.keys().map(|(user, _)| contributor(node, user));
        let by: Vec<Uuid> = by.collect();
        let ids: Vec<Uuid> = told.keys().map(|(_, id)| uuid(*id)).collect();
        let uses = told.into_values().map(i32::try_from);
        let uses: Vec<i32> = uses.map(|uses| uses.unwrap_or(USES_MAX)).collect();
        let statement = format!(
            "INSERT INTO reprise_global.retrieved AS r (id, contributor, uses, at) \
             SELECT x.id, x.by, x.uses, clock_timestamp() \
             FROM unnest($1::uuid[], $2::uuid[], $3::int4[]) AS x(id, by, uses) \
             ON CONFLICT (id, contributor) DO UPDATE SET \
             uses = least(r.uses::int8 + excluded.uses, {USES_MAX})::int4, at = excluded.at \
             WHERE r.uses < {}",
            backend::USES_MAX
        );
        let client = get_connection(&node.pool).await?;
        change(&client, &statement, &[&ids, &by, &uses]).await?;
        Ok(())
    }

    /// What is told of each thing, no older than the options say. One asker looks, the others go
    /// on with what is known.
    pub(super) async fn compute_reputations(
        &self,
        node: &Arc<Node>,
    ) -> Result<Reputations, Failure> {
        let age = node.options.standings_age;
        {
            let told = lock(&self.told);
            if told.at.is_some_and(|at| at.elapsed() < age) {
                return Ok(Arc::clone(&told.standings));
            }
        }
        let is_new = lock(&self.told).at.is_none();
        let mut fold = match self.fold.try_lock() {
            Ok(fold) => fold,
            Err(_) if is_new || age.is_zero() => self.fold.lock().await,
            Err(_) => return Ok(Arc::clone(&lock(&self.told).standings)),
        };
        let begun = Instant::now();
        let hour = fold.look(node).await?;
        let anew = node.options.voices_anew;
        if fold.whole.is_some_and(|whole| whole.elapsed() > anew) {
            self.spawn_reading_anew(node);
        }
        let new = (fold.hour != Some(hour)).then(|| Arc::new(fold.said.compute_reputations(hour)));
        fold.hour = Some(hour);
        let heard = fold.said.count_voices() as u64;
        self.heard.store(heard, Ordering::Relaxed);
        let mut told = lock(&self.told);
        told.standings = new.unwrap_or_else(|| Arc::clone(&told.standings));
        told.at = Some(begun);
        Ok(Arc::clone(&told.standings))
    }

    /// Reads everything anew in the background, once at a time; questions go on with what is known.
    fn spawn_reading_anew(&self, node: &Arc<Node>) {
        if self.is_reading_anew.swap(true, Ordering::Relaxed) {
            return;
        }
        let (node, fold) = (Arc::clone(node), Arc::clone(&self.fold));
        let (settings, is_reading) = (self.settings, Arc::clone(&self.is_reading_anew));
        tokio::spawn(async move {
            let mut whole = VoiceFold {
                said: Coordination::new(settings),
                ..VoiceFold::default()
            };
            match whole.look(&node).await {
                Ok(_) => *fold.lock().await = whole,
                // What is known serves on, and the next question begins another try.
                Err(error) => tracing::debug!(?error, "the reports could not be read anew"),
            }
            is_reading.store(false, Ordering::Relaxed);
        });
    }

    /// Counts the reports and ratings that this node knows, with the seconds since it last looked.
    pub(super) fn count_heard(&self) -> (u64, u64) {
        let at = lock(&self.told).at;
        let age = at.map_or(0, |at| at.elapsed().as_secs());
        (self.heard.load(Ordering::Relaxed), age)
    }
}

/// As of when to tell: voices fade by days, and on every node as of the same hour, so that all tell
/// the same figures. And what was said before the last transactions, which take no longer to end.
const NOW: &str = "SELECT date_trunc('hour', now(), 'UTC'), now() - interval '2 minutes'";
const TAKEN_BACK: &str =
    "SELECT id FROM reprise_global.audit WHERE what IN ('unpublish', 'take_down') AND at >= $1";
const VOICES: &str =
    "SELECT id, contributor, score, uses, at FROM reprise_global.voice WHERE at >= $1";
const RETRIEVED: &str = "SELECT id, contributor, uses FROM reprise_global.retrieved WHERE at >= $1";
const RATINGS: &str = "SELECT id, contributor, rating FROM reprise_global.rating WHERE at >= $1";

impl VoiceFold {
    /// Reads what was said and taken back since the last look; as of when to tell it.
    async fn look(&mut self, node: &Node) -> Result<DateTime<Utc>, Failure> {
        let client = get_connection(&node.pool).await?;
        let since = self.until.unwrap_or(DateTime::UNIX_EPOCH);
        let since: SqlParameters<'_> = &[&since];
        let (now, taken_back, voices, ratings, retrieved) = tokio::try_join!(
            one(&client, NOW, &[]),
            rows(&client, TAKEN_BACK, since),
            rows(&client, VOICES, since),
            rows(&client, RATINGS, since),
            rows(&client, RETRIEVED, since),
        )?;
        if self.until.is_none() {
            self.whole = Some(Instant::now());
        }
        let mut is_new = false;
        for row in taken_back {
            is_new |= self.said.forget_thing(record_id(row.get(0)));
        }
        let who = |contributor: Uuid| contributor.as_u128();
        for row in voices {
            let uses = u32::try_from(row.get::<_, i32>(3)).unwrap_or_default();
            let (id, contributor) = (record_id(row.get(0)), who(row.get(1)));
            let (score, at) = (row.get(2), row.get(4));
            is_new |= self.said.set_report(id, contributor, score, uses, at);
        }
        for row in retrieved {
            let uses = u32::try_from(row.get::<_, i32>(2)).unwrap_or_default();
            let (id, contributor) = (record_id(row.get(0)), who(row.get(1)));
            is_new |= self.said.set_retrieved(id, contributor, uses);
        }
        for row in ratings {
            let (id, contributor) = (record_id(row.get(0)), who(row.get(1)));
            is_new |= self.said.set_rating(id, contributor, row.get(2));
        }
        if is_new {
            self.hour = None;
        }
        self.until = Some(now.get(1));
        Ok(now.get(0))
    }
}

/// A user as a contributor.
pub(super) fn contributor(node: &Node, user: &UserId) -> Uuid {
    Uuid::from_u128(backend::contributor_id(&node.salt, user))
}

/// Those of some things that the caller may see, each with whether it is his own.
async fn list_visible(
    node: &Node,
    transaction: &Transaction<'_>,
    caller: &Caller,
    ids: &[RecordId],
) -> Result<HashMap<RecordId, bool>, Failure> {
    let statement = node.sql(
        "SELECT t.id, t.author FROM reprise_global.thing t \
         WHERE /*open*/(t.shelf = ANY($1)) AND t.id = ANY($2) AND t.until IS NULL \
         UNION SELECT a.id, a.author FROM reprise_global.authored a \
         WHERE /*open*/(a.author = $3) AND a.id = ANY($2)",
    );
    let ids: Vec<Uuid> = ids.iter().map(|id| uuid(*id)).collect();
    let (shelves, author) = (open_shelf_names(caller), caller.user.as_str());
    let mut seen = HashMap::new();
    for row in rows(transaction, &statement, &[&shelves, &ids, &author]).await? {
        let own = row.get::<_, &str>(1) == author;
        seen.insert(record_id(row.get(0)), own);
    }
    Ok(seen)
}

pub(super) async fn rate(
    node: &Node,
    caller: &Caller,
    id: RecordId,
    rating: f32,
) -> Result<(), Failure> {
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    match list_visible(node, &transaction, caller, &[id])
        .await?
        .get(&id)
    {
        None => return Err(GlobalError::NotFound { id }.into()),
        Some(true) => return Err(GlobalError::OwnWork { id }.into()),
        Some(false) => {}
    }
    let statement = "INSERT INTO reprise_global.rating (id, contributor, rating, at) \
         VALUES ($1, $2, $3, clock_timestamp()) ON CONFLICT (id, contributor) \
         DO UPDATE SET rating = excluded.rating, at = excluded.at";
    let by = contributor(node, &caller.user);
    change(&transaction, statement, &[&uuid(id), &by, &rating]).await?;
    transaction.commit().await.map_err(Failure::Commit)
}

pub(super) async fn report(
    node: &Node,
    caller: &Caller,
    reports: &[UsageReport],
) -> Result<Vec<Fate>, Failure> {
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    let ids: Vec<RecordId> = reports.iter().map(|report| report.id).collect();
    let seen = list_visible(node, &transaction, caller, &ids).await?;
    // Each thing once, and all nodes in one order: no two wait for each other.
    let mut words: BTreeMap<RecordId, (f32, u32)> = BTreeMap::new();
    let mut fates = Vec::with_capacity(reports.len());
    for UsageReport { id, score, count } in reports {
        fates.push(match seen.get(id) {
            None => Fate::NotFound,
            Some(true) => Fate::OwnWork,
            Some(false) => {
                let (sum, uses) = words.entry(*id).or_default();
                *sum += score * *count as f32;
                *uses = uses.saturating_add(*count);
                Fate::Counted
            }
        });
    }
    let ids: Vec<Uuid> = words.keys().map(|id| uuid(*id)).collect();
    let scores = words.values().map(|(sum, uses)| sum / *uses as f32);
    let scores: Vec<f32> = scores.map(|score| score.clamp(0.0, 1.0)).collect();
    let uses = words.values().map(|(_, uses)| i32::try_from(*uses));
    let uses: Vec<i32> = uses.map(|uses| uses.unwrap_or(USES_MAX)).collect();
    let statement = format!(
        "INSERT INTO reprise_global.voice AS v (id, contributor, score, uses, at) \
         SELECT x.id, $1, x.score, x.uses, clock_timestamp() \
         FROM unnest($2::uuid[], $3::real[], $4::int4[]) AS x(id, score, uses) \
         ON CONFLICT (id, contributor) DO UPDATE SET \
         score = (v.score * v.uses::float8 + excluded.score * excluded.uses::float8) \
             / (v.uses::float8 + excluded.uses::float8), \
         uses = least(v.uses::int8 + excluded.uses, {USES_MAX})::int4, at = excluded.at"
    );
    let by = contributor(node, &caller.user);
    change(&transaction, &statement, &[&by, &ids, &scores, &uses]).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    Ok(fates)
}
