//! A JWT (RFC 7519) in its compact form, and the public keys (RFC 7517) that check its signature.

use data_encoding::BASE64URL_NOPAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::TokenRefused;

/// What may sign: nothing with a shared secret, and `none` has no name here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Algorithm {
    #[serde(rename = "RS256")]
    Rs256,
    #[serde(rename = "ES256")]
    Es256,
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// A token whose signature was not checked yet.
pub(super) struct SignedToken<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    /// Header and payload as they were signed.
    message: &'a str,
    payload: &'a str,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    /// Without a name, as `none`, it is no algorithm.
    #[serde(default)]
    alg: Value,
    kid: Option<String>,
    /// Names of headers that must be understood.
    crit: Option<Value>,
}

impl<'a> SignedToken<'a> {
    /// Takes a token apart; nothing of it is believed yet.
    pub(super) fn parse(token: &'a str) -> Result<Self, TokenRefused> {
        let (message, signature) = token.rsplit_once('.').ok_or(TokenRefused::Form)?;
        let (header, payload) = message.split_once('.').ok_or(TokenRefused::Form)?;
        let header: Header = decode_json(header)?;
        let algorithm = serde_json::from_value(header.alg);
        let algorithm = algorithm.map_err(|_| TokenRefused::Algorithm)?;
        if header.crit.is_some() {
            return Err(TokenRefused::Form);
        }
        Ok(Self {
            algorithm,
            key_id: header.kid,
            message,
            payload,
            signature: decode_part(signature)?,
        })
    }

    /// Returns the claims, when the signature is this key's; `None` when it is not.
    pub(super) fn verify(
        &self,
        key: &PublicKey,
    ) -> Result<Option<Map<String, Value>>, TokenRefused> {
        if !key.verifies(self.algorithm, self.message.as_bytes(), &self.signature) {
            return Ok(None);
        }
        decode_json(self.payload).map(Some)
    }
}

fn decode_part(part: &str) -> Result<Vec<u8>, TokenRefused> {
    let decoded = BASE64URL_NOPAD.decode(part.as_bytes());
    decoded.map_err(|_| TokenRefused::Form)
}

fn decode_json<T: for<'de> Deserialize<'de>>(part: &str) -> Result<T, TokenRefused> {
    serde_json::from_slice(&decode_part(part)?).map_err(|_| TokenRefused::Form)
}

/// A public key of an issuer.
#[derive(Debug, Clone)]
pub(super) struct PublicKey {
    id: Option<String>,
    /// The only algorithm that the issuer uses it with, where it names one.
    alg: Option<String>,
    /// Whether the issuer signs with it.
    signs: bool,
    bytes: KeyBytes,
}

#[derive(Debug, Clone)]
enum KeyBytes {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// Reads a JWK; `None` for one of a kind that nothing here is signed with.
    pub(super) fn from_jwk(jwk: &Value) -> Option<Self> {
        let text = |name: &str| jwk.get(name)?.as_str();
        let bytes = |name: &str| BASE64URL_NOPAD.decode(text(name)?.as_bytes()).ok();
        let key = match (text("kty")?, text("crv")) {
            ("RSA", _) => KeyBytes::Rsa {
                n: bytes("n")?,
                e: bytes("e")?,
            },
            // Uncompressed, as SEC 1 has it.
            ("EC", Some("P-256")) => KeyBytes::P256([vec![4], bytes("x")?, bytes("y")?].concat()),
            ("OKP", Some("Ed25519")) => KeyBytes::Ed25519(bytes("x")?),
            _ => return None,
        };
        Some(Self {
            id: text("kid").map(str::to_owned),
            alg: text("alg").map(str::to_owned),
            signs: text("use").is_none_or(|usage| usage == "sig"),
            bytes: key,
        })
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Says whether a token with this algorithm may be signed with it.
    pub(super) fn fits(&self, algorithm: Algorithm) -> bool {
        let (name, is_of_kind) = match algorithm {
            Algorithm::Rs256 => ("RS256", matches!(self.bytes, KeyBytes::Rsa { .. })),
            Algorithm::Es256 => ("ES256", matches!(self.bytes, KeyBytes::P256(_))),
            Algorithm::EdDsa => ("EdDSA", matches!(self.bytes, KeyBytes::Ed25519(_))),
        };
        self.signs && is_of_kind && self.alg.as_deref().is_none_or(|own| own == name)
    }

    fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let verified = match (algorithm, &self.bytes) {
            (Algorithm::Rs256, KeyBytes::Rsa { n, e }) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Algorithm::Es256, KeyBytes::P256(key)) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(message, signature)
            }
            (Algorithm::EdDsa, KeyBytes::Ed25519(key)) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}
