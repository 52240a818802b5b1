//! The constants of a model file, as the writer of this room lays them out: read, and pointed to.

use super::graph::{F32, I8};
use super::protobuf::{Field, Message, fields};

/// `ModelProto.graph` and `GraphProto.initializer`.
pub(super) const GRAPH: u64 = 7;
pub(super) const INITIALIZER: u64 = 5;
/// `TensorProto.raw_data`, `external_data` and `data_location`, and the latter for a file.
const RAW_DATA: u64 = 9;
const EXTERNAL_DATA: u64 = 13;
pub(super) const DATA_LOCATION: u64 = 14;
pub(super) const EXTERNAL: u64 = 1;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Numbers {
    /// Signed bytes.
    I8(Vec<i8>),
    F32(Vec<f32>),
}

/// One tensor that is part of a graph.
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
    /// The numbers; `None` where they are of another type or do not fill the shape.
    pub(crate) fn numbers(&self) -> Option<Numbers> {
        let count: usize = self.shape.iter().product();
        match self.data_type {
            I8 if self.raw.len() == count => {
                let numbers = self.raw.iter().map(|byte| byte.cast_signed());
                Some(Numbers::I8(numbers.collect()))
            }
            F32 if self.raw.len() == count * 4 => {
                let (numbers, _) = self.raw.as_chunks();
                let numbers = numbers.iter().copied().map(f32::from_le_bytes);
                Some(Numbers::F32(numbers.collect()))
            }
            _ => None,
        }
    }

    /// Bytes that they take.
    pub(crate) fn size_bytes(&self) -> usize {
        self.raw.len()
    }
}

/// Every constant of a model file that says its numbers in raw bytes.
pub(crate) fn constants(model: &[u8]) -> impl Iterator<Item = Constant<'_>> {
    let graphs = fields(model).filter_map(|field| field.message(GRAPH));
    let tensors = graphs
        .flat_map(fields)
        .filter_map(|field| field.message(INITIALIZER));
    tensors.filter_map(constant)
}

fn constant(tensor: &[u8]) -> Option<Constant<'_>> {
    let (mut name, mut raw, mut data_type, mut shape) = (None, None, None, Vec::new());
    for field in fields(tensor) {
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

/// The model without the numbers of its constants of at least `bytes_min`, in whose place it says
/// where in the file they stand: a runtime maps them instead of copying them.
pub(crate) fn outlined(model: &[u8], file_name: &str, bytes_min: usize) -> Option<Vec<u8>> {
    let tensor = |tensor: &[u8]| {
        fields(tensor).try_fold(Message::default(), |out, field| match field {
            Field::Bytes(RAW_DATA, raw) if raw.len() >= bytes_min => {
                let offset = raw.as_ptr().addr() - model.as_ptr().addr();
                let entry = |key, value: &str| Message::default().string(1, key).string(2, value);
                let out = out
                    .message(EXTERNAL_DATA, &entry("location", file_name))
                    .message(EXTERNAL_DATA, &entry("offset", &offset.to_string()))
                    .message(EXTERNAL_DATA, &entry("length", &raw.len().to_string()));
                Some(out.size(DATA_LOCATION, EXTERNAL))
            }
            field => copied(out, field),
        })
    };
    let graph = |graph: &[u8]| {
        fields(graph).try_fold(Message::default(), |out, field| {
            match field.message(INITIALIZER) {
                Some(constant) => Some(out.message(INITIALIZER, &tensor(constant)?)),
                None => copied(out, field),
            }
        })
    };
    let out = fields(model).try_fold(Message::default(), |out, field| {
        match field.message(GRAPH) {
            Some(inside) => Some(out.message(GRAPH, &graph(inside)?)),
            None => copied(out, field),
        }
    });
    Some(out?.into_bytes())
}

fn copied(out: Message, field: Field<'_>) -> Option<Message> {
    match field {
        Field::Int(number, value) => Some(out.size(number, value)),
        Field::Bytes(number, bytes) => Some(out.bytes(number, bytes)),
        Field::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::{Axis, Graph};
    use super::*;

    #[test]
    fn constants_come_back_as_they_were_written_and_a_cut_file_gives_fewer() {
        let mut graph = Graph::default();
        graph.constant_f32("floats", &[2, 1], &[0.5, -3.0]);
        graph.constant_i8("levels", &[3], &[-128, 0, 127]);
        graph.constant_i64("axes", &[1]);
        let axes = [Axis::Free("n")];
        let model = graph.into_model(&["in"], &axes, "out", &axes);
        let read: Vec<_> = constants(&model)
            .map(|constant| (constant.name, constant.shape.clone(), constant.numbers()))
            .collect();
        let floats = Some(Numbers::F32(vec![0.5, -3.0]));
        let levels = Some(Numbers::I8(vec![-128, 0, 127]));
        let expected = [
            ("floats", vec![2, 1], floats),
            ("levels", vec![3], levels),
            ("axes", vec![1], None),
        ];
        assert_eq!(read, expected);
        assert_eq!(outlined(&model, "m", usize::MAX), Some(model.clone()));
        let pointing = outlined(&model, "m", 8).unwrap();
        let kept: Vec<_> = constants(&pointing).map(|constant| constant.name).collect();
        assert_eq!(kept, ["levels"]);
        for length in 0..model.len() {
            assert!(constants(&model[..length]).count() <= expected.len());
        }
    }
}
