//! A memory that is used by messages alone, as any actor can.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ractor::{ActorRef, RactorErr, call_t};
use reprise_engine::{ForgetSelector, InferredUse, RunAction, RunWrite, WriteBatch};
use reprise_types::{
    Credit, MemoryError, RecallRequest, RecallResponse, RecordId, Revision, RunBeginning,
    RunEnding, RunStep, WriteOutcome,
};

use super::MemoryAgentMsg;
use crate::MemoryService;
use crate::job::ReplyPort;
use crate::testing::{TestService, ada, new_user_episode, wait_until};

/// Time limit of a call in milliseconds, long enough for a loaded machine.
const MS: u64 = 60_000;

/// Sends one request to a running agent, and waits for the reply.
async fn call_agent<T: Send + 'static>(
    agent: &ActorRef<MemoryAgentMsg>,
    message: impl FnOnce(ReplyPort<T>) -> MemoryAgentMsg,
) -> Result<T, MemoryError> {
    call_t!(agent, message, MS).unwrap()
}

/// Starts an agent whose memory has these texts; returns it with their records.
async fn start_agent_with(
    service: &MemoryService,
    texts: &[&str],
) -> (ActorRef<MemoryAgentMsg>, Vec<RecordId>) {
    let agent = service.agent(&ada()).await.unwrap();
    let records: Vec<_> = texts.iter().map(|text| new_user_episode(text)).collect();
    let permit = service.admission().admit_write(&ada(), &records).unwrap();
    let ingest = |reply| MemoryAgentMsg::Ingest {
        records,
        permit,
        reply,
    };
    let ids = call_agent(&agent, ingest).await.unwrap().into_iter();
    let ids = ids.map(|outcome| match outcome {
        WriteOutcome::Inserted { id } => id,
        other => panic!("{other:?}"),
    });
    (agent, ids.collect())
}

