//! Published knowledge beside the user's own: the embedded store against a local recall, a database
//! with tenants of several sizes against comparing everything, and what a store that is down or
//! slow costs.

use std::net::TcpListener;

use reprise_global::{
    AccessPolicy, Caller, GlobalContentType, GlobalQuery, GlobalStore, GlobalTier, Hold,
    PostgresOptions, PostgresStore, Publication, Quotas, TextVectors, TierOptions,
};

use super::corpus::{self, Dice};
use super::figures::{Times, say_all};
use crate::args::BenchGlobalArguments;
use crate::cli::global::{embedded, remote_at};
use crate::cli::prelude::*;

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
fn vectors() -> TextVectors {
    Arc::new(|text| {
        let named = text.split("module_").nth(1).unwrap_or_default();
        let digits: String = named.chars().take_while(char::is_ascii_digit).collect();
        let seed = text.bytes().fold(7_u64, |seed, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let topic = digits.parse().unwrap_or_default();
        let vector = corpus::vector(&mut Dice(seed), topic, usize::from(DIMENSIONS));
        Some(Embedding::new(Variant::Int8.space(), vector))
    })
}

fn things(tenant: &str, count: usize, policy: AccessPolicy) -> Vec<Publication> {
    let mut dice = Dice(count as u64);
    let thing = |number: usize| {
        let topic = dice.roll() % TOPICS;
        Publication {
            origin: format!("{tenant}-{number}"),
            content_type: GlobalContentType::Document,
            title: format!("Note {number}"),
            summary: String::new(),
            content: corpus::sentence(&mut dice, topic),
            tags: Vec::new(),
            access_policy: policy,
            licence: String::new(),
        }
    };
    (0..count).map(thing).collect()
}

fn questions() -> Vec<String> {
    let mut dice = Dice(99);
    let question = |_| corpus::question(&mut dice).0;
    (0..QUERIES).map(question).collect()
}

fn caller(name: &str, org: Option<&str>) -> anyhow::Result<Caller> {
    let org = org.map(str::parse).transpose()?;
    Ok(Caller {
        org,
        ..Caller::new(name.parse()?)
    })
}

pub(super) fn run(context: &Context, arguments: &BenchGlobalArguments) -> anyhow::Result<Exit> {
    runtime::threaded()?.block_on(measured(context, arguments))?;
    Ok(Exit::Success)
}

async fn measured(context: &Context, arguments: &BenchGlobalArguments) -> anyhow::Result<()> {
    let questions = questions();
    if !arguments.database_only {
        beside_own(context, arguments.records, &questions).await?;
    }
    match &arguments.database_url {
        Some(url) => database(context, url, arguments, &questions).await,
        None => Ok(()),
    }
}

/// The embedded store, and services that do not answer, beside a memory of as many records.
async fn beside_own(context: &Context, records: usize, questions: &[String]) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut own = corpus::filled(&folder.path().join("memory.rvf"), records)?;
    own.checkpoint()?;
    own.load()?;
    let own = own.snapshot();
    let path = folder.path().join("global");
    let store = embedded(
        context,
        path,
        (Hold::UntilIdle, Quotas::default()),
        vectors(),
    );
    let began = Instant::now();
    let ann = caller("ann", None)?;
    let all = things("public", records, AccessPolicy::Public);
    anyhow::ensure!(
        store.import(&ann, all).await? == records,
        "not all were kept"
    );
    let import = began.elapsed().as_secs_f64();
    let bob = caller("bob", None)?;
    let alone = async |text: &str| Ok(recalled(&own, text));
    let (local, global) = side_by_side(questions, alone, async |text| {
        asked(&store, &bob, text).await
    })
    .await?;
    say(
        context,
        "local recall",
        local,
        json!({ "records": records }),
    )?;
    let ratio = global.p50 / local.p50;
    let more = json!({ "records": records, "ratio_to_local": ratio,
        "imported_a_second": records as f64 / import });
    say(context, "embedded", global, more)?;

    for (name, url) in away()? {
        let options = TierOptions {
            deadline: Duration::from_millis(50),
            ..TierOptions::default()
        };
        let tier = GlobalTier::new(Arc::new(remote_at(&url)), bob.clone(), options);
        let beside = async |text: &str| -> anyhow::Result<Vec<String>> {
            let request = request(text);
            let local = async { anyhow::Ok(own_recall(&own, text)) };
            let recall = tier.beside(&request, local).await?;
            anyhow::ensure!(!recall.degraded.is_empty(), "it answered");
            Ok(Vec::new())
        };
        // The first question waits for the deadline; no later one does.
        beside("warm up").await?;
        let (local, times) = side_by_side(questions, alone, beside).await?;
        let more = json!({ "added_ms_p50": times.p50 - local.p50,
            "added_ms_p99": times.p99 - local.p99 });
        say(context, name, times, more)?;
    }
    Ok(())
}

