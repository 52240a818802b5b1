//! Lists of records: one line for each record, in groups by day and session.

mod context;
mod groups;

use std::collections::BTreeSet;

use reprise_operations::find_test_verdict;
use reprise_types::short_project_name;

use crate::prelude::*;

pub(crate) use context::{RowContext, load_correction_marks};
pub(crate) use groups::{
    RowGroup, SessionGroup, format_day, group_by_session, name_session, render_groups,
};

/// Records of one page of a list.
pub(crate) const PAGE_SIZE: usize = 50;
const TITLE_CHARS: usize = 160;
/// Characters of a text that opens below its line.
const MORE_CHARS: usize = 600;

/// How a row shows its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowTime {
    /// The time of day, below the heading of its day.
    Clock,
    Ago,
    /// How long ago it was stored; other times are when it happened.
    Stored,
}

/// Returns whether a pair means this record: it names one by its external id, if it has one.
pub(crate) fn has_name(record: &MemoryRecord, name: &str) -> bool {
    let mut external = record.external_ids.iter();
    external.any(|one| one.id == name) || record.id.to_string() == name
}

/// Returns the title of a record, or its first line. A piece of a note has the title of the whole
/// note, and begins with a line about the piece.
pub(crate) fn title(record: &MemoryRecord) -> &str {
    let detail = |key: &str| record.details.as_ref()?.get(key)?.as_str();
    let is_piece = detail("type").is_some_and(|kind| kind.starts_with("note_"));
    let own = detail("title").filter(|_| !is_piece);
    let own = own.filter(|title| !title.trim().is_empty());
    own.or_else(|| first_line(&record.text))
        .unwrap_or("(empty)")
}

/// Returns the first line of a text that has words, with the next one if it only leads to that.
fn first_line(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let first = text.lines().next().filter(|line| !line.trim().is_empty())?;
    let behind = &text[first.len()..];
    let next = behind.trim_start().lines().next().unwrap_or_default();
    let is_lead = first.trim_end().ends_with(':') && !next.is_empty();
    let next_end = || Some(text.len() - behind.trim_start().len() + next.len());
    Some(&text[..is_lead.then(next_end).flatten().unwrap_or(first.len())])
}

/// Returns whether a record says which files a session edited.
pub(crate) fn is_edit(record: &MemoryRecord) -> bool {
    record.record_type() == RecordType::Document && record.text.starts_with("Edited ")
}

/// Returns whether a record defines a word that others use, such as a kind of evidence: it is kept
/// as a memory, and tells nobody anything.
pub(crate) fn is_definition(record: &MemoryRecord) -> bool {
    let details = record.details.as_ref();
    details.is_some_and(|details| details["type"] == "reference")
}

/// Returns the address of a record's page.
pub(crate) fn path(record: &MemoryRecord) -> String {
    format!("/records/{}", record.id)
}

/// Returns what people are told of a record: its project without the fingerprint that tells folders
/// of one name apart.
pub(crate) fn byline(record: &MemoryRecord) -> RecordByline {
    let about = RecordByline::of(record);
    let project = about
        .project
        .map(|name| short_project_name(&name).to_owned());
    RecordByline { project, ..about }
}

/// Renders one line of a list, on which keys and the palette act; `aside` is on its right side.
pub(crate) fn render_row(
    record: &MemoryRecord,
    when: RowTime,
    context: &RowContext,
    aside: &Markup,
) -> Markup {
    render_row_below(record, when, context, &RowPlace::default(), aside)
}

/// Where a row is in a list with headings.
#[derive(Debug, Default)]
struct RowPlace<'a> {
    /// The project in the heading above it, which the row does not repeat.
    project: Option<&'a str>,
    /// Whether it belongs to the heading above it.
    is_below: bool,
    /// Whether it is the first after a session to which it does not belong.
    is_apart: bool,
}

