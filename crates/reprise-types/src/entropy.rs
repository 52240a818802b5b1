//! Randomness from the machine, read here only.

use std::hash::{BuildHasher, Hasher, RandomState};

use data_encoding::HEXLOWER;

/// 128 fresh bits from the standard library's per-thread random keys: for ids and file names, never
/// for cryptography.
#[must_use]
pub fn system_entropy() -> u128 {
    let half = || RandomState::new().build_hasher().finish();
    (u128::from(half()) << 64) | u128::from(half())
}

/// 256 bits from the operating system's generator, in hexadecimal: for tokens that must not be
/// guessable.
pub fn secret() -> std::io::Result<String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    Ok(HEXLOWER.encode(&random))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::system_entropy;

    #[test]
    fn a_thousand_draws_differ_in_both_halves() {
        let draws: Vec<u128> = (0..1_000).map(|_| system_entropy()).collect();
        let low: BTreeSet<u64> = draws.iter().map(|draw| *draw as u64).collect();
        let high: BTreeSet<u64> = draws.iter().map(|draw| (*draw >> 64) as u64).collect();
        assert_eq!((low.len(), high.len()), (1_000, 1_000));
    }
}
