//! What a request says, in its address and its body, and what requests and answers of the service
//! hold that no operation of the store has by itself.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Query, Request};
use axum::http::Uri;
use chrono::{DateTime, Utc};
use http_body_util::BodyExt;
use reprise_global::{
    Caller, Fate, GlobalError, GlobalStore, ListPage, REPORTS_MAX, UsageReport, Version,
};
use reprise_operations::{Bounds, Problem, ProblemKind, add_hint, parse_lenient_json};
use reprise_types::limits::PAGE_MAX;
use reprise_types::{RecordId, UserId};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::routes::ServiceState;
use crate::http::Refusal;

/// Longest body, in bytes: a publication with every byte escaped.
const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;
/// A body has this long to come.
const BODY_TIME: Duration = Duration::from_secs(10);
/// Seconds after which what was over a quota may be tried again.
const QUOTA_AFTER: u64 = 3_600;
/// Lines of the audit log that are told where nobody says how many.
pub(super) const LINES_DEFAULT: usize = 100;

/// Who asks a route for what, but for the body.
pub(super) struct RouteCall {
    pub(super) state: ServiceState,
    pub(super) caller: Caller,
    /// What its path names; empty where it names nothing.
    pub(super) named: String,
    pub(super) uri: Uri,
}

impl RouteCall {
    pub(super) fn store(&self) -> &dyn GlobalStore {
        &*self.state.store
    }

    pub(super) fn id(&self) -> Result<RecordId, Problem> {
        self.named.parse().map_err(Problem::invalid)
    }

    pub(super) fn parameters<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let read = Query::try_from_uri(&self.uri);
        let Query(parameters) = read.map_err(|error| Problem::invalid(error.body_text()))?;
        Ok(parameters)
    }

    pub(super) fn page(&self) -> Result<ListPage, Problem> {
        let PageParameters { offset, limit } = self.parameters()?;
        let (offset, limit) = (offset.unwrap_or_default(), limit.unwrap_or(PAGE_MAX));
        if limit > PAGE_MAX {
            let said =
                format!("limit is {limit}, at most {PAGE_MAX} are told at once; ask for fewer");
            return Err(Problem::invalid(said));
        }
        Ok(ListPage { offset, limit })
    }
}

/// A part of a list, as the address says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageParameters {
    offset: Option<usize>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VersionParameter {
    pub(super) version: Option<Version>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitParameter {
    pub(super) limit: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rating {
    /// What a reader gives it: 0 is useless, 1 is just what was needed.
    #[schemars(range(min = 0, max = 1))]
    pub(super) rating: f32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportsRequest {
    #[schemars(length(max = REPORTS_MAX))]
    pub(super) reports: Vec<UsageReport>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FatesResponse {
    /// What became of each report, in their order.
    pub(super) fates: Vec<Fate>,
}

/// A moment that has a name now.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct NamedSnapshot {
    pub(super) name: String,
    pub(super) at: DateTime<Utc>,
}

/// It is done, and there is no more to say.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EmptyResponse {}

/// What an invitation gave: the token is shown this once.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct JoinResponse {
    pub(super) token: String,
    pub(super) user: UserId,
    pub(super) org: Option<String>,
}

/// The body as JSON, with a sentence about what is wrong with it.
pub(super) async fn parse_body<T: DeserializeOwned + JsonSchema + Send + 'static>(
    request: Request,
) -> Result<T, Refusal> {
    let Ok(read) = timeout(BODY_TIME, read_body(request.into_body())).await else {
        let said = "the body did not come in time; send it again";
        return Err(Problem::new(ProblemKind::BodyLate, said).into());
    };
    let (bytes, bounds) = (read?, Bounds::get_for_type::<T>());
    bounds.room().check_fits(&bytes)?;
    let value = parse_lenient_json(&bytes).and_then(|value: Value| {
        bounds.check(&value)?;
        T::deserialize(bounds.convert_to_meant_types(value).0)
            .map_err(|error| add_hint(error.to_string()))
    });
    value.map_err(|said| {
        Problem::invalid(format!("the body is not what this route takes: {said}")).into()
    })
}

/// Reads the bytes within the limit. What is beyond it is read to its end all the same, and
/// dropped: else a sender would not hear why it is refused.
async fn read_body(mut body: Body) -> Result<Vec<u8>, Problem> {
    let (mut bytes, mut length) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Problem::invalid(format!("the body broke off ({error}); send it again"))
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        length = length.saturating_add(data.len());
        if length <= BODY_BYTES_MAX {
            bytes.extend_from_slice(&data);
        }
    }
    if length > BODY_BYTES_MAX {
        let limit = format!("the limit is {BODY_BYTES_MAX}; publish a part of it");
        let said = format!("the body has {length} bytes, {limit}");
        return Err(Problem::new(ProblemKind::TooLarge, said));
    }
    Ok(bytes)
}

/// Reads the body of a refused request to its end and drops it: otherwise the connection would
/// close, and the next request on it would hear nothing.
pub(super) async fn drop_body(request: Request) {
    let mut body = request.into_body();
    let read = async { while let Some(Ok(_)) = body.frame().await {} };
    let _is_whole = timeout(BODY_TIME, read).await.is_ok();
}

/// A store's refusal on the wire; programs find it whole in `error`.
impl From<GlobalError> for Refusal {
    fn from(error: GlobalError) -> Self {
        let is_quota = matches!(error, GlobalError::Quota { .. });
        let problem = Problem::from(error.clone());
        // What only an operator can mend stays in the log.
        let told = match problem.kind {
            ProblemKind::Internal => GlobalError::Storage {
                message: problem.detail.clone(),
            },
            _ => error,
        };
        let refused = Self::with(problem, json!(told));
        // More fits once something was taken back: not in a moment.
        if is_quota {
            refused.after(QUOTA_AFTER)
        } else {
            refused
        }
    }
}
