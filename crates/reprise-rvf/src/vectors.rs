//! The store: vectors that wait for a batch in main memory, and all others in the package's file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use reprise_types::{HelperError, VectorStore, dot, lock, show_fields};
use rvf_runtime::options::{DistanceMetric, WitnessConfig};
use rvf_runtime::{QueryOptions, RvfOptions, RvfStore};

/// Vectors that are written together: a write copies the whole store, so one by one is quadratic.
const BATCH: usize = 64;
/// Most vectors of one segment: the package does not read a segment above 256 MiB again.
const SEGMENT_VECTORS_MAX: usize = 10_000;
/// Segments from which on the file is written anew, because each write lists all of them.
const SEGMENTS_MAX: usize = 1_024;

/// Vectors by ordinal in a file of `rvf-runtime`. Readers do not wait for each other.
pub struct RvfVectors {
    path: PathBuf,
    dimensions: u16,
    /// Whether nothing is written: what is ingested then stays in main memory.
    is_read_only: bool,
    /// Vectors that are written together.
    batch: usize,
    /// Locked by each change, so that a rewrite can let readers go on.
    turn: Mutex<()>,
    held: RwLock<StoreState>,
}

show_fields!(RvfVectors { path, dimensions });

struct StoreState {
    /// The package's store; `None` for a reader if the file cannot be read.
    store: Option<RvfStore>,
    /// Ordinals in the package's store that are still valid.
    stored: HashSet<u64>,
    /// Vectors that wait for a batch; they replace those of the same ordinal in the store.
    waiting: BTreeMap<u32, Vec<f32>>,
}

impl RvfVectors {
    /// Opens the file at `path`, which the holder of the memory's lock alone may do unless it only
    /// reads. A missing file is created; one that is damaged, or has vectors of another width, is
    /// replaced by an empty one, for the log has every vector.
    pub fn open(path: &Path, dimensions: u16, is_read_only: bool) -> Result<Self, HelperError> {
        // The package loses what is written after a rename at a path without a folder.
        let path = std::path::absolute(path).map_err(|error| fail("find", &error))?;
        let store = if is_read_only {
            let opened = RvfStore::open_readonly(&path).ok();
            opened.filter(|store| store.dimension() == dimensions)
        } else {
            Some(open_or_create(&path, dimensions)?)
        };
        let stored = store.iter().flat_map(RvfStore::iter_vectors);
        let stored = stored.map(|(id, _)| id).collect();
        Ok(Self {
            path,
            dimensions,
            is_read_only,
            batch: BATCH,
            turn: Mutex::new(()),
            held: RwLock::new(StoreState {
                store,
                stored,
                waiting: BTreeMap::new(),
            }),
        })
    }

    /// Sets how many vectors are written together; 64 unless it is set.
    pub fn set_batch(&mut self, vectors: usize) {
        self.batch = vectors;
    }

    fn read(&self) -> RwLockReadGuard<'_, StoreState> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, StoreState> {
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps vectors, and writes those that wait if they are `batch` or more.
    fn keep(&self, vectors: &[(u32, &[f32])], batch: usize) -> Result<(), HelperError> {
        let width = usize::from(self.dimensions);
        if let Some((ordinal, vector)) = vectors.iter().find(|(_, vector)| vector.len() != width) {
            let message = format!(
                "the vector of record {ordinal} has {} numbers and not {width}; the memory must be \
                 opened anew",
                vector.len()
            );
            return Err(HelperError { message });
        }
        let _turn = lock(&self.turn);
        let mut held = self.write();
        let kept = vectors.iter();
        held.waiting
            .extend(kept.map(|(ordinal, vector)| (*ordinal, vector.to_vec())));
        if self.is_read_only || held.waiting.is_empty() || held.waiting.len() < batch {
            return Ok(());
        }
        held.write_waiting()?;
        let segments = held
            .store
            .as_ref()
            .map_or(0, |store| store.segment_dir().len());
        drop(held);
        if segments > SEGMENTS_MAX {
            self.rewrite()?;
        }
        Ok(())
    }

