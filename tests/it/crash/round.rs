//! One store's rounds: start `reprise`, kill it at a seeded moment, look with fresh processes.
//!
//! Processes and moments. A moment is a number of acknowledgements read, or the sight of a
//! compaction's file, and then some turns of an empty loop: no sleep, no clock.

use std::collections::BTreeMap;
use std::fs::File;
use std::hint::spin_loop;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::yield_now;

use reprise_tests::{SeededRng, reprise_command, run_to_end};
use tempfile::TempDir;

use super::ledger::CrashLedger;
use super::lines::{external_id, ingest_line, record_text};

const SIGKILL: i32 = 9;
const USER: &str = "ada";
/// Most turns of the empty loop before a kill: a few milliseconds.
const TURNS_MAX: u64 = 150_000;
/// Rounds that one store lives through.
const LIFE_ROUNDS: usize = 6;
/// Kills that have to meet each phase at least.
const PHASE_KILLS: usize = 4;
/// Rounds that may end by themselves before the kill: each wanted kill has two more tries.
const TRIES_PER_KILL: usize = 3;

/// What a kill cut short, by what `reprise` was at.
#[derive(Debug, Default, Clone, Copy)]
struct CutCounts {
    /// Before the first acknowledgement.
    opening: usize,
    /// Between the first and the last.
    keeping: usize,
    /// After the last: the checkpoint, and giving the file back.
    closing: usize,
    forgetting: usize,
    /// While the compaction's file existed next to the store's.
    compacting: usize,
}

impl CutCounts {
    fn is_enough(self, kills: usize, workload: Workload) -> bool {
        let total = self.opening + self.keeping + self.closing + self.forgetting + self.compacting;
        let compacting = if workload.compactions > 0 {
            PHASE_KILLS
        } else {
            0
        };
        total >= kills
            && self.keeping >= PHASE_KILLS
            && self.closing >= PHASE_KILLS
            && self.compacting >= compacting
    }
}

/// What a store is put through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) lines: usize,
    /// Whether they come with vectors.
    pub(crate) vectors: bool,
    /// How many rounds in a hundred forget a session and are killed while compacting.
    pub(crate) compactions: u64,
}

/// One store and what is known of it.
#[derive(Debug)]
pub(crate) struct StoreUnderTest {
    title: &'static str,
    seeded: SeededRng,
    workload: Workload,
    folder: TempDir,
    ledger: CrashLedger,
    /// Records sent so far; each round takes the next numbers.
    next: usize,
    cuts: CutCounts,
    /// Record numbers of each session that nobody has forgotten yet.
    sessions: BTreeMap<String, std::ops::Range<usize>>,
}

