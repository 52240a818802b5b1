//! `reprise serve`: the daemon of a data directory, in the foreground.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reprise_agent::{MemoryConfig, OpenEmbedder};
use reprise_embed::EmbedderFactory;
use reprise_engine::Engine;
use reprise_server::{Daemon, DaemonOptions, Ended};
use reprise_store::RealDisk;
use reprise_types::EmbedError;

use super::store::DIMENSIONS;
use super::{Context, host, model};
use crate::args::ServeArguments;
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &ServeArguments) -> anyhow::Result<Exit> {
    let file = &context.config.serve;
    let idle_exit = arguments.idle_exit.or(file.idle_exit_seconds);
    let options = DaemonOptions {
        place: context.places.meeting(),
        http: arguments.http.or(file.http),
        idle_exit: idle_exit.map(Duration::from_secs),
        replace: arguments.replace,
        requests_per_second: arguments.requests_per_second.or(file.requests_per_second),
        tags: context.config.tag_rules(),
    };
    let ended = host::runtime()?.block_on(async {
        let daemon = Daemon::start(config(context)?, options).await?;
        let data = context.places.data.display();
        super::note(&format!("serving {data}"));
        if let Some(address) = daemon.http_address() {
            super::note(&format!("http://{address} takes requests with a token"));
        }
        anyhow::Ok(daemon.run().await?)
    })?;
    super::note(match ended {
        Ended::Signal | Ended::Asked => "ended: everything accepted is on disk",
        Ended::Idle => "ended: nobody asked for a while; the next request starts another",
    });
    Ok(Exit::Success)
}

/// How the service opens files and models.
pub(super) fn config(context: &Context) -> anyhow::Result<MemoryConfig> {
    let mut config = MemoryConfig::new(
        context.places.data.clone(),
        DIMENSIONS,
        Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        open_embedder(context),
    );
    context.config.apply(&mut config)?;
    Ok(config)
}

/// Finds, and where need be fetches, the model on the embedder's own threads: requests are taken
/// long before it is there.
fn open_embedder(context: &Context) -> OpenEmbedder {
    let context = context.clone();
    let found: Mutex<Option<EmbedderFactory>> = Mutex::new(None);
    Arc::new(move || {
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_none() {
            *found = model::factory(&context);
        }
        match &*found {
            Some(factory) => factory.open(),
            None => Err(EmbedError::Unavailable {
                message: "the model could not be loaded".to_owned(),
            }),
        }
    })
}
