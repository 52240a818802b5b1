//! Two versions of one file become one, by the rule of its class (W13 to W15, C28), and what makes
//! two lines of a log one (C31).
//!
//! Pure: the same for our own merges and for plain git's drivers.

use std::collections::BTreeSet;

use reprise_types::{parse_timestamp, sha256_hex};
use serde_json::{Map, Value, json};

use crate::path::MergeRule;
use crate::schema;

/// The three versions that meet; the oldest is absent where both sides made the file.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    /// The version that both come from.
    pub base: Option<&'a [u8]>,
    /// The version that is merged into.
    pub ours: &'a [u8],
    /// The version that is merged.
    pub theirs: &'a [u8],
}

/// The one version, and what went under.
#[derive(Debug, Clone, PartialEq)]
pub struct Combined {
    pub bytes: Vec<u8>,
    /// A checkpoint that was older than the other, whole.
    pub loser: Option<Value>,
    /// Artifacts whose models differ: they are marked `re_embed` in the content.
    pub re_embed: Vec<String>,
}

/// Brings both sides together, or says why nobody but a person can.
pub fn combine(rule: MergeRule, sides: Sides<'_>) -> Result<Combined, String> {
    match rule {
        MergeRule::Lines => lines(sides),
        MergeRule::Checkpoint => checkpoint(sides),
        MergeRule::Manifest => manifest(sides),
        MergeRule::Text => Err("prose and code merge three-way".to_owned()),
    }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "one side is no text".to_owned())
}

fn lines(sides: Sides<'_>) -> Result<Combined, String> {
    let read = |bytes| Lines::read(text(bytes)?);
    let joined = read(sides.ours)?.joined(read(sides.theirs)?);
    Ok(Combined {
        bytes: joined.write(),
        loser: None,
        re_embed: Vec::new(),
    })
}

fn document(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("one side is no JSON: {error}"))
}

fn checkpoint(sides: Sides<'_>) -> Result<Combined, String> {
    let (ours, theirs) = (document(sides.ours)?, document(sides.theirs)?);
    let agent = |value: &Value| value.get("agent_id").cloned().unwrap_or_default();
    if agent(&ours) != agent(&theirs) {
        return Err("the two checkpoints are of different agents".to_owned());
    }
    let saved = |value: &Value| {
        let text = value.get("ts_checkpoint").and_then(Value::as_str);
        text.and_then(|text| parse_timestamp(text).ok())
    };
    // Instants, not texts; where they are equal the bytes decide, so that either order agrees.
    let is_ours = (saved(&ours), sides.ours) >= (saved(&theirs), sides.theirs);
    let (winner, loser) = if is_ours {
        (sides.ours, theirs)
    } else {
        (sides.theirs, ours)
    };
    Ok(Combined {
        bytes: winner.to_vec(),
        loser: (sides.ours != sides.theirs).then_some(loser),
        re_embed: Vec::new(),
    })
}

fn manifest(sides: Sides<'_>) -> Result<Combined, String> {
    let (mut ours, theirs) = (document(sides.ours)?, document(sides.theirs)?);
    let base = sides.base.map(document).transpose()?.unwrap_or_default();
    let mut entries = artifacts(&ours)?;
    let mut re_embed = Vec::new();
    for entry in artifacts(&theirs)? {
        let same = entries
            .iter_mut()
            .find(|there| id_of(there) == id_of(&entry));
        let Some(there) = same else {
            entries.push(entry);
            continue;
        };
        let model = |value: &Map<String, Value>| value.get("model_version").cloned();
        if model(there) != model(&entry) {
            there.insert("re_embed".to_owned(), json!(true));
            re_embed.push(id_of(there).to_owned());
        } else if is_unchanged(&base, there) {
            *there = entry;
        }
    }
    if let (Some(ours), Some(theirs)) = (ours.as_object_mut(), theirs.as_object()) {
        for (key, value) in theirs {
            ours.entry(key.clone()).or_insert_with(|| value.clone());
        }
        ours.insert("artifacts".to_owned(), json!(entries));
    }
    Ok(Combined {
        bytes: crate::wal::document(&ours),
        loser: None,
        re_embed,
    })
}

