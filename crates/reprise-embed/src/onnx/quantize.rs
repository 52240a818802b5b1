//! Symmetric int8 quantisation of weight matrices, one scale a row, and the transpose they need.
//!
//! Only what is IEEE-exact is used, so every machine computes the same bytes.

/// Smallest magnitude a row is scaled by, so that a row of zeros does not divide by zero.
const MAGNITUDE_MIN: f32 = 1e-9;
/// Largest int8 level used; -128 stays unused so that the range is symmetric.
const LEVEL_MAX: f32 = 127.0;

/// Quantises a row-major matrix of `columns` columns: `w ~ level * scale[row]`, with
/// `scale = max|w| / 127` and levels rounded half to even.
pub(super) fn quantize_rows(matrix: &[f32], columns: usize) -> (Vec<i8>, Vec<f32>) {
    let mut levels = Vec::with_capacity(matrix.len());
    let mut scales = Vec::with_capacity(matrix.len() / columns);
    for row in matrix.chunks_exact(columns) {
        let magnitude = row.iter().fold(MAGNITUDE_MIN, |most, x| most.max(x.abs()));
        let scale = magnitude / LEVEL_MAX;
        scales.push(scale);
        levels.extend(row.iter().map(|x| {
            let level = (x / scale).round_ties_even();
            level.clamp(-LEVEL_MAX, LEVEL_MAX) as i8
        }));
    }
    (levels, scales)
}

/// Turns a row-major matrix of `columns` columns into its row-major transpose.
pub(super) fn transpose<T: Copy>(matrix: &[T], columns: usize) -> Vec<T> {
    (0..columns)
        .flat_map(|column| matrix.iter().skip(column).step_by(columns).copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_uses_its_own_full_range() {
        let (levels, scales) = quantize_rows(&[1.0, -0.5, 0.0, 100.0, 50.0, -100.0], 3);
        assert_eq!(levels, [127, -64, 0, 127, 64, -127]);
        assert_eq!(scales, [1.0 / 127.0, 100.0 / 127.0]);
    }

    #[test]
    fn a_row_of_zeros_stays_zero() {
        let (levels, scales) = quantize_rows(&[0.0; 4], 4);
        assert_eq!(levels, [0; 4]);
        assert!(scales.iter().all(|scale| scale.is_finite() && *scale > 0.0));
    }

    #[test]
    fn transposing_moves_columns_into_rows() {
        assert_eq!(transpose(&[1, 2, 3, 4, 5, 6], 3), [1, 4, 2, 5, 3, 6]);
    }
}
