//! Files that another program uses for a while, and unused gates.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake};

use reprise_engine::{Engine, EngineError, EngineOptions};
use reprise_store::{RealDisk, StoreError};
use reprise_types::{MemoryError, SystemClock, WriteOutcome};

use tokio::sync::oneshot;

use super::AgentDirectory;
use crate::handle::MemoryHandle;
use crate::protocol::MemoryAgentMsg;
use crate::testing::{DIMENSIONS, TestService, ada, new_user_episode, wait_until};

/// Returns whether a future is still pending after one more poll.
async fn is_pending<F: Future>(mut future: Pin<&mut F>) -> bool {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

/// Returns a test service whose first opening waits for `go_on` and then finds the file locked.
fn start_locked(go_on: Receiver<()>) -> (TestService, Arc<AtomicUsize>) {
    let mut bench = TestService::new();
    let looks = Arc::new(AtomicUsize::new(0));
    let (counted, go_on) = (Arc::clone(&looks), Mutex::new(go_on));
    bench.config.open_engine = Arc::new(move |path, options| {
        if counted.fetch_add(1, Ordering::SeqCst) == 0 {
            go_on.lock().unwrap().recv().unwrap();
            let (path, holder) = (path.to_path_buf(), "process 1".to_owned());
            return Err(EngineError::Store(StoreError::Locked { path, holder }));
        }
        Engine::open(Arc::new(RealDisk), path, options)
    });
    (bench, looks)
}

#[tokio::test]
async fn a_request_is_told_of_no_opening_that_began_before_it() {
    let (tell, go_on) = sync_channel(0);
    let (bench, looks) = start_locked(go_on);
    let service = bench.start().await;
    let user = ada();
    let mut first = pin!(service.open_memory(&user));
    wait_until(async || {
        let waits = is_pending(first.as_mut()).await;
        waits && looks.load(Ordering::SeqCst) == 1
    })
    .await;
    let mut joined = pin!(service.observe(&user, vec![new_user_episode("kept")]));
    assert!(is_pending(joined.as_mut()).await);
    tell.send(()).unwrap();
    let refused = first.await.unwrap_err();
    assert!(refused.to_string().contains("in use by process 1"));
    let outcomes = joined.await.unwrap();
    assert!(matches!(outcomes[..], [WriteOutcome::Inserted { .. }]));
    assert!(service.shut_down().await.is_clean());
}

/// Records whether a handle is closed at the moment its failure becomes visible.
struct ClosedAtWake(MemoryHandle, AtomicBool);

impl Wake for ClosedAtWake {
    fn wake(self: Arc<Self>) {
        self.1.store(self.0.is_closed(), Ordering::SeqCst);
    }
}

#[test]
fn whoever_hears_of_a_failed_opening_is_not_given_it_again() {
    let (handle, _jobs) = MemoryHandle::new(ada(), 1);
    let waker_state = Arc::new(ClosedAtWake(handle.clone(), AtomicBool::new(false)));
    let waker = Arc::clone(&waker_state).into();
    let mut ready = pin!(handle.wait_until_open());
    assert!(
        ready
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let message = "locked".to_owned();
    handle.fail_opening(MemoryError::Storage { message });
    assert!(waker_state.1.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_file_that_was_let_go_of_is_waited_for() {
    let mut bench = TestService::new();
    let refused = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&refused);
    bench.config.open_engine = Arc::new(move |path, options| {
        let opened = Engine::open(Arc::new(RealDisk), path, options);
        if opened.is_err() {
            count.fetch_add(1, Ordering::SeqCst);
        }
        opened
    });
    let (service, user) = (bench.start().await, ada());
    service
        .observe(&user, vec![new_user_episode("one")])
        .await
        .unwrap();
    service.release_file(&user).await.unwrap();
    let options = EngineOptions::new(DIMENSIONS, 7, reprise_types::Clock::now(&SystemClock));
    let file = bench.config.file_path(&user);
    let (other_engine, _) = Engine::open(Arc::new(RealDisk), &file, &options).unwrap();
    let mut write = pin!(service.observe(&user, vec![new_user_episode("two")]));
    wait_until(async || {
        let waits = is_pending(write.as_mut()).await;
        assert!(waits, "it was refused");
        refused.load(Ordering::SeqCst) > 2
    })
    .await;
    drop(other_engine);
    let outcomes = write.await.unwrap();
    assert!(matches!(outcomes[..], [WriteOutcome::Inserted { .. }]));
    assert!(service.shut_down().await.is_clean());
}

#[test]
fn a_gate_is_kept_for_as_long_as_a_writer_holds_it() {
    let directory = AgentDirectory::default();
    let user = |number: u32| format!("user-{number}").parse().unwrap();
    let gate_in_use = directory.gate(&user(0));
    for number in 1..1_000 {
        drop(directory.gate(&user(number)));
    }
    assert!(Arc::ptr_eq(&gate_in_use, &directory.gate(&user(0))));
    assert_eq!(directory.gates.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_request_that_meets_an_agent_that_is_gone_waits_for_its_successor() {
    let bench = TestService::new();
    let service = bench.start().await;
    let successor = service
        .provider(&ada())
        .shared
        .directory
        .open_agent(&ada())
        .await;
    let (ended_agent, _jobs) = MemoryHandle::new(ada(), 1);
    ended_agent.mark_open();
    let directory = AgentDirectory::default();
    directory.set_agent(&ended_agent);
    let (reply, answer) = oneshot::channel();
    let message = MemoryAgentMsg::Stats {
        permit: service.admission().admit_call(&ada()).unwrap(),
        reply: reply.into(),
    };
    let (user, successor) = (ada(), successor.unwrap());
    let mut delivered = pin!(directory.deliver_message(&user, message));
    assert!(is_pending(delivered.as_mut()).await);
    directory.set_agent(&successor);
    delivered.await;
    assert_eq!(answer.await.unwrap().unwrap().live, 0);
    assert!(service.shut_down().await.is_clean());
}
