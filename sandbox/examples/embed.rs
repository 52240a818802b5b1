//! A minimal host with memory: `cargo run -p reprise-sandbox --example embed`.
//!
//! The second run recalls the first.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use reprise_engine::Engine;
use reprise_sandbox::{
    AppConfig, AppState, EventMapper, MemoryBridge, MemoryConfig, Repertoire, RepertoirePlanner,
    SourceBinding, WorkersConfig,
};
use reprise_store::RealDisk;
use reprise_types::{EmbedError, UserId};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let user: UserId = "ada".parse()?;
    // The host chooses how files and models are opened; without a model, recall searches by words.
    let memory = MemoryConfig::new(
        folder.path().join("data"),
        384,
        Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        Arc::new(|| {
            Err(EmbedError::Unavailable {
                message: "this example brings no model".to_owned(),
            })
        }),
    );
    // One log belongs to one user; the `user_id` of its events does not matter.
    let binding = SourceBinding {
        stream: "host".to_owned(),
        user: user.clone(),
    };
    let bridge = MemoryBridge::with_memory(
        memory,
        binding,
        Arc::new(EventMapper::load_builtin()?),
        None,
    );
    let planner = RepertoirePlanner::new(Repertoire::load_builtin()?);
    let app = AppState::start(AppConfig {
        workers: Some(WorkersConfig::new(
            folder.path().join("work"),
            Arc::new(planner),
        )),
        ..AppConfig::new(folder.path().join("events.db"), bridge.clone())
    })
    .await?;
    for request in ["what is a mutex for?", "and a mutex in the session?"] {
        let report = app.execute(&user, request, "desk-1").await?;
        let remembered = report.turns.first().map_or(0, |turn| turn.records.len());
        let summary = &report.summary;
        writeln!(std::io::stdout(), "{summary} ({remembered} memories)")?;
        bridge.catch_up().await.transpose()?;
    }
    app.shut_down().await?;
    Ok(())
}
