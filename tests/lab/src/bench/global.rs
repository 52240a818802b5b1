//! Published knowledge next to the user's own: the embedded store against a local recall, a
//! database with tenants of several sizes against comparing everything, and what a store that is
//! down or slow costs.

use reprise_engine::RecallCall;
use std::net::TcpListener;

use reprise_global::{
    AccessPolicy, Caller, GlobalContentType, GlobalQuery, GlobalStore, GlobalTier, Hold,
    Publication, TextVectors, TierOptions,
};
use reprise_postgres::{PostgresOptions, PostgresStore};

use super::corpus::{self, Dice};
use super::figures::{Times, print_all};
use crate::args::BenchGlobalArguments;
use crate::prelude::*;

const QUERIES: usize = 200;
/// Results asked for, of either tier.
const TOP: usize = 10;
/// The topics of the corpus.
const TOPICS: u64 = 200;
/// Organisations, each with its part of the rows in thousandths; together all of them.
const TENANTS: [(&str, usize); 4] = [("most", 879), ("tenth", 100), ("fiftieth", 20), ("few", 1)];
/// Shelves whose exact search is timed against the index's.
const SHELVES: [usize; 5] = [5_000, 10_000, 20_000, 40_000, 80_000];

/// Vectors that cluster by the module that a text names, as the corpus has them.
fn clustered_vectors() -> TextVectors {
    Arc::new(|text| {
        let named = text.split("module_").nth(1).unwrap_or_default();
        let digits: String = named.chars().take_while(char::is_ascii_digit).collect();
        let seed = text.bytes().fold(7_u64, |seed, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let topic = digits.parse().unwrap_or_default();
        let vector = corpus::make_vector(&mut Dice(seed), topic, usize::from(DIMENSIONS));
        Some(Embedding::new(Variant::Int8.space(), vector))
    })
}

fn make_publications(tenant: &str, count: usize, policy: AccessPolicy) -> Vec<Publication> {
    let mut dice = Dice(count as u64);
    let thing = |number: usize| {
        let topic = dice.roll() % TOPICS;
        Publication {
            origin: format!("{tenant}-{number}"),
            content_type: GlobalContentType::Document,
            title: format!("Note {number}"),
            summary: String::new(),
            content: corpus::make_sentence(&mut dice, topic),
            tags: Vec::new(),
            access_policy: policy,
            project: None,
            licence: String::new(),
        }
    };
    (0..count).map(thing).collect()
}

fn make_questions() -> Vec<String> {
    let mut dice = Dice(99);
    let question = |_| corpus::make_question(&mut dice).0;
    (0..QUERIES).map(question).collect()
}

fn make_caller(name: &str, org: Option<&str>) -> anyhow::Result<Caller> {
    let org = org.map(str::parse).transpose()?;
    Ok(Caller {
        org,
        ..Caller::new(name.parse()?)
    })
}

pub(super) fn run(context: &Context, arguments: &BenchGlobalArguments) -> anyhow::Result<Exit> {
    runtime::build_threaded()?.block_on(measure_stores(context, arguments))?;
    Ok(Exit::Success)
}

async fn measure_stores(context: &Context, arguments: &BenchGlobalArguments) -> anyhow::Result<()> {
    let questions = make_questions();
    if !arguments.database_only {
        measure_beside_own_memory(context, arguments.records, &questions).await?;
    }
    match &arguments.database_url {
        Some(url) => measure_database(context, url, arguments, &questions).await,
        None => Ok(()),
    }
}

/// Measures the embedded store, and services that do not answer, next to a memory of equal size.
async fn measure_beside_own_memory(
    context: &Context,
    records: usize,
    questions: &[String],
) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut own = corpus::create_filled_store(&folder.path().join("memory.rvf"), records)?;
    own.checkpoint()?;
    own.load()?;
    let own = own.snapshot();
    let path = folder.path().join("global");
    let store = embedded(context, path, Hold::UntilIdle, clustered_vectors());
    let began = Instant::now();
    let ann = make_caller("ann", None)?;
    let all = make_publications("public", records, AccessPolicy::Public);
    anyhow::ensure!(
        store.import(&ann, all).await? == records,
        "not all were kept"
    );
    let import = began.elapsed().as_secs_f64();
    let bob = make_caller("bob", None)?;
    let alone = async |text: &str| Ok(recall_own_ids(&own, text));
    let (local, global) = time_in_turns(questions, alone, async |text| {
        query_ids(&store, &bob, text).await
    })
    .await?;
    print_times(
        context,
        "local recall",
        local,
        json!({ "records": records }),
    )?;
    let ratio = global.p50 / local.p50;
    let more = json!({ "records": records, "ratio_to_local": ratio,
        "imported_a_second": records as f64 / import });
    print_times(context, "embedded", global, more)?;

    for (name, url) in list_silent_services()? {
        let options = TierOptions {
            deadline: Duration::from_millis(50),
            ..TierOptions::default()
        };
        let tier = GlobalTier::new(Arc::new(build_remote_store_at(&url)), bob.clone(), options);
        let beside = async |text: &str| -> anyhow::Result<Vec<String>> {
            let request = make_request(text);
            let local = async { anyhow::Ok(recall_own(&own, text)) };
            let recall = tier.recall_with_local(&request, local).await?;
            anyhow::ensure!(!recall.degraded.is_empty(), "it answered");
            Ok(Vec::new())
        };
        // The first question waits for the deadline; no later one does.
        beside("warm up").await?;
        let (local, times) = time_in_turns(questions, alone, beside).await?;
        let more = json!({ "added_ms_p50": times.p50 - local.p50,
            "added_ms_p99": times.p99 - local.p99 });
        print_times(context, name, times, more)?;
    }
    Ok(())
}

