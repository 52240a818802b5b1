//! Records as every room lists them: one line a record, in groups.

use std::collections::{BTreeSet, HashSet};

use chrono::{Datelike as _, NaiveDate};

use crate::prelude::*;

/// Records of a page.
pub(crate) const PAGE: usize = 50;
const TITLE_CHARS: usize = 160;
/// Characters of a text that is opened in its place.
const MORE_CHARS: usize = 600;
/// Records of a screen, and the headings that leave them room there.
const SCREEN: usize = 18;
const HEADINGS_MAX: usize = 7;
/// Records from which a session of a day has a heading of its own.
const HEADED_MIN: usize = 4;

/// How a row says when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// The hour: its day stands above it.
    Clock,
    Ago,
    /// The day: nothing stands above it.
    Day,
}

/// What rows say beside what their record does.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) calendar: Calendar,
    /// Records of which others can find something.
    pub(crate) published: HashSet<RecordId>,
}

impl Known {
    pub(crate) async fn of(visit: &Visit) -> Answer<Self> {
        let published = visit.memory().published_records().await;
        Ok(Self {
            calendar: visit.page.calendar(),
            published: found(published.map_err(Into::into))?.unwrap_or_default(),
        })
    }
}

/// Its title, else its first line. A piece of a note has the title of the whole note, and says
/// first which piece it is.
pub(crate) fn title(record: &MemoryRecord) -> &str {
    let said = |key: &str| record.details.as_ref()?.get(key)?.as_str();
    let is_piece = said("type").is_some_and(|kind| kind.starts_with("note_"));
    let own = said("title").filter(|_| !is_piece);
    let own = own.filter(|title| !title.trim().is_empty());
    let first = || record.text.lines().find(|line| !line.trim().is_empty());
    own.or_else(first).unwrap_or("(empty)")
}

/// Where a record has its page.
pub(crate) fn path(record: &MemoryRecord) -> String {
    format!("/records/{}", record.id)
}

