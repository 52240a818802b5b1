//! The power goes at every sync while the layers are written, grown, purged and compacted: what was
//! acknowledged is there, and of the layers no more is lost than came since they were saved.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use reprise_engine::{CheckpointStep, Engine, EngineError};
use reprise_simulation::{Crash, SimDisk};
use reprise_types::SearchTier;

use crate::{
    FILE, LAYERS_FROM, LEFT_MAX, NO_LAYERS, RECORDS, SESSION, answers, assert_tier, exact, forget,
    grow, is_sound, keep, numbers, on, open, purge,
};

/// What was acknowledged, and what stands there if what was under way is on disk, too.
struct Told {
    sure: BTreeSet<usize>,
    under_way: BTreeSet<usize>,
    /// What the layers that were saved last may lack.
    left_max: usize,
}

impl Told {
    fn new() -> Self {
        Self {
            sure: (0..RECORDS).collect(),
            under_way: (0..RECORDS).collect(),
            left_max: usize::MAX,
        }
    }

    fn keep(&mut self, engine: &mut Engine, numbers: Range<usize>) -> Result<(), EngineError> {
        self.under_way.extend(numbers.clone());
        keep(engine, numbers)?;
        self.sure.clone_from(&self.under_way);
        Ok(())
    }

    fn forget(&mut self, engine: &mut Engine, session: usize) -> Result<(), EngineError> {
        self.under_way.retain(|number| number / SESSION != session);
        forget(engine, session)?;
        self.sure.clone_from(&self.under_way);
        Ok(())
    }
}

/// A memory that has no layers yet, closed.
fn without_layers() -> SimDisk {
    let disk = SimDisk::new();
    let opened = open(Arc::new(disk.clone()), Path::new(FILE), NO_LAYERS);
    let mut engine = opened.unwrap();
    keep(&mut engine, 0..RECORDS).unwrap();
    engine.close().unwrap();
    disk
}

/// Everything that writes a layer or changes one.
fn play(disk: &SimDisk, told: &mut Told) -> Result<(), EngineError> {
    let mut engine = open(Arc::new(disk.clone()), Path::new(FILE), LAYERS_FROM)?;
    // A graph over the newest half, which is a part of its own; then one over all, and the cells.
    engine.advance_graph(RECORDS / 2)?;
    engine.checkpoint()?;
    told.left_max = RECORDS / 2;
    grow(&mut engine)?;
    engine.checkpoint()?;
    told.left_max = LEFT_MAX;
    told.keep(&mut engine, RECORDS..RECORDS + SESSION)?;
    grow(&mut engine)?;
    engine.checkpoint_if_due()?;
    for session in [3, 9] {
        told.forget(&mut engine, session)?;
    }
    purge(&mut engine)?;
    engine.checkpoint()?;
    // One more goes, and others come while the file is rewritten.
    told.forget(&mut engine, 17)?;
    let job = engine.start_compaction()?;
    told.keep(&mut engine, 2_000..2_010)?;
    engine.finish_compaction(job.run()?)?;
    told.keep(&mut engine, 2_010..2_020)?;
    grow(&mut engine)?;
    // The same while a checkpoint is made and written, which then covers none of it.
    let job = engine.start_checkpoint()?;
    told.keep(&mut engine, 2_020..2_030)?;
    told.forget(&mut engine, 21)?;
    if let Some(job) = job {
        let mut parts = job.run()?;
        engine.advance_checkpoint(&mut parts)?;
        told.keep(&mut engine, 2_030..2_040)?;
        while engine.advance_checkpoint(&mut parts)? == CheckpointStep::Begun {}
    }
    told.keep(&mut engine, 2_040..2_050)?;
    engine.close()
}

/// Fresh processes: the records are there, each layer answers in its turn, and a check finds
/// nothing.
fn look(disk: &SimDisk, told: &Told, place: &str) {
    let exact = exact(Arc::new(disk.process_crash()), Path::new(FILE));
    let mut engine = on(disk);
    let there = numbers(&engine);
    let count = there.len();
    assert!(
        there == told.sure || there == told.under_way,
        "{place}: {count} records"
    );
    // Before the first layers were acknowledged they may be there or not.
    let has_none = told.left_max == usize::MAX && answers(&engine).tier == SearchTier::Scan;
    let first = if has_none {
        SearchTier::Scan
    } else {
        SearchTier::LayerA
    };
    assert_tier(&engine, first, &exact, place);
    let left = engine.advance_graph(0).unwrap();
    assert!(left <= told.left_max, "{place}: {left} to grow again");
    let tier = if left <= LEFT_MAX {
        SearchTier::LayerC
    } else if left <= RECORDS / 2 {
        SearchTier::LayerB
    } else {
        SearchTier::Scan
    };
    assert_tier(&engine, tier, &exact, place);
    grow(&mut engine).unwrap();
    assert_tier(&engine, SearchTier::LayerC, &exact, place);
    drop(engine);
    assert!(is_sound(disk), "{place}: a check finds something");
}

/// The memory goes on, and saves its layers again.
fn goes_on(disk: &SimDisk, place: &str) {
    let mut engine = on(disk);
    keep(&mut engine, 3_000..3_000 + SESSION).unwrap();
    grow(&mut engine).unwrap();
    engine.close().unwrap();
    let exact = exact(Arc::new(disk.process_crash()), Path::new(FILE));
    let mut engine = on(disk);
    assert_tier(&engine, SearchTier::LayerA, &exact, place);
    let left = engine.advance_graph(0).unwrap();
    assert!(left <= LEFT_MAX, "{place}: {left} to grow again");
    assert_tier(&engine, SearchTier::LayerC, &exact, place);
}

#[test]
fn a_power_cut_at_any_sync_costs_no_record_and_no_layer() {
    let start = without_layers();
    let dry = start.process_crash();
    let mut whole = Told::new();
    play(&dry, &mut whole).unwrap();
    look(&dry.process_crash(), &whole, "no cut");
    let syncs = dry.syncs();
    assert!(syncs > 12, "{syncs} syncs");
    for sync in 0..syncs {
        let disk = start.process_crash();
        disk.cut_power_at_sync(sync);
        let mut told = Told::new();
        assert!(play(&disk, &mut told).is_err(), "sync {sync} of {syncs}");
        let pending = disk.pending();
        let crashes = [
            Crash::Prefix(pending / 2),
            Crash::Prefix(pending),
            Crash::Scattered(sync),
        ];
        for crash in crashes {
            let place = format!("sync {sync} of {syncs}, {crash:?} of {pending}");
            let survivor = disk.crash(crash);
            look(&survivor, &told, &place);
            if matches!(crash, Crash::Scattered(_)) {
                goes_on(&survivor, &place);
            }
        }
    }
}
