//! The faces of memory: one daemon with one protocol, and the clients that speak it.
//!
//! What can be asked is the catalogue of `reprise-operations`; here are the protocols: HTTP, MCP,
//! the daemon's life, the client. No rule about memory, no actor, no command line.

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
#[cfg(test)]
mod testing;
mod tokens;

pub use client::{Call, Client, Remote, Starter};
pub use daemon::{Daemon, DaemonError, DaemonOptions, Ended};

pub use global::{
    AccessLog, GlobalService, GlobalServiceError, GlobalServiceOptions, People, PeopleSettings,
};
pub use hooks::{HookProgram, Moment};
pub use issuer::{Claims, Fetch, Issuer, IssuerSettings, TokenRefused};
pub use mcp::{McpFace, SKILL};
pub use oauth::OauthOptions;
pub use place::{Place, PlaceError};
pub use reprise_page::Setting;
pub use tokens::{
    Grant, KnownToken, NewToken, Right, Scope, ServiceTokens, TokenEntry, TokenError, TokenFile,
};
