//! Identifiers that are made from what a thing says.

use sha2::{Digest, Sha256};

/// The first sixteen hex digits of the SHA-256 of the parts, joined by colons: how RFC-065 names
/// learnings, decisions and failures (S9, S15, S18).
#[must_use]
pub fn hex_id(parts: &[&str]) -> String {
    let digest = Sha256::digest(parts.join(":").as_bytes());
    let mut name = String::with_capacity(16);
    for byte in digest.iter().take(8) {
        for half in [byte >> 4, byte & 15] {
            name.extend(char::from_digit(u32::from(half), 16));
        }
    }
    name
}