/// Renders one line of a list below a heading.
fn render_row_below(
    record: &MemoryRecord,
    when: RowTime,
    context: &RowContext,
    place: &RowPlace<'_>,
    aside: &Markup,
) -> Markup {
    let calendar = &context.calendar;
    let about = byline(record);
    let title = title(record);
    let at = match when {
        RowTime::Stored => record.known_at,
        RowTime::Clock | RowTime::Ago => record.timestamp,
    };
    // The text below the line leaves out its title.
    let whole = record.text.trim();
    let rest = whole.strip_prefix(title.trim()).map_or(whole, str::trim);
    let more: String = rest.chars().take(MORE_CHARS).collect();
    html! {
        li class={ "row" @if place.is_below { " below" } @if place.is_apart { " apart" } }
            data-record=(record.id) {
            input type="checkbox" name="id" value=(record.id) form="many"
                aria-label="Select this memory";
            (kind_icon(record))
            span class=(kind_class(record)) title=[category_tooltip(record)] {
                (if is_definition(record) { "definition" } else { about.record_type.name() })
            }
            a class="x" href=(path(record)) {
                (text::shorten_title(title, TITLE_CHARS))
                @if shows_first_sentence(record) && !rest.is_empty() {
                    span class="rest" { " \u{2013} " (text::shorten(text::first_sentence(rest), TITLE_CHARS)) }
                }
            }
            span class="w" {
                @if record.retention == Retention::Pinned { (icon("pin")) }
                @if context.published.contains(&record.id) {
                    span class="chip good" { "published" }
                } @else if record.visibility != Visibility::Private {
                    span class="chip" { "in project files" }
                }
                (context.render_correction(record))
                (aside)
                @if let Some(project) = about.project.as_ref().filter(|own| place.project != Some(own.as_str())) {
                    span class="project" title=[RecordByline::of(record).project.filter(|name| name != project)] {
                        (text::shorten(project, 24))
                    }
                }
                time class=[(when != RowTime::Clock).then_some("ago")] datetime=(at.to_rfc3339()) title=(calendar.format_to_minute(at)) {
                    (match when {
                        RowTime::Clock => calendar.format_time_of_day(at),
                        RowTime::Ago | RowTime::Stored => calendar.format_relative(at),
                    })
                }
            }
            @if !more.is_empty() { div class="more" hidden { (text::render(&more)) } }
        }
    }
}

/// Returns whether a row shows the first sentence next to the title: a title alone would hide in
/// what two lessons differ.
fn shows_first_sentence(record: &MemoryRecord) -> bool {
    matches!(
        record.record_type(),
        RecordType::Lesson | RecordType::Decision
    )
}

/// Renders a line with a link to a record under the title that it had then, and by whom it was
/// corrected.
pub(crate) fn render_link_row(
    record: &MemoryRecord,
    title: &str,
    correction: Option<&str>,
    calendar: &Calendar,
) -> Markup {
    html! {
        li class="row" data-record=(record.id) {
            span {} (kind_icon(record))
            span class="k" { (record.record_type().name()) }
            a class="x" href=(path(record)) { (text::shorten_title(title, TITLE_CHARS)) }
            span class="w" { (context::render_correction_mark(correction)) time { (calendar.format_time_of_day(record.timestamp)) } }
        }
    }
}

fn kind_class(record: &MemoryRecord) -> String {
    match own_category(record).and_then(category_class) {
        Some(class) => format!("k category {class}"),
        None => "k".to_owned(),
    }
}

/// Returns the tooltip that explains the coloured dot in front of a type.
fn category_tooltip(record: &MemoryRecord) -> Option<String> {
    let category = own_category(record).filter(|category| category_class(category).is_some());
    category.map(|category| format!("The dot shows the category: {category}"))
}

/// Returns a tag as people are shown it: that of a project has its short name.
pub(crate) fn label_tag(tag: &str) -> String {
    match tag.strip_prefix("project:") {
        Some(project) => format!("project:{}", short_project_name(project)),
        None => tag.to_owned(),
    }
}

/// Renders what the coloured dots before the types of records stand for; nothing if none has a dot.
pub(crate) fn render_category_legend(records: &[MemoryRecord]) -> Markup {
    let named = records.iter().filter_map(own_category);
    let named: BTreeSet<(String, &str)> = named
        .filter_map(|category| Some((category_class(category)?, category)))
        .collect();
    html! {
        @if !named.is_empty() {
            p class="faint legend" {
                "Dots show the category:"
                @for (class, category) in &named { " " span class={ "category " (class) } { (category.replace('_', " ")) } }
            }
        }
    }
}

/// Renders the icon of a record's type, in its colour; a failed test has an icon of its own, and so
/// has one of which it is not known how it ended.
pub(crate) fn kind_icon(record: &MemoryRecord) -> Markup {
    let kind = record.record_type();
    match (kind, find_test_verdict(record)) {
        (_, Some(false)) => return html! { span class="test bad" { (icon("test-bad")) } },
        (RecordType::Test, None) => {
            return html! { span class="test open" { (icon("test-open")) } };
        }
        _ => {}
    }
    html! { span class=(kind.name()) { (icon(kind.name())) } }
}

/// Returns the category in a record's details, or the type there.
fn category(record: &MemoryRecord) -> Option<&str> {
    let details = record.details.as_ref()?;
    let named = details.get("category").or_else(|| details.get("type"))?;
    named.as_str()
}

