//! The store that needs no set-up: one file of our engine for all who share a data directory, and
//! beside it a ledger of what was done and said.
//!
//! Readers open the file without a lock and look again where it has changed, so every process
//! answers from what was published last.

mod branches;
mod keep;
mod ledger;
mod patterns;
mod serving;
mod takedown;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineError, EngineOptions, OpenReport, Snapshot};
use reprise_files::{Access, Folder};
use reprise_types::{Clock, Embedding, EmbeddingSpace, RecordId, check_unit_vector, lock};

use crate::caller::{Caller, Shelf};
use crate::coordination::{CoordinationSettings, RETRIEVED_AFTER, Retrieved};
use crate::error::{GlobalError, Result};
use crate::record::Publication;
use crate::rules::{Publishing, decide_publish, shelf_of, told};
use crate::store::{
    GlobalHit, GlobalQuery, Published, SEARCH_TEXT_BYTES_MAX, TextVectors, Unpublished,
    check_publication, lent,
};
use crate::takedown::Quotas;
use keep::Reader;
use ledger::{Ledger, Line, Pen};

const FILE_NAME: &str = "memory.rvf";
const LOCK_NAME: &str = "writer.lock";
/// Between two looks at whether the store is free.
const LOOK: Duration = Duration::from_millis(20);
/// After so long without a write the file is given back.
const IDLE: Duration = Duration::from_secs(1);

/// How a file is opened: the composition root knows the disk.
pub type OpenEngine =
    Arc<dyn Fn(&Path, &EngineOptions) -> Result<(Engine, OpenReport), EngineError> + Send + Sync>;

/// How long the file is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// For each write: several processes share the store.
    EachWrite,
    /// Until no write came for a second: a service writes much, and others get their turn.
    UntilIdle,
}

/// Where the store is, and what it is lent.
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
    /// How much one user, and one organisation, may have published.
    pub quotas: Quotas,
    /// How far everybody's runs move what is found.
    pub coordination: CoordinationSettings,
}

reprise_types::show_fields!(EmbeddedOptions { folder, hold });

/// A global store in a folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EmbeddedStore(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: EmbeddedOptions,
    /// Never waited for with `state` locked: whoever reads does not wait for whoever writes.
    writing: Mutex<Option<Held>>,
    state: Mutex<State>,
    /// What readers were given and the ledger does not say yet.
    retrieved: Retrieved,
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
struct Held {
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
        Self(Arc::new_cyclic(|itself| Shared {
            options,
            writing: Mutex::default(),
            state: Mutex::new(state),
            retrieved: Retrieved::default(),
            itself: Weak::clone(itself),
        }))
    }

    /// Whether a store was ever written in this folder.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(LOCK_NAME).exists()
    }

    /// Gives the file back, checkpointed.
    pub fn close(&self) -> Result<()> {
        self.0.release(&mut lock(&self.0.writing))
    }

    /// Runs a caller's work off the async threads.
    async fn asked_by<T: Send + 'static>(
        &self,
        caller: &Caller,
        work: impl FnOnce(&Shared, &Caller) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let caller = caller.clone();
        self.blocking(move |store| work(store, &caller)).await
    }

    /// Runs work off the async threads.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let shared = Arc::clone(&self.0);
        lent(move || work(&shared)).await?
    }
}

impl Shared {
    fn file(&self) -> PathBuf {
        self.options.folder.join(FILE_NAME)
    }

    fn now(&self) -> DateTime<Utc> {
        self.options.clock.now()
    }

    fn engine(&self, read_only: bool) -> Result<Engine, EngineError> {
        let entropy = reprise_types::system_entropy();
        let mut options = EngineOptions::new(self.options.dimensions, entropy, self.now());
        options.space.clone_from(&self.options.space);
        options.read_only = read_only;
        options.text_bytes_max = SEARCH_TEXT_BYTES_MAX;
        options.first_told = true;
        options.create = !read_only;
        Ok((self.options.open)(&self.file(), &options)?.0)
    }

    /// The store as it is now; `None` where nothing was ever published.
    fn reader(&self) -> Result<Option<Reader>> {
        let mut state = lock(&self.state);
        state.ledger.refresh(self.now())?;
        let said = state.ledger.said.clone();
        let reader = |snapshot| Reader { snapshot, said };
        if let Some(current) = &state.current {
            return Ok(Some(reader(Arc::clone(current))));
        }
        let Some(stamp) = stamp(&self.file())? else {
            return Ok(None);
        };
        if let Some((seen, snapshot)) = &state.seen
            && *seen == stamp
        {
            return Ok(Some(reader(Arc::clone(snapshot))));
        }
        let snapshot = self.engine(true)?.snapshot();
        state.seen = Some((stamp, Arc::clone(&snapshot)));
        Ok(Some(reader(snapshot)))
    }

