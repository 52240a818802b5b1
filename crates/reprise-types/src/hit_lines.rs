//! Renders a result of a recall as lines, in the style of its reader, and the caption of a record:
//! what it is, who said it, where and when, and whether it still holds.

use chrono::{DateTime, Utc};
use serde::Deserialize as _;
use serde_json::Value;

use crate::calendar::Calendar;
use crate::id::RecordId;
use crate::kind::ConfidenceLevel;
use crate::quote::QuotedMemory;
use crate::record::MemoryRecord;
use crate::record_type::RecordByline;
use crate::time::parse_timestamp;

/// Longest name of a session that a caption has; a longer one is a number that tells nothing.
const SESSION_CHARS: usize = 24;

/// What a record is, who said it, where and when, and whether it still holds.
#[derive(Debug, Clone)]
pub struct RecordCaption {
    about: RecordByline,
    session: String,
    at: DateTime<Utc>,
    corrected_at: Option<DateTime<Utc>>,
    /// A newer record that contradicts it.
    newer: Option<RecordId>,
    /// The time of that record.
    held_until: Option<DateTime<Utc>>,
}

impl RecordCaption {
    pub fn of(record: &MemoryRecord, newer: Option<RecordId>) -> Self {
        Self {
            about: RecordByline::of(record),
            session: record.session_id.clone(),
            at: record.timestamp,
            corrected_at: record.made_as_correction_at(),
            newer,
            held_until: None,
        }
    }

    /// Adds the time of the record that contradicts it.
    #[must_use]
    pub fn with_held_until(self, held_until: Option<DateTime<Utc>>) -> Self {
        Self { held_until, ..self }
    }

    /// Reads the caption out of a record's line in an answer.
    pub fn from_answer_row(line: &Value) -> Option<Self> {
        let part = |name: &str| line[name].as_str();
        let time = |name: &str| parse_timestamp(part(name)?).ok();
        let is_correction = !line["supersedes"].is_null();
        let tags = line["tags"].as_array().into_iter().flatten();
        let about = RecordByline::deserialize(line).ok()?;
        Some(Self {
            about: about.with_project_from_tags(tags.filter_map(Value::as_str)),
            session: part("session_id").unwrap_or_default().to_owned(),
            at: time("timestamp").or_else(|| time("when"))?,
            corrected_at: time("corrected_at")
                .or_else(|| is_correction.then(|| time("known_at"))?),
            newer: part("newer").and_then(|id| id.parse().ok()),
            held_until: time("held_until"),
        })
    }

    /// Returns the caption with its age.
    pub fn to_words(&self, calendar: &Calendar) -> String {
        let age = [", ", &calendar.format_relative(self.at)].concat();
        [self.origin(), age, self.state(calendar)].concat()
    }

    /// Returns the caption without its age, so that it reads the same tomorrow.
    pub fn to_words_without_age(&self, calendar: &Calendar) -> String {
        self.origin() + &self.state(calendar)
    }

    /// Returns the caption for a reader who knows the project and to whom it must read the same
    /// tomorrow.
    pub fn to_words_in_project(&self, calendar: &Calendar) -> String {
        let about = RecordByline {
            project: None,
            ..self.about.clone()
        };
        about.to_string() + &self.state(calendar)
    }

    /// Returns the caption of a record below the heading of its session, without its age.
    pub fn to_words_below_session(&self, calendar: &Calendar) -> String {
        self.about.to_string() + &self.state(calendar)
    }

    /// Returns what it is and where it is from.
    fn origin(&self) -> String {
        let session = self.session.trim();
        let is_short = session.chars().count() <= SESSION_CHARS;
        let mut words = self.about.to_string();
        if self.about.project.is_none() && !session.is_empty() && is_short {
            words.push_str(&[" in session ", session].concat());
        }
        words
    }

    /// Returns whether it was corrected or contradicted.
    fn state(&self, calendar: &Calendar) -> String {
        let state = describe_state(self.corrected_at, self.newer, self.held_until, calendar);
        state.iter().flat_map(|part| ["; ", part]).collect()
    }
}

/// Returns in words whether a record was corrected or contradicted, and when.
pub fn describe_state(
    corrected_at: Option<DateTime<Utc>>,
    newer: Option<RecordId>,
    held_until: Option<DateTime<Utc>>,
    calendar: &Calendar,
) -> Vec<String> {
    let day = |words: &str, at| format!("{words} {}", calendar.day_of(at));
    let corrected = corrected_at.map(|at| day("corrected on", at));
    let until = held_until.map(|at| day("held until", at));
    let newer = newer.map(|newer| format!("newer: {newer}"));
    [corrected, until, newer].into_iter().flatten().collect()
}

/// A result as a reader is to see it: what is known of it, and as much of its text as there is
/// room for.
#[derive(Debug, Clone, PartialEq)]
pub struct HitView {
    pub id: RecordId,
    pub at: DateTime<Utc>,
    /// What it is, who said it and when, and whether it still holds.
    pub caption: String,
    /// What precedes its text, such as `Open: `.
    pub mark: &'static str,
    /// Relevance after learning, 0..1.
    pub score: f32,
    /// Who published it; empty for the user's own.
    pub published: String,
    pub confidence: Option<ConfidenceLevel>,
    /// Why it is here.
    pub reason: String,
    /// That its lesson does not apply here.
    pub warning: String,
    /// Where its lesson applies.
    pub contexts: Vec<String>,
    /// Where not.
    pub anti_contexts: Vec<String>,
    /// The ground of its lesson, for a person.
    pub evidence: String,
    /// A title above the part of its text that matched, for a person.
    pub title: String,
    /// Its first line, or the part that matched.
    pub text: String,
    /// What follows below what is known of it.
    pub body: String,
    /// What a person is told besides, such as its id.
    pub facts: Vec<String>,
}

