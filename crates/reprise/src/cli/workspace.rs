//! Governed workspaces: the program `reprise-workspace` serves them, and is started for the first
//! request (ADR 0054).

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use reprise_types::lock;
use reprise_workspace_operations::{GovernedWorkspaces, TreeHost};
use reprise_workspace_types::{
    NumberedAnswer, NumberedRequest, TreeError, TreeErrorKind, TreeRequest,
};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};

use crate::cli::Context;
use crate::plugin::{self, WORKSPACE};

/// Most requests that the program works on at once.
const REQUESTS_MAX: usize = 64;

type Answer = Result<Value, TreeError>;

/// Returns the registered workspaces, which the program serves.
pub(super) fn governed_workspaces(context: &Context) -> GovernedWorkspaces {
    let host: Arc<dyn TreeHost> = Arc::new(TreeProgram::default());
    GovernedWorkspaces::new(context.config.workspaces.clone(), host)
}

/// The program of workspaces, running or not. It ends with this process, after what it has begun.
#[derive(Debug, Default)]
struct TreeProgram {
    /// Channel to the running program; closed when that has ended.
    requests: Mutex<Option<RequestSender>>,
}

type RequestSender = mpsc::Sender<(TreeRequest, oneshot::Sender<Answer>)>;

#[async_trait]
impl TreeHost for TreeProgram {
    async fn ask(&self, request: TreeRequest) -> Answer {
        let ended =
            || unavailable_error("`reprise-workspace` ended before it answered; see the log");
        let (reply, answer) = oneshot::channel();
        let requests = self.ensure_started()?;
        requests.send((request, reply)).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}

impl TreeProgram {
    /// Starts the program where it does not run.
    fn ensure_started(&self) -> Result<RequestSender, TreeError> {
        let mut requests = lock(&self.requests);
        if let Some(open) = requests.as_ref().filter(|open| !open.is_closed()) {
            return Ok(open.clone());
        }
        let program =
            plugin::find(&WORKSPACE).map_err(|missing| unavailable_error(missing.to_string()))?;
        let mut command = Command::new(&program);
        // In a group of its own a signal that ends the daemon does not end what it has begun.
        command.arg("serve").process_group(0);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let child = started.map_err(|error| {
            unavailable_error(format!("`{}` does not start: {error}", program.display()))
        })?;
        let (sender, receiver) = mpsc::channel(REQUESTS_MAX);
        tokio::spawn(pass_requests(child, receiver));
        *requests = Some(sender.clone());
        Ok(sender)
    }
}

fn unavailable_error(said: impl Into<String>) -> TreeError {
    TreeError::new(TreeErrorKind::Unavailable, said)
}

/// Passes requests to the program and its answers back, until one of the two sides ends.
async fn pass_requests(
    mut program: Child,
    mut requests: mpsc::Receiver<(TreeRequest, oneshot::Sender<Answer>)>,
) {
    let (Some(mut input), Some(output)) = (program.stdin.take(), program.stdout.take()) else {
        return;
    };
    let mut answers = BufReader::new(output).lines();
    let mut waiting = HashMap::new();
    let mut number = 0_u64;
    loop {
        tokio::select! {
            next = requests.recv(), if waiting.len() < REQUESTS_MAX => {
                let Some((request, reply)) = next else { break };
                number += 1;
                let request = NumberedRequest { number, request };
                let Ok(mut line) = serde_json::to_vec(&request) else { continue };
                line.push(b'\n');
                waiting.insert(number, reply);
                if input.write_all(&line).await.is_err() {
                    break;
                }
            }
            line = answers.next_line() => {
                let Ok(Some(line)) = line else { break };
                let Ok(answered) = serde_json::from_str::<NumberedAnswer>(&line) else { break };
                if let Some(reply) = waiting.remove(&answered.number) {
                    // Who asked may have gone.
                    drop(reply.send(answered.answer));
                }
            }
        }
    }
}
