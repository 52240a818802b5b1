//! A supervisor with one child of one kind per user.
//!
//! A child is started by the first request and removed when it ends, so that the next request
//! starts its successor.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use ractor::SupervisionEvent;

use crate::prelude::*;

/// Time limit for draining a child.
const DRAIN: Duration = Duration::from_mins(2);

#[derive(Debug, Default)]
pub struct PerUserSupervisor<A>(PhantomData<A>);

/// Creates the arguments of a user's child; may block.
pub type ArgumentsFactory<A> =
    Arc<dyn Fn(&UserId) -> Result<<A as Actor>::Arguments, RunError> + Send + Sync>;

#[derive(Debug)]
pub enum PerUserMsg<M> {
    /// Returns the child of a user, which is started if there is none.
    GetOrCreate {
        user_id: UserId,
        reply: RpcReplyPort<Result<ActorRef<M>, RunError>>,
    },
}

pub struct PerUserState<A: Actor> {
    make_arguments: ArgumentsFactory<A>,
    children: BTreeMap<UserId, ActorRef<A::Msg>>,
}

impl<A: Actor> std::fmt::Debug for PerUserState<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let users = self.children.keys();
        f.debug_set().entries(users).finish()
    }
}

impl<A: Actor + Default> PerUserState<A> {
    async fn get_or_create(
        &mut self,
        myself: &ActorRef<PerUserMsg<A::Msg>>,
        user: UserId,
    ) -> Result<ActorRef<A::Msg>, RunError> {
        if let Some(child) = self.children.get(&user) {
            return Ok(child.clone());
        }
        let failed = |error: &dyn std::fmt::Display| RunError::no_answer("worker", error);
        let (make, of) = (Arc::clone(&self.make_arguments), user.clone());
        let arguments = tokio::task::spawn_blocking(move || make(&of)).await;
        let arguments = arguments.map_err(|error| failed(&error))??;
        let spawned = A::spawn_linked(None, A::default(), arguments, myself.get_cell()).await;
        let (child, _) = spawned.map_err(|error| failed(&error))?;
        self.children.insert(user, child.clone());
        Ok(child)
    }
}

#[async_trait::async_trait]
impl<A: Actor + Default> Actor for PerUserSupervisor<A> {
    type Msg = PerUserMsg<A::Msg>;
    type State = PerUserState<A>;
    type Arguments = ArgumentsFactory<A>;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        make_arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(PerUserState {
            make_arguments,
            children: BTreeMap::new(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let PerUserMsg::GetOrCreate { user_id, reply } = message;
        let child = state.get_or_create(&myself, user_id).await;
        let _receiver_gone = reply.send(child).is_err();
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let ended = match event {
            SupervisionEvent::ActorFailed(who, error) => {
                tracing::warn!(%error, "a worker failed; the next request starts another");
                who
            }
            SupervisionEvent::ActorTerminated(who, _, _) => who,
            _ => return Ok(()),
        };
        state
            .children
            .retain(|_, child| child.get_id() != ended.get_id());
        Ok(())
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        for (user, child) in std::mem::take(&mut state.children) {
            if let Err(error) = child.drain_and_wait(Some(DRAIN)).await {
                tracing::debug!(%user, %error, "a worker had ended, or did not end in time");
            }
        }
        Ok(())
    }
}