fn id_of(entry: &Map<String, Value>) -> &str {
    entry
        .get("artifact_id")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn artifacts(manifest: &Value) -> Result<Vec<Map<String, Value>>, String> {
    let listed = match manifest.get("artifacts") {
        None => return Ok(Vec::new()),
        Some(Value::Array(listed)) => listed,
        Some(_) => return Err("`artifacts` of one side is no list".to_owned()),
    };
    let entries = listed.iter().map(|entry| match entry {
        Value::Object(entry) if !id_of(entry).is_empty() => Ok(entry.clone()),
        _ => Err("an entry of one side has no `artifact_id`".to_owned()),
    });
    entries.collect()
}

fn is_unchanged(base: &Value, entry: &Map<String, Value>) -> bool {
    let listed = base.get("artifacts").and_then(Value::as_array);
    listed.is_some_and(|listed| listed.iter().any(|there| there.as_object() == Some(entry)))
}

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

    fn both(rule: MergeRule, ours: &[u8], theirs: &[u8]) -> Result<Combined, String> {
        let base = None;
        combine(rule, Sides { base, ours, theirs })
    }

    #[test]
    fn the_newer_checkpoint_wins_by_the_instant_and_the_other_is_kept() {
        let ours = include_bytes!("../tests/fixtures/ours.checkpoint.json");
        let theirs = include_bytes!("../tests/fixtures/theirs.checkpoint.json");
        for (one, other) in [(&ours[..], &theirs[..]), (&theirs[..], &ours[..])] {
            let combined = both(MergeRule::Checkpoint, one, other).unwrap();
            assert_eq!(combined.bytes, theirs);
            assert_eq!(combined.loser.unwrap()["last_prd_hash"], "abc123def456");
        }
        // Ten o'clock in Cairo is before nine in Greenwich, whatever the texts say.
        let at = |time: &str| format!(r#"{{"agent_id":"tsm","ts_checkpoint":"{time}"}}"#);
        let (cairo, greenwich) = (at("2026-01-01T10:00:00+02:00"), at("2026-01-01T09:00:00Z"));
        let combined = both(
            MergeRule::Checkpoint,
            cairo.as_bytes(),
            greenwich.as_bytes(),
        );
        assert_eq!(combined.unwrap().bytes, greenwich.as_bytes());
        let stranger = br#"{"agent_id":"PRM-001","ts_checkpoint":"2026-01-01"}"#;
        assert!(both(MergeRule::Checkpoint, ours, stranger).is_err());
    }

    #[test]
    fn a_manifest_has_each_artifact_once_and_says_which_to_embed_again() {
        let ours = include_bytes!("../tests/fixtures/ours.manifest.json");
        let theirs = include_bytes!("../tests/fixtures/theirs.manifest.json");
        let combined = both(MergeRule::Manifest, ours, theirs).unwrap();
        assert_eq!(combined.re_embed, ["PRD-42"]);
        let merged: Value = serde_json::from_slice(&combined.bytes).unwrap();
        let ids: Vec<_> = merged["artifacts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| &e["artifact_id"])
            .collect();
        assert_eq!(ids, ["PRD-42", "PRD-42#section-goals"]);
        assert_eq!(merged["artifacts"][0]["re_embed"], true);
        for bad in [&b"[1"[..], br#"{"artifacts":7}"#, br#"{"artifacts":[{}]}"#] {
            assert!(both(MergeRule::Manifest, ours, bad).is_err());
        }
    }

    #[test]
    fn a_change_of_one_side_is_taken_from_it() {
        let entry = |vec: &str| {
            format!(
                r#"{{"artifacts":[{{"artifact_id":"a","vec_id":"{vec}","model_version":"1"}}]}}"#
            )
        };
        let (base, new) = (entry("old"), entry("new"));
        for (ours, theirs) in [(&base, &new), (&new, &base)] {
            let sides = Sides {
                base: Some(base.as_bytes()),
                ours: ours.as_bytes(),
                theirs: theirs.as_bytes(),
            };
            let combined = combine(MergeRule::Manifest, sides).unwrap();
            assert!(
                String::from_utf8(combined.bytes)
                    .unwrap()
                    .contains("\"new\"")
            );
        }
    }

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
