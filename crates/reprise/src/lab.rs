//! What measurements use: settings, memories, models and hosts as the commands open them.

pub use crate::args::Common;
pub use crate::cli::global::{build_remote_store_at, embedded};
pub use crate::cli::host::{Host, find_evaluation_models};
pub use crate::cli::model::{self, EmbedderSource, Judge};
pub use crate::cli::output::{self, Out};
pub use crate::cli::runtime::{self, Runtime};
pub use crate::cli::serve::config as memory_config;
pub use crate::cli::store::{DIMENSIONS, open_for_reading as open_to_read};
pub use crate::cli::{Context, Exit};
pub use crate::env::restart_without_telemetry;
pub use crate::printer::print_failure;
pub use crate::trace::{Tracing, start_for_command as start_logging};
