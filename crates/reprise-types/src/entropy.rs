//! Randomness from the machine, which is read here only, and the hash that names and verifies
//! contents outside the memory file.

use std::hash::{BuildHasher, Hasher, RandomState};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Returns 128 fresh bits from the standard library's per-thread random keys: for ids and file
/// names, never for cryptography.
pub fn system_entropy() -> u128 {
    let half = || RandomState::new().build_hasher().finish();
    (u128::from(half()) << 64) | u128::from(half())
}

/// Returns 256 bits from the operating system's generator in hexadecimal, for tokens that must not
/// be guessable.
pub fn generate_secret() -> std::io::Result<String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    Ok(HEXLOWER.encode(&random))
}

/// Returns the next number of a seeded sequence, which is the same on every machine: `SplitMix64`
/// (Steele, Lea and Flood 2014). It is no source of secrets.
pub fn next_splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Returns the SHA-256 of `bytes` as 64 lower-case hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{sha256_hex, system_entropy};

    #[test]
    fn hashes_are_those_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc"), expected);
    }

    #[test]
    fn a_thousand_draws_differ_in_both_halves() {
        let draws: Vec<u128> = (0..1_000).map(|_| system_entropy()).collect();
        let low: BTreeSet<u64> = draws.iter().map(|draw| *draw as u64).collect();
        let high: BTreeSet<u64> = draws.iter().map(|draw| (*draw >> 64) as u64).collect();
        assert_eq!((low.len(), high.len()), (1_000, 1_000));
    }
}
