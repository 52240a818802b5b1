//! The actor that starts, restarts and finds agents and relays.

mod directory;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ractor::{
    Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent,
};
use reprise_types::{MemoryError, RestartBudget, UserId};

use crate::agent::{MemoryAgent, MemoryAgentArguments, RequestContext};
use crate::config::MemoryConfig;
use crate::embedder::EmbedPool;
use crate::handle::MemoryHandle;
use crate::relay::{
    EventMapper, FeedSource, MemoryEventRelay, MemoryEventRelayArguments, RelayHandle, RelayMsg,
    SourceBinding,
};
use crate::stage_timers::StageTimers;

pub(crate) use directory::{ANSWER_MS, AgentDirectory};

#[derive(Debug)]
pub struct MemorySupervisor;

#[derive(Debug, Clone)]
pub struct MemorySupervisorArguments {
    pub(crate) config: Arc<MemoryConfig>,
    pub(crate) pool: EmbedPool,
    pub(crate) directory: Arc<AgentDirectory>,
    pub(crate) stages: Arc<StageTimers>,
}

impl MemorySupervisorArguments {
    /// Returns what the requests to a memory need.
    pub(crate) fn requests_of(&self, handle: MemoryHandle) -> RequestContext {
        RequestContext {
            config: Arc::clone(&self.config),
            pool: self.config.pool_for(&self.pool, handle.user()),
            stages: Arc::clone(&self.stages),
            directory: Arc::clone(&self.directory),
            handle,
        }
    }
}

struct RunningRelay {
    actor: ActorRef<RelayMsg>,
    arguments: MemoryEventRelayArguments,
}

/// The relays, and how often each child may be restarted; the agents are in the directory.
pub struct MemorySupervisorState {
    arguments: MemorySupervisorArguments,
    relays: Vec<RunningRelay>,
    budgets: BTreeMap<UserId, RestartBudget>,
    relay_budget: RestartBudget,
}

reprise_types::show_fields!(MemorySupervisorState {});

impl MemorySupervisorState {
    async fn get_or_create(
        &mut self,
        myself: &ActorRef<MemorySupervisorMsg>,
        user: UserId,
    ) -> Result<MemoryHandle, MemoryError> {
        let running = self.arguments.directory.find_agent(&user);
        if let Some(agent) = running.filter(|agent| !agent.is_closed()) {
            return Ok(agent);
        }
        let unavailable = MemoryError::unavailable(&user);
        let budget = self.budgets.get_mut(&user);
        if budget.is_some_and(|budget| !budget.try_requested_restart(Instant::now())) {
            return Err(unavailable);
        }
        self.passivate_idle();
        self.start_agent(myself, &user).await.map_err(|error| {
            tracing::error!(%user, %error, "an agent could not be started");
            unavailable
        })
    }

    /// Passivates the memories that were idle for longest, if the limit of open memories is
    /// reached.
    fn passivate_idle(&self) {
        let limits = &self.arguments.config.limits;
        let open = self.arguments.directory.list_agents().into_iter();
        let open = open.filter(|agent| !agent.is_closed());
        let mut open: Vec<_> = open.map(|agent| (agent.idle_time(), agent)).collect();
        let excess = (open.len() + 1).saturating_sub(limits.open_max);
        open.retain(|(idle, _)| *idle >= limits.crowded_out_after);
        open.sort_by_key(|(idle, _)| std::cmp::Reverse(*idle));
        let excess = open.into_iter().take(excess);
        for (_, agent) in excess {
            let _already_ended = agent.actor().is_some_and(|actor| actor.drain().is_err());
        }
    }

    async fn start_agent(
        &mut self,
        myself: &ActorRef<MemorySupervisorMsg>,
        user: &UserId,
    ) -> Result<MemoryHandle, ActorProcessingErr> {
        let shared = &self.arguments;
        let queue_max = shared.config.limits.writer_queue_max;
        let (handle, jobs) = MemoryHandle::new(user.clone(), queue_max);
        let arguments = MemoryAgentArguments {
            gate: shared.directory.gate(user),
            requests: shared.requests_of(handle.clone()),
            jobs,
        };
        MemoryAgent::spawn_linked(None, MemoryAgent, arguments, myself.get_cell()).await?;
        shared.directory.set_agent(&handle);
        Ok(handle)
    }

    async fn start_relay(
        &mut self,
        myself: &ActorRef<MemorySupervisorMsg>,
        arguments: MemoryEventRelayArguments,
    ) -> Result<RelayHandle, ActorProcessingErr> {
        let handle = arguments.handle.clone();
        let cell = myself.get_cell();
        let (actor, _) =
            MemoryEventRelay::spawn_linked(None, MemoryEventRelay, arguments.clone(), cell).await?;
        self.relays.push(RunningRelay { actor, arguments });
        Ok(handle)
    }

