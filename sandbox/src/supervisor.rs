//! The supervision tree: application over session over memory, conductors and workers.

mod application;
mod dispatch;
mod per_user;
mod session;
mod workers;

pub use application::{
    ApplicationArguments, ApplicationState, ApplicationSupervisor, ApplicationSupervisorMsg,
};
pub use dispatch::Workers;
pub use per_user::{ArgumentsOf, PerUserMsg, PerUserState, PerUserSupervisor};
pub use session::{SessionArguments, SessionState, SessionSupervisor, SessionSupervisorMsg};
pub use workers::WorkersConfig;
#[cfg(test)]
pub(crate) use workers::{Shared, WorkerTree};
