//! Names of fields that are nearly right: refused with the name that was meant, never dropped.

use crate::prelude::*;

/// Names from this length on may have two slips.
const LONG: usize = 8;

/// The known name that `given` was meant to be; none where it is one, or far from all.
pub fn find_meant_name<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let simplify_name = |name: &str| -> String {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let near = |name: &&str| {
        let most = if name.len() < LONG { 1 } else { 2 };
        simplify_name(name) == simplify_name(given) || strsim::osa_distance(given, name) <= most
    };
    if known.clone().into_iter().any(|name| name == given) {
        return None;
    }
    known.into_iter().find(near)
}

/// Refuses fields that are nobody's, but nearly one of the known ones.
pub(crate) fn refuse_misspelled_fields(
    other: &Map<String, Value>,
    known: &[&str],
) -> Result<(), String> {
    let mut slips = other.keys().filter_map(|given| {
        let name = find_meant_name(given, known.iter().copied())?;
        Some(format!(
            "there is no field `{given}`; did you mean `{name}`?"
        ))
    });
    slips.next().map_or(Ok(()), Err)
}

/// What a reader of fields says of one that it does not know, with the name that was meant; and of
/// anything else in words that say nothing of how it reads.
pub fn add_hint(said: String) -> String {
    // "unknown field `topk`, expected one of `query`, `top_k`"
    let mut names = said.split('`').skip(1).step_by(2);
    let given = names.next().filter(|_| said.contains("unknown field"));
    match given.and_then(|given| find_meant_name(given, names)) {
        Some(name) => format!("{said}; did you mean `{name}`?"),
        None => simplify_sentence(said),
    }
}

/// How a reader begins who found another type, or another value of it.
const TYPES: [&str; 2] = ["invalid type: ", "invalid value: "];

/// The reader's sentence about JSON in plain words.
fn simplify_sentence(said: String) -> String {
    let (sentence, place) = match said.rsplit_once(" at line ") {
        Some((sentence, place)) => (sentence, describe_position(place)),
        None => (said.as_str(), String::new()),
    };
    let (before, sentence) = TYPES
        .iter()
        .find_map(|mark| sentence.split_once(mark))
        .unwrap_or(("", sentence));
    if let Some((is, wanted)) = sentence.split_once(", expected ")
        && sentence.len() < said.len()
    {
        let (is, wanted) = (name_json_type(is), name_json_type(wanted));
        return if is == wanted {
            format!("{before}{is} is given that has another form than the one expected{place}")
        } else {
            format!("{before}{is} is given where {wanted} is expected{place}")
        };
    }
    if let Some((given, known)) = sentence
        .strip_prefix("unknown variant ")
        .and_then(|rest| rest.split_once(", expected "))
    {
        let known = known.trim_start_matches("one of ");
        return format!("{given} is not one of the words that are taken; use {known}{place}");
    }
    if let Some(rest) = sentence.strip_prefix("missing field ") {
        return format!("{rest} is missing{place}");
    }
    if let Some(rest) = sentence.strip_prefix("duplicate field ") {
        return format!("{rest} is given twice{place}");
    }
    if sentence.contains("untagged enum") {
        return format!("it has none of the forms that are taken{place}");
    }
    if sentence.starts_with("EOF while parsing") {
        return format!("the JSON is cut: it does not end{place}");
    }
    match sentence {
        "expected value" | "expected ident" | "trailing characters" => {
            format!("it is not valid JSON{place}")
        }
        _ => said,
    }
}

/// Where in the JSON: the line is said where there are several.
fn describe_position(place: &str) -> String {
    match place.split_once(" column ") {
        Some(("1", "0")) | None => String::new(),
        Some(("1", column)) => format!(" (column {column})"),
        Some((line, column)) => format!(" (line {line}, column {column})"),
    }
}

/// A type or a value as a person calls it.
fn name_json_type(what: &str) -> String {
    let first = what.split_whitespace().next().unwrap_or_default();
    let name = match (first, what) {
        ("struct" | "map" | "internally" | "enum" | "variant", _) | (_, "a map") => "an object",
        ("sequence" | "tuple", _) | (_, "a sequence") => "a list",
        (_, "string" | "a string") => "a text",
        (_, "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize") => {
            "a whole number"
        }
        (_, "a nonzero u32") => "a whole number from 1 to 4294967295",
        (_, "f32" | "f64") => "a number",
        ("unit" | "null" | "Option", _) => "null",
        ("integer" | "floating" | "boolean" | "string", _) => {
            let value = what.split_once(' ').map_or(what, |(_, value)| value);
            value.trim_start_matches("point ")
        }
        _ => what,
    };
    name.to_owned()
}

