//! What every handler can reach.

use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use reprise_operations::{Catalogue, Memories};
use reprise_types::UserId;

use super::door::PageDoor;
use super::metrics::Metrics;
use super::rate::Rates;
use crate::daemon::Life;
use crate::oauth::Oauth;
use crate::tokens::TokenFile;

/// Longest body that is read, in bytes.
pub(crate) const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What every handler can reach. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) memories: Memories,
    pub(crate) catalogue: Catalogue,
    /// Whose memory it is where a request does not say.
    pub(crate) user: Option<UserId>,
    pub(crate) life: Arc<Life>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) tokens: Arc<TokenFile>,
    /// How programs sign in, where they may.
    pub(crate) oauth: Option<Arc<Oauth>>,
    pub(crate) rates: Arc<Rates>,
    pub(crate) page: Arc<PageDoor>,
    /// `/openapi.json`, made once: whoever asks for it needs no token.
    pub(crate) description: Arc<OnceLock<Bytes>>,
}