async fn recall(
    service: &MemoryService,
    agent: &ActorRef<MemoryAgentMsg>,
    query: &str,
) -> RecallResponse {
    let permit = service.admission().admit_recall(&ada()).unwrap();
    let request = RecallRequest::new(query);
    let question = |reply| MemoryAgentMsg::Recall {
        request,
        permit,
        reply,
    };
    call_agent(agent, question).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_is_driven_by_messages_alone() {
    let bench = TestService::new();
    let service = bench.start().await;
    let (agent, kept) = start_agent_with(&service, &["the auth race was fixed", "lunch"]).await;
    let (race, lunch) = (kept[0], kept[1]);
    let found = recall(&service, &agent, "auth race").await;
    assert_eq!(found.results[0].record.id, race);
    assert!(found.degraded.is_empty(), "{:?}", found.degraded);
    let permit = || service.admission().admit_call(&ada()).unwrap();
    let forget = |reply| MemoryAgentMsg::Forget {
        selector: ForgetSelector::Id(lunch),
        reason: "nobody asks".to_owned(),
        permit: permit(),
        reply,
    };
    assert_eq!(call_agent(&agent, forget).await.unwrap().len(), 1);
    let stats = |reply| MemoryAgentMsg::Stats {
        permit: permit(),
        reply,
    };
    let stats = call_agent(&agent, stats).await.unwrap();
    assert_eq!((stats.live, stats.forgotten), (1, 1));
    let checkpoint = |reply| MemoryAgentMsg::Checkpoint {
        permit: permit(),
        reply,
    };
    call_agent(&agent, checkpoint).await.unwrap().unwrap();
    let compact = |reply| MemoryAgentMsg::Compact {
        permit: permit(),
        reply,
    };
    call_agent(&agent, compact).await.unwrap().unwrap();
    let present = service.snapshot(&ada()).await.unwrap();
    assert!(present.get(race).is_some() && present.get(lunch).is_none());
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_begun_stepped_ended_and_revised_by_messages() {
    let bench = TestService::new();
    let service = bench.start().await;
    let (agent, kept) = start_agent_with(&service, &["the auth race was fixed"]).await;
    let found = recall(&service, &agent, "auth race").await;
    let permit = || service.admission().admit_call(&ada()).unwrap();
    let begin = |reply| MemoryAgentMsg::BeginTrajectory {
        run: RunBeginning {
            run_id: "run-1".to_owned(),
            query: None,
            recall_id: Some(found.recall_id),
        },
        permit: permit(),
        reply,
    };
    call_agent(&agent, begin).await.unwrap();
    let step = |reply| MemoryAgentMsg::AddTrajectoryStep {
        step: RunStep {
            run_id: "run-1".to_owned(),
            action: "add a mutex".to_owned(),
            used: kept.clone(),
            result: Some(kept[0]),
        },
        permit: permit(),
        reply,
    };
    call_agent(&agent, step).await.unwrap();
    let end = |reply| MemoryAgentMsg::EndTrajectory {
        run: RunEnding {
            run_id: "run-1".to_owned(),
            used: kept.clone(),
            credit: Credit::Explicit,
            quality: None,
            fail_kind: None,
        },
        permit: permit(),
        reply,
    };
    call_agent(&agent, end).await.unwrap();
    let again = call_agent(&agent, end).await;
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
    call_agent(&agent, revise).await.unwrap();
    let user = ada();
    let taught = service.with_engine(&user, |engine| {
        let learner = engine.learning_state().learner();
        let qualities: Vec<f32> = learner.quality_curve().map(|run| run.0).collect();
        let chain = learner.patterns().swap_remove(0).chain;
        let result = chain[0].result.unwrap();
        (qualities, result, engine.stats().unembedded)
    });
    let (qualities, result, unembedded) = taught.await.unwrap();
    assert_eq!(qualities, [1.0], "an approved run");
    assert_eq!(result, kept[0], "the step's result, held once");
    assert_eq!(unembedded, 0, "with its embedding");
    assert!(service.shut_down().await.is_clean());
}

/// Tests that an agent embeds a relay's batch and writes it together with its run events (ADR
/// 0043).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_embeds_and_writes_what_a_relay_forwards() {
    let bench = TestService::new();
    let service = bench.start().await;
    let (agent, _) = start_agent_with(&service, &["the auth race was fixed"]).await;
    let recalled = recall(&service, &agent, "fix the auth race").await;
    let mut batch = WriteBatch {
        records: vec![new_user_episode("fix the auth race")],
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
        action: RunAction::Begin(run),
        inferred_use: Some(InferredUse {
            question: Some(0),
            ..InferredUse::default()
        }),
    });
    let write = |reply| MemoryAgentMsg::Write {
        batch: batch.clone(),
        permit: None,
        reply,
    };
    let written = call_agent(&agent, write).await.unwrap();
    assert!(
        written.unembedded.is_empty(),
        "it has a vector: {written:?}"
    );
    assert!(written.learning[0].is_ok(), "{written:?}");
    let user = ada();
    let state = service.with_engine(&user, |engine| {
        let receipt = engine.learning_state().receipt_of_open_run("run-1");
        let recall = receipt.map(|receipt| receipt.recall_id);
        (
            recall,
            engine.stats().unembedded,
            engine.stream_cursor("host"),
        )
    });
    let expected = (Some(recalled.recall_id), 0, Some(3));
    assert_eq!(
        state.await.unwrap(),
        expected,
        "the run works with that recall"
    );
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_gets_no_permit_is_refused_at_once_and_the_place_comes_back() {
    let mut bench = TestService::new();
    bench.config.limits.recalls_max = 1;
    bench.config.limits.calls_max = 1;
    bench.config.limits.recall_budget = Duration::from_mins(1);
    let service = bench.start().await;
    let agent = service.agent(&ada()).await.unwrap();
    let (admission, user) = (service.admission(), ada());
    bench.controls.block();
    let permit = admission.admit_recall(&user).unwrap();
    let request = RecallRequest::new("one");
    let asking = tokio::spawn(async move {
        let ask = |reply| MemoryAgentMsg::Recall {
            request,
            permit,
            reply,
        };
        call_t!(agent, ask, MS)
    });
    wait_until(async || bench.controls.blocked.load(Ordering::SeqCst) == 1).await;
    // The admitted recall waits for its vector; the mailbox is empty, and a second recall is
    // refused.
    let refused = admission.admit_recall(&user).unwrap_err();
    assert_eq!(refused, MemoryError::Overloaded { in_flight: 1 });
    let permit_for_call = admission.admit_call(&user).unwrap();
    let refused = admission.admit_call(&user).unwrap_err();
    assert_eq!(refused, MemoryError::Overloaded { in_flight: 1 });
    drop(permit_for_call);
    admission.admit_call(&user).unwrap();
    bench.controls.unblock();
    asking.await.unwrap().unwrap().unwrap();
    admission.admit_recall(&user).unwrap();
}

/// Asks an agent directly for its number of records.
async fn count_live(
    service: &MemoryService,
    agent: &ActorRef<MemoryAgentMsg>,
) -> Result<u64, RactorErr<MemoryAgentMsg>> {
    let permit = service.admission().admit_call(&ada()).unwrap();
    let stats = |reply| MemoryAgentMsg::Stats { permit, reply };
    call_t!(agent, stats, MS).map(|stats| u64::from(stats.unwrap().live))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_agent_says_so_and_the_provider_finds_its_successor() {
    let bench = TestService::new();
    let service = bench.start().await;
    let memory = service.provider(&ada());
    memory
        .observe(vec![new_user_episode("kept")])
        .await
        .unwrap();
    let agent = service.agent(&ada()).await.unwrap();
    assert_eq!(count_live(&service, &agent).await.unwrap(), 1);
    #[expect(clippy::disallowed_methods, reason = "the test is about being killed")]
    agent.get_cell().kill();
    agent.wait(None).await.unwrap();
    assert!(count_live(&service, &agent).await.is_err());
    wait_until(async || memory.stats().await.is_ok_and(|stats| stats.live == 1)).await;
    let successor = service.agent(&ada()).await.unwrap();
    assert_ne!(successor.get_id(), agent.get_id());
    assert_eq!(count_live(&service, &successor).await.unwrap(), 1);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_in_a_closed_agents_mailbox_goes_to_its_successor() {
    let bench = TestService::new();
    let service = bench.start().await;
    let first = service.agent(&ada()).await.unwrap();
    for round in 1..=20 {
        let agent = service.agent(&ada()).await.unwrap();
        service.release_file(&ada()).await.unwrap();
        // Its file is closed, but it may still accept messages for a moment.
        let records = vec![new_user_episode(&format!("note {round}"))];
        let permit = service.admission().admit_write(&ada(), &records).unwrap();
        let ingest = |reply| MemoryAgentMsg::Ingest {
            records,
            permit,
            reply,
        };
        let outcomes = match call_t!(agent, ingest, MS) {
            Ok(outcomes) => outcomes,
            // The agent ended before the request.
            Err(_) => {
                service
                    .observe(&ada(), vec![new_user_episode("gone")])
                    .await
            }
        };
        assert!(matches!(
            outcomes.unwrap()[..],
            [WriteOutcome::Inserted { .. }]
        ));
    }
    assert_ne!(
        service.agent(&ada()).await.unwrap().get_id(),
        first.get_id()
    );
    let stats = service.provider(&ada()).stats().await.unwrap();
    assert_eq!(stats.live, 20);
    assert!(service.shut_down().await.is_clean());
}