    /// A vector of the text that this store can keep.
    fn vector(&self, text: &str) -> Option<Embedding> {
        let made = (self.options.vectors)(text);
        let fits = |made: &Embedding| {
            let own = self.options.space.as_ref();
            own.is_none_or(|own| *own == made.space)
                && check_unit_vector(&made.vector, usize::from(self.options.dimensions)).is_ok()
        };
        made.filter(fits)
    }

    /// Writes, alone among all processes.
    fn write<T>(&self, work: impl FnOnce(&mut Engine, &Pen) -> Result<T>) -> Result<T> {
        Folder::make_own(&self.options.folder)?;
        let (mut writing, alone) = self.turn()?;
        let pen = self.pen()?;
        self.tell_retrieved(&pen)?;
        let is_new = alone.is_some();
        let mut held = match (writing.take(), alone) {
            (Some(held), _) => held,
            (None, Some(alone)) => Held {
                engine: self.engine(false)?,
                alone,
                written: Instant::now(),
            },
            (None, None) => return Err(GlobalError::storage(&"the file was given back too soon")),
        };
        // Whoever reads meanwhile reads what stood before, and waits for nothing here.
        lock(&self.state).current = Some(held.engine.snapshot());
        let done = work(&mut held.engine, &pen);
        lock(&self.state).current = Some(held.engine.snapshot());
        held.written = Instant::now();
        *writing = Some(held);
        match self.options.hold {
            Hold::EachWrite => self.release(&mut writing)?,
            Hold::UntilIdle if is_new => {
                let itself = Weak::clone(&self.itself);
                let waits = move || Self::release_when_idle(&itself);
                // Without a thread that waits nobody would ever give it back.
                if std::thread::Builder::new().spawn(waits).is_err() {
                    self.release(&mut writing)?;
                }
            }
            Hold::UntilIdle => {}
        }
        done
    }

