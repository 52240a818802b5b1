//! Builds an ONNX graph: constants, nodes and their wiring, in the order they are added.
//!
//! Field numbers are those of `onnx.proto3`. It does not check the shapes of operators; `encoder`
//! chooses the operators of a model.

use std::collections::BTreeSet;

use super::protobuf::Message;

/// `TensorProto.DataType` of 32-bit floats.
pub(super) const F32: i64 = 1;
pub(super) const I8: i64 = 3;
const I64: i64 = 7;
/// Value of `ModelProto.ir_version`, which introduced opset 20.
const IR_VERSION: i64 = 9;
/// Operator set, the first one with `Gelu`.
const OPSET: i64 = 20;
/// `AttributeProto.AttributeType`.
const ATTRIBUTE_FLOAT: i64 = 1;
const ATTRIBUTE_INT: i64 = 2;
const ATTRIBUTE_INTS: i64 = 7;

/// A node's constant parameter.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attribute<'a> {
    Int(&'a str, i64),
    Float(&'a str, f32),
    Ints(&'a str, &'a [i64]),
}

impl Attribute<'_> {
    fn encode(self) -> Message {
        let named = |name: &str| Message::default().add_string(1, name);
        match self {
            Self::Int(name, value) => named(name).add_int(3, value).add_int(20, ATTRIBUTE_INT),
            Self::Float(name, value) => {
                named(name).add_float(2, value).add_int(20, ATTRIBUTE_FLOAT)
            }
            Self::Ints(name, values) => values
                .iter()
                .fold(named(name), |message, value| message.add_int(8, *value))
                .add_int(20, ATTRIBUTE_INTS),
        }
    }
}

/// One axis of an input or output: a fixed size or a named free one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Axis<'a> {
    /// Always this many.
    Fixed(usize),
    /// As many as the caller passes.
    Free(&'a str),
}

/// A graph under construction. Values are referred to by name.
#[derive(Debug, Default)]
pub(super) struct GraphBuilder {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    constant_names: BTreeSet<String>,
    node_count: usize,
}

impl GraphBuilder {
    /// Adds a float constant unless one of this name exists, and returns its name.
    pub(super) fn add_constant_f32(
        &mut self,
        name: &str,
        shape: &[usize],
        values: &[f32],
    ) -> String {
        let raw: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.add_constant(name, F32, shape, &raw)
    }

    /// Adds an int8 constant unless one of this name exists, and returns its name.
    pub(super) fn add_constant_i8(&mut self, name: &str, shape: &[usize], values: &[i8]) -> String {
        let raw: Vec<u8> = values.iter().map(|x| x.cast_unsigned()).collect();
        self.add_constant(name, I8, shape, &raw)
    }

    /// Adds a list of integers unless one of this name exists, and returns its name.
    pub(super) fn add_constant_i64(&mut self, name: &str, values: &[i64]) -> String {
        let raw: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.add_constant(name, I64, &[values.len()], &raw)
    }

    fn add_constant(&mut self, name: &str, data_type: i64, shape: &[usize], raw: &[u8]) -> String {
        if self.constant_names.insert(name.to_owned()) {
            let tensor = shape
                .iter()
                .fold(Message::default(), |tensor, size| {
                    tensor.add_size(1, *size as u64)
                })
                .add_int(2, data_type)
                .add_string(8, name)
                .add_bytes(9, raw);
            self.constants.push(tensor);
        }
        name.to_owned()
    }

    /// Adds a node with one output, and returns the output's name.
    pub(super) fn add_node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: &[Attribute<'_>],
    ) -> String {
        let [output] = self.add_node_with_outputs(operator, inputs, attributes);
        output
    }

    /// Adds a node with `N` outputs, and returns their names.
    pub(super) fn add_node_with_outputs<const N: usize>(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: &[Attribute<'_>],
    ) -> [String; N] {
        self.node_count += 1;
        let number = self.node_count;
        let outputs: [String; N] =
            std::array::from_fn(|index| format!("{operator}_{number}_{index}"));
        let names: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let node = encode_wires(inputs, &names)
            .add_string(3, &format!("n{number}"))
            .add_string(4, operator);
        let node = attributes.iter().fold(node, |node, attribute| {
            node.add_message(5, &attribute.encode())
        });
        self.nodes.push(node);
        outputs
    }

    /// Adds the last node, whose output has the given name.
    pub(super) fn add_output_node(&mut self, operator: &str, inputs: &[&str], output: &str) {
        self.nodes
            .push(encode_wires(inputs, &[output]).add_string(4, operator));
    }

    /// Encodes a `ModelProto` with integer inputs and one float output.
    pub(super) fn into_model(
        self,
        inputs: &[&str],
        input_shape: &[Axis<'_>],
        output: &str,
        output_shape: &[Axis<'_>],
    ) -> Vec<u8> {
        let graph = self
            .nodes
            .iter()
            .fold(Message::default(), |graph, node| graph.add_message(1, node))
            .add_string(2, "minilm");
        let graph = self
            .constants
            .iter()
            .fold(graph, |graph, tensor| graph.add_message(5, tensor));
        let graph = inputs.iter().fold(graph, |graph, name| {
            graph.add_message(11, &encode_value_info(name, I64, input_shape))
        });
        let graph = graph.add_message(12, &encode_value_info(output, F32, output_shape));
        let opset = Message::default().add_string(1, "").add_int(2, OPSET);
        Message::default()
            .add_int(1, IR_VERSION)
            .add_string(2, "minilm-convert")
            .add_message(7, &graph)
            .add_message(8, &opset)
            .into_bytes()
    }
}

fn encode_wires(inputs: &[&str], outputs: &[&str]) -> Message {
    let node = inputs
        .iter()
        .fold(Message::default(), |node, input| node.add_string(1, input));
    outputs
        .iter()
        .fold(node, |node, output| node.add_string(2, output))
}

fn encode_value_info(name: &str, data_type: i64, shape: &[Axis<'_>]) -> Message {
    let shape = shape.iter().fold(Message::default(), |shape, axis| {
        let axis = match axis {
            Axis::Fixed(size) => Message::default().add_size(1, *size as u64),
            Axis::Free(name) => Message::default().add_string(2, name),
        };
        shape.add_message(1, &axis)
    });
    let tensor = Message::default()
        .add_int(1, data_type)
        .add_message(2, &shape);
    Message::default()
        .add_string(1, name)
        .add_message(2, &Message::default().add_message(1, &tensor))
}