    /// Writes the file anew with what is valid, and puts it in use. The caller has the turn.
    fn rewrite(&self) -> Result<(), HelperError> {
        let new_path = self.path.with_extension("new");
        let held = self.read();
        let Some(store) = &held.store else {
            return Ok(());
        };
        let mut new = create_anew(&new_path, self.dimensions)?;
        let valid = store.iter_vectors();
        let mut valid: Vec<(u64, &[f32])> =
            valid.filter(|(id, _)| held.stored.contains(id)).collect();
        valid.sort_unstable_by_key(|(id, _)| *id);
        for part in valid.chunks(SEGMENT_VECTORS_MAX) {
            write_part(&mut new, part)?;
        }
        new.close().map_err(|error| fail("close", &error))?;
        drop(held);
        let mut held = self.write();
        // The package's lock is its file's name; ours, on the log, is what keeps others away.
        held.store = None;
        let moved = fs_err::rename(&new_path, &self.path);
        held.store = Some(open_or_create(&self.path, self.dimensions)?);
        moved.map_err(|error| fail("replace", &error))
    }
}

impl StoreState {
    /// Writes what waits to the package's store.
    fn write_waiting(&mut self) -> Result<(), HelperError> {
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        let waiting = self.waiting.iter();
        let waiting: Vec<(u64, &[f32])> = waiting
            .map(|(ordinal, vector)| (u64::from(*ordinal), vector.as_slice()))
            .collect();
        for part in waiting.chunks(SEGMENT_VECTORS_MAX) {
            write_part(store, part)?;
            self.stored.extend(part.iter().map(|(id, _)| *id));
        }
        self.waiting.clear();
        Ok(())
    }

    /// Returns the vector that is in force for an ordinal.
    fn vector(&self, ordinal: u32) -> Option<&[f32]> {
        if let Some(waiting) = self.waiting.get(&ordinal) {
            return Some(waiting);
        }
        let id = u64::from(ordinal);
        let store = self.store.as_ref().filter(|_| self.stored.contains(&id))?;
        // The package finds no vector by its number: this looks through all of them.
        store
            .iter_vectors()
            .find(|(found, _)| *found == id)
            .map(|(_, vector)| vector)
    }

    /// Returns the best of the package's store that are admitted and in force, best first.
    fn ask_store(
        &self,
        vector: &[f32],
        k: usize,
        admits: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<(u32, f32)>, HelperError> {
        let Some(store) = self.store.as_ref().filter(|_| !self.stored.is_empty()) else {
            return Ok(Vec::new());
        };
        let options = QueryOptions {
            force_exact: true,
            ..QueryOptions::default()
        };
        let all = store.status().total_vectors as usize;
        let mut wanted = k;
        loop {
            let found = store.query(vector, wanted, &options);
            let found = found.map_err(|error| fail("ask", &error))?;
            let seen = found.len();
            let best = found.into_iter().filter_map(|hit| {
                let ordinal = u32::try_from(hit.id).ok()?;
                let in_force =
                    self.stored.contains(&hit.id) && !self.waiting.contains_key(&ordinal);
                // The distance is the product with its sign turned.
                (in_force && admits(ordinal)).then_some((ordinal, -hit.distance))
            });
            let best: Vec<(u32, f32)> = best.take(k).collect();
            if best.len() == k || seen < wanted || wanted >= all {
                return Ok(best);
            }
            wanted = wanted.saturating_mul(8).min(all);
        }
    }
}

impl VectorStore for RvfVectors {
    fn name(&self) -> &'static str {
        "rvf-runtime"
    }

    fn dimensions(&self) -> usize {
        usize::from(self.dimensions)
    }

    fn copy_vector(&self, ordinal: u32, out: &mut [f32]) -> bool {
        let held = self.read();
        let vector = held.vector(ordinal);
        let vector = vector.filter(|vector| vector.len() == out.len());
        if let Some(vector) = vector {
            out.copy_from_slice(vector);
        }
        vector.is_some()
    }

    fn ingest(&self, vectors: &[(u32, &[f32])]) -> Result<(), HelperError> {
        self.keep(vectors, self.batch)
    }

