//! A daemon on another machine: its address, its token and the check of its certificate.
//!
//! A certificate must be signed by one of the system's authorities. One that no authority has
//! signed is accepted at first use and its fingerprint is saved, as SSH does; from then on no other
//! certificate is accepted. A host that once showed a certificate of an authority is saved too, and
//! must always show one.

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Uri;
use hyper::http::uri::Authority;
use reprise_files::Folder;
use reprise_operations::{Problem, ProblemKind};
use reprise_redact::is_plain_http_to_other_machine;
use reprise_types::{lock, sha256_hex};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Longest time to connect, and again for the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest file of fingerprints, in bytes.
const KNOWN_HOSTS_BYTES_MAX: u64 = 1024 * 1024;
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Entry of the file for a host whose certificate an authority has signed.
const AUTHORITY_PIN: &str = "authority";

/// A byte stream to a daemon: TCP, TLS or a Unix socket.
pub(super) trait NetStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> NetStream for T {}

/// A daemon behind an address.
#[derive(Clone)]
pub struct Remote {
    url: String,
    is_tls: bool,
    host: String,
    port: u16,
    /// Value of the `Host` header.
    pub(super) authority: String,
    /// Prefix of every path.
    pub(super) prefix: String,
    pub(super) bearer: String,
    known_hosts: PathBuf,
}

reprise_types::show_fields!(Remote { url });

impl Remote {
    /// Returns the daemon at this address. The file `known_hosts` holds the fingerprints of
    /// certificates that no authority has signed. A token goes over plain HTTP only to this
    /// machine, or anywhere if `allow_plain_http` is set.
    pub fn new(
        url: &str,
        token: &str,
        known_hosts: PathBuf,
        allow_plain_http: bool,
    ) -> Result<Self, Problem> {
        let url = url.trim_end_matches('/');
        let (uri, authority) = parse_address(url)?;
        let is_tls = uri.scheme_str() == Some("https");
        if is_plain_http_to_other_machine(url) && !allow_plain_http {
            return Err(Problem::invalid(format!(
                "{url} is plain HTTP to another machine, where a token and every text can be read \
                 on their way; name an https:// address, or set `allow_plain_http = true` under \
                 [remote] if the way is safe"
            )));
        }
        let is_token = !token.is_empty() && token.chars().all(|c| c.is_ascii_graphic());
        if !is_token {
            return Err(Problem::invalid(
                "the token of the remote daemon is empty or has characters that none has; \
                 `reprise serve token add NAME` on its machine makes one",
            ));
        }
        Ok(Self {
            is_tls,
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority
                .port_u16()
                .unwrap_or(if is_tls { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            bearer: format!("Bearer {token}"),
            known_hosts,
            url: url.to_owned(),
        })
    }

    /// Refuses what is no address of a daemon, whatever its token.
    pub fn check_address(url: &str) -> Result<(), Problem> {
        parse_address(url.trim_end_matches('/')).map(|_| ())
    }

    /// Returns the address without the token.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(super) async fn connect(&self) -> io::Result<Box<dyn NetStream>> {
        let connecting = timeout(
            CONNECT_TIMEOUT,
            TcpStream::connect((self.host.as_str(), self.port)),
        );
        let stream = connecting
            .await
            .map_err(|_| io::Error::from(ErrorKind::TimedOut))??;
        stream.set_nodelay(true)?;
        if !self.is_tls {
            return Ok(Box::new(stream));
        }
        let verifier = Arc::new(CertificateVerifier::new(self)?);
        let config = ClientConfig::builder_with_provider(Arc::clone(&verifier.provider))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&verifier) as Arc<dyn ServerCertVerifier>)
            .with_no_client_auth();
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let handshake = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let handshake = timeout(CONNECT_TIMEOUT, handshake).await;
        let stream = handshake.map_err(|_| io::Error::from(ErrorKind::TimedOut))??;
        verifier.save_pin()?;
        Ok(Box::new(stream))
    }

    pub(super) fn unreachable_problem(&self, error: &io::Error) -> Problem {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        if let Some(Error::General(detail)) = inner {
            return Problem::new(ProblemKind::Forbidden, detail.clone());
        }
        Problem::new(
            ProblemKind::Unavailable,
            format!(
                "the daemon at {} cannot be reached ({error}); see that it runs there with --http, \
                 or unset REPRISE_URL",
                self.url
            ),
        )
    }

    /// Rewrites a problem of this daemon for a user who is not on its machine.
    pub(super) fn explain_for_remote(&self, problem: Problem) -> Problem {
        let url = &self.url;
        let detail = match problem.kind {
            ProblemKind::Unauthorized => format!(
                "the daemon at {url} does not know this token; make one there with `reprise serve token \
                 add NAME` and put it into REPRISE_TOKEN or the [remote] token_file"
            ),
            ProblemKind::Forbidden if problem.detail.starts_with("this token does not open") => {
                format!(
                    "the daemon at {url} refused: {}, or name its user with --user or REPRISE_USER",
                    problem.detail
                )
            }
            _ => return problem,
        };
        Problem { detail, ..problem }
    }
}

