//! What most commands of this program use.

pub(crate) use std::io::{self, Write};
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::sync::Arc;

pub(crate) use anyhow::Context as _;
pub(crate) use reprise::plugin::output::list;
pub(crate) use reprise::plugin::{self, Context, Exit, note, output, terminal};
pub(crate) use reprise_operations::format_count;
pub(crate) use reprise_types::{MemoryRecord, SystemClock, UserId};
pub(crate) use serde_json::{Value, json};

/// Prints a line on stderr, formatted.
macro_rules! tell {
    ($($text:tt)+) => { $crate::prelude::note(&format!($($text)+)) };
}
pub(crate) use tell;
