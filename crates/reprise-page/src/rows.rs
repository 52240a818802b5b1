//! Lists of records: one line for each record, in groups by day and session.

use std::collections::{BTreeSet, HashSet};

use chrono::{Datelike as _, NaiveDate};

use crate::prelude::*;

/// Records of one page of a list.
pub(crate) const PAGE_SIZE: usize = 50;
const TITLE_CHARS: usize = 160;
/// Characters of a text that opens below its line.
const MORE_CHARS: usize = 600;
/// Records that fit on a screen, and the most headings that leave room for them: below the line of
/// numbers of Home, 24 lines fit on a screen of 800 pixels.
const SCREEN: usize = 18;
const HEADINGS_MAX: usize = 6;
/// Number of records from which a session of a day gets a heading.
const HEADED_MIN: usize = 2;

/// The beginning of a session id that is only a number.
const NUMBERED_SESSION: &str = "run:";

/// How a row shows its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowTime {
    /// The time of day, below the heading of its day.
    Clock,
    Ago,
    /// The day, without a heading above it.
    Day,
    /// How long ago it was stored; other times are when it happened.
    Stored,
}

/// What rows need to know besides their record.
#[derive(Debug)]
pub(crate) struct RowContext {
    pub(crate) calendar: Calendar,
    /// Records that are published.
    pub(crate) published: HashSet<RecordId>,
}

impl RowContext {
    pub(crate) async fn load(visit: &PageRequest) -> PageResult<Self> {
        let published = visit.memory().list_published_records().await;
        Ok(Self {
            calendar: visit.page.calendar(),
            published: none_if_missing(published.map_err(Into::into))?.unwrap_or_default(),
        })
    }
}

