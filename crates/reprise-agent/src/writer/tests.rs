//! A writer with a full disk, a removed file, and large requests in its group.

use std::path::Path;
use std::sync::Arc;

use reprise_engine::{Engine, ForgetSelector, WriteBatchReport};
use reprise_simulation::SimDisk;
use reprise_types::{MemoryError, NewRecord, WriteOutcome};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::{GroupMember, reply_to_members};
use crate::MemoryService;
use crate::testing::{TestService, ada, new_user_episode};

async fn list_texts(service: &MemoryService) -> Vec<String> {
    let snapshot = service.snapshot(&ada()).await.unwrap();
    let texts = snapshot.records().map(|record| record.unwrap().body.text);
    texts.collect()
}

fn new_service_on(disk: &SimDisk) -> TestService {
    let mut bench = TestService::new();
    let disk = disk.clone();
    bench.config.open_engine = Arc::new(move |_, options| {
        Engine::open(Arc::new(disk.clone()), Path::new("/m/memory.rvf"), options)
    });
    bench
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_a_forget_and_then_takes_a_tag_without_a_restart() {
    let disk = SimDisk::new();
    let bench = new_service_on(&disk);
    let service = bench.start().await;
    let outcomes = service
        .observe(
            &ada(),
            vec![new_user_episode("one"), new_user_episode("two")],
        )
        .await;
    let [WriteOutcome::Inserted { id }, _] = outcomes.unwrap()[..] else {
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
        .observe(&ada(), vec![new_user_episode("three")])
        .await
        .unwrap_err();
    assert!(matches!(refused, MemoryError::Storage { .. }), "{refused}");
    disk.set_full(false);
    let tags = ["kept".to_owned()];
    let tag = move |engine: &mut Engine| engine.set_tags(id, &tags, now);
    assert!(service.with_engine(&ada(), tag).await.unwrap().unwrap());
    assert_eq!(list_texts(&service).await, ["one", "two"]);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_inflates_beyond_a_commit_is_kept_and_so_are_its_neighbours() {
    let mut bench = TestService::new();
    bench.config.limits.write_bytes_max = 128 * 1024 * 1024;
    let service = bench.start().await;
    // A record has 14 KB as sent and 61 KB as stored; all have 73 MB, more than a commit may have.
    let numbers = vec![Value::from(1e15); 3_200];
    let large = |n: usize| {
        let mut record = new_user_episode(&format!("large {n}"));
        record.metadata = Map::from_iter([("numbers".to_owned(), Value::from(numbers.clone()))]);
        record
    };
    let body: Vec<NewRecord> = (0..1_200).map(large).collect();
    let mut alone = new_user_episode("too large by itself");
    alone
        .metadata
        .insert("numbers".into(), vec![Value::from(1e15); 4_000].into());
    let (user, first) = (
        ada(),
        [new_user_episode("before"), alone, new_user_episode("after")],
    );
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
    assert_eq!(list_texts(&service).await.len(), 1_202);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_removed_under_the_service_is_back_before_the_next_write() {
    let bench = TestService::new();
    let service = bench.start().await;
    service
        .observe(&ada(), vec![new_user_episode("one")])
        .await
        .unwrap();
    let file = bench.config.file_path(&ada());
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
    let refused = service
        .observe(&ada(), vec![new_user_episode("two")])
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("was restored"), "{refused}");
    service
        .observe(&ada(), vec![new_user_episode("two")])
        .await
        .unwrap();
    assert!(service.shut_down().await.is_clean());
    let service = bench.start().await;
    assert_eq!(list_texts(&service).await, ["one", "two"]);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_put_over_the_old_one_takes_what_is_sent_again() {
    let bench = TestService::new();
    let other = TestService::new();
    let service = other.start().await;
    service
        .observe(&ada(), vec![new_user_episode("theirs")])
        .await
        .unwrap();
    assert!(service.shut_down().await.is_clean());
    let service = bench.start().await;
    service
        .observe(&ada(), vec![new_user_episode("ours")])
        .await
        .unwrap();
    let file = bench.config.file_path(&ada());
    std::fs::rename(other.config.file_path(&ada()), &file).unwrap();
    let refused = service
        .observe(&ada(), vec![new_user_episode("more")])
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("memory.rvf.rescued"),
        "{refused}"
    );
    service
        .observe(&ada(), vec![new_user_episode("more")])
        .await
        .unwrap();
    assert_eq!(list_texts(&service).await, ["theirs", "more"]);
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
    let written = WriteBatchReport {
        outcomes: vec![outcome(), outcome(), outcome()],
        ..WriteBatchReport::default()
    };
    let (members, answers): (Vec<_>, Vec<_>) = [2, 2, 1, 0]
        .map(|records| {
            let (reply, answer) = oneshot::channel();
            let run_events = 0;
            (
                GroupMember {
                    records,
                    run_events,
                    reply,
                },
                answer,
            )
        })
        .into_iter()
        .unzip();
    reply_to_members(written, Some(&full), members);
    let mut replies = Vec::new();
    for answer in answers {
        replies.push(
            answer
                .await
                .unwrap()
                .map(|own| own.outcomes.len())
                .map_err(|e| e.to_string()),
        );
    }
    let full = Err("the disk is full".to_owned());
    let partly = "1 of 2 records were kept, then: the disk is full; send the others again";
    assert_eq!(replies, [Ok(2), Err(partly.to_owned()), full.clone(), full]);
}
