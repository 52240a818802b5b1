//! The daemon, as the configuration sets it up.

use std::net::SocketAddr;
use std::num::NonZeroU32;

use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServeTable {
    /// As `--http`.
    pub(crate) http: Option<SocketAddr>,
    /// As `--idle-exit`.
    pub(crate) idle_exit_seconds: Option<u64>,
    /// As `--requests-per-second`.
    pub(crate) requests_per_second: Option<NonZeroU32>,
    /// As `--otlp`.
    pub(crate) otlp: Option<String>,
    /// How programs sign in; without an issuer in it the daemon is its own.
    pub(crate) oauth: Option<OauthTable>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OauthTable {
    /// Address by which clients reach the daemon behind a proxy.
    pub(crate) url: Option<String>,
    /// Issuer whose tokens are accepted.
    pub(crate) issuer: Option<String>,
    /// Audience of accepted tokens; by default the address of MCP under `url`.
    pub(crate) audience: Option<String>,
    /// Claim that contains the user.
    pub(crate) user_claim: Option<String>,
    /// Scopes that a token must have.
    pub(crate) scopes: Vec<String>,
}
