//! An issuer with keys of its own, and everything that is wrong with somebody's token.

use std::sync::atomic::{AtomicUsize, Ordering};

use data_encoding::BASE64URL_NOPAD;
use reprise_tests::{assert_contains, assert_lacks};
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair as RsaKeyPair, PublicKeyComponents};
use ring::signature::{self as crypto, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::json;
use tokio::sync::mpsc;

use super::*;
use crate::testing::AdjustableClock;

const ISSUER: &str = "https://id.example/realms/one";
const AUDIENCE: &str = "https://memory.example/mcp";
const RSA: &[u8] = include_bytes!("../../../../tests/fixtures/tls/issuer-rsa.der");

pub(crate) enum Signer {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Signer {
    pub(crate) fn ed() -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap())
    }

    fn ec() -> Self {
        let (kind, random) = (
            &crypto::ECDSA_P256_SHA256_FIXED_SIGNING,
            SystemRandom::new(),
        );
        let made = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Self::Ec(EcdsaKeyPair::from_pkcs8(kind, made.as_ref(), &random).unwrap())
    }

    fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_pkcs8(RSA).unwrap())
    }

    fn alg(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::Ec(_) => "ES256",
            Self::Ed(_) => "EdDSA",
        }
    }

    pub(crate) fn jwk(&self, kid: &str) -> Value {
        let text = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        let mut jwk = match self {
            Self::Rsa(pair) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": text(&public.n), "e": text(&public.e) })
            }
            Self::Ec(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": text(x), "y": text(y) })
            }
            Self::Ed(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref()) })
            }
        };
        jwk["kid"] = json!(kid);
        jwk["use"] = json!("sig");
        jwk
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&crypto::RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .unwrap();
                signature
            }
            Self::Ec(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    pub(crate) fn token(&self, kid: &str, claims: &Value) -> String {
        let message = unsigned(&json!({ "alg": self.alg(), "kid": kid }), claims);
        let signature = BASE64URL_NOPAD.encode(&self.sign(message.as_bytes()));
        format!("{message}.{signature}")
    }
}

fn unsigned(header: &Value, claims: &Value) -> String {
    let [header, claims] =
        [header, claims].map(|part| BASE64URL_NOPAD.encode(part.to_string().as_bytes()));
    format!("{header}.{claims}")
}

/// An issuer whose documents are in memory, with a count of who asked for its keys.
struct Home {
    issuer: Issuer,
    keys: Arc<Mutex<Vec<Value>>>,
    asked: Arc<AtomicUsize>,
    clock: Arc<AdjustableClock>,
}

impl Home {
    fn new(keys: Vec<Value>) -> Self {
        let clock = AdjustableClock::to(1_800_000_000);
        let (keys, asked) = (Arc::new(Mutex::new(keys)), Arc::new(AtomicUsize::new(0)));
        let (served, counted) = (Arc::clone(&keys), Arc::clone(&asked));
        let fetch: Fetch = Arc::new(move |url| match url {
            "https://id.example/.well-known/oauth-authorization-server/realms/one" => {
                let described = json!({ "issuer": ISSUER, "jwks_uri": "https://id.example/k" });
                Ok(described.to_string().into_bytes())
            }
            "https://id.example/k" => {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(json!({ "keys": *served.lock().unwrap() })
                    .to_string()
                    .into_bytes())
            }
            _ => Err(format!("there is nothing at {url}")),
        });
        let settings = IssuerSettings {
            issuer: ISSUER.to_owned(),
            audience: AUDIENCE.to_owned(),
            user_claim: "email".to_owned(),
            scopes: vec!["memory".to_owned()],
        };
        let issuer = Issuer::new(settings, fetch, Arc::clone(&clock) as Arc<dyn Clock>);
        Self {
            issuer,
            keys,
            asked,
            clock,
        }
    }

    fn claims(&self) -> Value {
        let now = self.clock.now().timestamp();
        json!({
            "iss": ISSUER, "aud": ["https://other.example", AUDIENCE], "sub": "1",
            "email": "ada@example.org", "scope": "openid memory", "iat": now, "exp": now + 300,
        })
    }

    fn advance(&self, by: TimeDelta) {
        self.clock.advance(by);
    }

    async fn refused(&self, token: &str) -> TokenRefused {
        self.issuer.user(token).await.unwrap_err()
    }
}

