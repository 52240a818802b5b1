//! Whether the store can be asked. A probe has no token and takes no place: whoever they are, the
//! store is looked at once a second for all of them.

use std::time::{Duration, Instant};

use reprise_global::{GlobalError, GlobalStore};
use tokio::sync::Mutex;

/// So long a look holds.
const HOLDS: Duration = Duration::from_secs(1);

/// The last look at the store, and what came of it.
#[derive(Debug, Default)]
pub(super) struct Readiness(Mutex<Option<(Instant, Result<(), GlobalError>)>>);

impl Readiness {
    /// Those who ask while somebody looks wait for what he sees.
    pub(super) async fn look(&self, store: &dyn GlobalStore) -> Result<(), GlobalError> {
        let mut last = self.0.lock().await;
        if let Some((at, seen)) = &*last
            && at.elapsed() < HOLDS
        {
            return seen.clone();
        }
        let seen = store.answers().await;
        *last = Some((Instant::now(), seen.clone()));
        seen
    }
}
