//! From what a face was sent to an operation's arguments.

use crate::bounds::{names_type, resolve_reference};
use crate::prelude::*;
use crate::wire::{add_hint, find_meant_name, refuse_misspelled_fields};

/// Refuses arguments of the operation `name` beyond the bounds of its schema.
pub(super) fn check_bounds(
    name: &str,
    bounds: &Bounds,
    arguments: &Map<String, Value>,
) -> Result<(), Problem> {
    let within = bounds.check_fields(arguments);
    within.map_err(|said| misfit_problem(name, &said))
}

fn misfit_problem(name: &str, said: &str) -> Problem {
    Problem::invalid(format!("wrong arguments for `{name}`: {said}"))
}

/// The arguments of the operation `name`; a field that it does not have is refused with the one
/// that was meant.
pub(super) fn parse_arguments<T: DeserializeOwned + JsonSchema + 'static>(
    name: &str,
    arguments: Map<String, Value>,
) -> Result<T, Problem> {
    let bounds = Bounds::get_for_type::<T>();
    let (whole, is_changed) = bounds.convert_to_meant_types(Value::Object(arguments));
    if is_changed {
        bounds
            .check(&whole)
            .map_err(|said| misfit_problem(name, &said))?;
    }
    let error = match T::deserialize(&whole) {
        Ok(read) => return Ok(read),
        Err(error) => error.to_string(),
    };
    let fields = bounds.field_names();
    // What is missing may stand there under a name that is nearly its own.
    let given = whole
        .as_object()
        .filter(|_| error.starts_with("missing field"));
    if let Some(given) = given {
        refuse_misspelled_fields(given, &fields).map_err(|said| misfit_problem(name, &said))?;
    }
    let wrong = find_wrong_field::<T>(&whole);
    let mut said = explain_refusal(&error, wrong.as_deref(), &fields);
    let given = given.into_iter().flat_map(Map::keys);
    if let Some(unknown) = given
        .into_iter()
        .find(|name| !fields.contains(&name.as_str()))
    {
        said = format!("{said}; there is no field `{unknown}`");
    }
    Err(misfit_problem(name, &said))
}

/// The field without which the arguments are not refused, or not for this. What is tried is the
/// same in small: of long texts and lists the beginning.
fn find_wrong_field<T: DeserializeOwned>(whole: &Value) -> Option<String> {
    let mut small = shrink_value(whole);
    let error = T::deserialize(&small).err()?.to_string();
    let names: Vec<String> = small.as_object()?.keys().cloned().collect();
    // Without a field that is needed there is another error, which says nothing of that field.
    let is_missing =
        |said: &str| said.starts_with("missing field") && !error.starts_with("missing");
    names.into_iter().find(|name| {
        let taken = small.as_object_mut().and_then(|all| all.remove(name));
        let said = T::deserialize(&small).err().map(|error| error.to_string());
        if let (Some(taken), Some(all)) = (taken, small.as_object_mut()) {
            all.insert(name.clone(), taken);
        }
        said.is_none_or(|said| said != error && !is_missing(&said))
    })
}