/// Adds the fields of something to an object.
pub(crate) fn add_fields(object: &mut Value, more: &impl Serialize) {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), json!(more)) {
        object.extend(more);
    }
}

/// Reads JSON as any program wrote it, with a byte order mark, half a surrogate or bytes that are
/// no UTF-8; the error is a sentence about it.
pub fn parse_lenient_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let strict = match serde_json::from_slice(text) {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    let repaired = reprise_types::repair_json(&String::from_utf8_lossy(text));
    let is_same = repaired.as_bytes() == text;
    match serde_json::from_str(&repaired) {
        Ok(read) if !is_same => Ok(read),
        _ => Err(add_hint(strict.to_string())),
    }
}

/// The vector that came with its space; the error is a sentence about it.
pub(crate) fn pair_embedding(
    space: Option<EmbeddingSpace>,
    vector: Option<Vec<f32>>,
) -> Result<Option<Embedding>, String> {
    match (space, vector) {
        (Some(space), Some(vector)) => Ok(Some(Embedding { space, vector })),
        (_, None) => Ok(None),
        (None, Some(_)) => Err("an embedding needs its embedding_space".to_owned()),
    }
}

/// Reads the vector that came with a question, and checks that it fits its space.
pub(crate) fn question_vector(
    space: Option<&EmbeddingSpace>,
    vector: Option<&Vec<f32>>,
) -> Result<Option<Embedding>, String> {
    let handed = pair_embedding(space.cloned(), vector.cloned())?;
    if let Some(handed) = &handed {
        handed.validate().map_err(|error| error.to_string())?;
    }
    Ok(handed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line as it is read.
    #[derive(Debug, Deserialize)]
    struct TestLine {
        #[expect(dead_code, reason = "only its reading matters")]
        text: String,
        #[serde(default)]
        _tags: Vec<String>,
        #[serde(default)]
        _count: usize,
        #[serde(default)]
        _some: Option<std::num::NonZeroU32>,
        #[serde(flatten)]
        _other: Map<String, Value>,
    }

    #[test]
    fn what_cannot_be_read_is_told_without_a_word_of_how_it_is_read() {
        for (line, said) in [
            ("[1]", "a list is given where an object is expected"),
            ("5", "`5` is given where an object is expected (column 1)"),
            ("\"x\"", "\"x\" is given where an object is expected"),
            ("null", "null is given where an object is expected"),
            ("{\"text\":5.5}", "`5.5` is given where a text is expected"),
            ("{\"text\":null}", "null is given where a text is expected"),
            (
                "{\"text\":\"a\",\n\"_tags\":{}}",
                "an object is given where a list is expected (line 2, column",
            ),
            (
                "{\"text\":\"a\",\"_count\":\"5\"}",
                "\"5\" is given where a whole number is expected",
            ),
            (
                "{\"text\":\"a\",\"_some\":99999999999}",
                "`99999999999` is given where a whole number from 1 to 4294967295 is expected",
            ),
            ("{}", "`text` is missing"),
            ("{\"text\":", "the JSON is cut: it does not end"),
            ("text", "it is not valid JSON"),
            ("{\"text\":\"a\"} x", "it is not valid JSON"),
        ] {
            let error = parse_lenient_json::<TestLine>(line.as_bytes()).unwrap_err();
            assert!(error.starts_with(said), "{line}: {error}");
        }
        assert!(parse_lenient_json::<TestLine>(b"\xef\xbb\xbf{\"text\":\"a\"}").is_ok());
    }

    #[test]
    fn a_slip_is_told_from_a_name_of_its_own() {
        let known = ["top_k", "session_id", "external_id", "tags"];
        for (given, name) in [
            ("topk", "top_k"),
            ("sessionId", "session_id"),
            ("sesion_di", "session_id"),
            ("tag", "tags"),
            ("extrenal_id", "external_id"),
        ] {
            assert_eq!(find_meant_name(given, known), Some(name), "{given}");
        }
        for given in ["top_k", "speaker", "session", "k", "dia_id"] {
            assert_eq!(find_meant_name(given, known), None, "{given}");
        }
    }
}
