//! How problems look on the wire: RFC 9457 JSON.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use reprise_operations::{Problem, ProblemKind};
use serde_json::{Value, json};

/// Seconds after which a refused request may be sent again.
const RETRY_AFTER_SECONDS: &str = "1";

/// A problem on its way to whoever asked.
#[derive(Debug)]
pub(crate) struct Refusal(Problem, Option<Value>, Option<u64>);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(problem, None, None)
    }
}

impl Refusal {
    /// The same with a member `error` for programs.
    pub(crate) fn with(problem: Problem, error: Value) -> Self {
        Self(problem, Some(error), None)
    }

    /// The same, to be sent again after so many seconds.
    pub(crate) fn after(self, seconds: u64) -> Self {
        Self(self.0, self.1, Some(seconds))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(problem, error, after) = self;
        let status = StatusCode::from_u16(problem.kind.status())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if problem.kind == ProblemKind::Internal {
            tracing::error!(problem = %problem, "a request failed");
        }
        let mut body = json!(problem.body());
        if let (Some(error), Some(members)) = (error, body.as_object_mut()) {
            members.insert("error".to_owned(), error);
        }
        let mut response = (status, axum::Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if problem.is_passing() {
            let after = after.map_or(HeaderValue::from_static(RETRY_AFTER_SECONDS), Into::into);
            headers.insert(RETRY_AFTER, after);
        }
        if problem.kind == ProblemKind::Unauthorized {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
