//! Sends spans to a collector: OTLP over HTTP in JSON, as
//! <https://opentelemetry.io/docs/specs/otlp/#otlphttp> defines it.

use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;
use reprise_redact::{OutboundBody, is_plain_http_to_other_machine};
use reprise_types::{Clock as _, SystemClock};
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Subscriber, warn};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use ureq::http::Request;

use crate::{env, outbound};

/// How long a collector may take for a batch.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer of a collector that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;
/// Spans that wait for the sender; one more is dropped.
const WAITING_MAX: usize = 2_048;
/// Spans of one batch, and how long its first one waits for others.
const BATCH_MAX: usize = 512;
const BATCH_WAIT: Duration = Duration::from_secs(5);

/// Sends spans on a thread of its own. When it is dropped it sends what still waits.
#[derive(Debug)]
pub(super) struct Exporter {
    sender: SyncSender<Message>,
    thread: Option<JoinHandle<()>>,
}

enum Message {
    Ended(Box<EndedSpan>),
    Stop,
}

struct EndedSpan {
    span: OpenSpan,
    ended: SystemTime,
}

/// A span under way, as an extension of its registry's entry.
struct OpenSpan {
    trace_id: u128,
    id: u64,
    parent_id: Option<u64>,
    name: String,
    kind: u8,
    began: SystemTime,
    attributes: Vec<Value>,
}

impl Exporter {
    /// Starts the thread, and returns the layer that gives it spans.
    pub(super) fn start(collector: &str) -> anyhow::Result<(Self, SpanLayer)> {
        let url = format!("{}/v1/traces", collector.trim_end_matches('/'));
        let headers = env::collector_headers();
        let has_token = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let connection = Connection {
            agent: ureq::Agent::config_builder()
                .http_status_as_error(false)
                .build()
                .into(),
            is_refused: has_token && is_plain_http_to_other_machine(&url),
            url,
            headers,
        };
        let (sender, receiver) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("traces".to_owned());
        let thread = thread
            .spawn(move || connection.run(&receiver))
            .context("the thread that sends traces could not be started")?;
        let layer = SpanLayer {
            sender: sender.clone(),
            random: RandomState::new(),
            made: AtomicU64::new(0),
        };
        let thread = Some(thread);
        Ok((Self { sender, thread }, layer))
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let is_heard = self.sender.send(Message::Stop).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| is_heard)
            && thread.join().is_err()
        {
            warn!("the last spans were not sent");
        }
    }
}

/// Collects the spans that the registry tells it of.
pub(super) struct SpanLayer {
    sender: SyncSender<Message>,
    random: RandomState,
    made: AtomicU64,
}

impl SpanLayer {
    /// Returns a number that no other span of this process has; 0 means none in the protocol.
    fn new_id(&self) -> u64 {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        self.random.hash_one(number).max(1)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(entry) = context.span(id) else {
            return;
        };
        let parent = entry.parent().and_then(|parent| {
            let extensions = parent.extensions();
            let parent = extensions.get::<OpenSpan>()?;
            Some((parent.trace_id, parent.id))
        });
        let new_trace = || u128::from(self.new_id()) << 64 | u128::from(self.new_id());
        let mut span = OpenSpan {
            trace_id: parent.map_or_else(new_trace, |(trace_id, _)| trace_id),
            id: self.new_id(),
            parent_id: parent.map(|(_, id)| id),
            name: attributes.metadata().name().to_owned(),
            kind: 1,
            began: SystemTime::from(SystemClock.now()),
            attributes: Vec::new(),
        };
        attributes.record(&mut span);
        entry.extensions_mut().insert(span);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(entry) = context.span(id)
            && let Some(span) = entry.extensions_mut().get_mut::<OpenSpan>()
        {
            values.record(span);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let entry = context.span(&id);
        if let Some(span) = entry.and_then(|entry| entry.extensions_mut().remove::<OpenSpan>()) {
            let ended = SystemTime::from(SystemClock.now());
            // Memory waits for no collector: what is too much is dropped.
            drop(
                self.sender
                    .try_send(Message::Ended(Box::new(EndedSpan { span, ended }))),
            );
        }
    }
}

impl OpenSpan {
    fn set(&mut self, field: &Field, value: &Value) {
        self.attributes
            .push(json!({ "key": field.name(), "value": value }));
    }
}

impl Visit for OpenSpan {
    fn record_str(&mut self, field: &Field, value: &str) {
        match (field.name(), value) {
            ("otel.name", name) => name.clone_into(&mut self.name),
            ("otel.kind", "server") => self.kind = 2,
            ("otel.kind", _) => {}
            _ => self.set(field, &json!({ "stringValue": value })),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, &json!({ "intValue": value.to_string() }));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, &json!({ "intValue": value.to_string() }));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, &json!({ "boolValue": value }));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

impl EndedSpan {
    fn to_json(&self) -> Value {
        let nanos = |at: SystemTime| {
            let since = at.duration_since(SystemTime::UNIX_EPOCH);
            since.unwrap_or_default().as_nanos().to_string()
        };
        let span = &self.span;
        let mut row = json!({
            "traceId": format!("{:032x}", span.trace_id),
            "spanId": format!("{:016x}", span.id),
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": nanos(span.began),
            "endTimeUnixNano": nanos(self.ended),
            "attributes": span.attributes,
        });
        if let Some(parent) = span.parent_id {
            row["parentSpanId"] = json!(format!("{parent:016x}"));
        }
        row
    }
}

/// The way to a collector.
struct Connection {
    agent: ureq::Agent,
    url: String,
    headers: Vec<(String, String)>,
    /// Its token would go to another machine over plain HTTP.
    is_refused: bool,
}

impl Connection {
    /// Sends batches until it is told to stop.
    fn run(&self, spans: &Receiver<Message>) {
        let mut goes_on = true;
        while goes_on {
            let mut batch = Vec::new();
            match spans.recv() {
                Ok(Message::Ended(span)) => batch.push(span.to_json()),
                Ok(Message::Stop) | Err(_) => return,
            }
            let until = Instant::now() + BATCH_WAIT;
            while batch.len() < BATCH_MAX {
                let left = until.saturating_duration_since(Instant::now());
                match spans.recv_timeout(left) {
                    Ok(Message::Ended(span)) => batch.push(span.to_json()),
                    Err(RecvTimeoutError::Timeout) => break,
                    Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => {
                        goes_on = false;
                        break;
                    }
                }
            }
            if let Err(error) = self.send(&batch) {
                warn!("spans were not sent: {error:#}");
            }
        }
    }

    fn send(&self, spans: &[Value]) -> anyhow::Result<()> {
        anyhow::ensure!(
            !self.is_refused,
            "the collector's token would go to another machine over plain HTTP; name an https:// \
             address"
        );
        let service = json!({ "key": "service.name", "value": { "stringValue": "reprise" } });
        let body = json!({ "resourceSpans": [{
            "resource": { "attributes": [service] },
            "scopeSpans": [{ "scope": { "name": "reprise" }, "spans": spans }],
        }] });
        let body = OutboundBody::from_json_bytes("a batch of spans", &serde_json::to_vec(&body)?)?;
        let request = Request::post(&self.url).header("content-type", "application/json");
        let request = self.headers.iter().fold(request, |request, (name, value)| {
            request.header(name, value)
        });
        let (status, _) =
            outbound::send_and_read(&self.agent, request.body(body)?, PATIENCE, ANSWER_BYTES_MAX)?;
        anyhow::ensure!(
            (200..300).contains(&status),
            "the collector answered {status}; look at its log"
        );
        Ok(())
    }
}
