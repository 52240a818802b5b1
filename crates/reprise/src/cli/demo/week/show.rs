//! The story for a person at a terminal.

use std::io::{self, Write};

use reprise_operations::counted;
use reprise_sandbox::{RecallStatus, Turn};

use super::told::{Remembered, RunTold, Story, WeekTold};
use crate::terminal::{faint, one_line, title};

/// Teachers named of one memory.
const TEACHERS: usize = 2;
/// Below this a score is called unmoved.
const MOVED: f32 = 0.0005;

pub(super) fn story(out: &mut impl Write, story: &Story) -> io::Result<()> {
    for told in &story.weeks {
        week(out, told)?;
    }
    trace(out, &story.trace)?;
    let learned = &story.learning;
    writeln!(out, "\n{}", title("what was learned"))?;
    writeln!(
        out,
        "  {}; evidence believed {:.2}, what runs have in common {:.2}; a score may move by \
         {:.3}",
        counted(learned.runs, "run"),
        learned.evidence_gate,
        learned.adapter_gate,
        learned.cap
    )
}

fn week(out: &mut impl Write, week: &WeekTold) -> io::Result<()> {
    let WeekTold {
        week: number,
        title: what,
        question,
        ..
    } = week;
    writeln!(out, "\n{}", title(format!("Week {number}: {what}")))?;
    writeln!(out, "  memory, asked \"{question}\":")?;
    if week.recall.is_empty() {
        writeln!(out, "    nothing comes to mind")?;
    }
    for (place, one) in (1..).zip(&week.recall) {
        remembered(out, place, one)?;
    }
    writeln!(out, "  the week's requests:")?;
    for run in &week.runs {
        request(out, run)?;
    }
    writeln!(
        out,
        "  done at the first try: {} of {}; without memory {}",
        title(week.first_try),
        week.runs.len(),
        week.first_try_without_memory,
    )?;
    let turns: usize = week.runs.iter().map(|run| run.turns).sum();
    let with: usize = week.runs.iter().map(|run| run.turns_with_memory).sum();
    writeln!(
        out,
        "  turns with memory in their context: {with} of {turns}"
    )
}

fn remembered(out: &mut impl Write, place: usize, one: &Remembered) -> io::Result<()> {
    let text = one_line(&one.text, 104);
    writeln!(out, "    {place}  {:.3}  {text}", one.sona_score)?;
    let moved = one.sona_score - one.score;
    if moved.abs() < MOVED {
        return Ok(());
    }
    let from = match one.place_before {
        before if before == place => format!("still in place {place}"),
        before => format!("was in place {before}"),
    };
    let teachers = one.taught_by.iter().take(TEACHERS).map(|run| {
        let request = one_line(&run.request, 60);
        format!("\"{request}\" used it and scored {:.1}", run.quality)
    });
    let teachers: Vec<String> = teachers.collect();
    let why = match teachers.as_slice() {
        [] => "by what such memories have in common".to_owned(),
        named => format!("because {}", named.join("; ")),
    };
    let adapter = one.learning.map_or(0.0, |learned| learned.adapter);
    let lora = if adapter.abs() < MOVED {
        String::new()
    } else {
        format!(" (of it the adapter's {adapter:+.3})")
    };
    writeln!(
        out,
        "       {}",
        faint(format!("{:.3} {moved:+.3}{lora}, {from}, {why}", one.score))
    )
}

fn request(out: &mut impl Write, run: &RunTold) -> io::Result<()> {
    let plans = run.plans.iter().map(|tried| {
        let mark = if tried.worked { "ok" } else { "failed" };
        format!("{} {mark}", tried.plan)
    });
    let plans: Vec<String> = plans.collect();
    writeln!(out, "    {}", run.request)?;
    let reason = run.plans.first().map_or("", |first| first.reason.as_str());
    let line = format!("{}  ({reason})", plans.join(", then "));
    writeln!(out, "       {}", faint(line))
}

fn trace(out: &mut impl Write, turns: &[Turn]) -> io::Result<()> {
    writeln!(
        out,
        "\n{}",
        title("the last run, turn by turn: what of memory was injected")
    )?;
    for turn in turns {
        let memory = match &turn.memory {
            RecallStatus::Answered => format!(
                "{}, {} in its context, asked in {:.1} ms",
                counted(turn.records.len(), "record"),
                counted(turn.injected_bytes, "byte"),
                turn.recall_us as f64 / 1e3
            ),
            RecallStatus::Off => "no memory".to_owned(),
            RecallStatus::Late => "memory was late".to_owned(),
            RecallStatus::Failed(why) => format!("memory failed: {why}"),
        };
        writeln!(out, "  {:>2}  {:<11} {memory}", turn.number, turn.actor)?;
    }
    Ok(())
}
