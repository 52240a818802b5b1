//! `reprise learn`: what was learned from outcomes, why a record moves, and the switches; and
//! `reprise outcome`: how runs went, a JSONL line each.

use reprise_engine::question_vector;
use reprise_operations::operations::learning::{
    self, Learning, LearningAction, Outcome, WithdrawOutcome,
};
use reprise_operations::{OutcomeLine, OutcomeReport, from_json};
use reprise_types::RunPattern;

use crate::args::{
    ExplainArguments, LearnCommand, OutcomeArguments, PlotArguments, ResetArguments,
};
use crate::cli::prelude::*;

/// Characters of a step's result that are shown.
const STEP_CHARS: usize = 100;
/// Of a picture.
const WIDTH: f32 = 900.0;
const HEIGHT: f32 = 320.0;
/// Room for the axes on every side.
const EDGE: f32 = 40.0;
/// Runs of the running mean.
const WINDOW: usize = 25;

pub(super) fn run(context: &Context, command: &LearnCommand) -> anyhow::Result<Exit> {
    match command {
        LearnCommand::Status(arguments) => status(context, arguments),
        LearnCommand::Explain(arguments) => explain(context, arguments),
        LearnCommand::Replay(arguments) => replay(context, arguments),
        LearnCommand::Reset(arguments) => reset(context, arguments),
        LearnCommand::Withdraw(asked) => {
            output::run::<WithdrawOutcome>(context, &asked.whose, asked.asked.clone())
        }
        LearnCommand::Off(arguments) => govern(context, arguments, LearningAction::Off),
        LearnCommand::On(arguments) => govern(context, arguments, LearningAction::On),
        LearnCommand::Plot(arguments) => draw(context, arguments),
    }
}

fn status(context: &Context, arguments: &WhoseArguments) -> anyhow::Result<Exit> {
    let engine = store::read(context, &arguments.user)?;
    let learning = engine.learning();
    let status = learning.status();
    let patterns = learning.learner().patterns();
    let sona = engine.compare_sona(&engine.sona_file())?;
    let sona = format!("{sona:?}").to_lowercase();
    let all = json!({ "status": status, "patterns": patterns, "sona_json": sona });
    output::print(context, &all, |out| {
        let state = if status.on { "on" } else { "off" };
        writeln!(out, "{}", terminal::title(format!("learning is {state}")))?;
        writeln!(
            out,
            "runs        {} ended, {} under way",
            status.runs, status.open_runs
        )?;
        writeln!(out, "records     {} used by some run", status.records)?;
        writeln!(out, "cap         {:.3}", status.cap)?;
        for (name, gate, t) in [
            ("evidence", status.evidence_gate, status.evidence_t),
            ("adapter", status.adapter_gate, status.adapter_t),
        ] {
            writeln!(
                out,
                "{name:<11} gate {gate:.2}, t {t:.1} (opens from 1.8 to 2.2)"
            )?;
        }
        writeln!(
            out,
            "adapter     fitted on {}",
            counted(status.consolidated_runs, "run")
        )?;
        for pattern in patterns.iter().take(5) {
            let (runs, quality) = (counted(pattern.runs, "run"), pattern.quality);
            let example = &pattern.example_run;
            writeln!(
                out,
                "pattern     {runs} of quality {quality:.2}, such as `{example}`"
            )?;
            steps(out, &engine, pattern)?;
        }
        let digest = terminal::faint(format!("digest {}", status.digest));
        Ok(writeln!(out, "{digest}")?)
    })
}

/// The reasoning chain of a pattern, with what came of each step.
fn steps(out: &mut impl Write, engine: &Engine, pattern: &RunPattern) -> io::Result<()> {
    let memory = engine.snapshot();
    for (number, step) in (1..).zip(&pattern.chain) {
        let result = step.result.and_then(|id| memory.get(id)?.ok());
        let words = result.map(|record| record.body.text);
        let text: String = words.unwrap_or_default().chars().take(STEP_CHARS).collect();
        let text = match text.lines().next() {
            Some(line) => format!(": {line}"),
            None => String::new(),
        };
        writeln!(out, "            {number}. {}{text}", step.action)?;
    }
    Ok(())
}

