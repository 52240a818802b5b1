//! The text of a record as a person edits it: the title and content of a lesson, and the summary of
//! a session without the line about its result. Also the buttons of such a form.

use reprise_types::{MemorySource, OutcomeSummary};

use crate::prelude::*;

/// Renders the save button and the cancel link of a form.
pub(super) fn render_save_buttons(label: &str, path: &str) -> Markup {
    html! {
        div class="acts" {
            button class="first" { (label) }
            a class="button" href=(path) data-cancel { "Cancel" }
        }
    }
}

/// The editable text of a record: title and content of a lesson, of any other the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wording {
    /// The title of a lesson.
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// The line about the result in the summary of a session, which nobody edits.
    pub(super) result: Option<String>,
}

/// Splits the text of a session's summary into what it tells and the line about its result.
pub(super) fn split_result(record: &MemoryRecord) -> (String, Option<String>) {
    let lines = record.text.split_once('\n');
    let is_summary = record.source == MemorySource::TrajectoryOutcome;
    let Some((task, rest)) = lines.filter(|_| is_summary) else {
        return (record.text.clone(), None);
    };
    let (result, steps) = rest.split_once('\n').unwrap_or((rest, ""));
    if !OutcomeSummary::is_formatted_in(result) {
        return (record.text.clone(), None);
    }
    let text = if steps.is_empty() {
        task.to_owned()
    } else {
        format!("{task}\n{steps}")
    };
    (text, Some(result.to_owned()))
}

/// Puts the line about the result back after the first line of a session's summary.
pub(super) fn with_result(text: &str, result: Option<&str>) -> String {
    match (result, text.split_once('\n')) {
        (None, _) => text.to_owned(),
        (Some(result), None) => format!("{text}\n{result}"),
        (Some(result), Some((task, steps))) => format!("{task}\n{result}\n{steps}"),
    }
}

impl Wording {
    pub(super) fn of(record: &MemoryRecord) -> Self {
        let details = record.details.as_ref();
        let part = |name| Some(details?.get(name)?.as_str()?.to_owned());
        let (text, result) = split_result(record);
        let plain = Self {
            title: None,
            text,
            result,
        };
        if part("type").as_deref() != Some("lesson") {
            return plain;
        }
        let title = Some(part("title").unwrap_or_default());
        let text = part("content").unwrap_or_default();
        let result = None;
        Self {
            title,
            text,
            result,
        }
    }
}

#[cfg(test)]
mod tests {
    use reprise_types::RecordBody;

    use super::*;

    #[test]
    fn the_result_of_a_session_is_a_badge_and_no_part_of_the_text_to_edit() {
        let summary = |text: &str, source| {
            let body = RecordBody::new(text, source, MemoryKind::Strategy);
            let record = body.into_record(RecordId::from_parts(1, 1), DateTime::UNIX_EPOCH);
            Wording::of(&record)
        };
        let stored = "Rotate the key\nworked well (.8), once\n1. Made a new one";
        let wording = summary(stored, MemorySource::TrajectoryOutcome);
        assert_eq!(wording.text, "Rotate the key\n1. Made a new one");
        let result = wording.result.as_deref();
        assert_eq!(result, Some("worked well (.8), once"));
        assert_eq!(with_result(&wording.text, result), stored);
        assert_eq!(
            with_result("Rotate", result),
            "Rotate\nworked well (.8), once"
        );
        let noted = summary(stored, MemorySource::UserInput);
        assert_eq!((noted.text.as_str(), noted.result), (stored, None));
    }
}
