//! The demo's part of what may be typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DemoArguments {
    #[command(subcommand)]
    pub(crate) what: Option<DemoCommand>,
    /// The request that memory is asked about
    #[arg(default_value = "fix the bug in the auth module")]
    pub(crate) request: String,
    /// Keep the store in this directory instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Replay the days before the break, then wait to be killed (the demo starts itself so)
    #[arg(long, hide = true)]
    pub(crate) first_days: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DemoCommand {
    /// Work through three weeks with a host that remembers: what each week learns helps the next
    Week(WeekArguments),
    /// Go through ADR-008's checklist: agents and a person in one governed workspace
    Workspace(WorkspaceDemoArguments),
}

#[derive(Debug, Args)]
pub(crate) struct WeekArguments {
    /// Keep memory, event log and workspace in this directory instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct WorkspaceDemoArguments {
    /// Keep the workspace in this directory instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}
