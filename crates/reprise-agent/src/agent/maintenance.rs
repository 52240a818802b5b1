//! Maintenance of one memory while it is idle: a plan is computed off the writer's thread, within a
//! time budget, and applied in one job. A cursor of the log stores how far it went, so that only
//! new records are examined.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineError};
use tokio::sync::Semaphore;

use reprise_types::lock;

use super::background_tasks::SingleFlight;
use crate::config::{MaintenancePlan, MaintenancePlanner, MaintenanceReport, MemoryConfig};
use crate::handle::MemoryHandle;
use crate::threads::run_blocking;

/// Permits the maintenance of one memory per process at a time.
static ONE_AT_A_TIME: Semaphore = Semaphore::const_new(1);
/// New records needed before a memory is examined again.
const NEW_RECORDS_MIN: usize = 64;
/// Name of the cursor that stores up to which log position a memory was examined.
const CURSOR: &str = "reprise/tended";

pub(super) struct MaintenanceTask {
    config: Arc<MemoryConfig>,
    handle: MemoryHandle,
    single: SingleFlight,
    /// Length of the log at the last examination; `usize::MAX` until the cursor is read.
    examined: Arc<AtomicUsize>,
    /// Created at the first examination.
    planner: Arc<Mutex<Option<MaintenancePlanner>>>,
}

impl MaintenanceTask {
    pub(super) fn new(config: Arc<MemoryConfig>, handle: MemoryHandle) -> Self {
        Self {
            config,
            handle,
            single: SingleFlight::default(),
            examined: Arc::new(AtomicUsize::new(usize::MAX)),
            planner: Arc::default(),
        }
    }

    /// Starts the task if the memory is idle and has enough new records, unless it runs already.
    pub(super) fn start_if_due(&self) {
        let (Some(create_planner), Some(memory)) = (
            self.config.maintenance.clone(),
            self.handle.newest_snapshot(),
        ) else {
            return;
        };
        let log_length = memory.ordinal_count() as usize;
        let (handle, examined) = (self.handle.clone(), Arc::clone(&self.examined));
        let examined_until = examined.load(Ordering::Acquire);
        if examined_until == usize::MAX {
            // No examination has run since the opening; the log stores how far an earlier one went.
            self.single.start(|| async move {
                if let Ok(cursor) = handle
                    .run_on_engine(|engine| engine.stream_cursor(CURSOR))
                    .await
                {
                    let cursor = cursor.map_or(log_length, |cursor| cursor as usize);
                    examined.store(cursor, Ordering::Release);
                }
            });
            return;
        }
        let new_records = log_length.saturating_sub(examined_until);
        if new_records < NEW_RECORDS_MIN
            || self.handle.idle_time() < self.config.limits.maintain_after
        {
            return;
        }
        let (config, planner) = (Arc::clone(&self.config), Arc::clone(&self.planner));
        self.single.start(|| async move {
            let Ok(_turn) = ONE_AT_A_TIME.acquire().await else {
                return;
            };
            let Ok(cursor) = handle
                .run_on_engine(|engine| engine.stream_cursor(CURSOR))
                .await
            else {
                return;
            };
            let (now, budget) = (config.clock.now(), config.limits.maintain_budget);
            let (began, reader) = (Instant::now(), handle.clone());
            let planning = run_blocking(move || {
                let mut planner = lock(&planner);
                let planner =
                    planner.get_or_insert_with(|| create_planner(cursor.unwrap_or_default()));
                // The snapshot is taken only now, because this task may have waited for its turn.
                let memory = reader.newest_snapshot()?;
                let plan = planner(&memory, now, &|| began.elapsed() < budget);
                Some((memory.ordinal_count() as usize, plan))
            });
            let Ok(Some((log_length, plan))) = planning.await else {
                return;
            };
            let is_incomplete = plan.as_ref().is_some_and(|plan| plan.is_incomplete);
            if let Some(plan) = plan {
                let applied = handle
                    .run_on_engine(move |engine| apply_plan(engine, plan, now))
                    .await;
                let user = handle.user();
                match applied {
                    Ok(Ok(report)) => {
                        // There may be no listener.
                        let _has_listener = config
                            .maintenance_reports
                            .send((user.clone(), report))
                            .is_ok();
                    }
                    Ok(Err(error)) => {
                        tracing::warn!(%user, %error, "maintenance of a memory failed");
                    }
                    Err(_) => {}
                }
            }
            // If time ran out, the rest is due again at once.
            examined.store(
                if is_incomplete { 0 } else { log_length },
                Ordering::Release,
            );
        });
    }
}

fn apply_plan(
    engine: &mut Engine,
    plan: MaintenancePlan,
    now: DateTime<Utc>,
) -> Result<MaintenanceReport, EngineError> {
    let report = (plan.work)(engine)?;
    let cursor = (CURSOR.to_owned(), plan.through);
    engine.observe(Vec::new(), Some(cursor), now)?;
    Ok(report)
}
