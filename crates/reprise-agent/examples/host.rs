//! A host with memory in thirty lines: `cargo run -p reprise-agent --example host`.
//!
//! The first run stores what worked, and the second recalls it before it plans.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use reprise_agent::{MemoryConfig, MemoryService};
use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_types::{
    Credit, EmbedError, MemoryKind, MemoryProvider as _, MemorySource, NewRecord, RecallRequest,
    RunBeginning, RunEnding, UserId,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    for text in run_twice(folder.path().to_owned()).await? {
        writeln!(std::io::stdout(), "{text}")?;
    }
    Ok(())
}

/// Two runs of a host; what the second one was told.
async fn run_twice(data: PathBuf) -> Result<Vec<String>, Box<dyn Error>> {
    let open = Arc::new(|path: &_, options: &_| Engine::open(Arc::new(RealDisk), path, options));
    // Without a model, recall searches by words.
    let no_model = || {
        Err(EmbedError::Unavailable {
            message: "this example brings no model".to_owned(),
        })
    };
    let config = MemoryConfig::new(data, 384, open, Arc::new(no_model));
    let service = MemoryService::start(config, None).await?;
    let user: UserId = "ada".parse()?;
    let memory = service.provider(&user);
    let worked = "cargo test -p auth passed once the session map had a mutex";
    let record = NewRecord::new(worked, MemorySource::WorkerResult, MemoryKind::Finding);
    service.observe(&user, vec![record]).await?;

    let request = RecallRequest::new("make the auth tests pass");
    let recall = memory.execute_recall(request).await?;
    let results = recall.results.iter();
    let (ids, texts) = results
        .map(|one| (one.record.id, one.record.body.text.clone()))
        .unzip();
    let (run_id, recall_id) = ("run-2".to_owned(), Some(recall.recall_id));
    let beginning = RunBeginning {
        run_id: run_id.clone(),
        query: None,
        recall_id,
    };
    memory.begin_run(beginning).await?;
    // The host works with the recalled records, and reports how well that went.
    let (credit, quality) = (Credit::Explicit, Some(0.9));
    memory
        .end_run(RunEnding {
            run_id,
            used: ids,
            credit,
            quality,
            fail_kind: None,
        })
        .await?;
    service.shut_down().await;
    Ok(texts)
}

#[tokio::test]
async fn the_second_run_is_told_of_the_first() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let texts = run_twice(folder.path().to_owned()).await?;
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("cargo test -p auth")),
        "{texts:?}"
    );
    Ok(())
}
