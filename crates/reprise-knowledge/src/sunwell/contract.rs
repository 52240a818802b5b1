//! What Sunwell's other programs read: the types of the views, `index.json`, and the events of
//! memory.

use super::{Category, Learning, SOURCE_TYPES, SunwellMemory, SunwellStats, object, said};
use crate::prelude::*;

/// The TypeScript types of every view, made of the schemas of the disk and of the views (S2).
pub const TYPESCRIPT: &str = include_str!("../../schemas/views.d.ts");

impl SunwellMemory {
    /// `index.json`: RFC-065's keys, and beside them the block that Studio reads (S31, C22).
    pub fn index(&self) -> Value {
        let categories = Category::ALL.iter();
        let categories = categories.map(|category| category.name().to_uppercase());
        let mut index = self.memory_stats(None, None);
        index["version"] = json!("1.0");
        index["stats"] = json!(self.stats());
        index["categories"] = categories.collect();
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

    /// The learning of such an event; the error is a sentence about it. One of old has only its
    /// fact: it becomes a pattern of default confidence with the goal that is being worked on
    /// (S56).
    pub fn of_event(event: &Value, goal: Option<&str>, now: DateTime<Utc>) -> Result<Self, String> {
        let Some(told) = event.get("learning").and_then(Value::as_object) else {
            let fact = said(event.as_object().ok_or("the event is no object")?, "fact");
            let fact = fact.ok_or("the event has neither `learning` nor `fact`")?;
            let mut learning = Self::new(fact, Category::Pattern, now);
            learning.id = format!("legacy-{}", now.timestamp_millis());
            learning.goal = goal.map(str::to_owned);
            return Ok(learning);
        };
        // Other languages spell the keys their own way (C21).
        let either = |disk: &str, studio: &str| said(told, disk).or_else(|| said(told, studio));
        let fact = said(told, "fact").ok_or("the event's `learning` has no `fact`")?;
        let word = said(told, "category").ok_or("the event's `learning` has no `category`")?;
        let made = Self::new(fact, category_of(&word)?, now);
        let created_at = either("created_at", "createdAt");
        if let Some(at) = &created_at {
            DateTime::parse_from_rfc3339(at).map_err(|_| {
                format!("its `created_at` is `{at}`; write it as in 2026-01-20T10:00:00Z")
            })?;
        }
        let source_type = either("source_type", "sourceType");
        Ok(Self {
            id: said(told, "id").unwrap_or(made.id),
            confidence: sure(told.get("confidence"))?.unwrap_or(made.confidence),
            source: said(told, "source"),
            source_type: one_of("source type", source_type, &SOURCE_TYPES)?
                .unwrap_or(made.source_type),
            created_at: created_at.unwrap_or(made.created_at),
            goal: said(told, "goal"),
            metadata: object(told, "metadata"),
            fact: made.fact,
            category: made.category,
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

/// The category of a word, or a sentence (S13).
pub(crate) fn category_of(word: &str) -> Result<Category, String> {
    Category::nearest(word).map_or_else(|| word.parse(), Ok)
}

/// A word of a closed list, or a sentence (S11, S15).
pub fn one_of(what: &str, word: Option<String>, known: &[&str]) -> Result<Option<String>, String> {
    match word {
        Some(word) if !known.contains(&word.as_str()) => {
            let known = known.join(", ");
            Err(format!("`{word}` is no {what}; use one of {known}"))
        }
        word => Ok(word),
    }
}

/// A confidence in its range, or a sentence.
fn sure(value: Option<&Value>) -> Result<Option<f64>, String> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    match value.as_f64() {
        Some(sure) if (0.0..=1.0).contains(&sure) => Ok(Some(sure)),
        _ => Err(format!("its `confidence` is {value}; it goes from 0 to 1")),
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
        assert_eq!(Learning::of_event(&event, None, now()), Ok(learning));
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
        assert_eq!(SunwellStats::default().loaded(), None);
        for (changed, why) in [
            (json!({"source_type": "gossip"}), "no source type"),
            (
                json!({"sourceType": "gossip", "source_type": null}),
                "no source type",
            ),
            (json!({"category": "gossip"}), "no category"),
            (json!({"created_at": "soon"}), "2026-01-20T10:00:00Z"),
            (json!({"confidence": 7}), "0 to 1"),
            (json!({"fact": null}), "no `fact`"),
        ] {
            let mut bad = event.clone();
            for (name, value) in changed.as_object().unwrap() {
                bad["learning"][name] = value.clone();
            }
            let said = Learning::of_event(&bad, None, now()).unwrap_err();
            assert!(said.contains(why), "{changed}: {said}");
        }
        let said = Learning::of_event(&json!({}), None, now()).unwrap_err();
        assert!(said.contains("neither"), "{said}");
    }
}
