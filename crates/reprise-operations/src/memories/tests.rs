//! No question is answered by reading the disk on a thread that serves others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use chrono::TimeDelta;
use reprise_agent::MemoryConfig;
use reprise_engine::Engine;
use reprise_simulation::ObservedDisk;
use reprise_types::SystemClock;
use serde_json::{Value, json};

use crate::catalogue::{Catalogue, ToolAnswer};
use crate::testing::{Ada, no_model, seconds_after_start, start_memories};
use crate::wire::format_count;

#[tokio::test]
async fn nothing_waits_for_the_disk_on_the_thread_that_serves() {
    let folder = tempfile::tempdir().unwrap();
    // What the thread that serves asks of the disk.
    let (server, asked) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
    let (serving, counted) = (Arc::clone(&server), Arc::clone(&asked));
    let disk = ObservedDisk::new(move |_| {
        if serving.get() == Some(&thread::current().id()) {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let config = MemoryConfig::new(
        folder.path().to_owned(),
        384,
        Arc::new(move |path, options| Engine::open(Arc::new(disk.clone()), path, options)),
        Arc::new(|| Err(no_model())),
    );
    let memories = start_memories(config, Arc::new(SystemClock)).await;
    server.set(thread::current().id()).unwrap();

    let catalogue = Catalogue::default();
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let run = async |name: &str, arguments: Value| -> Value {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object");
        };
        let operation = catalogue.find_operation(name).unwrap();
        let ToolAnswer { structured, .. } = (operation.call_tool)(memory.clone(), arguments)
            .await
            .unwrap();
        structured
    };
    let records = ["one", "two"].map(|name| {
        json!({ "external_id": name, "text": format!("the {name} of them keeps orders in postgres"),
            "kind": "finding", "session_id": "s", "tags": ["project:shop"] })
    });
    run("observe", json!({ "records": records })).await;
    let one = json!({ "id": "one" });
    let record = run("show", one.clone()).await;
    run("show", json!({ "id": record["id"] })).await;
    let link = json!({ "from": "one", "to": "two" });
    assert_eq!(run("link", link).await["linked"], true);
    let count = |list: &Value| list.as_array().unwrap().len();
    assert_eq!(count(&run("related", one.clone()).await["related"]), 1);
    assert_eq!(count(&run("get", one).await["records"][0]["links"]), 1);
    assert_eq!(count(&run("tags", json!({})).await["tags"]), 1);
    assert_eq!(count(&run("episodes", json!({})).await["episodes"]), 1);
    let episode = run("episode", json!({ "id": "s" })).await;
    assert_eq!(count(&episode["records"]), 2);
    let recent = run("resource", json!({ "uri": "memory://recent" })).await;
    let recent = recent["text"].as_str().unwrap();
    assert!(recent.contains("the two of them"), "{recent}");
    let began = json!({ "event": "session-start", "session": "later", "project": "shop" });
    let context = run("hook", began).await;
    let context = context["context"].as_str().unwrap();
    assert!(context.contains("the one of them"), "{context}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    memories.shut_down().await;
}

#[tokio::test]
async fn nothing_that_is_only_read_waits_for_the_writer() {
    let ada = Ada::new().await;
    let record = json!({ "external_id": "one", "text": "orders are in postgres" });
    let alike = json!({ "external_id": "ONE", "text": "invoices are in postgres" });
    ada.call("observe", json!({ "records": [record, alike] }))
        .await;
    ada.advance_seconds(60);
    let corrected = json!({ "id": "one", "text": "orders are in sqlite" });
    ada.call("update", corrected).await;
    let (begin, begun) = mpsc::channel();
    let (release, held) = mpsc::channel();
    let memory = ada.memory();
    let busy = tokio::spawn(async move {
        let work = move |_: &mut Engine| {
            begin.send(()).unwrap();
            // A read that needs the writer waits for this.
            held.recv_timeout(Duration::from_secs(20))
        };
        memory.run_on_engine(work).await.unwrap()
    });
    tokio::task::spawn_blocking(move || begun.recv().unwrap())
        .await
        .unwrap();
    let memory = ada.memory();
    let now = memory.get_record("one").await.unwrap();
    assert_eq!(now.text, "orders are in sqlite");
    let then = now.known_at - TimeDelta::seconds(30);
    let then = memory.get_record_at("one", then).await.unwrap();
    assert_eq!(then.text, "orders are in postgres");
    for (name, arguments) in [
        ("get", json!({ "id": "ONE" })),
        ("learning_report", json!({})),
        ("delete", json!({ "id": "one", "dry_run": true })),
    ] {
        ada.call(name, arguments).await;
    }
    release.send(()).unwrap();
    assert_eq!(busy.await.unwrap(), Ok(()), "a read waited for the writer");
}

#[tokio::test]
async fn what_is_said_again_is_counted_and_the_first_stays_as_it_was() {
    let ada = Ada::new().await;
    let line = json!({ "external_id": "x", "text": "the mirror needs a trailing slash" });
    let lesson = json!({ "title": "Retry", "text": "Retry with backoff." });
    let learning = json!({ "fact": "User has email", "category": "type" });
    let said = [
        ("observe", json!({ "records": line })),
        ("learn", lesson),
        ("add_learning", learning),
    ];
    for (name, arguments) in &said {
        ada.call(name, arguments.clone()).await;
    }
    let listed = ada.call("list", json!({})).await;
    let first: Vec<Value> = listed["records"].as_array().unwrap().clone();
    assert_eq!(first.len(), 3);
    for record in &first {
        let shown = ada.call("get", json!({ "id": record["id"] })).await;
        assert_eq!(shown["records"][0]["seen_count"], 1);
        assert_eq!(shown["records"][0]["last_seen"], "2026-01-10T12:00:00Z");
    }
    ada.advance_seconds(60);
    for (name, arguments) in &said {
        ada.call(name, arguments.clone()).await;
    }
    ada.advance_seconds(60);
    // Sent again with its key it is the same request, with another one said again.
    for key in ["once", "once", "another"] {
        let memory = ada.memory().with_request_key(Some(key.to_owned()));
        memory.ingest(vec![line.clone()]).await.unwrap();
    }
    for record in &first {
        let shown = ada.call("get", json!({ "id": record["id"] })).await;
        let is_line = record["external_id"] == "x";
        let (count, last) = if is_line {
            (5, seconds_after_start(120))
        } else {
            (2, seconds_after_start(60))
        };
        assert_eq!(shown["records"][0]["seen_count"], count, "{record}");
        assert_eq!(shown["records"][0]["last_seen"], json!(last), "{record}");
        for field in ["text", "timestamp", "known_at", "metadata", "tags"] {
            assert_eq!(shown["records"][0][field], record[field], "{field}");
        }
    }
    // A correction takes the count along.
    let correction = json!({ "id": "x", "text": "the mirror needs no slash" });
    ada.call("revise", correction).await;
    let shown = ada.call("get", json!({ "id": "x" })).await;
    assert_eq!(shown["records"][0]["text"], "the mirror needs no slash");
    assert_eq!(shown["records"][0]["seen_count"], 5);
    // What came from a host's event, or is read from a source again, is said once.
    let frame = json!({ "text": "a frame", "external_ids": [{ "namespace": "ralph", "id": "f" }] });
    for _ in 0..3 {
        ada.call("observe", json!({ "records": frame })).await;
    }
    let shown = ada.call("get", json!({ "id": "f" })).await;
    assert_eq!(shown["records"][0]["seen_count"], 1);
}

#[tokio::test]
async fn links_are_walked_the_way_they_lead_each_record_once_and_five_deep_at_most() {
    let ada = Ada::new().await;
    let name = |number: usize| format!("r{number}");
    let records = (0..9).map(|number| json!({ "external_id": name(number), "text": name(number) }));
    ada.call("observe", json!({ "records": records.collect::<Vec<_>>() }))
        .await;
    // A circle of nine, which leads back to where it began.
    for number in 0..9 {
        let link = json!({ "from": name(number), "to": name((number + 1) % 9) });
        ada.call("link", link).await;
    }
    let reached = async |more: Value| -> Vec<String> {
        let mut asked = json!({ "id": "r0" });
        asked
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        let found = ada.call("related", asked).await;
        let found = found["related"].as_array().unwrap().iter();
        found
            .map(|one| one["title"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(reached(json!({})).await, ["r1", "r2"]);
    assert_eq!(reached(json!({ "direction": "in" })).await, ["r8", "r7"]);
    assert_eq!(
        reached(json!({ "direction": "both" })).await,
        ["r1", "r8", "r2", "r7"]
    );
    for depth in [5, 6, 1_000_000] {
        let far = reached(json!({ "depth": depth })).await;
        assert_eq!(far, ["r1", "r2", "r3", "r4", "r5"], "{depth}");
    }
}

#[test]
fn a_count_has_the_plural_of_its_noun() {
    let counted = ["memory", "summary", "day", "run"].map(|what| format_count(2, what));
    assert_eq!(counted, ["2 memories", "2 summaries", "2 days", "2 runs"]);
    assert_eq!(format_count(1, "memory"), "1 memory");
}

#[tokio::test]
async fn a_merged_kind_of_evidence_is_changed_in_every_memory_by_one_named_request() {
    let ada = Ada::new().await;
    for text in [
        "the gate is shut",
        "the bridge is open",
        "the tower is tall",
    ] {
        let lesson = json!({ "text": text, "evidence": "rumour" });
        ada.call("learn", lesson).await;
    }
    // As a daemon is asked, with a name for the whole request.
    let memory = ada.memory().with_request_key(Some("once".to_owned()));
    let asked = json!({ "from": "rumour", "into": "hearsay" });
    let Value::Object(asked) = asked else {
        panic!("an object");
    };
    let catalogue = Catalogue::default();
    let merge = catalogue.find_operation("merge_evidence").unwrap();
    let done = (merge.call)(memory, asked).await.unwrap();
    let done: Value = serde_json::from_slice(&done).unwrap();
    assert_eq!(done["merged"], 3);
    let kinds = ada.call("evidence", json!({})).await;
    let kinds = kinds["evidence"].as_array().unwrap();
    let count = |name: &str| {
        let kind = kinds.iter().find(|kind| kind["name"] == name);
        kind.map_or(json!(0), |kind| kind["count"].clone())
    };
    assert_eq!((count("rumour"), count("hearsay")), (json!(0), json!(3)));
}