fn explain(context: &Context, arguments: &ExplainArguments) -> anyhow::Result<Exit> {
    let engine = store::read(context, &arguments.whose.user)?;
    let record = store::record_named(&engine, &arguments.record)?;
    let for_user = context.of_user(&arguments.whose.user);
    let query = question(&for_user, &engine, &arguments.question)?;
    let why = engine.explain_learning(&query, record);
    let pattern = engine.learning().learner().pattern_of(&query);
    output::print(context, &why, |out| {
        writeln!(
            out,
            "{} of at most {:.3}",
            terminal::title(format!("moved by {:+.3}", why.adjustment)),
            why.cap
        )?;
        for (name, value, gate, part) in [
            (
                "evidence",
                why.evidence,
                why.evidence_gate,
                why.evidence_part,
            ),
            ("adapter", why.adapter, why.adapter_gate, why.adapter_part),
        ] {
            writeln!(
                out,
                "{name:<9} expects {value:+.3}, gate {gate:.2}: {part:+.3}"
            )?;
        }
        if why.runs.is_empty() {
            writeln!(out, "no run with a question like this has used it")?;
        }
        for run in why.runs.iter().take(10) {
            writeln!(
                out,
                "  quality {:.2} (expected {:.2}), question {:.2} alike, weight {:.2}: {}",
                run.quality, run.expected, run.similarity, run.weight, run.run_id
            )?;
        }
        if let Some(pattern) = pattern {
            writeln!(out, "runs like this, {} of them, went by", pattern.runs)?;
            steps(out, &engine, &pattern)?;
        }
        Ok(())
    })
}

/// The vector of a remembered recall's question, or of the words themselves.
fn question(context: &Context, engine: &Engine, said: &str) -> anyhow::Result<Vec<f32>> {
    if let Ok(id) = said.parse::<RecallId>() {
        let receipt = engine.learning().receipt(id);
        let Some(query) = receipt.and_then(|receipt| receipt.query.clone()) else {
            bail!("recall {id} is not remembered; pass its question instead");
        };
        return Ok(query.vector);
    }
    let Some(factory) = model::factory(context) else {
        bail!("a question needs the model; run `reprise models pull`");
    };
    Ok(question_vector(&mut *factory.open()?, said)?.vector)
}

fn replay(context: &Context, arguments: &WhoseArguments) -> anyhow::Result<Exit> {
    let (mut engine, _) = store::open(context, &arguments.user, Access::Write, Verify::Tail)?;
    let before = engine.learning().digest();
    engine.rebuild()?;
    let status = engine.learning().status();
    let sona = engine.refresh_sona()?;
    engine.close()?;
    let same = before == status.digest;
    let (digest, runs, sona) = (&status.digest, status.runs, sona.sentence());
    let report = json!({ "same": same, "digest": digest, "runs": runs, "sona_json": sona });
    let verdict = if same {
        "the same state"
    } else {
        "another state, now in force"
    };
    let digest = terminal::faint(format!("digest {digest}"));
    let runs = counted(runs, "run");
    let lines = format!("{runs} replayed: {verdict}\n{sona}\n{digest}");
    output::line(context, &report, lines)?;
    Ok(output::exit(same))
}

fn reset(context: &Context, arguments: &ResetArguments) -> anyhow::Result<Exit> {
    let user = &arguments.whose.user;
    let asked = format!("Throw away everything that `{user}` learned from outcomes?");
    let refusal = "nothing was reset; pass --yes to throw away everything learned";
    if !arguments.yes && !agreed(&asked, refusal)? {
        note("nothing was reset");
        return Ok(Exit::Refused);
    }
    govern(context, &arguments.whose, LearningAction::Reset)
}

fn govern(
    context: &Context,
    arguments: &WhoseArguments,
    action: LearningAction,
) -> anyhow::Result<Exit> {
    let done = match action {
        LearningAction::Reset => "learning starts anew",
        LearningAction::Off => "adjustments are off",
        LearningAction::On => "adjustments are on",
    };
    let session = Session::open(context, &arguments.user, Learning::SPEC.effect)?;
    session.call::<Learning>(learning::LearningArguments { action })?;
    session.settle()?;
    drop(session);
    output::line(context, &json!({ "done": done }), done)
}

fn draw(context: &Context, arguments: &PlotArguments) -> anyhow::Result<Exit> {
    let engine = store::read(context, &arguments.whose.user)?;
    let learner = engine.learning().learner();
    let curve: Vec<(f32, f32)> = learner.curve().collect();
    let svg = svg(&curve);
    match &arguments.out {
        Some(file) => {
            let is_own = || {
                let found = fs_err::read_to_string(file);
                found.is_ok_and(|found| is_drawn(&found))
            };
            if file.is_file() && !arguments.force && !is_own() {
                whole::is_free(file)?;
            }
            fs_err::write(file, svg)?;
        }
        None => crate::printer::stdout_of_bytes().write_all(svg.as_bytes())?,
    }
    Ok(Exit::Success)
}

