//! The routes that take a token, each with the right that it needs.

use axum::http::Method;

use crate::tokens::Right;

/// A route that takes a token.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) right: Right,
    pub(super) summary: &'static str,
}

const fn route(method: Method, path: &'static str, right: Right, summary: &'static str) -> Route {
    Route {
        method,
        path,
        right,
        summary,
    }
}

/// Every route that takes a token; one that is not here is refused.
pub(super) const ROUTES: [Route; 16] = [
    route(
        Method::POST,
        "/v1/publications",
        Right::Write,
        "Publish a thing, or its next version",
    ),
    route(
        Method::GET,
        "/v1/publications",
        Right::Read,
        "What the caller has published",
    ),
    route(
        Method::GET,
        "/v1/publications/{id}",
        Right::Read,
        "A thing, in its newest version or `?version=`",
    ),
    route(
        Method::DELETE,
        "/v1/publications/{id}",
        Right::Write,
        "Take a thing back, from every answer",
    ),
    route(
        Method::GET,
        "/v1/publications/{id}/versions",
        Right::Read,
        "All versions of a thing, newest first",
    ),
    route(
        Method::PUT,
        "/v1/publications/{id}/rating",
        Right::Write,
        "What a reader gives it, 0..1",
    ),
    route(
        Method::POST,
        "/v1/query",
        Right::Read,
        "What resonates with a question, best first",
    ),
    route(
        Method::POST,
        "/v1/outcomes",
        Right::Write,
        "How runs went that used published things",
    ),
    route(
        Method::PUT,
        "/v1/snapshots/{name}",
        Right::Operate,
        "Name this moment, to be asked of later",
    ),
    route(
        Method::GET,
        "/v1/branches",
        Right::Read,
        "The caller's branches of the catalogue",
    ),
    route(
        Method::PUT,
        "/v1/branches/{name}",
        Right::Write,
        "Open a branch, on which the caller alone finds what is published there",
    ),
    route(
        Method::DELETE,
        "/v1/branches/{name}",
        Right::Write,
        "Drop a branch with all that stands on it",
    ),
    route(
        Method::POST,
        "/v1/branches/{name}/publications",
        Right::Write,
        "Publish a thing on a branch",
    ),
    route(
        Method::POST,
        "/v1/branches/{name}/merge",
        Right::Write,
        "Publish all that stands on a branch, or nothing",
    ),
    route(
        Method::GET,
        "/v1/audit",
        Right::Operate,
        "Every publish, withdrawal, snapshot and branch, grant and revocation, newest first",
    ),
    route(
        Method::GET,
        "/metrics",
        Right::Operate,
        "Requests by route and status, for Prometheus",
    ),
];
