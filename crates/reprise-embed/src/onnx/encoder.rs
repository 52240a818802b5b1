//! The graph of an encoder of the BERT family, pooled and unit.
//!
//! Its order, names and arithmetic are pinned by the hash of all-MiniLM-L6-v2's bytes in
//! `models/models.toml`; whoever changes a line here makes a new space version.

use super::graph::{Attribute, Axis, F32, Graph};
use crate::architecture::{Architecture, Pooling};
use crate::safetensors::{Tensors, WeightsError};
use crate::variant::Variant;

/// Added to the attention score of a masked token: as good as minus infinity after the softmax.
const MASKED: f32 = -1e4;
/// Keeps divisions by the length or the peak of an all-zero vector defined.
const LENGTH_MIN: f32 = 1e-12;
/// Smallest magnitude a row is scaled by, so that a row of zeros does not divide by zero.
const MAGNITUDE_MIN: f32 = 1e-9;
/// Largest int8 level used; -128 stays unused so that the range is symmetric.
const LEVEL_MAX: f32 = 127.0;

/// Writes the ONNX file of any encoder of the family; its vectors are as wide as it is.
pub(crate) fn encode(
    architecture: &Architecture,
    weights: &dyn Tensors,
    variant: Variant,
) -> Result<Vec<u8>, WeightsError> {
    let mut writer = Writer {
        graph: Graph::default(),
        architecture,
        weights,
        variant,
    };
    let embedded = writer.embeddings()?;
    let mut mask = writer.mask();
    if architecture.distances > 0 {
        mask.scores = writer.with_distances(&mask.scores)?;
    }
    let mut hidden = writer.layer_norm(&embedded, "embeddings.LayerNorm")?;
    for layer in 0..architecture.layers {
        hidden = writer.layer(&hidden, &mask.scores, layer)?;
    }
    writer.pool(&hidden, &mask.floats);
    let axes = [Axis::Free("batch"), Axis::Free("seq")];
    Ok(writer.graph.into_model(
        &["input_ids", "attention_mask"],
        &axes,
        "sentence_embedding",
        &[Axis::Free("batch"), Axis::Fixed(architecture.width)],
    ))
}

/// The attention mask in its two forms.
struct Mask {
    /// 1.0 for a token, 0.0 for padding: `[batch, seq]`.
    floats: String,
    /// 0.0 for a token, `MASKED` for padding, ready to add: `[batch, 1, 1, seq]`.
    scores: String,
}

struct Writer<'a> {
    graph: Graph,
    architecture: &'a Architecture,
    weights: &'a dyn Tensors,
    variant: Variant,
}

