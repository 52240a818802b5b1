//! The bodies of requests to the service: reading them within their limits, and the store's
//! refusals as those of answers.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use http_body_util::BodyExt;
use reprise_global::GlobalError;
use reprise_operations::{Bounds, Problem, ProblemKind, add_hint, parse_lenient_json};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::http::Refusal;

/// Longest body, in bytes: a publication with every byte escaped.
const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;
/// A body has this long to come.
const BODY_TIME: Duration = Duration::from_secs(10);
/// Seconds after which what was over a quota may be tried again.
const QUOTA_AFTER: u64 = 3_600;

/// Reads a body that comes in time.
pub(super) async fn read_body_in_time(request: Request) -> Result<Vec<u8>, Problem> {
    let read = timeout(BODY_TIME, read_body(request.into_body())).await;
    read.unwrap_or_else(|_late| {
        let said = "the body did not come in time; send it again";
        Err(Problem::new(ProblemKind::BodyLate, said))
    })
}

/// Parses a body of JSON; the problem says in a sentence what is wrong with it.
pub(super) fn parse_body<T: DeserializeOwned + JsonSchema + 'static>(
    bytes: &[u8],
) -> Result<T, Problem> {
    let bounds = Bounds::get_for_type::<T>();
    bounds.room().check_fits(bytes)?;
    let value = parse_lenient_json(bytes).and_then(|value: Value| {
        bounds.check(&value)?;
        T::deserialize(bounds.convert_to_meant_types(value).0)
            .map_err(|error| add_hint(error.to_string()))
    });
    value.map_err(|said| Problem::invalid(format!("the body is not what this route takes: {said}")))
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
