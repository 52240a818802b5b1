//! Compares what stock `rvf-runtime` finds in a memory's file with what we find.

use rvf_runtime::{QueryOptions, RvfStore};

use crate::prelude::*;

/// Queries that are run by both.
const QUESTIONS: usize = 16;
/// Neighbours of a query that are compared.
const NEIGHBOURS: usize = 5;
/// Largest difference of two scores that count as equal.
const TOLERANCE: f32 = 1e-5;

/// Opens a closed file with stock `rvf-runtime` and compares it with the unit vectors that it
/// should hold: each must be there bit by bit, and the nearest of some must be equal. Returns the
/// number of vectors that the runtime sees, and a sentence for each difference. (The runtime also
/// sees the vectors of corrected and retired records, which are no difference.)
pub fn compare_with_stock(path: &Path, own: &[Vec<f32>]) -> (usize, Vec<String>) {
    let store = match RvfStore::open_readonly(path) {
        Ok(store) => store,
        Err(error) => {
            return (
                0,
                vec![format!("rvf-runtime does not open the file: {error:?}")],
            );
        }
    };
    let bits =
        |vector: &[f32]| -> Vec<u32> { vector.iter().map(|number| number.to_bits()).collect() };
    let mut live: HashMap<Vec<u32>, usize> = HashMap::new();
    for vector in own {
        *live.entry(bits(vector)).or_default() += 1;
    }
    let theirs: HashMap<u64, Vec<u32>> = store
        .iter_vectors()
        .map(|(id, vector)| (id, bits(vector)))
        .collect();
    let mut seen: HashMap<&[u32], usize> = HashMap::new();
    for vector in theirs.values() {
        *seen.entry(vector).or_default() += 1;
    }
    let mut findings = Vec::new();
    let missing = live.iter().filter(|(vector, count)| {
        seen.get(vector.as_slice()).copied().unwrap_or_default() < **count
    });
    let missing = missing.count();
    if missing > 0 {
        findings.push(format!(
            "rvf-runtime does not see {missing} of {} vectors",
            own.len()
        ));
    }
    // Vectors of records that are no longer live may be nearer.
    let limit = NEIGHBOURS + theirs.len().saturating_sub(own.len());
    let options = QueryOptions {
        force_exact: true,
        ..QueryOptions::default()
    };
    let step = own.len().div_ceil(QUESTIONS).max(1);
    for (at, question) in own.iter().enumerate().step_by(step) {
        let found = match store.query(question, limit, &options) {
            Ok(found) => found,
            Err(error) => {
                findings.push(format!(
                    "rvf-runtime does not answer question {at}: {error:?}"
                ));
                continue;
            }
        };
        let is_live = |id: &u64| {
            theirs
                .get(id)
                .is_some_and(|vector| live.contains_key(vector))
        };
        let found = found
            .iter()
            .filter(|hit| is_live(&hit.id))
            .map(|hit| -hit.distance);
        let found: Vec<f32> = found.take(NEIGHBOURS).collect();
        let expected = nearest_scores(own, question);
        let same = found.len() == expected.len()
            && found
                .iter()
                .zip(&expected)
                .all(|(found, own)| (found - own).abs() < TOLERANCE);
        if !same {
            findings.push(format!(
                "the nearest of vector {at} are {found:?}, not {expected:?}"
            ));
        }
    }
    (theirs.len(), findings)
}

/// Returns the scores of the nearest vectors, best first.
fn nearest_scores(own: &[Vec<f32>], question: &[f32]) -> Vec<f32> {
    let dot = |vector: &Vec<f32>| vector.iter().zip(question).map(|(a, b)| a * b).sum::<f32>();
    let mut scores: Vec<f32> = own.iter().map(dot).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    scores.truncate(NEIGHBOURS);
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use rvf_runtime::RvfOptions;
    use rvf_runtime::options::DistanceMetric;

    fn vectors() -> Vec<Vec<f32>> {
        let angle = |at: usize| at as f32 * 0.1;
        (0..40)
            .map(|at| vec![angle(at).cos(), angle(at).sin()])
            .collect()
    }

    #[test]
    fn a_file_that_the_runtime_reads_otherwise_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.rvf");
        let (own, options) = (vectors(), |metric| RvfOptions {
            dimension: 2,
            metric,
            ..RvfOptions::default()
        });
        let mut store = RvfStore::create(&path, options(DistanceMetric::InnerProduct)).unwrap();
        let slices: Vec<&[f32]> = own.iter().map(Vec::as_slice).collect();
        let ids: Vec<u64> = (0..40).collect();
        store.ingest_batch(&slices, &ids, None).unwrap();
        store.close().unwrap();
        assert_eq!(compare_with_stock(&path, &own), (40, Vec::new()));
        // The vectors of retired records are still there.
        assert_eq!(compare_with_stock(&path, &own[..30]), (40, Vec::new()));
        let mut other = own.clone();
        other[7] = vec![1.0, 0.0];
        let (_, findings) = compare_with_stock(&path, &other);
        assert!(findings[0].contains("does not see 1 of 40"), "{findings:?}");
        let far = folder.path().join("l2.rvf");
        let mut store = RvfStore::create(&far, options(DistanceMetric::L2)).unwrap();
        store.ingest_batch(&slices, &ids, None).unwrap();
        store.close().unwrap();
        let (_, findings) = compare_with_stock(&far, &own);
        assert!(
            findings[0].contains("the nearest of vector 0"),
            "{findings:?}"
        );
        fs_err::write(&path, "SFVR").unwrap();
        assert!(compare_with_stock(&path, &own).1[0].contains("does not open"));
    }
}
