//! Records in groups by day and session, each with a heading where these leave room for them.

use chrono::{Datelike as _, NaiveDate};
use reprise_operations::find_test_verdict;

use super::{RowPlace, RowTime, TITLE_CHARS, byline, kind_icon, path, render_row_below, title};
use crate::prelude::*;

/// Number of records from which a session of a day gets a heading without a prompt.
const HEADED_MIN: usize = 2;

/// The beginning of a session id that is only a number.
const NUMBERED_SESSION: &str = "run:";
/// Fewest letters and digits of a name that a program made up, and fewest digits among them.
const MADE_UP_LETTERS: usize = 16;
const MADE_UP_DIGITS: usize = 4;

/// Returns whether a program made a session's name up, so that it tells a person nothing: a UUID, a
/// ULID, a hash, or a number.
fn is_made_up(session: &str) -> bool {
    let last = session.rsplit([':', '/']).next().unwrap_or(session);
    let letters: String = last.chars().filter(|letter| *letter != '-').collect();
    let is_hex = letters.chars().all(|letter| letter.is_ascii_hexdigit());
    let is_ulid = |letter: char| letter.is_ascii_digit() || letter.is_ascii_uppercase();
    let digits = letters.chars().filter(char::is_ascii_digit).count();
    session.starts_with(NUMBERED_SESSION)
        || letters.len() >= MADE_UP_LETTERS
            && digits >= MADE_UP_DIGITS
            && (is_hex || letters.chars().all(is_ulid))
}

/// Returns what people call a session whose first text is known or not.
pub(crate) fn name_session<'a>(session: &'a str, first: Option<&'a str>) -> &'a str {
    match first {
        Some(first) => first,
        None if is_made_up(session) => "Unnamed session",
        None => session,
    }
}

/// Records of one session of one day, the newest first.
pub(crate) struct SessionGroup<'a> {
    pub(crate) day: NaiveDate,
    pub(crate) session: &'a str,
    pub(crate) records: Vec<&'a MemoryRecord>,
}

impl SessionGroup<'_> {
    /// Returns the oldest prompt among its records.
    pub(crate) fn prompt(&self) -> Option<&MemoryRecord> {
        let mut oldest = self.records.iter().rev();
        let found = oldest.find(|record| record.record_type() == RecordType::Prompt);
        found.copied()
    }

    pub(crate) fn name(&self) -> &str {
        match (self.prompt(), self.session) {
            (Some(prompt), _) => title(prompt),
            (None, "") => "Without a session",
            // What only a program can tell apart by its name is called by its first memory.
            (None, session) if is_made_up(session) => {
                self.records.last().map_or(session, |record| title(record))
            }
            (None, session) => session,
        }
    }
}

/// Groups records by day and session. Records without a session never pass one that is newer.
pub(crate) fn group_by_session<'a>(
    records: &'a [MemoryRecord],
    calendar: &Calendar,
) -> Vec<SessionGroup<'a>> {
    let mut groups: Vec<SessionGroup<'a>> = Vec::new();
    for record in records {
        let day = calendar.day_of(record.timestamp);
        let session = record.session_id.as_str();
        let is_its = |group: &&mut SessionGroup<'_>| group.day == day && group.session == session;
        let found = if session.is_empty() {
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
    /// How many of its memories are shown.
    pub(crate) count: String,
    /// The newest first.
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
        let count = if is_whole {
            text::pluralize(count, "memory", "memories")
        } else {
            text::pluralize(count, "memory shown", "memories shown")
        };
        Self {
            group,
            name: group.name(),
            count,
            records: group.records.clone(),
        }
    }

    /// Calls its session by another name, unless its records have a prompt.
    pub(crate) fn with_title(self, title: Option<&'a str>) -> Self {
        let name = title.filter(|_| self.group.prompt().is_none());
        Self {
            name: name.unwrap_or(self.name),
            ..self
        }
    }

    /// Returns the project that its heading names: that of the newest record that has one.
    fn project(&self) -> Option<String> {
        let mut records = self.group.records.iter();
        records.find_map(|record| byline(record).project)
    }

    /// Describes whose session it is: its project, and the agent that answered.
    fn describe(&self) -> String {
        let said_by = |is_prompt: bool| {
            let records = self.group.records.iter();
            let mut records =
                records.filter(|one| (one.record_type() == RecordType::Prompt) == is_prompt);
            records.find_map(|record| byline(record).by)
        };
        let by = said_by(false).or_else(|| said_by(true));
        let parts: Vec<String> = [self.project(), by].into_iter().flatten().collect();
        parts.join(" \u{b7} ")
    }

    /// Returns whether a record is what its session is called by.
    fn is_called_by(&self, record: &MemoryRecord) -> bool {
        self.name.trim().lines().next() == title(record).trim().lines().next()
    }

    /// Returns whether its records belong to no session.
    fn is_alone(&self) -> bool {
        self.group.session.is_empty()
    }

    /// Returns the prompt that is its heading.
    fn heading_prompt(&self) -> Option<&'a MemoryRecord> {
        let mut oldest_first = self.records.iter().rev();
        let found = oldest_first
            .find(|record| record.record_type() == RecordType::Prompt && self.is_called_by(record));
        found.copied().filter(|_| !self.is_alone())
    }

    fn is_headed(&self) -> bool {
        let is_long = self.group.records.len() >= HEADED_MIN;
        !self.is_alone() && (is_long || self.heading_prompt().is_some())
    }

    /// Lists the records below its heading: those of a session in the order in which they came,
    /// others with the newest first.
    fn list_below(&self) -> Vec<&'a MemoryRecord> {
        let head = self.heading_prompt().map(|prompt| prompt.id);
        let below = self.records.iter().copied();
        let mut below: Vec<_> = below.filter(|record| Some(record.id) != head).collect();
        if !self.is_alone() {
            below.reverse();
        }
        below
    }

    fn path(&self) -> String {
        format!("/timeline?session={}", percent_encode(self.group.session))
    }
}

