//! A memory driven by messages alone, as by any actor.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ractor::{ActorRef, RactorErr, call_t};
use reprise_engine::{ForgetSelector, Overheard, RunTurn, RunWrite, WriteBatch};
use reprise_types::{
    Credit, MemoryError, Recall, RecallRequest, RecordId, Revision, RunBeginning, RunEnding,
    WriteOutcome,
};

use super::MemoryAgentMsg;
use crate::MemoryService;
use crate::job::Reply;
use crate::testing::{Bench, ada, note, until};

/// Long enough for a loaded machine.
const MS: u64 = 60_000;

/// One request to a running agent.
async fn ask<T: Send + 'static>(
    agent: &ActorRef<MemoryAgentMsg>,
    message: impl FnOnce(Reply<T>) -> MemoryAgentMsg,
) -> Result<T, MemoryError> {
    call_t!(agent, message, MS).unwrap()
}

/// An agent whose memory holds these texts, and their records.
async fn holding(
    service: &MemoryService,
    texts: &[&str],
) -> (ActorRef<MemoryAgentMsg>, Vec<RecordId>) {
    let agent = service.agent(&ada()).await.unwrap();
    let records: Vec<_> = texts.iter().map(|text| note(text)).collect();
    let permit = service.admission().write(&ada(), &records).unwrap();
    let ingest = |reply| MemoryAgentMsg::Ingest {
        records,
        permit,
        reply,
    };
    let kept = ask(&agent, ingest).await.unwrap().into_iter();
    let kept = kept.map(|outcome| match outcome {
        WriteOutcome::Inserted { id } => id,
        other => panic!("{other:?}"),
    });
    (agent, kept.collect())
}

