//! Reads a line of JSON that any program wrote, as far as it can be read.
//!
//! A strict parser comes first; only a line that it refuses is repaired, so that a good line costs
//! nothing more.

use serde_json::{Map, Value};

/// Objects that one line may hold: more of them are lines whose ends were lost.
const OBJECTS_MAX: usize = 64;
/// Places at which an object may begin that are tried after one could not be read.
const STARTS_MAX: usize = 64;
/// Bytes of the longest escape, two halves of a surrogate pair.
const ESCAPE_BYTES_MAX: usize = 12;
/// The character that replaces what cannot be read.
const REPLACEMENT: &str = "\\ufffd";

/// What a line of JSON holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JsonLine {
    /// The objects of the line, in their order.
    pub objects: Vec<Map<String, Value>>,
    /// A sentence about what could not be read, if anything could not.
    pub unread: Option<String>,
}

/// Returns the objects of `line` and says what of it could not be read.
///
/// Half a surrogate becomes U+FFFD, a control character inside a string is kept as its escape, a
/// NUL outside of one is passed over, and of two objects on a line both are read, also if the first
/// is cut.
pub fn parse_json_line(line: &str) -> JsonLine {
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => JsonLine {
            objects: vec![object],
            unread: None,
        },
        Ok(_) => JsonLine {
            objects: Vec::new(),
            unread: Some("the line is JSON but no object".to_owned()),
        },
        Err(_) => parse_repaired(&repair_json(line)),
    }
}

/// Returns the only object of `line`, or a sentence about it.
pub fn parse_json_object(line: &str) -> Result<Map<String, Value>, String> {
    let JsonLine { objects, unread } = parse_json_line(line);
    let count = objects.len();
    let mut objects = objects.into_iter();
    match (objects.next(), unread) {
        (Some(object), None) if count == 1 => Ok(object),
        (Some(_), None) => Err(format!(
            "the line holds {count} objects; give each its own line"
        )),
        (_, Some(unread)) => Err(unread),
        (None, None) => Err("the line is JSON but no object".to_owned()),
    }
}

/// Returns the first object of `text`, or as many of its fields as can be read: the end may be
/// missing, or something else may follow. `None` where no object begins.
pub fn parse_first_object(text: &str) -> Option<Map<String, Value>> {
    if let Ok(object) = serde_json::from_str(text) {
        return Some(object);
    }
    let text = repair_json(text);
    let mut rest = text.trim_start().strip_prefix('{')?;
    let mut fields = Map::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        let Some((Value::String(name), after)) = take_value(rest) else {
            return Some(fields);
        };
        let Some(after) = after.trim_start().strip_prefix(':') else {
            return Some(fields);
        };
        let Some((value, after)) = take_value(after) else {
            fields.extend(parse_cut_string(after).map(|text| (name, Value::String(text))));
            return Some(fields);
        };
        fields.insert(name, value);
        rest = after;
    }
}

/// Returns the value that `text` begins with, and what follows it.
fn take_value(text: &str) -> Option<(Value, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    Some((value, text.get(end..)?))
}

/// Returns the beginning of a string whose end is missing; its last escape may be cut.
fn parse_cut_string(text: &str) -> Option<String> {
    let text = text.trim_start();
    let lengths = (0..=ESCAPE_BYTES_MAX).filter_map(|cut| text.len().checked_sub(cut));
    let mut begun = lengths.filter_map(|length| text.get(..length));
    text.starts_with('"')
        .then(|| begun.find_map(|begun| serde_json::from_str(&format!("{begun}\"")).ok()))?
}

/// Returns `text`, JSON, with what a strict parser refuses inside strings replaced.
///
/// Half a surrogate becomes U+FFFD, a raw control character its escape; outside of strings a NUL or
/// a byte order mark becomes a blank.
pub fn repair_json(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len());
    let mut is_in_string = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '"' => {
                is_in_string = !is_in_string;
                repaired.push(c);
            }
            '\\' if is_in_string => {
                length = push_escape(rest, &mut repaired);
            }
            '\0' | '\u{feff}' if !is_in_string => repaired.push(' '),
            '\0' => repaired.push_str(REPLACEMENT),
            c if is_in_string && c < ' ' => {
                let hex = format!("\\u{:04x}", u32::from(c));
                repaired.push_str(&hex);
            }
            c => repaired.push(c),
        }
        rest = &rest[length..];
    }
    repaired
}

