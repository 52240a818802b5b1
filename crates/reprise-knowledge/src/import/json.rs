//! Reads the objects of a file, which is one JSON document or has an object a line.

use reprise_files::{decode_utf16, strip_byte_order_mark};

use crate::prelude::*;

/// Largest JSON document that is read whole.
const DOCUMENT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Passes every object of a file to `each`: those of its list, of the list under one of `names`, or
/// of its lines.
pub(super) fn for_each_object(
    file: &Path,
    names: &[&str],
    sink: &mut ItemSink<'_>,
    mut each: impl FnMut(&mut ItemSink<'_>, &str, Map<String, Value>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let name = sink.place_name(file);
    let items = match read_document(file)? {
        JsonDocument::Lines => return sink.for_each_object(file, each),
        JsonDocument::Broken(why) => return sink.refuse(&name, why),
        JsonDocument::Whole(Value::Array(items)) => items,
        JsonDocument::Whole(mut whole) => {
            let inside = names
                .iter()
                .find_map(|name| whole.get_mut(name).map(Value::take));
            match inside {
                Some(Value::Array(items)) => items,
                _ => vec![whole],
            }
        }
    };
    for (index, item) in items.into_iter().enumerate() {
        let place = format!("{name} item {}", index + 1);
        match item {
            Value::Object(object) => each(sink, &place, object)?,
            _ => sink.refuse(&place, "the item is not an object")?,
        }
    }
    Ok(())
}

/// Content of a JSON file.
pub(super) enum JsonDocument {
    Whole(Value),
    /// An object a line, some of which may be broken.
    Lines,
    /// One value that is cut or broken, with the reason.
    Broken(String),
}

/// Reads a whole file, up to the size limit of a document; UTF-16 becomes UTF-8.
pub(super) fn read_whole(file: &Path) -> Result<Vec<u8>, ImportError> {
    let bytes = read_if_exists(file, DOCUMENT_BYTES_MAX)?;
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let bytes = bytes.ok_or_else(missing)?;
    Ok(decode_utf16(&bytes).map_or(bytes, String::into_bytes))
}

/// Reads a file that may be one document. It is read line by line if its first line is a whole
/// object, or no JSON at all.
pub(super) fn read_document(file: &Path) -> Result<JsonDocument, ImportError> {
    let whole = match read_whole(file) {
        Err(ImportError::File(FileError::TooLarge { .. })) => return Ok(JsonDocument::Lines),
        whole => whole?,
    };
    let error = match serde_json::from_slice(strip_byte_order_mark(&whole)) {
        Ok(whole) => return Ok(JsonDocument::Whole(whole)),
        Err(error) => error,
    };
    let first = LineReader::open(file, LINE_BYTES_MAX)?
        .next()
        .transpose()?
        .and_then(|(_, line)| line.ok());
    let first = first.unwrap_or_default();
    let begins = first.trim_start().starts_with(['{', '[']);
    if !begins || parse_json_object(&first).is_ok() {
        return Ok(JsonDocument::Lines);
    }
    let (line, column) = (error.line(), error.column());
    Ok(JsonDocument::Broken(if error.is_eof() {
        format!("its JSON is cut: it does not end after line {line}; make the file again")
    } else {
        format!("its JSON is broken at line {line}, column {column}; make the file again")
    }))
}
