//! Dispatch of a conductor's tasks to the user's workers.

use ractor::{ActorRef, call_t};
use reprise_types::UserId;

use super::per_user::PerUserMsg;
use crate::actors::{Capability, RunError, TurnContext, WorkerMsg, WorkerReport};

/// Time limit of a worker's turn: longer than that of any command.
const WORKER_MS: u64 = 15 * 60 * 1_000;
/// Time limit for starting a worker.
const START_MS: u64 = 30_000;

/// The supervisors of the workers.
#[derive(Debug, Clone)]
pub struct Workers {
    pub(super) terminal: ActorRef<PerUserMsg<WorkerMsg>>,
    pub(super) researcher: ActorRef<PerUserMsg<WorkerMsg>>,
    pub(super) writer: ActorRef<PerUserMsg<WorkerMsg>>,
}

impl Workers {
    /// Runs one turn of the user's worker for this task.
    pub async fn call(&self, user: &UserId, turn: TurnContext) -> Result<WorkerReport, RunError> {
        let capability = turn.task.capability();
        let supervisor = match capability {
            Capability::Terminal => &self.terminal,
            Capability::Researcher => &self.researcher,
            Capability::Writer => &self.writer,
        };
        let gone = |message: String| RunError::Gone {
            who: capability.name(),
            message,
        };
        let user_id = user.clone();
        let get = |reply| PerUserMsg::GetOrCreate { user_id, reply };
        let worker =
            call_t!(supervisor, get, START_MS).map_err(|error| gone(error.to_string()))??;
        let report = call_t!(worker, |reply| WorkerMsg::Run { turn, reply }, WORKER_MS);
        Ok(report.map_err(|error| gone(error.to_string()))??)
    }
}
