//! Records as every room lists them: one line a record, in groups.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use maud::{Markup, html};
use reprise_types::{About, Calendar, MemoryRecord, RecordId, RecordType, Retention};
use serde_json::Value;

use crate::door::Visit;
use crate::pairs::{self, encoded};
use crate::shell::{form, icon};
use crate::{text, words};

/// Records of a page.
pub(crate) const PAGE: usize = 50;
const TITLE_CHARS: usize = 160;
/// Characters of a text that is opened in its place.
const MORE_CHARS: usize = 600;

/// How a row says when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// The hour: its day stands above it.
    Clock,
    Ago,
}

/// Its title, else its first line.
pub(crate) fn title(record: &MemoryRecord) -> &str {
    let own = || record.details.as_ref()?.get("title")?.as_str();
    let own = own().filter(|title| !title.trim().is_empty());
    let first = || record.text.lines().find(|line| !line.trim().is_empty());
    own.or_else(first).unwrap_or("(empty)")
}

/// Where a record has its page.
pub(crate) fn path(record: &MemoryRecord) -> String {
    format!("/records/{}", record.id)
}

/// One line of a list, which keys and the palette act on.
pub(crate) fn row(record: &MemoryRecord, when: When, calendar: &Calendar) -> Markup {
    let about = About::of(record);
    let title = title(record);
    // What the line says already is not said again below it.
    let whole = record.text.trim();
    let rest = whole.strip_prefix(title.trim()).map_or(whole, str::trim);
    let more: String = rest.chars().take(MORE_CHARS).collect();
    html! {
        li class="row" data-record=(record.id) {
            input type="checkbox" name="id" value=(record.id) form="many"
                aria-label="Select this record";
            (kind_icon(record))
            span class=(kind_class(record)) { (about.record_type.name()) }
            a class="x" href=(path(record)) { (text::line(title, TITLE_CHARS)) }
            span class="w" {
                @if record.retention == Retention::Pinned { (icon("pin")) }
                @if record.visibility != reprise_types::Visibility::Private {
                    span class="chip" { (record.visibility.name()) }
                }
                @if let Some(project) = &about.project {
                    span class="project" { (text::line(project, 24)) }
                }
                time datetime=(record.timestamp.to_rfc3339())
                    title=(words::at(record.timestamp, calendar)) {
                    (match when {
                        When::Clock => calendar.clock_of(record.timestamp),
                        When::Ago => calendar.ago(record.timestamp),
                    })
                }
            }
            @if !more.is_empty() { div class="more" hidden { (text::whole(&more)) } }
        }
    }
}

/// A line that names something elsewhere: a linked record, what followed a prompt.
pub(crate) fn named(id: RecordId, says: &str, title: &str, more: &str) -> Markup {
    html! {
        li class="row" data-record=(id) {
            span {} (icon("note"))
            span class="k" { (text::line(says, 40)) }
            a class="x" href=(format!("/records/{id}")) { (text::line(title, TITLE_CHARS)) }
            span class="w" { (more) }
        }
    }
}

fn kind_class(record: &MemoryRecord) -> String {
    match category(record).and_then(category_class) {
        Some(class) => format!("k category {class}"),
        None => "k".to_owned(),
    }
}

/// The picture of what a record is, in its colour; of a test also how it ended.
pub(crate) fn kind_icon(record: &MemoryRecord) -> Markup {
    let kind = record.record_type();
    if kind == RecordType::Test && test_passed(record) == Some(false) {
        return html! { span class="test bad" { (icon("test-bad")) } };
    }
    html! { span class=(kind.name()) { (icon(kind.name())) } }
}

/// How a run of tests ended, as its details or its text say.
pub(crate) fn test_passed(record: &MemoryRecord) -> Option<bool> {
    if record.record_type() != RecordType::Test {
        return None;
    }
    let details = record.details.as_ref();
    let said = |key: &str| details.and_then(|it| it.get(key));
    let ended = said("passed").and_then(Value::as_bool);
    let code = || Some(said("exit_code")?.as_i64()? == 0);
    let quality = || Some(record.quality_score? >= 0.5);
    let text = || record.text.to_lowercase();
    let words = || match text() {
        text if text.contains(" 0 failed") => Some(true),
        text if text.contains("fail") => Some(false),
        text if text.contains("pass") || text.contains("ok") => Some(true),
        _ => None,
    };
    ended.or_else(code).or_else(quality).or_else(words)
}

/// What typed knowledge calls itself: its category, else its type.
fn category(record: &MemoryRecord) -> Option<&str> {
    let details = record.details.as_ref()?;
    let named = details.get("category").or_else(|| details.get("type"))?;
    named.as_str()
}

