//! `reprise list`: memory page by page, the newest first. With `--json` every line of stdout is a
//! record with its `cursor`; where to go on is said on stderr.

use std::io::BufWriter;

use chrono::NaiveDate;
use reprise_operations::operations::list::List;
use reprise_types::limits::{PAGE_DEFAULT, PAGE_MAX};
use reprise_types::{About, Calendar};

use crate::args::{ListArguments, calendar};
use crate::cli::prelude::*;

/// Characters of a text on its line, where that has no end.
const COLUMNS: usize = 76;
/// Columns before it: the time.
const INDENT: usize = 9;

pub(super) fn run(context: &Context, arguments: &ListArguments) -> anyhow::Result<Exit> {
    let mut body = arguments.asked();
    let mut left = body.limit.unwrap_or(PAGE_DEFAULT);
    anyhow::ensure!(left > 0, "a list has 1 record or more; raise --limit");
    let session = Session::open(context, &arguments.whose.user, Effect::Reads)?;
    let calendar = calendar();
    let shown = Page::stdout();
    let mut out = BufWriter::new(crate::printer::stdout());
    body.filter.project = project::named(context, &session, body.filter.project.as_deref())?;
    let (mut damaged, mut day) = (0, None);
    loop {
        body.limit = Some(left.min(PAGE_MAX));
        let page = session.call::<List>(body.clone())?;
        for record in &page.records {
            if context.json {
                serde_json::to_writer(&mut out, record)?;
                out.write_all(b"\n")?;
            } else {
                print(&mut out, shown, record, &calendar, &mut day)?;
            }
        }
        match arguments.day() {
            Some(day) if page.considered == 0 => {
                tell!("nothing that happened on `{day}` is kept here");
            }
            _ if page.considered == 0 && page.notes.is_empty() => {
                note("nothing is kept here yet; `reprise learn` keeps something");
            }
            _ => page.notes.iter().for_each(|note| super::note(note)),
        }
        damaged += page.damaged;
        left -= (page.records.len() + page.damaged).min(left);
        match page.next {
            Some(next) if left > 0 => body.cursor = Some(next.to_string()),
            Some(next) => {
                out.flush()?;
                tell!(
                    "{} in all; more with --cursor {next}",
                    counted(page.considered, "record")
                );
                break;
            }
            None => break,
        }
    }
    out.flush()?;
    drop(session);
    if damaged > 0 {
        tell!("{damaged} damaged records were left out; run `reprise check` for the report");
        return Ok(Exit::Refused);
    }
    Ok(Exit::Success)
}

/// A record as a person reads it, below the heading of its day.
fn print(
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
    writeln!(
        out,
        "  {}  {}",
        calendar.clock_of(at),
        terminal::one_line(part("text"), page.room(INDENT, COLUMNS))
    )?;
    let tags = record["tags"].as_array().into_iter().flatten();
    let tags = tags.filter_map(Value::as_str);
    let about = About::deserialize(record)?.tagged(tags.clone());
    let mut facts = vec![format!("{about}, {}", calendar.ago(at))];
    if !record["supersedes"].is_null() {
        let made = calendar.day_of(parse_timestamp(part("known_at"))?);
        facts.push(format!("corrected on {made}"));
    }
    if !part("session_id").is_empty() {
        facts.push(format!("session {}", part("session_id")));
    }
    facts.extend(record["external_id"].as_str().map(str::to_owned));
    facts.extend(tags.map(|tag| format!("#{tag}")));
    facts.push(part("id").to_owned());
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
            print(&mut out, page, &record, &calendar(), &mut None).expect("printed");
            let text = anstream::adapter::strip_bytes(&out).into_vec();
            let text = String::from_utf8(text).expect("text");
            let lines = text.lines().map(|line| line.chars().count());
            lines.max().unwrap_or_default()
        };
        assert!(columns(Page::of(40)) <= 40);
        assert_eq!(columns(Page::of(120)), 120);
    }
}
