//! A process that writes, grows, forgets, purges and compacts a memory with every layer is killed
//! with SIGKILL at seeded moments: fresh processes find what it acknowledged, and the layers.

use std::collections::BTreeSet;
use std::hint::spin_loop;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_tests::SeededRng;
use reprise_types::SearchRoute;

use crate::{
    LAYERS_FROM, LEFT_MAX, RECORDS, SESSION, assert_route, entry_numbers, forget_session,
    grow_fully, insert_entries, open, purge_fully, scan_answers,
};

/// Environment variable that names the memory's folder to a process that is to be killed, which
/// runs this test alone.
const FOLDER: &str = "LAYERS_FOLDER";
const LEFT_ALONE: &str = "killed::left_alone_it_saves_every_layer";
/// Lives of the memory.
const LIVES: usize = 12;
/// Turns of one life.
const TURNS: usize = 4;
/// Most lines that a life prints before it is killed.
const LINES_MAX: u64 = 22;
/// Most turns of an empty loop after these lines.
const SPINS_MAX: u64 = 3_000_000;

fn open_real(path: &Path) -> Engine {
    open(Arc::new(RealDisk), path, LAYERS_FROM).unwrap()
}

/// Returns the numbers that are written at once if the next one is `next`.
fn batch(next: usize) -> Range<usize> {
    let size = if next < RECORDS { RECORDS / 5 } else { SESSION };
    next..next + size
}

fn next_of(there: &BTreeSet<usize>) -> usize {
    there.last().map_or(0, |last| last + 1)
}

/// Lives one life; prints what is done, and what it is about to do if that may be interrupted.
fn live_one_life(path: &Path, say: &dyn Fn(String)) {
    let mut engine = open_real(path);
    let mut next = next_of(&entry_numbers(&engine));
    let mut write = |engine: &mut Engine| {
        let numbers = batch(next);
        next = numbers.end;
        insert_entries(engine, numbers).unwrap();
        say(format!("kept {next}"));
    };
    while next_of(&entry_numbers(&engine)) < RECORDS {
        write(&mut engine);
    }
    grow_fully(&mut engine).unwrap();
    engine.checkpoint().unwrap();
    say("saved".to_owned());
    for _ in 0..TURNS {
        write(&mut engine);
        grow_fully(&mut engine).unwrap();
        engine.checkpoint_if_due().unwrap();
        let oldest = entry_numbers(&engine).first().unwrap() / SESSION;
        say(format!("forgetting {oldest}"));
        forget_session(&mut engine, oldest).unwrap();
        say(format!("forgotten {oldest}"));
        purge_fully(&mut engine).unwrap();
        say("compacting".to_owned());
        engine.compact().unwrap();
        say("saved".to_owned());
    }
    engine.close().unwrap();
}

/// Checks that a memory opened anew answers from the cells and then from the saved graph.
fn assert_layers(path: &Path, place: &str) {
    let exact = scan_answers(Arc::new(RealDisk), path);
    let mut engine = open_real(path);
    assert_route(&engine, SearchRoute::Cells, &exact, place);
    let left = engine.advance_graph(0).unwrap();
    assert!(left <= LEFT_MAX, "{place}: {left} to grow again");
    assert_route(&engine, SearchRoute::Graph, &exact, place);
    grow_fully(&mut engine).unwrap();
    assert_route(&engine, SearchRoute::Graph, &exact, place);
}

#[test]
fn left_alone_it_saves_every_layer() {
    let own = tempfile::tempdir().unwrap();
    let named = std::env::var_os(FOLDER).map(PathBuf::from);
    let path = named.unwrap_or_else(|| own.path().to_path_buf());
    let path = path.join("memory.rvf");
    // The line starts on a new line, whatever the harness has printed.
    live_one_life(&path, &|line| println!("\n{line}"));
    assert_layers(&path, "left alone");
    assert!(open_real(&path).check().unwrap().is_sound());
}

/// What is known of the memory from outside.
#[derive(Default)]
struct Ledger {
    /// Numbers that were acknowledged, or seen by a fresh process.
    sure: BTreeSet<usize>,
    next: usize,
    /// The session that is being forgotten.
    fading: Option<usize>,
    /// Whether the layers were saved whole.
    is_saved: bool,
}

impl Ledger {
    /// Reads a line that a life prints; returns whether it is one.
    fn read_line(&mut self, line: &str) -> bool {
        let mut words = line.split(' ');
        let what = words.next().unwrap_or_default();
        let number: Option<usize> = words.next().and_then(|number| number.parse().ok());
        match (what, number) {
            ("kept", Some(next)) => {
                self.sure.extend(self.next..next);
                self.next = next;
            }
            ("forgetting", Some(session)) => self.fading = Some(session),
            ("forgotten", Some(session)) => {
                self.sure.retain(|number| number / SESSION != session);
                self.fading = None;
            }
            ("saved", None) => self.is_saved = true,
            ("compacting", None) => {}
            _ => return false,
        }
        true
    }

    /// Begins a life and kills it after so many lines and turns; returns whether the kill came in
    /// time.
    fn run_and_kill(&mut self, folder: &Path, lines: u64, spins: u64) -> bool {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", LEFT_ALONE, "--nocapture"])
            .env(FOLDER, folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (mut said, mut line) = (0, String::new());
        while output.read_line(&mut line).unwrap() > 0 {
            // A line that the kill cut short does not count.
            if line
                .strip_suffix('\n')
                .is_some_and(|line| self.read_line(line))
            {
                said += 1;
                if said == lines {
                    (0..spins).for_each(|_| spin_loop());
                    child.kill().unwrap();
                }
            }
            line.clear();
        }
        let status = child.wait().unwrap();
        assert!(
            status.success() || status.code().is_none(),
            "it ended by itself, and not well: {status}"
        );
        !status.success()
    }

    /// Checks that the memory has what was acknowledged, and all or nothing of what was under way.
    fn assert_consistent(&mut self, path: &Path, place: &str) {
        let mut engine = open_real(path);
        let there = entry_numbers(&engine);
        let gone: BTreeSet<usize> = self.sure.difference(&there).copied().collect();
        let of_fading = |number: &&usize| Some(**number / SESSION) == self.fading;
        let fading: BTreeSet<usize> = self.sure.iter().filter(of_fading).copied().collect();
        assert!(gone.is_empty() || gone == fading, "{place}: lost {gone:?}");
        let new: BTreeSet<usize> = there.difference(&self.sure).copied().collect();
        let under_way = batch(self.next);
        assert!(
            new.is_empty() || new.iter().copied().eq(under_way),
            "{place}: there are {new:?}"
        );
        let report = engine.check().unwrap();
        assert!(report.is_sound(), "{place}: {:?}", report.findings);
        drop(engine);
        if self.is_saved {
            assert_layers(path, place);
        }
        (self.next, self.fading) = (next_of(&there), None);
        self.sure = there;
    }
}

#[test]
fn killed_at_any_moment_it_loses_no_record_and_no_layer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let mut seeded = SeededRng::new(0x5eed_0008);
    let (mut ledger, mut kills) = (Ledger::default(), 0);
    for life in 0..LIVES {
        let (lines, spins) = (
            1 + seeded.draw_below(LINES_MAX),
            seeded.draw_below(SPINS_MAX),
        );
        kills += usize::from(ledger.run_and_kill(folder.path(), lines, spins));
        ledger.assert_consistent(&path, &format!("life {life}, {lines} lines, {spins} spins"));
    }
    assert!(kills >= LIVES / 2, "{kills} kills");
    assert!(ledger.is_saved);
}
