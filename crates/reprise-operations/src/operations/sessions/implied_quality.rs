//! The quality of work about which nobody reported: what its tests and what came after it say.

/// Of a finished answer after whose last change the tests passed, and of one whose tests failed.
const TESTS_PASSED: f32 = 0.9;
const TESTS_FAILED: f32 = 0.1;
/// Of a finished answer that no test judged.
const UNTESTED: f32 = 0.8;
/// Of an untested answer that had to be put right, and of one that was good enough to go on, or to
/// end with.
pub(super) const PUT_RIGHT: f32 = 0.6;
pub(super) const GOOD_ENOUGH: f32 = 0.85;
/// Smallest difference between two of these.
const APART: f32 = 0.01;

/// Returns the quality of a finished answer, by how its tests went where there were any.
pub(super) fn quality_by_tests(passed: Option<bool>) -> f32 {
    match passed {
        Some(true) => TESTS_PASSED,
        None => UNTESTED,
        Some(false) => TESTS_FAILED,
    }
}

/// Whether a quality is that of work which no test judged.
pub(super) fn is_quality_without_test(quality: f32) -> bool {
    let without = [UNTESTED, PUT_RIGHT, GOOD_ENOUGH];
    without.iter().any(|own| (own - quality).abs() < APART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_test_makes_a_quality_that_a_test_makes() {
        let [passed, none, failed] = [Some(true), None, Some(false)].map(quality_by_tests);
        assert!([none, PUT_RIGHT, GOOD_ENOUGH].map(is_quality_without_test) == [true; 3]);
        assert!([passed, failed].map(is_quality_without_test) == [false; 2]);
    }
}
