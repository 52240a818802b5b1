//! What guards the page of a memory and that of operators: a form comes from the page itself, a
//! response says what a browser may do with it, and a link signs in the browser of who follows it.

use axum::http::Method;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{DOCTYPE, html};

use crate::compress::compress;

/// Returns whether a request that changes something comes from a page of the place that it asks.
pub(crate) fn is_from_own_page(headers: &HeaderMap, is_own_origin: impl Fn(&str) -> bool) -> bool {
    // What is no text is nobody's own.
    let text = |name: &str| Some(headers.get(name)?.to_str().unwrap_or_default());
    text("origin").is_none_or(is_own_origin)
        && text("sec-fetch-site").is_none_or(|site| site == "same-origin")
}

/// Sets the security headers of a response, and compresses it where the browser takes that.
pub(crate) async fn secure_response(
    mut response: Response,
    policy: &'static str,
    is_compressed: bool,
) -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer` a browser would not say where a form comes from.
        (header::REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    let cached = response.headers_mut().entry(header::CACHE_CONTROL);
    cached.or_insert(HeaderValue::from_static("no-store"));
    if is_compressed {
        response = compress(response).await;
    }
    (headers, response).into_response()
}

/// Returns whether nobody follows a link yet: a prefetch or a HEAD request does not use it up.
pub fn is_look_ahead(method: &Method, headers: &HeaderMap) -> bool {
    let announced = ["purpose", "sec-purpose"];
    method == Method::HEAD || announced.iter().any(|name| headers.contains_key(*name))
}

/// Sends the browser of somebody who followed a sign-in link on to a page, with the cookie of the
/// sign-in.
pub fn send_on_signed_in(headers: &HeaderMap, cookie: String, to: &str) -> Response {
    let cookie = [(SET_COOKIE, cookie)];
    let site = headers.get("sec-fetch-site");
    let site = site.and_then(|value| value.to_str().ok());
    // After a click on another site's page the browser sends this cookie only with what this site's
    // own page asks for.
    if site.is_none_or(|site| site == "none" || site == "same-origin") {
        return (cookie, Redirect::to(to)).into_response();
    }
    let moved = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Signed in" }
                meta http-equiv="refresh" content=(format!("0; url={to}"));
            }
            body { p { "The page opens in a moment. " a href=(to) { "Open it" } } }
        }
    };
    (cookie, moved).into_response()
}