/// Appends the escape that `rest` begins with, or what replaces it; returns its bytes in `rest`.
fn push_escape(rest: &str, repaired: &mut String) -> usize {
    let Some(unit) = unicode_escape(rest) else {
        let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
        repaired.push_str(&rest[..length]);
        return length;
    };
    let low = rest.get(6..).and_then(unicode_escape);
    match unit {
        0xd800..0xdc00 if low.is_some_and(|low| (0xdc00..0xe000).contains(&low)) => {
            repaired.push_str(&rest[..12]);
            12
        }
        0xd800..0xe000 => {
            repaired.push_str(REPLACEMENT);
            6
        }
        _ => {
            repaired.push_str(&rest[..6]);
            6
        }
    }
}

/// Returns the UTF-16 unit of the escape that `text` begins with.
fn unicode_escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

fn parse_repaired(line: &str) -> JsonLine {
    let mut found = JsonLine::default();
    let mut at = line.len() - line.trim_start().len();
    while at < line.len() && found.objects.len() < OBJECTS_MAX {
        let error = match parse_first(&line[at..]) {
            Ok((Value::Object(object), length)) => {
                found.objects.push(object);
                at += length;
                at += line[at..].len() - line[at..].trim_start().len();
                continue;
            }
            Ok(_) => "the line is JSON but no object".to_owned(),
            Err(error) if error.is_eof() => "the line is cut: its JSON does not end".to_owned(),
            Err(error) => {
                // The error's column counts bytes, from 1.
                let broken = at + error.column().saturating_sub(1);
                found
                    .unread
                    .get_or_insert(format!("the line is not valid JSON: {error}"));
                match next_object(line, at, broken) {
                    Some(next) => {
                        at = next;
                        continue;
                    }
                    None => break,
                }
            }
        };
        found.unread.get_or_insert(error);
        return found;
    }
    if at < line.len() && found.objects.len() == OBJECTS_MAX {
        let why =
            format!("the line holds more than {OBJECTS_MAX} objects; the rest was passed over");
        found.unread.get_or_insert(why);
    }
    found
}

/// Parses the value that `text` begins with; returns it and its bytes.
fn parse_first(text: &str) -> Result<(Value, usize), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    match values.next() {
        Some(value) => value.map(|value| (value, values.byte_offset())),
        None => Ok((Value::Null, text.len())),
    }
}

