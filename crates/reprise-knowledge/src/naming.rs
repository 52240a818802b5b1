//! Identifiers that are made from what a thing says.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// The first sixteen hex digits of the SHA-256 of the parts, joined by colons: how RFC-065 names
/// learnings, decisions and failures (S9, S15, S18).
pub fn hex_id(parts: &[&str]) -> String {
    let digest = Sha256::digest(parts.join(":").as_bytes());
    HEXLOWER.encode(&digest[..8])
}
