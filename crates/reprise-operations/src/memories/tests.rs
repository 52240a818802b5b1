//! No question is answered by reading the disk on a thread that serves others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use reprise_agent::MemoryConfig;
use reprise_engine::Engine;
use reprise_simulation::HeardDisk;
use reprise_types::SystemClock;
use serde_json::{Value, json};

use crate::catalogue::{Catalogue, ToolAnswer};
use crate::testing::{Ada, at, no_model, started};

#[tokio::test]
async fn nothing_waits_for_the_disk_on_the_thread_that_serves() {
    let folder = tempfile::tempdir().unwrap();
    // What the thread that serves asks of the disk.
    let (server, asked) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
    let (serving, counted) = (Arc::clone(&server), Arc::clone(&asked));
    let disk = HeardDisk::new(move |_| {
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
    let memories = started(config, Arc::new(SystemClock)).await;
    server.set(thread::current().id()).unwrap();

    let catalogue = Catalogue::default();
    let memory = memories.of(&"ada".parse().unwrap());
    let run = async |name: &str, arguments: Value| -> Value {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object");
        };
        let operation = catalogue.operation(name).unwrap();
        let ToolAnswer { structured, .. } = operation
            .call_tool(memory.clone(), arguments)
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
    ada.later(60);
    for (name, arguments) in &said {
        ada.call(name, arguments.clone()).await;
    }
    ada.later(60);
    // Sent again with its key it is the same request, with another one said again.
    for key in ["once", "once", "another"] {
        let memory = ada.memory().keyed(Some(key.to_owned()));
        memory.observe(vec![line.clone()]).await.unwrap();
    }
    for record in &first {
        let shown = ada.call("get", json!({ "id": record["id"] })).await;
        let is_line = record["external_id"] == "x";
        let (count, last) = if is_line { (5, at(120)) } else { (2, at(60)) };
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
