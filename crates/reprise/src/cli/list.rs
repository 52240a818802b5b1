//! `reprise list`: prints memories page by page, the newest first. With `--json` every line of
//! stdout is a record with its `cursor`; stderr says where to continue.

use std::io::BufWriter;

use chrono::NaiveDate;
use reprise_knowledge::LessonDetails;
use reprise_operations::operations::records::list::List;
use reprise_types::limits::{PAGE_DEFAULT, PAGE_MAX};
use reprise_types::{Calendar, RecordByline, describe_state};

use crate::args::{ListArguments, calendar};
use crate::cli::prelude::*;

/// Characters of a text on its line if the output is not a terminal.
const COLUMNS: usize = 76;
/// Columns before the text: the time.
const INDENT: usize = 9;

pub(super) fn run(context: &Context, arguments: &ListArguments) -> anyhow::Result<Exit> {
    let mut body = arguments.list_request();
    let mut left = body.limit.unwrap_or(PAGE_DEFAULT);
    anyhow::ensure!(left > 0, "--limit must be 1 or more");
    let user = &arguments.whose.user;
    if !context.json && !store::exists(context, user)? {
        note(&describe_empty_memory(user));
        return Ok(Exit::Failed);
    }
    let session = Session::open(context, user, Effect::Reads)?;
    let calendar = calendar();
    let shown = Page::stdout();
    let mut out = BufWriter::new(crate::printer::stdout());
    body.filter.project =
        project::resolve_project_name(context, &session, body.filter.project.as_deref())?;
    if body.rules && body.filter.project.is_none() {
        // Who asks for rules works somewhere.
        body.filter.project = project::find_own_repository(context);
        if let Some(project) = &body.filter.project {
            tell!("rules of project `{project}`; --project NAME lists those of another");
        }
    }
    let (mut damaged, mut day) = (0, None);
    loop {
        body.limit = Some(left.min(PAGE_MAX));
        let page = session.call::<List>(body.clone())?;
        for record in &page.records {
            if context.json {
                serde_json::to_writer(&mut out, record)?;
                out.write_all(b"\n")?;
            } else {
                print_record(&mut out, shown, record, &calendar, &mut day)?;
            }
        }
        match arguments.day() {
            Some(day) if page.considered == 0 => {
                tell!("there are no memories of `{day}`");
            }
            _ if page.considered == 0 && page.notes.is_empty() => {
                note(&describe_empty_memory(user));
            }
            _ => page.notes.iter().for_each(|note| super::note(note)),
        }
        if page.considered == 0 && !body.filter.tag.is_empty() {
            note("`reprise tags` lists the tags");
        }
        damaged += page.damaged;
        left -= (page.records.len() + page.damaged).min(left);
        match page.next {
            Some(next) if left > 0 => body.cursor = Some(next.to_string()),
            Some(next) => {
                out.flush()?;
                tell!(
                    "{} in all; more with --cursor {next}",
                    format_count(page.considered, "memory")
                );
                break;
            }
            None => break,
        }
    }
    out.flush()?;
    drop(session);
    if damaged > 0 {
        tell!("{damaged} damaged memories were skipped; run `reprise doctor check`");
        return Ok(Exit::Refused);
    }
    Ok(Exit::Success)
}

/// Prints a record for a person, below the heading of its day.
fn print_record(
    out: &mut impl Write,
    page: Page,
    record: &Value,
    calendar: &Calendar,
    day: &mut Option<NaiveDate>,
) -> anyhow::Result<()> {
    let part = |name: &str| record[name].as_str().unwrap_or_default();
    let at: DateTime<Utc> = parse_timestamp(part("timestamp"))?;
    let its_day = calendar.day_of(at);
    if *day != Some(its_day) {
        let before = if day.is_some() { "\n" } else { "" };
        let heading = terminal::title(its_day.format("%Y-%m-%d, %A"));
        writeln!(out, "{before}{heading}")?;
        *day = Some(its_day);
    }
    // Where a lesson applies is told apart from what it says.
    let text = match part("type") {
        "lesson" | "decision" => LessonDetails::without_added_lines(part("text")),
        _ => part("text").to_owned(),
    };
    writeln!(
        out,
        "  {}  {}",
        calendar.format_time_of_day(at),
        terminal::one_line(&text, page.columns_left(INDENT, COLUMNS))
    )?;
    let tags = record["tags"].as_array().into_iter().flatten();
    let tags = tags.filter_map(Value::as_str);
    let about = RecordByline::deserialize(record)?.with_project_from_tags(tags.clone());
    let mut facts = vec![format!("{about}, {}", calendar.format_relative(at))];
    if !record["supersedes"].is_null() {
        let made = calendar.day_of(parse_timestamp(part("known_at"))?);
        facts.push(format!("corrected on {made}"));
    }
    let until = Some(part("held_until")).filter(|at| !at.is_empty());
    let until = until.map(parse_timestamp).transpose()?;
    let newer = part("newer").parse().ok();
    facts.extend(describe_state(None, newer, until, calendar));
    if !part("session_id").is_empty() {
        let session = terminal::shorten_session(part("session_id"));
        facts.push(format!("session {session}"));
    }
    facts.extend(tags.map(|tag| format!("#{tag}")));
    let given = record["external_id"].as_str();
    facts.push(terminal::choose_shown_name(part("id"), given).to_owned());
    for line in page.wrap_items(&facts, " |", INDENT) {
        writeln!(out, "{:INDENT$}{}", "", terminal::faint(line))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_takes_the_width_of_the_terminal() {
        let record = json!({
            "id": "01JQ8Z3V5N8M6T2R4W7X9YABCD", "type": "note", "text": "word ".repeat(40),
            "timestamp": "2026-02-10T10:12:00Z", "known_at": "2026-02-10T10:12:00Z",
            "session_id": "a session of some length",
        });
        let columns = |page: Page| {
            let mut out = Vec::new();
            print_record(&mut out, page, &record, &calendar(), &mut None).expect("printed");
            let text = anstream::adapter::strip_bytes(&out).into_vec();
            let text = String::from_utf8(text).expect("text");
            let lines = text.lines().map(|line| line.chars().count());
            lines.max().unwrap_or_default()
        };
        assert!(columns(Page::of(40)) <= 40);
        assert_eq!(columns(Page::of(120)), 120);
    }
}
