//! The supervision tree: application over session over memory.
//!
//! Lives here: who starts whom, who is restarted and how often. Must never live here: the work.

mod application;
mod budget;
mod session;

pub use application::{
    ApplicationArguments, ApplicationState, ApplicationSupervisor, ApplicationSupervisorMsg,
};
pub use session::{SessionArguments, SessionState, SessionSupervisor, SessionSupervisorMsg};
