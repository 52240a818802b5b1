//! How long forgetting takes: the command itself on a store of its own, alone, with the proof that
//! nothing is left, and with that proof beside a daemon to which others write.

use std::sync::atomic::{AtomicBool, Ordering};

use reprise_operations::WriteReport;
use reprise_server::{Place, Starter};

use super::corpus;
use super::figures::{row, say};
use crate::cli::prelude::*;

const USER: &str = "bench";

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let folder = tempfile::tempdir()?;
    let filled = folder.path().join("filled.rvf");
    corpus::filled(&filled, records)?.close()?;
    let bench = Bench {
        folder: folder.path(),
        filled: &filled,
        records,
        before: SystemClock.now().to_rfc3339(),
    };
    let (plain, verified) = (bench.alone(&[])?, bench.alone(&["--verify"])?);
    let (beside, written, slowest) = bench.beside_writers()?;
    let [plain, verified, beside, slowest] =
        [plain, verified, beside, slowest].map(|time| time.as_secs_f64());
    let row = row!({ "records": records, "forget_s": plain, "verified_s": verified,
        "verified_beside_writers_s": beside, "written_meanwhile": written,
        "slowest_write_s": slowest });
    say(context, row)
}

struct Bench<'a> {
    folder: &'a Path,
    filled: &'a Path,
    records: usize,
    /// When it was filled.
    before: String,
}

impl Bench<'_> {
    /// Puts the filled store in its place.
    fn reset(&self) -> anyhow::Result<()> {
        let file = self.folder.join("data").join(USER).join("memory.rvf");
        fs_err::create_dir_all(file.parent().context("it has a folder")?)?;
        fs_err::copy(self.filled, &file)?;
        Ok(())
    }

    fn arguments(&self) -> [std::ffi::OsString; 3] {
        let data = self.folder.join("data");
        ["--no-model".into(), "--data-dir".into(), data.into()]
    }

    /// The command, from its start to its end.
    fn forget(&self, more: &[&str]) -> anyhow::Result<Duration> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .env("XDG_RUNTIME_DIR", self.folder)
            .args(self.arguments())
            .args(["--json", "forget", "--user", USER, "--before", &self.before])
            .args(more);
        let began = Instant::now();
        let output = command.output()?;
        let took = began.elapsed();
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "forget failed: {said}");
        let said: Value = serde_json::from_slice(&output.stdout)?;
        let forgotten = said["forgotten"].as_array().map_or(0, Vec::len);
        ensure!(
            forgotten == self.records,
            "{forgotten} of {} were forgotten",
            self.records
        );
        Ok(took)
    }

    fn alone(&self, more: &[&str]) -> anyhow::Result<Duration> {
        self.reset()?;
        self.forget(more)
    }

    /// With the proof, while somebody writes: the time, the records kept meanwhile, and the longest
    /// that one of them took.
    fn beside_writers(&self) -> anyhow::Result<(Duration, usize, Duration)> {
        self.reset()?;
        let place = Place::new(&self.folder.join("data"), Some(self.folder));
        place.prepare()?;
        let mut arguments = self.arguments().to_vec();
        arguments.extend(["serve", "--idle-exit", "600"].map(Into::into));
        let program = std::env::current_exe()?;
        let client = Client::new(place).starting(Starter { program, arguments });
        let (client, stop) = (Arc::new(client), Arc::new(AtomicBool::new(false)));
        let runtime = runtime::threaded()?;
        let _status: Value = runtime.block_on(client.ask(&Call::get("/v1/status")))?;
        let writer = runtime.spawn(write(Arc::clone(&client), Arc::clone(&stop)));
        let took = self.forget(&["--verify"]);
        stop.store(true, Ordering::SeqCst);
        let written = runtime.block_on(writer);
        runtime.block_on(client.shut_down())?;
        let (count, slowest) = written??;
        Ok((took?, count, slowest))
    }
}

/// Writes one record after the other until told to stop.
async fn write(client: Arc<Client>, stop: Arc<AtomicBool>) -> anyhow::Result<(usize, Duration)> {
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
