//! What every handler of the service reaches, and over what its operations run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reprise_global::{Caller, GlobalError, GlobalStore};
use reprise_operations::OperationContext;
use tokio::sync::{Mutex, Semaphore};

use super::access::{AccessLog, MinuteQuotas};
use super::limit::QuestionLimit;
use super::people::People;
use crate::http::{Metrics, Rates, Refusal};
use crate::tokens::ServiceTokens;

/// So long a look at the store holds.
const CHECK_LASTS: Duration = Duration::from_secs(1);

/// What every handler can reach.
#[derive(Clone)]
pub(super) struct ServiceState {
    pub(super) store: Arc<dyn GlobalStore>,
    pub(super) tokens: ServiceTokens,
    pub(super) people: Option<People>,
    pub(super) minutes: Arc<MinuteQuotas>,
    pub(super) access: Option<AccessLog>,
    pub(super) rates: Arc<Rates>,
    pub(super) places: Arc<Semaphore>,
    pub(super) questions: QuestionLimit,
    pub(super) metrics: Arc<Metrics>,
    pub(super) ready: Arc<Readiness>,
}

reprise_types::show_fields!(ServiceState {});

/// Who asks an operation of the service, which is what the token says: no body and no header can
/// say otherwise.
#[derive(Debug)]
pub struct ServiceContext {
    pub(super) state: ServiceState,
    pub(super) caller: Caller,
}

impl OperationContext for ServiceContext {
    type Error = Refusal;
}

/// The last look at the store, and what came of it. A probe has no token and takes no place:
/// the store is checked once a second for all of them.
#[derive(Debug, Default)]
pub(super) struct Readiness(Mutex<Option<(Instant, Result<(), GlobalError>)>>);

impl Readiness {
    /// Checks the store; callers that come while a check runs wait for its result.
    pub(super) async fn check(&self, store: &dyn GlobalStore) -> Result<(), GlobalError> {
        let mut last = self.0.lock().await;
        if let Some((at, seen)) = &*last
            && at.elapsed() < CHECK_LASTS
        {
            return seen.clone();
        }
        let seen = store.check_ready().await;
        *last = Some((Instant::now(), seen.clone()));
        seen
    }
}