/// Each accepted line is on disk when it is counted; a refused one changes nothing.
pub(super) fn outcome(context: &Context, arguments: &OutcomeArguments) -> anyhow::Result<Exit> {
    let input = BufReader::new(input::open(&arguments.jsonl)?);
    let user = &arguments.whose.user;
    anyhow::ensure!(
        store::exists(context, user)?,
        "user `{user}` has no memory yet; `reprise ingest` makes one"
    );
    let session = Session::open(context, user, Outcome::SPEC.effect)?;
    let mut total = OutcomeReport::default();
    for line in jsonl(input) {
        let (number, line) = line?;
        let line = line.and_then(|line| from_json::<OutcomeLine>(line.as_bytes()));
        let said = match line.map(|line| session.call::<Outcome>(line)) {
            Ok(Err(problem)) if !is_of_line(&problem) => return Err(problem.into()),
            Ok(said) => said.map_err(|problem| problem.to_string()),
            Err(why) => Err(why),
        };
        match said {
            Ok(said) => {
                total = OutcomeReport {
                    learned: total.learned + said.learned,
                    known: total.known + said.known,
                    refused: total.refused,
                    ..said
                };
            }
            Err(why) => {
                total.refused += 1;
                tell!("line {number} was refused: {why}");
            }
        }
    }
    session.settle()?;
    drop(session);
    let (known, refused) = (total.known, total.refused);
    let learned = counted(total.learned, "run");
    let line = format!("{learned} learned from, {known} known already, {refused} refused");
    output::for_pipes(context, &total, line)?;
    Ok(output::exit(refused == 0))
}

/// Whether the line is at fault, and not memory.
fn is_of_line(problem: &Problem) -> bool {
    matches!(problem.kind, ProblemKind::Invalid | ProblemKind::NotFound)
}

/// Quality over time as a picture, an SVG of runs in order with quality and expectation of each,
/// 0..1: each run a dot, the running mean of quality, and of what was expected of it.
fn svg(curve: &[(f32, f32)]) -> String {
    let step = (WIDTH - 2.0 * EDGE) / curve.len().saturating_sub(1).max(1) as f32;
    let x = |run: usize| EDGE + run as f32 * step;
    let y = |value: f32| HEIGHT - EDGE - value.clamp(0.0, 1.0) * (HEIGHT - 2.0 * EDGE);
    let mut out = vec![svg_head() + "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"];
    for tenths in (0..=10_u8).step_by(2) {
        let value = f32::from(tenths) / 10.0;
        let height = y(value);
        out.push(format!(
            "<path d=\"M{EDGE} {height}H{}\" stroke=\"#ddd\"/>\
             <text x=\"8\" y=\"{}\">{value:.1}</text>\n",
            WIDTH - EDGE,
            height + 4.0
        ));
    }
    for (run, (quality, _)) in curve.iter().enumerate() {
        out.push(format!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2\" fill=\"#bbb\"/>\n",
            x(run),
            y(*quality)
        ));
    }
    let quality: Vec<f32> = curve.iter().map(|run| run.0).collect();
    let expected: Vec<f32> = curve.iter().map(|run| run.1).collect();
    let lines = [("quality", "#06c", quality), ("expected", "#c60", expected)];
    for (place, (name, colour, values)) in lines.into_iter().enumerate() {
        let points: Vec<String> = (0..values.len())
            .map(|run| {
                let window = &values[run.saturating_sub(WINDOW - 1)..=run];
                let mean = window.iter().sum::<f32>() / window.len() as f32;
                format!("{:.1},{:.1}", x(run), y(mean))
            })
            .collect();
        let (points, legend) = (points.join(" "), EDGE + 100.0 * place as f32);
        out.push(format!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"2\"/>\
             <text x=\"{legend}\" y=\"24\" fill=\"{colour}\">{name}</text>\n"
        ));
    }
    out.push(format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}{}",
        WIDTH - EDGE,
        HEIGHT - 12.0,
        curve.len(),
        svg_tail()
    ));
    out.concat()
}

/// Whether a text was drawn here.
fn is_drawn(svg: &str) -> bool {
    svg.starts_with(&svg_head()) && svg.ends_with(&svg_tail())
}

fn svg_head() -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n"
    )
}

fn svg_tail() -> String {
    format!(" runs, mean of {WINDOW}</text>\n</svg>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_a_dot_and_none_is_a_picture_too() {
        let drawn = svg(&[(0.2, 0.5), (0.9, 0.5), (1.0, 0.6)]);
        assert_eq!(drawn.matches("<circle").count(), 3);
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert!(!drawn.contains("NaN") && !svg(&[]).contains("NaN"));
        assert!(svg(&[]).ends_with("</svg>\n"));
        assert!(is_drawn(&drawn) && is_drawn(&svg(&[])) && !is_drawn("<svg></svg>\n"));
    }
}
