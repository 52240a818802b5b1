//! The actor that starts, restarts and looks up agents and relays.

mod directory;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ractor::{
    Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent,
};
use reprise_types::{MemoryError, RestartBudget, UserId};

use crate::agent::{MemoryAgent, MemoryAgentArguments, Requests};
use crate::config::MemoryConfig;
use crate::embedder::EmbedPool;
use crate::handle::AgentHandle;
use crate::relay::{
    FeedSource, Mapper, MemoryEventRelay, MemoryEventRelayArguments, RelayHandle, RelayMsg,
    SourceBinding,
};
use crate::service::Stages;

pub(crate) use directory::{ANSWER_MS, Directory};

#[derive(Debug)]
pub struct MemorySupervisor;

#[derive(Debug, Clone)]
pub struct MemorySupervisorArguments {
    pub(crate) config: Arc<MemoryConfig>,
    pub(crate) pool: EmbedPool,
    pub(crate) directory: Arc<Directory>,
    pub(crate) stages: Arc<Stages>,
}

struct Relay {
    actor: ActorRef<RelayMsg>,
    arguments: MemoryEventRelayArguments,
}

/// The children, by user and stream.
pub struct MemorySupervisorState {
    arguments: MemorySupervisorArguments,
    agents: BTreeMap<UserId, AgentHandle>,
    relays: Vec<Relay>,
    budgets: BTreeMap<UserId, RestartBudget>,
    relay_budget: RestartBudget,
}

reprise_types::show_fields!(MemorySupervisorState {});

impl MemorySupervisorState {
    async fn get_or_create(
        &mut self,
        myself: &ActorRef<MemorySupervisorMsg>,
        user: UserId,
    ) -> Result<AgentHandle, MemoryError> {
        if let Some(agent) = self.agents.get(&user)
            && !agent.is_closed()
        {
            return Ok(agent.clone());
        }
        let unavailable = MemoryError::unavailable(&user);
        let budget = self.budgets.get_mut(&user);
        if budget.is_some_and(|budget| !budget.try_again(Instant::now())) {
            return Err(unavailable);
        }
        self.make_room();
        self.start_agent(myself, &user).await.map_err(|error| {
            tracing::error!(%user, %error, "an agent could not be started");
            unavailable
        })
    }

    /// Where the limit of open memories is reached, passivates those idle for longest.
    fn make_room(&self) {
        let limits = &self.arguments.config.limits;
        let open = self.agents.values().filter(|agent| !agent.is_closed());
        let mut open: Vec<_> = open.map(|agent| (agent.idle(), agent)).collect();
        let crowd = (open.len() + 1).saturating_sub(limits.open_max);
        open.retain(|(idle, _)| *idle >= limits.crowded_out_after);
        open.sort_by_key(|(idle, _)| std::cmp::Reverse(*idle));
        let crowd = open.into_iter().take(crowd);
        for actor in crowd.filter_map(|(_, agent)| agent.actor()) {
            let _already = actor.drain().is_err();
        }
    }

    async fn start_agent(
        &mut self,
        myself: &ActorRef<MemorySupervisorMsg>,
        user: &UserId,
    ) -> Result<AgentHandle, ActorProcessingErr> {
        let shared = self.arguments.clone();
        let queue_max = shared.config.limits.writer_queue_max;
        let (handle, jobs) = AgentHandle::new(user.clone(), queue_max);
        let requests = Requests {
            pool: shared.config.pool_for(&shared.pool, user),
            config: shared.config,
            stages: shared.stages,
            directory: shared.directory,
            handle,
        };
        let (handle, directory) = (requests.handle.clone(), Arc::clone(&requests.directory));
        let arguments = MemoryAgentArguments {
            gate: directory.gate(user),
            requests,
            jobs,
        };
        MemoryAgent::spawn_linked(None, MemoryAgent, arguments, myself.get_cell()).await?;
        directory.set_agent(&handle);
        self.agents.insert(user.clone(), handle.clone());
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
        self.relays.push(Relay { actor, arguments });
        Ok(handle)
    }

