//! Reads the constants of a model file in the layout of this crate's writer, or replaces them by
//! references.

use super::graph::{F32, I8};
use super::protobuf::{Field, Message, read_fields};

/// Field number of `ModelProto.graph`.
pub(super) const GRAPH: u64 = 7;
pub(super) const INITIALIZER: u64 = 5;
/// Field number of `TensorProto.raw_data`.
const RAW_DATA: u64 = 9;
const EXTERNAL_DATA: u64 = 13;
pub(super) const DATA_LOCATION: u64 = 14;
pub(super) const EXTERNAL: u64 = 1;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TensorNumbers {
    /// Signed bytes.
    I8(Vec<i8>),
    F32(Vec<f32>),
}

/// A tensor that is part of a graph.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Constant<'a> {
    /// Its name in the graph.
    pub(crate) name: &'a str,
    /// Its axes, outermost first.
    pub(crate) shape: Vec<usize>,
    data_type: i64,
    raw: &'a [u8],
}

impl Constant<'_> {
    /// Decodes the numbers; returns `None` if they are of another type or do not fill the shape.
    pub(crate) fn decode_numbers(&self) -> Option<TensorNumbers> {
        let count: usize = self.shape.iter().product();
        match self.data_type {
            I8 if self.raw.len() == count => {
                let numbers = self.raw.iter().map(|byte| byte.cast_signed());
                Some(TensorNumbers::I8(numbers.collect()))
            }
            F32 if self.raw.len() == count * 4 => {
                let (numbers, _) = self.raw.as_chunks();
                let numbers = numbers.iter().copied().map(f32::from_le_bytes);
                Some(TensorNumbers::F32(numbers.collect()))
            }
            _ => None,
        }
    }

    /// Returns the bytes of the numbers.
    pub(crate) fn size_bytes(&self) -> usize {
        self.raw.len()
    }
}

/// Iterates over the constants of a model file whose numbers are raw bytes.
pub(crate) fn read_constants(model: &[u8]) -> impl Iterator<Item = Constant<'_>> {
    let graphs = read_fields(model).filter_map(|field| field.as_message(GRAPH));
    let tensors = graphs
        .flat_map(read_fields)
        .filter_map(|field| field.as_message(INITIALIZER));
    tensors.filter_map(decode_constant)
}

fn decode_constant(tensor: &[u8]) -> Option<Constant<'_>> {
    let (mut name, mut raw, mut data_type, mut shape) = (None, None, None, Vec::new());
    for field in read_fields(tensor) {
        match field {
            Field::Int(1, size) => shape.push(usize::try_from(size).ok()?),
            Field::Int(2, value) => data_type = i64::try_from(value).ok(),
            Field::Bytes(8, text) => name = str::from_utf8(text).ok(),
            Field::Bytes(RAW_DATA, bytes) => raw = Some(bytes),
            _ => {}
        }
    }
    Some(Constant {
        name: name?,
        shape,
        data_type: data_type?,
        raw: raw?,
    })
}

/// Replaces the numbers of the constants of at least `bytes_min` by references into the file, so
/// that a runtime maps them instead of copying them. Returns `None` if the model is encoded in
/// another way.
pub(crate) fn externalize_constants(
    model: &[u8],
    file_name: &str,
    bytes_min: usize,
) -> Option<Vec<u8>> {
    let tensor = |tensor: &[u8]| {
        read_fields(tensor).try_fold(Message::default(), |out, field| match field {
            Field::Bytes(RAW_DATA, raw) if raw.len() >= bytes_min => {
                let offset = raw.as_ptr().addr() - model.as_ptr().addr();
                let entry =
                    |key, value: &str| Message::default().add_string(1, key).add_string(2, value);
                let out = out
                    .add_message(EXTERNAL_DATA, &entry("location", file_name))
                    .add_message(EXTERNAL_DATA, &entry("offset", &offset.to_string()))
                    .add_message(EXTERNAL_DATA, &entry("length", &raw.len().to_string()));
                Some(out.add_size(DATA_LOCATION, EXTERNAL))
            }
            field => copy_field(out, field),
        })
    };
    let graph = |graph: &[u8]| {
        read_fields(graph).try_fold(Message::default(), |out, field| {
            match field.as_message(INITIALIZER) {
                Some(constant) => Some(out.add_message(INITIALIZER, &tensor(constant)?)),
                None => copy_field(out, field),
            }
        })
    };
    let out = read_fields(model).try_fold(Message::default(), |out, field| {
        match field.as_message(GRAPH) {
            Some(inside) => Some(out.add_message(GRAPH, &graph(inside)?)),
            None => copy_field(out, field),
        }
    });
    Some(out?.into_bytes())
}

fn copy_field(out: Message, field: Field<'_>) -> Option<Message> {
    match field {
        Field::Int(number, value) => Some(out.add_size(number, value)),
        Field::Bytes(number, bytes) => Some(out.add_bytes(number, bytes)),
        Field::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::{Axis, GraphBuilder};
    use super::*;

    #[test]
    fn constants_come_back_as_they_were_written_and_a_cut_file_gives_fewer() {
        let mut graph = GraphBuilder::default();
        graph.add_constant_f32("floats", &[2, 1], &[0.5, -3.0]);
        graph.add_constant_i8("levels", &[3], &[-128, 0, 127]);
        graph.add_constant_i64("axes", &[1]);
        let axes = [Axis::Free("n")];
        let model = graph.into_model(&["in"], &axes, "out", &axes);
        let read: Vec<_> = read_constants(&model)
            .map(|constant| {
                (
                    constant.name,
                    constant.shape.clone(),
                    constant.decode_numbers(),
                )
            })
            .collect();
        let floats = Some(TensorNumbers::F32(vec![0.5, -3.0]));
        let levels = Some(TensorNumbers::I8(vec![-128, 0, 127]));
        let expected = [
            ("floats", vec![2, 1], floats),
            ("levels", vec![3], levels),
            ("axes", vec![1], None),
        ];
        assert_eq!(read, expected);
        assert_eq!(
            externalize_constants(&model, "m", usize::MAX),
            Some(model.clone())
        );
        let pointing = externalize_constants(&model, "m", 8).unwrap();
        let kept: Vec<_> = read_constants(&pointing)
            .map(|constant| constant.name)
            .collect();
        assert_eq!(kept, ["levels"]);
        for length in 0..model.len() {
            assert!(read_constants(&model[..length]).count() <= expected.len());
        }
    }
}