#[tokio::test]
async fn a_token_of_each_algorithm_names_its_user() {
    let signers = [Signer::rsa(), Signer::ec(), Signer::ed()];
    let home = Home::new(signers.iter().map(|one| one.jwk(one.alg())).collect());
    for signer in &signers {
        let token = signer.token(signer.alg(), &home.claims());
        let user = home.issuer.user(&token).await.unwrap();
        assert_eq!(user.as_str(), "ada@example.org");
        let claims = home.issuer.claims(&token).await.unwrap();
        assert_eq!(claims.text("sub"), Some("1"));
        // The same with another's signature.
        let forged = signer.token("EdDSA", &home.claims());
        if signer.alg() != "EdDSA" {
            assert!(matches!(
                home.refused(&forged).await,
                TokenRefused::Key { .. }
            ));
        }
    }
    assert_eq!(home.asked.load(Ordering::Relaxed), 1);
    let (good, other) = (&signers[2], Signer::ed());
    let forged = other.token("EdDSA", &home.claims());
    assert!(matches!(
        home.refused(&forged).await,
        TokenRefused::Signature { .. }
    ));
    let token = good.token("EdDSA", &home.claims());
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let mut other = home.claims();
    other["email"] = json!("eve@example.org");
    let header = signed.split_once('.').unwrap().0;
    let body = BASE64URL_NOPAD.encode(other.to_string().as_bytes());
    let changed = format!("{header}.{body}.{signature}");
    assert!(matches!(
        home.refused(&changed).await,
        TokenRefused::Signature { .. }
    ));
}

#[tokio::test]
async fn nothing_unsigned_and_no_shared_secret_gets_in() {
    let signer = Signer::rsa();
    let home = Home::new(vec![signer.jwk("k")]);
    for alg in [
        "none", "None", "HS256", "HS512", "RS384", "PS256", "ES384", "x",
    ] {
        let header = json!({ "alg": alg, "kid": "k" });
        let message = unsigned(&header, &home.claims());
        for signature in [
            String::new(),
            BASE64URL_NOPAD.encode(&signer.sign(message.as_bytes())),
        ] {
            let refused = home.refused(&format!("{message}.{signature}")).await;
            assert_eq!(refused, TokenRefused::Algorithm, "{alg}");
        }
    }
    let critical = json!({ "alg": "RS256", "kid": "k", "crit": ["b64"], "b64": false });
    let message = unsigned(&critical, &home.claims());
    let signature = BASE64URL_NOPAD.encode(&signer.sign(message.as_bytes()));
    let refused = home.refused(&format!("{message}.{signature}")).await;
    assert_eq!(refused, TokenRefused::Form);
    for odd in [
        "",
        "..",
        "a.b.c",
        "rpr_0",
        &format!("{}.a.b", "a".repeat(20_000)),
    ] {
        let refused = home.refused(odd).await;
        assert!(
            matches!(refused, TokenRefused::Form | TokenRefused::Algorithm),
            "{odd:.20}"
        );
    }
}

#[tokio::test]
async fn what_a_token_says_must_be_for_us_and_now() {
    let signer = Signer::ed();
    let home = Home::new(vec![signer.jwk("k")]);
    let with = |claim: &str, value: Value| {
        let mut claims = home.claims();
        claims[claim] = value;
        signer.token("k", &claims)
    };
    for (claim, value, says) in [
        (
            "aud",
            json!("https://other.example/mcp"),
            "for another server than https://memory",
        ),
        ("aud", json!(null), "for another server"),
        (
            "iss",
            json!("https://id.example/realms/two"),
            "another issuer than https://id",
        ),
        ("exp", json!(null), "no usable `exp`"),
        ("exp", json!("tomorrow"), "no usable `exp`"),
        ("scope", json!("openid"), "was not granted `memory`"),
        ("email", json!("../../root"), "no usable `email`"),
        ("email", json!(7), "no usable `email`"),
    ] {
        let refused = home.refused(&with(claim, value)).await.to_string();
        assert_contains!(refused, says);
        assert_lacks!(refused, "other.example", "root");
    }
    // A minute is nothing; an hour says so.
    let token = signer.token("k", &home.claims());
    home.advance(TimeDelta::seconds(355));
    assert!(home.issuer.user(&token).await.is_ok());
    home.advance(TimeDelta::hours(1));
    let refused = home.refused(&token).await.to_string();
    assert!(
        refused.starts_with("the token ended 3655 seconds ago by this"),
        "{refused}"
    );
    home.advance(TimeDelta::hours(-2));
    let refused = home.refused(&token).await.to_string();
    assert!(
        refused.starts_with("the token begins in 3245 seconds by this"),
        "{refused}"
    );
}

#[tokio::test]
async fn keys_rotate_and_a_flood_of_unknown_names_asks_once() {
    let (old, new) = (Signer::ed(), Signer::ed());
    let home = Home::new(vec![old.jwk("old")]);
    let asked = || home.asked.load(Ordering::Relaxed);
    assert!(
        home.issuer
            .user(&old.token("old", &home.claims()))
            .await
            .is_ok()
    );
    for _ in 0..20 {
        let refused = home.refused(&new.token("new", &home.claims())).await;
        assert!(matches!(refused, TokenRefused::Key { .. }), "{refused}");
    }
    assert_eq!(asked(), 1);
    *home.keys.lock().unwrap() = vec![new.jwk("new")];
    home.advance(TimeDelta::seconds(31));
    assert!(
        home.issuer
            .user(&new.token("new", &home.claims()))
            .await
            .is_ok()
    );
    assert_eq!(asked(), 2);
    // What was withdrawn is gone with the same answer.
    let refused = home.refused(&old.token("old", &home.claims())).await;
    assert!(matches!(refused, TokenRefused::Key { .. }), "{refused}");
    // One that is away locks nobody out, and its silence is not remembered as an answer.
    *home.keys.lock().unwrap() = Vec::new();
    let token = new.token("new", &home.claims());
    assert!(home.issuer.user(&token).await.is_ok());
    home.advance(TimeDelta::hours(2));
    let refused = home.refused(&new.token("new", &home.claims())).await;
    assert!(matches!(refused, TokenRefused::Key { .. }), "{refused}");
}