/// The colours of S60, by class.
fn category_class(category: &str) -> Option<String> {
    const COLOURED: [&str; 7] = [
        "task_completion",
        "pattern",
        "type",
        "api",
        "fix",
        "decision",
        "failure",
    ];
    let known = match category {
        "dead_end" => Some("failure"),
        other => COLOURED.into_iter().find(|one| *one == other),
    };
    known.map(|known| format!("category-{known}"))
}

/// What the fields of a filter complete from: the sessions and the people of records.
pub(crate) fn known<'a>(records: impl Iterator<Item = &'a MemoryRecord>) -> Markup {
    let (mut sessions, mut people) = (BTreeSet::new(), BTreeSet::new());
    for record in records {
        sessions.insert(record.session_id.clone());
        people.extend(About::of(record).by);
    }
    sessions.remove("");
    html! {
        (pairs::known("session", sessions.into_iter()))
        (pairs::known("author", people.into_iter()))
    }
}

/// Records one after the other that belong to one session of one day.
pub(crate) struct Group<'a> {
    pub(crate) day: NaiveDate,
    pub(crate) session: &'a str,
    pub(crate) records: Vec<&'a MemoryRecord>,
}

impl Group<'_> {
    /// The first prompt that is among its records.
    pub(crate) fn prompt(&self) -> Option<&str> {
        let mut oldest = self.records.iter().rev();
        let found = oldest.find(|record| record.record_type() == RecordType::Prompt);
        found.map(|record| title(record))
    }

    pub(crate) fn name(&self) -> &str {
        match (self.prompt(), self.session) {
            (Some(prompt), _) => prompt,
            (None, "") => "Without a session",
            (None, session) => session,
        }
    }
}

/// The records, newest first, by day and session: `apart` keeps parts of one session that others
/// come between apart, as a timeline does.
pub(crate) fn groups<'a>(
    records: &'a [MemoryRecord],
    calendar: &Calendar,
    apart: bool,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for record in records {
        let day = calendar.day_of(record.timestamp);
        let session = record.session_id.as_str();
        let is_its = |group: &&mut Group<'_>| group.day == day && group.session == session;
        let found = if apart {
            groups.last_mut().filter(is_its)
        } else {
            groups.iter_mut().find(is_its)
        };
        match found {
            Some(group) => group.records.push(record),
            None => groups.push(Group {
                day,
                session,
                records: vec![record],
            }),
        }
    }
    groups
}

/// The head of a group: its name, which leads to all of it, and what is said of it.
pub(crate) fn head(group: &Group<'_>, name: &str, says: &str, more: &Markup) -> Markup {
    html! {
        li class="grouping" {
            h3 {
                @if group.session.is_empty() { (text::line(name, 120)) }
                @else {
                    a href=(format!("/timeline?session={}", encoded(group.session))) {
                        (text::line(name, 120))
                    }
                }
            }
            small { (says) }
            (more)
        }
    }
}

/// The day of a heading, as a reader says it.
pub(crate) fn day(day: NaiveDate, calendar: &Calendar) -> String {
    let today = calendar.today();
    if day == today {
        "Today".to_owned()
    } else if Some(day) == today.pred_opt() {
        "Yesterday".to_owned()
    } else {
        day.format("%A, %-d %B %Y").to_string()
    }
}

/// A list with what can be done to those that are selected.
pub(crate) fn list(visit: &Visit, rows: &Markup) -> Markup {
    html! {
        div class="list" data-list {
            (rows)
            @if !visit.read_only {
                form id="many" class="many" method="post" action="/many" {
                    (crate::shell::token(visit))
                    label { "Tag them" input name="tag" maxlength="100" autocomplete="off"; }
                    button name="act" value="tag" data-command="Tag the selected records" { "Tag" }
                    button class="danger" name="act" value="forget"
                        data-command="Forget the selected records" { "Forget\u{2026}" }
                    button type="reset" class="quiet" { "Clear" }
                }
            }
        }
    }
}

/// A reader's word on a result: whether it helped.
pub(crate) fn judge(visit: &Visit, fields: &[(&str, &str)]) -> Markup {
    form(
        visit,
        "/search/judge",
        &html! {
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button class="quiet" name="helped" value="yes" data-command="Helpful" { "Helpful" }
            button class="quiet" name="helped" value="no" data-command="Not helpful" {
                "Not helpful"
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_category_has_its_colour() {
        let style = include_str!("../assets/page.css");
        for (category, colour) in [
            ("task_completion", "#34d399"),
            ("pattern", "#a78bfa"),
            ("type", "#60a5fa"),
            ("api", "#fbbf24"),
            ("fix", "#34d399"),
            ("decision", "#c9a227"),
            ("failure", "#f87171"),
        ] {
            let named = category_class(category).unwrap();
            let rule = format!(".{named}::before {{ background: {colour}; }}");
            assert!(style.contains(&rule), "{rule}");
        }
        assert_eq!(category_class("dead_end"), category_class("failure"));
        assert_eq!(category_class("\" onload=x"), None);
    }
}
