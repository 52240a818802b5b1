//! Writes the graph of an encoder of the BERT family, whose output is pooled and of length 1.
//!
//! The hash of all-MiniLM-L6-v2's bytes in `models/models.toml` pins its order, names and
//! arithmetic; a change of a line here needs a new space version.

use super::graph::{Attribute, Axis, F32, GraphBuilder};
use crate::architecture::{Architecture, Pooling};
use crate::safetensors::{Tensors, WeightsError};
use crate::variant::Variant;

/// Added to the attention score of a masked token; after the softmax it acts like minus infinity.
const MASKED: f32 = -1e4;
/// Smallest divisor, so that an all-zero vector can be divided by its length or its peak.
const LENGTH_MIN: f32 = 1e-12;
/// Smallest magnitude by which a row is scaled, so that a row of zeros is not divided by zero.
const MAGNITUDE_MIN: f32 = 1e-9;
/// Largest int8 level; -128 is unused so that the range is symmetric.
const LEVEL_MAX: f32 = 127.0;

/// Writes the ONNX file of any encoder of the family; its vectors have the encoder's width.
pub(crate) fn encode_model(
    architecture: &Architecture,
    weights: &dyn Tensors,
    variant: Variant,
) -> Result<Vec<u8>, WeightsError> {
    let mut writer = EncoderWriter {
        graph: GraphBuilder::default(),
        architecture,
        weights,
        variant,
    };
    let embedded = writer.add_embeddings()?;
    let mut mask = writer.add_mask();
    if architecture.distances > 0 {
        mask.scores = writer.add_distance_biases(&mask.scores)?;
    }
    let mut hidden = writer.add_layer_norm(&embedded, "embeddings.LayerNorm")?;
    for layer in 0..architecture.layers {
        hidden = writer.add_layer(&hidden, &mask.scores, layer)?;
    }
    writer.add_pooling(&hidden, &mask.floats);
    let axes = [Axis::Free("batch"), Axis::Free("seq")];
    Ok(writer.graph.into_model(
        &["input_ids", "attention_mask"],
        &axes,
        "sentence_embedding",
        &[Axis::Free("batch"), Axis::Fixed(architecture.width)],
    ))
}

/// Names of the attention mask in its two forms.
struct Mask {
    /// 1.0 for a token, 0.0 for padding: `[batch, seq]`.
    floats: String,
    /// 0.0 for a token, `MASKED` for padding, ready to add: `[batch, 1, 1, seq]`.
    scores: String,
}

struct EncoderWriter<'a> {
    graph: GraphBuilder,
    architecture: &'a Architecture,
    weights: &'a dyn Tensors,
    variant: Variant,
}

