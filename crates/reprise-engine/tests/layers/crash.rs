//! Power cuts at every sync while the layers are written, grown, purged and compacted: acknowledged
//! records exist, and the layers lack no more than what came since they were saved.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use reprise_engine::{Engine, EngineError};
use reprise_simulation::{Crash, SimDisk};
use reprise_types::SearchRoute;

use crate::{
    FILE, LAYERS_FROM, LEFT_MAX, NO_LAYERS, RECORDS, SESSION, ask_questions, assert_route,
    entry_numbers, forget_session, grow_fully, insert_entries, is_sound, open, open_on,
    purge_fully, scan_answers,
};

/// The records that were acknowledged, and those that exist if the write under way reached the
/// disk.
struct Acknowledged {
    sure: BTreeSet<usize>,
    under_way: BTreeSet<usize>,
    /// Most records that the last saved layers may lack.
    left_max: usize,
}

impl Acknowledged {
    fn new() -> Self {
        Self {
            sure: (0..RECORDS).collect(),
            under_way: (0..RECORDS).collect(),
            left_max: usize::MAX,
        }
    }

    fn insert_entries(
        &mut self,
        engine: &mut Engine,
        numbers: Range<usize>,
    ) -> Result<(), EngineError> {
        self.under_way.extend(numbers.clone());
        insert_entries(engine, numbers)?;
        self.sure.clone_from(&self.under_way);
        Ok(())
    }

    fn forget_session(&mut self, engine: &mut Engine, session: usize) -> Result<(), EngineError> {
        self.under_way.retain(|number| number / SESSION != session);
        forget_session(engine, session)?;
        self.sure.clone_from(&self.under_way);
        Ok(())
    }
}

/// Builds a closed memory that has no layers yet.
fn memory_without_layers() -> SimDisk {
    let disk = SimDisk::new();
    let opened = open(Arc::new(disk.clone()), Path::new(FILE), NO_LAYERS);
    let mut engine = opened.unwrap();
    insert_entries(&mut engine, 0..RECORDS).unwrap();
    engine.close().unwrap();
    disk
}

/// Does everything that writes or changes a layer.
fn write_everything(disk: &SimDisk, acknowledged: &mut Acknowledged) -> Result<(), EngineError> {
    let mut engine = open(Arc::new(disk.clone()), Path::new(FILE), LAYERS_FROM)?;
    // A graph over the newest half, which is a part of its own; then one over all, and the cells.
    engine.advance_graph(RECORDS / 2)?;
    engine.checkpoint()?;
    acknowledged.left_max = RECORDS / 2;
    grow_fully(&mut engine)?;
    engine.checkpoint()?;
    acknowledged.left_max = LEFT_MAX;
    acknowledged.insert_entries(&mut engine, RECORDS..RECORDS + SESSION)?;
    grow_fully(&mut engine)?;
    engine.checkpoint_if_due()?;
    for session in [3, 9] {
        acknowledged.forget_session(&mut engine, session)?;
    }
    purge_fully(&mut engine)?;
    engine.checkpoint()?;
    // One more session is forgotten, and others come while the file is compacted.
    acknowledged.forget_session(&mut engine, 17)?;
    let job = engine.start_compaction()?;
    acknowledged.insert_entries(&mut engine, 2_000..2_010)?;
    engine.finish_compaction(job()?)?;
    acknowledged.insert_entries(&mut engine, 2_010..2_020)?;
    grow_fully(&mut engine)?;
    // The same happens between the steps of a checkpoint.
    acknowledged.insert_entries(&mut engine, 2_020..2_030)?;
    let encode = engine.begin_checkpoint()?;
    let encoded = encode();
    acknowledged.forget_session(&mut engine, 21)?;
    engine.put_encoded(encoded);
    engine.advance_checkpoint()?;
    acknowledged.insert_entries(&mut engine, 2_030..2_040)?;
    while !engine.advance_checkpoint()? {}
    acknowledged.insert_entries(&mut engine, 2_040..2_050)?;
    engine.close()
}

