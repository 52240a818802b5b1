//! The supervision tree: application over session over memory, conductors and workers.

mod application;
mod dispatch;
mod per_user;
mod session;
mod workers;

use ractor::{ActorId, SupervisionEvent};

use crate::app_config::AppConfig;
use crate::prelude::*;

pub use application::{ApplicationState, ApplicationSupervisor, ApplicationSupervisorMsg};
pub use dispatch::WorkerSupervisors;
pub use per_user::{ArgumentsFactory, PerUserMsg, PerUserState, PerUserSupervisor};
pub use session::{SessionArguments, SessionState, SessionSupervisor, SessionSupervisorMsg};
pub use workers::WorkersConfig;
#[cfg(test)]
pub(crate) use workers::{WorkerResources, WorkerTree};

#[derive(Debug, Clone)]
pub struct ApplicationArguments {
    /// The event log, which outlives the tree.
    pub store: ActorRef<EventStoreMsg>,
    pub config: AppConfig,
}

/// Returns which child ended, and why; `None` if the event is another one.
fn find_ended_child(event: SupervisionEvent) -> Option<(ActorId, String)> {
    match event {
        SupervisionEvent::ActorFailed(who, error) => Some((who.get_id(), error.to_string())),
        SupervisionEvent::ActorTerminated(who, _, reason) => {
            let why = reason.unwrap_or_else(|| "it ended".to_owned());
            Some((who.get_id(), why))
        }
        _ => None,
    }
}
