//! Our own format: a folder with `records.jsonl`, `queries.jsonl` and `gold.jsonl`, or a folder of
//! such folders, one user each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ReadRecord, list_sorted};
use crate::dataset::{Corpus, Question};
use crate::error::{EvalError, EvalResult};
use crate::ranking_metrics::Gold;

const RECORDS: &str = "records.jsonl";
/// Categories whose questions have no answer in the store.
const WITHOUT_ANSWER: [&str; 4] = ["5", "abstention", "adversarial", "negative"];

#[derive(Deserialize)]
struct QueryLine {
    query_id: String,
    query: String,
}

#[derive(Deserialize)]
struct GoldLine {
    query_id: String,
    gold: Vec<String>,
    #[serde(default)]
    category: Value,
}

pub(super) fn read(path: &Path, record: ReadRecord) -> EvalResult<Vec<Corpus>> {
    if path.join(RECORDS).is_file() {
        return Ok(vec![read_user(path, record)?]);
    }
    let users = list_sorted(path)?
        .into_iter()
        .filter(|folder| folder.join(RECORDS).is_file());
    let corpora: Vec<Corpus> = users
        .map(|folder| read_user(&folder, record))
        .collect::<EvalResult<_, _>>()?;
    if corpora.is_empty() {
        let expected = "records.jsonl, in it or in a folder of it";
        return Err(EvalError::nothing_found(path, expected));
    }
    Ok(corpora)
}

fn read_user(folder: &Path, record: ReadRecord) -> EvalResult<Corpus> {
    let records = read_lines(&folder.join(RECORDS), "records in the ingest form", record)?;
    let queries: Vec<QueryLine> = read_lines(&folder.join("queries.jsonl"), "queries", parse)?;
    let gold: Vec<GoldLine> = read_lines(&folder.join("gold.jsonl"), "gold", parse)?;
    let mut gold: BTreeMap<String, GoldLine> = gold
        .into_iter()
        .map(|line| (line.query_id.clone(), line))
        .collect();
    let questions = queries.into_iter().filter_map(|query| {
        // A query without gold cannot be evaluated.
        let line = gold.remove(&query.query_id)?;
        let category = match &line.category {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let ids: BTreeSet<String> = line.gold.into_iter().collect();
        Some(Question {
            id: query.query_id,
            text: query.query,
            answerable: !WITHOUT_ANSWER.contains(&category.as_str()),
            category,
            gold_sessions: ids.iter().map(|id| derive_session(id)).collect(),
            gold: ids.into_iter().map(Gold::from_id).collect(),
            ..Question::default()
        })
    });
    let questions = questions.collect();
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut corpus = Corpus::new(name.into_owned(), records, questions);
    for (id, named) in &mut corpus.sessions {
        *named = derive_session(id);
    }
    Ok(corpus)
}

/// The session of a turn, derived from its id as in `score.py`.
fn derive_session(id: &str) -> String {
    let numbered = id.strip_prefix('D').and_then(|rest| rest.split_once(':'));
    numbered.map_or_else(|| id.to_owned(), |(number, _)| format!("session_{number}"))
}

fn parse<T: DeserializeOwned>(line: &str) -> EvalResult<T, String> {
    serde_json::from_str(line).map_err(|error| error.to_string())
}

fn read_lines<T>(
    path: &Path,
    expected: &'static str,
    parse: impl Fn(&str) -> EvalResult<T, String>,
) -> EvalResult<Vec<T>> {
    let text = fs_err::read_to_string(path)?;
    let numbered = (1..).zip(text.lines());
    numbered
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line): (u64, &str)| {
            let why =
                |why| EvalError::wrong_shape(path, expected, &format!("line {number}: {why}"));
            parse(line).map_err(why)
        })
        .collect()
}