fn shrink_value(value: &Value) -> Value {
    const ITEMS: usize = 64;
    const BYTES: usize = 256;
    match value {
        Value::String(text) => {
            let end = text.floor_char_boundary(BYTES);
            Value::from(text.get(..end).unwrap_or_default())
        }
        Value::Array(items) => items.iter().take(ITEMS).map(shrink_value).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().take(ITEMS);
            Value::Object(
                fields
                    .map(|(name, value)| (name.clone(), shrink_value(value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

fn explain_refusal(said: &str, wrong: Option<&str>, known: &[&str]) -> String {
    let unknown = said.strip_prefix("unknown field `");
    let Some(given) = unknown.and_then(|rest| rest.split('`').next()) else {
        return match wrong {
            Some(wrong) if !said.contains(&format!("`{wrong}`")) => {
                format!("`{wrong}`: {}", add_hint(said.to_owned()))
            }
            _ => add_hint(said.to_owned()),
        };
    };
    if known.contains(&given) {
        // Of something within an argument.
        return add_hint(said.to_owned());
    }
    match find_meant_name(given, known.iter().copied()) {
        Some(name) => format!("there is no field `{given}`; did you mean `{name}`?"),
        None if known.is_empty() => format!("there is no field `{given}`; it takes none"),
        None => format!(
            "there is no field `{given}`; the fields are {}",
            known.join(", ")
        ),
    }
}

/// Arguments from the pairs of a query string, read as their schema says: a list is named several
/// times, one of fixed words also once with commas.
pub fn parse_query_pairs(
    schema: &Schema,
    pairs: impl IntoIterator<Item = (String, String)>,
) -> Result<Map<String, Value>, Problem> {
    let mut arguments = Map::new();
    for (name, value) in pairs {
        let pointer = format!("/properties/{name}");
        let property = schema.pointer(&pointer).unwrap_or(&Value::Null);
        let is = |wanted: &str| names_type(&property["type"], wanted);
        if is("array") {
            let list = arguments
                .entry(name)
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.extend(split_items(schema, property, value));
            }
            continue;
        }
        let read = match value.as_str() {
            "true" if is("boolean") => Value::Bool(true),
            "false" if is("boolean") => Value::Bool(false),
            text if is("integer") || is("number") => text
                .parse()
                .map_or_else(|_| Value::from(text), Value::Number),
            _ => Value::String(value),
        };
        if arguments.contains_key(&name) {
            return Err(Problem::invalid(format!(
                "`{name}` is given twice; give it once"
            )));
        }
        arguments.insert(name, read);
    }
    Ok(arguments)
}

fn split_items(schema: &Schema, property: &Value, value: String) -> Vec<Value> {
    if !resolve_reference(schema.as_value(), &property["items"])["enum"].is_null() {
        let words = value.split(',').filter(|word| !word.is_empty());
        return words.map(Value::from).collect();
    }
    vec![Value::String(value)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::records::list::Arguments;

    fn read_pairs(pairs: &[(&str, &str)]) -> Result<Arguments, Problem> {
        let schema = SchemaGenerator::default().into_root_schema_for::<Arguments>();
        let pairs = pairs
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        parse_arguments("list", parse_query_pairs(&schema, pairs)?)
    }

    #[test]
    fn what_is_too_much_is_too_much_as_a_text_too() {
        let arguments = json!({ "query": "a", "limit": "100000000000" });
        let arguments = arguments.as_object().cloned().unwrap();
        let read =
            parse_arguments::<crate::operations::recall::RecallArguments>("recall", arguments);
        let said = read.unwrap_err().detail;
        assert!(said.contains("`limit` is 100000000000"), "{said}");
    }

    #[test]
    fn a_query_string_says_what_a_body_says() {
        let read = read_pairs(&[
            ("kind", "finding,pattern"),
            ("source", "user_input"),
            ("tag", "a,b"),
            ("tag", "c"),
            ("since", "7d"),
            ("limit", "3"),
        ]);
        let read = serde_json::to_value(read.unwrap()).unwrap();
        let body = json!({
            "kind": ["finding", "pattern"], "source": ["user_input"], "tag": ["a,b", "c"],
            "since": "7d", "limit": 3,
        });
        assert_eq!(read, body);
        for (pairs, word) in [
            (&[("kind", "gossip")][..], "memory kind"),
            (&[("limit", "many")], "many"),
            (&[("topic", "x")], "the fields are"),
            (&[("limti", "x")], "did you mean `limit`?"),
            (&[("since", "7d"), ("since", "1d")], "given twice"),
        ] {
            let said = read_pairs(pairs).unwrap_err().detail;
            assert!(said.contains(word), "{said}");
        }
        let slip = json!({"qeury": "frost"}).as_object().cloned().unwrap();
        let said = parse_arguments::<crate::operations::recall::RecallArguments>("recall", slip);
        let said = said.unwrap_err().detail;
        assert!(
            said.contains("no field `qeury`; did you mean `query`?"),
            "{said}"
        );
        let gossip = json!({"query": "frost", "type": "gossip"});
        let gossip = gossip.as_object().cloned().unwrap();
        let said = parse_arguments::<crate::operations::recall::RecallArguments>("recall", gossip);
        let said = said.unwrap_err().detail;
        assert!(
            said.contains("`type`: `gossip` is not a known type"),
            "{said}"
        );
        let other = json!({"q": "frost"}).as_object().cloned().unwrap();
        let said = parse_arguments::<crate::operations::recall::RecallArguments>("recall", other);
        let said = said.unwrap_err().detail;
        for part in ["`query` is missing", "there is no field `q`"] {
            assert!(said.contains(part), "{said}");
        }
    }
}