/// One line of a list, which keys and the palette act on; `aside` stands on its right side.
pub(crate) fn row(record: &MemoryRecord, when: When, known: &Known, aside: &Markup) -> Markup {
    let calendar = &known.calendar;
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
            span class=(kind_class(record)) title=[dot_says(record)] { (about.record_type.name()) }
            a class="x" href=(path(record)) { (text::line(title, TITLE_CHARS)) }
            span class="w" {
                @if record.retention == Retention::Pinned { (icon("pin")) }
                @if known.published.contains(&record.id) {
                    span class="chip good" { "published" }
                } @else if record.visibility != Visibility::Private {
                    span class="chip" { (record.visibility.name()) }
                }
                (aside)
                @if let Some(project) = &about.project {
                    span class="project" { (text::line(project, 24)) }
                }
                time datetime=(record.timestamp.to_rfc3339())
                    title=(calendar.minute_of(record.timestamp)) {
                    (match when {
                        When::Clock => calendar.clock_of(record.timestamp),
                        When::Ago => calendar.ago(record.timestamp),
                        When::Day => day_of(calendar.day_of(record.timestamp), calendar),
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

/// What the dot before a kind stands for.
fn dot_says(record: &MemoryRecord) -> Option<String> {
    let category = category(record).filter(|category| category_class(category).is_some());
    category.map(|category| format!("The dot is the colour of its category, {category}"))
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

/// A group as a list shows it.
pub(crate) struct Told<'a> {
    pub(crate) group: &'a Group<'a>,
    pub(crate) name: &'a str,
    pub(crate) says: String,
    /// At the right end of its heading.
    pub(crate) end: Markup,
    pub(crate) records: Vec<&'a MemoryRecord>,
}

impl<'a> Told<'a> {
    /// All of a group; where that may have more than the list, it says how many are shown.
    pub(crate) fn all(group: &'a Group<'a>, is_whole: bool) -> Self {
        let count = group.records.len();
        Self {
            group,
            name: group.name(),
            says: if is_whole {
                text::of(count, "record", "records")
            } else {
                format!("{count} shown")
            },
            end: html! {},
            records: group.records.clone(),
        }
    }

    fn is_headed(&self) -> bool {
        !self.group.session.is_empty() && self.group.records.len() >= HEADED_MIN
    }

    fn path(&self) -> String {
        format!("/timeline?session={}", encoded(self.group.session))
    }
}

/// Groups one below the other. Days and longer sessions have headings; where so few records have
/// one in common that headings would take the records' place, each row has its day and session.
pub(crate) fn by_day(all: &[Told<'_>], known: &Known) -> Markup {
    let is_new = |place: usize| {
        let before = place.checked_sub(1).and_then(|before| all.get(before));
        before.is_none_or(|before| before.group.day != all[place].group.day)
    };
    let (mut records, mut headings) = (0, 0);
    for (place, told) in all.iter().enumerate() {
        if records >= SCREEN {
            break;
        }
        headings += usize::from(is_new(place) || told.is_headed());
        records += told.records.len();
    }
    let is_headed = headings <= HEADINGS_MAX;
    let when = if is_headed { When::Clock } else { When::Day };
    html! {
        ol class="rows" {
            @for (place, told) in all.iter().enumerate() {
                @let own = is_headed && told.is_headed();
                @let day = (is_headed && is_new(place)).then_some(told.group.day);
                @if own || day.is_some() {
                    (head(day.map(|one| day_of(one, &known.calendar)), own.then_some(told)))
                } @else if is_headed && place > 0 && all[place - 1].is_headed() {
                    li class="apart" {}
                }
                @let is_named = !own && !told.group.session.is_empty();
                @for (place, record) in told.records.iter().enumerate() {
                    (row(record, when, known, &html! {
                        @if is_named && place == 0 {
                            a class="session" href=(told.path()) { (text::line(told.name, 32)) }
                        }
                    }))
                }
            }
        }
    }
}

/// The heading of a day, of a session of it, or of both.
fn head(day: Option<String>, told: Option<&Told<'_>>) -> Markup {
    html! {
        li class="grouping" {
            @if let Some(day) = day { h2 { (day) } }
            @if let Some(told) = told {
                h3 { a href=(told.path()) { (text::line(told.name, 120)) } }
                small { (told.says) }
                (told.end)
            }
        }
    }
}

/// A day as a reader says it.
pub(crate) fn day_of(day: NaiveDate, calendar: &Calendar) -> String {
    let today = calendar.today();
    if day == today {
        "Today".to_owned()
    } else if Some(day) == today.pred_opt() {
        "Yesterday".to_owned()
    } else if day.year() == today.year() {
        day.format("%a %-d %b").to_string()
    } else {
        day.format("%-d %b %Y").to_string()
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
    use reprise_types::{MemoryKind, MemorySource, RecordBody};

    use super::*;

    #[test]
    fn a_piece_of_a_note_is_called_by_what_it_is_about_and_not_by_its_note() {
        let titled = |text: &str, kind: &str| {
            let mut body = RecordBody::new(text, MemorySource::UserInput, MemoryKind::Finding);
            body.details = Some(json!({ "type": kind, "title": "alpha" }));
            let record = body.kept(RecordId::from_parts(1, 1), DateTime::UNIX_EPOCH);
            title(&record).to_owned()
        };
        let section = "alpha > DNS move > What went wrong\n\nThe old zone stayed.";
        assert_eq!(
            titled(section, "note_section"),
            "alpha > DNS move > What went wrong"
        );
        let observed = titled("alpha: Use postfix", "note_observation");
        assert_eq!(observed, "alpha: Use postfix");
        assert_eq!(titled("Use postfix.", "lesson"), "alpha");
    }

    #[test]
    fn the_dot_before_a_kind_says_what_it_stands_for() {
        let says = |details| {
            let mut body = RecordBody::new("a", MemorySource::UserInput, MemoryKind::Finding);
            body.details = details;
            dot_says(&body.kept(RecordId::from_parts(1, 1), DateTime::UNIX_EPOCH))
        };
        let decision = "The dot is the colour of its category, decision";
        assert_eq!(
            says(Some(json!({ "type": "decision" }))).as_deref(),
            Some(decision)
        );
        assert_eq!(says(Some(json!({ "type": "lesson" }))), None);
        assert_eq!(says(None), None);
    }

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