/// Services that do not answer: none is there, and one that takes questions and stays silent.
fn away() -> anyhow::Result<[(&'static str, String); 2]> {
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

async fn database(
    context: &Context,
    url: &str,
    arguments: &BenchGlobalArguments,
    questions: &[String],
) -> anyhow::Result<()> {
    let (records, sight) = (arguments.records, arguments.sight);
    let space = Some(Variant::Int8.space());
    let mut options =
        PostgresOptions::new(url, DIMENSIONS, space, vectors(), Arc::new(SystemClock));
    options.patience = Duration::from_secs(30);
    options.sight = sight;
    options.word_rows = arguments.word_rows;
    let store = PostgresStore::open(options.clone()).await?;
    let mut new = 0;
    let began = Instant::now();
    for (tenant, part) in TENANTS {
        let count = (records * part / 1_000).max(20);
        let author = caller("ann", Some(tenant))?;
        let all = things(tenant, count, AccessPolicy::Org);
        new += store.import(&author, all).await?;
    }
    let import = new as f64 / began.elapsed().as_secs_f64();
    let began = Instant::now();
    let built = store.maintain().await?;
    let built = built.then(|| began.elapsed().as_secs_f64());
    let exact = PostgresStore::open(compares_all(options.clone())).await?;
    for (tenant, part) in TENANTS {
        let reader = caller("bob", Some(tenant))?;
        let (times, found) = timed(questions, &store, &reader).await?;
        let (compared, truth) = timed(questions, &exact, &reader).await?;
        let more = json!({ "records": records, "sight": sight, "word_rows": arguments.word_rows,
            "thousandths": part,
            "recall_at_10": share(&truth, &found),
            "exact_ms_p50": compared.p50, "imported_a_second": import,
            "index_built_seconds": built });
        say(
            context,
            &format!("PostgreSQL, tenant `{tenant}`"),
            times,
            more,
        )?;
    }
    crossing(context, options, questions, records).await
}

/// The same store, comparing every vector, and everything that holds a word of the question.
fn compares_all(options: PostgresOptions) -> PostgresOptions {
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
async fn crossing(
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
        PostgresStore::open(compares_all(options)).await?,
    );
    for size in SHELVES.into_iter().filter(|size| *size <= records) {
        let org = format!("shelf{size}");
        let author = caller("ann", Some(&org))?;
        let things = things(&org, size, AccessPolicy::Org);
        exact.import(&author, things).await?;
        let reader = caller("bob", Some(&org))?;
        // A node looks after the shelves that it has read.
        for text in questions.iter().take(1) {
            asked(&indexed, &reader, text).await?;
        }
        indexed.maintain().await?;
        let (walked, found) = timed(questions, &indexed, &reader).await?;
        let (compared, _) = timed(questions, &exact, &reader).await?;
        let (_, truth) = timed(questions, &all, &reader).await?;
        let more = json!({ "things": size, "exact_ms_p50": compared.p50,
            "recall_at_10": share(&truth, &found) });
        say(context, &format!("index, shelf of {size}"), walked, more)?;
    }
    Ok(())
}

/// As many results as are asked of the published things.
fn request(text: &str) -> RecallRequest {
    RecallRequest {
        top_k: TOP,
        ..RecallRequest::new(text)
    }
}

fn own_recall(own: &Snapshot, text: &str) -> reprise_types::Recall {
    let request = request(text);
    let made = vectors()(text);
    let vector = made.as_ref().map(Embedding::parts);
    own.recall(&request, vector, RecallId::from_u128(1), &Unlearned)
}

fn recalled(own: &Snapshot, text: &str) -> Vec<String> {
    let recall = own_recall(own, text);
    let results = recall.results.iter();
    results.map(|found| found.record.id.to_string()).collect()
}

async fn asked(
    store: &dyn GlobalStore,
    caller: &Caller,
    text: &str,
) -> anyhow::Result<Vec<String>> {
    let answer = store.query(caller, &GlobalQuery::new(text, TOP)).await?;
    let hits = answer.hits.iter();
    Ok(hits.map(|hit| hit.record.id.to_string()).collect())
}

/// Each question once to warm up, then once timed: the times in milliseconds, and what was found.
async fn timed(
    questions: &[String],
    store: &dyn GlobalStore,
    caller: &Caller,
) -> anyhow::Result<(Times, Vec<Vec<String>>)> {
    let (mut times, mut found) = (Vec::new(), Vec::new());
    for text in questions.iter().take(QUERIES / 4) {
        asked(store, caller, text).await?;
    }
    for text in questions {
        let began = Instant::now();
        found.push(asked(store, caller, text).await?);
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok((Times::of(times), found))
}

/// The same of two ways to ask, in turns: what else the machine does slows both.
async fn side_by_side(
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
    Ok((Times::of(first), Times::of(second)))
}

/// Of what is true, the part that was found.
fn share(truth: &[Vec<String>], found: &[Vec<String>]) -> f64 {
    let pairs = truth.iter().zip(found);
    let (mut same, mut all) = (0, 0);
    for (truth, found) in pairs {
        all += truth.len();
        same += truth.iter().filter(|id| found.contains(id)).count();
    }
    same as f64 / all.max(1) as f64
}

fn say(context: &Context, name: &str, times: Times, more: Value) -> anyhow::Result<Exit> {
    let mut row = json!({ "what": name, "ms_p50": times.p50, "ms_p99": times.p99 });
    if let (Value::Object(row), Value::Object(more)) = (&mut row, more) {
        row.extend(more);
    }
    say_all(context, &row)
}
