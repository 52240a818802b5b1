//! The async runtimes of commands.

use anyhow::Context as _;

/// A runtime for one command.
pub(super) fn threaded() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder
        .enable_all()
        .build()
        .context("the async runtime could not be started")
}

/// A runtime for a command that asks the daemon and does nothing itself: on this thread, so that no
/// answer wakes another one first.
pub(super) fn asking() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder
        .enable_all()
        .build()
        .context("the async runtime could not be started")
}
