//! What three weeks told, for programs, and for a person at a terminal.

use reprise_sandbox::{RecallStatus, RunStatus, Turn};
use reprise_types::LearnedMove;

use crate::cli::prelude::*;
use crate::terminal::{faint, one_line, title};

/// Teachers named of one memory.
const TEACHERS: usize = 2;
/// Below this a score is called unmoved.
const MOVED: f32 = 0.0005;

/// The story as it went.
#[derive(Debug, Serialize)]
pub(super) struct Story {
    pub(super) weeks: Vec<WeekTold>,
    /// The turns of the last run, with what of memory was injected into each (M42).
    pub(super) trace: Vec<Turn>,
    pub(super) learning: Learned,
}

#[derive(Debug, Serialize)]
pub(super) struct WeekTold {
    pub(super) week: usize,
    pub(super) title: &'static str,
    /// What is asked of memory before the week begins, ...
    pub(super) question: &'static str,
    /// ... and what it says: the findings and patterns, best first.
    pub(super) recall: Vec<Remembered>,
    /// The weeks that its twenty best are from.
    pub(super) brings_back: BTreeSet<usize>,
    pub(super) runs: Vec<RunTold>,
    /// Requests done with the first plan.
    pub(super) first_try: usize,
    /// The same on a host without memory.
    pub(super) first_try_without_memory: usize,
}

/// One memory of a week's question.
#[derive(Debug, Serialize)]
pub(super) struct Remembered {
    pub(super) text: String,
    /// Before learning, and after.
    pub(super) score: f32,
    pub(super) sona_score: f32,
    /// The week that it is from.
    pub(super) week: Option<usize>,
    /// What evidence and the adapter added.
    pub(super) learning: Option<LearnedMove>,
    /// Its place among those asked for without what was learned, from 1.
    pub(super) place_before: usize,
    /// Runs that moved it, heaviest first.
    pub(super) taught_by: Vec<Taught>,
}

#[derive(Debug, Serialize)]
pub(super) struct Taught {
    pub(super) request: String,
    pub(super) quality: f32,
    pub(super) similarity: f32,
}

#[derive(Debug, Serialize)]
pub(super) struct RunTold {
    pub(super) request: &'static str,
    pub(super) status: RunStatus,
    pub(super) plans: Vec<PlanTold>,
    /// Memories that the first plan was made from.
    pub(super) used: usize,
    /// Turns of the conductor and its workers, and those of them with memory in their context.
    pub(super) turns: usize,
    pub(super) turns_with_memory: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct PlanTold {
    pub(super) plan: String,
    pub(super) reason: String,
    pub(super) worked: bool,
    pub(super) outcome: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Learned {
    pub(super) runs: u64,
    pub(super) evidence_gate: f32,
    pub(super) adapter_gate: f32,
    pub(super) cap: f32,
}

impl RunTold {
    pub(super) fn at_first_try(&self) -> bool {
        self.status == RunStatus::Completed && self.plans.len() == 1
    }
}

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
