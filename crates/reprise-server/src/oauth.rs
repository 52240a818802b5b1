//! The built-in OAuth 2.1 issuer, for users without one: programs sign in, a person confirms.
//!
//! A program registers (RFC 7591), asks through a browser with PKCE (RFC 7636) or by a code for a
//! terminal (RFC 8628), and waits until a person decides whose memory it may open. It gets a token
//! of the daemon like any other (`tokens.rs`), which expires, is renewed and can be withdrawn.
//! Sign-ins under way are kept here for minutes; a registration is stored in the client id itself.

mod redirect;
mod sign;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use chrono::{DateTime, TimeDelta, Utc};
use data_encoding::BASE64URL_NOPAD;
use reprise_types::{Clock, UserId, generate_secret, lock, sha256_hex};
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::issuer::Issuer;
use crate::place::DaemonPaths;
use crate::tokens::{TokenError, TokenFile, Tokens};
use redirect::{is_allowed_redirect, is_own_resource, matches_registered, redirect_url};
use sign::{PendingSignIn, SignInFlow, SignInStage, generate_user_code};

/// The only scope of our tokens.
pub(crate) const SCOPE: &str = "memory";
/// Time that a person has to confirm a sign-in.
pub(crate) const CONFIRM_WITHIN: TimeDelta = TimeDelta::minutes(10);
/// Time in which a browser's code can be exchanged for a token.
const CODE_LIFETIME: TimeDelta = TimeDelta::seconds(60);
/// Shortest wait between two polls of a terminal.
const POLL_INTERVAL: TimeDelta = TimeDelta::seconds(5);
/// Most sign-ins under way at once; one more is refused until others have ended.
const PENDING_MAX: usize = 256;
/// Most sign-ins from one address that nobody has confirmed yet.
const PENDING_OF_CLIENT_MAX: usize = 16;
/// Most redirect addresses of one program.
const REDIRECTS_MAX: usize = 8;
/// Longest `state` that is returned, in bytes.
const STATE_BYTES_MAX: usize = 2_048;
const NAME_CHARS_MAX: usize = 64;
/// Longest client id, in bytes, and so the longest registration.
const CLIENT_BYTES_MAX: usize = 4_096;
/// File with the key that signs client ids.
const KEY_FILE: &str = "oauth.key";
const KEY_BYTES_MAX: u64 = 128;

/// Settings of OAuth: the daemon's public address and the issuer whose tokens it accepts.
#[derive(Debug, Clone, Default)]
pub struct OauthOptions {
    /// Public address (`https://memory.example`); if `None`, the host of each request counts.
    pub url: Option<String>,
    /// Issuer whose tokens are accepted; without one the daemon issues its own.
    pub issuer: Option<Issuer>,
}

/// An error with its code in the protocol and a sentence about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OauthError {
    pub(crate) error: &'static str,
    pub(crate) detail: &'static str,
}

const fn oauth_error(error: &'static str, detail: &'static str) -> OauthError {
    OauthError { error, detail }
}

const UNKNOWN_CLIENT: OauthError = oauth_error(
    "invalid_client",
    "the client is not one that registered here; register again",
);
const INVALID_GRANT: OauthError = oauth_error(
    "invalid_grant",
    "the code or token is not known, was used before or has ended; sign in again",
);
const TOO_MANY: OauthError = oauth_error(
    "temporarily_unavailable",
    "too many sign-ins wait to be confirmed; confirm or refuse them, or try again in ten minutes",
);
const NO_RANDOM: OauthError =
    oauth_error("server_error", "no random bytes could be had; try again");

/// What a program registers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registration {
    #[serde(default = "default_program_name")]
    client_name: String,
    #[serde(default)]
    redirect_uris: Vec<String>,
    #[serde(default, skip_serializing)]
    token_endpoint_auth_method: Option<String>,
}

fn default_program_name() -> String {
    "a program without a name".to_owned()
}

/// Parameters of a request to `/oauth/authorize`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct AuthorizeRequest {
    client_id: Option<String>,
    redirect_uri: Option<String>,
    response_type: Option<String>,
    code_challenge: Option<String>,
    code_challenge_method: Option<String>,
    state: Option<String>,
    resource: Option<String>,
}

/// Parameters of a request to `/oauth/token`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct TokenRequest {
    grant_type: Option<String>,
    client_id: Option<String>,
    code: Option<String>,
    redirect_uri: Option<String>,
    code_verifier: Option<String>,
    refresh_token: Option<String>,
    device_code: Option<String>,
}

