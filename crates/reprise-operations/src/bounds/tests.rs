//! What is too much is refused, what is not is let through, and what a pattern says is read.

use proptest::prelude::*;
use proptest::string::string_regex;
use reprise_types::{Calendar, Clock, SystemClock, parse_timestamp};

use super::*;
use crate::catalogue::Catalogue;
use crate::operations::{how, lessons, list, recall, records};
use crate::{Lesson, Operation};

fn refused<O: Operation>(arguments: &Value) -> Option<String> {
    Bounds::of::<O::Arguments>().check(arguments).err()
}

#[test]
fn what_is_too_much_is_refused_by_its_name() {
    let words = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    let long = "a".repeat(TEXT_CHARS_MAX + 1);
    for (said, expected) in [
        (
            refused::<lessons::Learn>(&json!({ "title": "t", "tags": words(60_000) })),
            "`tags` has 60000 items; send at most 64",
        ),
        (
            refused::<lessons::Learn>(&json!({ "title": "t", "contexts": words(20_000) })),
            "`contexts` has 20000 items; send at most 64",
        ),
        (
            refused::<recall::Recall>(&json!({ "query": long })),
            "`query` has 1048577 characters; send at most 1048576",
        ),
        (
            refused::<how::How>(&json!({ "query": " \n" })),
            "`query` is empty; say something in it",
        ),
        (
            refused::<recall::Recall>(&json!({ "query": "a", "tag": ["a".repeat(513)] })),
            "`tag` has 513 characters; send at most 512",
        ),
        // By a former name, too, and where nobody has said the form.
        (
            refused::<recall::Recall>(&json!({ "text": long })),
            "`text` has more than 1048576 bytes; send less",
        ),
        (
            refused::<lessons::AddLearning>(&json!({ "metadata": { "a": [long] } })),
            "`a` has more than 1048576 bytes; send less",
        ),
        (
            refused::<list::List>(&json!({ "limit": 1e18 })),
            "`limit` is 1000000000000000000; send a number between 1 and 1000",
        ),
        (
            refused::<recall::Recall>(&json!({ "query": "a", "limit": 0 })),
            "`limit` is 0; send a number between 1 and 1000000000",
        ),
    ] {
        assert_eq!(said.as_deref(), Some(expected));
    }
    let many: Map<String, Value> = (0..5_000).map(|n| (n.to_string(), json!(n))).collect();
    let said = refused::<recall::Recall>(&Value::Object(many)).unwrap();
    assert_eq!(said, "`the object` has 5000 fields; send at most 1024");
    for fine in [
        json!({ "title": "t", "tags": words(64), "text": "\u{e9}".repeat(TEXT_CHARS_MAX) }),
        json!({ "title": null, "tags": null }),
        json!({ "title": 7, "nobody": "knows" }),
    ] {
        assert_eq!(refused::<lessons::Learn>(&fine), None);
    }
}

#[test]
fn a_record_that_is_too_much_spoils_only_itself() {
    let records = json!({ "records": [{ "text": "a" }, { "text": "b", "tags": vec!["t"; 65] }] });
    assert_eq!(refused::<records::Observe>(&records), None);
    let said = crate::record_of_value(records["records"][1].clone()).unwrap_err();
    assert_eq!(said, "`tags` has 65 items; send at most 64");
    let records = json!({ "records": vec![json!({ "text": "a" }); 10_001] });
    let said = refused::<records::Observe>(&records).unwrap();
    assert_eq!(said, "`records` has 10001 items; send at most 10000");
}

/// Every part of a schema, with its name.
fn parts<'a>(name: &'a str, schema: &'a Value, look: &mut impl FnMut(&str, &Value)) {
    look(name, schema);
    for word in ["properties", "$defs"] {
        for (name, part) in schema[word].as_object().into_iter().flatten() {
            parts(name, part, look);
        }
    }
    for word in ["items", "additionalProperties", "anyOf", "oneOf", "allOf"] {
        match &schema[word] {
            Value::Array(all) => all.iter().for_each(|part| parts(name, part, look)),
            Value::Object(_) => parts(name, &schema[word], look),
            _ => {}
        }
    }
}

#[test]
fn no_argument_of_any_operation_is_without_a_bound() {
    let mut looked = 0;
    for entry in Catalogue::default().entries() {
        let mut generator = SchemaGenerator::default();
        let mut schema = entry.arguments_schema(&mut generator);
        let definitions = Value::Object(generator.take_definitions(false));
        schema.insert("$defs".to_owned(), definitions);
        bound(&mut schema);
        parts("", &schema.to_value(), &mut |name, part| {
            let is = |kind: &str| part["type"] == kind || part["type"][0] == kind;
            let words = part["enum"].is_array() || !part["const"].is_null();
            let bounded = (words || !is("string") || part["maxLength"].is_number())
                && (!is("array") || part["maxItems"].is_number())
                && (!is("integer") || part["maximum"].is_number());
            assert!(
                bounded,
                "{}: `{name}` has no bound: {part}",
                entry.spec.name
            );
            looked += usize::from(is("string") || is("array") || is("integer"));
        });
    }
    assert!(looked > 300, "{looked}");
    let lesson = Bounds::of::<Lesson>();
    assert!(lesson.fields().contains(&"anti_contexts"));
}

proptest! {
    #[test]
    fn every_time_that_is_described_is_read(
        text in string_regex(times().trim_matches(['^', '$'])).unwrap(),
        instant in string_regex(instants().trim_matches(['^', '$'])).unwrap(),
    ) {
        let calendar = Calendar::of_machine(SystemClock.now());
        prop_assert!(calendar.span(&text).is_ok(), "{text}");
        prop_assert!(parse_timestamp(&instant).is_ok(), "{instant}");
    }
}
