//! The router of the service: the routes of its operations, those that need no token, and what
//! every request passes.

use std::sync::Arc;

use axum::extract::{Extension, Path, Request, State};
use axum::http::Method;
use axum::middleware;
use axum::response::Response;
use axum::routing::{MethodFilter, get, on, post};
use axum::{Json, Router};
use reprise_global::Caller;

use super::context::{ServiceContext, ServiceState};
use super::operations::{JOIN, ROUTES};
use super::service_route::ServiceRoute;
use super::{access, admin, openapi, operate};
use crate::http::{
    Refusal, no_method, no_route, serve_on_worker_thread as on_worker_thread, watch,
};

pub(super) fn router(state: &ServiceState) -> Router {
    let open: Router<ServiceState> = Router::new()
        .route("/health/live", get(async || "alive\n"))
        .route("/health/ready", get(operate::serve_ready))
        .route("/openapi.json", get(async || Json(&*openapi::DESCRIPTION)))
        .route(JOIN, post(operate::join));
    // Each by its method: a refused one hears in `allow` which others there are.
    let serving = |router: Router<ServiceState>, route: &ServiceRoute| match find_filter(route) {
        Some(method) => router.route(route.path(), on(method, serve)),
        None => router,
    };
    let all = ROUTES.iter().fold(open, serving);
    all.merge(admin::router())
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn(access::serve_unless_abandoned))
        .layer(middleware::from_fn(on_worker_thread))
        .layer(middleware::from_fn_with_state(state.clone(), access::admit))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&state.metrics),
            watch,
        ))
        .layer(middleware::from_fn_with_state(
            state.access.clone(),
            access::serve_and_log,
        ))
        .with_state(state.clone())
}

/// Serves a request by the route that it was admitted to.
async fn serve(
    State(state): State<ServiceState>,
    Extension(caller): Extension<Caller>,
    Extension(route): Extension<&'static ServiceRoute>,
    named: Option<Path<String>>,
    request: Request,
) -> Result<Response, Refusal> {
    let named = named.map(|Path(named)| named).unwrap_or_default();
    (route.serve)(ServiceContext { state, caller }, named, request).await
}

fn find_filter(route: &ServiceRoute) -> Option<MethodFilter> {
    let method: Method = route.method().name().parse().ok()?;
    method.try_into().ok()
}
