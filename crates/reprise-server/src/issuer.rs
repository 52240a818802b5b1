//! Tokens of somebody else's issuer: JWT (RFC 7519) checked by its published keys (RFC 7517).
//!
//! What a token says is believed only after its signature, issuer, audience and times. Who fetches
//! is lent: nothing here reaches the network by itself. The faces of one user's daemon and of the
//! service for teams both ask here.

mod jwt;

use std::str::FromStr;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_agent::run_blocking;
use reprise_operations::{Problem, ProblemKind};
use reprise_types::{Clock, UserId, lock};
use serde::Deserialize;
use serde_json::{Map, Value};

use jwt::{Algorithm, PublicKey, SignedToken};

/// Longest token that is looked at, in bytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// How far two clocks may be apart.
const LEEWAY: TimeDelta = TimeDelta::seconds(60);
/// How long fetched keys are taken without asking again: a key that is withdrawn counts so long.
const KEYS_FOR: TimeDelta = TimeDelta::hours(1);
/// How long they are taken at most, where their issuer cannot be asked: so long counts one that it
/// has withdrawn meanwhile.
const KEYS_AT_MOST: TimeDelta = TimeDelta::days(1);
/// After a fetch nobody fetches again for so long, whatever key a token names.
const FETCH_EVERY: TimeDelta = TimeDelta::seconds(30);
/// Most keys of an issuer that are looked at.
const KEYS_MAX: usize = 64;
/// Where an issuer describes itself (`OpenID` Connect Discovery, RFC 8414).
const DESCRIBED: [&str; 2] = ["openid-configuration", "oauth-authorization-server"];

/// Whose tokens are taken, and what is read in them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerSettings {
    /// The issuer exactly as it is in `iss`.
    pub issuer: String,
    /// What must stand in `aud`: the address under which clients know this server.
    pub audience: String,
    /// The claim that names the user.
    #[serde(default = "default_user_claim")]
    pub user_claim: String,
    /// What a token must have been granted.
    #[serde(default)]
    pub scopes: Vec<String>,
}

pub(crate) fn default_user_claim() -> String {
    "sub".to_owned()
}

/// Gets a document of an address; the error is a sentence.
pub type Fetch = Arc<dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync>;

/// What a token says that was found good.
#[derive(Debug, Clone, PartialEq)]
pub struct Claims(Map<String, Value>);

impl Claims {
    /// The text of a claim.
    #[must_use]
    pub fn text(&self, claim: &str) -> Option<&str> {
        self.0.get(claim).and_then(Value::as_str)
    }

    /// The texts of a claim that is a list, or one text with blanks between.
    #[must_use]
    pub fn list(&self, claim: &str) -> Vec<&str> {
        match self.0.get(claim) {
            Some(Value::String(text)) => text.split_whitespace().collect(),
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// When it ends.
    #[must_use]
    pub fn ends(&self) -> Option<DateTime<Utc>> {
        self.instant("exp").ok().flatten()
    }

    fn instant(&self, claim: &'static str) -> Result<Option<DateTime<Utc>>, TokenRefused> {
        let Some(value) = self.0.get(claim) else {
            return Ok(None);
        };
        let seconds = value.as_i64().or_else(|| {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "an `as` of floats saturates"
            )]
            value.as_f64().map(|seconds| seconds as i64)
        });
        let instant = seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
        instant.map(Some).ok_or(TokenRefused::Claim { claim })
    }
}

/// Why a token is not taken. None of these has a part of the token in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefused {
    #[error("the token is no JWT of at most {TOKEN_BYTES_MAX} bytes; sign in again")]
    Form,
    #[error("the token is not signed with RS256, ES256 or EdDSA; have its issuer use one of them")]
    Algorithm,
    #[error("no key of {issuer} fits the token's; sign in again")]
    Key { issuer: String },
    #[error("the token's signature is not {issuer}'s; sign in again")]
    Signature { issuer: String },
    #[error("the token is of another issuer than {issuer}; sign in there")]
    Issuer { issuer: String },
    #[error("the token is for another server than {audience}; have one made for that")]
    Audience { audience: String },
    #[error("the token has no usable `{claim}`; its issuer must put that in")]
    Claim { claim: &'static str },
    #[error(
        "the token has no usable `{claim}` to name its user by; set `user_claim` to one that it has"
    )]
    User { claim: String },
    #[error("the token was not granted `{scope}`; ask for that scope and sign in again")]
    Scope { scope: String },
    #[error(
        "the token ended {seconds} seconds ago by this machine's clock ({now}); sign in again, and \
         where it is new, set the clock that is wrong"
    )]
    Ended { seconds: i64, now: DateTime<Utc> },
    #[error(
        "the token begins in {seconds} seconds by this machine's clock ({now}); set the clock that \
         is wrong, here or at its issuer"
    )]
    Early { seconds: i64, now: DateTime<Utc> },
    #[error("the keys of {issuer} cannot be had ({why}); try again in a minute")]
    Unreachable { issuer: String, why: String },
}

