//! Finds pairs of similar sets without comparing all with all (`MinHash` bands). Deterministic.
//!
//! Sets that agree in all hashes of one band fall into one bucket; sets of one bucket are compared
//! exactly.

use reprise_types::next_splitmix64;

/// Hashes of one band. With two hashes in each of twelve bands, sets that share half of their
/// members meet in 97 of 100 cases, and sets that share three quarters always meet.
const BAND_HASHES: usize = 2;
const BANDS: usize = 12;
/// Most sets of a bucket that a set is compared with; sets that agree in a second band come first.
const BUCKET_COMPARISONS_MAX: usize = 48;
/// Comparisons between two calls of `has_time`.
const TIME_CHECK_COMPARISONS: usize = 65_536;

/// Finds the pairs of indices in `sets` that have at least `share` (0..1) of all members in common,
/// each once, ascending. A set is ascending and may contain a member several times. Returns `None`
/// once `has_time` returns false.
pub fn find_similar_pairs(
    sets: &[Vec<u64>],
    share: f64,
    has_time: &dyn Fn() -> bool,
) -> Option<Vec<(u32, u32)>> {
    let mut pairs = Vec::new();
    let mut keyed: Vec<(u64, u64, u32)> = Vec::with_capacity(sets.len());
    let mut compared = 0_usize;
    for band in 0..BANDS {
        if !has_time() {
            return None;
        }
        keyed.clear();
        let filled = (0_u32..).zip(sets).filter(|(_, set)| !set.is_empty());
        keyed.extend(filled.map(|(place, set)| {
            let secondary_key = band_key(set, BANDS + band);
            (band_key(set, band), secondary_key, place)
        }));
        keyed.sort_unstable();
        for bucket in keyed.chunk_by(|a, b| a.0 == b.0) {
            for (at, (.., one)) in bucket.iter().enumerate() {
                let before = at.saturating_sub(BUCKET_COMPARISONS_MAX)..at;
                for (.., other) in bucket.get(before).unwrap_or(&[]) {
                    compared += 1;
                    if compared.is_multiple_of(TIME_CHECK_COMPARISONS) && !has_time() {
                        return None;
                    }
                    let (earlier, later) = (*one.min(other), *one.max(other));
                    let ends = sets.get(earlier as usize).zip(sets.get(later as usize));
                    if ends.is_some_and(|(one, other)| are_similar(one, other, share)) {
                        pairs.push((earlier, later));
                    }
                }
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    Some(pairs)
}

fn band_key(set: &[u64], band: usize) -> u64 {
    let rows = (0..BAND_HASHES).map(|row| {
        let seed = mix_hash((band * BAND_HASHES + row) as u64);
        let hashes = set.iter().map(|member| mix_hash(*member ^ seed));
        hashes.min().unwrap_or_default()
    });
    rows.fold(0, |key, row| mix_hash(key ^ row))
}

fn are_similar(one: &[u64], other: &[u64], share: f64) -> bool {
    let (short, long) = (one.len().min(other.len()), one.len().max(other.len()));
    if (short as f64) < share * long as f64 {
        return false;
    }
    let (mut at, mut other_at, mut shared) = (0, 0, 0_usize);
    while let (Some(a), Some(b)) = (one.get(at), other.get(other_at)) {
        shared += usize::from(a == b);
        at += usize::from(a <= b);
        other_at += usize::from(b <= a);
    }
    shared as f64 >= share * (one.len() + other.len() - shared) as f64
}

fn mix_hash(mut x: u64) -> u64 {
    next_splitmix64(&mut x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_share_enough_are_told_and_no_others() {
        let mut sets: Vec<Vec<u64>> = Vec::new();
        for base in 0..500_u64 {
            let from = base * 100;
            sets.push((from..from + 10).collect());
            sets.push((from + 1..from + 11).collect());
            sets.push((from + 6..from + 16).collect());
        }
        sets.push(Vec::new());
        let pairs = find_similar_pairs(&sets, 0.6, &|| true).unwrap();
        assert!(pairs.iter().all(|(a, b)| a + 1 == *b && a % 3 == 0));
        assert!(pairs.len() >= 498, "{} of 500", pairs.len());
        // Pairs far apart, whose members are mostly those of hundreds of others.
        let crowd = (0..2_000_u64).map(|n| {
            let (about, value) = (n % 1_000, n / 1_000);
            let own = [10 + about % 50, 2_000 + about / 50];
            [&[1, 2, 3, 4], &own[..], &[4_000 + (about + value) % 10]].concat()
        });
        let pairs = find_similar_pairs(&crowd.collect::<Vec<_>>(), 0.7, &|| true).unwrap();
        let met = pairs.iter().filter(|(a, b)| a + 1_000 == *b).count();
        assert!(met >= 995, "{met} of 1000");
        let twice = [vec![1, 1, 2], vec![1, 2, 3]];
        assert_eq!(find_similar_pairs(&twice, 0.5, &|| true).unwrap(), [(0, 1)]);
        assert_eq!(find_similar_pairs(&twice, 0.6, &|| true).unwrap(), []);
        assert_eq!(find_similar_pairs(&sets, 0.6, &|| false), None);
    }
}
