//! Tests that too much is refused, that the rest passes, and that patterns are enforced.

use proptest::prelude::*;
use proptest::string::string_regex;
use reprise_types::{Calendar, Clock, SystemClock, parse_timestamp};

use super::patterns::time_pattern;
use super::*;
use crate::catalogue::Catalogue;
use crate::operations::outcomes::how;
use crate::operations::records::list;
use crate::operations::{lessons, recall, records};
use crate::{Lesson, Operation};

fn refused<O: Operation>(arguments: &Value) -> Option<String> {
    Bounds::get_for_type::<O::Arguments>()
        .check(arguments)
        .err()
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
            "`query` is empty; write something",
        ),
        (
            refused::<list::List>(&json!({ "grep": "" })),
            "`grep` is empty; write something",
        ),
        (
            refused::<recall::Recall>(&json!({ "query": "a", "tag": ["a".repeat(513)] })),
            "`tag` has 513 characters; send at most 512",
        ),
        // By a former name, too, and where nobody has said the form.
        (
            refused::<recall::Recall>(&json!({ "text": long })),
            "`text` has 1048577 characters; send at most 1048576",
        ),
        (
            refused::<recall::Recall>(&json!({ "nobodys": long })),
            "`nobodys` has more than 1048576 bytes; send less",
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
            "`limit` is 0; send a number of 1 or more",
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
    let said = crate::parse_record(records["records"][1].clone()).unwrap_err();
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

/// Fields of types of other crates, with the bounds that everything has.
const OTHERS: [&str; 3] = ["model", "ttl_seconds", "version"];

#[test]
fn no_argument_of_any_operation_is_without_a_kind() {
    let mut looked = 0;
    for entry in Catalogue::default().entries() {
        let mut generator = SchemaGenerator::default();
        let schema = entry.raw_arguments_schema(&mut generator);
        let mut whole = schema.to_value();
        whole["$defs"] = Value::Object(generator.take_definitions(false));
        parts("", &whole, &mut |name, part| {
            let is = |kind: &str| part["type"] == kind || part["type"][0] == kind;
            let says = |words: &[&str]| words.iter().any(|word| part.get(word).is_some());
            let words = says(&["enum", "const", "pattern", "format", "maxLength"]);
            let bounded = (!is("string") || words) && (!is("integer") || says(&["maximum"]));
            let bounded = bounded || OTHERS.contains(&name);
            assert!(
                bounded,
                "{}: `{name}` has no kind (bounds/kinds.rs): {part}",
                entry.spec.name
            );
            looked += usize::from(is("string") || is("array") || is("integer"));
        });
    }
    assert!(looked > 300, "{looked}");
    let lesson = Bounds::get_for_type::<Lesson>();
    assert!(lesson.field_names().contains(&"anti_contexts"));
}

#[test]
fn a_plain_type_is_none_for_an_argument() {
    use crate::bounds::kinds::{OtherType as _, TypeCheck};
    for is_plain in [
        TypeCheck::<String>::IS_PLAIN,
        TypeCheck::<Option<Vec<String>>>::IS_PLAIN,
        TypeCheck::<Option<[String; 2]>>::IS_PLAIN,
        TypeCheck::<Option<usize>>::IS_PLAIN,
        TypeCheck::<Map<String, Value>>::IS_PLAIN,
    ] {
        assert!(is_plain);
    }
    for is_plain in [
        TypeCheck::<bool>::IS_PLAIN,
        TypeCheck::<Option<RecordId>>::IS_PLAIN,
        TypeCheck::<Vec<MemoryKind>>::IS_PLAIN,
    ] {
        assert!(!is_plain);
    }
}

#[test]
fn what_only_this_crate_reads_is_in_no_schema_that_others_see() {
    for entry in Catalogue::default().entries() {
        let schema = entry.arguments_schema(&mut SchemaGenerator::default());
        let text = schema.to_value().to_string();
        assert!(
            !text.contains("x-secrets") && !text.contains(FORMER_NAMES),
            "{text}"
        );
    }
}

proptest! {
    #[test]
    fn every_time_that_is_described_is_read(
        text in string_regex(time_pattern().trim_matches(['^', '$'])).unwrap(),
        instant in string_regex(instant_pattern().trim_matches(['^', '$'])).unwrap(),
    ) {
        let calendar = Calendar::in_machine_zone(SystemClock.now());
        prop_assert!(calendar.parse_span(&text).is_ok(), "{text}");
        prop_assert!(parse_timestamp(&instant).is_ok(), "{instant}");
    }
}

#[test]
fn a_session_that_is_looked_for_may_be_named_by_its_beginning() {
    let mut looked = 0;
    for entry in Catalogue::default().entries() {
        let schema = entry.raw_arguments_schema(&mut SchemaGenerator::default());
        let fields = schema.get("properties");
        let session = fields.and_then(|fields| fields.get("session"));
        if let Some(session) = session.filter(|_| entry.spec.effect == Effect::Reads) {
            let name = entry.spec.name;
            assert_eq!(
                session[WHOLE_SESSION], true,
                "{name}: `session` as StoredSession"
            );
            looked += 1;
        }
    }
    assert!(looked > 5, "{looked}");
}

/// Arguments by which records are chosen.
const SELECTORS: [&str; 6] = ["tag", "any_tag", "project", "session", "author", "agent"];

#[test]
fn an_empty_name_by_which_records_are_chosen_is_refused_by_every_operation() {
    let mut looked = 0;
    for entry in Catalogue::default().entries() {
        let mut generator = SchemaGenerator::default();
        let mut schema = entry.raw_arguments_schema(&mut generator).to_value();
        schema["$defs"] = Value::Object(generator.take_definitions(false));
        let room = entry.room();
        let bounds = Bounds { schema, room };
        // Projects of shared knowledge are refused where they are read.
        if entry.spec.name == "publish_preview" {
            continue;
        }
        // What is kept may be of no project; a hook may know no project or session.
        let is_kept = entry.spec.effect != Effect::Reads && !entry.spec.name.contains("forget");
        let names = bounds.field_names().into_iter();
        let names = names.filter(|name| SELECTORS.contains(name));
        for name in names.map(str::to_owned).collect::<Vec<_>>() {
            if is_kept && !["pause", "resume", "extract_learnings"].contains(&entry.spec.name) {
                continue;
            }
            let is_list = bounds.schema["properties"][&name]
                .to_string()
                .contains("array");
            let several = [json!([""]), json!(["a", ""])].into_iter();
            let several = several.filter(|_| is_list);
            for empty in [json!(""), json!(" ")].into_iter().chain(several) {
                let said = bounds.check(&json!({ name.clone(): empty }));
                let is_refused = said.as_ref().is_err_and(|said| said.contains("is empty"));
                assert!(is_refused, "{}: {name}: {empty}: {said:?}", entry.spec.name);
            }
            looked += 1;
        }
    }
    assert!(looked > 20, "{looked}");
}
