//! What every handler can reach, and how fast one token may ask: so that one client's loop leaves
//! room for the others.

use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use reprise_operations::{Catalogue, Memories, Problem, ProblemKind};
use reprise_types::UserId;

use super::door::PageDoor;
use super::metrics::Metrics;
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

/// One bucket for each token that has asked; without a limit, none.
#[derive(Debug, Default)]
pub(crate) struct Rates(Option<DefaultKeyedRateLimiter<String>>);

impl Rates {
    /// At most so many requests a second for each token, and as many at once.
    pub(crate) fn new(a_second: Option<NonZeroU32>) -> Self {
        Self(a_second.map(|limit| RateLimiter::keyed(Quota::per_second(limit))))
    }

    /// Takes one from the token's bucket. The bucket holds a second's worth, so that an empty one
    /// has something again within a second.
    pub(crate) fn take(&self, token: &str) -> Result<(), Problem> {
        let Some(buckets) = &self.0 else {
            return Ok(());
        };
        buckets.check_key(&token.to_owned()).map_err(|_| {
            let said = "this token asks faster than it may; wait a second, or serve with a higher \
                 --requests-per-second";
            Problem::new(ProblemKind::Overloaded, said)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_has_a_bucket_of_its_own() {
        let rates = Rates::new(NonZeroU32::new(2));
        assert!(rates.take("a").is_ok() && rates.take("a").is_ok());
        let refused = rates.take("a").unwrap_err();
        assert_eq!(refused.kind, ProblemKind::Overloaded);
        assert!(rates.take("b").is_ok());
        let free = Rates::new(None);
        assert!((0..100).all(|_| free.take("a").is_ok()));
    }
}