/// The state of a browser's sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SignInProgress {
    /// Nobody has confirmed yet: the code to type, the program, and where its code will go.
    Asked {
        code: String,
        client: String,
        to: String,
    },
    Redirect(String),
    Ended,
}

/// The sign-in that a person decided about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SignInDecision {
    client: String,
    /// Its redirect address, or `a terminal`.
    to: String,
}

pub(crate) struct Oauth {
    pub(crate) options: OauthOptions,
    key: hmac::Key,
    clock: Arc<dyn Clock>,
    tokens: Arc<TokenFile>,
    sign_ins: Mutex<Vec<PendingSignIn>>,
}

reprise_types::show_fields!(Oauth { options });

impl Oauth {
    pub(crate) fn new(
        options: OauthOptions,
        place: &DaemonPaths,
        tokens: Arc<TokenFile>,
        clock: Arc<dyn Clock>,
    ) -> std::io::Result<Self> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &load_or_create_key(place)?);
        Ok(Self {
            options,
            key,
            clock,
            tokens,
            sign_ins: Mutex::default(),
        })
    }

    /// Returns whether this daemon issues tokens itself.
    pub(crate) fn is_own_issuer(&self) -> bool {
        self.options.issuer.is_none()
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Returns the host and port of the public address, if one is configured.
    pub(crate) fn authority(&self) -> Option<&str> {
        let (_, rest) = self.options.url.as_deref()?.split_once("://")?;
        rest.split('/').next()
    }

    /// Returns the base URL; `host` is the host of a request, which the guard has checked.
    pub(crate) fn base_url(&self, host: &str) -> String {
        match &self.options.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{host}"),
        }
    }

    /// Locks the sign-ins and drops those that are out of time.
    fn live_sign_ins(&self) -> MutexGuard<'_, Vec<PendingSignIn>> {
        let mut sign_ins = lock(&self.sign_ins);
        let now = self.now();
        // A clock that is set right by a little ends none, and one that is set back keeps none.
        sign_ins.retain(|sign_in| (now - sign_in.created).abs() < CONFIRM_WITHIN);
        sign_ins
    }

    /// Registers a program: its client id is its name and addresses, signed.
    pub(crate) fn register(&self, asked: Registration) -> Result<Value, OauthError> {
        let method = asked.token_endpoint_auth_method.as_deref();
        if method.is_some_and(|method| method != "none") {
            let detail = "only programs without a secret are registered: leave \
                        token_endpoint_auth_method out or set it to none";
            return Err(oauth_error("invalid_client_metadata", detail));
        }
        let fits = asked.redirect_uris.len() <= REDIRECTS_MAX;
        if !fits
            || !asked
                .redirect_uris
                .iter()
                .all(|uri| is_allowed_redirect(uri))
        {
            let detail = "redirect_uris takes at most 8 addresses: https, http on this machine, or a \
                        scheme named after a domain (com.example.app), without a fragment";
            return Err(oauth_error("invalid_redirect_uri", detail));
        }
        let name = asked.client_name.chars().filter(|c| !c.is_control());
        let registration = Registration {
            client_name: name.take(NAME_CHARS_MAX).collect(),
            ..asked
        };
        let body = serde_json::to_vec(&registration).unwrap_or_default();
        let tag = hmac::sign(&self.key, &body);
        let client_id = [body.as_slice(), tag.as_ref()].map(|part| BASE64URL_NOPAD.encode(part));
        let client_id = client_id.join(".");
        if client_id.len() > CLIENT_BYTES_MAX {
            return Err(oauth_error(
                "invalid_client_metadata",
                "the registration is too long",
            ));
        }
        Ok(json!({
            "client_id": client_id,
            "client_id_issued_at": self.now().timestamp(),
            "client_name": registration.client_name,
            "redirect_uris": registration.redirect_uris,
            "token_endpoint_auth_method": "none",
            "grant_types": GRANTS,
            "response_types": ["code"],
            "scope": SCOPE,
        }))
    }

    /// Decodes the registration in a client id and checks its signature.
    fn verify_client(&self, client_id: Option<&str>) -> Result<(String, Registration), OauthError> {
        let client_id = client_id.filter(|id| id.len() <= CLIENT_BYTES_MAX);
        let client_id = client_id.ok_or(UNKNOWN_CLIENT)?;
        let (body, tag) = client_id.split_once('.').ok_or(UNKNOWN_CLIENT)?;
        let [body, tag] = [body, tag].map(|part| BASE64URL_NOPAD.decode(part.as_bytes()));
        let (body, tag) = (
            body.map_err(|_| UNKNOWN_CLIENT)?,
            tag.map_err(|_| UNKNOWN_CLIENT)?,
        );
        hmac::verify(&self.key, &body, &tag).map_err(|_| UNKNOWN_CLIENT)?;
        let registration = serde_json::from_slice(&body).map_err(|_| UNKNOWN_CLIENT)?;
        Ok((client_id.to_owned(), registration))
    }

    /// Begins a browser's sign-in and returns its handle, which only that browser knows. Errors are
    /// shown: anybody may register, and nothing is sent to an address before a person confirmed it.
    pub(crate) fn begin_browser_sign_in(
        &self,
        request: AuthorizeRequest,
        base: &str,
        from: IpAddr,
    ) -> Result<String, OauthError> {
        let (client_id, registration) = self.verify_client(request.client_id.as_deref())?;
        let registered = &registration.redirect_uris;
        let redirect = match (request.redirect_uri, registered.as_slice()) {
            (Some(uri), _) if registered.iter().any(|own| matches_registered(own, &uri)) => uri,
            (None, [one]) => one.clone(),
            // Nothing is sent to an address that the program did not register.
            _ => {
                let detail = "the address to go back to is not one that the program registered";
                return Err(oauth_error("invalid_request", detail));
            }
        };
        let state = request.state.filter(|state| state.len() <= STATE_BYTES_MAX);
        if request.response_type.as_deref() != Some("code") {
            let detail = "the program asks for another response_type than code; report it there";
            return Err(oauth_error("unsupported_response_type", detail));
        }
        let challenge = request.code_challenge.unwrap_or_default();
        let is_hash = BASE64URL_NOPAD.decode(challenge.as_bytes());
        let is_hash = is_hash.is_ok_and(|hash| hash.len() == 32);
        if request.code_challenge_method.as_deref() != Some("S256") || !is_hash {
            let detail = "the program sends no code_challenge of the method S256; report it there";
            return Err(oauth_error("invalid_request", detail));
        }
        if request
            .resource
            .is_some_and(|asked| !is_own_resource(&asked, base))
        {
            let detail = "the program asks for the memory of another server; report it there";
            return Err(oauth_error("invalid_target", detail));
        }
        let flow = SignInFlow::Browser {
            redirect,
            challenge,
            state,
        };
        let (handle, _) = self.add_sign_in(client_id, registration.client_name, flow, from)?;
        Ok(handle)
    }

    /// Begins a terminal's sign-in and returns the JSON of the device response.
    pub(crate) fn begin_device_sign_in(
        &self,
        client_id: Option<&str>,
        base: &str,
        from: IpAddr,
    ) -> Result<Value, OauthError> {
        let (client_id, registration) = self.verify_client(client_id)?;
        let flow = SignInFlow::Terminal { polled: None };
        let begun = self.add_sign_in(client_id, registration.client_name, flow, from);
        let (device_code, user_code) = begun?;
        let page = format!("{base}/oauth/approve");
        Ok(json!({
            "device_code": device_code,
            "verification_uri_complete": format!("{page}?code={user_code}"),
            "user_code": user_code,
            "verification_uri": page,
            "expires_in": CONFIRM_WITHIN.num_seconds(),
            "interval": POLL_INTERVAL.num_seconds(),
        }))
    }

    /// Adds a sign-in; returns its handle and the code that a person types.
    fn add_sign_in(
        &self,
        client_id: String,
        client: String,
        flow: SignInFlow,
        from: IpAddr,
    ) -> Result<(String, String), OauthError> {
        let secrets = || Ok::<_, std::io::Error>((generate_secret()?, generate_user_code()?));
        let (handle, code) = secrets().map_err(|_| NO_RANDOM)?;
        let mut sign_ins = self.live_sign_ins();
        let asked = sign_ins
            .iter()
            .filter(|sign_in| sign_in.is_asked_from(from));
        if asked.count() >= PENDING_OF_CLIENT_MAX || sign_ins.len() >= PENDING_MAX {
            return Err(TOO_MANY);
        }
        sign_ins.push(PendingSignIn {
            hash: sha256_hex(handle.as_bytes()),
            code: code.clone(),
            client_id,
            client,
            created: self.now(),
            from,
            flow,
            stage: SignInStage::Asked,
        });
        Ok((handle, code))
    }

    /// Confirms a sign-in for the memory of `user`, or refuses it if `None`; returns `None` if no
    /// sign-in waits under this code.
    pub(crate) fn decide(&self, code: &str, user: Option<UserId>) -> Option<SignInDecision> {
        let typed: String = code.chars().filter(char::is_ascii_alphabetic).collect();
        let typed = typed.to_ascii_uppercase();
        let mut sign_ins = self.live_sign_ins();
        let mut waiting = sign_ins.iter_mut();
        let sign_in = waiting.find(|sign_in| {
            matches!(sign_in.stage, SignInStage::Asked) && sign_in.code.replace('-', "") == typed
        })?;
        sign_in.stage = user.map_or(SignInStage::Refused, SignInStage::Granted);
        Some(SignInDecision {
            client: sign_in.client.clone(),
            to: sign_in.destination(),
        })
    }

    /// Returns the state of a browser's sign-in; once it is confirmed, issues its code, once.
    pub(crate) fn poll(&self, handle: &str, base: &str) -> SignInProgress {
        let (hash, now) = (sha256_hex(handle.as_bytes()), self.now());
        let mut sign_ins = self.live_sign_ins();
        let Some(sign_in) = sign_ins.iter_mut().find(|sign_in| sign_in.hash == hash) else {
            return SignInProgress::Ended;
        };
        let to = sign_in.destination();
        let SignInFlow::Browser {
            redirect, state, ..
        } = &sign_in.flow
        else {
            return SignInProgress::Ended;
        };
        let state = state.as_deref();
        match &sign_in.stage {
            SignInStage::Asked => SignInProgress::Asked {
                code: sign_in.code.clone(),
                client: sign_in.client.clone(),
                to,
            },
            SignInStage::Refused => {
                let fields = [("error", "access_denied"), ("iss", base)];
                SignInProgress::Redirect(redirect_url(redirect, &fields, state))
            }
            SignInStage::Granted(user) => {
                let Ok(code) = generate_secret() else {
                    return SignInProgress::Ended;
                };
                let to = redirect_url(redirect, &[("code", &code), ("iss", base)], state);
                let user = user.clone();
                sign_in.stage = SignInStage::Coded { user, since: now };
                sign_in.hash = sha256_hex(code.as_bytes());
                SignInProgress::Redirect(to)
            }
            SignInStage::Coded { .. } | SignInStage::Spent(_) => SignInProgress::Ended,
        }
    }

    /// Exchanges a code, a device code or a refresh token for a token.
    pub(crate) fn exchange(&self, with: &TokenRequest) -> Result<Tokens, OauthError> {
        let (client_id, registration) = self.verify_client(with.client_id.as_deref())?;
        let client = registration.client_name.as_str();
        let given = |field: &Option<String>| field.clone().ok_or(INVALID_GRANT);
        match with.grant_type.as_deref() {
            Some("authorization_code") => self.exchange_code(with, &client_id, client),
            Some("refresh_token") => {
                let renewed =
                    self.tokens
                        .renew(&given(&with.refresh_token)?, &client_id, self.now());
                renewed
                    .map_err(|error| storage_error(&error))?
                    .ok_or(INVALID_GRANT)
            }
            Some("urn:ietf:params:oauth:grant-type:device_code") => {
                self.exchange_device_code(&given(&with.device_code)?, &client_id, client)
            }
            _ => Err(oauth_error(
                "unsupported_grant_type",
                "grant_type is authorization_code, refresh_token or that of RFC 8628",
            )),
        }
    }

    fn exchange_code(
        &self,
        with: &TokenRequest,
        client_id: &str,
        client: &str,
    ) -> Result<Tokens, OauthError> {
        let code = with.code.as_deref().ok_or(INVALID_GRANT)?;
        let hash = sha256_hex(code.as_bytes());
        let user = self.spend_code(&hash, with, client_id)?;
        // This waits for the disk, so the sign-ins are not locked meanwhile.
        let made = self.tokens.sign_in(client, client_id, user, self.now());
        let made = made.map_err(|error| storage_error(&error))?;
        let mut sign_ins = self.live_sign_ins();
        if let Some(sign_in) = sign_ins.iter_mut().find(|sign_in| sign_in.hash == hash) {
            sign_in.stage = SignInStage::Spent(Some(made.name.clone()));
            return Ok(made);
        }
        drop(sign_ins);
        // The code came a second time meanwhile.
        self.revoke_token_of_reused_code(&made.name);
        Err(INVALID_GRANT)
    }

    /// Uses up the code of this hash and returns the user whose memory it opens.
    fn spend_code(
        &self,
        code: &str,
        with: &TokenRequest,
        client_id: &str,
    ) -> Result<UserId, OauthError> {
        let mut sign_ins = self.live_sign_ins();
        let position = sign_ins.iter().position(|sign_in| sign_in.hash == code);
        let position = position.ok_or(INVALID_GRANT)?;
        // A code that comes twice is in two hands: its token and the code itself are withdrawn.
        if matches!(sign_ins[position].stage, SignInStage::Spent(_)) {
            let sign_in = sign_ins.remove(position);
            drop(sign_ins);
            if let SignInStage::Spent(Some(token)) = sign_in.stage {
                self.revoke_token_of_reused_code(&token);
            }
            return Err(INVALID_GRANT);
        }
        let sign_in = &mut sign_ins[position];
        let SignInFlow::Browser {
            redirect,
            challenge,
            ..
        } = &sign_in.flow
        else {
            return Err(INVALID_GRANT);
        };
        let SignInStage::Coded { user, since } = &sign_in.stage else {
            return Err(INVALID_GRANT);
        };
        let verifier = with.code_verifier.as_deref().unwrap_or_default();
        let hash = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
        let proves = BASE64URL_NOPAD.encode(hash.as_ref()) == *challenge;
        let same = with.redirect_uri.as_ref().is_none_or(|uri| uri == redirect);
        let late = self.now() - *since >= CODE_LIFETIME;
        if !proves || !same || sign_in.client_id != client_id || late {
            return Err(INVALID_GRANT);
        }
        let user = user.clone();
        sign_in.stage = SignInStage::Spent(None);
        Ok(user)
    }

    fn revoke_token_of_reused_code(&self, token: &str) {
        if let Err(error) = self.tokens.revoke(token) {
            tracing::warn!(%error, "a token of a code that came twice was not withdrawn");
        }
    }

    fn exchange_device_code(
        &self,
        code: &str,
        client_id: &str,
        client: &str,
    ) -> Result<Tokens, OauthError> {
        let (wanted, now) = (sha256_hex(code.as_bytes()), self.now());
        let mut sign_ins = self.live_sign_ins();
        let position = sign_ins.iter().position(|sign_in| sign_in.hash == wanted);
        let ended = oauth_error(
            "expired_token",
            "the code has ended or was used; begin again",
        );
        let position = position.ok_or(ended)?;
        let sign_in = &mut sign_ins[position];
        let SignInFlow::Terminal { polled } = &mut sign_in.flow else {
            return Err(INVALID_GRANT);
        };
        if sign_in.client_id != client_id {
            return Err(INVALID_GRANT);
        }
        let early = polled.is_some_and(|at| now - at < POLL_INTERVAL);
        *polled = Some(now);
        match &sign_in.stage {
            SignInStage::Asked if early => Err(oauth_error("slow_down", "ask every 5 seconds")),
            SignInStage::Asked => Err(oauth_error(
                "authorization_pending",
                "nobody has confirmed yet",
            )),
            SignInStage::Granted(user) => {
                let user = user.clone();
                sign_ins.remove(position);
                drop(sign_ins);
                let made = self.tokens.sign_in(client, client_id, user, now);
                made.map_err(|error| storage_error(&error))
            }
            _ => {
                sign_ins.remove(position);
                Err(oauth_error("access_denied", "it was refused"))
            }
        }
    }
}

pub(crate) const GRANTS: [&str; 3] = [
    "authorization_code",
    "refresh_token",
    "urn:ietf:params:oauth:grant-type:device_code",
];

fn storage_error(error: &TokenError) -> OauthError {
    tracing::error!(%error, "a token could not be made");
    oauth_error(
        "server_error",
        "the token could not be kept; the daemon's log says why",
    )
}

/// Loads the key that signs client ids, or creates it at the first start; without the file every
/// client has to register again.
fn load_or_create_key(place: &DaemonPaths) -> std::io::Result<Vec<u8>> {
    let folder = place.open_own_folder().map_err(std::io::Error::other)?;
    let known = folder
        .read(KEY_FILE, KEY_BYTES_MAX)
        .map_err(std::io::Error::other)?;
    if let Some(known) = known.filter(|known| known.len() >= 32) {
        return Ok(known);
    }
    let made = generate_secret()?.into_bytes();
    folder
        .replace(KEY_FILE, &made)
        .map_err(std::io::Error::other)?;
    Ok(made)
}

#[cfg(test)]
mod tests;
