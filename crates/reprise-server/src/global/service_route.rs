//! An operation of the service as a route, its types forgotten.

use std::any::Any;
use std::pin::Pin;

use axum::Json;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use reprise_operations::{Callers, Method, Operation, Right, Spec};
use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use super::arguments::{ReceivedRequest, ServiceArguments};
use super::bodies::read_body_in_time;
use super::context::ServiceContext;
use crate::http::Refusal;

type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, Refusal>> + Send>>;

/// A route that takes a token.
pub(super) struct ServiceRoute {
    pub(super) spec: Spec,
    /// Whether it takes anything in its query string.
    pub(super) has_query: bool,
    pub(super) describe_arguments: fn(&mut Value, &mut SchemaGenerator),
    pub(super) describe_answer: fn(&mut SchemaGenerator) -> Schema,
    /// Serves a request; the text is what its path names.
    pub(super) serve: fn(ServiceContext, String, Request) -> ResponseFuture,
}

impl ServiceRoute {
    pub(super) const fn of<O>() -> Self
    where
        O: Operation<ServiceContext, Arguments: ServiceArguments>,
    {
        Self {
            spec: O::SPEC,
            has_query: O::Arguments::HAS_QUERY,
            describe_arguments: O::Arguments::describe,
            describe_answer: SchemaGenerator::subschema_for::<O::Answer>,
            serve: |context, named, request| Box::pin(serve::<O>(context, named, request)),
        }
    }

    pub(super) fn method(&self) -> Method {
        self.spec.first_route().0
    }

    pub(super) fn path(&self) -> &'static str {
        self.spec.first_route().1
    }

    /// Returns the right that a token needs.
    pub(super) fn right(&self) -> Option<Right> {
        match self.spec.callers {
            Callers::Holders(right) => Some(right),
            _ => None,
        }
    }
}

async fn serve<O>(
    context: ServiceContext,
    named: String,
    request: Request,
) -> Result<Response, Refusal>
where
    O: Operation<ServiceContext, Arguments: ServiceArguments>,
{
    let uri = request.uri().clone();
    let body = if O::Arguments::HAS_BODY {
        read_body_in_time(request).await?
    } else {
        Vec::new()
    };
    let arguments = O::Arguments::read(&ReceivedRequest { named, uri, body })?;
    Ok(respond(O::run(&context, arguments).await?))
}

/// An answer that is a text is one for Prometheus.
fn respond<A: Serialize + 'static>(answer: A) -> Response {
    match (&answer as &dyn Any).downcast_ref::<String>() {
        Some(text) => ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text.clone()).into_response(),
        None => Json(answer).into_response(),
    }
}
