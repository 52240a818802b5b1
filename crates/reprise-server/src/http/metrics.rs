//! Counters of requests and of the service, as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use reprise_agent::ServiceStats;
use reprise_types::lock;
use tracing::Instrument;

use crate::daemon::DaemonState;

/// Upper bounds of the histogram's buckets, in seconds: from a recall by words alone to an export
/// or a compaction of a large memory.
const BUCKETS: [f64; 14] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0,
];

/// Counters of requests by route, method and status.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<Series, Histogram>>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    route: String,
    method: &'static str,
    status: u16,
}

#[derive(Debug, Default)]
struct Histogram {
    /// Cumulative counts, as the format wants them.
    buckets: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

/// Counts every request by its route, never by its path: paths name users.
pub(crate) async fn watch(
    State(metrics): State<Arc<Metrics>>,
    request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("none", MatchedPath::as_str).to_owned();
    let method = match request.method().as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PATCH" => "PATCH",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        _ => "other",
    };
    let span = tracing::info_span!(
        target: "reprise::http",
        "request",
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
        http.request.method = method,
        http.route = route,
        http.response.status_code = tracing::field::Empty,
    );
    let began = Instant::now();
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    span.record("http.response.status_code", status);
    let series = Series {
        route,
        method,
        status,
    };
    metrics.record(series, began.elapsed());
    response
}

impl Metrics {
    fn record(&self, series: Series, took: Duration) {
        let seconds = took.as_secs_f64();
        let mut all = lock(&self.0);
        let histogram = all.entry(series).or_default();
        for (bound, bucket) in BUCKETS.iter().zip(&mut histogram.buckets) {
            *bucket += u64::from(seconds <= *bound);
        }
        histogram.count += 1;
        histogram.seconds += seconds;
    }

    /// Renders the text of `/metrics`.
    pub(crate) fn text(&self, stats: &ServiceStats, daemon: &DaemonState) -> String {
        let mut text = String::new();
        let written = self.requests(&mut text);
        let written = written.and_then(|()| write_service_metrics(&mut text, stats, daemon));
        if let Err(error) = written {
            tracing::error!(%error, "the metrics are not whole");
        }
        text
    }

    pub(crate) fn requests(&self, text: &mut String) -> std::fmt::Result {
        const NAME: &str = "reprise_http_request_duration_seconds";
        writeln!(text, "# HELP {NAME} Time to the answer's head.")?;
        writeln!(text, "# TYPE {NAME} histogram")?;
        let all = lock(&self.0);
        for (series, histogram) in &*all {
            let labels = format!(
                "route=\"{}\",method=\"{}\",status=\"{}\"",
                series.route, series.method, series.status
            );
            for (bound, bucket) in BUCKETS.iter().zip(histogram.buckets) {
                writeln!(text, "{NAME}_bucket{{{labels},le=\"{bound}\"}} {bucket}")?;
            }
            let count = histogram.count;
            writeln!(text, "{NAME}_bucket{{{labels},le=\"+Inf\"}} {count}")?;
            writeln!(text, "{NAME}_sum{{{labels}}} {}", histogram.seconds)?;
            writeln!(text, "{NAME}_count{{{labels}}} {count}")?;
        }
        Ok(())
    }
}

/// A family without labels: its name, which ends in `_total` where it is a counter, what it counts,
/// and its value.
pub(crate) type MetricFamily<'a> = (&'a str, &'a str, u64);

/// Appends families in the format of Prometheus.
pub(crate) fn write_families(text: &mut String, all: &[MetricFamily<'_>]) -> std::fmt::Result {
    for (name, help, value) in all {
        let is_total = name.ends_with("_total");
        let kind = if is_total { "counter" } else { "gauge" };
        writeln!(text, "# HELP reprise_{name} {help}")?;
        writeln!(text, "# TYPE reprise_{name} {kind}")?;
        writeln!(text, "reprise_{name} {value}")?;
    }
    Ok(())
}

fn write_service_metrics(
    text: &mut String,
    stats: &ServiceStats,
    daemon: &DaemonState,
) -> std::fmt::Result {
    let pool = &stats.pool;
    let served = daemon.requests_served.load(Ordering::Relaxed);
    let [machine_free, tokens_free] = daemon.request_slots.free_slots().map(|free| free as u64);
    let up = daemon.started.elapsed().as_secs();
    let (recalls, threads) = (stats.recalls_free as u64, pool.threads as u64);
    write_families(
        text,
        &[
            (
                "queries_embedded_total",
                "Questions embedded.",
                pool.queries,
            ),
            (
                "documents_embedded_total",
                "Texts embedded.",
                pool.documents,
            ),
            (
                "queries_cached_total",
                "Questions whose vector was known.",
                pool.cached,
            ),
            (
                "texts_cancelled_total",
                "Texts whose asker had left.",
                pool.cancelled,
            ),
            (
                "texts_failed_total",
                "Texts that could not be embedded.",
                pool.failed,
            ),
            (
                "embedder_panics_total",
                "Panics of the model, survived.",
                pool.panics,
            ),
            (
                "requests_served_total",
                "Requests answered, but for probes.",
                served,
            ),
            ("recalls_free", "Recalls that could begin now.", recalls),
            (
                "requests_free",
                "Requests that could begin now over TCP.",
                tokens_free,
            ),
            (
                "local_requests_free",
                "The same over the socket.",
                machine_free,
            ),
            ("embedder_threads", "Threads that embed.", threads),
            ("uptime_seconds", "Since the daemon started.", up),
        ],
    )
}
