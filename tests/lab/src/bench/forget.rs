//! How long forgetting takes: the command itself on a store of its own, alone, with the proof that
//! nothing is left, and with that proof while others write through a daemon.

use std::sync::atomic::{AtomicBool, Ordering};

use reprise_operations::WriteReport;

use super::corpus;
use super::figures::row;
use super::home::{self, BenchHome, USER};
use crate::prelude::*;

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let folder = tempfile::tempdir()?;
    let filled = folder.path().join("filled.rvf");
    corpus::create_filled_store(&filled, records)?.close()?;
    let bench = Bench {
        home: BenchHome::new(folder.path(), ["--no-model".into()])?,
        filled: &filled,
        records,
        before: SystemClock.now().to_rfc3339(),
    };
    let (plain, verified) = (
        bench.time_forget_alone(&[])?,
        bench.time_forget_alone(&["--verify"])?,
    );
    let (beside, written, slowest) = bench.time_forget_beside_writer()?;
    let [plain, verified, beside, slowest] =
        [plain, verified, beside, slowest].map(|time| time.as_secs_f64());
    row!(context, { "records": records, "forget_s": plain, "verified_s": verified,
        "verified_beside_writers_s": beside, "written_meanwhile": written,
        "slowest_write_s": slowest })
}

struct Bench<'a> {
    home: BenchHome,
    filled: &'a Path,
    records: usize,
    /// When it was filled.
    before: String,
}

impl Bench<'_> {
    /// The command, from its start to its end.
    fn time_forget(&self, more: &[&str]) -> anyhow::Result<Duration> {
        let mut command = self.home.command();
        command
            .args(["--json", "forget", "--user", USER, "--before", &self.before])
            .args(more);
        let (took, said) = home::run_for_json("forget", &mut command)?;
        let forgotten = said["forgotten"].as_array().map_or(0, Vec::len);
        ensure!(
            forgotten == self.records,
            "{forgotten} of {} were forgotten",
            self.records
        );
        Ok(took)
    }

    /// Puts the filled store in its place first.
    fn time_forget_alone(&self, more: &[&str]) -> anyhow::Result<Duration> {
        fs_err::copy(self.filled, self.home.memory_file()?)?;
        self.time_forget(more)
    }

    /// With the proof, while somebody writes: the time, the records kept meanwhile, and the longest
    /// that one of them took.
    fn time_forget_beside_writer(&self) -> anyhow::Result<(Duration, usize, Duration)> {
        fs_err::copy(self.filled, self.home.memory_file()?)?;
        let (runtime, client, _) = self.home.start_daemon(&[])?;
        let (client, stop) = (Arc::new(client), Arc::new(AtomicBool::new(false)));
        let writer = runtime.spawn(write_until_stopped(Arc::clone(&client), Arc::clone(&stop)));
        let took = self.time_forget(&["--verify"]);
        stop.store(true, Ordering::SeqCst);
        let written = runtime.block_on(writer);
        runtime.block_on(client.shut_down())?;
        let (count, slowest) = written??;
        Ok((took?, count, slowest))
    }
}

/// Writes one record after the other until told to stop.
async fn write_until_stopped(
    client: Arc<Client>,
    stop: Arc<AtomicBool>,
) -> anyhow::Result<(usize, Duration)> {
    let (mut count, mut slowest) = (0, Duration::ZERO);
    let path = format!("/v1/users/{USER}/records");
    while !stop.load(Ordering::SeqCst) {
        let body = json!({ "text": format!("written meanwhile {count}") });
        let began = Instant::now();
        let report: WriteReport = client.ask(&Call::post(path.as_str(), &body)).await?;
        slowest = slowest.max(began.elapsed());
        ensure!(report.inserted == 1, "a write was not kept");
        count += 1;
    }
    Ok((count, slowest))
}
