//! `devbench_dataset.json`, the practical benchmark of mcp-memory-service: `memories` with tags,
//! and `queries` whose `expected_tags` (`bench:...`) name what should come back.

use std::collections::BTreeSet;
use std::path::Path;

use reprise_types::{MemorySource, parse_timestamp};
use serde::Deserialize;

use super::{make_episode, read_json};
use crate::dataset::{Corpus, Question};
use crate::error::EvalResult;
use crate::ranking_metrics::Gold;

const EXPECTED: &str = "a DevBench file ({memories: [{content, tags}], queries: [{question}]})";
const NEGATIVE: &str = "negative";

/// Prefix of the tags with the gold answers, which must not reach the store.
const KEY: &str = "bench:";

#[derive(Deserialize)]
struct Set {
    memories: Vec<Memory>,
    queries: Vec<DevbenchQuestion>,
}

#[derive(Deserialize)]
struct Memory {
    content: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(rename = "memory_type")]
    kind: Option<String>,
    created_at_iso: Option<String>,
}

#[derive(Deserialize)]
struct DevbenchQuestion {
    question: String,
    #[serde(default)]
    category: String,
    #[serde(default)]
    expected_tags: Vec<String>,
}

pub(super) fn read(path: &Path) -> EvalResult<Vec<Corpus>> {
    let set: Set = read_json(path, EXPECTED)?;
    let bearers = |tag: &String| -> BTreeSet<String> {
        let memories = set.memories.iter().enumerate();
        let bearing = memories.filter(|(_, memory)| memory.tags.contains(tag));
        bearing.map(|(number, _)| number.to_string()).collect()
    };
    let questions = set.queries.iter().enumerate().map(|(number, asked)| {
        let tags: BTreeSet<&String> = asked.expected_tags.iter().collect();
        Question {
            id: number.to_string(),
            text: asked.question.clone(),
            category: asked.category.clone(),
            gold: tags.into_iter().map(|tag| Gold(bearers(tag))).collect(),
            answerable: asked.category != NEGATIVE,
            ..Question::default()
        }
    });
    let questions = questions.collect();
    let records = set.memories.iter().enumerate().map(|(number, memory)| {
        // Each memory is its own session.
        let id = number.to_string();
        let text = memory.content.clone();
        let mut record = make_episode(&id, text, MemorySource::UserInput, &id);
        let date = memory.created_at_iso.as_deref();
        record.timestamp = date.and_then(|date| parse_timestamp(date).ok());
        let plain = memory.tags.iter().filter(|tag| !tag.starts_with(KEY));
        record.tags = plain.cloned().collect();
        if let Some(name) = &memory.kind {
            let name = name.as_str().into();
            record.metadata.insert("memory_type".to_owned(), name);
        }
        record
    });
    let corpus = Corpus::new("devbench".to_owned(), records.collect(), questions);
    Ok(vec![corpus.with_sessions_of_gold()])
}
