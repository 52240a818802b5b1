//! Requests to other machines, which contain only text that has passed the gate.

use std::sync::Arc;
use std::time::Duration;

use reprise_redact::{OutboundBody, is_other_machine, is_plain_http_to_other_machine};
use reprise_server::Fetch;
use ureq::Body;
use ureq::http::{Request, Response};

/// Longest time that an idle connection is kept.
const IDLE: Duration = Duration::from_mins(5);
/// Longest wait for a document of an issuer.
const DOCUMENT_WITHIN: Duration = Duration::from_secs(10);
const DOCUMENT_BYTES_MAX: u64 = 1024 * 1024;

/// Sends a request whose body has passed the gate; `within` is the time limit from the lookup of
/// the host to the last byte. A proxy of the environment gets nothing that stays on this machine.
pub(crate) fn send(
    agent: &ureq::Agent,
    request: Request<OutboundBody>,
    within: Option<Duration>,
) -> Result<Response<Body>, ureq::Error> {
    let request = request.map(OutboundBody::into_bytes);
    let stays_here = !is_other_machine(&request.uri().to_string());
    let mut request = agent.configure_request(request).timeout_global(within);
    if stays_here {
        request = request.proxy(None);
    }
    let request = request.build();
    #[expect(clippy::disallowed_methods, reason = "this is the gate's other side")]
    agent.run(request)
}

/// Sends a request and reads its response; returns status and body, whatever they are.
pub(crate) fn send_and_read(
    agent: &ureq::Agent,
    request: Request<OutboundBody>,
    within: Duration,
    bytes_max: u64,
) -> Result<(u16, Vec<u8>), ureq::Error> {
    let mut answer = send(agent, request, Some(within))?;
    let body = answer.body_mut().with_config().limit(bytes_max);
    let body = body.read_to_vec()?;
    Ok((answer.status().as_u16(), body))
}

/// Returns an HTTP agent whose clones share connections; it accepts every status and follows no
/// redirect.
pub(crate) fn new_agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_age(IDLE)
        .build();
    config.into()
}

/// Returns a function that fetches an issuer's documents, over HTTPS or from this machine.
pub fn document_fetcher() -> Fetch {
    let agent = new_agent();
    Arc::new(move |url| {
        if is_plain_http_to_other_machine(url) {
            return Err(format!("{url} is plain HTTP to another machine"));
        }
        let request = Request::get(url).header("accept", "application/json");
        let request = request.body(OutboundBody::empty());
        let request = request.map_err(|error| error.to_string())?;
        match send_and_read(&agent, request, DOCUMENT_WITHIN, DOCUMENT_BYTES_MAX) {
            Ok((200, document)) => Ok(document),
            Ok((status, _)) => Err(format!("{url} answered {status}")),
            Err(error) => Err(format!("{url}: {error}")),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn what_stays_on_this_machine_passes_no_proxy() {
        let here = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", here.local_addr().unwrap());
        // Nobody answers there.
        let proxy = ureq::Proxy::new("http://127.0.0.1:9").unwrap();
        let agent = ureq::Agent::config_builder().proxy(Some(proxy)).build();
        thread::spawn(move || {
            let (mut stream, _) = here.accept().unwrap();
            let _request = stream.read(&mut [0; 256]).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.write_all(answer).unwrap();
        });
        let request = Request::get(&url).body(OutboundBody::empty()).unwrap();
        let answer = send(&agent.into(), request, Some(DOCUMENT_WITHIN)).unwrap();
        assert_eq!(answer.status(), 200);
    }
}
