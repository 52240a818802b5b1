//! Checks the inputs and outputs of a foreign graph, which must read the tokens of a text and
//! nothing else.

use super::constants::{DATA_LOCATION, EXTERNAL, GRAPH, INITIALIZER};
use super::protobuf::{Field, read_fields};
use crate::architecture::Pooling;
use crate::graph_reading::{GraphReading, INPUT_IDS, INPUT_MASK, INPUT_TYPES, OUTPUT};

/// Field number of `GraphProto.input`.
const INPUT: u64 = 11;
const OUTPUTS: u64 = 12;
const NAME: u64 = 1;
const TYPE: u64 = 2;
/// Field number of `TypeProto.tensor_type`.
const TENSOR: u64 = 1;
const SHAPE: u64 = 2;
const DIM: u64 = 1;

/// Name of a cross-encoder's output.
const LOGITS: &str = "logits";
/// Names of outputs of hidden states, the most common first.
const HIDDEN: [&str; 3] = ["last_hidden_state", "token_embeddings", "hidden_states"];

/// Outputs of a graph, each with its count of axes if the graph names them.
type Outputs<'a> = Vec<(&'a str, Option<usize>)>;

/// Detects how the graph of a model file is read; an error tells why it cannot be read.
pub(crate) fn detect_reading(model: &[u8], pooling: Pooling) -> Result<GraphReading, String> {
    let (has_types, outputs) = check_token_inputs(model)?;
    let named = |name: &str, rank: usize| {
        let is = |axes: &Option<usize>| axes.is_none_or(|axes| axes == rank);
        outputs.iter().any(|(own, axes)| *own == name && is(axes))
    };
    let (output, pooling) = if named(OUTPUT, 2) {
        (OUTPUT, None)
    } else if let Some(hidden) = HIDDEN.into_iter().find(|name| named(name, 3)) {
        (hidden, Some(pooling))
    } else if let [(only, Some(axes @ (2 | 3)))] = outputs.as_slice() {
        (*only, (*axes == 3).then_some(pooling))
    } else {
        return Err(format!(
            "its model.onnx gives neither `{OUTPUT}` nor `{}`",
            HIDDEN[0]
        ));
    };
    Ok(GraphReading {
        output: output.to_owned(),
        has_types,
        pooling,
        is_foreign: true,
    })
}

/// Detects how the graph of a cross-encoder is read, which scores two texts by one number.
pub(crate) fn detect_judge_reading(model: &[u8]) -> Result<GraphReading, String> {
    let (has_types, outputs) = check_token_inputs(model)?;
    let named = outputs.iter().find(|(name, _)| *name == LOGITS);
    let output = match (named, outputs.as_slice()) {
        (Some((name, _)), _) | (None, [(name, _)]) => *name,
        _ => return Err(format!("its model.onnx gives no `{LOGITS}`")),
    };
    Ok(GraphReading {
        output: output.to_owned(),
        has_types,
        pooling: None,
        is_foreign: true,
    })
}

/// Checks that a graph has no inputs but tokens, and returns whether it takes two texts, with its
/// outputs.
fn check_token_inputs(model: &[u8]) -> Result<(bool, Outputs<'_>), String> {
    let graph = read_fields(model).find_map(|field| field.as_message(GRAPH));
    let graph = graph.ok_or("its model.onnx is no ONNX file")?;
    let constants: Vec<&[u8]> = submessages(graph, INITIALIZER).collect();
    let is_outside = |tensor: &&[u8]| {
        read_fields(tensor).any(|field| field == Field::Int(DATA_LOCATION, EXTERNAL))
    };
    if constants.iter().any(is_outside) {
        return Err(
            "its model.onnx has its weights in another file, which is not read; save it with its \
             weights inside"
                .to_owned(),
        );
    }
    let constants = constants
        .into_iter()
        .filter_map(|tensor| text_field(tensor, 8));
    let constants: Vec<&str> = constants.collect();
    let inputs = submessages(graph, INPUT).filter_map(|value| text_field(value, NAME));
    let inputs: Vec<&str> = inputs.filter(|name| !constants.contains(name)).collect();
    let known = [INPUT_IDS, INPUT_MASK, INPUT_TYPES];
    if let Some(other) = inputs.iter().find(|name| !known.contains(name)) {
        return Err(format!(
            "its model.onnx wants an input `{}`; {INPUT_IDS}, {INPUT_MASK} and {INPUT_TYPES} can \
             be given",
            other.escape_debug()
        ));
    }
    let needed = [INPUT_IDS, INPUT_MASK];
    if let Some(missing) = needed.iter().find(|name| !inputs.contains(name)) {
        return Err(format!("its model.onnx takes no `{missing}`"));
    }
    let outputs = submessages(graph, OUTPUTS);
    let outputs = outputs.filter_map(|value| Some((text_field(value, NAME)?, axis_count(value))));
    Ok((inputs.contains(&INPUT_TYPES), outputs.collect()))
}

fn submessages(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    read_fields(message).filter_map(move |field| field.as_message(number))
}

fn text_field(message: &[u8], number: u64) -> Option<&str> {
    str::from_utf8(submessages(message, number).next()?).ok()
}

/// Returns how many axes a value has, if the graph names them.
fn axis_count(value: &[u8]) -> Option<usize> {
    let kind = submessages(value, TYPE).next()?;
    let shape = submessages(submessages(kind, TENSOR).next()?, SHAPE).next()?;
    Some(submessages(shape, DIM).count())
}

#[cfg(test)]
mod tests {
    use super::super::graph::{Axis, GraphBuilder};
    use super::*;

    fn model(inputs: &[&str], output: &str, axes: usize) -> Vec<u8> {
        let mut graph = GraphBuilder::default();
        graph.add_constant_i64("zero", &[0]);
        let free = [Axis::Free("batch"), Axis::Free("seq")];
        let all = [Axis::Free("batch"), Axis::Free("seq"), Axis::Fixed(4)];
        graph.into_model(inputs, &free, output, &all[..axes])
    }

    #[test]
    fn a_graph_is_read_by_its_inputs_and_outputs_and_any_other_is_refused_in_a_sentence() {
        let read = |inputs: &[&str], output: &str, axes: usize| {
            detect_reading(&model(inputs, output, axes), Pooling::Cls)
        };
        let tokens = [INPUT_IDS, INPUT_MASK];
        let plain = read(&tokens, "last_hidden_state", 3).unwrap();
        assert_eq!(
            (plain.pooling, plain.has_types),
            (Some(Pooling::Cls), false)
        );
        let pooled = read(&[INPUT_IDS, INPUT_MASK, INPUT_TYPES], OUTPUT, 2).unwrap();
        assert_eq!((pooled.pooling, pooled.has_types), (None, true));
        assert_eq!(read(&tokens, "843", 3).unwrap().output, "843");
        assert_eq!(read(&tokens, "pooled", 2).unwrap().pooling, None);
        for (inputs, output, axes, says) in [
            (&["pixel_values"][..], OUTPUT, 2, "pixel_values"),
            (&[INPUT_IDS, INPUT_MASK, "task_id"], OUTPUT, 2, "task_id"),
            (&[INPUT_IDS], OUTPUT, 2, "attention_mask"),
            (&tokens, "logits", 1, "sentence_embedding"),
        ] {
            let error = read(inputs, output, axes).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        let error = detect_reading(b"<html>", Pooling::Mean).unwrap_err();
        assert!(error.contains("no ONNX file"), "{error}");
        let whole = model(&tokens, OUTPUT, 2);
        for length in 0..whole.len() {
            drop(detect_reading(&whole[..length], Pooling::Mean));
        }
    }
}