/// Returns where an object begins after one that began at `from` and could not be read at `broken`.
///
/// A line that was cut and written on has its next object shortly before that place, where a string
/// of the first seems to end; a line that begins in the middle has it behind.
fn next_object(line: &str, from: usize, broken: usize) -> Option<usize> {
    let next = line.ceil_char_boundary(from + 1);
    let broken = line.floor_char_boundary(broken.min(line.len()));
    let before = line[next..broken.max(next)].rfind('{');
    let before = before.map(|place| next + place);
    let after = line[broken..]
        .match_indices('{')
        .map(|(place, _)| broken + place);
    let starts = before
        .into_iter()
        .chain(after)
        .filter(|start| *start > from);
    let mut starts = starts.take(STARTS_MAX);
    starts.find(|start| matches!(parse_first(&line[*start..]), Ok((Value::Object(_), _))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<String> {
        let objects = parse_json_line(line).objects;
        let text = |object: &Map<String, Value>| object["text"].as_str().unwrap().to_owned();
        objects.iter().map(text).collect()
    }

    #[test]
    fn half_a_surrogate_is_replaced_and_a_whole_pair_kept() {
        let line = r#"{"text":"cut \ud83d here, \udc00 there, whole \ud83d\ude00, and \\ud83d"}"#;
        assert_eq!(
            texts(line),
            ["cut \u{fffd} here, \u{fffd} there, whole \u{1f600}, and \\ud83d"]
        );
        assert_eq!(texts(r#"{"text":"\ud83d"}"#), ["\u{fffd}"]);
        assert_eq!(texts(r#"{"text":"\ud83d\u0041"}"#), ["\u{fffd}A"]);
    }

    #[test]
    fn marks_and_control_characters_cost_nothing_else() {
        assert_eq!(texts("\u{feff}{\"text\":\"a\"}"), ["a"]);
        assert_eq!(texts("\0\0{\"text\":\"a\0b\tc\"}\0\n"), ["a\u{fffd}b\tc"]);
    }

    #[test]
    fn each_object_of_a_line_is_read_and_what_is_cut_is_said() {
        assert_eq!(
            texts(r#"{"text":"a"}{"text":"b"} {"text":"c"}"#),
            ["a", "b", "c"]
        );
        let cut = r#"{"uuid":"1","message":{"text":"hel{"text":"whole","more":{"a":1}}"#;
        assert_eq!(texts(cut), ["whole"]);
        assert!(parse_json_line(cut).unread.is_some());
        let middle = r#"lo"},"x":1}{"text":"whole"}"#;
        assert_eq!(texts(middle), ["whole"]);
        assert!(parse_json_line(middle).unread.is_some());
        let end = parse_json_line(r#"{"text":"a"}{"text":"b"#);
        assert_eq!(end.objects.len(), 1);
        assert!(end.unread.unwrap().contains("cut"));
    }

    #[test]
    fn an_inner_object_of_a_cut_line_is_no_line() {
        let line = parse_json_line(r#"{"message":{"text":"inner"},"rest":"hel"#);
        assert!(line.objects.is_empty());
        assert!(line.unread.unwrap().contains("cut"));
        let line = parse_json_line("[1]");
        assert!(line.objects.is_empty());
        assert!(line.unread.unwrap().contains("no object"));
    }

    #[test]
    fn a_hostile_line_ends_soon() {
        let line = format!("x{}", "{\"a\":".repeat(20_000));
        assert!(parse_json_line(&line).objects.is_empty());
        assert_eq!(texts("\u{e4}\u{e4}{\"text\":\"a\"}"), ["a"]);
        let line = "{}".repeat(20_000);
        assert_eq!(parse_json_line(&line).objects.len(), OBJECTS_MAX);
    }

    #[test]
    fn one_object_is_asked_for() {
        assert!(parse_json_object(r#"{"a":1}"#).is_ok());
        assert!(
            parse_json_object(r#"{"a":1}{"b":2}"#)
                .unwrap_err()
                .contains("2 objects")
        );
        assert!(parse_json_object("{").unwrap_err().contains("cut"));
        assert!(parse_json_object("").is_err());
    }

    #[test]
    fn of_the_first_object_what_is_whole_is_read() {
        let whole = r#"{"a":1,"b":[true],"c":"x"}"#;
        let expected = parse_first_object(whole).unwrap();
        assert_eq!(
            parse_first_object(&format!("\u{feff}{whole}{{\"a\":2}}")).unwrap(),
            expected
        );
        assert_eq!(
            parse_first_object(&whole.replace('x', "a\0b")).unwrap()["c"],
            "a\u{fffd}b"
        );
        assert_eq!(
            parse_first_object(r#"{"c":"\ud83d"}"#).unwrap()["c"],
            "\u{fffd}"
        );
        for end in 1..whole.len() {
            let cut = parse_first_object(&whole[..end]).unwrap();
            assert!(
                cut.iter()
                    .all(|(name, value)| expected[name] == *value || value == "")
            );
        }
        for cut in [
            r#"{"a":"half of"#,
            r#"{"a":"half of\"#,
            r#"{"a":"half of\u00"#,
        ] {
            assert_eq!(parse_first_object(cut).unwrap()["a"], "half of", "{cut}");
        }
        for none in ["", "[1]", "x", "\"{\""] {
            assert!(parse_first_object(none).is_none(), "{none}");
        }
    }
}