/// Parses the address of a daemon: a scheme, a host, and perhaps a port and a path.
fn parse_address(url: &str) -> Result<(Uri, Authority), Problem> {
    let wrong = |what: &str| {
        Problem::invalid(format!(
            "`{url}` is no address of a daemon ({what}); name one such as \
             https://memory.example.com"
        ))
    };
    let uri: Uri = url.parse().map_err(|_| wrong("it cannot be read"))?;
    if !matches!(uri.scheme_str(), Some("https" | "http")) {
        return Err(wrong("it begins with neither https:// nor http://"));
    }
    let authority = uri.authority().cloned();
    let authority = authority.ok_or_else(|| wrong("it has no host"))?;
    if authority.as_str().contains('@') || uri.query().is_some() {
        return Err(wrong("it has more than host, port and path"));
    }
    Ok((uri, authority))
}

/// Decides whether a certificate belongs to the daemon.
#[derive(Debug)]
struct CertificateVerifier {
    provider: Arc<CryptoProvider>,
    folder: PathBuf,
    file: PathBuf,
    /// Host and port, as the file has them.
    name: String,
    pinned: Option<String>,
    /// Entry to save once the other side has proved that it has the key: a fingerprint, or
    /// [`AUTHORITY_PIN`].
    pending_pin: Mutex<Option<String>>,
}

impl CertificateVerifier {
    fn new(remote: &Remote) -> io::Result<Self> {
        let name = format!("{}:{}", remote.host, remote.port);
        let text = reprise_files::read_if_exists(&remote.known_hosts, KNOWN_HOSTS_BYTES_MAX);
        let text = text.map_err(io::Error::other)?.unwrap_or_default();
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        let pinned = text.lines().find_map(|line| {
            let (host, fingerprint) = line.split_once(' ')?;
            (host == name).then(|| fingerprint.trim().to_owned())
        });
        Ok(Self {
            provider: Arc::new(rustls::crypto::ring::default_provider()),
            folder: remote
                .known_hosts
                .parent()
                .unwrap_or(&remote.known_hosts)
                .to_owned(),
            file: remote.known_hosts.clone(),
            name,
            pinned,
            pending_pin: Mutex::default(),
        })
    }

    /// Accepts or refuses a certificate by the verdict of the authorities and the saved entry.
    fn decide(
        &self,
        by_authority: Result<ServerCertVerified, Error>,
        fingerprint: String,
    ) -> Result<ServerCertVerified, Error> {
        match (by_authority, &self.pinned) {
            (Ok(verified), Some(_)) => Ok(verified),
            (Ok(verified), None) => {
                *lock(&self.pending_pin) = Some(AUTHORITY_PIN.to_owned());
                Ok(verified)
            }
            (Err(error), None) if is_unknown_issuer(&error) => {
                *lock(&self.pending_pin) = Some(fingerprint);
                Ok(ServerCertVerified::assertion())
            }
            (Err(error), Some(_)) if is_unknown_issuer(&error) => {
                Err(self.changed_certificate_error(&fingerprint))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Returns the error for a certificate that is not the one that the host showed before.
    fn changed_certificate_error(&self, fingerprint: &str) -> Error {
        let before = match self.pinned.as_deref() {
            Some(AUTHORITY_PIN) | None => "one of an authority",
            Some(pinned) => pinned,
        };
        Error::General(format!(
            "the certificate of {} is not the one that was seen before ({fingerprint} now, {before} \
             then): somebody may stand between; if it was renewed, take its line out of `{}`",
            self.name,
            self.file.display()
        ))
    }

    fn save_pin(&self) -> io::Result<()> {
        let Some(fingerprint) = lock(&self.pending_pin).take() else {
            return Ok(());
        };
        match self.append_pin(&fingerprint) {
            // The connection is safe without that line.
            Err(error) if fingerprint == AUTHORITY_PIN => {
                tracing::warn!(%error, "that an authority answers for a host was not written down");
            }
            Err(error) => return Err(error),
            Ok(()) if fingerprint == AUTHORITY_PIN => {}
            Ok(()) => tracing::warn!(
                file = %self.file.display(), host = self.name, print = fingerprint,
                "a certificate that no authority has signed is taken, and no other from here on"
            ),
        }
        Ok(())
    }

    fn append_pin(&self, fingerprint: &str) -> io::Result<()> {
        let file = self.file.file_name().unwrap_or_default();
        let folder = Folder::open_or_create(&self.folder).map_err(io::Error::other)?;
        let _alone = folder
            .lock("known_hosts.lock", LOCK_TIMEOUT)
            .map_err(io::Error::other)?;
        let line = format!("{} {fingerprint}", self.name);
        folder
            .append_line(file, line.as_bytes())
            .map_err(io::Error::other)
    }
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let fingerprint = format!("sha256:{}", sha256_hex(end_entity));
        match self.pinned.as_deref() {
            Some(pinned) if pinned == fingerprint => return Ok(ServerCertVerified::assertion()),
            None | Some(AUTHORITY_PIN) => {}
            Some(_) => return Err(self.changed_certificate_error(&fingerprint)),
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let by_authority = if roots.is_empty() {
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
        } else {
            let provider = Arc::clone(&self.provider);
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| Error::General(error.to_string()))?
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        };
        self.decide(by_authority, fingerprint)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

/// Returns whether no known authority has signed the certificate. An expired certificate, or one of
/// another host, does not count.
fn is_unknown_issuer(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
        // A certificate that signs itself and says that it may sign others.
        Error::InvalidCertificate(CertificateError::Other(other)) => {
            other.to_string().contains("CaUsedAsEndEntity")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
