//! Logs of one JSON value a line: what makes two lines one (C31), and bringing two logs together.

use std::collections::BTreeSet;

use reprise_types::sha256_hex;
use serde_json::Value;

use crate::schema;

/// The lines of a log, each with its identity.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Lines(Vec<(String, Value)>);

/// The `event_id` (or `eventId`) of a line; of one that has none, the SHA-256 of its canonical
/// JSON.
fn identity(line: &Value) -> String {
    for field in ["event_id", "eventId"] {
        match line.get(field) {
            Some(Value::String(id)) => return format!("id:{id}"),
            Some(Value::Number(id)) => return format!("id:{id}"),
            _ => {}
        }
    }
    sha256_hex(canonical(line).as_bytes())
}

/// JSON with the keys of every object in order.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| key.as_str());
            let fields = fields
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::String(key.clone()), canonical(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        plain => plain.to_string(),
    }
}

impl Lines {
    /// Reads lines or a JSON array.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let values = schema::lines(text)?;
        let named = values.into_iter().map(|value| (identity(&value), value));
        Ok(Self(named.collect()))
    }

    /// Whether every line of `other` is here.
    pub(crate) fn holds_all(&self, other: &Self) -> bool {
        let ids: BTreeSet<&str> = self.0.iter().map(|(id, _)| id.as_str()).collect();
        other.0.iter().all(|(id, _)| ids.contains(id.as_str()))
    }

    /// Both logs one after the other, each event once: the same set whichever side comes first.
    pub(crate) fn joined(self, other: Self) -> Self {
        let mut seen = BTreeSet::new();
        let all = self.0.into_iter().chain(other.0);
        Self(all.filter(|(id, _)| seen.insert(id.clone())).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (_, value) in &self.0 {
            bytes.extend(crate::wal::line(value));
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_fixtures_merge_to_four_lines() {
        let ours = Lines::read(include_str!("../tests/fixtures/ours.jsonl")).unwrap();
        let theirs = Lines::read(include_str!("../tests/fixtures/theirs.jsonl")).unwrap();
        assert_eq!(ours.joined(theirs).len(), 4);
    }

    #[test]
    fn a_line_without_an_id_is_known_by_what_it_says() {
        let one = Lines::read("{\"a\":1,\"b\":2}\n").unwrap();
        let other = Lines::read("[{\"b\":2,\"a\":1}]").unwrap();
        assert_eq!(one.joined(other).len(), 1);
    }

    fn log() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0_u8..40, 0..30)
    }

    fn text(events: &[u8]) -> String {
        let line = |event: &u8| match event % 3 {
            0 => format!("{{\"event_id\":\"{event}\"}}\n"),
            1 => format!("{{\"eventId\":\"{event}\",\"ts\":\"2026-01-01\"}}\n"),
            _ => format!("{{\"n\":{event}}}\n"),
        };
        events.iter().map(line).collect()
    }

    proptest! {
        #[test]
        fn any_two_histories_of_appends_merge_to_the_same_set_in_either_order(
            base in log(), ours in log(), theirs in log()
        ) {
            let read = |more: &[u8]| {
                Lines::read(&(text(&base) + &text(more))).unwrap()
            };
            let set = |lines: &Lines| {
                lines.0.iter().map(|(id, _)| id.clone()).collect::<BTreeSet<_>>()
            };
            let one = read(&ours).joined(read(&theirs));
            let other = read(&theirs).joined(read(&ours));
            prop_assert_eq!(set(&one), set(&other));
            prop_assert_eq!(set(&one).len(), one.len());
            prop_assert!(one.holds_all(&read(&ours)) && one.holds_all(&read(&theirs)));
            let again = Lines::read(&String::from_utf8(one.write()).unwrap()).unwrap();
            prop_assert_eq!(again, one);
        }
    }
}
