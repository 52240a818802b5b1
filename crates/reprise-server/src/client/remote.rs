//! A daemon on another machine: its address, its token, and whose certificate it shows.
//!
//! Certificates are held to the system's authorities. One that no authority has signed is taken at
//! first use and its fingerprint written down, as SSH does; from then on no other one is taken. A
//! host that once showed one of an authority is written down too, and must show such a one.

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Uri;
use reprise_files::Folder;
use reprise_operations::{Problem, ProblemKind};
use reprise_redact::is_plain_to_another;
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

/// How long the other machine may take to answer a connection.
const THERE: Duration = Duration::from_secs(3);
/// Longest file of fingerprints, and how long a change of it waits for another.
const KNOWN_BYTES_MAX: u64 = 1024 * 1024;
const TURN: Duration = Duration::from_secs(2);
/// Stands in the place of a fingerprint where an authority answers for the host.
const AUTHORITY: &str = "authority";

/// What a request to a daemon travels on.
pub(super) trait Way: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Way for T {}

/// A daemon behind an address.
#[derive(Clone)]
pub struct Remote {
    url: String,
    is_tls: bool,
    host: String,
    port: u16,
    /// As the `Host` header has it.
    pub(super) authority: String,
    /// What stands before every path.
    pub(super) prefix: String,
    pub(super) bearer: String,
    known: PathBuf,
}

reprise_types::show_fields!(Remote { url });

