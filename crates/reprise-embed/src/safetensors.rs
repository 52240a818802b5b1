//! Reads the safetensors file format: an 8-byte header length, a JSON header, raw tensors.
//!
//! Every length and offset is checked against the bytes at hand before it is used, so a truncated
//! or hostile file is an error, never a panic and never a huge allocation. Knows nothing of any
//! model.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Longest header that is read, in bytes. `MiniLM`'s is about 11 KB.
const HEADER_BYTES_MAX: u64 = 1024 * 1024;

/// Why a weights file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// Too short for its own header.
    #[error("the weights file is cut off in its header ({got} bytes); fetch it again")]
    Truncated {
        /// Bytes at hand.
        got: usize,
    },
    /// The header says that it is longer than any real one.
    #[error("the weights file claims a header of {claimed} bytes; it is not a safetensors file")]
    HeaderTooLong {
        /// What the first eight bytes say.
        claimed: u64,
    },
    /// The header is not the JSON that it must be.
    #[error("the weights file's header is not readable ({message}); fetch the file again")]
    Header {
        /// The parser's words.
        message: String,
    },
    /// A tensor that the model needs is not there.
    #[error("the weights hold no tensor `{tensor}`; this is another model's file")]
    Missing { tensor: String },
    /// Not 32-bit floats.
    #[error("tensor `{tensor}` is of type {got}, not F32; use the original weights")]
    Type { tensor: String, got: String },
    /// Not as large as the model's.
    #[error("tensor `{tensor}` has shape {got:?}, not {expected:?}; this is another model's file")]
    Shape {
        tensor: String,
        got: Vec<u64>,
        expected: Vec<usize>,
    },
    /// Its bytes are not where the header says.
    #[error("tensor `{tensor}` points outside of the weights file; fetch the file again")]
    Bounds { tensor: String },
}

#[derive(Debug, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// A parsed safetensors file that borrows its bytes.
#[derive(Debug)]
pub(crate) struct Weights<'a> {
    entries: BTreeMap<String, Entry>,
    data: &'a [u8],
}

impl<'a> Weights<'a> {
    /// Parses the header; tensors are checked when they are asked for.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, WeightsError> {
        let truncated = WeightsError::Truncated { got: bytes.len() };
        let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
            return Err(truncated);
        };
        let claimed = u64::from_le_bytes(*length);
        if claimed > HEADER_BYTES_MAX {
            return Err(WeightsError::HeaderTooLong { claimed });
        }
        let Some((header, data)) = rest.split_at_checked(claimed as usize) else {
            return Err(truncated);
        };
        let header_error = |error: serde_json::Error| WeightsError::Header {
            message: error.to_string(),
        };
        let mut values: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(header_error)?;
        // The one key that is not a tensor.
        values.remove("__metadata__");
        let entries = values
            .into_iter()
            .map(|(name, value)| Ok((name, serde_json::from_value(value).map_err(header_error)?)))
            .collect::<Result<_, WeightsError>>()?;
        Ok(Self { entries, data })
    }

    /// The numbers of one F32 tensor of exactly this shape, row-major.
    pub(crate) fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| WeightsError::Missing {
                tensor: name.to_owned(),
            })?;
        if entry.dtype != "F32" {
            return Err(WeightsError::Type {
                tensor: name.to_owned(),
                got: entry.dtype.clone(),
            });
        }
        if !entry
            .shape
            .iter()
            .copied()
            .eq(shape.iter().map(|size| *size as u64))
        {
            return Err(WeightsError::Shape {
                tensor: name.to_owned(),
                got: entry.shape.clone(),
                expected: shape.to_vec(),
            });
        }
        let outside = || WeightsError::Bounds {
            tensor: name.to_owned(),
        };
        let [start, end] = entry.data_offsets;
        let start = usize::try_from(start).map_err(|_| outside())?;
        let end = usize::try_from(end).map_err(|_| outside())?;
        let bytes = self.data.get(start..end).ok_or_else(outside)?;
        // `shape` is the model's own, so the product cannot overflow.
        if bytes.len() != shape.iter().product::<usize>() * 4 {
            return Err(outside());
        }
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok(numbers
            .iter()
            .map(|four| f32::from_le_bytes(*four))
            .collect())
    }
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
        let weights = Weights::parse(&bytes).unwrap();
        assert_eq!(weights.tensor("a", &[2]).unwrap(), [1.5, -2.0]);
    }

    #[test]
    fn every_cut_of_a_file_is_an_error_and_never_a_panic() {
        let bytes = file(GOOD, &[0; 8]);
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            let result = Weights::parse(cut).and_then(|weights| weights.tensor("a", &[2]));
            assert!(result.is_err(), "cut to {length} bytes");
        }
    }

    #[test]
    fn each_lie_of_a_header_has_its_own_error() {
        let error = |header: &str| {
            let bytes = file(header, &[0; 8]);
            Weights::parse(&bytes)
                .and_then(|weights| weights.tensor("a", &[2]))
                .unwrap_err()
        };
        assert!(matches!(error("{}"), WeightsError::Missing { .. }));
        assert!(matches!(error("no json"), WeightsError::Header { .. }));
        assert!(matches!(error(r#"{"a":3}"#), WeightsError::Header { .. }));
        assert!(matches!(
            error(r#"{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,8]}}"#),
            WeightsError::Type { .. }
        ));
        assert!(matches!(
            error(r#"{"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}}"#),
            WeightsError::Shape { .. }
        ));
        for offsets in ["[0,9]", "[8,0]", "[0,4]", "[18446744073709551615,3]"] {
            let header =
                format!(r#"{{"a":{{"dtype":"F32","shape":[2],"data_offsets":{offsets}}}}}"#);
            assert!(
                matches!(error(&header), WeightsError::Bounds { .. }),
                "{offsets}"
            );
        }
        let huge = [0xff; 64];
        assert!(matches!(
            Weights::parse(&huge).unwrap_err(),
            WeightsError::HeaderTooLong { .. }
        ));
    }
}
