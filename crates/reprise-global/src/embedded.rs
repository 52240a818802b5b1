//! The store that needs no set-up: one file of our engine for all who share a data directory, and
//! next to it a ledger of what was done and said.
//!
//! Readers open the file without a lock and look again where it has changed, so every process
//! answers from what was published last.

mod branches;
mod keep;
mod ledger;
mod patterns;
mod serving;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineError, EngineOptions, OpenReport, Snapshot};
use reprise_files::{Folder, OpenMode};
use reprise_types::{Clock, Embedding, EmbeddingSpace, RecordId, check_unit_vector, lock};

use crate::caller::{Caller, Shelf};
use crate::coordination::{CoordinationSettings, RETRIEVED_AFTER, RetrievalCounter};
use crate::error::{GlobalError, GlobalResult};
use crate::lent::run_on_lent_thread;
use crate::published::Published;
use crate::record::Publication;
use crate::rules::{Publishing, build_published_report, decide_publish, publication_shelf};
use crate::store::{
    GlobalHit, GlobalQuery, SEARCH_TEXT_BYTES_MAX, StoreMetric, TextVectors, Unpublished,
    check_publication,
};
use keep::Reader;
use ledger::{Ledger, LedgerEntry, LedgerWriter};

const FILE_NAME: &str = "memory.rvf";
const LOCK_NAME: &str = "writer.lock";
/// Between two looks at whether the store is free.
const LOOK: Duration = Duration::from_millis(20);
/// After so long without a write the file is given back.
const IDLE: Duration = Duration::from_secs(1);

/// How a file is opened: the composition root knows the disk.
pub type OpenEngine = Arc<
    dyn Fn(&Path, &EngineOptions) -> GlobalResult<(Engine, OpenReport), EngineError> + Send + Sync,
>;

/// How long the file is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// For each write: several processes share the store.
    EachWrite,
    /// Until no write came for a second: a service writes much, and others get their turn.
    UntilIdle,
}

/// The store's folder and what its owner supplies: engine, clock, vectors, limits.
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// A folder of its own; made if it is missing.
    pub folder: PathBuf,
    /// Length of every vector.
    pub dimensions: u16,
    /// The space of the model in use.
    pub space: Option<EmbeddingSpace>,
    /// How its file is opened.
    pub open: OpenEngine,
    pub vectors: TextVectors,
    pub clock: Arc<dyn Clock>,
    /// How long it holds the file.
    pub hold: Hold,
    /// How long a writer waits for another.
    pub patience: Duration,
    /// How far everybody's runs move what is found.
    pub coordination: CoordinationSettings,
}

reprise_types::show_fields!(EmbeddedOptions { folder, hold });

/// A global store in a folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EmbeddedStore(Arc<StoreInner>);

#[derive(Debug)]
struct StoreInner {
    options: EmbeddedOptions,
    /// Never waited for with `state` locked, so that readers do not wait for writers.
    writing: Mutex<Option<HeldFile>>,
    state: Mutex<State>,
    /// What readers were given and the ledger does not say yet.
    retrieved: RetrievalCounter,
    itself: Weak<Self>,
}

#[derive(Debug, Default)]
struct State {
    /// What is read from while this process holds the file.
    current: Option<Arc<Snapshot>>,
    /// What is read from, as of the stamp of its file.
    seen: Option<(Stamp, Arc<Snapshot>)>,
    ledger: Ledger,
}

/// The file, held between writes with the lock of all who write.
#[derive(Debug)]
struct HeldFile {
    engine: Engine,
    alone: std::fs::File,
    written: Instant,
}

/// Tells a changed file: its length, the moment of its last change, its identity.
type Stamp = (u64, Option<std::time::SystemTime>, u64);

impl EmbeddedStore {
    /// A store in this folder; nothing is made or opened before it is asked for.
    pub fn new(options: EmbeddedOptions) -> Self {
        let state = State {
            ledger: Ledger::new(&options.folder, options.coordination),
            ..State::default()
        };
        Self(Arc::new_cyclic(|itself| StoreInner {
            options,
            writing: Mutex::default(),
            state: Mutex::new(state),
            retrieved: RetrievalCounter::default(),
            itself: Weak::clone(itself),
        }))
    }

    /// Whether a store was ever written in this folder.
    pub fn is_present_in(folder: &Path) -> bool {
        folder.join(LOCK_NAME).exists()
    }

    /// Gives the file back, checkpointed.
    pub fn close(&self) -> GlobalResult<()> {
        self.0.release_file(&mut lock(&self.0.writing))
    }

