//! How this program asks other machines: only with what has passed the gate.

use std::time::Duration;

use reprise_redact::Outbound;
use ureq::Body;
use ureq::http::{Request, Response};

/// Sends a request whose body has passed the gate; `within` is its time, from the name of the host
/// to the last byte.
pub(crate) fn send(
    agent: &ureq::Agent,
    request: Request<Outbound>,
    within: Option<Duration>,
) -> Result<Response<Body>, ureq::Error> {
    let request = request.map(Outbound::into_bytes);
    let request = agent
        .configure_request(request)
        .timeout_global(within)
        .build();
    #[expect(clippy::disallowed_methods, reason = "this is the gate's other side")]
    agent.run(request)
}