async fn recall(service: &MemoryService, agent: &ActorRef<MemoryAgentMsg>, query: &str) -> Recall {
    let permit = service.admission().recall(&ada()).unwrap();
    let request = RecallRequest::new(query);
    let question = |reply| MemoryAgentMsg::Recall {
        request,
        permit,
        reply,
    };
    ask(agent, question).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_is_driven_by_messages_alone() {
    let bench = Bench::new();
    let service = bench.start().await;
    let (agent, kept) = holding(&service, &["the auth race was fixed", "lunch"]).await;
    let (race, lunch) = (kept[0], kept[1]);
    let found = recall(&service, &agent, "auth race").await;
    assert_eq!(found.results[0].record.id, race);
    assert!(found.degraded.is_empty(), "{:?}", found.degraded);
    let permit = || service.admission().call(&ada()).unwrap();
    let forget = |reply| MemoryAgentMsg::Forget {
        selector: ForgetSelector::Id(lunch),
        reason: "nobody asks".to_owned(),
        permit: permit(),
        reply,
    };
    assert_eq!(ask(&agent, forget).await.unwrap().len(), 1);
    let stats = |reply| MemoryAgentMsg::Stats {
        permit: permit(),
        reply,
    };
    let stats = ask(&agent, stats).await.unwrap();
    assert_eq!((stats.live, stats.forgotten), (1, 1));
    let checkpoint = |reply| MemoryAgentMsg::Checkpoint {
        permit: permit(),
        reply,
    };
    ask(&agent, checkpoint).await.unwrap().unwrap();
    let compact = |reply| MemoryAgentMsg::Compact {
        permit: permit(),
        reply,
    };
    ask(&agent, compact).await.unwrap().unwrap();
    let present = |reply| MemoryAgentMsg::Snapshot {
        permit: permit(),
        reply,
    };
    let present = ask(&agent, present).await.unwrap();
    assert!(present.get(race).is_some() && present.get(lunch).is_none());
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_begun_stepped_ended_and_revised_by_messages() {
    let bench = Bench::new();
    let service = bench.start().await;
    let (agent, kept) = holding(&service, &["the auth race was fixed"]).await;
    let found = recall(&service, &agent, "auth race").await;
    let permit = || service.admission().call(&ada()).unwrap();
    let begin = |reply| MemoryAgentMsg::BeginTrajectory {
        run: RunBeginning {
            run_id: "run-1".to_owned(),
            query: None,
            recall_id: Some(found.recall_id),
        },
        permit: permit(),
        reply,
    };
    ask(&agent, begin).await.unwrap();
    let step = |reply| MemoryAgentMsg::AddTrajectoryStep {
        run_id: "run-1".to_owned(),
        action: "add a mutex".to_owned(),
        used: kept.clone(),
        permit: permit(),
        reply,
    };
    ask(&agent, step).await.unwrap();
    let end = |reply| MemoryAgentMsg::EndTrajectory {
        run: RunEnding {
            run_id: "run-1".to_owned(),
            used: kept.clone(),
            credit: Credit::Explicit,
            quality: None,
            fail: None,
        },
        permit: permit(),
        reply,
    };
    ask(&agent, end).await.unwrap();
    let again = ask(&agent, end).await;
    assert!(
        matches!(again, Err(MemoryError::Invalid { .. })),
        "{again:?}"
    );
    let revise = |reply| MemoryAgentMsg::Revise {
        run_id: "run-1".to_owned(),
        revision: Revision::Approved,
        quality: None,
        permit: permit(),
        reply,
    };
    ask(&agent, revise).await.unwrap();
    let user = ada();
    let taught = service.with_engine(&user, |engine| {
        let learner = engine.learning().learner();
        learner.curve().map(|run| run.0).collect::<Vec<f32>>()
    });
    assert_eq!(taught.await.unwrap(), [1.0], "an approved run");
    assert!(service.shut_down().await.is_clean());
}

/// What a relay forwards: an agent embeds it, and writes it with what it says of a run (ADR 0043).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_embeds_and_writes_what_a_relay_forwards() {
    let bench = Bench::new();
    let service = bench.start().await;
    let (agent, _) = holding(&service, &["the auth race was fixed"]).await;
    let asked = recall(&service, &agent, "fix the auth race").await;
    let mut batch = WriteBatch {
        records: vec![note("fix the auth race")],
        cursor: Some(("host".to_owned(), 3)),
        ..WriteBatch::default()
    };
    let run = RunBeginning {
        run_id: "run-1".to_owned(),
        query: None,
        recall_id: None,
    };
    batch.learning.push(RunWrite {
        at: bench.config.clock.now(),
        turn: RunTurn::Begin(run),
        overheard: Some(Overheard {
            question: Some(0),
            ..Overheard::default()
        }),
    });
    let write = |reply| MemoryAgentMsg::Write {
        batch: batch.clone(),
        permit: None,
        reply,
    };
    let written = ask(&agent, write).await.unwrap();
    assert!(written.waiting.is_empty(), "it has a vector: {written:?}");
    assert!(written.learning[0].is_ok(), "{written:?}");
    let user = ada();
    let state = service.with_engine(&user, |engine| {
        let receipt = engine.learning().receipt_of("run-1");
        let recall = receipt.map(|receipt| receipt.recall_id);
        (recall, engine.stats().unembedded, engine.cursor("host"))
    });
    let expected = (Some(asked.recall_id), 0, Some(3));
    assert_eq!(
        state.await.unwrap(),
        expected,
        "the run works with that recall"
    );
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_gets_no_permit_is_refused_at_once_and_the_place_comes_back() {
    let mut bench = Bench::new();
    bench.config.limits.recalls_max = 1;
    bench.config.limits.calls_max = 1;
    bench.config.limits.recall_budget = Duration::from_mins(1);
    let service = bench.start().await;
    let agent = service.agent(&ada()).await.unwrap();
    let (door, user) = (service.admission(), ada());
    bench.controls.hold();
    let permit = door.recall(&user).unwrap();
    let request = RecallRequest::new("one");
    let asking = tokio::spawn(async move {
        let ask = |reply| MemoryAgentMsg::Recall {
            request,
            permit,
            reply,
        };
        call_t!(agent, ask, MS)
    });
    until(async || bench.controls.standing.load(Ordering::SeqCst) == 1).await;
    // The one admitted recall waits for its vector; the mailbox is empty, and a second is refused.
    let refused = door.recall(&user).unwrap_err();
    assert_eq!(refused, MemoryError::Overloaded { in_flight: 1 });
    let held = door.call(&user).unwrap();
    let refused = door.call(&user).unwrap_err();
    assert_eq!(refused, MemoryError::Overloaded { in_flight: 1 });
    drop(held);
    door.call(&user).unwrap();
    bench.controls.release();
    asking.await.unwrap().unwrap().unwrap();
    door.recall(&user).unwrap();
}

/// Asks an agent for its numbers, directly.
async fn live(
    service: &MemoryService,
    agent: &ActorRef<MemoryAgentMsg>,
) -> Result<u64, RactorErr<MemoryAgentMsg>> {
    let permit = service.admission().call(&ada()).unwrap();
    let stats = |reply| MemoryAgentMsg::Stats { permit, reply };
    call_t!(agent, stats, MS).map(|stats| u64::from(stats.unwrap().live))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_agent_says_so_and_the_provider_finds_its_successor() {
    let bench = Bench::new();
    let service = bench.start().await;
    let memory = service.provider(&ada());
    memory.observe(vec![note("kept")]).await.unwrap();
    let agent = service.agent(&ada()).await.unwrap();
    assert_eq!(live(&service, &agent).await.unwrap(), 1);
    #[expect(clippy::disallowed_methods, reason = "the test is about being killed")]
    agent.get_cell().kill();
    agent.wait(None).await.unwrap();
    assert!(live(&service, &agent).await.is_err());
    until(async || memory.stats().await.is_ok_and(|stats| stats.live == 1)).await;
    let successor = service.agent(&ada()).await.unwrap();
    assert_ne!(successor.get_id(), agent.get_id());
    assert_eq!(live(&service, &successor).await.unwrap(), 1);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_in_a_closed_agents_mailbox_goes_to_its_successor() {
    let bench = Bench::new();
    let service = bench.start().await;
    let first = service.agent(&ada()).await.unwrap();
    for round in 1..=20 {
        let agent = service.agent(&ada()).await.unwrap();
        service.release(&ada()).await.unwrap();
        // Its file is closed, and it may still take messages for a moment.
        let records = vec![note(&format!("note {round}"))];
        let permit = service.admission().write(&ada(), &records).unwrap();
        let ingest = |reply| MemoryAgentMsg::Ingest {
            records,
            permit,
            reply,
        };
        let kept = match call_t!(agent, ingest, MS) {
            Ok(kept) => kept,
            // It ended before the request.
            Err(_) => service.observe(&ada(), vec![note("gone")]).await,
        };
        assert!(matches!(kept.unwrap()[..], [WriteOutcome::Inserted { .. }]));
    }
    assert_ne!(
        service.agent(&ada()).await.unwrap().get_id(),
        first.get_id()
    );
    let stats = service.provider(&ada()).stats().await.unwrap();
    assert_eq!(stats.live, 20);
    assert!(service.shut_down().await.is_clean());
}
