//! What every handler of the service reaches, and over what its operations run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reprise_global::{AwaitedHandle, Caller, GlobalError, GlobalStore};
use reprise_operations::{OperationContext, Problem, ProblemKind};
use tokio::sync::{Mutex, Semaphore};

use super::limit::{MinuteQuotas, QuestionLimit};
use super::people::{AuthenticatedCaller, People};
use crate::http::{Metrics, OPENS_NOTHING, Rates, Refusal, SEND};
use crate::issuer::Issuer;
use crate::tokens::{Scope, ServiceTokens};

/// So long a look at the store holds.
const CHECK_LASTS: Duration = Duration::from_secs(1);

/// Where lines of the access log go.
pub type AccessLog = Arc<dyn Fn(&str) + Send + Sync>;

/// What every handler can reach.
#[derive(Clone)]
pub(super) struct ServiceState {
    pub(super) store: AwaitedHandle<dyn GlobalStore>,
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

impl ServiceState {
    /// Finds who asks with this token; the error says how to get one.
    pub(super) async fn authenticate(
        &self,
        token: Option<&str>,
    ) -> Result<AuthenticatedCaller, Problem> {
        let refused = |why: &str| {
            let detail = format!("{why}; `reprise global token add NAME` makes a token");
            Problem::new(ProblemKind::Unauthorized, detail)
        };
        let token = token.ok_or_else(|| refused(SEND))?;
        if let Some(people) = self.people.as_ref().filter(|_| Issuer::is_jwt(token)) {
            return people.authenticate(token).await;
        }
        let entry = self.tokens.recognise(token).await?;
        let entry = entry.ok_or_else(|| refused(OPENS_NOTHING))?;
        let (Scope::User(user), Some(grant)) = (entry.scope, entry.grant) else {
            return Err(Problem::new(
                ProblemKind::Forbidden,
                "this token is no user's; make one with `reprise global token add NAME --user USER`",
            ));
        };
        let org = grant.org.map(|org| org.parse()).transpose();
        Ok(AuthenticatedCaller {
            name: entry.name,
            caller: Caller {
                user,
                org: org.map_err(Problem::invalid)?,
                projects: grant.projects,
                paid: grant.paid,
            },
            may: grant.may,
        })
    }
}

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
    pub(super) async fn check(
        &self,
        store: &AwaitedHandle<dyn GlobalStore>,
    ) -> Result<(), GlobalError> {
        let mut last = self.0.lock().await;
        if let Some((at, seen)) = &*last
            && at.elapsed() < CHECK_LASTS
        {
            return seen.clone();
        }
        let seen = match store.get() {
            Ok(store) => store.check_ready().await,
            Err(error) => Err(error),
        };
        *last = Some((Instant::now(), seen.clone()));
        seen
    }
}
