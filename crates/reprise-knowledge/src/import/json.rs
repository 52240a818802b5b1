//! Objects of a file, whether it is one document or has an object a line.

use reprise_files::unmarked;

use crate::prelude::*;

/// Largest JSON document that is read whole.
const DOCUMENT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Every object of a file: of its list, of the list that one of `names` holds, or of its lines.
pub(super) fn objects(
    file: &Path,
    names: &[&str],
    giver: &mut Giver<'_>,
    mut each: impl FnMut(&mut Giver<'_>, &str, Map<String, Value>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let name = giver.name(file);
    let items = match document(file)? {
        Document::Lines => return giver.objects(file, each),
        Document::Broken(why) => return giver.refuse(&name, why),
        Document::Whole(Value::Array(items)) => items,
        Document::Whole(mut whole) => {
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
            Value::Object(object) => each(giver, &place, object)?,
            _ => giver.refuse(&place, "the item is no object")?,
        }
    }
    Ok(())
}

/// What a file of JSON is.
pub(super) enum Document {
    Whole(Value),
    /// An object a line, some of which may be bad.
    Lines,
    /// One value that does not end or is none.
    Broken(String),
}

/// All of a file that is no longer than a document may be.
pub(super) fn whole(file: &Path) -> Result<Vec<u8>, ImportError> {
    let bytes = read_named(file, DOCUMENT_BYTES_MAX)?;
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    Ok(bytes.ok_or_else(missing)?)
}

/// Reads a file that may be one document. Where its first line is a whole object, or nothing at
/// all can be made of it, each line stands for itself.
pub(super) fn document(file: &Path) -> Result<Document, ImportError> {
    let whole = match whole(file) {
        Err(ImportError::File(FileError::TooLarge { .. })) => return Ok(Document::Lines),
        whole => whole?,
    };
    let error = match serde_json::from_slice(unmarked(&whole)) {
        Ok(whole) => return Ok(Document::Whole(whole)),
        Err(error) => error,
    };
    let first = Lines::open(file, LINE_BYTES_MAX)?
        .next()
        .transpose()?
        .and_then(|(_, line)| line.ok());
    let first = first.unwrap_or_default();
    let begins = first.trim_start().starts_with(['{', '[']);
    if !begins || object(&first).is_ok() {
        return Ok(Document::Lines);
    }
    let (line, column) = (error.line(), error.column());
    Ok(Document::Broken(if error.is_eof() {
        format!("its JSON is cut: it does not end after line {line}; make the file again")
    } else {
        format!("its JSON is broken at line {line}, column {column}; make the file again")
    }))
}
