//! The dispatch of a conductor's tasks to workers.

use std::collections::BTreeMap;

use super::per_user::PerUserMsg;
use crate::actors::{Capability, WorkerMsg, WorkerReport};
use crate::prelude::*;

/// Time limit of a worker's turn, which is longer than that of any command.
const WORKER_MS: u64 = 15 * 60 * 1_000;
/// Time limit for starting a worker.
const START_MS: u64 = 30_000;

/// The supervisors of the workers of each kind.
#[derive(Debug, Clone)]
pub struct WorkerSupervisors(pub(super) BTreeMap<Capability, ActorRef<PerUserMsg<WorkerMsg>>>);

impl WorkerSupervisors {
    /// Runs one turn of the user's worker for this task.
    pub async fn run_turn(
        &self,
        user: &UserId,
        turn: TurnContext,
    ) -> Result<WorkerReport, RunError> {
        let capability = turn.task.capability();
        let no_answer =
            |error: &dyn std::fmt::Display| RunError::no_answer(capability.name(), error);
        let supervisor = self.0.get(&capability).ok_or(RunError::NoWorkers)?;
        let user_id = user.clone();
        let get = |reply| PerUserMsg::GetOrCreate { user_id, reply };
        let worker = call_t!(supervisor, get, START_MS).map_err(|error| no_answer(&error))??;
        let report = call_t!(worker, |reply| WorkerMsg::Run { turn, reply }, WORKER_MS);
        Ok(report.map_err(|error| no_answer(&error))??)
    }
}