/// Renders groups one below the other: each day has its name, and each session of it a heading with
/// what came of it below.
pub(crate) fn render_groups(all: &[RowGroup<'_>], context: &RowContext) -> Markup {
    html! {
        div class="days" {
            @for of_day in all.chunk_by(|one, next| one.group.day == next.group.day) {
                section class="day" {
                    @if let Some(first) = of_day.first() {
                        h2 { (format_day(first.group.day, &context.calendar)) }
                    }
                    ol class="rows" {
                        @for (index, row_group) in of_day.iter().enumerate() {
                            @let is_below = index > 0 && of_day[index - 1].is_headed();
                            (render_group(row_group, is_below, context))
                        }
                    }
                }
            }
        }
    }
}

/// Renders a group; what is `below` a session with a heading is set apart from it.
fn render_group(row_group: &RowGroup<'_>, is_below: bool, context: &RowContext) -> Markup {
    let is_headed = row_group.is_headed();
    let project = row_group.project().filter(|_| is_headed);
    html! {
        @if let Some(prompt) = row_group.heading_prompt() {
            (render_prompt_heading(row_group, prompt, context))
        } @else if is_headed {
            li class="grouping" {
                h3 { a href=(row_group.path()) { (text::shorten(row_group.name, 120)) } }
                span class="w" { (render_summary(row_group, context)) }
            }
        }
        @for (index, record) in row_group.list_below().into_iter().enumerate() {
            @let is_apart = is_below && !is_headed && index == 0;
            (render_row_below(record, RowTime::Clock, context, &RowPlace {
                project: project.as_deref(),
                is_below: is_headed,
                is_apart,
            }, &html! {
                // A session that is called by this row needs no second name.
                @if !is_headed && !row_group.is_alone() && !row_group.is_called_by(record) {
                    a class="session" href=(row_group.path()) { (text::shorten(row_group.name, 32)) }
                }
            }))
        }
    }
}

/// Renders the prompt that began a session as its heading, on which keys and the palette act.
fn render_prompt_heading(
    row_group: &RowGroup<'_>,
    prompt: &MemoryRecord,
    context: &RowContext,
) -> Markup {
    let at = prompt.timestamp;
    html! {
        li class="row grouping" data-record=(prompt.id) {
            input type="checkbox" name="id" value=(prompt.id) form="many"
                aria-label="Select this memory";
            (kind_icon(prompt))
            h3 class="x" { a href=(path(prompt)) { (text::shorten_title(title(prompt), TITLE_CHARS)) } }
            span class="w" {
                (context.render_correction(prompt))
                (render_summary(row_group, context))
                time datetime=(at.to_rfc3339()) title=(context.calendar.format_to_minute(at)) {
                    (context.calendar.format_time_of_day(at))
                }
            }
        }
    }
}

/// Renders whose session a heading is about, how its last test ended if that is of this day, and a
/// link to all of it.
fn render_summary(row_group: &RowGroup<'_>, context: &RowContext) -> Markup {
    let last_test = context.last_tests.get(row_group.group.session);
    let mut records = row_group.group.records.iter();
    let last_test = records.find(|record| Some(&record.id) == last_test);
    let last_test = last_test.and_then(|record| find_test_verdict(record));
    html! {
        @match last_test {
            Some(true) => { span class="chip good" { "tests pass" } }
            Some(false) => { span class="chip bad" { "tests fail" } }
            None => {}
        }
        span class="of" { (text::shorten(&row_group.describe(), 60)) }
        a class="session" href=(row_group.path()) { (row_group.count) }
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

#[cfg(test)]
mod tests {
    use reprise_types::{MemoryKind, MemorySource, RecordBody};

    use super::*;

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
        let context = RowContext::new(Calendar { now, zone });
        let groups = group_by_session(&records, &context.calendar);
        let sessions: Vec<_> = groups.iter().map(|group| group.session).collect();
        assert_eq!(sessions, ["", "s1", "", "one", "s1"]);
        let mut all: Vec<_> = groups
            .iter()
            .map(|group| RowGroup::from_group(group, &groups, true))
            .collect();
        assert_eq!(all[1].count, "2 memories shown");
        assert_eq!(all[3].count, "1 memory");
        all[3].name = "Cut a release\nand say so";
        let html = render_groups(&all, &context).into_string();
        assert_eq!(html.matches("Cut a release").count(), 1, "{html}");
    }

    #[test]
    fn only_the_last_test_of_a_session_says_how_its_tests_ended() {
        let test = |place: u128, text: &str| {
            let kind = MemoryKind::Episode;
            let mut body = RecordBody::new(text, MemorySource::UserInput, kind);
            body.session_id = "s1".to_owned();
            body.metadata.insert("type".to_owned(), json!("test"));
            let at = DateTime::UNIX_EPOCH + TimeDelta::minutes(i64::try_from(place).unwrap());
            body.into_record(RecordId::from_u128(place), at)
        };
        let records = [test(3, "the run was stopped"), test(2, "cargo test failed")];
        let (now, zone) = (records[0].timestamp, reprise_types::Zone::Utc);
        let mut context = RowContext::new(Calendar { now, zone });
        let groups = group_by_session(&records, &context.calendar);
        let shown = |context: &RowContext| {
            let row_group = RowGroup::from_group(&groups[0], &groups, false);
            render_summary(&row_group, context).into_string()
        };
        for (last, says_failure) in [(2, true), (3, false), (9, false)] {
            let last = RecordId::from_u128(last);
            context.last_tests.insert("s1".to_owned(), last);
            assert_eq!(
                shown(&context).contains("tests fail"),
                says_failure,
                "{last}"
            );
        }
    }

    #[test]
    fn a_name_that_a_program_made_up_is_shown_to_nobody() {
        for (name, made_up) in [
            ("0f3c8a44-9d1e-4c55-8e3e-1b7c6a0f2d11", true),
            ("claude-code:01M8NPSAQQYK09THF5S2MG7QZS", true),
            ("run:17", true),
            ("9f86d081884c7d65", true),
            ("shop-web-9", false),
            ("release rehearsal 2026-11-30", false),
            ("websockets-behind-the-proxy", false),
            ("", false),
        ] {
            assert_eq!(is_made_up(name), made_up, "{name}");
        }
        assert_eq!(name_session("run:17", Some("why?")), "why?");
        assert_eq!(name_session("run:17", None), "Unnamed session");
        assert_eq!(name_session("shop-web-9", None), "shop-web-9");
    }

    #[test]
    fn each_day_has_its_name_and_a_session_begins_with_its_prompt() {
        let zone = reprise_types::Zone::Utc;
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(400);
        let record = |place: u32, session: &str, text: &str| {
            let kind = MemoryKind::Episode;
            let mut body = RecordBody::new(text, MemorySource::UserInput, kind);
            body.session_id = session.to_owned();
            let is_prompt = text.ends_with('?');
            let named = if is_prompt { "prompt" } else { "answer" };
            body.metadata.insert("type".to_owned(), json!(named));
            let id = RecordId::from_u128(u128::from(place));
            body.into_record(id, now - TimeDelta::hours(i64::from(place)))
        };
        let records = [
            record(1, "coupon", "It is taken once."),
            record(2, "backup", "It runs."),
            record(3, "backup", "why did the backup not run?"),
            record(4, "coupon", "why is the total wrong?"),
            record(26, "alone", "what is left?"),
        ];
        let calendar = Calendar { now, zone };
        let groups = group_by_session(&records, &calendar);
        let all: Vec<_> = groups
            .iter()
            .map(|group| RowGroup::from_group(group, &groups, true))
            .collect();
        let context = RowContext::new(calendar);
        let html = render_groups(&all, &context).into_string();
        let at = |text: &str| html.find(text).unwrap();
        assert!(at("why is the total") < at("It is taken once"), "{html}");
        assert!(at("It is taken once") < at("why did the backup"), "{html}");
        assert!(at("why did the backup") < at("It runs"), "{html}");
        assert_eq!(html.matches("<h2>").count(), 2, "{html}");
        assert_eq!(html.matches("<time").count(), records.len(), "{html}");
        assert_eq!(html.matches("why is the total").count(), 1, "{html}");
    }
}