    /// Removes a child that ended normally; the next request starts it again.
    fn remove(&mut self, ended: ActorId) {
        self.agents.retain(|_, agent| !is_of(agent, ended));
        // Its memory is freed with its last handle.
        self.arguments.directory.drop_closed();
        self.relays.retain(|relay| relay.actor.get_id() != ended);
    }

    /// Restarts a failed child, from disk, within its restart budget. Where that fails too, the
    /// next request retries: one user's failure never affects the others.
    async fn replace(&mut self, myself: &ActorRef<MemorySupervisorMsg>, ended: ActorId, why: &str) {
        let now = Instant::now();
        let failed = self.agents.values().find(|agent| is_of(agent, ended));
        if let Some(agent) = failed.cloned() {
            let user = agent.user().clone();
            self.agents.remove(&user);
            agent.close();
            let within = self.budgets.entry(user.clone()).or_default().take(now);
            tracing::error!(%user, why, within, "an agent failed");
            if within && let Err(error) = self.start_agent(myself, &user).await {
                tracing::error!(%user, %error, "an agent could not be started again");
            }
        } else if let Some(at) = self.relays.iter().position(|r| r.actor.get_id() == ended) {
            let relay = self.relays.swap_remove(at);
            let within = self.relay_budget.take(now);
            tracing::error!(binding = ?relay.arguments.binding, why, within, "a relay failed");
            if within && let Err(error) = self.start_relay(myself, relay.arguments).await {
                tracing::error!(%error, "a relay could not be started again");
            }
        }
    }
}

/// Whether a memory is that of this actor, which it has from its start on.
fn is_of(agent: &AgentHandle, actor: ActorId) -> bool {
    agent.actor().is_some_and(|own| own.get_id() == actor)
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
            agents: BTreeMap::new(),
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
                let _left = reply.send(answer).is_err();
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
                let _left = reply.send(answer).is_err();
            }
            MemorySupervisorMsg::Ping { reply } => {
                let _left = reply.send(()).is_err();
            }
            MemorySupervisorMsg::GetChildren { reply } => {
                let children = Children {
                    relays: state
                        .relays
                        .iter()
                        .map(|relay| relay.actor.get_cell())
                        .collect(),
                    agents: state
                        .agents
                        .values()
                        .filter_map(|agent| Some(agent.actor()?.get_cell()))
                        .collect(),
                };
                let _left = reply.send(children).is_err();
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
                state.replace(&myself, who.get_id(), "it was killed").await;
            }
            SupervisionEvent::ActorTerminated(who, _, _) => state.remove(who.get_id()),
            SupervisionEvent::ActorFailed(who, error) => {
                let why = error.to_string();
                state.replace(&myself, who.get_id(), &why).await;
            }
            _ => {}
        }
        Ok(())
    }
}

#[derive(Debug)]
pub enum MemorySupervisorMsg {
    /// The memory of a user, started where it does not run.
    GetOrCreate {
        user: UserId,
        /// Its handle; the file may still be opening.
        reply: RpcReplyPort<Result<AgentHandle, MemoryError>>,
    },
    /// Starts a relay from a source of events to a user's memory.
    StartRelay {
        binding: SourceBinding,
        mapper: Arc<Mapper>,
        /// Creates the feed; called again after a restart.
        feed: FeedSource,
        reply: RpcReplyPort<Result<RelayHandle, MemoryError>>,
    },
    Ping {
        /// Answers a ping.
        reply: RpcReplyPort<()>,
    },
    /// Every running child, for the shutdown.
    GetChildren { reply: RpcReplyPort<Children> },
}

#[derive(Debug, Default)]
pub struct Children {
    pub(crate) relays: Vec<ActorCell>,
    pub(crate) agents: Vec<ActorCell>,
}
