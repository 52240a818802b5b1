//! SHA-256 in hex: names made of what is named.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// The digest of `bytes` as 64 lower-case hex digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}
