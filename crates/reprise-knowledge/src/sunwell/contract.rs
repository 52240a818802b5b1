//! What Sunwell's other programs read: the three schemas, `index.json`, and the events of memory.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use reprise_types::MemoryRecord;
use serde_json::{Map, Value, json};

use super::{Category, Learning, SunwellMemory, SunwellStats, said};
use crate::exact::exact;

/// The draft-07 schemas that every written line keeps to, by file name (S48).
pub const SCHEMAS: [(&str, &str); 3] = [
    (
        "learning.schema.json",
        include_str!("../../schemas/learning.schema.json"),
    ),
    (
        "decision.schema.json",
        include_str!("../../schemas/decision.schema.json"),
    ),
    (
        "failure.schema.json",
        include_str!("../../schemas/failure.schema.json"),
    ),
];

impl SunwellMemory {
    /// `index.json`: RFC-065's keys, and beside them the block that Studio reads (S31, C22).
    #[must_use]
    pub fn index(&self) -> Value {
        let categories: Vec<String> = Category::ALL
            .iter()
            .map(|category| category.name().to_uppercase())
            .collect();
        let mut index = json!({
            "version": "1.0",
            "stats": self.stats(),
            "categories": categories,
        });
        if let (Some(index), Ok(Value::Object(studio))) = (
            index.as_object_mut(),
            serde_json::to_value(self.memory_stats(None)),
        ) {
            index.extend(studio);
        }
        index
    }
}

impl SunwellStats {
    /// The event of a memory that was opened and holds something (S55).
    #[must_use]
    pub fn loaded(&self) -> Option<Value> {
        (self.total > 0).then(|| json!(self))
    }
}

impl Learning {
    /// The event of what was learned, `fact` beside it for readers of old (S54).
    #[must_use]
    pub fn event(&self) -> Value {
        json!({ "learning": self, "fact": self.fact })
    }

    /// The learning of such an event. One of old has only its fact: it becomes a pattern of default
    /// confidence with the goal that is being worked on (S56). `None` where there is no fact.
    #[must_use]
    pub fn of_event(event: &Value, goal: Option<&str>, now: DateTime<Utc>) -> Option<Self> {
        let fact = |value: &Value| value["fact"].as_str().map(str::to_owned);
        let Some(told) = event.get("learning").and_then(Value::as_object) else {
            let mut learning = Self::new(fact(event)?, Category::Pattern, now);
            learning.id = format!("legacy-{}", now.timestamp_millis());
            learning.goal = goal.map(str::to_owned);
            return Some(learning);
        };
        let category = Category::nearest(told.get("category")?.as_str()?);
        let made = Self::new(fact(&event["learning"])?, category, now);
        let metadata = told.get("metadata").and_then(Value::as_object);
        Some(Self {
            id: said(told, "id").unwrap_or(made.id),
            confidence: told
                .get("confidence")
                .and_then(Value::as_f64)
                .unwrap_or(made.confidence),
            source: said(told, "source"),
            // Other languages spell the keys their own way (C21).
            source_type: said(told, "source_type")
                .or_else(|| said(told, "sourceType"))
                .unwrap_or(made.source_type),
            created_at: said(told, "created_at")
                .or_else(|| said(told, "createdAt"))
                .unwrap_or(made.created_at),
            goal: said(told, "goal"),
            metadata: metadata.cloned().unwrap_or_default(),
            fact: made.fact,
            category,
        })
    }

    /// A record that is none of Sunwell's, as a learning of category `pattern` with what it says
    /// besides in its metadata.
    #[must_use]
    pub fn foreign(record: &MemoryRecord) -> Self {
        let mut learning = Self::new(record.text.clone(), Category::Pattern, record.timestamp);
        learning.confidence = record.confidence.map_or(learning.confidence, exact);
        for (name, value) in [
            ("kind", json!(record.kind)),
            ("source", json!(record.source)),
            ("session_id", json!(record.session_id)),
            ("tags", json!(record.tags)),
            ("reprise_id", json!(record.id)),
        ] {
            learning.metadata.insert(name.to_owned(), value);
        }
        learning
    }
}

/// Words that begin what is worth keeping of a text, with the category that they speak of.
const CUES: [(Category, &[&str]); 5] = [
    (
        Category::Decision,
        &[
            "we decided",
            "decided to",
            "decision:",
            "we chose",
            "chose to",
            "we will use",
            "we use ",
        ],
    ),
    (
        Category::Fix,
        &[
            "fixed by",
            "fixed it by",
            "the fix is",
            "the fix was",
            "solved by",
            "the solution is",
            "works after",
            "it works once",
        ],
    ),
    (
        Category::Failure,
        &[
            "root cause",
            "failed because",
            "fails because",
            "does not work because",
            "broke because",
            "was caused by",
            "is caused by",
            "dead end",
        ],
    ),
    (
        Category::Pattern,
        &[
            "turned out",
            "turns out",
            "the trick is",
            "lesson:",
            "learned that",
            "always ",
            "never ",
            "must be ",
            "make sure",
            "note that",
            "remember to",
            "instead of ",
        ],
    ),
    (
        Category::Api,
        &[
            "the endpoint",
            "the api returns",
            "the api expects",
            "the api takes",
            "the header",
        ],
    ),
];

