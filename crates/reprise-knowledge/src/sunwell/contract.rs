//! Data that Sunwell's other programs read: the types of the views, `index.json`, and the events of
//! memory.

use super::{
    LearningCategory, SOURCE_TYPES, SunwellLearning, SunwellMemory, SunwellStats, object_field,
    text_field,
};
use crate::prelude::*;

/// The TypeScript types of every view, generated from the schemas of the disk and of the views.
pub const TYPESCRIPT: &str = include_str!("../../schemas/views.d.ts");

impl SunwellMemory {
    /// Renders `index.json`: RFC-065's keys, and the block that Studio reads.
    pub fn render_index(&self) -> Value {
        let categories = LearningCategory::ALL.iter();
        let categories = categories.map(|category| category.name().to_uppercase());
        let mut index = self.render_memory_stats(None, None);
        index["version"] = json!("1.0");
        index["stats"] = json!(self.count_learnings());
        index["categories"] = categories.collect();
        index
    }
}

impl SunwellStats {
    /// Builds the event of an opened memory; `None` if it is empty.
    pub fn to_loaded_event(&self) -> Option<Map<String, Value>> {
        let stats = json!(self);
        (self.total > 0).then(|| stats.as_object().cloned().unwrap_or_default())
    }
}

impl SunwellLearning {
    /// Builds the event of a new learning, with a copy of `fact` for old readers.
    pub fn to_event(&self) -> Map<String, Value> {
        Map::from_iter([
            ("learning".to_owned(), json!(self)),
            ("fact".to_owned(), json!(self.fact)),
        ])
    }

    /// Parses the learning of such an event; the error is a sentence. An old event has only a fact:
    /// it becomes a pattern of default confidence with the current `goal`.
    pub fn from_event(
        event: &Value,
        goal: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Self, String> {
        let Some(fields) = event.get("learning").and_then(Value::as_object) else {
            let fact = text_field(
                event.as_object().ok_or("the event is not an object")?,
                "fact",
            );
            let fact = fact.ok_or("the event has neither `learning` nor `fact`")?;
            let mut learning = Self::new(fact, LearningCategory::Pattern, now);
            learning.id = format!("legacy-{}", now.timestamp_millis());
            learning.goal = goal.map(str::to_owned);
            return Ok(learning);
        };
        // Programs in other languages write the keys in camel case.
        let either = |disk: &str, studio: &str| {
            text_field(fields, disk).or_else(|| text_field(fields, studio))
        };
        let fact = text_field(fields, "fact").ok_or("the event's `learning` has no `fact`")?;
        let word =
            text_field(fields, "category").ok_or("the event's `learning` has no `category`")?;
        let made = Self::new(fact, parse_category(&word)?, now);
        let created_at = either("created_at", "createdAt");
        if let Some(at) = &created_at {
            DateTime::parse_from_rfc3339(at).map_err(|_| {
                format!("its `created_at` is `{at}`; write it as in 2026-01-20T10:00:00Z")
            })?;
        }
        let source_type = either("source_type", "sourceType");
        Ok(Self {
            id: text_field(fields, "id").unwrap_or(made.id),
            confidence: parse_confidence(fields.get("confidence"))?.unwrap_or(made.confidence),
            source: text_field(fields, "source"),
            source_type: check_word("source type", source_type, &SOURCE_TYPES)?
                .unwrap_or(made.source_type),
            created_at: created_at.unwrap_or(made.created_at),
            goal: text_field(fields, "goal"),
            metadata: object_field(fields, "metadata"),
            fact: made.fact,
            category: made.category,
        })
    }

    /// Converts a record of any other type to a learning of category `pattern`.
    pub fn from_foreign(record: &MemoryRecord) -> Self {
        let mut learning = Self::new(
            record.text.clone(),
            LearningCategory::Pattern,
            record.timestamp,
        );
        learning.confidence = record
            .confidence
            .map_or(learning.confidence, to_exact_decimal);
        learning
    }
}

/// Parses a category; the error is a sentence.
pub(crate) fn parse_category(word: &str) -> Result<LearningCategory, String> {
    LearningCategory::parse_nearest(word).map_or_else(|| word.parse(), Ok)
}

/// Checks that a word is in a closed list; the error is a sentence.
pub fn check_word(
    what: &str,
    word: Option<String>,
    known: &[&str],
) -> Result<Option<String>, String> {
    match word {
        Some(word) if !known.contains(&word.as_str()) => {
            let known = known.join(", ");
            Err(format!("unknown {what} `{word}`; use one of {known}"))
        }
        word => Ok(word),
    }
}

/// Parses a confidence, 0..1; the error is a sentence.
fn parse_confidence(value: Option<&Value>) -> Result<Option<f64>, String> {
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
        let mut learning =
            SunwellLearning::new("User model has email field", LearningCategory::Type, now());
        learning.goal = Some("forum".to_owned());
        let event = Value::Object(learning.to_event());
        assert_eq!(event["fact"], "User model has email field");
        assert_eq!(event["learning"].as_object().unwrap().len(), 9);
        assert_eq!(
            SunwellLearning::from_event(&event, None, now()),
            Ok(learning)
        );
        let old =
            SunwellLearning::from_event(&json!({"fact": "It has email"}), Some("forum"), now());
        let old = old.unwrap();
        assert_eq!(old.id, format!("legacy-{}", now().timestamp_millis()));
        assert_eq!(
            (
                old.category,
                old.confidence,
                old.source.as_deref(),
                old.source_type.as_str()
            ),
            (LearningCategory::Pattern, 0.8, None, "task")
        );
        assert_eq!(old.goal.as_deref(), Some("forum"));
        assert_eq!(SunwellStats::default().to_loaded_event(), None);
        for (changed, why) in [
            (json!({"source_type": "gossip"}), "unknown source type"),
            (
                json!({"sourceType": "gossip", "source_type": null}),
                "unknown source type",
            ),
            (json!({"category": "gossip"}), "unknown category"),
            (json!({"created_at": "soon"}), "2026-01-20T10:00:00Z"),
            (json!({"confidence": 7}), "0 to 1"),
            (json!({"fact": null}), "no `fact`"),
        ] {
            let mut bad = event.clone();
            for (name, value) in changed.as_object().unwrap() {
                bad["learning"][name] = value.clone();
            }
            let said = SunwellLearning::from_event(&bad, None, now()).unwrap_err();
            assert!(said.contains(why), "{changed}: {said}");
        }
        let said = SunwellLearning::from_event(&json!({}), None, now()).unwrap_err();
        assert!(said.contains("neither"), "{said}");
    }
}
