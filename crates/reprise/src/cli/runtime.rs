//! The async runtimes of commands.

use std::ops::Deref;
use std::sync::{Condvar, PoisonError};

use crate::cli::prelude::*;

/// How long an end waits for threads that are within a model.
const MODEL_ENDS: Duration = Duration::from_secs(5);
/// How many threads are within a model, and the news that there are fewer.
static MODEL_WORK: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Work of a thread within a model, until it is dropped. The process does not end meanwhile: ONNX
/// Runtime frees what it works on then, and the process would die of it.
#[derive(Debug)]
pub(super) struct ModelWork(());

impl ModelWork {
    pub(super) fn begin() -> Self {
        *lock(&MODEL_WORK.0) += 1;
        Self(())
    }
}

impl Drop for ModelWork {
    fn drop(&mut self) {
        *lock(&MODEL_WORK.0) -= 1;
        MODEL_WORK.1.notify_all();
    }
}

fn wait_for_model_work() {
    let (count, fewer) = &MODEL_WORK;
    let waited = fewer.wait_timeout_while(lock(count), MODEL_ENDS, |count| *count > 0);
    drop(waited.unwrap_or_else(PoisonError::into_inner));
}

/// Runtime that waits for nothing but a model when it is dropped: accepted data is on disk once its
/// operation has returned, and a service that does not answer must not delay the end of the
/// command.
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
            wait_for_model_work();
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
    use std::sync::atomic::{AtomicBool, Ordering};
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

    #[test]
    fn the_end_of_a_command_waits_for_a_thread_that_opens_a_model() {
        let (begun, is_begun) = mpsc::channel();
        let is_open = Arc::new(AtomicBool::new(false));
        let opened = Arc::clone(&is_open);
        let runtime = build_threaded().unwrap();
        runtime.spawn_blocking(move || {
            let _work = ModelWork::begin();
            begun.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(200));
            opened.store(true, Ordering::SeqCst);
        });
        is_begun.recv().unwrap();
        drop(runtime);
        assert!(is_open.load(Ordering::SeqCst));
    }
}