/// Services that do not answer: none is there, and one that takes questions and stays silent.
fn list_silent_services() -> anyhow::Result<[(&'static str, String); 2]> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming().flatten() {
            held.push(stream);
        }
    });
    Ok([
        (
            "local+global, service down",
            "http://127.0.0.1:9".to_owned(),
        ),
        ("local+global, service slow", format!("http://{address}")),
    ])
}

async fn measure_database(
    context: &Context,
    url: &str,
    arguments: &BenchGlobalArguments,
    questions: &[String],
) -> anyhow::Result<()> {
    let (records, sight) = (arguments.records, arguments.sight);
    let space = Some(Variant::Int8.space());
    let mut options = PostgresOptions::new(
        url,
        DIMENSIONS,
        space,
        clustered_vectors(),
        Arc::new(SystemClock),
    );
    options.patience = Duration::from_secs(30);
    options.sight = sight;
    options.word_rows = arguments.word_rows;
    let store = PostgresStore::open(options.clone()).await?;
    let mut new = 0;
    let began = Instant::now();
    for (tenant, part) in TENANTS {
        let count = (records * part / 1_000).max(20);
        let author = make_caller("ann", Some(tenant))?;
        let all = make_publications(tenant, count, AccessPolicy::Org);
        new += store.import(&author, all).await?.published;
    }
    let import = new as f64 / began.elapsed().as_secs_f64();
    let began = Instant::now();
    let built = store.maintain().await?;
    let built = built.then(|| began.elapsed().as_secs_f64());
    let exact = PostgresStore::open(exact_search_options(options.clone())).await?;
    for (tenant, part) in TENANTS {
        let reader = make_caller("bob", Some(tenant))?;
        let (times, found) = time_queries(questions, &store, &reader).await?;
        let (compared, truth) = time_queries(questions, &exact, &reader).await?;
        let more = json!({ "records": records, "sight": sight, "word_rows": arguments.word_rows,
            "thousandths": part,
            "recall_at_10": share_found(&truth, &found),
            "exact_ms_p50": compared.p50, "imported_a_second": import,
            "index_built_seconds": built });
        print_times(
            context,
            &format!("PostgreSQL, tenant `{tenant}`"),
            times,
            more,
        )?;
    }
    measure_index_crossover(context, options, questions, records).await
}

/// Returns options with which the store compares every vector and every record with a word of the
/// question.
fn exact_search_options(options: PostgresOptions) -> PostgresOptions {
    PostgresOptions {
        exact_max: u32::MAX,
        word_rows: u32::MAX,
        worded_max: u32::MAX,
        compared_max: u32::MAX,
        question_time: Duration::from_mins(1),
        ..options
    }
}

