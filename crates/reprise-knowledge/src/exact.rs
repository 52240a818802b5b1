//! Numbers that were decimal before they were kept as 32 bits.

/// The decimal number that an `f32` stands for: .9 and not .899999976.
pub(crate) fn exact(number: f32) -> f64 {
    number
        .to_string()
        .parse()
        .unwrap_or_else(|_| f64::from(number))
}