impl Writer<'_> {
    /// Word plus position embedding; token type 0 is folded into the position table.
    fn embeddings(&mut self) -> Result<String, WeightsError> {
        let &Architecture {
            width,
            vocabulary,
            positions: rows,
            first_position,
            token_types,
            ..
        } = self.architecture;
        let table = |name: &str, rows: usize| {
            let name = format!("embeddings.{name}_embeddings.weight");
            self.weights.tensor(&name, &[rows, width])
        };
        let words = table("word", vocabulary)?;
        let mut positions = table("position", rows)?.split_off(first_position * width);
        let token_types = match token_types {
            0 => vec![0.0; width],
            rows => table("token_type", rows)?,
        };
        for row in positions.chunks_exact_mut(width) {
            for (position, token_type) in row.iter_mut().zip(&token_types) {
                *position += token_type;
            }
        }

        let graph = &mut self.graph;
        let word = match self.variant {
            Variant::Int8 => {
                let (levels, scales) = quantize_rows(&words, width);
                let levels = graph.constant_i8("word.q", &[vocabulary, width], &levels);
                let scales = graph.constant_f32("word.s", &[vocabulary, 1], &scales);
                let row = graph.node("Gather", &[&levels, "input_ids"], &[]);
                let row = graph.node("Cast", &[&row], &[Attribute::Int("to", F32)]);
                let scale = graph.node("Gather", &[&scales, "input_ids"], &[]);
                graph.node("Mul", &[&row, &scale], &[])
            }
            Variant::F32 => {
                let table = graph.constant_f32("word", &[vocabulary, width], &words);
                graph.node("Gather", &[&table, "input_ids"], &[])
            }
        };
        let table = graph.constant_f32("pos", &[rows - first_position, width], &positions);
        let zero = graph.constant_i64("zero", &[0]);
        graph.constant_i64("m1", &[-1]);
        graph.constant_i64("a1", &[1]);
        graph.constant_i64("a12", &[1, 2]);
        let sequence_axis = [Attribute::Int("start", 1), Attribute::Int("end", 2)];
        let length = graph.node("Shape", &["input_ids"], &sequence_axis);
        let position = graph.node("Slice", &[&table, &zero, &length, &zero], &[]);
        Ok(graph.node("Add", &[&word, &position], &[]))
    }

    fn mask(&mut self) -> Mask {
        let graph = &mut self.graph;
        let to_float = [Attribute::Int("to", F32)];
        let floats = graph.node("Cast", &["attention_mask"], &to_float);
        let one = graph.constant_f32("one", &[1], &[1.0]);
        let masked = graph.constant_f32("neg", &[1], &[MASKED]);
        let inverse = graph.node("Sub", &[&one, &floats], &[]);
        let scores = graph.node("Mul", &[&inverse, &masked], &[]);
        let scores = graph.node("Unsqueeze", &[&scores, "a12"], &[]);
        // 0 keeps an axis: `[batch, seq, width]` to heads and back.
        let &Architecture { width, heads, .. } = self.architecture;
        let [whole, heads, head] =
            [width, heads, width / heads].map(|size| i64::try_from(size).unwrap_or(i64::MAX));
        graph.constant_i64("split", &[0, 0, heads, head]);
        graph.constant_i64("merge", &[0, 0, whole]);
        Mask { floats, scores }
    }

    /// The mask's scores with what each head makes of two tokens' distance, the same in every
    /// layer: `[batch, heads, seq, seq]`.
    fn with_distances(&mut self, scores: &str) -> Result<String, WeightsError> {
        let &Architecture {
            distances: buckets,
            heads,
            ..
        } = self.architecture;
        let name = "encoder.relative_attention_bias.weight";
        let table = self.weights.tensor(name, &[buckets, heads])?;
        let most = i64::from(self.architecture.token_limit() as u32);
        let biases: Vec<f32> = (1 - most..most)
            .flat_map(|distance| {
                let row = bucket(distance, buckets) * heads;
                table[row..row + heads].iter().copied()
            })
            .collect();
        let graph = &mut self.graph;
        let rows = biases.len() / heads;
        let table = graph.constant_f32("distances", &[rows, heads], &biases);
        let places: Vec<i64> = (0..most).collect();
        let places = graph.constant_i64("places", &places);
        let nearest = graph.constant_i64("nearest", &[most - 1]);
        let sequence_axis = [Attribute::Int("start", 1), Attribute::Int("end", 2)];
        let length = graph.node("Shape", &["input_ids"], &sequence_axis);
        let places = graph.node("Slice", &[&places, "zero", &length, "zero"], &[]);
        let across = graph.node("Unsqueeze", &[&places, "zero"], &[]);
        let down = graph.node("Unsqueeze", &[&places, "a1"], &[]);
        let distance = graph.node("Sub", &[&across, &down], &[]);
        let row = graph.node("Add", &[&distance, &nearest], &[]);
        let bias = graph.node("Gather", &[&table, &row], &[]);
        let heads_first = [Attribute::Ints("perm", &[2, 0, 1])];
        let bias = graph.node("Transpose", &[&bias], &heads_first);
        let bias = graph.node("Unsqueeze", &[&bias, "zero"], &[]);
        Ok(graph.node("Add", &[&bias, scores], &[]))
    }

    /// One transformer layer: attention, then the two-layer perceptron, each with its residual.
    fn layer(&mut self, input: &str, scores: &str, layer: usize) -> Result<String, WeightsError> {
        let &Architecture { width, inner, .. } = self.architecture;
        let name = format!("encoder.layer.{layer}");
        let attended = self.attention(input, scores, &format!("{name}.attention.self"))?;
        let dense = format!("{name}.attention.output.dense");
        let attended = self.linear(&attended, &dense, [width, width], 1.0)?;
        let summed = self.graph.node("Add", &[&attended, input], &[]);
        let middle = self.layer_norm(&summed, &format!("{name}.attention.output.LayerNorm"))?;

        let dense = format!("{name}.intermediate.dense");
        let wide = self.linear_even(&middle, &dense, [inner, width])?;
        let wide = self.graph.node("Gelu", &[&wide], &[]);
        let dense = format!("{name}.output.dense");
        let outer = self.linear_even(&wide, &dense, [width, inner])?;
        let summed = self.graph.node("Add", &[&outer, &middle], &[]);
        self.layer_norm(&summed, &format!("{name}.output.LayerNorm"))
    }

    /// Multi-head attention without its output projection: `[batch, seq, width]` to the same.
    fn attention(&mut self, input: &str, mask: &str, name: &str) -> Result<String, WeightsError> {
        let &Architecture { width, heads, .. } = self.architecture;
        let square = [width, width];
        // The softmax's 1/sqrt(d) is folded into the query weights.
        let scale = 1.0 / ((width / heads) as f32).sqrt();
        let query = self.linear(input, &format!("{name}.query"), square, scale)?;
        let key = self.linear(input, &format!("{name}.key"), square, 1.0)?;
        let value = self.linear(input, &format!("{name}.value"), square, 1.0)?;

        let heads_first = [Attribute::Ints("perm", &[0, 2, 1, 3])];
        let heads_first_flipped = [Attribute::Ints("perm", &[0, 2, 3, 1])];
        let graph = &mut self.graph;
        let query = graph.node("Reshape", &[&query, "split"], &[]);
        let query = graph.node("Transpose", &[&query], &heads_first);
        let key = graph.node("Reshape", &[&key, "split"], &[]);
        let key = graph.node("Transpose", &[&key], &heads_first_flipped);
        let value = graph.node("Reshape", &[&value, "split"], &[]);
        let value = graph.node("Transpose", &[&value], &heads_first);
        let scores = graph.node("MatMul", &[&query, &key], &[]);
        let scores = graph.node("Add", &[&scores, mask], &[]);
        let scores = graph.node("Softmax", &[&scores], &[Attribute::Int("axis", -1)]);
        let mixed = graph.node("MatMul", &[&scores, &value], &[]);
        let mixed = graph.node("Transpose", &[&mixed], &heads_first);
        Ok(graph.node("Reshape", &[&mixed, "merge"], &[]))
    }

    /// `y = (x W^T + b) * factor`, where the file's weight has shape `[outputs, inputs]`.
    fn linear(
        &mut self,
        input: &str,
        name: &str,
        shape: [usize; 2],
        factor: f32,
    ) -> Result<String, WeightsError> {
        let product = self.product(input, name, shape, factor)?;
        self.add_bias(&product, name, shape[0], factor)
    }

    /// `y = x W^T + b` for the perceptron. Some tokens' activations are ten times those of others,
    /// so in int8 each token's row is brought to a peak of 1 before the product and back after it:
    /// the shared activation scale then serves all of them. Takes 11 to 14 % more time and brings
    /// the mean cosine to the reference from 0.990 to 0.996.
    fn linear_even(
        &mut self,
        input: &str,
        name: &str,
        shape: [usize; 2],
    ) -> Result<String, WeightsError> {
        if self.variant == Variant::F32 {
            return self.linear(input, name, shape, 1.0);
        }
        let graph = &mut self.graph;
        let magnitudes = graph.node("Abs", &[input], &[]);
        let keep_axis = [Attribute::Int("keepdims", 1)];
        let peak = graph.node("ReduceMax", &[&magnitudes, "m1"], &keep_axis);
        let tiny = graph.constant_f32("tiny", &[1], &[LENGTH_MIN]);
        let peak = graph.node("Max", &[&peak, &tiny], &[]);
        let even = graph.node("Div", &[input, &peak], &[]);
        let product = self.product(&even, name, shape, 1.0)?;
        let product = self.graph.node("Mul", &[&product, &peak], &[]);
        self.add_bias(&product, name, shape[0], 1.0)
    }

    /// `x W^T * factor`.
    ///
    /// In int8 the weights have one scale an output and `x` is quantised as it comes
    /// (`DynamicQuantizeLinear`: one scale a tensor, which is why texts go one per call). Each
    /// product has a zero point of its own: ONNX Runtime's precise mode rewrites them in place and
    /// fails where they are shared.
    fn product(
        &mut self,
        input: &str,
        name: &str,
        [outputs, inputs]: [usize; 2],
        factor: f32,
    ) -> Result<String, WeightsError> {
        let weight_name = format!("{name}.weight");
        let mut weight = self.weights.tensor(&weight_name, &[outputs, inputs])?;
        for x in &mut weight {
            *x *= factor;
        }
        let graph = &mut self.graph;
        match self.variant {
            Variant::Int8 => {
                let (levels, scales) = quantize_rows(&weight, inputs);
                let levels = transpose(&levels, inputs);
                let levels = graph.constant_i8(&format!("{name}.q"), &[inputs, outputs], &levels);
                let scales = graph.constant_f32(&format!("{name}.s"), &[outputs], &scales);
                let zero = graph.constant_i8(&format!("{name}.z"), &[], &[0]);
                let [quantized, scale, zero_point] =
                    graph.node_with_outputs("DynamicQuantizeLinear", &[input], &[]);
                let wires = [&*quantized, &levels, &zero_point, &zero];
                let product = graph.node("MatMulInteger", &wires, &[]);
                let product = graph.node("Cast", &[&product], &[Attribute::Int("to", F32)]);
                let scale = graph.node("Mul", &[&scale, &scales], &[]);
                Ok(graph.node("Mul", &[&product, &scale], &[]))
            }
            Variant::F32 => {
                let weight = transpose(&weight, inputs);
                let weight = graph.constant_f32(&format!("{name}.w"), &[inputs, outputs], &weight);
                Ok(graph.node("MatMul", &[input, &weight], &[]))
            }
        }
    }

    fn add_bias(
        &mut self,
        product: &str,
        name: &str,
        outputs: usize,
        factor: f32,
    ) -> Result<String, WeightsError> {
        let bias = self.vector(name, "bias", outputs, factor)?;
        Ok(self.graph.node("Add", &[product, &bias], &[]))
    }

    /// A tensor of one axis as a constant.
    fn vector(
        &mut self,
        name: &str,
        part: &str,
        width: usize,
        factor: f32,
    ) -> Result<String, WeightsError> {
        let mut numbers = self.weights.tensor(&format!("{name}.{part}"), &[width])?;
        for x in &mut numbers {
            *x *= factor;
        }
        let name = format!("{name}.{}", &part[..1]);
        Ok(self.graph.constant_f32(&name, &[width], &numbers))
    }

    fn layer_norm(&mut self, input: &str, name: &str) -> Result<String, WeightsError> {
        let width = self.architecture.width;
        let weight = self.vector(name, "weight", width, 1.0)?;
        let bias = self.vector(name, "bias", width, 1.0)?;
        let attributes = [
            Attribute::Float("epsilon", self.architecture.epsilon),
            Attribute::Int("axis", -1),
        ];
        let wires = [input, &weight, &bias];
        Ok(self.graph.node("LayerNormalization", &wires, &attributes))
    }

    /// Sum over the unmasked tokens, or the first token alone, then length 1: the mean's 1/count
    /// cancels under it.
    fn pool(&mut self, hidden: &str, mask: &str) {
        let graph = &mut self.graph;
        let kept = match self.architecture.pooling {
            Pooling::Mean => {
                let mask = graph.node("Unsqueeze", &[mask, "m1"], &[]);
                graph.node("Mul", &[hidden, &mask], &[])
            }
            Pooling::Cls => graph.node("Slice", &[hidden, "zero", "a1", "a1"], &[]),
        };
        let drop_axis = [Attribute::Int("keepdims", 0)];
        let sum = graph.node("ReduceSum", &[&kept, "a1"], &drop_axis);
        let keep_axis = [Attribute::Int("keepdims", 1)];
        let length = graph.node("ReduceL2", &[&sum, "m1"], &keep_axis);
        let tiny = graph.constant_f32("tiny", &[1], &[LENGTH_MIN]);
        let length = graph.node("Max", &[&length, &tiny], &[]);
        graph.output_node("Div", &[&sum, &length], "sentence_embedding");
    }
}

