//! What most commands of this program use.

pub(crate) use std::io::{BufReader, Write};
pub(crate) use std::path::PathBuf;
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use anyhow::{Context as _, anyhow, bail};
pub(crate) use reprise::plugin::{Context, Exit, confirm, global, input, note, output, runtime};
pub(crate) use reprise_operations::format_count;
pub(crate) use reprise_types::{Clock, SystemClock, UserId};
pub(crate) use serde_json::json;