    /// The ledger, for whoever has the turn.
    fn pen(&self) -> Result<Pen> {
        let mut state = lock(&self.state);
        state.ledger.refresh(self.now())?;
        Ok(state.ledger.pen())
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
                    if let Err(error) = shared.release(&mut writing) {
                        tracing::warn!(%error, "the global store was not checkpointed");
                    }
                    return;
                }
            }
        }
    }

    /// Gives the file back, checkpointed; what was read from it stays in sight.
    fn release(&self, writing: &mut Option<Held>) -> Result<()> {
        let Some(Held { engine, alone, .. }) = writing.take() else {
            return Ok(());
        };
        let snapshot = engine.snapshot();
        let closed = engine.close();
        let mut state = lock(&self.state);
        state.current = None;
        closed?;
        state.seen = stamp(&self.file())?.map(|stamp| (stamp, snapshot));
        drop(alone);
        Ok(())
    }

    /// The turn to write in this process, and the lock of all who write here where it is not held
    /// already; it goes with its descriptor.
    fn turn(&self) -> Result<(MutexGuard<'_, Option<Held>>, Option<std::fs::File>)> {
        let alone = Folder::own(&self.options.folder)?.file(LOCK_NAME, Access::Make)?;
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

    fn publish(&self, caller: &Caller, publication: &Publication) -> Result<Published> {
        check_publication(publication)?;
        let shelf = shelf_of(caller, publication)?;
        let vector = self.vector(&publication.search_text());
        let at = self.now();
        let reader = self.reader()?;
        self.write(|engine, ledger| {
            takedown::not_barred(ledger, caller, &publication.origin)?;
            let reader = match reader {
                Some(reader) => reader.at(engine.snapshot()),
                None => Reader::of(engine.snapshot()),
            };
            let published = (publication, &shelf, vector);
            self.publish_in(engine, ledger, &reader, caller, published, at)
        })
    }

    /// Publishes in a turn to write, whatever was taken down of its origin.
    fn publish_in(
        &self,
        engine: &mut Engine,
        ledger: &Pen,
        reader: &Reader,
        caller: &Caller,
        (publication, shelf, vector): (&Publication, &Shelf, Option<Embedding>),
        at: DateTime<Utc>,
    ) -> Result<Published> {
        let earlier = reader.by_origin(caller, &publication.origin)?;
        let standing = earlier.as_ref().map(keep::Found::standing);
        let checksum = publication.checksum();
        let (first, version) = match decide_publish(standing.as_ref(), shelf, &checksum)? {
            Publishing::Standing(id, version) => return Ok(told(id, version, publication, true)),
            Publishing::Next(first, version) => (first, version),
        };
        let new = [(shelf, first.is_none(), publication.bytes().len())];
        self.within_quotas(reader, caller, &new)?;
        let overlaps = reader.overlaps(caller, publication, vector.as_ref(), first)?;
        let made = keep::Making {
            caller,
            shelf,
            version,
            first,
            supersedes: earlier.map(|earlier| earlier.kept),
            at,
        };
        let new = made.record(publication.clone(), vector)?;
        let outcomes = engine.observe(vec![new], None, at)?;
        let id = first.unwrap_or(keep::inserted(outcomes.into_iter().next())?);
        ledger.write(&[Line::published(at, caller, (id, version), shelf)])?;
        Ok(Published {
            overlaps,
            ..told(id, version, publication, false)
        })
    }

    fn unpublish(&self, caller: &Caller, id: RecordId) -> Result<Unpublished> {
        let what = "unpublish";
        self.reader_of(id)?.authored(caller, id, what)?;
        let at = self.now();
        self.write(|engine, ledger| {
            let reader = Reader::of(engine.snapshot());
            let newest = reader.authored(caller, id, what)?;
            let why = "unpublished by its author";
            let versions = takedown::withdraw(engine, &newest, why, at)?;
            self.retrieved.forget(id);
            ledger.write(&[Line::Unpublished {
                at,
                who: caller.user.clone(),
                id,
                versions,
            }])?;
            engine.compact()?;
            let after = Reader::of(engine.snapshot());
            let verified = after.is_gone(engine, &newest)?;
            Ok(Unpublished {
                id,
                versions,
                verified,
            })
        })
    }

    /// Says something of a thing that the caller may see, in the ledger alone.
    fn say(&self, work: impl FnOnce(&Reader, &Pen) -> Result<()>) -> Result<()> {
        let empty = || GlobalError::Conflict {
            message: "nothing was ever published here; publish something first".to_owned(),
        };
        let reader = self.reader()?.ok_or_else(empty)?;
        let _turn = self.turn()?;
        self.tell_retrieved(&self.pen()?)?;
        work(&reader, &self.pen()?)
    }

    /// Notes what an answer gave a reader.
    fn note_retrieved(&self, caller: &Caller, query: &GlobalQuery, hits: &[GlobalHit]) {
        if self.retrieved.note(caller, query, hits) {
            let itself = Weak::clone(&self.itself);
            let told = std::thread::Builder::new().spawn(move || {
                std::thread::sleep(RETRIEVED_AFTER);
                if let Some(shared) = itself.upgrade() {
                    shared.end_retrieved();
                }
            });
            if let Err(error) = told {
                tracing::debug!(%error, "what was retrieved waits for the next word of anybody");
            }
        }
    }

    /// Brings what waits to the ledger, in a turn of its own.
    fn end_retrieved(&self) {
        if self.retrieved.is_empty() {
            return;
        }
        let turn = self.turn();
        let told = turn.and_then(|_turn| self.tell_retrieved(&self.pen()?));
        if let Err(error) = told {
            tracing::warn!(%error, "what was retrieved is not counted");
        }
    }

    fn tell_retrieved(&self, pen: &Pen) -> Result<()> {
        let told = self.retrieved.take();
        let (at, mut lines, mut last) = (self.now(), Vec::with_capacity(told.len()), None);
        for ((user, id), count) in told {
            let by = match last.take().filter(|(of, _)| *of == user) {
                Some((_, by)) => by,
                None => pen.contributor(&user)?,
            };
            // Beyond what counts, the ledger would grow for nothing.
            if lock(&self.state).ledger.is_counted(id, &by) {
                let by = by.clone();
                lines.push(Line::Retrieved { at, by, id, count });
            }
            last = Some((user, by));
        }
        pen.write(&lines)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Whoever ends does not wait for another process that writes.
        self.options.patience = Duration::ZERO;
        self.end_retrieved();
    }
}

fn stamp(file: &Path) -> Result<Option<Stamp>> {
    use std::os::unix::fs::MetadataExt;
    match fs_err::metadata(file) {
        Ok(found) => Ok(Some((found.len(), found.modified().ok(), found.ino()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
