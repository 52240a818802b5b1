//! A writer with a full disk, a removed file, and large requests in its group.

use std::path::Path;
use std::sync::Arc;

use reprise_engine::{Engine, ForgetSelector, Written};
use reprise_simulation::SimDisk;
use reprise_types::{MemoryError, NewRecord, WriteOutcome};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::{Asked, answer};
use crate::MemoryService;
use crate::testing::{Bench, ada, note};

async fn texts(service: &MemoryService) -> Vec<String> {
    let snapshot = service.snapshot(&ada()).await.unwrap();
    let texts = snapshot.records().map(|record| record.unwrap().body.text);
    texts.collect()
}

fn on_disk(disk: &SimDisk) -> Bench {
    let mut bench = Bench::new();
    let disk = disk.clone();
    bench.config.open_engine = Arc::new(move |_, options| {
        Engine::open(Arc::new(disk.clone()), Path::new("/m/memory.rvf"), options)
    });
    bench
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_a_forget_and_then_takes_a_tag_without_a_restart() {
    let disk = SimDisk::new();
    let bench = on_disk(&disk);
    let service = bench.start().await;
    let kept = service
        .observe(&ada(), vec![note("one"), note("two")])
        .await;
    let [WriteOutcome::Inserted { id }, _] = kept.unwrap()[..] else {
        panic!("both are new");
    };
    disk.set_full(true);
    let now = bench.config.clock.now();
    let forget = move |engine: &mut Engine| {
        let what = ForgetSelector::Id(id);
        engine.forget(&what, "asked to", now).map(drop)
    };
    let refused = service.with_engine(&ada(), forget).await.unwrap();
    assert!(refused.unwrap_err().to_string().contains("free some space"));
    let refused = service
        .observe(&ada(), vec![note("three")])
        .await
        .unwrap_err();
    assert!(matches!(refused, MemoryError::Storage { .. }), "{refused}");
    disk.set_full(false);
    let tags = ["kept".to_owned()];
    let tag = move |engine: &mut Engine| engine.tag(id, &tags, now);
    assert!(service.with_engine(&ada(), tag).await.unwrap().unwrap());
    assert_eq!(texts(&service).await, ["one", "two"]);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_inflates_beyond_a_commit_is_kept_and_so_are_its_neighbours() {
    let mut bench = Bench::new();
    bench.config.limits.write_bytes_max = 128 * 1024 * 1024;
    let service = bench.start().await;
    // 14 KB as sent, 61 KB as stored, 73 MB in all: more than one commit may hold.
    let numbers = vec![Value::from(1e15); 3_200];
    let large = |n: usize| {
        let mut record = note(&format!("large {n}"));
        record.metadata = Map::from_iter([("numbers".to_owned(), Value::from(numbers.clone()))]);
        record
    };
    let body: Vec<NewRecord> = (0..1_200).map(large).collect();
    let mut alone = note("too large by itself");
    alone
        .metadata
        .insert("numbers".into(), vec![Value::from(1e15); 4_000].into());
    let (user, first) = (ada(), [note("before"), alone, note("after")]);
    let (large, neighbours) = tokio::join!(
        service.observe(&user, body),
        service.observe(&user, first.to_vec())
    );
    let inserted = |outcome: &WriteOutcome| matches!(outcome, WriteOutcome::Inserted { .. });
    assert!(large.unwrap().iter().all(inserted));
    let [before, alone, after] = &neighbours.unwrap()[..] else {
        panic!("three outcomes");
    };
    assert!(inserted(before) && inserted(after));
    let WriteOutcome::Rejected { why } = alone else {
        panic!("{alone:?}");
    };
    assert!(why.to_string().contains("metadata has 76"), "{why}");
    assert!(service.shut_down().await.is_clean());
    let service = bench.start().await;
    assert_eq!(texts(&service).await.len(), 1_202);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_removed_under_the_service_is_back_before_the_next_write() {
    let bench = Bench::new();
    let service = bench.start().await;
    service.observe(&ada(), vec![note("one")]).await.unwrap();
    let file = bench.config.file_of(&ada());
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
    let refused = service
        .observe(&ada(), vec![note("two")])
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("back in its place"),
        "{refused}"
    );
    service.observe(&ada(), vec![note("two")]).await.unwrap();
    assert!(service.shut_down().await.is_clean());
    let service = bench.start().await;
    assert_eq!(texts(&service).await, ["one", "two"]);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_put_over_the_old_one_takes_what_is_sent_again() {
    let bench = Bench::new();
    let other = Bench::new();
    let service = other.start().await;
    service.observe(&ada(), vec![note("theirs")]).await.unwrap();
    assert!(service.shut_down().await.is_clean());
    let service = bench.start().await;
    service.observe(&ada(), vec![note("ours")]).await.unwrap();
    let file = bench.config.file_of(&ada());
    std::fs::rename(other.config.file_of(&ada()), &file).unwrap();
    let refused = service
        .observe(&ada(), vec![note("more")])
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("memory.rvf.rescued"),
        "{refused}"
    );
    service.observe(&ada(), vec![note("more")]).await.unwrap();
    assert_eq!(texts(&service).await, ["theirs", "more"]);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test]
async fn each_request_of_a_group_hears_of_its_own_records() {
    let outcome = || WriteOutcome::Inserted {
        id: reprise_types::RecordId::from_u128(1),
    };
    let full = MemoryError::Storage {
        message: "the disk is full".into(),
    };
    let written = Written {
        outcomes: vec![outcome(), outcome(), outcome()],
        ..Written::default()
    };
    let (asked, answers): (Vec<_>, Vec<_>) = [2, 2, 1, 0]
        .map(|records| {
            let (reply, answer) = oneshot::channel();
            let said = 0;
            (
                Asked {
                    records,
                    said,
                    reply,
                },
                answer,
            )
        })
        .into_iter()
        .unzip();
    answer(written, Some(&full), asked);
    let mut said = Vec::new();
    for answer in answers {
        said.push(
            answer
                .await
                .unwrap()
                .map(|own| own.outcomes.len())
                .map_err(|e| e.to_string()),
        );
    }
    let full = Err("the disk is full".to_owned());
    let partly = "1 of 2 records were kept, then: the disk is full; send the others again";
    assert_eq!(said, [Ok(2), Err(partly.to_owned()), full.clone(), full]);
}