/// Characters of a sentence that is kept as a learning.
const SENTENCE: std::ops::RangeInclusive<usize> = 30..=400;
/// Learnings of one session.
const EXTRACTED_MAX: usize = 8;
/// How sure one is of a sentence that nobody marked as worth keeping.
const EXTRACTED_CONFIDENCE: f64 = 0.6;

/// The sentences of a session's texts that say what was learned in it, word for word, each with its
/// category (S58). No sentence is made up.
#[must_use]
pub fn learnings_of_session<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    session: &str,
    at: DateTime<Utc>,
) -> Vec<Learning> {
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    for sentence in texts.into_iter().flat_map(sentences) {
        if found.len() == EXTRACTED_MAX {
            break;
        }
        let Some(category) = category_of(sentence) else {
            continue;
        };
        if known.insert(sentence.to_lowercase()) {
            found.push(Learning {
                confidence: EXTRACTED_CONFIDENCE,
                source: Some(session.to_owned()),
                source_type: "session".to_owned(),
                metadata: Map::from_iter([("extracted".to_owned(), json!(true))]),
                ..Learning::new(sentence, category, at)
            });
        }
    }
    found
}

fn category_of(sentence: &str) -> Option<Category> {
    let length = sentence.chars().count();
    // A question, a wish and a list say nothing that was learned.
    let plain = SENTENCE.contains(&length) && !sentence.ends_with('?') && !sentence.contains("```");
    let lower = sentence.to_lowercase();
    let asks = [
        "can you",
        "could you",
        "please ",
        "let me",
        "i will",
        "i'll",
    ];
    if !plain || asks.iter().any(|ask| lower.starts_with(ask)) {
        return None;
    }
    let starts = |cue: &&str| {
        lower.match_indices(*cue).any(|(at, _)| {
            let before = lower
                .get(..at)
                .and_then(|before| before.chars().next_back());
            before.is_none_or(|c| !c.is_alphanumeric())
        })
    };
    let found = CUES.iter().find(|(_, cues)| cues.iter().any(starts));
    found.map(|(category, _)| *category)
}

/// The sentences of a text, without the marks of a list before them; code between fences is none.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let lines = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !is_fence && !in_code
    });
    lines.flat_map(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '#', '>', ' ']);
        line.split_inclusive(". ")
            .map(str::trim)
            .filter(|part| !part.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    fn now() -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 1, 20, 10, 0, 0).unwrap()
    }

    #[test]
    fn an_event_is_read_as_it_was_told_and_one_of_old_by_its_fact() {
        let mut learning = Learning::new("User model has email field", Category::Type, now());
        learning.goal = Some("forum".to_owned());
        let event = learning.event();
        assert_eq!(event["fact"], "User model has email field");
        assert_eq!(event["learning"].as_object().unwrap().len(), 9);
        assert_eq!(Learning::of_event(&event, None, now()), Some(learning));
        let old = Learning::of_event(&json!({"fact": "It has email"}), Some("forum"), now());
        let old = old.unwrap();
        assert_eq!(old.id, format!("legacy-{}", now().timestamp_millis()));
        assert_eq!(
            (
                old.category,
                old.confidence,
                old.source.as_deref(),
                old.source_type.as_str()
            ),
            (Category::Pattern, 0.8, None, "task")
        );
        assert_eq!(old.goal.as_deref(), Some("forum"));
        assert_eq!(Learning::of_event(&json!({}), None, now()), None);
        assert_eq!(SunwellStats::default().loaded(), None);
    }

    #[test]
    fn what_a_session_taught_is_taken_word_for_word() {
        let texts = [
            "Can you fix the login? It fails.",
            "I looked at it. The root cause was caused by a stale cookie in the session store. ok",
            "- Always clear the cookie jar between two logins of one test.\n```\nalways true here is \
             code\n```",
            "It turned out that the proxy strips the header, so that tokens are lost.",
            "Always clear the cookie jar between two logins of one test.",
            "I always wonder?",
        ];
        let found = learnings_of_session(texts, "s1", now());
        let told: Vec<(Category, &str)> = found
            .iter()
            .map(|one| (one.category, one.fact.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (
                    Category::Failure,
                    "The root cause was caused by a stale cookie in the session store."
                ),
                (
                    Category::Pattern,
                    "Always clear the cookie jar between two logins of one test."
                ),
                (
                    Category::Pattern,
                    "It turned out that the proxy strips the header, so that tokens are lost."
                ),
            ]
        );
        assert!(
            found
                .iter()
                .all(|one| texts.iter().any(|text| text.contains(&one.fact)))
        );
        assert_eq!(
            (found[0].source_type.as_str(), found[0].confidence),
            ("session", 0.6)
        );
    }
}