impl HitView {
    /// Creates the view of a record of which nothing is known but its caption and a text.
    pub fn new(id: RecordId, at: DateTime<Utc>, caption: String, text: String) -> Self {
        Self {
            id,
            at,
            caption,
            text,
            mark: "",
            score: 0.0,
            published: String::new(),
            confidence: None,
            reason: String::new(),
            warning: String::new(),
            contexts: Vec::new(),
            anti_contexts: Vec::new(),
            evidence: String::new(),
            title: String::new(),
            body: String::new(),
            facts: Vec::new(),
        }
    }
}

/// Who reads a result, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitStyle {
    /// A prompt that is filled within a budget: a line below the heading of its session.
    Prompt,
    /// A prompt that a hook adds to: a line that reads the same tomorrow.
    Hook,
    /// A caller of a tool, who gets all of it.
    ToolWhole,
    /// A caller of a tool, who gets its first line and where it applies.
    ToolHolding,
    /// A caller of a tool, who gets its first line, and a warning if it does not apply.
    ToolLine,
    /// A person at a terminal.
    Terminal,
    /// A person at a terminal, about a result that is only related.
    TerminalLine,
}

/// What a line of a result says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitPart {
    Text,
    Body,
    Warning,
    /// Where a lesson applies, and its ground.
    Lesson,
    Fact,
    Reason,
}

/// A line of a result: words of the program, then words of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitLine {
    pub part: HitPart,
    pub label: String,
    pub text: String,
}

/// Renders a result. Its parts come in one order for every reader.
pub fn render_hit(hit: &HitView, style: HitStyle) -> Vec<HitLine> {
    let person = style == HitStyle::Terminal;
    let line = |part, label: &str, text: &str| HitLine {
        part,
        label: label.to_owned(),
        text: text.to_owned(),
    };
    let title = Some(hit.title.as_str()).filter(|title| person && !title.is_empty());
    let title = title.map(|title| line(HitPart::Text, "", title));
    let mut lines: Vec<HitLine> = title.into_iter().collect();
    lines.push(line(HitPart::Text, &format_label(hit, style), &hit.text));
    let mut add = |part, label: &str, text: &str| {
        if !text.is_empty() {
            lines.push(line(part, label, text));
        }
    };
    if matches!(
        style,
        HitStyle::Prompt | HitStyle::Hook | HitStyle::TerminalLine
    ) {
        return lines;
    }
    let [warning, why, holds, fails, below] = if person {
        ["WARNING: ", "why: ", "Context: ", "Not for: ", ""]
    } else {
        [
            "  WARNING: ",
            "  why: ",
            "  holds for: ",
            "  NOT for: ",
            "  ",
        ]
    };
    add(HitPart::Warning, warning, &hit.warning);
    if style == HitStyle::ToolLine {
        return lines;
    }
    if style == HitStyle::ToolWhole {
        add(HitPart::Reason, why, &hit.reason);
    }
    add(HitPart::Lesson, holds, &hit.contexts.join("; "));
    add(HitPart::Lesson, fails, &hit.anti_contexts.join("; "));
    if person {
        add(HitPart::Lesson, "Source: ", &hit.evidence);
    }
    add(HitPart::Body, below, &hit.body);
    if person {
        for fact in &hit.facts {
            add(HitPart::Fact, "", fact);
        }
        add(HitPart::Reason, why, &hit.reason);
    }
    lines
}

/// Returns what precedes the text of a result.
fn format_label(hit: &HitView, style: HitStyle) -> String {
    let HitView { id, caption, .. } = hit;
    let day = hit.at.format("%Y-%m-%d");
    match style {
        HitStyle::Prompt => {
            let minute = hit.at.format("%Y-%m-%d %H:%M");
            let further = [&hit.published, &hit.reason].into_iter();
            let further = further.filter(|part| !part.is_empty());
            let further: String = further.flat_map(|part| ["; ", part.as_str()]).collect();
            format!("- {minute} [{id}; {caption}{further}] ")
        }
        HitStyle::Hook => format!("- [{day}, {id}] ({caption}) {}", hit.mark),
        HitStyle::ToolWhole | HitStyle::ToolHolding | HitStyle::ToolLine => {
            let level = hit.confidence.map(|level| level.name().replace('_', "-"));
            let level = level.map_or_else(String::new, |level| format!("[{level}] "));
            let by = match hit.published.as_str() {
                "" => String::new(),
                by => [" ", by].concat(),
            };
            format!("- {day} {:.2}{by} [{id}] ({caption}) {level}", hit.score)
        }
        HitStyle::Terminal => String::new(),
        HitStyle::TerminalLine => [caption, ": "].concat(),
    }
}

impl QuotedMemory {
    /// Adds the lines of a result.
    pub fn add_hit(&mut self, hit: &HitView, style: HitStyle) {
        for line in render_hit(hit, style) {
            self.add_line(&line.label, &line.text);
        }
    }
}

#[cfg(test)]
mod tests;
