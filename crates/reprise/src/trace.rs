//! Where spans and log lines go: to stderr, and for a daemon that was told so to a collector of
//! `OpenTelemetry`.
//!
//! No text of a record or a question is an attribute of a span.

use std::io::IsTerminal;
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use reprise_redact::{Outbound, is_plain_to_another};
use tracing_subscriber::filter::{EnvFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};
use ureq::http::header::AUTHORIZATION;

use crate::outbound;

/// What stderr shows where nobody says otherwise.
const LOG_DEFAULT: &str = "error";
/// The same of a command, whose last sentence already says what memory's failure was.
const LOG_OF_COMMAND: &str = "error,reprise_operations::problem=off";
const LOG: &str = "REPRISE_LOG";
/// Spans of these targets are exported: requests and operations on memory.
const TRACED: [&str; 2] = ["reprise::http", "reprise::memory"];
/// How long a collector may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer of a collector that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// What was started; its end sends what is still here.
pub(crate) struct Tracing(Option<SdkTracerProvider>);

impl Drop for Tracing {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.0.take().map(|provider| provider.shutdown()) {
            tracing::warn!(%error, "the last spans were not sent");
        }
    }
}

/// Starts logging, and where a collector is named tracing.
pub(crate) fn start(serves: bool, collector: Option<&str>) -> anyhow::Result<Tracing> {
    let unsaid = if serves { LOG_DEFAULT } else { LOG_OF_COMMAND };
    let filter = EnvFilter::try_from_env(LOG).unwrap_or_else(|_| EnvFilter::new(unsaid));
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let registry = Registry::default().with(lines.with_filter(filter));
    let Some(collector) = collector else {
        registry.init();
        return Ok(Tracing(None));
    };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Collector::new())
        .with_protocol(Protocol::HttpJson)
        .with_endpoint(format!("{}/v1/traces", collector.trim_end_matches('/')))
        .build()?;
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(Resource::builder().with_service_name("reprise").build())
        .build();
    let level = tracing_subscriber::filter::LevelFilter::INFO;
    let traced = Targets::new().with_targets(TRACED.map(|target| (target, level)));
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("reprise"));
    registry.with(layer.with_filter(traced)).init();
    Ok(Tracing(Some(provider)))
}

#[derive(Debug)]
struct Collector(ureq::Agent);

impl Collector {
    fn new() -> Self {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        Self(config.build().into())
    }
}

#[async_trait]
impl HttpClient for Collector {
    /// Waits on the exporter's own thread: nobody else is held up.
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        // The exporter takes headers from the environment.
        let has_token = head.headers.contains_key(AUTHORIZATION);
        if has_token && is_plain_to_another(&head.uri.to_string()) {
            return Err(
                "the collector's token would go to another machine over plain HTTP; name an \
                        https:// address"
                    .into(),
            );
        }
        let spans = Outbound::json_of("a batch of spans", &body)?;
        let request = Request::from_parts(head, spans);
        let mut answer = outbound::send(&self.0, request, Some(PATIENCE))?;
        let status = answer.status();
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let body = body.read_to_vec()?;
        Ok(Response::builder().status(status).body(body.into())?)
    }
}
