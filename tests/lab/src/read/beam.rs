//! BEAM: a folder per chat with `chat.json` (batches of turns of messages, deeper in the
//! ten-million set) and `probing_questions/probing_questions.json` (lists by ability).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use reprise_types::{ExternalId, NewRecord};
use serde::Deserialize;
use serde_json::Value;

use super::{list_sorted, make_episode, natural_sort_key, read_json, source_by_role};
use crate::dataset::{Corpus, Protocol, Question};
use crate::error::{EvalError, EvalResult};
use crate::ranking_metrics::Gold;

const CHAT: &str = "a BEAM chat (batches with turns of {id, role, content})";
const QUESTIONS: &str = "BEAM probing questions (an object of lists of {question, ...})";
const ABSTENTION: &str = "abstention";
/// Abilities whose questions count as answered where they name no message, by rounds.
const WITHOUT_GOLD: [&str; 2] = [ABSTENTION, "summarization"];
/// Characters of a round that are kept.
const ROUND_CHARS_MAX: usize = 10_000;

/// Search depth for folders below `--data`: `chats/100K/1`.
const DEPTH_MAX: u32 = 4;

/// The set dates batches, not messages: messages follow each other at this distance.
const MESSAGE_SECONDS: i64 = 40;

#[derive(Deserialize)]
struct BeamQuestion {
    question: String,
    source_chat_ids: Option<Value>,
}

pub(super) fn read(path: &Path, protocol: Protocol) -> EvalResult<Vec<Corpus>> {
    let mut corpora = Vec::new();
    collect_chats(path, protocol, DEPTH_MAX, &mut corpora)?;
    if corpora.is_empty() {
        let expected = "folder with chat.json and probing_questions/probing_questions.json";
        return Err(EvalError::nothing_found(path, expected));
    }
    Ok(corpora)
}

fn collect_chats(
    folder: &Path,
    protocol: Protocol,
    depth: u32,
    corpora: &mut Vec<Corpus>,
) -> EvalResult<()> {
    let (chat, asked) = (
        folder.join("chat.json"),
        folder.join("probing_questions/probing_questions.json"),
    );
    if chat.is_file() && asked.is_file() {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let mut reading = Reading {
            rounds: (protocol == Protocol::Rounds).then(BTreeMap::new),
            ..Reading::default()
        };
        reading.read_value(&read_json(&chat, CHAT)?);
        let asked: BTreeMap<String, Vec<BeamQuestion>> = read_json(&asked, QUESTIONS)?;
        let questions = build_questions(&name, asked, reading.rounds.as_ref());
        for record in &mut reading.records {
            if let Some((end, _)) = record.text.char_indices().nth(ROUND_CHARS_MAX) {
                record.text.truncate(end);
                record.text.push_str("...");
            }
        }
        let corpus = Corpus::new(name.into_owned(), reading.records, questions);
        corpora.push(corpus.with_sessions_of_gold());
    } else if depth > 0 {
        for below in list_sorted(folder)?
            .into_iter()
            .filter(|path| path.is_dir())
        {
            collect_chats(&below, protocol, depth - 1, corpora)?;
        }
    }
    Ok(())
}

/// Messages in file order, with their batch and date.
#[derive(Default)]
struct Reading {
    plan: String,
    batch: String,
    date: Option<DateTime<Utc>>,
    place: i64,
    records: Vec<NewRecord>,
    /// Where documents are rounds: the round of each message.
    rounds: Option<BTreeMap<String, String>>,
}