    fn query(
        &self,
        vector: &[f32],
        k: usize,
        admits: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<(u32, f32)>, HelperError> {
        if k == 0 {
            return Ok(Vec::new());
        }
        let held = self.read();
        let mut found = held.ask_store(vector, k, admits)?;
        let waiting = held.waiting.iter().filter(|(ordinal, _)| admits(**ordinal));
        found.extend(waiting.map(|(ordinal, waiting)| (*ordinal, dot(waiting, vector))));
        found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(k);
        Ok(found)
    }

    fn delete(&self, ordinals: &[u32]) -> Result<(), HelperError> {
        let _turn = lock(&self.turn);
        let mut held = self.write();
        let held = &mut *held;
        let mut gone = Vec::new();
        for ordinal in ordinals {
            held.waiting.remove(ordinal);
            let id = u64::from(*ordinal);
            if held.stored.remove(&id) {
                gone.push(id);
            }
        }
        let store = held
            .store
            .as_mut()
            .filter(|_| !self.is_read_only && !gone.is_empty());
        let deleted = store.map(|store| store.delete(&gone));
        deleted
            .map_or(Ok(()), |deleted| deleted.map(|_| ()))
            .map_err(|error| fail("delete from", &error))
    }

    fn compact(&self) -> Result<(), HelperError> {
        let _turn = lock(&self.turn);
        if self.is_read_only {
            return Ok(());
        }
        self.rewrite()
    }

    fn adopt(&self, count: u32, read: &dyn Fn(u32, &mut [f32]) -> bool) -> Result<(), HelperError> {
        let (mut missing, mut gone) = (Vec::new(), Vec::new());
        {
            let held = self.read();
            let stored = held.store.iter().flat_map(RvfStore::iter_vectors);
            let mut stored: HashMap<u64, &[f32]> = stored.collect();
            let waiting = held.waiting.iter();
            stored.extend(waiting.map(|(at, vector)| (u64::from(*at), vector.as_slice())));
            let mut logged = vec![0.0; self.dimensions()];
            for ordinal in 0..count {
                let own = stored.remove(&u64::from(ordinal));
                if !read(ordinal, &mut logged) {
                    gone.extend(own.map(|_| ordinal));
                } else if own.is_none_or(|own| own != logged) {
                    missing.push((ordinal, logged.clone()));
                }
            }
            gone.extend(stored.keys().filter_map(|id| u32::try_from(*id).ok()));
        }
        if !gone.is_empty() {
            self.delete(&gone)?;
        }
        let missing = missing.iter().map(|(at, vector)| (*at, vector.as_slice()));
        self.ingest(&missing.collect::<Vec<_>>())
    }

    fn flush(&self) -> Result<(), HelperError> {
        self.keep(&[], 0)
    }
}

/// Opens the package's file for writing; creates it if it is missing, and anew if it is unusable.
fn open_or_create(path: &Path, dimensions: u16) -> Result<RvfStore, HelperError> {
    if fs_err::symlink_metadata(path).is_err() {
        return create_anew(path, dimensions);
    }
    remove_if_there(&lock_path(path))?;
    match RvfStore::open(path) {
        Ok(store) if store.dimension() == dimensions => Ok(store),
        Ok(_) => create_anew(path, dimensions),
        Err(error) => {
            let path_shown = path.display();
            tracing::warn!(path = %path_shown, ?error, "made anew from the log: it cannot be read");
            create_anew(path, dimensions)
        }
    }
}

/// Creates an empty file of the package in place of what is there.
fn create_anew(path: &Path, dimensions: u16) -> Result<RvfStore, HelperError> {
    remove_if_there(path)?;
    remove_if_there(&lock_path(path))?;
    let options = RvfOptions {
        dimension: dimensions,
        // Its graph by cosine loses clusters, and on unit vectors the order is the same.
        metric: DistanceMetric::InnerProduct,
        // A witness of each write is one more segment, which every later write lists.
        witness: WitnessConfig {
            witness_ingest: false,
            witness_delete: false,
            witness_compact: false,
            audit_queries: false,
        },
        ..RvfOptions::default()
    };
    RvfStore::create(path, options).map_err(|error| fail("create", &error))
}

fn write_part(store: &mut RvfStore, part: &[(u64, &[f32])]) -> Result<(), HelperError> {
    let (ids, vectors): (Vec<u64>, Vec<&[f32]>) = part.iter().copied().unzip();
    let done = store.ingest_batch(&vectors, &ids, None);
    let done = done.map_err(|error| fail("write to", &error))?;
    // The package refuses a vector with a number that is none, and says so by a count alone.
    if done.accepted == ids.len() as u64 {
        return Ok(());
    }
    let message = format!(
        "rvf-runtime took {} of {} vectors; the memory must be opened anew",
        done.accepted,
        ids.len()
    );
    Err(HelperError { message })
}

fn remove_if_there(path: &Path) -> Result<(), HelperError> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(fail("remove", &error)),
        _ => Ok(()),
    }
}

/// Returns the file that the package locks by: a crash leaves it, and the package then refuses.
fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn fail(what: &str, error: &dyn std::fmt::Debug) -> HelperError {
    let message = format!("rvf-runtime could not {what} its file: {error:?}");
    HelperError { message }
}

#[cfg(test)]
mod tests;
