//! The cost of the mailbox: a write of nothing, which passes the mailbox and the writer's queue and
//! touches no disk, compared with a whole recall in the same run.
//!
//! Query vectors are cached, so that the figures exclude the model. Run: `cargo bench -p
//! reprise-agent --bench mailbox`.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ractor::{ActorRef, call_t};
use reprise_agent::{MemoryAgentMsg, MemoryConfig, MemoryService};
use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_types::{
    EmbedError, Embedder, EmbeddingSpace, MemoryKind, MemoryProvider, MemorySource, NewRecord,
    RecallRequest, UserId,
};

const DIMENSIONS: u16 = 384;
const RECORDS: usize = 10_000;
const QUESTIONS: usize = 100;
const ROUNDS: usize = 2_000;
const ASKERS: usize = 8;
const MS: u64 = 60_000;

type BenchError = Box<dyn Error + Send + Sync>;

/// A sum of one random direction per word.
struct WordSumEmbedder(EmbeddingSpace);

impl Embedder for WordSumEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }

    fn token_limit(&self) -> usize {
        256
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vector = vec![0.001; usize::from(DIMENSIONS)];
        for word in text.split_whitespace() {
            let hash = word.bytes().fold(7_usize, |hash, byte| {
                hash.wrapping_mul(31).wrapping_add(usize::from(byte))
            });
            vector[hash % usize::from(DIMENSIONS)] += 1.0;
        }
        reprise_types::normalize(&mut vector);
        Ok(vector)
    }
}

#[tokio::main]
async fn main() -> Result<(), BenchError> {
    let folder = tempfile::tempdir()?;
    let config = MemoryConfig::new(
        folder.path().to_owned(),
        DIMENSIONS,
        Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        Arc::new(|| {
            let (model, version) = ("words".to_owned(), "1".to_owned());
            Ok(Box::new(WordSumEmbedder(EmbeddingSpace {
                model,
                version,
                dimensions: DIMENSIONS,
            })))
        }),
    );
    let service = MemoryService::start(config, None).await?;
    let user: UserId = "ada".parse()?;
    for first in (0..RECORDS).step_by(500) {
        let note = |n: usize| {
            let text = format!("test {n} of module {} passed on day {}", n % 97, n % 31);
            NewRecord::new(&text, MemorySource::WorkerResult, MemoryKind::Finding)
        };
        let records = (first..first + 500).map(note).collect();
        service.observe(&user, records).await?;
    }
    let asker = Asker { service, user };
    for number in 0..QUESTIONS {
        asker.recall_by_message(number).await?;
    }
    let agent = asker.service.agent(&asker.user).await?;
    let (mut hop, mut message) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        hop.push(measure_time(asker.write_nothing(&agent)).await?);
        message.push(measure_time(asker.recall_by_message(round)).await?);
    }
    let [hop, message] = [hop, message].map(compute_p50_us);
    let mut lines = vec![
        format!("a write of nothing by messages, p50: {hop:.0} us"),
        format!("a recall of {RECORDS} by messages, p50: {message:.0} us"),
    ];
    for _ in 0..3 {
        let rate = asker.measure_rate().await?;
        lines.push(format!("{ASKERS} askers: {rate:.0}/s by messages"));
    }
    let text = lines.join("\n") + "\n";
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    asker.service.shut_down().await;
    Ok(())
}

#[derive(Clone)]
struct Asker {
    service: MemoryService,
    user: UserId,
}

impl Asker {
    fn build_request(number: usize) -> RecallRequest {
        RecallRequest::new(format!(
            "which test of module {} passed",
            number % QUESTIONS
        ))
    }

    async fn write_nothing(&self, agent: &ActorRef<MemoryAgentMsg>) -> Result<(), BenchError> {
        let permit = self.service.admission().admit_write(&self.user, &[])?;
        let ingest = |reply| MemoryAgentMsg::Ingest {
            records: Vec::new(),
            permit,
            reply,
        };
        call_t!(agent, ingest, MS)??;
        Ok(())
    }

    async fn recall_by_message(&self, number: usize) -> Result<(), BenchError> {
        let memory = self.service.provider(&self.user);
        memory.execute_recall(Self::build_request(number)).await?;
        Ok(())
    }

    /// Measures the recalls per second of several concurrent clients.
    async fn measure_rate(&self) -> Result<f64, BenchError> {
        let began = Instant::now();
        let mut askers = tokio::task::JoinSet::new();
        for asker in 0..ASKERS {
            let own = self.clone();
            askers.spawn(async move {
                for round in 0..ROUNDS / ASKERS {
                    let number = asker * ROUNDS + round;
                    own.recall_by_message(number).await?;
                }
                Ok::<(), BenchError>(())
            });
        }
        for done in askers.join_all().await {
            done?;
        }
        Ok(ROUNDS as f64 / began.elapsed().as_secs_f64())
    }
}

async fn measure_time(
    work: impl Future<Output = Result<(), BenchError>>,
) -> Result<Duration, BenchError> {
    let began = Instant::now();
    work.await?;
    Ok(began.elapsed())
}

fn compute_p50_us(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    middle.as_secs_f64() * 1e6
}