impl Reading {
    fn read_value(&mut self, value: &Value) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.read_value(value)),
            Value::Object(fields) => {
                if let Some(number) = fields.get("batch_number") {
                    self.batch = format!("{}batch-{number}", self.plan);
                    self.place = 0;
                }
                if let Some(date) = fields.get("time_anchor").and_then(Value::as_str) {
                    self.date = parse_date(date).or(self.date);
                }
                if let (Some(id), Some(text)) = (fields.get("id"), fields.get("content")) {
                    let role = fields.get("role").and_then(Value::as_str);
                    self.add_message(id, text, role.unwrap_or_default());
                    return;
                }
                let mut below: Vec<(&String, &Value)> = fields.iter().collect();
                below.sort_by_cached_key(|(key, _)| natural_sort_key(key));
                for (key, value) in below {
                    if key.starts_with("plan") && value.is_array() {
                        self.plan = format!("{key}/");
                    }
                    self.read_value(value);
                }
            }
            _ => {}
        }
    }

    fn add_message(&mut self, id: &Value, text: &Value, role: &str) {
        self.place += 1;
        let text = text.as_str().unwrap_or_default();
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        if self.rounds.is_some() {
            return self.add_to_round(id, text, role);
        }
        // The generator's own mark: ` ->-> batch,index`.
        let text = text.rsplit_once("->->").map_or(text, |(before, _)| before);
        let mut record = make_episode(
            &id,
            text.trim().to_owned(),
            source_by_role(role),
            &self.batch,
        );
        record.timestamp = self
            .date
            .map(|date| date + TimeDelta::seconds(MESSAGE_SECONDS * self.place));
        record.metadata.insert("role".to_owned(), role.into());
        self.records.push(record);
    }

    /// A user's message begins a round; what follows it belongs to it. (The script would put the
    /// batch's date before it; the published chats date messages, where it does not look.)
    fn add_to_round(&mut self, id: String, text: &str, role: &str) {
        let speaker = if role == "user" { "User" } else { "Assistant" };
        let line = format!("{speaker}: {text}");
        if let Some(round) = self.records.last_mut().filter(|_| role != "user") {
            round.text = format!("{}\n{line}", round.text);
        } else {
            let name = format!("round {}", self.records.len() + 1);
            let mut record = make_episode(&name, line, source_by_role("user"), &self.batch);
            let after = TimeDelta::seconds(MESSAGE_SECONDS * self.place);
            record.timestamp = self.date.map(|date| date + after);
            self.records.push(record);
        }
        let last = self.records.last();
        let round = last.and_then(|record| record.find_external_id(ExternalId::BATCH));
        if let (Some(round), Some(rounds)) = (round, &mut self.rounds) {
            rounds.insert(id, round.to_owned());
        }
    }
}

/// `March-15-2024`.
fn parse_date(text: &str) -> Option<DateTime<Utc>> {
    let date = NaiveDate::parse_from_str(text.trim(), "%B-%d-%Y").ok()?;
    Some(date.and_time(NaiveTime::MIN).and_utc())
}

fn build_questions(
    chat: &str,
    asked: BTreeMap<String, Vec<BeamQuestion>>,
    rounds: Option<&BTreeMap<String, String>>,
) -> Vec<Question> {
    let all = asked
        .into_iter()
        .flat_map(|(ability, list)| list.into_iter().map(move |asked| (ability.clone(), asked)));
    all.enumerate()
        .map(|(number, (ability, asked))| {
            let sources = asked.source_chat_ids.unwrap_or_default();
            let mut ids = BTreeSet::new();
            collect_message_ids(&sources, &mut ids);
            let share = f64::from(WITHOUT_GOLD.contains(&ability.as_str()));
            Question {
                id: format!("{chat}/{number}"),
                text: asked.question,
                answerable: ability != ABSTENTION,
                category: ability,
                gold: match rounds {
                    Some(rounds) => gold_by_rounds(&sources, rounds),
                    None => ids.iter().map(|id| Gold::from_id(id.to_string())).collect(),
                },
                without_gold: rounds.map(|_| share),
                ..Question::default()
            }
        })
        .collect()
}

/// The messages that `beam_benchmark.py` looks for, each found with its round:
/// the items of a list, or of the lists of an object, as they are written. What names no message (a
/// list within a list) counts and is never found.
fn gold_by_rounds(sources: &Value, rounds: &BTreeMap<String, String>) -> Vec<Gold> {
    let lists: Vec<&Value> = match sources {
        Value::Object(fields) => fields.values().collect(),
        other => vec![other],
    };
    let items = lists.into_iter().filter_map(Value::as_array).flatten();
    let written: BTreeSet<String> = items
        .map(|item| {
            item.as_str()
                .map_or_else(|| item.to_string(), str::to_owned)
        })
        .collect();
    let gold = written.into_iter().map(|id| {
        let round = rounds.get(&id).cloned();
        // Two messages of a round are two things to find.
        Gold([format!("message {id}")].into_iter().chain(round).collect())
    });
    gold.collect()
}

/// Every message number in `source_chat_ids`: a list, an object of lists, nested lists, or numbers
/// as strings.
fn collect_message_ids(value: &Value, ids: &mut BTreeSet<u64>) {
    match value {
        Value::Number(number) => ids.extend(number.as_u64()),
        Value::String(text) => ids.extend(text.trim().parse::<u64>().ok()),
        Value::Array(values) => values
            .iter()
            .for_each(|value| collect_message_ids(value, ids)),
        Value::Object(fields) => fields
            .values()
            .for_each(|value| collect_message_ids(value, ids)),
        Value::Null | Value::Bool(_) => {}
    }
}
