//! `longmemeval_s*.json`: a list of questions, each with a haystack of dated sessions of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use reprise_types::NewRecord;
use serde::Deserialize;
use serde_json::Value;

use super::{make_episode, read_json, source_by_role};
use crate::dataset::{Corpus, Protocol, Question};
use crate::error::{EvalError, EvalResult};
use crate::ranking_metrics::Gold;

const EXPECTED: &str = "a LongMemEval file (a list of {question_id, haystack_sessions, ...})";

/// The set dates sessions, not turns: turns follow each other at this distance.
const TURN_SECONDS: i64 = 30;

#[derive(Deserialize)]
struct Instance {
    question_id: String,
    #[serde(default)]
    question_type: String,
    question: String,
    /// A text or a number.
    #[serde(default)]
    answer: Value,
    #[serde(default)]
    question_date: String,
    haystack_session_ids: Vec<String>,
    #[serde(default)]
    haystack_dates: Vec<String>,
    haystack_sessions: Vec<Vec<Turn>>,
    #[serde(default)]
    answer_session_ids: Vec<String>,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    content: String,
    #[serde(default)]
    has_answer: Option<bool>,
}

pub(super) fn read(path: &Path, protocol: Protocol) -> EvalResult<Vec<Corpus>> {
    let instances: Vec<Instance> = read_json(path, EXPECTED)?;
    instances
        .into_iter()
        .map(|instance| {
            build_corpus(instance, protocol)
                .map_err(|why| EvalError::wrong_shape(path, EXPECTED, &why))
        })
        .collect()
}

fn build_corpus(instance: Instance, protocol: Protocol) -> EvalResult<Corpus, String> {
    let (ids, sessions) = (instance.haystack_session_ids, instance.haystack_sessions);
    if ids.len() != sessions.len() {
        let (got, expected) = (ids.len(), sessions.len());
        let id = instance.question_id;
        return Err(format!("{id}: {got} session ids for {expected} sessions"));
    }
    let answers = BTreeSet::from_iter(instance.answer_session_ids);
    let mut records = Vec::new();
    let mut gold = Vec::new();
    // One session may occur in a haystack twice; its turns still need unique ids.
    let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
    for (place, (session, turns)) in ids.iter().zip(sessions).enumerate() {
        let began = instance
            .haystack_dates
            .get(place)
            .and_then(|d| parse_date(d));
        let used = uses.entry(session.as_str()).or_default();
        let name = match *used {
            0 => session.clone(),
            again => format!("{session}~{again}"),
        };
        *used += 1;
        if protocol != Protocol::Turns {
            if answers.contains(session) {
                gold.push(Gold::from_id(name.clone()));
            }
            records.extend(build_session_record(
                &name, session, &turns, protocol, began,
            ));
            continue;
        }
        for (number, turn) in (0..).zip(turns) {
            if turn.content.trim().is_empty() {
                continue;
            }
            let id = format!("{name}/{number}");
            if turn.has_answer == Some(true) {
                gold.push(Gold::from_id(id.clone()));
            }
            let mut record = make_episode(&id, turn.content, source_by_role(&turn.role), session);
            record.timestamp = began.map(|at| at + TimeDelta::seconds(TURN_SECONDS * number));
            record.metadata.insert("role".to_owned(), turn.role.into());
            records.push(record);
        }
    }
    let question = Question {
        text: instance.question,
        answerable: !instance.question_id.ends_with("_abs"),
        category: instance.question_type,
        gold,
        gold_sessions: answers,
        asked_at: parse_date(&instance.question_date),
        id: instance.question_id.clone(),
        answer: match instance.answer {
            Value::Null => None,
            Value::String(text) => Some(text),
            number => Some(number.to_string()),
        },
        without_gold: None,
    };
    Ok(Corpus::new(instance.question_id, records, vec![question]))
}

/// A session as one document; `None` where nothing of it counts.
fn build_session_record(
    id: &str,
    session: &str,
    turns: &[Turn],
    protocol: Protocol,
    began: Option<DateTime<Utc>>,
) -> Option<NewRecord> {
    let users_only = protocol == Protocol::UserSessions;
    let counted = turns
        .iter()
        .filter(|turn| !users_only || turn.role == "user");
    let lines = counted.map(|turn| match protocol {
        Protocol::UserSessions => turn.content.clone(),
        _ => format!("{}: {}", turn.role, turn.content),
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.trim().is_empty() {
        return None;
    }
    let mut record = make_episode(id, text, source_by_role("user"), session);
    record.timestamp = began;
    Some(record)
}

/// `2023/05/30 (Tue) 23:40`, with or without the time.
fn parse_date(text: &str) -> Option<DateTime<Utc>> {
    let plain: String = match (text.find('('), text.find(')')) {
        (Some(open), Some(close)) if open < close => {
            [text.get(..open)?, text.get(close + 1..)?].concat()
        }
        _ => text.to_owned(),
    };
    let joined = reprise_types::to_one_line(&plain);
    NaiveDateTime::parse_from_str(&joined, "%Y/%m/%d %H:%M")
        .or_else(|_| {
            let date = NaiveDate::parse_from_str(&joined, "%Y/%m/%d")?;
            Ok::<_, chrono::ParseError>(date.and_time(NaiveTime::MIN))
        })
        .ok()
        .map(|date| date.and_utc())
}
