//! How this program asks other machines: only with what has passed the gate.

use std::sync::Arc;
use std::time::Duration;

use reprise_redact::{Outbound, is_plain_to_another};
use reprise_server::Fetch;
use ureq::Body;
use ureq::http::{Request, Response};

/// An idle connection is kept for so long, where the other side keeps it too.
const IDLE: Duration = Duration::from_mins(5);
/// How long a document of an issuer may take, and how long it may be.
const DOCUMENT_WITHIN: Duration = Duration::from_secs(10);
const DOCUMENT_BYTES_MAX: u64 = 1024 * 1024;

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

/// The same; answers status and body, whatever they are.
pub(crate) fn answer(
    agent: &ureq::Agent,
    request: Request<Outbound>,
    within: Duration,
    bytes_max: u64,
) -> Result<(u16, Vec<u8>), ureq::Error> {
    let mut answer = send(agent, request, Some(within))?;
    let body = answer.body_mut().with_config().limit(bytes_max);
    let body = body.read_to_vec()?;
    Ok((answer.status().as_u16(), body))
}

/// Connections, shared by its clones; every status is an answer, and no redirect is followed.
pub(crate) fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_age(IDLE)
        .build();
    config.into()
}

/// Documents of an issuer, over HTTPS or from this machine.
pub(crate) fn documents() -> Fetch {
    let agent = agent();
    Arc::new(move |url| {
        if is_plain_to_another(url) {
            return Err(format!("{url} is plain HTTP to another machine"));
        }
        let request = Request::get(url).header("accept", "application/json");
        let request = request.body(Outbound::nothing());
        let request = request.map_err(|error| error.to_string())?;
        match answer(&agent, request, DOCUMENT_WITHIN, DOCUMENT_BYTES_MAX) {
            Ok((200, document)) => Ok(document),
            Ok((status, _)) => Err(format!("{url} answered {status}")),
            Err(error) => Err(format!("{url}: {error}")),
        }
    })
}