/// Distance from which on all are one bucket.
const FAR: f64 = 128.0;

/// The bucket of a token that stands so far behind another one, as T5 and `MPNet` count: half of
/// them for each side, half of those for one distance each, the others ever wider.
fn bucket(distance: i64, buckets: usize) -> usize {
    let side = buckets / 2;
    let (near, size) = (side / 2, distance.unsigned_abs() as usize);
    let within = if size < near {
        size
    } else {
        let (near, size) = (near as f64, size as f64);
        let wide = (size / near).ln() / (FAR / near).ln() * (side as f64 - near);
        (near + wide.floor()).min(side as f64 - 1.0) as usize
    };
    within + if distance > 0 { side } else { 0 }
}

/// Quantises a row-major matrix of `columns` columns: `w ~ level * scale[row]`, with
/// `scale = max|w| / 127` and levels rounded half to even. Only what is IEEE-exact
/// is used, so every machine computes the same bytes.
fn quantize_rows(matrix: &[f32], columns: usize) -> (Vec<i8>, Vec<f32>) {
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
fn transpose<T: Copy>(matrix: &[T], columns: usize) -> Vec<T> {
    (0..columns)
        .flat_map(|column| matrix.iter().skip(column).step_by(columns).copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_fall_into_the_buckets_of_transformers() {
        // `MPNetEncoder.relative_position_bucket` for 32 buckets.
        let cases = [
            (0, 0),
            (-1, 1),
            (1, 17),
            (-7, 7),
            (-8, 8),
            (8, 24),
            (-11, 8),
            (-12, 9),
            (-16, 10),
            (-64, 14),
            (-90, 14),
            (-91, 15),
            (-128, 15),
            (-500, 15),
            (500, 31),
            (91, 31),
            (45, 28),
        ];
        for (distance, expected) in cases {
            assert_eq!(bucket(distance, 32), expected, "{distance}");
        }
    }

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