    /// Runs a caller's work off the async threads.
    async fn run_for_caller<T: Send + 'static>(
        &self,
        caller: &Caller,
        work: impl FnOnce(&StoreInner, &Caller) -> GlobalResult<T> + Send + 'static,
    ) -> GlobalResult<T> {
        let caller = caller.clone();
        self.run_blocking(move |store| work(store, &caller)).await
    }

    /// Runs work off the async threads.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StoreInner) -> GlobalResult<T> + Send + 'static,
    ) -> GlobalResult<T> {
        let shared = Arc::clone(&self.0);
        run_on_lent_thread(move || work(&shared)).await?
    }
}

impl StoreInner {
    fn file_path(&self) -> PathBuf {
        self.options.folder.join(FILE_NAME)
    }

    /// Lists the room on the disk; nothing as long as there is no folder.
    fn list_metrics(&self) -> Vec<StoreMetric> {
        let free = reprise_files::free_bytes(&self.options.folder).ok();
        let metric = |value| StoreMetric {
            name: "disk_free_bytes",
            help: "Free space where the store is.",
            value,
        };
        free.into_iter().map(metric).collect()
    }

    fn now(&self) -> DateTime<Utc> {
        self.options.clock.now()
    }

    fn open_engine(&self, read_only: bool) -> GlobalResult<Engine> {
        let entropy = reprise_types::system_entropy();
        let mut options = EngineOptions::new(self.options.dimensions, entropy, self.now());
        options.space.clone_from(&self.options.space);
        options.read_only = read_only;
        options.text_bytes_max = SEARCH_TEXT_BYTES_MAX;
        options.prefer_oldest = true;
        options.create = !read_only;
        match (self.options.open)(&self.file_path(), &options) {
            Ok((engine, _)) => Ok(engine),
            Err(error) if error.is_older_format() => {
                let folder = self.options.folder.display();
                Err(GlobalError::storage(&format!(
                    "the published memories in {folder} were written by an earlier Reprise; copy \
                     {FILE_NAME} from there to OLD/store, run that version's `reprise --data-dir \
                     OLD export --user store > store.jsonl`, then here `reprise --data-dir NEW \
                     import --user store store.jsonl`, and put NEW/store/{FILE_NAME} in its place"
                )))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the store as it is now; `None` if nothing was ever published.
    fn open_reader(&self) -> GlobalResult<Option<Reader>> {
        let mut state = lock(&self.state);
        state.ledger.fold_appended(self.now())?;
        let ledger_state = state.ledger.state.clone();
        let reader = |snapshot| Reader {
            snapshot,
            ledger_state,
        };
        if let Some(current) = &state.current {
            return Ok(Some(reader(Arc::clone(current))));
        }
        let Some(stamp) = read_file_stamp(&self.file_path())? else {
            return Ok(None);
        };
        if let Some((seen, snapshot)) = &state.seen
            && *seen == stamp
        {
            return Ok(Some(reader(Arc::clone(snapshot))));
        }
        let snapshot = self.open_engine(true)?.snapshot();
        state.seen = Some((stamp, Arc::clone(&snapshot)));
        Ok(Some(reader(snapshot)))
    }

    /// A vector of the text that this store can keep.
    fn embed_text(&self, text: &str) -> Option<Embedding> {
        let made = (self.options.vectors)(text);
        let fits = |made: &Embedding| {
            let own = self.options.space.as_ref();
            own.is_none_or(|own| *own == made.space)
                && check_unit_vector(&made.vector, usize::from(self.options.dimensions)).is_ok()
        };
        made.filter(fits)
    }

    /// Writes, alone among all processes.
    fn write_exclusively<T>(
        &self,
        work: impl FnOnce(&mut Engine, &LedgerWriter) -> GlobalResult<T>,
    ) -> GlobalResult<T> {
        Folder::open_or_create_no_follow(&self.options.folder)?;
        let (mut writing, alone) = self.acquire_write_turn()?;
        let ledger = self.ledger_writer()?;
        self.append_retrieved(&ledger)?;
        let is_new = alone.is_some();
        let mut held = match (writing.take(), alone) {
            (Some(held), _) => held,
            (None, Some(alone)) => HeldFile {
                engine: self.open_engine(false)?,
                alone,
                written: Instant::now(),
            },
            (None, None) => return Err(GlobalError::storage(&"the file was given back too soon")),
        };
        // Readers see the state from before the write meanwhile, and do not wait.
        lock(&self.state).current = Some(held.engine.snapshot());
        let done = work(&mut held.engine, &ledger);
        lock(&self.state).current = Some(held.engine.snapshot());
        held.written = Instant::now();
        *writing = Some(held);
        match self.options.hold {
            Hold::EachWrite => self.release_file(&mut writing)?,
            Hold::UntilIdle if is_new => {
                let itself = Weak::clone(&self.itself);
                let waits = move || Self::release_when_idle(&itself);
                // Without a thread that waits nobody would ever give it back.
                if std::thread::Builder::new().spawn(waits).is_err() {
                    self.release_file(&mut writing)?;
                }
            }
            Hold::UntilIdle => {}
        }
        done
    }

    /// Returns the ledger's writer, for the one who has the turn.
    fn ledger_writer(&self) -> GlobalResult<LedgerWriter> {
        let mut state = lock(&self.state);
        state.ledger.fold_appended(self.now())?;
        Ok(state.ledger.ledger_writer())
    }

    fn release_when_idle(itself: &Weak<Self>) {
        loop {
            std::thread::sleep(IDLE);
            let Some(shared) = itself.upgrade() else {
                return;
            };
            let mut writing = lock(&shared.writing);
            match &*writing {
                Some(held) if held.written.elapsed() < IDLE => {}
                _ => {
                    if let Err(error) = shared.release_file(&mut writing) {
                        tracing::warn!(%error, "the global store was not checkpointed");
                    }
                    return;
                }
            }
        }
    }

    /// Gives the file back, checkpointed; what was read from it stays in sight.
    fn release_file(&self, writing: &mut Option<HeldFile>) -> GlobalResult<()> {
        let Some(HeldFile { engine, alone, .. }) = writing.take() else {
            return Ok(());
        };
        let snapshot = engine.snapshot();
        let closed = engine.close();
        let mut state = lock(&self.state);
        state.current = None;
        closed?;
        state.seen = read_file_stamp(&self.file_path())?.map(|stamp| (stamp, snapshot));
        drop(alone);
        Ok(())
    }

    /// The turn to write in this process, and the lock of all who write here where it is not held
    /// already; it goes with its descriptor.
    fn acquire_write_turn(
        &self,
    ) -> GlobalResult<(MutexGuard<'_, Option<HeldFile>>, Option<std::fs::File>)> {
        let alone =
            Folder::open_no_follow(&self.options.folder)?.open_file(LOCK_NAME, OpenMode::Create)?;
        let since = Instant::now();
        loop {
            let writing = lock(&self.writing);
            if writing.is_some() {
                return Ok((writing, None));
            }
            match alone.try_lock() {
                Ok(()) => return Ok((writing, Some(alone))),
                Err(std::fs::TryLockError::Error(error)) => return Err(error.into()),
                Err(std::fs::TryLockError::WouldBlock)
                    if since.elapsed() > self.options.patience =>
                {
                    return Err(GlobalError::busy("another process writes"));
                }
                Err(std::fs::TryLockError::WouldBlock) => {
                    drop(writing);
                    std::thread::sleep(LOOK);
                }
            }
        }
    }

    fn publish(&self, caller: &Caller, publication: &Publication) -> GlobalResult<Published> {
        check_publication(publication)?;
        let shelf = publication_shelf(caller, publication)?;
        let vector = self.embed_text(&publication.search_text());
        let at = self.now();
        let reader = self.open_reader()?;
        self.write_exclusively(|engine, ledger| {
            let reader = match reader {
                Some(reader) => reader.with_snapshot(engine.snapshot()),
                None => Reader::without_ledger(engine.snapshot()),
            };
            let published = (publication, &shelf, vector);
            publish_in_turn(engine, ledger, &reader, caller, published, at)
        })
    }

    fn unpublish(&self, caller: &Caller, id: RecordId) -> GlobalResult<Unpublished> {
        let what = "unpublish";
        self.open_reader_for(id)?.get_own(caller, id, what)?;
        let at = self.now();
        self.write_exclusively(|engine, ledger| {
            let reader = Reader::without_ledger(engine.snapshot());
            let newest = reader.get_own(caller, id, what)?;
            let why = "unpublished by its author";
            let versions = keep::withdraw_thing(engine, &newest, why, at)?;
            self.retrieved.forget_thing(id);
            ledger.append_entries(&[LedgerEntry::Unpublished {
                at,
                who: caller.user.clone(),
                id,
                versions,
            }])?;
            engine.compact()?;
            let after = Reader::without_ledger(engine.snapshot());
            let verified = after.is_gone(engine, &newest)?;
            Ok(Unpublished {
                id,
                versions,
                verified,
            })
        })
    }

    /// Appends to the ledger alone, in a turn of its own.
    fn append_to_ledger(
        &self,
        work: impl FnOnce(&Reader, &LedgerWriter) -> GlobalResult<()>,
    ) -> GlobalResult<()> {
        let empty = || GlobalError::Conflict {
            message: "nothing was ever published here; publish something first".to_owned(),
        };
        let reader = self.open_reader()?.ok_or_else(empty)?;
        let _turn = self.acquire_write_turn()?;
        self.append_retrieved(&self.ledger_writer()?)?;
        work(&reader, &self.ledger_writer()?)
    }

    /// Notes what an answer gave a reader.
    fn note_retrieved(&self, caller: &Caller, query: &GlobalQuery, hits: &[GlobalHit]) {
        if self.retrieved.add_hits(caller, query, hits) {
            let itself = Weak::clone(&self.itself);
            let told = std::thread::Builder::new().spawn(move || {
                std::thread::sleep(RETRIEVED_AFTER);
                if let Some(shared) = itself.upgrade() {
                    shared.flush_retrieved();
                }
            });
            if let Err(error) = told {
                tracing::debug!(%error, "what was retrieved waits for the next word of anybody");
            }
        }
    }

    /// Appends the retrievals that wait to the ledger, in a turn of its own.
    fn flush_retrieved(&self) {
        if self.retrieved.is_empty() {
            return;
        }
        let turn = self.acquire_write_turn();
        let told = turn.and_then(|_turn| self.append_retrieved(&self.ledger_writer()?));
        if let Err(error) = told {
            tracing::warn!(%error, "what was retrieved is not counted");
        }
    }

    fn append_retrieved(&self, ledger: &LedgerWriter) -> GlobalResult<()> {
        let told = self.retrieved.drain();
        let (at, mut lines, mut last) = (self.now(), Vec::with_capacity(told.len()), None);
        for ((user, id), count) in told {
            let by = match last.take().filter(|(of, _)| *of == user) {
                Some((_, by)) => by,
                None => ledger.contributor_id(&user)?,
            };
            // Beyond what counts, the ledger would grow for nothing.
            if lock(&self.state).ledger.would_count_retrieval(id, &by) {
                let by = by.clone();
                lines.push(LedgerEntry::Retrieved { at, by, id, count });
            }
            last = Some((user, by));
        }
        ledger.append_entries(&lines)
    }
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        // A process that ends does not wait for another one that writes.
        self.options.patience = Duration::ZERO;
        self.flush_retrieved();
    }
}

/// Publishes in a turn to write.
fn publish_in_turn(
    engine: &mut Engine,
    ledger: &LedgerWriter,
    reader: &Reader,
    caller: &Caller,
    (publication, shelf, vector): (&Publication, &Shelf, Option<Embedding>),
    at: DateTime<Utc>,
) -> GlobalResult<Published> {
    let earlier = reader.find_by_origin(caller, &publication.origin)?;
    let standing = earlier.as_ref().map(keep::StoredThing::to_published_state);
    let checksum = publication.checksum();
    let (first, version) = match decide_publish(standing.as_ref(), shelf, &checksum)? {
        Publishing::Unchanged(id, version) => {
            return Ok(build_published_report(id, version, publication, true));
        }
        Publishing::Next(first, version) => (first, version),
    };
    let overlaps = reader.find_overlaps(caller, publication, vector.as_ref(), first)?;
    let made = keep::NewVersion {
        caller,
        shelf,
        version,
        first,
        supersedes: earlier.map(|earlier| earlier.kept),
        at,
    };
    let new = made.build_record(publication.clone(), vector)?;
    let outcomes = engine.observe(vec![new], None, at)?;
    let id = first.unwrap_or(keep::inserted_id(outcomes.into_iter().next())?);
    ledger.append_entries(&[LedgerEntry::new_published(at, caller, (id, version), shelf)])?;
    Ok(Published {
        overlaps,
        ..build_published_report(id, version, publication, false)
    })
}

fn read_file_stamp(file: &Path) -> GlobalResult<Option<Stamp>> {
    use std::os::unix::fs::MetadataExt;
    match fs_err::metadata(file) {
        Ok(found) => Ok(Some((found.len(), found.modified().ok(), found.ino()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
