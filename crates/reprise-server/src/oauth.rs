//! The built-in issuer, for those who have none (OAuth 2.1): programs sign in, a person confirms.
//!
//! A program registers (RFC 7591), asks through a browser with PKCE (RFC 7636) or by a code for a
//! terminal (RFC 8628), and waits for somebody to say whose memory it may open. What it gets is a
//! token of the daemon's like any other (`tokens.rs`), which ends, is renewed and is withdrawn.
//! What is under way is held here, for minutes; a registration is in the client's own name.

mod redirect;
mod sign;

use std::sync::{Arc, Mutex, MutexGuard};

use chrono::{DateTime, TimeDelta, Utc};
use data_encoding::BASE64URL_NOPAD;
use reprise_types::{Clock, UserId, lock, secret, sha256_hex};
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::issuer::Issuer;
use crate::place::Place;
use crate::tokens::{TokenError, TokenFile, Tokens};
use redirect::{back, is_ours, is_redirect, is_same};
use sign::{Sign, Stage, Way, user_code};

/// What a token of ours may be asked for: there is one thing to allow.
pub(crate) const SCOPE: &str = "memory";
/// How long a person has to confirm.
pub(crate) const ASKED_FOR: TimeDelta = TimeDelta::minutes(10);
/// How long a code of the browser's way can be exchanged.
const CODE_FOR: TimeDelta = TimeDelta::seconds(60);
/// How often a terminal may ask whether somebody has confirmed.
const INTERVAL: TimeDelta = TimeDelta::seconds(5);
/// Sign-ins under way at once; the oldest makes room.
const ASKED_MAX: usize = 64;
/// Most addresses of one program.
const REDIRECTS_MAX: usize = 8;
/// Longest state that is given back.
const STATE_BYTES_MAX: usize = 2_048;
const NAME_CHARS_MAX: usize = 64;
/// Longest registration that is signed, and so the longest name of a client.
const CLIENT_BYTES_MAX: usize = 4_096;
/// Beside the tokens: what signs the names of clients.
const KEY_FILE: &str = "oauth.key";
const KEY_BYTES_MAX: u64 = 128;

/// How this daemon is reached from elsewhere, and whose tokens it takes.
#[derive(Debug, Clone, Default)]
pub struct OauthOptions {
    /// How clients reach it (`https://memory.example`); by the host of each request where not said.
    pub url: Option<String>,
    /// Whose tokens are taken; the daemon issues its own where there is none.
    pub issuer: Option<Issuer>,
}

/// What went wrong, as the protocol names it, and in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OauthError {
    pub(crate) error: &'static str,
    pub(crate) said: &'static str,
}

const fn wrong(error: &'static str, said: &'static str) -> OauthError {
    OauthError { error, said }
}

const NO_CLIENT: OauthError = wrong(
    "invalid_client",
    "the client is not one that registered here; register again",
);
const NO_GRANT: OauthError = wrong(
    "invalid_grant",
    "the code or token is not known, was used before or has ended; sign in again",
);
const NO_RANDOM: OauthError = wrong("server_error", "no random bytes could be had; try again");

/// What a program says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registration {
    #[serde(default = "nameless")]
    client_name: String,
    #[serde(default)]
    redirect_uris: Vec<String>,
    #[serde(default, skip_serializing)]
    token_endpoint_auth_method: Option<String>,
}

fn nameless() -> String {
    "a program without a name".to_owned()
}

/// What a browser brings to `/oauth/authorize`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Asking {
    client_id: Option<String>,
    redirect_uri: Option<String>,
    response_type: Option<String>,
    code_challenge: Option<String>,
    code_challenge_method: Option<String>,
    state: Option<String>,
    resource: Option<String>,
}

/// What a program brings to `/oauth/token`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Exchange {
    grant_type: Option<String>,
    client_id: Option<String>,
    code: Option<String>,
    redirect_uri: Option<String>,
    code_verifier: Option<String>,
    refresh_token: Option<String>,
    device_code: Option<String>,
}

/// Why `/oauth/authorize` goes no further: said where it was asked, or to the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stopped {
    Here(OauthError),
    Back(String),
}

/// How far a browser's sign-in is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Nobody has confirmed: what is to be typed, and who asks.
    Asked {
        code: String,
        client: String,
        to: String,
    },
    Back(String),
    Over,
}

/// Who asked for what was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Decided {
    client: String,
    /// Where its codes go, or `a terminal`.
    to: String,
}

pub(crate) struct Oauth {
    pub(crate) options: OauthOptions,
    key: hmac::Key,
    clock: Arc<dyn Clock>,
    tokens: Arc<TokenFile>,
    signs: Mutex<Vec<Sign>>,
}

