//! The async runtimes of commands.

use std::ops::Deref;

use crate::cli::prelude::*;

/// A runtime whose end waits for nothing: what a command has accepted is on disk when its operation
/// has answered, and a service that does not answer must not hold up its end.
pub(super) struct Runtime(Option<tokio::runtime::Runtime>);

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

/// A runtime for one command.
pub(super) fn threaded() -> anyhow::Result<Runtime> {
    built(&mut tokio::runtime::Builder::new_multi_thread())
}

fn built(builder: &mut tokio::runtime::Builder) -> anyhow::Result<Runtime> {
    let runtime = builder.enable_all().build();
    let runtime = runtime.context("the async runtime could not be started")?;
    Ok(Runtime(Some(runtime)))
}

/// A runtime for a command that asks the daemon and does nothing itself: on this thread, so that no
/// answer wakes another one first.
pub(super) fn asking() -> anyhow::Result<Runtime> {
    built(&mut tokio::runtime::Builder::new_current_thread())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_end_of_a_command_waits_for_no_service_that_does_not_answer() {
        let (answer, silent) = mpsc::channel::<()>();
        let (began, begun) = mpsc::channel();
        let runtime = threaded().unwrap();
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
