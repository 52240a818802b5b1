//! The root of the tree: the bus, the relay and the session.
//!
//! Bus and relay are restarted together: a relay without its bus has nowhere to publish, and a new
//! bus needs the log replayed.

use ractor::SupervisionEvent;
use reprise_types::RestartBudget;

use super::ApplicationArguments;
use super::session::{SessionArguments, SessionSupervisor, SessionSupervisorMsg};
use crate::event_bus::EventBusActor;
use crate::event_relay::{EventRelayActor, EventRelayArguments, EventRelayMsg};
use crate::prelude::*;

/// Time limit for draining the bus and the relay.
const DRAIN: Duration = Duration::from_secs(5);
/// Time limit for draining the session: memory shuts down in five steps, each with its own limit.
const SESSION_DRAIN: Duration = Duration::from_mins(3);

#[derive(Debug)]
pub struct ApplicationSupervisor;

#[derive(Debug)]
pub enum ApplicationSupervisorMsg {
    Session(SessionSupervisorMsg),
    GetBus {
        /// The bus, which changes when it is restarted.
        reply: RpcReplyPort<ActorRef<EventBusMsg>>,
    },
}

/// The current children.
#[derive(Debug)]
pub struct ApplicationState {
    arguments: ApplicationArguments,
    bus: watch::Sender<ActorRef<EventBusMsg>>,
    relay: ActorRef<EventRelayMsg>,
    session: ActorRef<SessionSupervisorMsg>,
    budget: RestartBudget,
}

impl ApplicationArguments {
    async fn start_relay(
        &self,
        myself: &ActorRef<ApplicationSupervisorMsg>,
        bus: &ActorRef<EventBusMsg>,
    ) -> Result<ActorRef<EventRelayMsg>, ActorProcessingErr> {
        let arguments = EventRelayArguments {
            store: self.store.clone(),
            bus: bus.clone(),
            since_seq: 0,
            poll: self.config.poll,
            clock: Arc::clone(&self.config.clock),
        };
        let cell = myself.get_cell();
        let started = EventRelayActor::spawn_linked(None, EventRelayActor, arguments, cell);
        Ok(started.await?.0)
    }

    async fn start_session(
        &self,
        myself: &ActorRef<ApplicationSupervisorMsg>,
        bus: watch::Receiver<ActorRef<EventBusMsg>>,
    ) -> Result<ActorRef<SessionSupervisorMsg>, ActorProcessingErr> {
        let host = self.clone();
        let arguments = SessionArguments { host, bus };
        let cell = myself.get_cell();
        let started = SessionSupervisor::spawn_linked(None, SessionSupervisor, arguments, cell);
        Ok(started.await?.0)
    }
}

impl ApplicationState {
    /// Restarts a child that ended. If the restart budget is used up, it returns an error, which
    /// ends the tree.
    async fn restart_ended(
        &mut self,
        myself: &ActorRef<ApplicationSupervisorMsg>,
        ended: ractor::ActorId,
        why: &str,
    ) -> Result<(), ActorProcessingErr> {
        let bus_ended = self.bus.borrow().get_id() == ended;
        let relay_ended = self.relay.get_id() == ended;
        let session_ended = self.session.get_id() == ended;
        if !(bus_ended || relay_ended || session_ended) {
            return Ok(());
        }
        tracing::warn!(%ended, why, "a child ended; it is replaced");
        if !self.budget.try_restart(Instant::now()) {
            return Err(format!("too many restarts, the last because of: {why}").into());
        }
        if bus_ended {
            let old = self.relay.clone();
            let cell = myself.get_cell();
            let (bus, _) = EventBusActor::spawn_linked(None, EventBusActor, (), cell).await?;
            self.relay = self.arguments.start_relay(myself, &bus).await?;
            self.bus.send_replace(bus);
            if let Err(error) = old.drain_and_wait(Some(DRAIN)).await {
                tracing::debug!(%error, "the old relay had already ended");
            }
        } else if relay_ended {
            let bus = self.bus.borrow().clone();
            self.relay = self.arguments.start_relay(myself, &bus).await?;
        } else {
            self.session = self
                .arguments
                .start_session(myself, self.bus.subscribe())
                .await?;
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl Actor for ApplicationSupervisor {
    type Msg = ApplicationSupervisorMsg;
    type State = ApplicationState;
    type Arguments = ApplicationArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let cell = myself.get_cell();
        let (bus, _) = EventBusActor::spawn_linked(None, EventBusActor, (), cell).await?;
        let (bus, watched) = watch::channel(bus);
        // The session subscribes before the relay publishes, so that it has fewer events to catch
        // up with.
        let session = arguments.start_session(&myself, watched).await?;
        let now_bus = bus.borrow().clone();
        let relay = arguments.start_relay(&myself, &now_bus).await?;
        Ok(ApplicationState {
            arguments,
            bus,
            relay,
            session,
            budget: RestartBudget::default(),
        })
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ApplicationSupervisorMsg::Session(get) => {
                // If this fails, the dropped reply port tells the caller that the session is gone.
                let _receiver_gone = state.session.cast(get).is_err();
            }
            ApplicationSupervisorMsg::GetBus { reply } => {
                let _receiver_gone = reply.send(state.bus.borrow().clone()).is_err();
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
        match super::find_ended_child(event) {
            Some((who, why)) => state.restart_ended(&myself, who, &why).await,
            None => Ok(()),
        }
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // The tree shuts down from the edge inwards: publishing stops, then the session drains.
        for ended in [
            state.relay.drain_and_wait(Some(DRAIN)).await.err(),
            state
                .session
                .drain_and_wait(Some(SESSION_DRAIN))
                .await
                .err(),
        ]
        .into_iter()
        .flatten()
        {
            tracing::warn!(%ended, "a child did not end in time");
        }
        let bus = state.bus.borrow().clone();
        if let Err(error) = bus.drain_and_wait(Some(DRAIN)).await {
            tracing::warn!(%error, "the bus did not end in time");
        }
        Ok(())
    }
}
