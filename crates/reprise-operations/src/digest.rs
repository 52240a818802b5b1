//! SHA-256 in hex: names made of what is named.

use sha2::{Digest, Sha256};

/// The digest of `bytes` as 64 lower-case hex digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digit = |digit| char::from_digit(u32::from(digit), 16).unwrap_or_default();
    digits.map(digit).collect()
}
