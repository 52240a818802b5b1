//! The batch contract's lines: what `ingest` and `recall` read, what `recall` and `export` print.
//!
//! The wire forms of DESIGN 10 live here and nowhere else.

use std::io::BufRead;

use reprise_types::{
    EmbeddingSpace, ExternalId, MemoryRecord, NewRecord, Recall, Why, check_unit_vector,
    parse_timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One line of an ingest file.
#[derive(Debug, Deserialize)]
struct IngestLine {
    external_id: Option<Name>,
    text: String,
    #[serde(default = "user_input")]
    source: String,
    #[serde(default = "episode")]
    kind: String,
    #[serde(default)]
    session_id: String,
    timestamp: Option<String>,
    metadata: Option<Map<String, Value>>,
    quality_score: Option<f32>,
    #[serde(default)]
    tags: Vec<String>,
    /// Only for callers that embed themselves.
    embedding: Option<Vec<f32>>,
    embedding_space: Option<EmbeddingSpace>,
    /// Printed by `export`, ignored on the way back in.
    #[serde(rename = "id")]
    _id: Option<String>,
    #[serde(rename = "known_at")]
    _known_at: Option<String>,
    /// Fields of nobody's: kept in the metadata, because what was sent is never dropped.
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// Ids that other systems write as numbers.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Number(serde_json::Number),
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        match name {
            Name::Text(text) => text,
            Name::Number(number) => number.to_string(),
        }
    }
}

fn user_input() -> String {
    "user_input".to_owned()
}

fn episode() -> String {
    "episode".to_owned()
}

/// Reads one ingest line; the error is a sentence about it.
pub(crate) fn record_of(line: &str) -> Result<NewRecord, String> {
    let line: IngestLine = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let source = line
        .source
        .parse()
        .map_err(|e: reprise_types::UnknownName| e.to_string())?;
    let kind = line
        .kind
        .parse()
        .map_err(|e: reprise_types::UnknownName| e.to_string())?;
    let timestamp = line.timestamp.as_deref().map(parse_timestamp).transpose();
    let embedding = match (line.embedding, line.embedding_space) {
        (Some(vector), Some(space)) => Some((space, vector)),
        (None, _) => None,
        (Some(_), None) => return Err("an embedding needs its embedding_space".to_owned()),
    };
    let mut record = NewRecord::new(line.text, source, kind);
    record.session_id = line.session_id;
    record.timestamp = timestamp.map_err(|error| error.to_string())?;
    record.metadata = line.other;
    record.metadata.extend(line.metadata.unwrap_or_default());
    record.quality_score = line.quality_score;
    record.tags = line.tags;
    record.embedding = embedding;
    let external = line
        .external_id
        .map(|id| ExternalId::new(ExternalId::BATCH, String::from(id)));
    record.external_ids = external.into_iter().collect();
    Ok(record)
}

/// One line of a queries file.
#[derive(Debug, Deserialize)]
pub(crate) struct QueryLine {
    /// Given back with the answer.
    pub(crate) query_id: String,
    /// The question.
    pub(crate) query: String,
    /// Only for callers that embed themselves.
    pub(crate) embedding: Option<Vec<f32>>,
    pub(crate) embedding_space: Option<EmbeddingSpace>,
}

impl QueryLine {
    /// The vector handed over with the question; the error is a sentence about it.
    pub(crate) fn vector(&self) -> Result<Option<(EmbeddingSpace, Vec<f32>)>, String> {
        match (&self.embedding_space, &self.embedding) {
            (Some(space), Some(vector)) => {
                check_unit_vector(vector, usize::from(space.dimensions))
                    .map_err(|error| error.to_string())?;
                Ok(Some((space.clone(), vector.clone())))
            }
            (None, Some(_)) => Err("an embedding needs its embedding_space".to_owned()),
            (_, None) => Ok(None),
        }
    }
}