/// Returns the category of a record if that says more than its type.
fn own_category(record: &MemoryRecord) -> Option<&str> {
    category(record).filter(|category| *category != record.record_type().name())
}

/// Returns the style class of a category's colour.
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
    let coloured = match category {
        "dead_end" => Some("failure"),
        other => COLOURED.into_iter().find(|one| *one == other),
    };
    coloured.map(|name| format!("category-{name}"))
}

/// Renders a list with the actions on selected records.
pub(crate) fn render_list(visit: &PageRequest, rows: &Markup) -> Markup {
    html! {
        div class="list" data-list {
            (rows)
            @if !visit.read_only {
                form id="many" class="many" method="post" action="/many" {
                    (crate::shell::render_form_token_field(visit))
                    span class="count" data-selected role="status" {}
                    label { "Tag" input name="tag" maxlength="100" autocomplete="off"; }
                    button name="act" value="tag" data-command="Tag the selected memories" { "Add tag" }
                    button name="act" value="compare" data-command="Compare or merge two selected memories" { "Compare two" }
                    button class="danger" name="act" value="forget"
                        data-command="Forget the selected memories" { "Forget\u{2026}" }
                    button type="reset" class="quiet" { "Clear selection" }
                }
            }
        }
    }
}

/// Labels of the two buttons that rate a memory that was given.
pub(crate) const HELPFUL: [&str; 2] = ["Helpful", "Not helpful"];
/// Labels of the two buttons for a memory that was left out.
pub(crate) const MISSED: [&str; 2] = ["Should have been given", "Rightly left out"];

/// Renders the two buttons by which a reader rates a result; one is pressed if it has that rating.
pub(crate) fn render_judge_buttons(
    visit: &PageRequest,
    [good, bad]: [&str; 2],
    fields: &[(&str, &str)],
    rating: Option<bool>,
) -> Markup {
    let pressed = |helped| (rating == Some(helped)).to_string();
    form(
        visit,
        "/search/judge",
        &html! {
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button class="quiet" name="helped" value="yes" data-command=(good) aria-pressed=(pressed(true))
                title="Ranks it higher for similar questions" { (good) }
            button class="quiet" name="helped" value="no" data-command=(bad) aria-pressed=(pressed(false))
                title="Ranks it lower for similar questions" { (bad) }
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
            let record = body.into_record(RecordId::from_parts(1, 1), DateTime::UNIX_EPOCH);
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
    fn a_line_that_leads_to_the_next_one_is_no_title_alone() {
        assert_eq!(
            first_line("`make` failed:\n2 errors\nmore"),
            Some("`make` failed:\n2 errors")
        );
        assert_eq!(
            first_line("\n\nWhy it failed\nand how"),
            Some("Why it failed")
        );
        assert_eq!(first_line("`make` failed:"), Some("`make` failed:"));
        assert_eq!(first_line("  \n "), None);
    }

    #[test]
    fn a_tag_of_a_project_has_its_short_name_and_each_dot_is_explained_once() {
        assert_eq!(label_tag("project:github.com/acme/shop"), "project:shop");
        assert_eq!(label_tag("project:shop"), "project:shop");
        assert_eq!(label_tag("type:decision"), "type:decision");
        let learned = |category: &str| {
            let mut body = RecordBody::new("a", MemorySource::UserInput, MemoryKind::Finding);
            body.details = Some(json!({ "type": "learning", "category": category }));
            body.into_record(RecordId::from_parts(1, 1), DateTime::UNIX_EPOCH)
        };
        let records = ["task_completion", "pattern", "pattern", "no such category"].map(learned);
        let legend = render_category_legend(&records).into_string();
        assert_eq!(legend.matches("<span").count(), 2, "{legend}");
        assert!(legend.contains("category-pattern\">pattern<"), "{legend}");
        assert!(legend.contains(">task completion<"), "{legend}");
        assert!(render_category_legend(&[]).into_string().is_empty());
    }

    #[test]
    fn the_dot_before_a_kind_says_what_it_stands_for() {
        let summary = |details| {
            let mut body = RecordBody::new("a", MemorySource::UserInput, MemoryKind::Finding);
            body.details = details;
            category_tooltip(&body.into_record(RecordId::from_parts(1, 1), DateTime::UNIX_EPOCH))
        };
        let pattern = "The dot shows the category: pattern";
        assert_eq!(
            summary(Some(json!({ "type": "learning", "category": "pattern" }))).as_deref(),
            Some(pattern)
        );
        let decision = summary(Some(json!({ "type": "decision" })));
        assert_eq!(decision, None, "the type says so");
        assert_eq!(summary(Some(json!({ "type": "lesson" }))), None);
        assert_eq!(summary(None), None);
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
