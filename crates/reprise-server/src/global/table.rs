//! The routes that take a token, each with the right that it needs.

use axum::http::Method;
use reprise_global::{
    AuditLine, Branch, Erased, GlobalAnswer, GlobalQuery, GlobalRecord, Listed, Merged, PersonLine,
    Publication, Published, PutBack, TakeDown, TakeDownDone, TakenDown, Unpublished,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::bodies::{Fates, Moment, Nothing, Outcomes, Rating};
use crate::tokens::Right;

/// Describes a type.
type Describe = fn(&mut SchemaGenerator) -> Schema;

/// A route that takes a token.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) right: Right,
    pub(super) summary: &'static str,
    /// The parameters that its query may have.
    pub(super) takes: &'static [&'static str],
    pub(super) body: Option<Describe>,
    pub(super) answer: Describe,
}

impl Route {
    const fn taking(mut self, parameters: &'static [&'static str]) -> Self {
        self.takes = parameters;
        self
    }

    const fn reading<Body: JsonSchema>(mut self) -> Self {
        self.body = Some(SchemaGenerator::subschema_for::<Body>);
        self
    }
}

const fn route<Answer: JsonSchema>(
    method: Method,
    path: &'static str,
    right: Right,
    summary: &'static str,
) -> Route {
    Route {
        method,
        path,
        right,
        summary,
        takes: &[],
        body: None,
        answer: SchemaGenerator::subschema_for::<Answer>,
    }
}

/// Every route that takes a token; one that is not here is refused.
pub(super) static ROUTES: [Route; 22] = [
    route::<Published>(
        Method::POST,
        "/v1/publications",
        Right::Write,
        "Publish a thing, or its next version",
    )
    .reading::<Publication>(),
    route::<Vec<GlobalRecord>>(
        Method::GET,
        "/v1/publications",
        Right::Read,
        "What the caller has published, newest first, a page of it",
    )
    .taking(&["offset", "limit"]),
    route::<GlobalRecord>(
        Method::GET,
        "/v1/publications/{id}",
        Right::Read,
        "A thing, in its newest version or `?version=`",
    )
    .taking(&["version"]),
    route::<Unpublished>(
        Method::DELETE,
        "/v1/publications/{id}",
        Right::Write,
        "Take a thing back, from every answer",
    ),
    route::<Vec<GlobalRecord>>(
        Method::GET,
        "/v1/publications/{id}/versions",
        Right::Read,
        "The versions of a thing, newest first, a page of them",
    )
    .taking(&["offset", "limit"]),
    route::<Nothing>(
        Method::PUT,
        "/v1/publications/{id}/rating",
        Right::Write,
        "What a reader gives it, 0..1",
    )
    .reading::<Rating>(),
    route::<GlobalAnswer>(
        Method::POST,
        "/v1/query",
        Right::Read,
        "What resonates with a question, best first",
    )
    .reading::<GlobalQuery>(),
    route::<Fates>(
        Method::POST,
        "/v1/outcomes",
        Right::Write,
        "How runs went that used published things",
    )
    .reading::<Outcomes>(),
    route::<Moment>(
        Method::PUT,
        "/v1/snapshots/{name}",
        Right::Operate,
        "Name this moment, to be asked of later",
    ),
    route::<Vec<Branch>>(
        Method::GET,
        "/v1/branches",
        Right::Read,
        "The caller's branches of the catalogue",
    ),
    route::<Branch>(
        Method::PUT,
        "/v1/branches/{name}",
        Right::Write,
        "Open a branch, on which the caller alone finds what is published there",
    ),
    route::<Branch>(
        Method::DELETE,
        "/v1/branches/{name}",
        Right::Write,
        "Drop a branch with all that stands on it",
    ),
    route::<Published>(
        Method::POST,
        "/v1/branches/{name}/publications",
        Right::Write,
        "Publish a thing on a branch",
    )
    .reading::<Publication>(),
    route::<Vec<Merged>>(
        Method::POST,
        "/v1/branches/{name}/merge",
        Right::Write,
        "Publish all that stands on a branch, or nothing",
    ),
    route::<Vec<AuditLine>>(
        Method::GET,
        "/v1/audit",
        Right::Operate,
        "Every publish, withdrawal, snapshot and branch, grant and revocation, newest first",
    )
    .taking(&["limit"]),
    route::<Vec<Listed>>(
        Method::GET,
        "/v1/catalogue",
        Right::Operate,
        "Everything on the shelves open to the operator, newest first, a page of it",
    )
    .taking(&["offset", "limit"]),
    route::<TakeDownDone>(
        Method::POST,
        "/v1/publications/{id}/takedown",
        Right::Operate,
        "Take a thing down, whoever published it, with a reason that its author reads",
    )
    .reading::<TakeDown>(),
    route::<PutBack>(
        Method::DELETE,
        "/v1/publications/{id}/takedown",
        Right::Operate,
        "Take a take-down back",
    ),
    route::<Vec<TakenDown>>(
        Method::GET,
        "/v1/takedowns",
        Right::Read,
        "What operators took down of the caller's",
    ),
    route::<Vec<PersonLine>>(
        Method::GET,
        "/v1/person",
        Right::Read,
        "Everything of the caller's",
    ),
    route::<Erased>(
        Method::DELETE,
        "/v1/person",
        Right::Write,
        "Delete everything of the caller's, his tokens too, and prove it; `confirm` is his name",
    )
    .taking(&["confirm"]),
    route::<String>(
        Method::GET,
        "/metrics",
        Right::Operate,
        "Requests by route and status, for Prometheus",
    ),
];
