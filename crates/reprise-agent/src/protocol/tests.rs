//! A memory driven by its messages alone, as any actor would.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ractor::{ActorRef, RactorErr, call_t};
use reprise_engine::ForgetSelector;
use reprise_types::{
    Credit, MemoryError, RecallRequest, Revision, RunBeginning, RunEnding, WriteOutcome,
};

use super::MemoryAgentMsg;
use crate::testing::{Bench, ada, note, until};

/// Long enough for a machine that does much else.
const MS: u64 = 60_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_is_driven_by_messages_alone() {
    let bench = Bench::new();
    let service = bench.start().await;
    let agent = service.agent(&ada()).await.unwrap();
    let (door, user) = (service.admission(), ada());

    let records = vec![note("the auth race was fixed with a mutex"), note("lunch")];
    let permit = door.write(&user, &records).unwrap();
    let ingest = |reply| MemoryAgentMsg::Ingest {
        records,
        permit,
        reply,
    };
    let kept = call_t!(agent, ingest, MS).unwrap().unwrap();
    let [
        WriteOutcome::Inserted { .. },
        WriteOutcome::Inserted { id: lunch },
    ] = kept[..]
    else {
        panic!("{kept:?}")
    };

    let permit = door.recall(&user).unwrap();
    let request = RecallRequest::new("auth race");
    let ask = |reply| MemoryAgentMsg::Recall {
        request,
        permit,
        reply,
    };
    let recall = call_t!(agent, ask, MS).unwrap().unwrap();
    let best = &recall.results[0].record;
    assert_eq!(best.text, "the auth race was fixed with a mutex");
    assert!(recall.degraded.is_empty(), "{:?}", recall.degraded);

    let run = RunBeginning {
        run_id: "run-1".to_owned(),
        query: None,
        recall_id: Some(recall.recall_id),
    };
    let permit = door.call(&user).unwrap();
    let begin = |reply| MemoryAgentMsg::BeginTrajectory { run, permit, reply };
    call_t!(agent, begin, MS).unwrap().unwrap();
    let permit = door.call(&user).unwrap();
    let step = |reply| MemoryAgentMsg::AddTrajectoryStep {
        run_id: "run-1".to_owned(),
        action: "add a mutex".to_owned(),
        used: vec![best.id],
        permit,
        reply,
    };
    call_t!(agent, step, MS).unwrap().unwrap();
    let run = RunEnding {
        run_id: "run-1".to_owned(),
        used: vec![best.id],
        credit: Credit::Explicit,
        quality: None,
        fail: None,
    };
    let permit = door.call(&user).unwrap();
    let again = run.clone();
    let end = |reply| MemoryAgentMsg::EndTrajectory { run, permit, reply };
    call_t!(agent, end, MS).unwrap().unwrap();
    let permit = door.call(&user).unwrap();
    let end = |reply| MemoryAgentMsg::EndTrajectory {
        run: again,
        permit,
        reply,
    };
    let refused = call_t!(agent, end, MS).unwrap();
    assert!(
        matches!(refused, Err(MemoryError::Invalid { .. })),
        "{refused:?}"
    );
    let permit = door.call(&user).unwrap();
    let revise = |reply| MemoryAgentMsg::Revise {
        run_id: "run-1".to_owned(),
        revision: Revision::Approved,
        quality: None,
        permit,
        reply,
    };
    call_t!(agent, revise, MS).unwrap().unwrap();

    let permit = door.call(&user).unwrap();
    let forget = |reply| MemoryAgentMsg::Forget {
        selector: ForgetSelector::Id(lunch),
        reason: "nobody asks".to_owned(),
        permit,
        reply,
    };
    let forgotten = call_t!(agent, forget, MS).unwrap().unwrap();
    assert_eq!(forgotten.len(), 1);
    let permit = door.call(&user).unwrap();
    let stats = |reply| MemoryAgentMsg::Stats { permit, reply };
    let stats = call_t!(agent, stats, MS).unwrap().unwrap();
    assert_eq!((stats.live, stats.forgotten), (1, 1));
    let permit = door.call(&user).unwrap();
    let compact = |reply| MemoryAgentMsg::Compact { permit, reply };
    call_t!(agent, compact, MS).unwrap().unwrap().unwrap();
    let permit = door.call(&user).unwrap();
    let present = |reply| MemoryAgentMsg::Snapshot { permit, reply };
    let present = call_t!(agent, present, MS).unwrap().unwrap();
    assert!(present.get(best.id).is_some() && present.get(lunch).is_none());
    let taught = service.with_engine(&user, |engine| {
        let learner = engine.learning().learner();
        learner.curve().map(|run| run.0).collect::<Vec<f32>>()
    });
    assert_eq!(taught.await.unwrap(), [1.0], "an approved run");
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
    // The one recall under way waits for its vector; the mailbox is empty, and no second gets in.
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
    service: &crate::MemoryService,
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
        match call_t!(agent, ingest, MS) {
            Ok(kept) => assert!(matches!(kept.unwrap()[..], [WriteOutcome::Inserted { .. }])),
            Err(_) => {
                let kept = service.observe(&ada(), vec![note("gone")]).await.unwrap();
                assert!(matches!(kept[..], [WriteOutcome::Inserted { .. }]));
            }
        }
    }
    assert_ne!(
        service.agent(&ada()).await.unwrap().get_id(),
        first.get_id()
    );
    let stats = service.provider(&ada()).stats().await.unwrap();
    assert_eq!(stats.live, 20);
    assert!(service.shut_down().await.is_clean());
}
