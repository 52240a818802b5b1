//! What one small write costs, alone and during work on the whole memory: no write should
//! wait for a count, a checkpoint or a compaction. As a daemon does it, but for the embedding.

use reprise_agent::MemoryConfig;

use super::corpus::{self, Dice};
use super::figures::{Times, print_with_times};
use crate::prelude::*;

/// Writes alone.
const ALONE: usize = 500;
/// How often each of the others is done, and writes before each, so that there is something to do.
const ROUNDS: usize = 5;
const BETWEEN: usize = 20;
/// Records that enter the graph in one call.
const GROWN_AT_ONCE: usize = 1_000;
/// The first record that is written here.
const FIRST: usize = 10_000_000;

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let folder = tempfile::tempdir()?;
    let open = Arc::new(|path: &Path, options: &_| Engine::open(Arc::new(RealDisk), path, options));
    let no_model = Arc::new(|| {
        let message = "this bench has the vectors".to_owned();
        Err(EmbedError::Unavailable { message })
    });
    let mut config = MemoryConfig::new(folder.path().to_owned(), DIMENSIONS, open, no_model);
    // What an agent does by itself is done by hand, so that it can be timed.
    config.limits.tick = Duration::from_hours(1);
    let user: UserId = "bench".parse()?;
    let file = config.file_path(&user);
    fs_err::create_dir_all(file.parent().unwrap_or(folder.path()))?;
    let mut engine = corpus::create_filled_store(&file, records)?;
    while engine.advance_graph(GROWN_AT_ONCE)? > 0 {}
    engine.checkpoint()?;
    engine.close()?;
    let (times, [bytes_p50, bytes_max]) = runtime::build_threaded()?.block_on(async {
        let service = MemoryService::start(config, None).await?;
        let mut bench = Bench {
            service: service.clone(),
            user,
            dice: Dice(17),
            next: FIRST,
        };
        let measured = bench.measure_writes(&file).await?;
        service.shut_down().await;
        anyhow::Ok(measured)
    })?;
    let [alone, stats, checkpoint, compaction] = times;
    let figures = json!({
        "records": records,
        "alone_ms": alone,
        "beside_stats_ms": stats,
        "beside_checkpoint_ms": checkpoint,
        "beside_compaction_ms": compaction,
        // What the file grew by for one write, mostly and at most.
        "bytes_p50": bytes_p50,
        "bytes_max": bytes_max,
    });
    let times = [
        ("alone", alone),
        ("beside stats", stats),
        ("beside a checkpoint", checkpoint),
        ("beside a compaction", compaction),
    ];
    print_with_times(context, &figures, times)
}

struct Bench {
    service: MemoryService,
    user: UserId,
    dice: Dice,
    next: usize,
}

impl Bench {
    /// Measures the write times alone and during each other work, and the bytes of one write.
    async fn measure_writes(&mut self, file: &Path) -> anyhow::Result<([Times; 4], [u64; 2])> {
        // As an agent does within its first second.
        let read = |engine: &mut Engine| engine.advance_graph(0);
        self.service.with_engine(&self.user, read).await??;
        let (mut alone, mut grown) = (Vec::new(), Vec::new());
        for _ in 0..ALONE {
            let before = fs_err::metadata(file)?.len();
            alone.push(self.time_one_write().await?);
            grown.push(fs_err::metadata(file)?.len().saturating_sub(before));
        }
        grown.sort_unstable();
        let at = |place: usize| grown.get(place).copied().unwrap_or_default();
        let bytes = [at(ALONE / 2), at(ALONE - 1)];
        let stats = self
            .time_writes_during(|service, user| async move {
                service.provider(&user).stats().await?;
                anyhow::Ok(())
            })
            .await?;
        let checkpoint = self
            .time_writes_during(|service, user| async move {
                service.checkpoint(&user).await??;
                anyhow::Ok(())
            })
            .await?;
        let compaction = self
            .time_writes_during(|service, user| async move {
                service.compact(&user).await??;
                anyhow::Ok(())
            })
            .await?;
        let times = [Times::from_times(alone), stats, checkpoint, compaction];
        Ok((times, bytes))
    }

    /// Writes one record; milliseconds until it is on disk and found.
    async fn time_one_write(&mut self) -> anyhow::Result<f64> {
        let record = corpus::make_record(&mut self.dice, self.next, &Variant::Int8.space());
        self.next += 1;
        let began = Instant::now();
        let kept = self.service.observe(&self.user, vec![record]).await?;
        let took = began.elapsed().as_secs_f64() * 1e3;
        anyhow::ensure!(kept.len() == 1, "a write was not kept");
        Ok(took)
    }

    /// Writes without a pause while `work` is done.
    async fn time_writes_during<F>(
        &mut self,
        work: impl Fn(MemoryService, UserId) -> F,
    ) -> anyhow::Result<Times>
    where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            for _ in 0..BETWEEN {
                self.time_one_write().await?;
            }
            let working = tokio::spawn(work(self.service.clone(), self.user.clone()));
            while !working.is_finished() {
                times.push(self.time_one_write().await?);
            }
            working.await??;
        }
        Ok(Times::from_times(times))
    }
}