/// One answer of a batch recall.
#[derive(Debug, Serialize)]
pub(crate) struct AnswerLine {
    pub(crate) query_id: Option<String>,
    pub(crate) recall_id: String,
    pub(crate) degraded: Vec<&'static str>,
    pub(crate) elapsed_ms: f64,
    pub(crate) nothing_relevant: bool,
    pub(crate) results: Vec<ResultLine>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ResultLine {
    pub(crate) id: String,
    pub(crate) external_id: Option<String>,
    pub(crate) session_id: String,
    pub(crate) text: String,
    pub(crate) score: f32,
    pub(crate) sona_score: f32,
    pub(crate) why: Why,
}

impl AnswerLine {
    pub(crate) fn new(query_id: Option<String>, recall: Recall, elapsed_ms: f64) -> Self {
        let results = recall.results.into_iter().map(|found| ResultLine {
            id: found.record.id.to_string(),
            external_id: external_id_of(&found.record),
            session_id: found.record.session_id,
            text: found.record.text,
            score: found.score,
            sona_score: found.sona_score,
            why: found.why,
        });
        Self {
            query_id,
            recall_id: recall.recall_id.to_string(),
            degraded: recall.degraded.iter().map(|part| part.name()).collect(),
            elapsed_ms,
            nothing_relevant: recall.nothing_relevant,
            results: results.collect(),
        }
    }
}

/// The batch contract's id, else the event's.
pub(crate) fn external_id_of(record: &MemoryRecord) -> Option<String> {
    let batch = record.external_id(ExternalId::BATCH);
    batch
        .or_else(|| record.external_ids.first().map(|e| e.id.as_str()))
        .map(str::to_owned)
}

/// One line of an export: the ingest form plus what the store added.
#[derive(Debug, Serialize)]
pub(crate) struct ExportLine<'a> {
    pub(crate) id: String,
    pub(crate) external_id: Option<String>,
    pub(crate) text: &'a str,
    pub(crate) source: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) session_id: &'a str,
    pub(crate) timestamp: String,
    pub(crate) known_at: String,
    pub(crate) metadata: &'a Map<String, Value>,
    pub(crate) quality_score: Option<f32>,
    pub(crate) tags: &'a [String],
}

impl<'a> ExportLine<'a> {
    pub(crate) fn new(record: &'a MemoryRecord) -> Self {
        let instant = |at: chrono::DateTime<chrono::Utc>| {
            at.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)
        };
        Self {
            id: record.id.to_string(),
            external_id: external_id_of(record),
            text: &record.text,
            source: record.source.name(),
            kind: record.kind.name(),
            session_id: &record.session_id,
            timestamp: instant(record.timestamp),
            known_at: instant(record.known_at),
            metadata: &record.metadata,
            quality_score: record.quality_score,
            tags: &record.tags,
        }
    }
}

/// Longest line that is read whole: a text at its limit, escaped, with its metadata, and room.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Numbered lines of a file, one bad line at a time: invalid UTF-8 spoils its own line only.
pub(crate) struct Lines<R> {
    reader: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, number: 0 }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    /// Line number from 1, and the line or what is wrong with it.
    type Item = std::io::Result<(u64, Result<String, String>)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut bytes = Vec::new();
            let mut limited = std::io::Read::take(&mut self.reader, LINE_BYTES_MAX);
            match limited.read_until(b'\n', &mut bytes) {
                Ok(0) => return None,
                Ok(_) => self.number += 1,
                Err(error) => return Some(Err(error)),
            }
            let line = String::from_utf8(bytes).map_err(|error| {
                format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1)
            });
            match line {
                Ok(line) if line.trim().is_empty() => {}
                line => return Some(Ok((self.number, line))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_spoils_only_itself() {
        let bytes = b"one\n\xff\n\ntwo".as_slice();
        let lines: Vec<_> = Lines::new(bytes).map(Result::unwrap).collect();
        assert_eq!(lines[0], (1, Ok("one\n".to_owned())));
        assert_eq!(lines[1].0, 2);
        assert!(lines[1].1.as_ref().unwrap_err().contains("UTF-8"));
        assert_eq!(lines[2], (4, Ok("two".to_owned())));
    }

    #[test]
    fn nothing_that_was_sent_is_dropped() {
        let line = r#"{"external_id":7,"text":"a","speaker":"Ada","metadata":{"k":1}}"#;
        let record = record_of(line).unwrap();
        assert_eq!(record.external_ids[0].id, "7");
        assert_eq!(record.metadata["speaker"], "Ada");
        assert_eq!(record.metadata["k"], 1);
    }

    #[test]
    fn an_ingest_line_says_what_is_wrong_with_it() {
        assert!(record_of(r#"{"text":"a","source":"UserInput"}"#).is_ok());
        for (line, expected) in [
            ("{", "EOF"),
            (r#"{"external_id":"x"}"#, "text"),
            (r#"{"text":"a","source":"gossip"}"#, "memory source"),
            (r#"{"text":"a","kind":"gossip"}"#, "memory kind"),
            (r#"{"text":"a","timestamp":"soon"}"#, "RFC 3339"),
            (r#"{"text":"a","embedding":[1.0]}"#, "embedding_space"),
        ] {
            let error = record_of(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
