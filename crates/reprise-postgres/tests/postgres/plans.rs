//! What the database does for a question: no table is read whole, and every plan begins at the
//! shelf.

use std::collections::HashMap;

use reprise_conformance::{DIMENSIONS, document, member, user};
use reprise_global::{AccessPolicy, GlobalQuery, GlobalStore, Publication};
use reprise_postgres::PostgresStore;
use reprise_tests::{SeededRng, seen_if, wait_for_async};
use serde_json::Value;

use super::house::{House, database, options};

/// Things whose words and vectors come by number.
fn make_things(count: u32, policy: AccessPolicy) -> Vec<Publication> {
    (0..count)
        .map(|number| Publication {
            access_policy: policy,
            ..document(
                &format!("Note {number} {}", policy.name()),
                &format!(
                    "word{} word{} word{} common",
                    number % 97,
                    number % 89 + 100,
                    number % 83 + 200
                ),
            )
        })
        .collect()
}

/// What a question gives its statements: that of a small tenant where all is compared.
fn dummy_parameters(name: &str) -> String {
    let id = "'00000000-0000-0000-0000-000000000001'";
    let ids = format!("ARRAY[{id}::uuid]");
    let both = "ARRAY['public', 'org:acme']";
    let vector = "array_fill(0.05::real, ARRAY[384])";
    match name {
        "by meaning, index" => format!("'public', {vector}, NULL, NULL, 64"),
        "by meaning, exact" => format!("'org:acme', {vector}, NULL, NULL, 64"),
        "by words" => {
            let terms = "ARRAY[1, 2]::int8[], ARRAY[3, 4]::real[], ARRAY[3, 4]::real[]";
            format!("{both}, {vector}, NULL, NULL, 20, {terms}, 512, {terms}, 8000, 128")
        }
        "holding" => "'public', ARRAY[1, 2]::int8[]".to_owned(),
        "frequent words" => "'public', 1024, 12000".to_owned(),
        "some vectors" => "'public', 4096".to_owned(),
        "postings" => format!("{both}, ARRAY[1, 2]::int8[], {ids}"),
        "likeness" => format!("{both}, {ids}, {id}, 1"),
        "vector" => format!("{both}, {id}, 1"),
        "texts" => format!("{both}, {ids}, ARRAY[1]"),
        "get" => format!("{both}, {id}, 'ann'"),
        "versions" => format!("{both}, {id}, 'ann', NULL, 1000, 0"),
        "published" => "'mia', 1000, 0".to_owned(),
        // A new statement without arguments here is refused by the database.
        _ => "'mia'".to_owned(),
    }
}

