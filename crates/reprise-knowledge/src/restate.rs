//! Updates the typed details of a record after its text was corrected.

use serde_json::{Map, Value, json};

use crate::lesson::LessonDetails;

/// Parses a corrected text back into the `details` of a lesson, decision or failure. Other types
/// take their words from the text.
pub fn restate_details(details: &mut Value, text: &str) {
    let Some(fields) = details.as_object_mut() else {
        return;
    };
    match fields.get("type").and_then(Value::as_str) {
        Some("lesson") => restate_lesson(details, text),
        Some("decision") => restate_decision(fields, text),
        Some("failure") => restate_failure(fields, text),
        _ => {}
    }
}

fn restate_lesson(details: &mut Value, text: &str) {
    let Ok(mut lesson) = serde_json::from_value::<LessonDetails>(details.clone()) else {
        return;
    };
    lesson.other.remove("type");
    let title = std::mem::take(&mut lesson.title);
    lesson.content = String::new();
    // The contexts and keywords are below the content.
    let below = lesson.to_text();
    let content = text.trim_end().strip_suffix(&below).unwrap_or(text).trim();
    let headed = content.strip_prefix(title.trim_end());
    let headed = headed.filter(|rest| !title.trim().is_empty() && rest.starts_with("\n\n"));
    if let Some(rest) = headed {
        (lesson.title, lesson.content) = (title, rest.trim().to_owned());
    } else {
        content.clone_into(&mut lesson.content);
    }
    *details = lesson.to_details();
}

fn restate_decision(fields: &mut Map<String, Value>, text: &str) {
    let (statement, rejected) = text.split_once("\nRejected: ").unwrap_or((text, ""));
    let (decision, because) = statement
        .split_once("\n\nBecause: ")
        .unwrap_or((statement, ""));
    fields.insert("decision".to_owned(), json!(decision.trim()));
    fields.insert("rationale".to_owned(), json!(because.trim()));
    let options = fields.get_mut("metadata").and_then(Value::as_object_mut);
    let options = options.and_then(|metadata| metadata.get_mut("rejected"));
    if let Some(Value::Array(options)) = options {
        options.retain(|option| {
            let option = option.as_str().or_else(|| option.get("option")?.as_str());
            option.is_some_and(|option| rejected.contains(option))
        });
    }
}

fn restate_failure(fields: &mut Map<String, Value>, text: &str) {
    let (statement, context) = text.split_once("\nContext: ").unwrap_or((text, ""));
    let statement = statement.trim();
    let statement = statement.strip_prefix("Avoid: ").unwrap_or(statement);
    let had_one = fields.get("fact") != fields.get("approach");
    let in_brackets = statement.strip_suffix(')').filter(|_| had_one);
    let in_brackets = in_brackets.and_then(|statement| statement.rsplit_once(" ("));
    let (approach, fact) = in_brackets.unwrap_or((statement, statement));
    for (name, text) in [("approach", approach), ("fact", fact), ("context", context)] {
        fields.insert(name.to_owned(), json!(text.trim()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sunwell::{SunwellDecision, SunwellFailure};

    fn restated(record: &reprise_types::NewRecord, text: &str) -> Value {
        let mut details = record.details.clone().unwrap();
        restate_details(&mut details, text);
        details
    }

    #[test]
    fn a_text_that_is_written_as_it_was_says_what_it_said() {
        let at = chrono::DateTime::UNIX_EPOCH;
        let mut decision = SunwellDecision::new("Keep it in SQLite", "one file", at);
        let rejected = json!({"rejected": [{"option": "JSON", "reason": "slow"}, "YAML"]});
        decision.metadata = rejected.as_object().cloned().unwrap();
        let mut failure = SunwellFailure::new("it hangs", "retry (twice) for ever", at);
        failure.context = "night runs".to_owned();
        let (decision, failure) = (decision.to_record(), failure.to_record());
        for record in [&decision, &failure] {
            assert_eq!(
                restated(record, &record.text),
                *record.details.as_ref().unwrap()
            );
        }
        let said = restated(&decision, "Use files\n\nBecause: simple\nRejected: YAML");
        assert_eq!(
            (&said["decision"], &said["rationale"]),
            (&json!("Use files"), &json!("simple"))
        );
        assert_eq!(said["metadata"]["rejected"], json!(["YAML"]));
        let said = restated(&failure, "Do not retry");
        let all = ["approach", "fact", "context"].map(|name| said[name].clone());
        assert_eq!(
            all,
            [json!("Do not retry"), json!("Do not retry"), json!("")]
        );
    }

    #[test]
    fn a_lesson_keeps_its_title_where_the_text_does() {
        let lesson = LessonDetails {
            title: "Pool".to_owned(),
            content: "Ten".to_owned(),
            contexts: vec!["checkout".to_owned()],
            ..LessonDetails::default()
        };
        let restated = |text: &str| {
            let mut details = lesson.to_details();
            restate_details(&mut details, text);
            [&details["title"], &details["content"]].map(|part| part.as_str().unwrap().to_owned())
        };
        assert_eq!(restated(&lesson.to_text()), ["Pool", "Ten"]);
        assert_eq!(restated("Pool\n\nTwenty"), ["Pool", "Twenty"]);
        assert_eq!(restated("Twenty"), ["", "Twenty"]);
    }
}
