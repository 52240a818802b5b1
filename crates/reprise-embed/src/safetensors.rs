//! Reads the tensors of a safetensors file by name and shape. A file of another model, a truncated
//! or a hostile one is an error, never a panic.

use safetensors::{Dtype, SafeTensors};

/// Why a weights file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    #[error("the weights file is not readable ({message}); fetch the file again")]
    Unreadable { message: String },
    #[error("the weights hold no tensor `{tensor}`; this is another model's file")]
    Missing { tensor: String },
    #[error("tensor `{tensor}` is of type {got}, not F32, F16 or BF16; use the original weights")]
    Type { tensor: String, got: String },
    #[error("tensor `{tensor}` has shape {got:?}, not {expected:?}; this is another model's file")]
    Shape {
        tensor: String,
        got: Vec<usize>,
        expected: Vec<usize>,
    },
}

/// A source of an encoder's tensors, by BERT's names.
pub(crate) trait Tensors {
    /// Reads the numbers of a tensor of exactly this shape, row-major.
    fn read_tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError>;
}

/// Prefixes of a name if the encoder was part of a larger model.
const PREFIXES: [&str; 4] = ["", "bert.", "roberta.", "mpnet."];
/// BERT's and `MPNet`'s names of the parts of a layer's attention.
const MPNETS: [(&str, &str); 5] = [
    ("attention.self.query", "attention.attn.q"),
    ("attention.self.key", "attention.attn.k"),
    ("attention.self.value", "attention.attn.v"),
    ("attention.output.dense", "attention.attn.o"),
    ("attention.output.LayerNorm", "attention.LayerNorm"),
];

/// A decoded file, which borrows its bytes.
#[derive(Debug)]
pub(crate) struct Weights<'a>(SafeTensors<'a>);

impl<'a> Weights<'a> {
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, WeightsError> {
        let parsed = SafeTensors::deserialize(bytes);
        parsed.map(Self).map_err(|error| WeightsError::Unreadable {
            message: error.to_string(),
        })
    }
}

impl Tensors for Weights<'_> {
    fn read_tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError> {
        let tensor = || name.to_owned();
        let other = MPNETS.iter().find(|(own, _)| name.contains(own));
        let other = other.map(|(own, other)| name.replace(own, other));
        let named = |name: &str| {
            let mut names = PREFIXES.iter().map(|prefix| format!("{prefix}{name}"));
            names.find_map(|name| self.0.tensor(&name).ok())
        };
        let found = named(name).or_else(|| named(other.as_deref()?));
        let found = found.ok_or_else(|| WeightsError::Missing { tensor: tensor() })?;
        if found.shape() != shape {
            return Err(WeightsError::Shape {
                tensor: tensor(),
                got: found.shape().to_vec(),
                expected: shape.to_vec(),
            });
        }
        let halves = || found.data().as_chunks::<2>().0.iter().copied();
        Ok(match found.dtype() {
            Dtype::F32 => {
                let (numbers, _) = found.data().as_chunks::<4>();
                numbers.iter().copied().map(f32::from_le_bytes).collect()
            }
            Dtype::F16 => halves()
                .map(u16::from_le_bytes)
                .map(f32_from_half)
                .collect(),
            Dtype::BF16 => halves()
                .map(u16::from_le_bytes)
                .map(|upper| f32::from_bits(u32::from(upper) << 16))
                .collect(),
            dtype => {
                return Err(WeightsError::Type {
                    tensor: tensor(),
                    got: format!("{dtype:?}"),
                });
            }
        })
    }
}

/// Converts an IEEE 754 binary16 to the equal f32.
pub(crate) fn f32_from_half(half: u16) -> f32 {
    let (exponent, fraction) = (
        i32::from(half >> 10 & 0x1f),
        f32::from(half & 0x3ff) / 1024.0,
    );
    let size = match exponent {
        0 => fraction * 2_f32.powi(-14),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction) * 2_f32.powi(exponent - 15),
    };
    if half >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    const GOOD: &str =
        r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;

    #[test]
    fn a_tensor_comes_back_as_written() {
        let data: Vec<u8> = [1.5_f32, -2.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let bytes = file(GOOD, &data);
        let weights = Weights::decode(&bytes).unwrap();
        assert_eq!(weights.read_tensor("a", &[2]).unwrap(), [1.5, -2.0]);
    }

    #[test]
    fn halves_are_the_floats_that_they_stand_for() {
        let cases = [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65_504.0),
            (0x0001, 2_f32.powi(-24)),
            (0x03ff, 1023.0 * 2_f32.powi(-24)),
            (0x7c00, f32::INFINITY),
        ];
        for (half, expected) in cases {
            assert_eq!(
                f32_from_half(half).to_bits(),
                expected.to_bits(),
                "{half:#06x}"
            );
        }
        assert!(f32_from_half(0x7e00).is_nan());
        for (dtype, one) in [("F16", 0x3c00_u16), ("BF16", 0x3f80)] {
            let header =
                format!(r#"{{"a":{{"dtype":"{dtype}","shape":[2],"data_offsets":[0,4]}}}}"#);
            let bytes = file(&header, &[one, one | 0x8000].map(u16::to_le_bytes).concat());
            let weights = Weights::decode(&bytes).unwrap();
            assert_eq!(
                weights.read_tensor("a", &[2]).unwrap(),
                [1.0, -1.0],
                "{dtype}"
            );
        }
    }

    #[test]
    fn every_cut_of_a_file_is_an_error_and_never_a_panic() {
        let bytes = file(GOOD, &[0; 8]);
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            let result = Weights::decode(cut).and_then(|weights| weights.read_tensor("a", &[2]));
            assert!(result.is_err(), "cut to {length} bytes");
        }
    }

    #[test]
    fn each_lie_of_a_header_has_its_own_error() {
        let error = |header: &str| {
            let bytes = file(header, &[0; 8]);
            Weights::decode(&bytes)
                .and_then(|weights| weights.read_tensor("a", &[2]))
                .unwrap_err()
        };
        assert!(matches!(
            error(r#"{"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#),
            WeightsError::Missing { .. }
        ));
        assert!(matches!(
            error(
                r#"{"a":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"I16","shape":[2],"data_offsets":[4,8]}}"#
            ),
            WeightsError::Type { .. }
        ));
        assert!(matches!(
            error(r#"{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}"#),
            WeightsError::Shape { .. }
        ));
        for broken in [
            "no json",
            r#"{"a":3}"#,
            r#"{"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}}"#,
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,9]}}"#,
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}"#,
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[18446744073709551615,3]}}"#,
        ] {
            let error = error(broken);
            assert!(matches!(error, WeightsError::Unreadable { .. }), "{broken}");
        }
        let huge = [0xff; 64];
        assert!(Weights::decode(&huge).is_err());
    }
}
