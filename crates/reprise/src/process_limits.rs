//! What the limits of this process (`ulimit`) mean for it: a file that may not grow fails a write
//! and ends no program, and a command does not begin in an address space that is too small for it.

use std::sync::Arc;

use rustix::process::{Resource, getrlimit};

use crate::env;

/// Address space in which the allocator may reserve a part (64 MB with glibc) for each thread.
const AMPLE_BYTES: u64 = 8 << 30;
/// Address space that a command needs in addition to what is in use at its start: stacks of its
/// threads, a small memory, and its index.
const COMMAND_BYTES: u64 = 64 << 20;
/// How many parts glibc's allocator reserves.
const ARENAS: &str = "MALLOC_ARENA_MAX";
const MEGABYTE: u64 = 1 << 20;

/// Prepares this process for its limits. Call it first: the process may be restarted.
pub(crate) fn prepare_process() {
    let limit = address_space_limit().unwrap_or(u64::MAX);
    if limit < AMPLE_BYTES && !env::is_set(ARENAS) {
        env::restart_with_environment([(ARENAS, "1")]);
    }
    // Once a signal is handled it ends no process: the write that is too large fails and says so.
    let noted = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    if let Err(failed) = noted {
        tracing::debug!(%failed, "a limit on the size of files ends this program");
    }
}

/// Fails if a command would run out of address space, which nothing can report once it has
/// happened.
pub(crate) fn check_address_space() -> anyhow::Result<()> {
    let Some(limit) = address_space_limit() else {
        return Ok(());
    };
    let used = used_address_space().unwrap_or(0);
    let left = limit.saturating_sub(used);
    anyhow::ensure!(
        left >= COMMAND_BYTES,
        "the limit on address space (`ulimit -v`) leaves {} MB of the {} MB that a command needs; \
         raise it to {} or more",
        left / MEGABYTE,
        COMMAND_BYTES / MEGABYTE,
        // The shell counts kilobytes.
        (used + COMMAND_BYTES).div_ceil(1024),
    );
    Ok(())
}

/// Returns how many bytes this process may map; `None` without a limit.
fn address_space_limit() -> Option<u64> {
    getrlimit(Resource::As).current
}

/// Returns how many bytes this process has mapped, where the system says it.
fn used_address_space() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let size = status
        .lines()
        .find_map(|line| line.strip_prefix("VmSize:"))?;
    let kilobytes: u64 = size.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