impl EncoderWriter<'_> {
    /// Adds the word and position embeddings; token type 0 is part of the position table.
    fn add_embeddings(&mut self) -> Result<String, WeightsError> {
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
            self.weights.read_tensor(&name, &[rows, width])
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
                let levels = graph.add_constant_i8("word.q", &[vocabulary, width], &levels);
                let scales = graph.add_constant_f32("word.s", &[vocabulary, 1], &scales);
                let row = graph.add_node("Gather", &[&levels, "input_ids"], &[]);
                let row = graph.add_node("Cast", &[&row], &[Attribute::Int("to", F32)]);
                let scale = graph.add_node("Gather", &[&scales, "input_ids"], &[]);
                graph.add_node("Mul", &[&row, &scale], &[])
            }
            Variant::F32 => {
                let table = graph.add_constant_f32("word", &[vocabulary, width], &words);
                graph.add_node("Gather", &[&table, "input_ids"], &[])
            }
        };
        let table = graph.add_constant_f32("pos", &[rows - first_position, width], &positions);
        let zero = graph.add_constant_i64("zero", &[0]);
        graph.add_constant_i64("m1", &[-1]);
        graph.add_constant_i64("a1", &[1]);
        graph.add_constant_i64("a12", &[1, 2]);
        let sequence_axis = [Attribute::Int("start", 1), Attribute::Int("end", 2)];
        let length = graph.add_node("Shape", &["input_ids"], &sequence_axis);
        let position = graph.add_node("Slice", &[&table, &zero, &length, &zero], &[]);
        Ok(graph.add_node("Add", &[&word, &position], &[]))
    }

    fn add_mask(&mut self) -> Mask {
        let graph = &mut self.graph;
        let to_float = [Attribute::Int("to", F32)];
        let floats = graph.add_node("Cast", &["attention_mask"], &to_float);
        let one = graph.add_constant_f32("one", &[1], &[1.0]);
        let masked = graph.add_constant_f32("neg", &[1], &[MASKED]);
        let inverse = graph.add_node("Sub", &[&one, &floats], &[]);
        let scores = graph.add_node("Mul", &[&inverse, &masked], &[]);
        let scores = graph.add_node("Unsqueeze", &[&scores, "a12"], &[]);
        // The shapes that split `[batch, seq, width]` into heads and merge them again; 0 keeps an
        // axis.
        let &Architecture { width, heads, .. } = self.architecture;
        let [whole, heads, head] =
            [width, heads, width / heads].map(|size| i64::try_from(size).unwrap_or(i64::MAX));
        graph.add_constant_i64("split", &[0, 0, heads, head]);
        graph.add_constant_i64("merge", &[0, 0, whole]);
        Mask { floats, scores }
    }

    /// Adds each head's bias for the distance of two tokens to the mask's scores; it is equal in
    /// every layer: `[batch, heads, seq, seq]`.
    fn add_distance_biases(&mut self, scores: &str) -> Result<String, WeightsError> {
        let &Architecture {
            distances: buckets,
            heads,
            ..
        } = self.architecture;
        let name = "encoder.relative_attention_bias.weight";
        let table = self.weights.read_tensor(name, &[buckets, heads])?;
        let most = i64::from(self.architecture.token_limit() as u32);
        let biases: Vec<f32> = (1 - most..most)
            .flat_map(|distance| {
                let row = distance_bucket(distance, buckets) * heads;
                table[row..row + heads].iter().copied()
            })
            .collect();
        let graph = &mut self.graph;
        let rows = biases.len() / heads;
        let table = graph.add_constant_f32("distances", &[rows, heads], &biases);
        let places: Vec<i64> = (0..most).collect();
        let places = graph.add_constant_i64("places", &places);
        let nearest = graph.add_constant_i64("nearest", &[most - 1]);
        let sequence_axis = [Attribute::Int("start", 1), Attribute::Int("end", 2)];
        let length = graph.add_node("Shape", &["input_ids"], &sequence_axis);
        let places = graph.add_node("Slice", &[&places, "zero", &length, "zero"], &[]);
        let across = graph.add_node("Unsqueeze", &[&places, "zero"], &[]);
        let down = graph.add_node("Unsqueeze", &[&places, "a1"], &[]);
        let distance = graph.add_node("Sub", &[&across, &down], &[]);
        let row = graph.add_node("Add", &[&distance, &nearest], &[]);
        let bias = graph.add_node("Gather", &[&table, &row], &[]);
        let heads_first = [Attribute::Ints("perm", &[2, 0, 1])];
        let bias = graph.add_node("Transpose", &[&bias], &heads_first);
        let bias = graph.add_node("Unsqueeze", &[&bias, "zero"], &[]);
        Ok(graph.add_node("Add", &[&bias, scores], &[]))
    }

    /// Adds a transformer layer: attention, then the two-layer perceptron, each with its residual.
    fn add_layer(
        &mut self,
        input: &str,
        scores: &str,
        layer: usize,
    ) -> Result<String, WeightsError> {
        let &Architecture { width, inner, .. } = self.architecture;
        let name = format!("encoder.layer.{layer}");
        let attended = self.add_attention(input, scores, &format!("{name}.attention.self"))?;
        let dense = format!("{name}.attention.output.dense");
        let attended = self.add_linear(&attended, &dense, [width, width], 1.0)?;
        let summed = self.graph.add_node("Add", &[&attended, input], &[]);
        let middle = self.add_layer_norm(&summed, &format!("{name}.attention.output.LayerNorm"))?;

        let dense = format!("{name}.intermediate.dense");
        let wide = self.add_evened_linear(&middle, &dense, [inner, width])?;
        let wide = self.graph.add_node("Gelu", &[&wide], &[]);
        let dense = format!("{name}.output.dense");
        let outer = self.add_evened_linear(&wide, &dense, [width, inner])?;
        let summed = self.graph.add_node("Add", &[&outer, &middle], &[]);
        self.add_layer_norm(&summed, &format!("{name}.output.LayerNorm"))
    }

    /// Adds multi-head attention without its output projection: `[batch, seq, width]` to the same
    /// shape.
    fn add_attention(
        &mut self,
        input: &str,
        mask: &str,
        name: &str,
    ) -> Result<String, WeightsError> {
        let &Architecture { width, heads, .. } = self.architecture;
        let square = [width, width];
        // The softmax's 1/sqrt(d) is part of the query weights.
        let scale = 1.0 / ((width / heads) as f32).sqrt();
        let query = self.add_linear(input, &format!("{name}.query"), square, scale)?;
        let key = self.add_linear(input, &format!("{name}.key"), square, 1.0)?;
        let value = self.add_linear(input, &format!("{name}.value"), square, 1.0)?;

        let heads_first = [Attribute::Ints("perm", &[0, 2, 1, 3])];
        let heads_first_flipped = [Attribute::Ints("perm", &[0, 2, 3, 1])];
        let graph = &mut self.graph;
        let query = graph.add_node("Reshape", &[&query, "split"], &[]);
        let query = graph.add_node("Transpose", &[&query], &heads_first);
        let key = graph.add_node("Reshape", &[&key, "split"], &[]);
        let key = graph.add_node("Transpose", &[&key], &heads_first_flipped);
        let value = graph.add_node("Reshape", &[&value, "split"], &[]);
        let value = graph.add_node("Transpose", &[&value], &heads_first);
        let scores = graph.add_node("MatMul", &[&query, &key], &[]);
        let scores = graph.add_node("Add", &[&scores, mask], &[]);
        let scores = graph.add_node("Softmax", &[&scores], &[Attribute::Int("axis", -1)]);
        let mixed = graph.add_node("MatMul", &[&scores, &value], &[]);
        let mixed = graph.add_node("Transpose", &[&mixed], &heads_first);
        Ok(graph.add_node("Reshape", &[&mixed, "merge"], &[]))
    }

    /// Adds `y = (x W^T + b) * factor`; the file's weight has shape `[outputs, inputs]`.
    fn add_linear(
        &mut self,
        input: &str,
        name: &str,
        shape: [usize; 2],
        factor: f32,
    ) -> Result<String, WeightsError> {
        let product = self.add_product(input, name, shape, factor)?;
        self.add_bias(&product, name, shape[0], factor)
    }

    /// Adds `y = x W^T + b` for the perceptron. Some tokens' activations are ten times those of
    /// others, so in int8 each token's row is scaled to a peak of 1 before the product and back
    /// after it, and one activation scale suits all of them. This takes 11 to 14 % more time and
    /// raises the mean cosine to the reference from 0.990 to 0.996.
    fn add_evened_linear(
        &mut self,
        input: &str,
        name: &str,
        shape: [usize; 2],
    ) -> Result<String, WeightsError> {
        if self.variant == Variant::F32 {
            return self.add_linear(input, name, shape, 1.0);
        }
        let graph = &mut self.graph;
        let magnitudes = graph.add_node("Abs", &[input], &[]);
        let keep_axis = [Attribute::Int("keepdims", 1)];
        let peak = graph.add_node("ReduceMax", &[&magnitudes, "m1"], &keep_axis);
        let tiny = graph.add_constant_f32("tiny", &[1], &[LENGTH_MIN]);
        let peak = graph.add_node("Max", &[&peak, &tiny], &[]);
        let even = graph.add_node("Div", &[input, &peak], &[]);
        let product = self.add_product(&even, name, shape, 1.0)?;
        let product = self.graph.add_node("Mul", &[&product, &peak], &[]);
        self.add_bias(&product, name, shape[0], 1.0)
    }

    /// Adds `x W^T * factor`.
    ///
    /// In int8 the weights have one scale per output and `x` is quantised dynamically
    /// (`DynamicQuantizeLinear` has one scale per tensor, which is why a call has one text). Each
    /// product has a zero point of its own, because ONNX Runtime's precise mode rewrites them in
    /// place and fails if they are shared.
    fn add_product(
        &mut self,
        input: &str,
        name: &str,
        [outputs, inputs]: [usize; 2],
        factor: f32,
    ) -> Result<String, WeightsError> {
        let weight_name = format!("{name}.weight");
        let mut weight = self.weights.read_tensor(&weight_name, &[outputs, inputs])?;
        for x in &mut weight {
            *x *= factor;
        }
        let graph = &mut self.graph;
        match self.variant {
            Variant::Int8 => {
                let (levels, scales) = quantize_rows(&weight, inputs);
                let levels = transpose(&levels, inputs);
                let levels =
                    graph.add_constant_i8(&format!("{name}.q"), &[inputs, outputs], &levels);
                let scales = graph.add_constant_f32(&format!("{name}.s"), &[outputs], &scales);
                let zero = graph.add_constant_i8(&format!("{name}.z"), &[], &[0]);
                let [quantized, scale, zero_point] =
                    graph.add_node_with_outputs("DynamicQuantizeLinear", &[input], &[]);
                let wires = [&*quantized, &levels, &zero_point, &zero];
                let product = graph.add_node("MatMulInteger", &wires, &[]);
                let product = graph.add_node("Cast", &[&product], &[Attribute::Int("to", F32)]);
                let scale = graph.add_node("Mul", &[&scale, &scales], &[]);
                Ok(graph.add_node("Mul", &[&product, &scale], &[]))
            }
            Variant::F32 => {
                let weight = transpose(&weight, inputs);
                let weight =
                    graph.add_constant_f32(&format!("{name}.w"), &[inputs, outputs], &weight);
                Ok(graph.add_node("MatMul", &[input, &weight], &[]))
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
        let bias = self.add_vector(name, "bias", outputs, factor)?;
        Ok(self.graph.add_node("Add", &[product, &bias], &[]))
    }

    /// Adds a tensor of one axis as a constant.
    fn add_vector(
        &mut self,
        name: &str,
        part: &str,
        width: usize,
        factor: f32,
    ) -> Result<String, WeightsError> {
        let mut numbers = self
            .weights
            .read_tensor(&format!("{name}.{part}"), &[width])?;
        for x in &mut numbers {
            *x *= factor;
        }
        let name = format!("{name}.{}", &part[..1]);
        Ok(self.graph.add_constant_f32(&name, &[width], &numbers))
    }

    fn add_layer_norm(&mut self, input: &str, name: &str) -> Result<String, WeightsError> {
        let width = self.architecture.width;
        let weight = self.add_vector(name, "weight", width, 1.0)?;
        let bias = self.add_vector(name, "bias", width, 1.0)?;
        let attributes = [
            Attribute::Float("epsilon", self.architecture.epsilon),
            Attribute::Int("axis", -1),
        ];
        let wires = [input, &weight, &bias];
        Ok(self
            .graph
            .add_node("LayerNormalization", &wires, &attributes))
    }

    /// Adds the pooling: the sum over the unmasked tokens, or the first token, scaled to length 1,
    /// which cancels the mean's 1/count.
    fn add_pooling(&mut self, hidden: &str, mask: &str) {
        let graph = &mut self.graph;
        let kept = match self.architecture.pooling {
            Pooling::Mean => {
                let mask = graph.add_node("Unsqueeze", &[mask, "m1"], &[]);
                graph.add_node("Mul", &[hidden, &mask], &[])
            }
            Pooling::Cls => graph.add_node("Slice", &[hidden, "zero", "a1", "a1"], &[]),
        };
        let drop_axis = [Attribute::Int("keepdims", 0)];
        let sum = graph.add_node("ReduceSum", &[&kept, "a1"], &drop_axis);
        let keep_axis = [Attribute::Int("keepdims", 1)];
        let length = graph.add_node("ReduceL2", &[&sum, "m1"], &keep_axis);
        let tiny = graph.add_constant_f32("tiny", &[1], &[LENGTH_MIN]);
        let length = graph.add_node("Max", &[&length, &tiny], &[]);
        graph.add_output_node("Div", &[&sum, &length], "sentence_embedding");
    }
}

/// Distance from which on all distances are in one bucket.
const FAR: f64 = 128.0;

/// Returns the bucket of a token at this distance after another one, as in T5 and `MPNet`. Half of
/// the buckets are for each side; half of those have one distance each, the others are ever wider.
fn distance_bucket(distance: i64, buckets: usize) -> usize {
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

/// Quantises a row-major matrix of `columns` columns: `w ~ level * scale[row]`, with `scale =
/// max|w| / 127` and levels rounded half to even. Only IEEE-exact operations are used, so every
/// machine computes equal bytes.
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
            assert_eq!(distance_bucket(distance, 32), expected, "{distance}");
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
