//! Where spans and log lines go: to stderr, and for a daemon that was told so to a collector of
//! `OpenTelemetry`.
//!
//! No text of a record or a question is an attribute of a span.

mod export;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::env;
use export::Exporter;

/// Default log level of stderr.
const LOG_DEFAULT: &str = "error";
/// Log levels of a command: without operation problems, because its last line names them.
const LOG_OF_COMMAND: &str = "error,reprise_operations::problem=off";
const LOG: &str = "REPRISE_LOG";
/// Spans of these targets are exported: requests and operations on memory.
const TRACED: [&str; 2] = ["reprise::http", "reprise::memory"];

/// The running log and span export; dropping it sends the spans that are left.
#[derive(Debug)]
pub struct Tracing {
    _exporter: Option<Exporter>,
}

/// Starts logging of a program that runs one command.
pub fn start_for_command() -> anyhow::Result<Tracing> {
    start(false, None)
}

/// Starts logging of a hook where the environment asks for it: nobody reads what a hook prints, and
/// every prompt waits for what is built here.
pub(crate) fn start_for_hook() -> anyhow::Result<Option<Tracing>> {
    env::is_set(LOG).then(start_for_command).transpose()
}

/// Starts logging, and where a collector is named tracing.
pub(crate) fn start(serves: bool, collector: Option<&str>) -> anyhow::Result<Tracing> {
    let unsaid = if serves { LOG_DEFAULT } else { LOG_OF_COMMAND };
    let asked = env::read_text(LOG).and_then(|levels| levels.parse().ok());
    let filter: Targets = asked.map_or_else(|| unsaid.parse(), Ok)?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let registry = Registry::default().with(lines.with_filter(filter));
    let Some(collector) = collector else {
        registry.init();
        return Ok(Tracing { _exporter: None });
    };
    let (exporter, spans) = Exporter::start(collector)?;
    let traced = Targets::new().with_targets(TRACED.map(|target| (target, LevelFilter::INFO)));
    registry.with(spans.with_filter(traced)).init();
    Ok(Tracing {
        _exporter: Some(exporter),
    })
}
