//! The async runtimes of commands.

use std::ops::Deref;

use crate::cli::prelude::*;

/// Runtime that waits for nothing when it is dropped: accepted data is on disk once its operation
/// has returned, and a service that does not answer must not delay the end of the command.
#[derive(Debug)]
pub struct Runtime(Option<tokio::runtime::Runtime>);

impl Deref for Runtime {
    type Target = tokio::runtime::Runtime;

    fn deref(&self) -> &Self::Target {
        let Self(Some(runtime)) = self else {
            unreachable!("it is taken by its end alone")
        };
        runtime
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Returns a multi-threaded runtime for one command.
pub fn build_threaded() -> anyhow::Result<Runtime> {
    build_runtime(&mut tokio::runtime::Builder::new_multi_thread())
}

fn build_runtime(builder: &mut tokio::runtime::Builder) -> anyhow::Result<Runtime> {
    let runtime = builder.enable_all().build();
    let runtime = runtime.context("the async runtime could not be started")?;
    Ok(Runtime(Some(runtime)))
}

/// Returns a runtime on this thread for a command that only asks the daemon, so that no answer has
/// to wake another thread.
pub(super) fn build_single_threaded() -> anyhow::Result<Runtime> {
    build_runtime(&mut tokio::runtime::Builder::new_current_thread())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_end_of_a_command_waits_for_no_service_that_does_not_answer() {
        let (answer, silent) = mpsc::channel::<()>();
        let (began, begun) = mpsc::channel();
        let runtime = build_threaded().unwrap();
        let asked = runtime.spawn_blocking(move || {
            began.send(()).unwrap();
            silent.recv()
        });
        begun.recv().unwrap();
        drop(runtime);
        // Were it waited for, this line would not be reached.
        assert!(!asked.is_finished());
        answer.send(()).unwrap();
    }
}