/// Returns the title of a record, or its first line. A piece of a note has the title of the whole
/// note, and begins with a line about the piece.
pub(crate) fn title(record: &MemoryRecord) -> &str {
    let detail = |key: &str| record.details.as_ref()?.get(key)?.as_str();
    let is_piece = detail("type").is_some_and(|kind| kind.starts_with("note_"));
    let own = detail("title").filter(|_| !is_piece);
    let own = own.filter(|title| !title.trim().is_empty());
    let first = || record.text.lines().find(|line| !line.trim().is_empty());
    own.or_else(first).unwrap_or("(empty)")
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

/// Renders one line of a list, on which keys and the palette act; `aside` is on its right side.
pub(crate) fn render_row(
    record: &MemoryRecord,
    when: RowTime,
    context: &RowContext,
    aside: &Markup,
) -> Markup {
    let calendar = &context.calendar;
    let about = RecordByline::of(record);
    let title = title(record);
    let at = match when {
        RowTime::Stored => record.known_at,
        RowTime::Clock | RowTime::Ago | RowTime::Day => record.timestamp,
    };
    // The text below the line leaves out its title.
    let whole = record.text.trim();
    let rest = whole.strip_prefix(title.trim()).map_or(whole, str::trim);
    let more: String = rest.chars().take(MORE_CHARS).collect();
    html! {
        li class="row" data-record=(record.id) {
            input type="checkbox" name="id" value=(record.id) form="many"
                aria-label="Select this memory";
            (kind_icon(record))
            span class=(kind_class(record)) title=[category_tooltip(record)] {
                (if is_definition(record) { "definition" } else { about.record_type.name() })
            }
            a class="x" href=(path(record)) {
                (text::shorten_title(title, TITLE_CHARS))
                @if shows_first_sentence(record) && !rest.is_empty() {
                    " " span class="rest" { (text::shorten(text::first_sentence(rest), TITLE_CHARS)) }
                }
            }
            span class="w" {
                @if record.retention == Retention::Pinned { (icon("pin")) }
                @if context.published.contains(&record.id) {
                    span class="chip good" { "published" }
                } @else if record.visibility != Visibility::Private {
                    span class="chip" { "in project files" }
                }
                (aside)
                @if let Some(project) = &about.project {
                    span class="project" { (text::shorten(project, 24)) }
                }
                time datetime=(at.to_rfc3339()) title=(calendar.format_to_minute(at)) {
                    (match when {
                        RowTime::Clock => calendar.format_time_of_day(at),
                        RowTime::Ago | RowTime::Stored => calendar.format_relative(at),
                        RowTime::Day => format_day(calendar.day_of(at), calendar),
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

/// Renders a line with a link to a record under the title that it had then.
pub(crate) fn render_link_row(record: &MemoryRecord, title: &str, calendar: &Calendar) -> Markup {
    html! {
        li class="row" data-record=(record.id) {
            span {} (kind_icon(record))
            span class="k" { (record.record_type().name()) }
            a class="x" href=(path(record)) { (text::shorten_title(title, TITLE_CHARS)) }
            span class="w" { time { (calendar.format_time_of_day(record.timestamp)) } }
        }
    }
}

fn kind_class(record: &MemoryRecord) -> String {
    match category(record).and_then(category_class) {
        Some(class) => format!("k category {class}"),
        None => "k".to_owned(),
    }
}

/// Returns the tooltip that explains the coloured dot in front of a type.
fn category_tooltip(record: &MemoryRecord) -> Option<String> {
    let category = category(record).filter(|category| category_class(category).is_some());
    category.map(|category| format!("The dot shows the category: {category}"))
}

/// Renders the icon of a record's type, in its colour; a failed test has an icon of its own.
pub(crate) fn kind_icon(record: &MemoryRecord) -> Markup {
    let kind = record.record_type();
    if kind == RecordType::Test && test_passed(record) == Some(false) {
        return html! { span class="test bad" { (icon("test-bad")) } };
    }
    html! { span class=(kind.name()) { (icon(kind.name())) } }
}

/// Returns whether a test record passed, by its details or its text; `None` for other records.
pub(crate) fn test_passed(record: &MemoryRecord) -> Option<bool> {
    if record.record_type() != RecordType::Test {
        return None;
    }
    let details = record.details.as_ref();
    let detail = |key: &str| details.and_then(|it| it.get(key));
    let ended = detail("passed").and_then(Value::as_bool);
    let code = || Some(detail("exit_code")?.as_i64()? == 0);
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

/// Returns the category in a record's details, or the type there.
fn category(record: &MemoryRecord) -> Option<&str> {
    let details = record.details.as_ref()?;
    let named = details.get("category").or_else(|| details.get("type"))?;
    named.as_str()
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

/// Renders the sessions and authors of records, from which filter fields complete.
pub(crate) fn render_completions<'a>(records: impl Iterator<Item = &'a MemoryRecord>) -> Markup {
    let (mut sessions, mut people) = (BTreeSet::new(), BTreeSet::new());
    for record in records {
        sessions.insert(record.session_id.clone());
        people.extend(RecordByline::of(record).by);
    }
    sessions.remove("");
    html! {
        (pairs::render_datalist("session", sessions.into_iter()))
        (pairs::render_datalist("author", people.into_iter()))
    }
}

/// Records of one session of one day, the newest first.
pub(crate) struct SessionGroup<'a> {
    pub(crate) day: NaiveDate,
    pub(crate) session: &'a str,
    pub(crate) records: Vec<&'a MemoryRecord>,
}

impl SessionGroup<'_> {
    /// Returns the title of the oldest prompt among its records.
    pub(crate) fn prompt(&self) -> Option<&str> {
        let mut oldest = self.records.iter().rev();
        let found = oldest.find(|record| record.record_type() == RecordType::Prompt);
        found.map(|record| title(record))
    }

    pub(crate) fn name(&self) -> &str {
        match (self.prompt(), self.session) {
            (Some(prompt), _) => prompt,
            (None, "") => "No session",
            // What a program named by a number is called by its first memory.
            (None, session) if session.starts_with(NUMBERED_SESSION) => {
                self.records.last().map_or(session, |record| title(record))
            }
            (None, session) => session,
        }
    }
}

/// Groups records by day and session; with `apart`, parts of a session with others in between are
/// separate groups, as in a timeline. Records without a session never pass one that is newer.
pub(crate) fn group_by_session<'a>(
    records: &'a [MemoryRecord],
    calendar: &Calendar,
    apart: bool,
) -> Vec<SessionGroup<'a>> {
    let mut groups: Vec<SessionGroup<'a>> = Vec::new();
    for record in records {
        let day = calendar.day_of(record.timestamp);
        let session = record.session_id.as_str();
        let is_its = |group: &&mut SessionGroup<'_>| group.day == day && group.session == session;
        let found = if apart || session.is_empty() {
            groups.last_mut().filter(is_its)
        } else {
            groups.iter_mut().find(is_its)
        };
        match found {
            Some(group) => group.records.push(record),
            None => groups.push(SessionGroup {
                day,
                session,
                records: vec![record],
            }),
        }
    }
    groups
}

/// A group with the texts and the rows that a list shows of it.
pub(crate) struct RowGroup<'a> {
    pub(crate) group: &'a SessionGroup<'a>,
    pub(crate) name: &'a str,
    pub(crate) summary: String,
    /// Shown at the right end of its heading.
    pub(crate) end: Markup,
    pub(crate) records: Vec<&'a MemoryRecord>,
}

impl<'a> RowGroup<'a> {
    /// Shows one of `groups`; unless it is all of its session, it says how many records are shown.
    pub(crate) fn from_group(
        group: &'a SessionGroup<'a>,
        groups: &[SessionGroup<'_>],
        is_whole: bool,
    ) -> Self {
        let count = group.records.len();
        let parts = groups.iter().filter(|one| one.session == group.session);
        let is_whole = is_whole && parts.count() == 1;
        Self {
            group,
            name: group.name(),
            summary: if is_whole {
                text::pluralize(count, "memory", "memories")
            } else {
                text::pluralize(count, "memory shown", "memories shown")
            },
            end: html! {},
            records: group.records.clone(),
        }
    }

    /// Returns whether a record is what its session is called by.
    fn is_called_by(&self, record: &MemoryRecord) -> bool {
        self.name.trim().lines().next() == title(record).trim().lines().next()
    }

    /// Returns whether its records belong to no session.
    fn is_alone(&self) -> bool {
        self.group.session.is_empty()
    }

    fn is_headed(&self) -> bool {
        !self.is_alone() && self.group.records.len() >= HEADED_MIN
    }

    fn path(&self) -> String {
        format!("/timeline?session={}", percent_encode(self.group.session))
    }
}

/// Renders groups one below the other. Days and longer sessions have headings. If headings would
/// leave too few records on a screen, each row has its day and session instead.
pub(crate) fn render_groups(all: &[RowGroup<'_>], context: &RowContext) -> Markup {
    let is_new = |index: usize| {
        let before = index.checked_sub(1).and_then(|before| all.get(before));
        before.is_none_or(|before| before.group.day != all[index].group.day)
    };
    let (mut records, mut headings) = (0, 0);
    for (index, row_group) in all.iter().enumerate() {
        if records >= SCREEN {
            break;
        }
        let is_alone_below = index > 0 && all[index - 1].is_headed();
        let is_headed = row_group.is_headed() || (is_alone_below && row_group.is_alone());
        headings += usize::from(is_new(index) || is_headed);
        records += row_group.records.len();
    }
    let is_headed = headings <= HEADINGS_MAX;
    let when = if is_headed {
        RowTime::Clock
    } else {
        RowTime::Day
    };
    html! {
        ol class="rows" {
            @for (index, row_group) in all.iter().enumerate() {
                @let own = is_headed && row_group.is_headed();
                @let day = (is_headed && is_new(index)).then_some(row_group.group.day);
                @if own || day.is_some() {
                    (render_heading(day.map(|one| format_day(one, &context.calendar)), own.then_some(row_group)))
                } @else if is_headed && index > 0 && all[index - 1].is_headed() {
                    @if row_group.is_alone() {
                        li class="grouping" { h3 { (row_group.name) } }
                    } @else { li class="apart" {} }
                }
                @let is_named = !own && !row_group.group.session.is_empty();
                @for (index, record) in row_group.records.iter().enumerate() {
                    (render_row(record, when, context, &html! {
                        @if is_named && index == 0 {
                            a class="session" href=(row_group.path()) {
                                // Its one prompt is the row itself.
                                @if row_group.is_called_by(record) { "session" }
                                @else { (text::shorten(row_group.name, 32)) }
                            }
                        }
                    }))
                }
            }
        }
    }
}

/// Renders the heading of a day, of a session, or of both.
fn render_heading(day: Option<String>, row_group: Option<&RowGroup<'_>>) -> Markup {
    html! {
        li class="grouping" {
            @if let Some(day) = day { h2 { (day) } }
            @if let Some(row_group) = row_group {
                h3 { a href=(row_group.path()) { (text::shorten(row_group.name, 120)) } }
                small { (row_group.summary) }
                (row_group.end)
            }
        }
    }
}

/// Formats a day for people: "Today", "Yesterday", or a date.
pub(crate) fn format_day(day: NaiveDate, calendar: &Calendar) -> String {
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

/// Renders a list with the actions on selected records.
pub(crate) fn render_list(visit: &PageRequest, rows: &Markup) -> Markup {
    html! {
        div class="list" data-list {
            (rows)
            @if !visit.read_only {
                form id="many" class="many" method="post" action="/many" {
                    (crate::shell::render_form_token_field(visit))
                    label { "Tag" input name="tag" maxlength="100" autocomplete="off"; }
                    button name="act" value="tag" data-command="Tag the selected memories" { "Add tag" }
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

/// Renders the two buttons by which a reader rates a result.
pub(crate) fn render_judge_buttons(
    visit: &PageRequest,
    [good, bad]: [&str; 2],
    fields: &[(&str, &str)],
) -> Markup {
    form(
        visit,
        "/search/judge",
        &html! {
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button class="quiet" name="helped" value="yes" data-command=(good)
                title="Ranks it higher for similar questions" { (good) }
            button class="quiet" name="helped" value="no" data-command=(bad)
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
    fn rows_go_by_time_and_a_session_in_parts_counts_what_is_shown() {
        let record = |hours: u128, session: &str, text: &str| {
            let mut body = RecordBody::new(text, MemorySource::UserInput, MemoryKind::Finding);
            body.session_id = session.to_owned();
            let at = DateTime::UNIX_EPOCH + TimeDelta::hours(i64::try_from(hours).unwrap());
            body.into_record(RecordId::from_u128(hours), at)
        };
        let records = [
            record(31, "", "newest lesson"),
            record(30, "s1", "third of s1"),
            record(29, "", "older lesson"),
            record(28, "s1", "second of s1"),
            record(27, "one", "Cut a release"),
            record(2, "s1", "first of s1"),
        ];
        let (now, zone) = (records[0].timestamp, reprise_types::Zone::Utc);
        let (calendar, published) = (Calendar { now, zone }, HashSet::new());
        let context = RowContext {
            calendar,
            published,
        };
        let groups = group_by_session(&records, &context.calendar, false);
        let sessions: Vec<_> = groups.iter().map(|group| group.session).collect();
        assert_eq!(sessions, ["", "s1", "", "one", "s1"]);
        let mut all: Vec<_> = groups
            .iter()
            .map(|group| RowGroup::from_group(group, &groups, true))
            .collect();
        assert_eq!(all[1].summary, "2 memories shown");
        assert_eq!(all[3].summary, "1 memory");
        all[3].name = "Cut a release\nand say so";
        let html = render_groups(&all, &context).into_string();
        assert_eq!(html.matches("Cut a release").count(), 1, "{html}");
    }

    #[test]
    fn eighteen_records_fit_on_a_screen_at_every_hour_of_the_day() {
        let zone = reprise_types::Zone::Utc;
        let published = HashSet::new();
        for (hour, apart, alone) in (0..24).flat_map(|hour| {
            let steps = [(5, 0), (5, 3), (9, 2), (26, 0), (1, 4), (1, 2)];
            steps.map(|(apart, alone)| (hour, apart, alone))
        }) {
            let now = DateTime::UNIX_EPOCH + TimeDelta::days(400) + TimeDelta::hours(hour);
            let record = |place: i64| {
                let text = format!("note {place}");
                let mut body = RecordBody::new(&text, MemorySource::UserInput, MemoryKind::Finding);
                if alone == 0 || place % 5 < alone {
                    body.session_id = format!("day-{}", place / 4);
                }
                let id = RecordId::from_u128(u128::try_from(place).unwrap());
                body.into_record(id, now - TimeDelta::hours(apart * place))
            };
            let records: Vec<_> = (0..60).map(record).collect();
            let calendar = Calendar { now, zone };
            let groups = group_by_session(&records, &calendar, true);
            let all: Vec<_> = groups
                .iter()
                .map(|group| RowGroup::from_group(group, &groups, true))
                .collect();
            let context = RowContext {
                calendar,
                published: published.clone(),
            };
            let html = render_groups(&all, &context).into_string();
            let lines = html.split("<li class=\"").skip(1);
            let lines = lines.filter(|line| !line.starts_with("apart")).take(24);
            let shown = lines.filter(|line| line.starts_with("row")).count();
            let steps = format!("{hour} h, {apart} h apart, {alone}: {shown}");
            assert!(shown >= SCREEN, "{steps}");
        }
    }

    #[test]
    fn the_dot_before_a_kind_says_what_it_stands_for() {
        let summary = |details| {
            let mut body = RecordBody::new("a", MemorySource::UserInput, MemoryKind::Finding);
            body.details = details;
            category_tooltip(&body.into_record(RecordId::from_parts(1, 1), DateTime::UNIX_EPOCH))
        };
        let decision = "The dot shows the category: decision";
        assert_eq!(
            summary(Some(json!({ "type": "decision" }))).as_deref(),
            Some(decision)
        );
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
