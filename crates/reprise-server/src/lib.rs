//! The faces of memory: one daemon with one protocol, and the clients that speak it.
//!
//! What can be asked is the catalogue of `reprise-operations`; here are the protocols: HTTP, MCP,
//! the daemon's life, the client. No rule about memory, no actor, no command line.
//!
//! # Examples
//!
//! ```no_run
//! use std::path::Path;
//!
//! use reprise_server::{Call, Client, DaemonPaths};
//! use serde_json::{Value, json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The daemon of this data directory, over its socket.
//! let client = Client::new(DaemonPaths::new(Path::new("/home/ada/.local/share/reprise"), None));
//! let asked = json!({ "query": "how was the auth race fixed" });
//! let answer: Value = client.ask(&Call::post("/v1/users/ada/recall", &asked)).await?;
//! assert!(answer["results"].is_array());
//! # Ok(())
//! # }
//! ```

mod client;
mod daemon;
mod global;
mod hooks;
mod http;
mod issuer;
mod mcp;
mod oauth;
mod page;
mod place;
mod program;
mod rates;
#[cfg(test)]
mod testing;
mod tokens;

pub use client::{Call, Client, Remote, Starter, reap_in_background};
pub use daemon::{Daemon, DaemonError, DaemonExit, DaemonOptions};

pub use global::{
    AccessLog, DEADLINE_HEADER, GlobalService, GlobalServiceOptions, People, PeopleSettings,
    ServiceContext, arguments as service_arguments, operations as service_operations,
};
pub use hooks::{HOOK_TOOL, HookCall, HookProgram, HookResponder, HookTrigger};
pub use issuer::{Claims, Fetch, Issuer, IssuerSettings, TokenRefused};
pub use mcp::{McpServer, ProjectNaming, SKILL, names_project};
pub use oauth::OauthOptions;
pub use page::backups::{CopyEntry, CopyForm, CopyStamp};
pub use place::{BACKUP_LIST_FILE, DaemonPaths, DaemonPathsError};
pub use program::ProgramCommand;
pub use reprise_operations::Right;
pub use reprise_page::{AgentProgram, Setting};
pub use tokens::{
    Grant, KnownToken, Member, NewToken, Scope, ServiceTokens, TokenEntry, TokenError, TokenFile,
    generate_link_name,
};
