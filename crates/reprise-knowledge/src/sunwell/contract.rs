//! What Sunwell's other programs read: the three schemas, `index.json`, and the events of memory.

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
    pub fn loaded(&self) -> Option<Map<String, Value>> {
        let told = json!(self);
        (self.total > 0).then(|| told.as_object().cloned().unwrap_or_default())
    }
}

impl Learning {
    /// The event of what was learned, `fact` beside it for readers of old (S54).
    pub fn event(&self) -> Map<String, Value> {
        Map::from_iter([
            ("learning".to_owned(), json!(self)),
            ("fact".to_owned(), json!(self.fact)),
        ])
    }

    /// The learning of such an event. One of old has only its fact: it becomes a pattern of default
    /// confidence with the goal that is being worked on (S56). `None` where there is no fact.
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
    pub fn foreign(record: &MemoryRecord) -> Self {
        let mut learning = Self::new(record.text.clone(), Category::Pattern, record.timestamp);
        learning.confidence = record.confidence.map_or(learning.confidence, exact);
        learning
    }
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
        let event = Value::Object(learning.event());
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
}