impl From<TokenRefused> for Problem {
    fn from(refused: TokenRefused) -> Self {
        let kind = match &refused {
            TokenRefused::Unreachable { .. } => ProblemKind::Unavailable,
            TokenRefused::Scope { .. } => ProblemKind::Forbidden,
            _ => ProblemKind::Unauthorized,
        };
        Self::new(kind, refused.to_string())
    }
}

/// The keys of an issuer, as they were last seen.
#[derive(Default)]
struct Keys {
    known: Vec<PublicKey>,
    fetched: Option<DateTime<Utc>>,
    tried: Option<DateTime<Utc>>,
    /// Why the last try got none.
    failed: Option<String>,
}

/// One issuer whose tokens are taken. Cheap to clone.
#[derive(Clone)]
pub struct Issuer {
    settings: Arc<IssuerSettings>,
    fetch: Fetch,
    clock: Arc<dyn Clock>,
    keys: Arc<Mutex<Keys>>,
    /// The issuer is asked by one at a time.
    renewal: Arc<tokio::sync::Mutex<()>>,
}

reprise_types::show_fields!(Issuer { settings });

impl Issuer {
    /// Nothing is fetched before the first token.
    #[must_use]
    pub fn new(settings: IssuerSettings, fetch: Fetch, clock: Arc<dyn Clock>) -> Self {
        Self {
            settings: Arc::new(settings),
            fetch,
            clock,
            keys: Arc::default(),
            renewal: Arc::default(),
        }
    }

    #[must_use]
    pub fn settings(&self) -> &IssuerSettings {
        &self.settings
    }

    /// Whether a bearer token may be one of an issuer's at all: ours have no dots.
    #[must_use]
    pub fn is_jwt(token: &str) -> bool {
        token.split('.').count() == 3
    }

    /// Whose token it is, once it was found good.
    pub async fn user(&self, token: &str) -> Result<UserId, TokenRefused> {
        self.user_of_claims(&self.claims(token).await?)
    }

    /// Whose token it is that says this.
    pub fn user_of_claims(&self, claims: &Claims) -> Result<UserId, TokenRefused> {
        let claim = &self.settings.user_claim;
        let user = claims.text(claim).map(UserId::from_str);
        user.and_then(Result::ok).ok_or_else(|| TokenRefused::User {
            claim: claim.clone(),
        })
    }

    /// What a token says, once it was found good.
    pub async fn claims(&self, token: &str) -> Result<Claims, TokenRefused> {
        if token.len() > TOKEN_BYTES_MAX || !Self::is_jwt(token) {
            return Err(TokenRefused::Form);
        }
        let signed = SignedToken::parse(token)?;
        let key = self
            .get_key(signed.algorithm, signed.key_id.as_deref())
            .await?;
        let claims = signed.verify(&key)?;
        let claims = claims.map(Claims).ok_or_else(|| TokenRefused::Signature {
            issuer: self.settings.issuer.clone(),
        })?;
        self.check_claims(&claims)?;
        Ok(claims)
    }

    fn check_claims(&self, claims: &Claims) -> Result<(), TokenRefused> {
        let settings = &self.settings;
        if claims.text("iss") != Some(&settings.issuer) {
            let issuer = settings.issuer.clone();
            return Err(TokenRefused::Issuer { issuer });
        }
        // One text or a list; an address has no blanks.
        if !claims.list("aud").contains(&settings.audience.as_str()) {
            let audience = settings.audience.clone();
            return Err(TokenRefused::Audience { audience });
        }
        let now = self.clock.now();
        let ends = claims.instant("exp")?;
        let ends = ends.ok_or(TokenRefused::Claim { claim: "exp" })?;
        if now - ends > LEEWAY {
            let seconds = (now - ends).num_seconds();
            return Err(TokenRefused::Ended { seconds, now });
        }
        for claim in ["nbf", "iat"] {
            if let Some(begins) = claims.instant(claim)?
                && begins - now > LEEWAY
            {
                let seconds = (begins - now).num_seconds();
                return Err(TokenRefused::Early { seconds, now });
            }
        }
        let granted = [claims.list("scope"), claims.list("scp")].concat();
        match settings
            .scopes
            .iter()
            .find(|scope| !granted.contains(&scope.as_str()))
        {
            Some(scope) => Err(TokenRefused::Scope {
                scope: scope.clone(),
            }),
            None => Ok(()),
        }
    }

    /// The key that a header names; where it is not known, or not any more, the issuer is asked.
    /// Who names a key that is known and not old waits for nobody.
    async fn get_key(&self, alg: Algorithm, kid: Option<&str>) -> Result<PublicKey, TokenRefused> {
        let now = self.clock.now();
        if let Some(key) = lock(&self.keys).find_fresh(alg, kid, now) {
            return Ok(key);
        }
        let (issuer, kid) = (self.clone(), kid.map(str::to_owned));
        // What is fetched is for the next tokens, too, even if who sent this one has left.
        let renewed = tokio::spawn(async move { issuer.renew_keys(alg, kid.as_deref()).await });
        renewed.await.unwrap_or_else(|error| {
            Err(TokenRefused::Unreachable {
                issuer: self.settings.issuer.clone(),
                why: error.to_string(),
            })
        })
    }