#[tokio::test]
async fn keys_of_an_issuer_that_is_away_are_taken_for_a_day_and_no_longer() {
    let signer = Signer::ed();
    let mut home = Home::new(vec![signer.jwk("k")]);
    let token = |home: &Home| signer.token("k", &home.claims());
    home.issuer.user(&token(&home)).await.unwrap();
    home.issuer.fetch = Arc::new(|_| Err("no route".to_owned()));
    home.advance(KEYS_AT_MOST - TimeDelta::seconds(1));
    home.issuer.user(&token(&home)).await.unwrap();
    // Right after that try nobody asks again.
    home.advance(TimeDelta::seconds(1));
    for _ in 0..2 {
        let refused = home.refused(&token(&home)).await;
        assert!(
            matches!(refused, TokenRefused::Unreachable { .. }),
            "{refused}"
        );
        home.advance(TimeDelta::minutes(1));
    }
    home.issuer.fetch = Home::new(vec![signer.jwk("k")]).issuer.fetch;
    home.issuer.user(&token(&home)).await.unwrap();
}

#[tokio::test]
async fn an_issuer_that_cannot_be_asked_is_named_and_no_fault_of_the_token() {
    let signer = Signer::ed();
    let mut home = Home::new(Vec::new());
    home.issuer.fetch = Arc::new(|_| Err("no route".to_owned()));
    let refused = home.refused(&signer.token("k", &home.claims())).await;
    assert!(
        matches!(refused, TokenRefused::Unreachable { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("no route"), "{refused}");
    // Nor is it one of the next token's, for which nobody asks again so soon.
    let again = home.refused(&signer.token("k", &home.claims())).await;
    assert_eq!(again, refused);
    home.issuer.fetch = Arc::new(|_| {
        Ok(br#"{"issuer":"https://eve.example","jwks_uri":"https://eve.example/k"}"#.to_vec())
    });
    home.advance(TimeDelta::minutes(1));
    let refused = home.refused(&signer.token("k", &home.claims())).await;
    assert_contains!(refused.to_string(), "another issuer's");
}

/// More often than an issuer is asked in a test.
const ASKED_MAX: usize = 64;

/// Lets an issuer be silent: returns what tells that it was asked, and what lets it answer.
fn silence(home: &mut Home) -> (mpsc::Receiver<()>, std::sync::mpsc::Sender<()>) {
    let (told, asked) = mpsc::channel(ASKED_MAX);
    let (answer, silent) = std::sync::mpsc::channel::<()>();
    let (silent, fetch) = (Mutex::new(silent), Arc::clone(&home.issuer.fetch));
    home.issuer.fetch = Arc::new(move |url| {
        let _test_over = told.try_send(()).is_err();
        let _answers_now = silent.lock().unwrap().recv().is_err();
        fetch(url)
    });
    (asked, answer)
}

/// However slow the machine is, what waits for a silent issuer waits longer.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

#[tokio::test]
async fn a_key_that_is_known_waits_for_no_key_that_is_not() {
    let (signer, stranger) = (Signer::ed(), Signer::ed());
    let mut home = Home::new(vec![signer.jwk("k")]);
    let good = signer.token("k", &home.claims());
    home.issuer.user(&good).await.unwrap();
    let (mut asked, answer) = silence(&mut home);
    home.advance(FETCH_EVERY);
    let forged = stranger.token("of nobody", &home.claims());
    let issuer = home.issuer.clone();
    let refused = tokio::spawn(async move { issuer.user(&forged).await });
    asked.recv().await.unwrap();
    let known = tokio::time::timeout(PATIENCE, home.issuer.user(&good)).await;
    drop(answer);
    known.expect("the issuer's silence holds it up").unwrap();
    assert!(matches!(
        refused.await.unwrap(),
        Err(TokenRefused::Key { .. })
    ));
}

#[tokio::test]
async fn who_leaves_while_the_issuer_is_asked_leaves_its_answer_to_the_next() {
    let signer = Signer::ed();
    let mut home = Home::new(vec![signer.jwk("k")]);
    let token = signer.token("k", &home.claims());
    let (mut asked, answer) = silence(&mut home);
    let (issuer, first) = (home.issuer.clone(), token.clone());
    let leaves = tokio::spawn(async move { issuer.user(&first).await });
    asked.recv().await.unwrap();
    leaves.abort();
    assert!(leaves.await.unwrap_err().is_cancelled());
    drop(answer);
    home.issuer.user(&token).await.unwrap();
}
