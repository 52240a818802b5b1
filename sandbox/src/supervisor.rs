//! The supervision tree: application over session over memory, conductors and workers.

mod application;
mod per_user;
mod session;
mod workers;

use ractor::{ActorId, SupervisionEvent};

pub use application::{
    ApplicationArguments, ApplicationState, ApplicationSupervisor, ApplicationSupervisorMsg,
};
pub use per_user::{ArgumentsOf, PerUserMsg, PerUserState, PerUserSupervisor};
pub use session::{SessionArguments, SessionState, SessionSupervisor, SessionSupervisorMsg};
#[cfg(test)]
pub(crate) use workers::{Shared, WorkerTree};
pub use workers::{Workers, WorkersConfig};

/// Which child ended, and why; `None` where none did.
fn ended(event: SupervisionEvent) -> Option<(ActorId, String)> {
    match event {
        SupervisionEvent::ActorFailed(who, error) => Some((who.get_id(), error.to_string())),
        SupervisionEvent::ActorTerminated(who, _, reason) => {
            let why = reason.unwrap_or_else(|| "it ended".to_owned());
            Some((who.get_id(), why))
        }
        _ => None,
    }
}
