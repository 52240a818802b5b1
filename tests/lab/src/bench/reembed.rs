//! Another model takes over: what its vectors cost, what a recall costs meanwhile, and whether what
//! was found before is found on the way and afterwards.

use reprise_types::MemoryProvider as _;

use super::corpus::{self, Dice};
use super::figures::{Times, row};
use crate::prelude::*;

/// Questions of each stage.
const QUESTIONS: usize = 100;
/// Results in which the record that a question was taken from is looked for.
const AMONG: usize = 10;
/// Records that are kept at a time.
const GROUP: usize = 256;

/// What the questions of one stage found, and took.
#[derive(Default)]
struct Stage {
    name: &'static str,
    found: usize,
    asked: usize,
    degraded: usize,
    took_ms: Vec<f64>,
}

struct Bench {
    user: UserId,
    texts: Vec<String>,
}

impl Bench {
    async fn insert_texts(&self, service: &MemoryService) -> anyhow::Result<()> {
        for group in self.texts.chunks(GROUP) {
            let kept = group
                .iter()
                .map(|text| NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode));
            service.observe(&self.user, kept.collect()).await?;
        }
        Ok(())
    }

    /// Asks until `done` with the second halves of records at even distances: they name no number.
    async fn ask_until(
        &self,
        name: &'static str,
        service: &MemoryService,
        done: impl Fn(usize) -> bool,
    ) -> anyhow::Result<Stage> {
        let mut stage = Stage {
            name,
            ..Stage::default()
        };
        let memory = service.provider(&self.user);
        let step = (self.texts.len() / QUESTIONS).max(1);
        for text in self.texts.iter().step_by(step).cycle() {
            if done(stage.asked) {
                break;
            }
            let (_, later) = text.split_once("then ").unwrap_or_default();
            let later = later.split(" in case").next().unwrap_or_default();
            // New to every cache of questions, and the same to a model but for its end.
            let question = format!("{later} ({name} {})", stage.asked);
            let request = RecallRequest {
                top_k: AMONG,
                ..RecallRequest::new(question)
            };
            let began = Instant::now();
            let answer = memory.execute_recall(request).await?;
            stage.took_ms.push(began.elapsed().as_secs_f64() * 1e3);
            stage.asked += 1;
            stage.found += usize::from(answer.results.iter().any(|f| f.record.text == *text));
            stage.degraded += usize::from(!answer.degraded.is_empty());
        }
        Ok(stage)
    }
}

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let folder = tempfile::tempdir()?;
    let with = |variant| {
        let context = context
            .with_data_folder(folder.path())
            .with_variant(variant);
        model::factory(&context).context("this bench needs both forms of the model")?;
        let mut config = memory_config(&context)?;
        // What an agent does by itself is done by hand, so that it can be timed.
        config.limits.tick = Duration::from_hours(1);
        config.limits.recall_budget = Duration::from_mins(1);
        anyhow::Ok(config)
    };
    let (first, second) = (with(Variant::Int8)?, with(Variant::F32)?);
    let mut dice = Dice(11);
    let text = |number| {
        format!(
            "{} in case {number}",
            corpus::make_sentence(&mut dice, number % 200)
        )
    };
    let bench = Bench {
        user: "bench".parse()?,
        texts: (0..records as u64).map(text).collect(),
    };
    let (stages, seconds, bytes) = runtime::build_threaded()?.block_on(async {
        let service = MemoryService::start(first, None).await?;
        bench.insert_texts(&service).await?;
        let enough = |asked| asked == QUESTIONS;
        let mut stages = vec![bench.ask_until("before", &service, enough).await?];
        service.shut_down().await;

        let service = MemoryService::start(second, None).await?;
        stages.push(bench.ask_until("taken over", &service, enough).await?);
        let began = Instant::now();
        let made = tokio::spawn({
            let (service, user) = (service.clone(), bench.user.clone());
            async move { while let Ok(true) = service.embed_waiting(&user).await {} }
        });
        stages.push(
            bench
                .ask_until("on the way", &service, |_| made.is_finished())
                .await?,
        );
        let seconds = began.elapsed().as_secs_f64();
        stages.push(bench.ask_until("afterwards", &service, enough).await?);
        let compacted = service.compact(&bench.user).await??;
        let stats = service.with_engine(&bench.user, |engine| engine.stats());
        anyhow::ensure!(stats.await?.other_spaces.is_empty(), "some were left");
        service.shut_down().await;
        let bytes = (compacted.bytes_before, compacted.bytes_after);
        anyhow::Ok((stages, seconds, bytes))
    })?;
    row!(context, { "records": records, "seconds": seconds, "bytes_before": bytes.0,
        "bytes_after": bytes.1 })?;
    for stage in stages {
        let share = 100.0 * stage.found as f64 / stage.asked.max(1) as f64;
        let Times { p50, p99, .. } = Times::from_times(stage.took_ms);
        row!(context, { "stage": stage.name, "asked": stage.asked, "found_percent": share,
            "degraded": stage.degraded, "p50_ms": p50, "p99_ms": p99 })?;
    }
    Ok(Exit::Success)
}
