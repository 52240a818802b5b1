//! Combines two versions of one file by the rule of its class, and decides when two lines of a log
//! are the same.
//!
//! The functions are pure, and serve our own merges and plain git's drivers alike.

use std::collections::BTreeSet;

use reprise_types::{parse_timestamp, sha256_hex};
use reprise_workspace_types::MergeRule;
use serde_json::{Map, Value, json};

use crate::schema;

/// The three versions that meet; the oldest is absent where both sides made the file.
#[derive(Debug, Clone, Copy)]
pub struct MergeSides<'a> {
    /// The version that both come from.
    pub base: Option<&'a [u8]>,
    /// The version that is merged into.
    pub ours: &'a [u8],
    /// The version that is merged.
    pub theirs: &'a [u8],
}

/// The combined version, and what was dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct CombinedFile {
    pub bytes: Vec<u8>,
    /// A checkpoint that was older than the other, whole.
    pub loser: Option<Value>,
    /// Artifacts whose models differ: they are marked `re_embed` in the content.
    pub re_embed: Vec<String>,
}

/// Combines both sides, or returns why only a person can.
pub fn combine(rule: MergeRule, sides: MergeSides<'_>) -> Result<CombinedFile, String> {
    match rule {
        MergeRule::Lines => combine_logs(sides),
        MergeRule::Checkpoint => pick_newer_checkpoint(sides),
        MergeRule::Manifest => combine_manifests(sides),
        MergeRule::Text => Err("prose and code merge three-way".to_owned()),
    }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "one side is no text".to_owned())
}

fn combine_logs(sides: MergeSides<'_>) -> Result<CombinedFile, String> {
    let read = |bytes| LogLines::parse(text(bytes)?);
    let joined = read(sides.ours)?.merge_with(read(sides.theirs)?);
    Ok(CombinedFile {
        bytes: joined.encode(),
        loser: None,
        re_embed: Vec::new(),
    })
}

fn document(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("one side is not valid JSON: {error}"))
}

fn pick_newer_checkpoint(sides: MergeSides<'_>) -> Result<CombinedFile, String> {
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
    Ok(CombinedFile {
        bytes: winner.to_vec(),
        loser: (sides.ours != sides.theirs).then_some(loser),
        re_embed: Vec::new(),
    })
}

fn combine_manifests(sides: MergeSides<'_>) -> Result<CombinedFile, String> {
    let (mut ours, theirs) = (document(sides.ours)?, document(sides.theirs)?);
    let base = sides.base.map(document).transpose()?.unwrap_or_default();
    let mut entries = list_manifest_entries(&ours)?;
    let mut re_embed = Vec::new();
    for entry in list_manifest_entries(&theirs)? {
        let same = entries
            .iter_mut()
            .find(|there| artifact_id(there) == artifact_id(&entry));
        let Some(there) = same else {
            entries.push(entry);
            continue;
        };
        let model = |value: &Map<String, Value>| value.get("model_version").cloned();
        if model(there) != model(&entry) {
            there.insert("re_embed".to_owned(), json!(true));
            re_embed.push(artifact_id(there).to_owned());
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
    Ok(CombinedFile {
        bytes: crate::wal::encode_document(&ours),
        loser: None,
        re_embed,
    })
}

fn artifact_id(entry: &Map<String, Value>) -> &str {
    entry
        .get("artifact_id")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn list_manifest_entries(manifest: &Value) -> Result<Vec<Map<String, Value>>, String> {
    let listed = match manifest.get("artifacts") {
        None => return Ok(Vec::new()),
        Some(Value::Array(listed)) => listed,
        Some(_) => return Err("`artifacts` of one side is no list".to_owned()),
    };
    let entries = listed.iter().map(|entry| match entry {
        Value::Object(entry) if !artifact_id(entry).is_empty() => Ok(entry.clone()),
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
pub(crate) struct LogLines(Vec<(String, Value)>);

/// Returns the `event_id` (or `eventId`) of a line, or the SHA-256 of its canonical JSON.
fn line_id(line: &Value) -> String {
    for field in ["event_id", "eventId"] {
        match line.get(field) {
            Some(Value::String(id)) => return format!("id:{id}"),
            Some(Value::Number(id)) => return format!("id:{id}"),
            _ => {}
        }
    }
    sha256_hex(to_canonical_json(line).as_bytes())
}

/// Renders JSON with the keys of every object in order.
fn to_canonical_json(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| key.as_str());
            let fields = fields.into_iter().map(|(key, value)| {
                format!(
                    "{}:{}",
                    Value::String(key.clone()),
                    to_canonical_json(value)
                )
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(to_canonical_json).collect();
            format!("[{}]", items.join(","))
        }
        plain => plain.to_string(),
    }
}

impl LogLines {
    /// Parses JSON lines or a JSON array.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let values = schema::parse_log(text)?;
        let named = values.into_iter().map(|value| (line_id(&value), value));
        Ok(Self(named.collect()))
    }

    /// Returns whether this log has every line of `other`.
    pub(crate) fn contains_all(&self, other: &Self) -> bool {
        let ids: BTreeSet<&str> = self.0.iter().map(|(id, _)| id.as_str()).collect();
        other.0.iter().all(|(id, _)| ids.contains(id.as_str()))
    }

    /// Joins both logs, each event once: the same set whichever side comes first.
    pub(crate) fn merge_with(self, other: Self) -> Self {
        let mut seen = BTreeSet::new();
        let all = self.0.into_iter().chain(other.0);
        Self(all.filter(|(id, _)| seen.insert(id.clone())).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (_, value) in &self.0 {
            bytes.extend(crate::wal::encode_line(value));
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn both(rule: MergeRule, ours: &[u8], theirs: &[u8]) -> Result<CombinedFile, String> {
        let base = None;
        combine(rule, MergeSides { base, ours, theirs })
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
            let sides = MergeSides {
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
        let ours = LogLines::parse(include_str!("../tests/fixtures/ours.jsonl")).unwrap();
        let theirs = LogLines::parse(include_str!("../tests/fixtures/theirs.jsonl")).unwrap();
        assert_eq!(ours.merge_with(theirs).len(), 4);
    }

    #[test]
    fn a_line_without_an_id_is_known_by_what_it_says() {
        let one = LogLines::parse("{\"a\":1,\"b\":2}\n").unwrap();
        let other = LogLines::parse("[{\"b\":2,\"a\":1}]").unwrap();
        assert_eq!(one.merge_with(other).len(), 1);
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
                LogLines::parse(&(text(&base) + &text(more))).unwrap()
            };
            let set = |lines: &LogLines| {
                lines.0.iter().map(|(id, _)| id.clone()).collect::<BTreeSet<_>>()
            };
            let one = read(&ours).merge_with(read(&theirs));
            let other = read(&theirs).merge_with(read(&ours));
            prop_assert_eq!(set(&one), set(&other));
            prop_assert_eq!(set(&one).len(), one.len());
            prop_assert!(one.contains_all(&read(&ours)) && one.contains_all(&read(&theirs)));
            let again = LogLines::parse(&String::from_utf8(one.encode()).unwrap()).unwrap();
            prop_assert_eq!(again, one);
        }
    }
}