impl StoreUnderTest {
    pub(crate) fn new(title: &'static str, seed: u64, workload: Workload) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        Self {
            title,
            seeded: SeededRng::new(seed),
            workload,
            folder,
            ledger: CrashLedger::default(),
            next: 0,
            cuts: CutCounts::default(),
            sessions: BTreeMap::new(),
        }
    }

    /// Rounds until `kills` of them were really cut short, some of them in each phase that the
    /// workload has; each round is followed by a full look.
    pub(crate) fn run_rounds(mut self, kills: usize) {
        let mut round = 0;
        let mut oldest = 0;
        while !self.cuts.is_enough(kills, self.workload) {
            round += 1;
            assert!(
                round <= kills * TRIES_PER_KILL,
                "{}: after {round} rounds only {:?} were cut short",
                self.title,
                self.cuts
            );
            if round - oldest == LIFE_ROUNDS {
                oldest = round;
                self.begin_anew();
            }
            let compacts = self.seeded.draw_below(100) < self.workload.compactions;
            if compacts && self.sessions.len() > 2 {
                self.forget_and_compact();
            } else {
                self.ingest_and_kill(round);
            }
            self.check_store(round);
        }
    }

    /// Goes on in an empty folder: each look reads all that was kept there.
    fn begin_anew(&mut self) {
        self.folder = tempfile::tempdir().expect("a temporary directory");
        self.ledger = CrashLedger::default();
        self.sessions.clear();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = reprise_command(self.folder.path()).expect("reprise is built");
        command
            .args(["--no-model", "--json"])
            .args(arguments)
            .args(["--user", USER]);
        command
    }

    fn spawn_reprise(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("reprise starts")
    }

    /// Sends new records and some old ones again, and kills after a seeded number of
    /// acknowledgements: none (while opening), some, or all (while closing).
    fn ingest_and_kill(&mut self, round: usize) {
        let session = format!("round-{round}");
        let fresh = self.next..self.next + self.workload.lines;
        self.next = fresh.end;
        let path = self.folder.path().join("lines.jsonl");
        let mut file = File::create(&path).expect("a file in the temporary directory");
        let mut sent = 0_u64;
        for number in fresh.clone() {
            let again = number.checked_sub(self.workload.lines + 1);
            let again = again.filter(|old| self.ledger.sure.contains(old) && number % 7 == 0);
            for number in again.into_iter().chain([number]) {
                let line = ingest_line(number, &session, self.workload.vectors);
                file.write_all(line.as_bytes())
                    .expect("the file is written");
                sent += 1;
            }
        }
        self.ledger.possible.extend(fresh.clone());
        self.sessions.insert(session, fresh);

        let wanted = match self.seeded.draw_below(10) {
            0 => 0,
            1 | 2 => sent,
            _ => 1 + self.seeded.draw_below(sent),
        };
        let turns = self.seeded.draw_below(TURNS_MAX);
        let jsonl = path.to_string_lossy().into_owned();
        let mut child = self.spawn_reprise(&["ingest", "--ack", "--jsonl", &jsonl]);
        let (acknowledged, cut) = kill_after(&mut child, wanted, turns);
        let met = match acknowledged.len() as u64 {
            0 => &mut self.cuts.opening,
            all if all == sent => &mut self.cuts.closing,
            _ => &mut self.cuts.keeping,
        };
        *met += usize::from(cut);
        for number in acknowledged {
            self.ledger.possible.remove(&number);
            self.ledger.sure.insert(number);
        }
    }

    /// Forgets a session, mostly to its end, and then kills the compaction.
    fn forget_and_compact(&mut self) {
        // A session of which nothing was kept cannot be forgotten.
        let sure = &self.ledger.sure;
        self.sessions
            .retain(|_, numbers| numbers.clone().any(|n| sure.contains(&n)));
        let Some(session) = self.pick_session() else {
            return;
        };
        let numbers = self.sessions.remove(&session).expect("one of its keys");
        for number in numbers {
            if self.ledger.sure.remove(&number) {
                self.ledger.fading.insert(number);
            }
        }
        let mut forget = self.spawn_reprise(&["forget", "--session", &session]);
        if self.seeded.draw_below(8) == 0 {
            let turns = self.seeded.draw_below(TURNS_MAX);
            self.cuts.forgetting += usize::from(kill_after(&mut forget, 0, turns).1);
            return;
        }
        let status = forget.wait().expect("forget ends");
        assert!(
            status.success(),
            "{}: forget --session {session}: {status}",
            self.title
        );
        let gone = std::mem::take(&mut self.ledger.fading);
        self.ledger.gone.extend(gone);

        let mut compact = self.spawn_reprise(&["doctor", "compact"]);
        let store = self.folder.path().join(USER);
        while compact.try_wait().expect("a child's state").is_none() && count_entries(&store) < 2 {
            // On one core the compaction needs the turn.
            yield_now();
        }
        let turns = self.seeded.draw_below(TURNS_MAX);
        self.cuts.compacting += usize::from(kill_after(&mut compact, 0, turns).1);
    }

    fn pick_session(&mut self) -> Option<String> {
        let place = self.seeded.draw_below(self.sessions.len() as u64);
        self.sessions
            .keys()
            .nth(usize::try_from(place).ok()?)
            .cloned()
    }

    /// Fresh processes: the file is whole, and holds what the ledger says.
    fn check_store(&mut self, round: usize) {
        let place = format!("{}, round {round}", self.title);
        if self.next == 0 || !self.store_file().exists() {
            assert!(
                self.ledger.sure.is_empty(),
                "{place}: acknowledged, and there is no file"
            );
            self.ledger.possible.clear();
            return;
        }
        let check = run_to_end(&mut self.command(&["doctor", "check"])).expect("check runs");
        assert_eq!(
            check.code,
            Some(0),
            "{place}: check: {}{}",
            check.stdout,
            check.stderr
        );
        let export = run_to_end(&mut self.command(&["export"])).expect("export runs");
        assert_eq!(export.code, Some(0), "{place}: export: {}", export.stderr);
        let mut found = BTreeMap::new();
        for line in export.stdout.lines() {
            let record: serde_json::Value = serde_json::from_str(line).expect("a JSON line");
            let field = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
            let entry = found
                .entry(field("external_id"))
                .or_insert((0, field("text")));
            entry.0 += 1;
        }
        let wrong = self.ledger.compare(&found, &external_id, &record_text);
        assert!(
            wrong.is_empty(),
            "{place}: {} wrong:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    }

    fn store_file(&self) -> PathBuf {
        self.folder.path().join(USER).join("memory.rvf")
    }
}

/// Reads `wanted` acknowledgements, turns the empty loop `turns` times, kills, and reads what was
/// acknowledged before that. Answers the numbers acknowledged, and whether the kill came in time.
fn kill_after(child: &mut Child, wanted: u64, turns: u64) -> (Vec<usize>, bool) {
    let mut acknowledged = Vec::new();
    let mut output = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let mut kill = |acknowledged: &Vec<usize>| {
        if acknowledged.len() as u64 == wanted {
            (0..turns).for_each(|_| spin_loop());
            child.kill().expect("a child can be killed");
        }
    };
    kill(&acknowledged);
    let mut line = String::new();
    while output
        .read_line(&mut line)
        .expect("acknowledgements are text")
        > 0
    {
        // A line cut short by the kill acknowledges nothing; the summary is JSON.
        if let Some(number) = line.strip_suffix('\n').and_then(parse_number) {
            acknowledged.push(number);
            kill(&acknowledged);
        }
        line.clear();
    }
    let status = child.wait().expect("the child ends");
    assert!(
        status.signal() == Some(SIGKILL) || status.success(),
        "it ended by itself, and not well: {status}"
    );
    (acknowledged, status.signal() == Some(SIGKILL))
}

fn parse_number(line: &str) -> Option<usize> {
    line.strip_prefix("kill-")?.parse().ok()
}

fn count_entries(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}
