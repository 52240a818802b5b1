//! Maintenance of one memory while it is idle: the work is computed off the writer's thread, within
//! a time budget, and applied in one job. How far it went is a cursor of the log, so that only new
//! records are examined.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineError};
use tokio::sync::Semaphore;

use reprise_types::lock;

use super::upkeep::SingleFlight;
use crate::config::{MemoryConfig, TendDone, Tended, Tender};
use crate::handle::AgentHandle;

/// One memory per process at a time.
static ONE: Semaphore = Semaphore::const_new(1);
/// New records needed before a memory is examined again.
const NEW_RECORDS: usize = 64;
/// The cursor that says up to which place of the log a memory was looked through.
const CURSOR: &str = "reprise/tended";

pub(super) struct Tending {
    config: Arc<MemoryConfig>,
    handle: AgentHandle,
    single: SingleFlight,
    /// Places of the log at the last examination; `usize::MAX` until the cursor was read.
    seen: Arc<AtomicUsize>,
    /// What looks, made at the first look.
    tender: Arc<Mutex<Option<Tender>>>,
}

impl Tending {
    pub(super) fn new(config: Arc<MemoryConfig>, handle: AgentHandle) -> Self {
        Self {
            config,
            handle,
            single: SingleFlight::default(),
            seen: Arc::new(AtomicUsize::new(usize::MAX)),
            tender: Arc::default(),
        }
    }

    /// Starts the task where the memory is idle and enough is new, unless it runs.
    pub(super) fn start_if_due(&self) {
        let (Some(tend), Some(memory)) = (self.config.tend.clone(), self.handle.newest()) else {
            return;
        };
        let places = memory.places() as usize;
        let (handle, seen) = (self.handle.clone(), Arc::clone(&self.seen));
        let known = seen.load(Ordering::Acquire);
        if known == usize::MAX {
            // Nobody has looked since the opening: the log knows how far an earlier look went.
            self.single.start(|| async move {
                if let Ok(left) = handle.run(|engine| engine.cursor(CURSOR)).await {
                    let left = left.map_or(places, |left| left as usize);
                    seen.store(left, Ordering::Release);
                }
            });
            return;
        }
        let new = places.saturating_sub(known);
        if new < NEW_RECORDS || self.handle.idle() < self.config.limits.tend_after {
            return;
        }
        let (config, tender) = (Arc::clone(&self.config), Arc::clone(&self.tender));
        self.single.start(|| async move {
            let Ok(_turn) = ONE.acquire().await else {
                return;
            };
            let Ok(before) = handle.run(|engine| engine.cursor(CURSOR)).await else {
                return;
            };
            let (now, budget) = (config.clock.now(), config.limits.tend_budget);
            let (begun, reader) = (Instant::now(), handle.clone());
            let look = handle.lent("maintenance of a memory", move || {
                let mut tender = lock(&tender);
                let tender = tender.get_or_insert_with(|| tend(before.unwrap_or_default()));
                // As it is now: it was this one's turn at last.
                let memory = reader.newest()?;
                let tended = tender(&memory, now, &|| begun.elapsed() < budget);
                Some((memory.places() as usize, tended))
            });
            let Ok(Some((places, tended))) = look.await else {
                return;
            };
            let cut = tended.as_ref().is_some_and(|tended| tended.cut);
            if let Some(tended) = tended {
                let done = handle.run(move |engine| act(engine, tended, now)).await;
                let user = handle.user();
                match done {
                    Ok(Ok(done)) => {
                        // Nobody may be listening.
                        let _heard = config.tended.send((user.clone(), done)).is_ok();
                    }
                    Ok(Err(error)) => {
                        tracing::warn!(%user, %error, "maintenance of a memory failed");
                    }
                    Err(_) => {}
                }
            }
            // What there was no time for is due again at once.
            seen.store(if cut { 0 } else { places }, Ordering::Release);
        });
    }
}

fn act(engine: &mut Engine, tended: Tended, now: DateTime<Utc>) -> Result<TendDone, EngineError> {
    let done = (tended.work)(engine)?;
    let cursor = (CURSOR.to_owned(), tended.through);
    engine.observe(Vec::new(), Some(cursor), now)?;
    Ok(done)
}