reprise_types::show_fields!(Oauth { options });

impl Oauth {
    pub(crate) fn new(
        options: OauthOptions,
        place: &Place,
        tokens: Arc<TokenFile>,
        clock: Arc<dyn Clock>,
    ) -> std::io::Result<Self> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key_of(place)?);
        Ok(Self {
            options,
            key,
            clock,
            tokens,
            signs: Mutex::default(),
        })
    }

    /// Whether this daemon issues tokens itself.
    pub(crate) fn issues(&self) -> bool {
        self.options.issuer.is_none()
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The authority under which a proxy in front of it is reached.
    pub(crate) fn authority(&self) -> Option<&str> {
        let (_, rest) = self.options.url.as_deref()?.split_once("://")?;
        rest.split('/').next()
    }

    /// Where it is reached; `host` is the one that a request names, which the guard has looked at.
    pub(crate) fn base(&self, host: &str) -> String {
        match &self.options.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{host}"),
        }
    }

    /// Those that can still become something.
    fn signs(&self) -> MutexGuard<'_, Vec<Sign>> {
        let mut signs = lock(&self.signs);
        let now = self.now();
        signs.retain(|sign| (TimeDelta::zero()..ASKED_FOR).contains(&(now - sign.made)));
        signs
    }

    /// Registers a program: its name and addresses, signed, are how it is called.
    pub(crate) fn register(&self, asked: Registration) -> Result<Value, OauthError> {
        let method = asked.token_endpoint_auth_method.as_deref();
        if method.is_some_and(|method| method != "none") {
            let said = "only programs without a secret are registered: leave \
                        token_endpoint_auth_method out or set it to none";
            return Err(wrong("invalid_client_metadata", said));
        }
        let fits = asked.redirect_uris.len() <= REDIRECTS_MAX;
        if !fits || !asked.redirect_uris.iter().all(|uri| is_redirect(uri)) {
            let said = "redirect_uris takes at most 8 addresses: https, http on this machine, or a \
                        scheme of the program's own, without a fragment";
            return Err(wrong("invalid_redirect_uri", said));
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
            return Err(wrong(
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

    /// The registration that a client's name holds, where we have signed it.
    fn client(&self, client_id: Option<&str>) -> Result<(String, Registration), OauthError> {
        let client_id = client_id.filter(|id| id.len() <= CLIENT_BYTES_MAX);
        let client_id = client_id.ok_or(NO_CLIENT)?;
        let (body, tag) = client_id.split_once('.').ok_or(NO_CLIENT)?;
        let [body, tag] = [body, tag].map(|part| BASE64URL_NOPAD.decode(part.as_bytes()));
        let (body, tag) = (body.map_err(|_| NO_CLIENT)?, tag.map_err(|_| NO_CLIENT)?);
        hmac::verify(&self.key, &body, &tag).map_err(|_| NO_CLIENT)?;
        let registration = serde_json::from_slice(&body).map_err(|_| NO_CLIENT)?;
        Ok((client_id.to_owned(), registration))
    }

    /// Begins a browser's sign-in: answers what that browser alone knows it by.
    pub(crate) fn authorize(&self, asking: Asking, base: &str) -> Result<String, Stopped> {
        let client = self.client(asking.client_id.as_deref());
        let (client_id, registration) = client.map_err(Stopped::Here)?;
        let registered = &registration.redirect_uris;
        let redirect = match (asking.redirect_uri, registered.as_slice()) {
            (Some(uri), _) if registered.iter().any(|own| is_same(own, &uri)) => uri,
            (None, [one]) => one.clone(),
            // Nothing is sent to an address that the program did not register.
            _ => {
                let said = "the address to go back to is not one that the program registered";
                return Err(Stopped::Here(wrong("invalid_request", said)));
            }
        };
        let state = asking.state.filter(|state| state.len() <= STATE_BYTES_MAX);
        let stop = |error: &str| {
            let fields = [("error", error), ("iss", base)];
            Stopped::Back(back(&redirect, &fields, state.as_deref()))
        };
        if asking.response_type.as_deref() != Some("code") {
            return Err(stop("unsupported_response_type"));
        }
        let challenge = asking.code_challenge.unwrap_or_default();
        let is_hash = BASE64URL_NOPAD.decode(challenge.as_bytes());
        let is_hash = is_hash.is_ok_and(|hash| hash.len() == 32);
        if asking.code_challenge_method.as_deref() != Some("S256") || !is_hash {
            return Err(stop("invalid_request"));
        }
        if asking.resource.is_some_and(|asked| !is_ours(&asked, base)) {
            return Err(stop("invalid_target"));
        }
        let way = Way::Browser {
            redirect: redirect.clone(),
            challenge,
            state: state.clone(),
        };
        let begun = self.begin(client_id, registration.client_name, way);
        let (known_by, _) = begun.map_err(|_| stop("server_error"))?;
        Ok(known_by)
    }

    /// Begins a terminal's sign-in.
    pub(crate) fn device(&self, client_id: Option<&str>, base: &str) -> Result<Value, OauthError> {
        let (client_id, registration) = self.client(client_id)?;
        let way = Way::Terminal { polled: None };
        let begun = self.begin(client_id, registration.client_name, way);
        let (device_code, user_code) = begun.map_err(|_| NO_RANDOM)?;
        let page = format!("{base}/oauth/approve");
        Ok(json!({
            "device_code": device_code,
            "verification_uri_complete": format!("{page}?code={user_code}"),
            "user_code": user_code,
            "verification_uri": page,
            "expires_in": ASKED_FOR.num_seconds(),
            "interval": INTERVAL.num_seconds(),
        }))
    }

    /// What the asker knows it by, and what a person types.
    fn begin(
        &self,
        client_id: String,
        client: String,
        way: Way,
    ) -> std::io::Result<(String, String)> {
        let (known_by, code) = (secret()?, user_code()?);
        let mut signs = self.signs();
        if signs.len() >= ASKED_MAX {
            signs.remove(0);
        }
        signs.push(Sign {
            hash: sha256_hex(known_by.as_bytes()),
            code: code.clone(),
            client_id,
            client,
            made: self.now(),
            way,
            stage: Stage::Asked,
        });
        Ok((known_by, code))
    }

    /// A person confirms for whose memory, or refuses; `None` where nothing waits under this code.
    pub(crate) fn decide(&self, code: &str, user: Option<UserId>) -> Option<Decided> {
        let typed: String = code.chars().filter(char::is_ascii_alphabetic).collect();
        let typed = typed.to_ascii_uppercase();
        let mut signs = self.signs();
        let mut waiting = signs.iter_mut();
        let sign = waiting.find(|sign| {
            matches!(sign.stage, Stage::Asked) && sign.code.replace('-', "") == typed
        })?;
        sign.stage = user.map_or(Stage::Refused, Stage::Granted);
        Some(Decided {
            client: sign.client.clone(),
            to: sign.to(),
        })
    }

    /// How far a browser's sign-in is; where it is confirmed, its code goes out, once.
    pub(crate) fn wait(&self, known_by: &str, base: &str) -> Waited {
        let (hash, now) = (sha256_hex(known_by.as_bytes()), self.now());
        let mut signs = self.signs();
        let Some(sign) = signs.iter_mut().find(|sign| sign.hash == hash) else {
            return Waited::Over;
        };
        let to = sign.to();
        let Way::Browser {
            redirect, state, ..
        } = &sign.way
        else {
            return Waited::Over;
        };
        let state = state.as_deref();
        match &sign.stage {
            Stage::Asked => Waited::Asked {
                code: sign.code.clone(),
                client: sign.client.clone(),
                to,
            },
            Stage::Refused => {
                let fields = [("error", "access_denied"), ("iss", base)];
                Waited::Back(back(redirect, &fields, state))
            }
            Stage::Granted(user) => {
                let Ok(code) = secret() else {
                    return Waited::Over;
                };
                let to = back(redirect, &[("code", &code), ("iss", base)], state);
                let user = user.clone();
                sign.stage = Stage::Coded { user, since: now };
                sign.hash = sha256_hex(code.as_bytes());
                Waited::Back(to)
            }
            Stage::Coded { .. } | Stage::Spent(_) => Waited::Over,
        }
    }

    /// A code, a device's code or a refresh token for a token.
    pub(crate) fn exchange(&self, with: &Exchange) -> Result<Tokens, OauthError> {
        let (client_id, registration) = self.client(with.client_id.as_deref())?;
        let client = registration.client_name.as_str();
        let given = |field: &Option<String>| field.clone().ok_or(NO_GRANT);
        match with.grant_type.as_deref() {
            Some("authorization_code") => self.by_code(with, &client_id, client),
            Some("refresh_token") => {
                let renewed =
                    self.tokens
                        .renew(&given(&with.refresh_token)?, &client_id, self.now());
                renewed.map_err(|error| kept(&error))?.ok_or(NO_GRANT)
            }
            Some("urn:ietf:params:oauth:grant-type:device_code") => {
                self.by_device(&given(&with.device_code)?, &client_id, client)
            }
            _ => Err(wrong(
                "unsupported_grant_type",
                "grant_type is authorization_code, refresh_token or that of RFC 8628",
            )),
        }
    }

    fn by_code(
        &self,
        with: &Exchange,
        client_id: &str,
        client: &str,
    ) -> Result<Tokens, OauthError> {
        let code = with.code.as_deref().ok_or(NO_GRANT)?;
        let hash = sha256_hex(code.as_bytes());
        let user = self.spend(&hash, with, client_id)?;
        // It waits for the disk, and nobody for it.
        let made = self.tokens.sign_in(client, client_id, user, self.now());
        let made = made.map_err(|error| kept(&error))?;
        let mut signs = self.signs();
        if let Some(sign) = signs.iter_mut().find(|sign| sign.hash == hash) {
            sign.stage = Stage::Spent(Some(made.name.clone()));
            return Ok(made);
        }
        drop(signs);
        // It came a second time meanwhile.
        self.withdraw(&made.name);
        Err(NO_GRANT)
    }

    /// Whose memory the code of this hash opens, this once.
    fn spend(&self, code: &str, with: &Exchange, client_id: &str) -> Result<UserId, OauthError> {
        let mut signs = self.signs();
        let place = signs.iter().position(|sign| sign.hash == code);
        let place = place.ok_or(NO_GRANT)?;
        // A code that comes twice is in two hands: what came of it is withdrawn, and it with that.
        if matches!(signs[place].stage, Stage::Spent(_)) {
            let sign = signs.remove(place);
            drop(signs);
            if let Stage::Spent(Some(token)) = sign.stage {
                self.withdraw(&token);
            }
            return Err(NO_GRANT);
        }
        let sign = &mut signs[place];
        let Way::Browser {
            redirect,
            challenge,
            ..
        } = &sign.way
        else {
            return Err(NO_GRANT);
        };
        let Stage::Coded { user, since } = &sign.stage else {
            return Err(NO_GRANT);
        };
        let verifier = with.code_verifier.as_deref().unwrap_or_default();
        let hash = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
        let proves = BASE64URL_NOPAD.encode(hash.as_ref()) == *challenge;
        let same = with.redirect_uri.as_ref().is_none_or(|uri| uri == redirect);
        let late = self.now() - *since >= CODE_FOR;
        if !proves || !same || sign.client_id != client_id || late {
            return Err(NO_GRANT);
        }
        let user = user.clone();
        sign.stage = Stage::Spent(None);
        Ok(user)
    }

    fn withdraw(&self, token: &str) {
        if let Err(error) = self.tokens.revoke(token) {
            tracing::warn!(%error, "a token of a code that came twice was not withdrawn");
        }
    }

    fn by_device(&self, code: &str, client_id: &str, client: &str) -> Result<Tokens, OauthError> {
        let (wanted, now) = (sha256_hex(code.as_bytes()), self.now());
        let mut signs = self.signs();
        let place = signs.iter().position(|sign| sign.hash == wanted);
        let ended = wrong(
            "expired_token",
            "the code has ended or was used; begin again",
        );
        let place = place.ok_or(ended)?;
        let sign = &mut signs[place];
        let Way::Terminal { polled } = &mut sign.way else {
            return Err(NO_GRANT);
        };
        if sign.client_id != client_id {
            return Err(NO_GRANT);
        }
        let early = polled.is_some_and(|at| now - at < INTERVAL);
        *polled = Some(now);
        match &sign.stage {
            Stage::Asked if early => Err(wrong("slow_down", "ask every 5 seconds")),
            Stage::Asked => Err(wrong("authorization_pending", "nobody has confirmed yet")),
            Stage::Granted(user) => {
                let user = user.clone();
                signs.remove(place);
                drop(signs);
                let made = self.tokens.sign_in(client, client_id, user, now);
                made.map_err(|error| kept(&error))
            }
            _ => {
                signs.remove(place);
                Err(wrong("access_denied", "it was refused"))
            }
        }
    }
}

pub(crate) const GRANTS: [&str; 3] = [
    "authorization_code",
    "refresh_token",
    "urn:ietf:params:oauth:grant-type:device_code",
];

fn kept(error: &TokenError) -> OauthError {
    tracing::error!(%error, "a token could not be made");
    wrong(
        "server_error",
        "the token could not be kept; the daemon's log says why",
    )
}

/// What signs clients' names, made at the first start: without the file all register again.
fn key_of(place: &Place) -> std::io::Result<Vec<u8>> {
    let folder = place.folder().map_err(std::io::Error::other)?;
    let known = folder
        .read(KEY_FILE, KEY_BYTES_MAX)
        .map_err(std::io::Error::other)?;
    if let Some(known) = known.filter(|known| known.len() >= 32) {
        return Ok(known);
    }
    let made = secret()?.into_bytes();
    folder
        .replace(KEY_FILE, &made)
        .map_err(std::io::Error::other)?;
    Ok(made)
}

#[cfg(test)]
mod tests;