/// The nodes of a plan that read a table of ours: their type, table and condition.
fn collect_table_reads(plan: &Value, found: &mut Vec<(String, String, String)>) {
    let text = |key: &str| plan[key].as_str().unwrap_or_default().to_owned();
    if plan["Relation Name"].is_string() {
        let condition = format!(
            "{} {} {}",
            text("Index Cond"),
            text("Order By"),
            text("Filter")
        );
        found.push((text("Node Type"), text("Relation Name"), condition));
    }
    for below in plan["Plans"].as_array().into_iter().flatten() {
        collect_table_reads(below, found);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_question_reads_a_whole_table_and_each_names_its_shelf() {
    let url = database().await;
    let store = PostgresStore::open(options(&url)).await.unwrap();
    let ann = member("ann", "acme");
    store
        .import(&ann, make_things(300, AccessPolicy::Org))
        .await
        .unwrap();
    store
        .import(&user("bob"), make_things(12_000, AccessPolicy::Public))
        .await
        .unwrap();
    // Tables that were never analysed, and those that were.
    check_plans_name_shelves(&store, &url, false).await;
    assert!(store.maintain().await.unwrap(), "the index is built");
    assert!(!store.maintain().await.unwrap(), "once");
    check_plans_name_shelves(&store, &url, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_stands_where_questions_walk_it_and_is_not_built_and_dropped_by_turns() {
    let url = database().await;
    let store = PostgresStore::open(options(&url)).await.unwrap();
    let all = make_things(4_200, AccessPolicy::Public);
    store.import(&user("ann"), all).await.unwrap();
    assert!(store.maintain().await.unwrap(), "the index is built");
    let admin = House::admin(&url).await;
    let indexes =
        "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'search\\_by\\_meaning\\_%'";
    // Versions that newer ones replaced are found by nobody's question.
    for (standing, indexed) in [(4_000_i64, 1_i64), (2_049, 1), (2_048, 0), (2_048, 0)] {
        let replaced = "UPDATE reprise_global.search SET until = now() WHERE id IN \
             (SELECT id FROM reprise_global.search WHERE until IS NULL ORDER BY id OFFSET $1)";
        admin.execute(replaced, &[&standing]).await.unwrap();
        // A shelf is looked after once it is written on.
        let more = document(&format!("More {standing}"), "word1");
        let done = store.publish(&user("ann"), more).await.unwrap();
        store.unpublish(&user("ann"), done.id).await.unwrap();
        assert!(!store.maintain().await.unwrap());
        let found: i64 = admin.query_one(indexes, &[]).await.unwrap().get(0);
        assert_eq!(found, indexed, "{standing}");
    }
}

async fn check_plans_name_shelves(store: &PostgresStore, url: &str, is_indexed: bool) {
    let client = House::client(url).await;
    client
        .batch_execute(
            "SELECT '[0]'::halfvec(1); SET reprise.org = 'org:acme'; SET reprise.author = 'ann'; \
             SET hnsw.iterative_scan = strict_order; SET enable_sort = off",
        )
        .await
        .unwrap();
    for (number, (name, statement)) in store.hot_statements().into_iter().enumerate() {
        if name == "by meaning, index" && !is_indexed {
            continue;
        }
        let given = dummy_parameters(name);
        // What is no question is planned for what it is given.
        let mode = match name {
            "get" | "versions" | "published" => "auto",
            _ => "force_generic_plan",
        };
        client
            .batch_execute(&format!(
                "SET plan_cache_mode = {mode}; PREPARE q{number} AS {statement}"
            ))
            .await
            .unwrap();
        let text = format!("EXPLAIN (FORMAT JSON) EXECUTE q{number} ({given})");
        let plan = explain_statement(&client, &text).await;
        let text = plan.to_string();
        let mut found = Vec::new();
        collect_table_reads(&plan[0]["Plan"], &mut found);
        assert!(!found.is_empty(), "{name}: {text}");
        for (node, table, condition) in &found {
            assert!(node != "Seq Scan", "{name} reads all of {table}: {text}");
            let key = if table == "authored" {
                "author"
            } else {
                "shelf"
            };
            let is_narrowed = condition.contains(key) || node.starts_with("Bitmap Heap");
            assert!(is_narrowed, "{name}: {table} without its {key}: {text}");
        }
        if name == "by meaning, index" {
            assert!(text.contains("search_by_meaning"), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_index_finds_what_every_comparison_finds_for_large_and_small_tenants() {
    let url = database().await;
    let mut exact = options(&url);
    exact.vectors = seeded_vectors();
    let mut indexed = exact.clone();
    (exact.exact_max, indexed.exact_max) = (u32::MAX, 1);
    // With one connection there is none to spare for a question at the same time as the words.
    exact.connections = 1;
    let (exact, indexed) = (
        PostgresStore::open(exact).await.unwrap(),
        PostgresStore::open(indexed).await.unwrap(),
    );
    let (large, small) = (member("ann", "large"), member("ann", "small"));
    indexed
        .import(&large, make_things(6_000, AccessPolicy::Org))
        .await
        .unwrap();
    let few = make_things(6_120, AccessPolicy::Org).split_off(6_000);
    indexed.import(&small, few).await.unwrap();
    assert!(indexed.maintain().await.unwrap());
    for caller in [member("mia", "large"), member("mia", "small")] {
        let (mut same, mut all) = (0_usize, 0);
        for number in 0..40 {
            let words = (0..number).map(|word| format!(" word{word}"));
            let question = format!("question {number}{}", words.collect::<String>());
            let query = GlobalQuery::new(question, 10);
            let hits = async |store: &PostgresStore| {
                let hits = store.query(&caller, &query).await.unwrap().hits;
                hits.iter().map(|hit| (hit.record.id, hit.score)).collect()
            };
            let truth: HashMap<_, f32> = hits(&exact).await;
            let found: HashMap<_, f32> = hits(&indexed).await;
            assert_eq!(truth.len(), 10);
            all += truth.len();
            for (id, score) in &found {
                let Some(true_score) = truth.get(id) else {
                    continue;
                };
                same += 1;
                assert!((score - true_score).abs() < 1e-3, "{score} {true_score}");
            }
        }
        let share = same as f64 / all as f64;
        assert!(share >= 0.95, "{:?}: {share}", caller.org);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_word_that_many_hold_tells_apart_what_a_rarer_one_brings_forward() {
    let mut given = options(&database().await);
    given.vectors = std::sync::Arc::new(|_| None);
    // 200 things hold each topic, 545 each place and 18 both.
    given.word_rows = 300;
    let store = PostgresStore::open(given).await.unwrap();
    let content = |number: u32| format!("topic{} place{}", number % 30, number % 11);
    let thing = |number: u32| document(&format!("Thing {number}"), &content(number));
    let all = (0..6_000).map(thing).collect();
    store.import(&user("ann"), all).await.unwrap();
    for (topic, place) in [(4, 7), (29, 0), (17, 3)] {
        let question = format!("topic{topic} place{place}");
        let query = GlobalQuery::new(question.as_str(), 10);
        let hits = store.query(&user("bob"), &query).await.unwrap().hits;
        let found = hits.iter().map(|hit| &hit.record.publication.content);
        assert_eq!(found.collect::<Vec<_>>(), vec![&question; 10]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_versions_take_no_places_of_what_holds_a_word() {
    let url = database().await;
    let mut given = options(&url);
    given.vectors = std::sync::Arc::new(|_| None);
    (given.worded_max, given.compared_max) = (4, 4);
    let store = PostgresStore::open(given).await.unwrap();
    for number in 0..150 {
        let again = document("Note 0", &format!("otter {number}"));
        store.publish(&user("ann"), again).await.unwrap();
    }
    let longer = |number: u32| format!("otter in a longer text, which says it less: {number}");
    let thing = |number: u32| document(&format!("Thing {number}"), &longer(number));
    let all = (0..9).map(thing).collect();
    store.import(&user("bea"), all).await.unwrap();
    let query = GlobalQuery::new("otter", 10);
    let found = store.query(&user("bob"), &query).await.unwrap().hits;
    assert_eq!(found.len(), 10);

    // Nor is a version brought forward by another one of its thing.
    let second = document(
        "Two",
        "heron, of which it says much less than it did before: otter",
    );
    for text in [document("Two", "heron"), second] {
        store.publish(&user("ann"), text).await.unwrap();
    }
    let statements = store.hot_statements().into_iter();
    let words = statements.rev().find(|(name, _)| *name == "by words");
    let (_, words) = words.unwrap();
    let number = |word| reprise_engine::extract_terms(word).terms[0].hash;
    let (heron, otter) = (number("heron"), number("otter"));
    let client = House::client(&url).await;
    let found = client
        .simple_query(&format!(
            "PREPARE words AS {words}; EXECUTE words (ARRAY['public'], NULL, NULL, NULL, 9, \
             ARRAY[{heron}], ARRAY[1], ARRAY[1], 1, ARRAY[{otter}], ARRAY[1], ARRAY[1], 9, 9)"
        ))
        .await
        .unwrap();
    let rows = found
        .iter()
        .filter(|one| matches!(one, tokio_postgres::SimpleQueryMessage::Row(_)));
    assert_eq!(rows.count(), 0, "{found:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_question_starts_processes_of_its_own() {
    let url = database().await;
    let client = House::client(&url).await;
    let ready = "-c parallel_setup_cost=0 -c parallel_tuple_cost=0 \
         -c min_parallel_table_scan_size=0 -c min_parallel_index_scan_size=0";
    let writing = PostgresStore::open(options(&url)).await.unwrap();
    writing
        .import(&user("ann"), make_things(3_000, AccessPolicy::Public))
        .await
        .unwrap();
    writing.maintain().await.unwrap();
    drop(writing);
    let url = format!("{url} options='{ready}'");
    let mut given = options(&url);
    given.standings_age = std::time::Duration::from_hours(1);
    let store = PostgresStore::open(given).await.unwrap();
    for number in 0..20 {
        let query = GlobalQuery::new(format!("word{number} common"), 10);
        let hits = store.query(&user("bob"), &query).await.unwrap().hits;
        assert_eq!(hits.len(), 10);
    }
    drop(store);
    let others = "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()";
    // What a connection did is told when it ends.
    wait_for_async("the end of all connections", async || {
        let left: i64 = client.query_one(others, &[]).await.unwrap().get(0);
        seen_if(left == 0, left)
    })
    .await;
    let started = "SELECT parallel_workers_to_launch FROM pg_stat_database \
         WHERE datname = current_database()";
    let started: i64 = client.query_one(started, &[]).await.unwrap().get(0);
    // To open the store and to fold what runs said may.
    assert!(started < 20, "{started}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_word_that_very_many_hold_is_weighed_and_not_counted_to_its_end() {
    let url = database().await;
    let mut given = options(&url);
    given.vectors = std::sync::Arc::new(|_| None);
    let store = PostgresStore::open(given).await.unwrap();
    // Beta is the rarer one, and nothing else speaks for it.
    let content = |number: u32| if number % 12 < 5 { "beta" } else { "alpha" };
    let thing = |number: u32| document(&format!("Thing {number}"), content(number));
    let all = (0..12_000).map(thing).collect();
    store.import(&user("ann"), all).await.unwrap();
    let query = GlobalQuery::new("alpha beta", 10);
    let hits = store.query(&user("bob"), &query).await.unwrap().hits;
    let found = hits.iter().map(|hit| &hit.record.publication.content);
    assert_eq!(found.collect::<Vec<_>>(), vec!["beta"; 10]);

    // In very many things a word that one of some holds is not one that many hold.
    let (_, frequent) = store
        .hot_statements()
        .into_iter()
        .find(|(name, _)| *name == "frequent words")
        .unwrap();
    let client = House::client(&url).await;
    let very_many = client
        .query_one(&frequent, &[&"public", &1_024_i64, &20_000_000_i64])
        .await
        .unwrap();
    let counts: Vec<i64> = very_many.get(2);
    // Alpha, beta and thing.
    assert_eq!(counts.len(), 3, "{counts:?}");

    let (_, holding) = store
        .hot_statements()
        .into_iter()
        .find(|(name, _)| *name == "holding")
        .unwrap();
    let every = "SELECT token FROM reprise_global.posting WHERE shelf = 'public' \
         GROUP BY token HAVING count(*) = 12000 LIMIT 1";
    let every: i64 = client.query_one(every, &[]).await.unwrap().get(0);
    let counted = client.query_one(&holding, &[&"public", &vec![every]]).await;
    assert_eq!(counted.unwrap().get::<_, i64>(1), 4_097);
    client
        .batch_execute(&format!(
            "SET plan_cache_mode = force_generic_plan; SET enable_sort = off; \
             PREPARE holding AS {holding}"
        ))
        .await
        .unwrap();
    let plan = format!("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE holding ('public', ARRAY[{every}])");
    let plan = explain_statement(&client, &plan).await;
    let mut most = 0.0_f64;
    raise_to_most_rows(&plan[0]["Plan"], &mut most);
    assert!((1.0..=4_097.0).contains(&most), "{plan:#}");
}

/// Rows that a node read of a table of ours.
fn raise_to_most_rows(plan: &Value, most: &mut f64) {
    if plan["Relation Name"].is_string() {
        *most = most.max(plan["Actual Rows"].as_f64().unwrap());
    }
    for below in plan["Plans"].as_array().into_iter().flatten() {
        raise_to_most_rows(below, most);
    }
}

async fn explain_statement(client: &tokio_postgres::Client, statement: &str) -> Value {
    let explained = client.simple_query(statement).await.unwrap();
    let text: String = explained
        .iter()
        .filter_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        })
        .collect();
    serde_json::from_str(&text).unwrap()
}

/// Directions around one of forty, the same for the same text: as texts have topics.
fn seeded_vectors() -> reprise_global::TextVectors {
    std::sync::Arc::new(|text| {
        let seed = text.bytes().fold(1_u64, |seed, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let mut own = SeededRng::new(seed);
        let mut topic = SeededRng::new(own.draw_below(40));
        let part =
            |numbers: &mut SeededRng| numbers.draw_below(1 << 24) as f32 / (1 << 24) as f32 - 0.5;
        let mut vector: Vec<f32> = (0..DIMENSIONS)
            .map(|_| part(&mut topic) + 0.8 * part(&mut own))
            .collect();
        reprise_types::normalize(&mut vector);
        Some(reprise_types::Embedding::new(
            reprise_conformance::word_space(),
            vector,
        ))
    })
}
