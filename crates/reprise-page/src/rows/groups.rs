//! Records in groups by day and session, each with a heading where these leave room for them.

use chrono::{Datelike as _, NaiveDate};

use super::{RowTime, byline, render_row_below, title};
use crate::prelude::*;

/// Records that fit on a screen, and the most headings that leave room for them: below the line of
/// numbers of Home, 24 lines fit on a screen of 800 pixels.
const SCREEN: usize = 18;
const HEADINGS_MAX: usize = 6;
/// Number of records from which a session of a day gets a heading.
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
            // What only a program can tell apart by its name is called by its first memory.
            (None, session) if is_made_up(session) => {
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
        let shown = if is_whole {
            text::pluralize(count, "memory", "memories")
        } else {
            text::pluralize(count, "memory shown", "memories shown")
        };
        let mut row_group = Self {
            group,
            name: group.name(),
            summary: shown,
            end: html! {},
            records: group.records.clone(),
        };
        if let Some(project) = row_group.project() {
            row_group.summary = format!("{project} \u{b7} {}", row_group.summary);
        }
        row_group
    }

    /// Returns the project that its heading names: that of the newest record that has one.
    fn project(&self) -> Option<String> {
        let mut records = self.group.records.iter();
        records.find_map(|record| byline(record).project)
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
        // What follows a session with a heading has one, too.
        let is_below = index > 0 && all[index - 1].is_headed();
        headings += usize::from(is_new(index) || row_group.is_headed() || is_below);
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
                    li class="grouping" {
                        h3 { (if row_group.is_alone() { row_group.name } else { "Other sessions" }) }
                    }
                }
                @let project = if own { row_group.project() } else { None };
                @let is_named = !own && !row_group.group.session.is_empty();
                @for (index, record) in row_group.records.iter().enumerate() {
                    (render_row_below(record, when, context, project.as_deref(), &html! {
                        // A session that is called by this row needs no second name.
                        @if is_named && index == 0 && !row_group.is_called_by(record) {
                            a class="session" href=(row_group.path()) { (text::shorten(row_group.name, 32)) }
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

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
        let (calendar, published) = (Calendar { now, zone }, HashSet::new());
        let context = RowContext {
            calendar,
            published,
            contradicted: HashSet::new(),
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
    fn eighteen_records_fit_on_a_screen_at_every_hour_of_the_day() {
        let zone = reprise_types::Zone::Utc;
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
                published: HashSet::new(),
                contradicted: HashSet::new(),
            };
            let html = render_groups(&all, &context).into_string();
            let lines = html.split("<li class=\"").skip(1).take(24);
            let shown = lines.filter(|line| line.starts_with("row")).count();
            let steps = format!("{hour} h, {apart} h apart, {alone}: {shown}");
            assert!(shown >= SCREEN, "{steps}");
        }
    }
}