/// Checks in fresh processes that the records exist, that each layer answers in turn, and that a
/// check finds nothing.
fn assert_survived(disk: &SimDisk, acknowledged: &Acknowledged, place: &str) {
    let exact = scan_answers(Arc::new(disk.crash_process()), Path::new(FILE));
    let mut engine = open_on(disk);
    let there = entry_numbers(&engine);
    let count = there.len();
    assert!(
        there == acknowledged.sure || there == acknowledged.under_way,
        "{place}: {count} records"
    );
    // Before the first layers were acknowledged they may exist or not.
    let has_none =
        acknowledged.left_max == usize::MAX && ask_questions(&engine).route == SearchRoute::Scan;
    let first = if has_none {
        SearchRoute::Scan
    } else {
        SearchRoute::Cells
    };
    assert_route(&engine, first, &exact, place);
    let left = engine.advance_graph(0).unwrap();
    assert!(
        left <= acknowledged.left_max,
        "{place}: {left} to grow again"
    );
    let route = if left <= LEFT_MAX {
        SearchRoute::Graph
    } else if left <= RECORDS / 2 {
        SearchRoute::NewestGraph
    } else {
        SearchRoute::Scan
    };
    assert_route(&engine, route, &exact, place);
    grow_fully(&mut engine).unwrap();
    assert_route(&engine, SearchRoute::Graph, &exact, place);
    drop(engine);
    assert!(is_sound(disk), "{place}: a check finds something");
}

/// Checks that the memory accepts records and saves its layers again.
fn assert_goes_on(disk: &SimDisk, place: &str) {
    let mut engine = open_on(disk);
    insert_entries(&mut engine, 3_000..3_000 + SESSION).unwrap();
    grow_fully(&mut engine).unwrap();
    engine.close().unwrap();
    let exact = scan_answers(Arc::new(disk.crash_process()), Path::new(FILE));
    let mut engine = open_on(disk);
    assert_route(&engine, SearchRoute::Cells, &exact, place);
    let left = engine.advance_graph(0).unwrap();
    assert!(left <= LEFT_MAX, "{place}: {left} to grow again");
    assert_route(&engine, SearchRoute::Graph, &exact, place);
}

/// A checkpoint saves the codes of new records without the graph and the cells, as long as they are
/// few. No list of the cells has them, and they are not in memory after an opening.
#[test]
fn what_was_saved_after_the_cells_is_found_before_the_graph_is_read() {
    let disk = memory_without_layers();
    let mut engine = open_on(&disk);
    grow_fully(&mut engine).unwrap();
    engine.checkpoint().unwrap();
    // The questions are near to seven of these.
    for first in [1_325, 1_350] {
        insert_entries(&mut engine, first..first + SESSION).unwrap();
        engine.checkpoint().unwrap();
    }
    let disk = disk.crash_process();
    let exact = scan_answers(Arc::new(disk.crash_process()), Path::new(FILE));
    let new = |engine: &Engine| {
        let (found, snapshot) = (ask_questions(engine), engine.snapshot());
        let texts = found.found.iter().flatten();
        let texts = texts.map(|id| snapshot.get(*id).unwrap().unwrap().text.clone());
        let number = |text: String| text["entry ".len()..].parse::<usize>().unwrap();
        texts
            .map(number)
            .filter(|number| *number >= RECORDS)
            .count()
    };
    let engine = open_on(&disk);
    assert_route(&engine, SearchRoute::Cells, &exact, "saved after the cells");
    assert!(new(&engine) > 0, "no answer is among what came later");
}

#[test]
fn a_power_cut_at_any_sync_costs_no_record_and_no_layer() {
    let start = memory_without_layers();
    let dry = start.crash_process();
    let mut whole = Acknowledged::new();
    write_everything(&dry, &mut whole).unwrap();
    assert_survived(&dry.crash_process(), &whole, "no cut");
    let syncs = dry.sync_count();
    assert!(syncs > 12, "{syncs} syncs");
    for sync in 0..syncs {
        let disk = start.crash_process();
        disk.cut_power_at_sync(sync);
        let mut acknowledged = Acknowledged::new();
        assert!(
            write_everything(&disk, &mut acknowledged).is_err(),
            "sync {sync} of {syncs}"
        );
        let pending = disk.pending_bytes();
        let crashes = [
            Crash::Prefix(pending / 2),
            Crash::Prefix(pending),
            Crash::Scattered(sync),
        ];
        for crash in crashes {
            let place = format!("sync {sync} of {syncs}, {crash:?} of {pending}");
            let survivor = disk.crash(crash);
            assert_survived(&survivor, &acknowledged, &place);
            if matches!(crash, Crash::Scattered(_)) {
                assert_goes_on(&survivor, &place);
            }
        }
    }
}