    /// Asks the issuer for its keys, if it may be asked again, and returns the key that was wanted.
    async fn renew_keys(
        &self,
        alg: Algorithm,
        kid: Option<&str>,
    ) -> Result<PublicKey, TokenRefused> {
        let _turn = self.renewal.lock().await;
        let now = self.clock.now();
        // Another token may have had them fetched meanwhile.
        if lock(&self.keys).begin_renewal(alg, kid, now) {
            let fetched = self.fetch_keys().await;
            lock(&self.keys).end_renewal(fetched, now);
        }
        let issuer = self.settings.issuer.clone();
        let keys = lock(&self.keys);
        match (keys.find(alg, kid), &keys.failed) {
            (Some(key), _) => Ok(key.clone()),
            (None, Some(why)) => Err(TokenRefused::Unreachable {
                issuer,
                why: why.clone(),
            }),
            _ => Err(TokenRefused::Key { issuer }),
        }
    }

    /// The issuer's keys, by its own description of itself.
    async fn fetch_keys(&self) -> Result<Vec<PublicKey>, String> {
        let (fetch, issuer) = (Arc::clone(&self.fetch), self.settings.issuer.clone());
        let fetched = run_blocking(move || download_keys(&fetch, &issuer));
        fetched.await.map_err(|error| error.to_string())?
    }
}

/// Whether an instant is less than `most` ago. A clock that went back makes it old, too.
fn is_within(at: Option<DateTime<Utc>>, most: TimeDelta, now: DateTime<Utc>) -> bool {
    at.is_some_and(|at| (TimeDelta::zero()..most).contains(&(now - at)))
}

impl Keys {
    /// Finds a key, unless the keys are to be asked for again.
    fn find_fresh(
        &self,
        alg: Algorithm,
        kid: Option<&str>,
        now: DateTime<Utc>,
    ) -> Option<PublicKey> {
        let key = self.find(alg, kid);
        key.filter(|_| is_within(self.fetched, KEYS_FOR, now))
            .cloned()
    }

    /// Returns whether the issuer is to be asked now, and notes that it is; keys that are too old
    /// go.
    fn begin_renewal(&mut self, alg: Algorithm, kid: Option<&str>, now: DateTime<Utc>) -> bool {
        if self
            .fetched
            .is_some_and(|at| (now - at).abs() >= KEYS_AT_MOST)
        {
            self.known.clear();
        }
        let is_due = self.find_fresh(alg, kid, now).is_none();
        let asks = is_due && !is_within(self.tried, FETCH_EVERY, now);
        if asks {
            self.tried = Some(now);
        }
        asks
    }

    fn end_renewal(&mut self, fetched: Result<Vec<PublicKey>, String>, now: DateTime<Utc>) {
        self.failed = fetched.as_ref().err().cloned();
        match fetched {
            Ok(fetched) => (self.known, self.fetched) = (fetched, Some(now)),
            // What is known serves on; an issuer that is away for a minute locks nobody out.
            Err(why) => tracing::warn!(%why, "the issuer's keys were not renewed"),
        }
    }

    fn find(&self, alg: Algorithm, kid: Option<&str>) -> Option<&PublicKey> {
        let mut fitting = self.known.iter().filter(|key| key.fits(alg));
        match kid {
            Some(kid) => fitting.find(|key| key.id() == Some(kid)),
            // Without a name there must be no choice.
            None => fitting.next().filter(|_| fitting.next().is_none()),
        }
    }
}

fn download_keys(fetch: &Fetch, issuer: &str) -> Result<Vec<PublicKey>, String> {
    #[derive(Deserialize)]
    struct Described {
        issuer: String,
        jwks_uri: String,
    }
    #[derive(Deserialize)]
    struct Set {
        keys: Vec<Value>,
    }
    let mut why = String::new();
    for name in DESCRIBED {
        let described = match fetch(&description_url(issuer, name)) {
            Ok(described) => described,
            Err(error) => {
                why = error;
                continue;
            }
        };
        let described: Described = serde_json::from_slice(&described)
            .map_err(|_| "its description names no `issuer` and `jwks_uri`".to_owned())?;
        if described.issuer != issuer {
            return Err("its description is another issuer's".to_owned());
        }
        let set = fetch(&described.jwks_uri)?;
        let set: Set = serde_json::from_slice(&set).map_err(|_| "its keys are no key set")?;
        let keys = set.keys.into_iter().take(KEYS_MAX);
        // A key of a kind that nobody knows yet is no reason to refuse the others.
        return Ok(keys.filter_map(|key| PublicKey::from_jwk(&key)).collect());
    }
    Err(why)
}

/// Returns the address of an issuer's description: after its path for `OpenID` Connect, else before
/// it.
fn description_url(issuer: &str, name: &str) -> String {
    let issuer = issuer.trim_end_matches('/');
    let (scheme, rest) = issuer.split_once("://").unwrap_or(("https", issuer));
    match rest.split_once('/') {
        Some((host, path)) if name == DESCRIBED[1] => {
            format!("{scheme}://{host}/.well-known/{name}/{path}")
        }
        _ => format!("{issuer}/.well-known/{name}"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