/// From how many things on the index is faster than comparing all of them.
async fn measure_index_crossover(
    context: &Context,
    mut options: PostgresOptions,
    questions: &[String],
    records: usize,
) -> anyhow::Result<()> {
    options.exact_max = 1;
    let indexed = PostgresStore::open(options.clone()).await?;
    let exact = PostgresStore::open(PostgresOptions {
        exact_max: u32::MAX,
        ..options.clone()
    });
    let (exact, all) = (
        exact.await?,
        PostgresStore::open(exact_search_options(options)).await?,
    );
    for size in SHELVES.into_iter().filter(|size| *size <= records) {
        let org = format!("shelf{size}");
        let author = make_caller("ann", Some(&org))?;
        let things = make_publications(&org, size, AccessPolicy::Org);
        exact.import(&author, things).await?;
        let reader = make_caller("bob", Some(&org))?;
        // A node looks after the shelves that it has read.
        for text in questions.iter().take(1) {
            query_ids(&indexed, &reader, text).await?;
        }
        indexed.maintain().await?;
        let (walked, found) = time_queries(questions, &indexed, &reader).await?;
        let (compared, _) = time_queries(questions, &exact, &reader).await?;
        let (_, truth) = time_queries(questions, &all, &reader).await?;
        let more = json!({ "things": size, "exact_ms_p50": compared.p50,
            "recall_at_10": share_found(&truth, &found) });
        print_times(context, &format!("index, shelf of {size}"), walked, more)?;
    }
    Ok(())
}

/// Makes a recall with the same `top_k` as the queries to the global stores.
fn make_request(text: &str) -> RecallRequest {
    RecallRequest {
        top_k: TOP,
        ..RecallRequest::new(text)
    }
}

fn recall_own(own: &Snapshot, text: &str) -> reprise_types::RecallResponse {
    let request = make_request(text);
    let made = clustered_vectors()(text);
    let vector = made.as_ref().map(Embedding::space_and_vector);
    let call = RecallCall::new(&request, RecallId::from_u128(1), &NoLearning);
    own.recall(&call.with_vectors(vector.as_slice()))
}

fn recall_own_ids(own: &Snapshot, text: &str) -> Vec<String> {
    let recall = recall_own(own, text);
    let results = recall.results.iter();
    results.map(|found| found.record.id.to_string()).collect()
}

async fn query_ids(
    store: &dyn GlobalStore,
    caller: &Caller,
    text: &str,
) -> anyhow::Result<Vec<String>> {
    let answer = store.query(caller, &GlobalQuery::new(text, TOP)).await?;
    let hits = answer.hits.iter();
    Ok(hits.map(|hit| hit.record.id.to_string()).collect())
}

/// Each question once to warm up, then once timed: the times in milliseconds, and what was found.
async fn time_queries(
    questions: &[String],
    store: &dyn GlobalStore,
    caller: &Caller,
) -> anyhow::Result<(Times, Vec<Vec<String>>)> {
    let (mut times, mut found) = (Vec::new(), Vec::new());
    for text in questions.iter().take(QUERIES / 4) {
        query_ids(store, caller, text).await?;
    }
    for text in questions {
        let began = Instant::now();
        found.push(query_ids(store, caller, text).await?);
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok((Times::from_times(times), found))
}

/// Measures two ways to ask in turns, so that other load of the machine slows both.
async fn time_in_turns(
    questions: &[String],
    one: impl AsyncFn(&str) -> anyhow::Result<Vec<String>>,
    other: impl AsyncFn(&str) -> anyhow::Result<Vec<String>>,
) -> anyhow::Result<(Times, Times)> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (number, text) in questions.iter().cycle().take(QUERIES * 5 / 4).enumerate() {
        let began = Instant::now();
        one(text).await?;
        let between = Instant::now();
        other(text).await?;
        if number >= QUERIES / 4 {
            first.push((between - began).as_secs_f64() * 1e3);
            second.push(between.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok((Times::from_times(first), Times::from_times(second)))
}

/// Computes the share of the true ids that were found.
fn share_found(truth: &[Vec<String>], found: &[Vec<String>]) -> f64 {
    let pairs = truth.iter().zip(found);
    let (mut same, mut all) = (0, 0);
    for (truth, found) in pairs {
        all += truth.len();
        same += truth.iter().filter(|id| found.contains(id)).count();
    }
    same as f64 / all.max(1) as f64
}

fn print_times(context: &Context, name: &str, times: Times, more: Value) -> anyhow::Result<Exit> {
    let mut row = json!({ "what": name, "ms_p50": times.p50, "ms_p99": times.p99 });
    if let (Value::Object(row), Value::Object(more)) = (&mut row, more) {
        row.extend(more);
    }
    print_all(context, &row)
}