impl Remote {
    /// The daemon at this address; fingerprints of certificates that no authority has signed stand
    /// in the file `known`. A token goes over plain HTTP only to this machine, or where
    /// `allow_plain_http` says that the way is safe.
    pub fn new(
        url: &str,
        token: &str,
        known: PathBuf,
        allow_plain_http: bool,
    ) -> Result<Self, Problem> {
        let url = url.trim_end_matches('/');
        let wrong = |what: &str| {
            Problem::invalid(format!(
                "`{url}` is no address of a daemon ({what}); name one such as \
                 https://memory.example.com"
            ))
        };
        let uri: Uri = url.parse().map_err(|_| wrong("it cannot be read"))?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong("it begins with neither https:// nor http://")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("it has no host"))?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(wrong("it has more than host, port and path"));
        }
        if is_plain_to_another(url) && !allow_plain_http {
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
                 `reprise token add NAME` on its machine makes one",
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
            known,
            url: url.to_owned(),
        })
    }

    /// Its address, without the token.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(super) async fn connect(&self) -> io::Result<Box<dyn Way>> {
        let met = timeout(THERE, TcpStream::connect((self.host.as_str(), self.port)));
        let stream = met
            .await
            .map_err(|_| io::Error::from(ErrorKind::TimedOut))??;
        stream.set_nodelay(true)?;
        if !self.is_tls {
            return Ok(Box::new(stream));
        }
        let judge = Arc::new(Judge::new(self)?);
        let config = ClientConfig::builder_with_provider(Arc::clone(&judge.provider))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&judge) as Arc<dyn ServerCertVerifier>)
            .with_no_client_auth();
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let shaken = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let shaken = timeout(THERE, shaken).await;
        let stream = shaken.map_err(|_| io::Error::from(ErrorKind::TimedOut))??;
        judge.write_down()?;
        Ok(Box::new(stream))
    }

    pub(super) fn unreachable(&self, error: &io::Error) -> Problem {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        if let Some(Error::General(said)) = inner {
            return Problem::new(ProblemKind::Forbidden, said.clone());
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

    /// A problem as this daemon told it, in words for whoever is not on its machine.
    pub(super) fn told(&self, problem: Problem) -> Problem {
        let url = &self.url;
        let detail = match problem.kind {
            ProblemKind::Unauthorized => format!(
                "the daemon at {url} does not know this token; make one there with `reprise token \
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

/// Decides whether a certificate is the daemon's.
#[derive(Debug)]
struct Judge {
    provider: Arc<CryptoProvider>,
    folder: PathBuf,
    file: PathBuf,
    /// Host and port, as the file has them.
    name: String,
    pinned: Option<String>,
    /// To be written down once the other side has shown that it has the key: a fingerprint, or
    /// that an authority answers for the host.
    first: Mutex<Option<String>>,
}

impl Judge {
    fn new(remote: &Remote) -> io::Result<Self> {
        let name = format!("{}:{}", remote.host, remote.port);
        let text = reprise_files::read_named(&remote.known, KNOWN_BYTES_MAX);
        let text = text.map_err(io::Error::other)?.unwrap_or_default();
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        let pinned = text.lines().find_map(|line| {
            let (host, print) = line.split_once(' ')?;
            (host == name).then(|| print.trim().to_owned())
        });
        Ok(Self {
            provider: Arc::new(rustls::crypto::ring::default_provider()),
            folder: remote.known.parent().unwrap_or(&remote.known).to_owned(),
            file: remote.known.clone(),
            name,
            pinned,
            first: Mutex::default(),
        })
    }

    /// What a certificate is, by what authorities say of it.
    fn decided(
        &self,
        by_authority: Result<ServerCertVerified, Error>,
        print: String,
    ) -> Result<ServerCertVerified, Error> {
        match (by_authority, &self.pinned) {
            (Ok(verified), Some(_)) => Ok(verified),
            (Ok(verified), None) => {
                *lock(&self.first) = Some(AUTHORITY.to_owned());
                Ok(verified)
            }
            (Err(error), None) if is_unsigned(&error) => {
                *lock(&self.first) = Some(print);
                Ok(ServerCertVerified::assertion())
            }
            (Err(error), Some(_)) if is_unsigned(&error) => Err(self.other(&print)),
            (Err(error), _) => Err(error),
        }
    }

    /// That this certificate is not what the host showed before.
    fn other(&self, print: &str) -> Error {
        let before = match self.pinned.as_deref() {
            Some(AUTHORITY) | None => "one of an authority",
            Some(pinned) => pinned,
        };
        Error::General(format!(
            "the certificate of {} is not the one that was seen before ({print} now, {before} \
             then): somebody may stand between; if it was renewed, take its line out of `{}`",
            self.name,
            self.file.display()
        ))
    }

    fn write_down(&self) -> io::Result<()> {
        let Some(print) = lock(&self.first).take() else {
            return Ok(());
        };
        match self.append(&print) {
            // It is good without that line.
            Err(error) if print == AUTHORITY => {
                tracing::warn!(%error, "that an authority answers for a host was not written down");
            }
            Err(error) => return Err(error),
            Ok(()) if print == AUTHORITY => {}
            Ok(()) => tracing::warn!(
                file = %self.file.display(), host = self.name, print,
                "a certificate that no authority has signed is taken, and no other from here on"
            ),
        }
        Ok(())
    }

    fn append(&self, print: &str) -> io::Result<()> {
        let file = self.file.file_name().unwrap_or_default();
        let folder = Folder::make(&self.folder).map_err(io::Error::other)?;
        let _alone = folder
            .lock("known_hosts.lock", TURN)
            .map_err(io::Error::other)?;
        let line = format!("{} {print}", self.name);
        folder
            .append_line(file, line.as_bytes())
            .map_err(io::Error::other)
    }
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let print = format!("sha256:{}", sha256_hex(end_entity));
        match self.pinned.as_deref() {
            Some(pinned) if pinned == print => return Ok(ServerCertVerified::assertion()),
            None | Some(AUTHORITY) => {}
            Some(_) => return Err(self.other(&print)),
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
        self.decided(by_authority, print)
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

/// Whether no authority has signed it: it signs itself, or somebody unknown did. One that is out
/// of date or of another host is none of these.
fn is_unsigned(error: &Error) -> bool {
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