    /// Removes a child that ended normally; the next request starts it again.
    fn remove_child(&mut self, ended: ActorId) {
        self.arguments.directory.remove_agent(ended);
        self.relays.retain(|relay| relay.actor.get_id() != ended);
    }

    /// Restarts a failed child, from disk, within its restart budget. If that fails too, the next
    /// request retries; one user's failure never affects the others.
    async fn restart_child(
        &mut self,
        myself: &ActorRef<MemorySupervisorMsg>,
        ended: ActorId,
        why: &str,
    ) {
        let now = Instant::now();
        if let Some(agent) = self.arguments.directory.remove_agent(ended) {
            let user = agent.user().clone();
            agent.close();
            let within_budget = self
                .budgets
                .entry(user.clone())
                .or_default()
                .try_restart(now);
            tracing::error!(%user, why, within_budget, "an agent failed");
            if within_budget && let Err(error) = self.start_agent(myself, &user).await {
                tracing::error!(%user, %error, "an agent could not be started again");
            }
        } else if let Some(at) = self.relays.iter().position(|r| r.actor.get_id() == ended) {
            let relay = self.relays.swap_remove(at);
            let within_budget = self.relay_budget.try_restart(now);
            tracing::error!(binding = ?relay.arguments.binding, why, within_budget, "a relay failed");
            if within_budget && let Err(error) = self.start_relay(myself, relay.arguments).await {
                tracing::error!(%error, "a relay could not be started again");
            }
        }
    }
}

#[async_trait::async_trait]
impl Actor for MemorySupervisor {
    type Msg = MemorySupervisorMsg;
    type State = MemorySupervisorState;
    type Arguments = MemorySupervisorArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        arguments.directory.set_supervisor(myself);
        Ok(MemorySupervisorState {
            arguments,
            relays: Vec::new(),
            budgets: BTreeMap::new(),
            relay_budget: RestartBudget::default(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            MemorySupervisorMsg::GetOrCreate { user, reply } => {
                let answer = state.get_or_create(&myself, user).await;
                let _caller_gone = reply.send(answer).is_err();
            }
            MemorySupervisorMsg::StartRelay {
                binding,
                mapper,
                feed,
                reply,
            } => {
                let unavailable = MemoryError::unavailable(&binding.user);
                let arguments = MemoryEventRelayArguments {
                    batch: state.arguments.config.limits.relay_batch,
                    clock: Arc::clone(&state.arguments.config.clock),
                    directory: Arc::clone(&state.arguments.directory),
                    handle: RelayHandle::new(binding.clone()),
                    binding,
                    mapper,
                    feed,
                };
                let answer = state
                    .start_relay(&myself, arguments)
                    .await
                    .map_err(|error| {
                        tracing::error!(%error, "a relay could not be started");
                        unavailable
                    });
                let _caller_gone = reply.send(answer).is_err();
            }
            MemorySupervisorMsg::Ping { reply } => {
                let _caller_gone = reply.send(()).is_err();
            }
            MemorySupervisorMsg::GetChildren { reply } => {
                let children = Children {
                    relays: state
                        .relays
                        .iter()
                        .map(|relay| relay.actor.get_cell())
                        .collect(),
                    agents: state
                        .arguments
                        .directory
                        .list_agents()
                        .iter()
                        .filter_map(|agent| Some(agent.actor()?.get_cell()))
                        .collect(),
                };
                let _caller_gone = reply.send(children).is_err();
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(who, _, reason)
                if reason.as_deref() == Some("killed") =>
            {
                state
                    .restart_child(&myself, who.get_id(), "it was killed")
                    .await;
            }
            SupervisionEvent::ActorTerminated(who, _, _) => state.remove_child(who.get_id()),
            SupervisionEvent::ActorFailed(who, error) => {
                let why = error.to_string();
                state.restart_child(&myself, who.get_id(), &why).await;
            }
            _ => {}
        }
        Ok(())
    }
}

#[derive(Debug)]
pub enum MemorySupervisorMsg {
    /// Returns the memory of a user, which is started if it does not run.
    GetOrCreate {
        user: UserId,
        /// Receives its handle; the file may still be opening.
        reply: RpcReplyPort<Result<MemoryHandle, MemoryError>>,
    },
    /// Starts a relay from a source of events to a user's memory.
    StartRelay {
        binding: SourceBinding,
        mapper: Arc<EventMapper>,
        /// Creates the feed; called again after a restart.
        feed: FeedSource,
        reply: RpcReplyPort<Result<RelayHandle, MemoryError>>,
    },
    Ping {
        /// Receives the reply to the ping.
        reply: RpcReplyPort<()>,
    },
    /// Returns every running child, for the shutdown.
    GetChildren { reply: RpcReplyPort<Children> },
}

#[derive(Debug, Default)]
pub struct Children {
    pub(crate) relays: Vec<ActorCell>,
    pub(crate) agents: Vec<ActorCell>,
}
