//! `reprise outcome`: reports how runs went, shows what was learned from them and why a memory's
//! score changes, and turns learning on or off.

use reprise_engine::embed_question;
use reprise_operations::operations::outcomes::{self, Learning, LearningAction, Outcome};
use reprise_operations::{OutcomeLine, OutcomeReport, parse_lenient_json};
use reprise_types::RunPattern;
use reprise_types::limits::LEARNING_RUNS_MIN;

use crate::args::{
    ExplainArguments, OutcomeArguments, OutcomeCommand, PlotArguments, ResetArguments,
};
use crate::cli::prelude::*;

/// Most characters that are printed of a step's result.
const STEP_CHARS: usize = 100;
/// Size of the plot, in units of the SVG.
const WIDTH: f32 = 900.0;
const HEIGHT: f32 = 320.0;
/// Margin for the axes on every side.
const EDGE: f32 = 40.0;
/// Number of runs in the running mean.
const WINDOW: usize = 25;

pub(super) fn run(context: &Context, arguments: OutcomeArguments) -> anyhow::Result<Exit> {
    let Some(command) = arguments.command else {
        return report_outcomes(context, &arguments);
    };
    match command {
        OutcomeCommand::Status(arguments) => print_status(context, &arguments),
        OutcomeCommand::Explain(arguments) => explain(context, &arguments),
        OutcomeCommand::Replay(arguments) => replay_runs(context, &arguments),
        OutcomeCommand::Reset(arguments) => reset(context, &arguments),
        OutcomeCommand::Withdrawing(command) => command.run_with(context),
        OutcomeCommand::Off(arguments) => {
            apply_learning_action(context, &arguments, LearningAction::Off)
        }
        OutcomeCommand::On(arguments) => {
            apply_learning_action(context, &arguments, LearningAction::On)
        }
        OutcomeCommand::Plot(arguments) => plot_quality(context, &arguments),
    }
}

fn print_status(context: &Context, arguments: &WhoseArguments) -> anyhow::Result<Exit> {
    let engine = store::open_for_reading(context, &arguments.user)?;
    let learning = engine.learning_state();
    let status = learning.status();
    let patterns = learning.learner().patterns();
    let sona = engine.compare_sona(&engine.sona_file())?;
    let sona = format!("{sona:?}").to_lowercase();
    let mut all = json!({ "status": status, "patterns": patterns, "sona_json": sona });
    all["status"]["digest"] = learning.digest().into();
    output::print(context, &all, |out| {
        let state = if status.on { "on" } else { "off" };
        writeln!(out, "{}", terminal::title(format!("learning is {state}")))?;
        let gates = [status.evidence_gate, status.adapter_gate];
        writeln!(out, "{}", describe_effect(status.runs, gates, status.cap))?;
        writeln!(
            out,
            "runs        {} finished, {} under way",
            status.runs, status.open_runs
        )?;
        writeln!(out, "memories    {} used by a run", status.records)?;
        for pattern in patterns.iter().take(5) {
            let (runs, quality) = (format_count(pattern.runs, "run"), pattern.quality);
            let example = &pattern.example_run;
            writeln!(
                out,
                "pattern     {runs} of quality {quality:.2}, such as `{example}`"
            )?;
            print_steps(out, &engine, pattern)?;
        }
        Ok(())
    })
}

/// Says in a sentence how far scores are changed, given the finished runs, how far the two learners
/// are trusted, 0..1, and the largest change.
fn describe_effect(runs: u64, gates: [f32; 2], cap: f32) -> String {
    let finished = format_count(runs, "finished run");
    if gates.iter().any(|gate| *gate > 0.0) {
        return format!("Scores change by up to {cap:.3}, learned from {finished}.");
    }
    if runs < u64::from(LEARNING_RUNS_MIN) {
        return format!(
            "No score has changed yet: {LEARNING_RUNS_MIN} finished runs are needed, {runs} so far."
        );
    }
    format!("No score has changed yet: {finished} do not show clearly which memories help.")
}

/// Prints the steps of a pattern with their results.
fn print_steps(out: &mut impl Write, engine: &Engine, pattern: &RunPattern) -> io::Result<()> {
    let memory = engine.snapshot();
    for (number, step) in (1..).zip(&pattern.chain) {
        let result = step.result.and_then(|id| memory.get(id)?.ok());
        let words = result.map(|record| record.body.text);
        let text: String = words.unwrap_or_default().chars().take(STEP_CHARS).collect();
        let text = match text.lines().next() {
            // A report repeats what was to be done.
            Some(line) if line.starts_with(step.action.as_str()) => line.to_owned(),
            Some(line) => format!("{}: {line}", step.action),
            None => step.action.clone(),
        };
        writeln!(out, "            {number}. {text}")?;
    }
    Ok(())
}

fn explain(context: &Context, arguments: &ExplainArguments) -> anyhow::Result<Exit> {
    let engine = store::open_for_reading(context, &arguments.whose.user)?;
    let record = store::find_record(&engine.snapshot(), &arguments.record)?;
    let for_user = context.of_user(&arguments.whose.user);
    let query = find_question_vector(&for_user, &engine, &arguments.question)?;
    let why = engine.explain_learning(&query, record);
    let pattern = engine.learning_state().learner().find_pattern(&query);
    let runs = engine.learning_state().status().runs;
    output::print(context, &why, |out| {
        writeln!(
            out,
            "{}, at most {:.3}",
            terminal::title(format!("score changed by {:+.3}", why.adjustment)),
            why.cap
        )?;
        let gates = [why.evidence_gate, why.adapter_gate];
        writeln!(out, "{}", describe_effect(runs, gates, why.cap))?;
        for (name, part) in [
            ("runs that used it", why.evidence_part),
            ("runs with similar memories", why.adapter_part),
        ] {
            if part != 0.0 {
                writeln!(out, "  {part:+.3} from {name}")?;
            }
        }
        if why.runs.is_empty() {
            writeln!(out, "no run used it for a question like this")?;
        } else {
            writeln!(out, "runs that used it for a question like this:")?;
        }
        for run in why.runs.iter().take(10) {
            writeln!(
                out,
                "  {}: quality {:.2}, expected {:.2}, question {:.0} % similar",
                run.run_id,
                run.quality,
                run.expected,
                100.0 * run.similarity
            )?;
        }
        if let Some(pattern) = pattern {
            writeln!(out, "{} similar runs took these steps", pattern.runs)?;
            print_steps(out, &engine, &pattern)?;
        }
        Ok(())
    })
}

/// Returns the vector of a recall's question by its id, or embeds the words themselves.
fn find_question_vector(
    context: &Context,
    engine: &Engine,
    said: &str,
) -> anyhow::Result<Vec<f32>> {
    if let Ok(id) = said.parse::<RecallId>() {
        let receipt = engine.learning_state().find_receipt(id);
        let Some(query) = receipt.and_then(|receipt| receipt.query.clone()) else {
            bail!("unknown recall {id}; give its question instead");
        };
        return Ok(query.vector);
    }
    let Some(factory) = model::factory(context) else {
        bail!("a question needs the model; run `reprise doctor models pull`");
    };
    Ok(embed_question(&mut *factory.open()?, said)?.vector)
}

fn replay_runs(context: &Context, arguments: &WhoseArguments) -> anyhow::Result<Exit> {
    let (mut engine, _) = store::open(context, &arguments.user, Access::Write, Verify::Tail)?;
    let before = engine.learning_state().digest();
    engine.rebuild()?;
    let digest = engine.learning_state().digest();
    let runs = engine.learning_state().status().runs;
    let sona = engine.refresh_sona()?;
    engine.close()?;
    let (same, sona) = (before == digest, sona.message());
    let report = json!({ "same": same, "digest": digest, "runs": runs, "sona_json": sona });
    let verdict = if same {
        "the same state"
    } else {
        "a different state, now in use"
    };
    let runs = format_count(runs, "run");
    let lines = format!("{runs} replayed: {verdict}\n{sona}");
    output::line(context, &report, lines)?;
    Ok(output::exit(same))
}

fn reset(context: &Context, arguments: &ResetArguments) -> anyhow::Result<Exit> {
    let user = &arguments.whose.user;
    let asked = format!("Delete everything that `{user}` learned from outcomes?");
    let refusal = "not a terminal: add --yes to delete everything learned";
    if !arguments.yes && !confirm(&asked, refusal)? {
        note("nothing was reset");
        return Ok(Exit::Refused);
    }
    apply_learning_action(context, &arguments.whose, LearningAction::Reset)
}

fn apply_learning_action(
    context: &Context,
    arguments: &WhoseArguments,
    action: LearningAction,
) -> anyhow::Result<Exit> {
    let done = match action {
        LearningAction::Reset => "learning starts again",
        LearningAction::Off => "learning is off: no score is adjusted; outcomes are still recorded",
        LearningAction::On => "learning is on: scores are adjusted by what helped",
    };
    let session = Session::open(context, &arguments.user, Learning::SPEC.effect)?;
    session.call::<Learning>(outcomes::LearningArguments { action })?;
    session.fit_adapter()?;
    drop(session);
    output::line(context, &json!({ "done": done }), done)
}

fn plot_quality(context: &Context, arguments: &PlotArguments) -> anyhow::Result<Exit> {
    let engine = store::open_for_reading(context, &arguments.whose.user)?;
    let learner = engine.learning_state().learner();
    let curve: Vec<(f32, f32)> = learner.quality_curve().collect();
    let svg = render_svg(&curve);
    match &arguments.out {
        Some(file) => {
            let is_own = || {
                let found = fs_err::read_to_string(file);
                found.is_ok_and(|found| is_own_svg(&found))
            };
            if file.is_file() && !arguments.force && !is_own() {
                atomic_files::ensure_free(file)?;
            }
            fs_err::write(file, svg)?;
            tell!("wrote {}", file.display());
        }
        None => crate::printer::stdout_of_bytes().write_all(svg.as_bytes())?,
    }
    Ok(Exit::Success)
}

/// Reports the outcomes of a file. An accepted line is on disk when it is counted; a refused one
/// changes nothing.
fn report_outcomes(context: &Context, arguments: &OutcomeArguments) -> anyhow::Result<Exit> {
    let file = arguments.jsonl.as_deref();
    let file = file.context("name the file of outcomes with --jsonl FILE")?;
    let input = BufReader::new(input::open(file)?);
    let user = &arguments.whose.user;
    ensure!(store::exists(context, user)?, describe_empty_memory(user));
    let session = Session::open(context, user, Outcome::SPEC.effect)?;
    let mut total = OutcomeReport::default();
    for line in jsonl(input) {
        let (number, line) = line?;
        let line = line.and_then(|line| parse_lenient_json::<OutcomeLine>(line.as_bytes()));
        let said = match line.map(|line| session.call::<Outcome>(line)) {
            Ok(Err(problem)) if !is_line_at_fault(&problem) => return Err(problem.into()),
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
                tell!("refused line {number}: {why}");
            }
        }
    }
    session.fit_adapter()?;
    drop(session);
    let (known, refused) = (total.known, total.refused);
    let learned = format_count(total.learned, "outcome");
    let runs = total.runs;
    let gates = [total.evidence_gate, total.adapter_gate];
    let mut line = format!("{learned} recorded, {known} already known, {refused} refused");
    if runs > 0 {
        line = format!("{line}\n{}", describe_effect(runs, gates, total.cap));
    }
    output::line(context, &total, line)?;
    Ok(output::exit(refused == 0))
}

/// Returns whether the line caused the problem, and not the memory.
fn is_line_at_fault(problem: &Problem) -> bool {
    matches!(problem.kind, ProblemKind::Invalid | ProblemKind::NotFound)
}

/// Renders the quality of runs over time as SVG from pairs of quality and expectation, 0..1: a dot
/// for each run, and the running means of both.
fn render_svg(curve: &[(f32, f32)]) -> String {
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

/// Returns whether an SVG was drawn by this command.
fn is_own_svg(svg: &str) -> bool {
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
        let drawn = render_svg(&[(0.2, 0.5), (0.9, 0.5), (1.0, 0.6)]);
        assert_eq!(drawn.matches("<circle").count(), 3);
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert!(!drawn.contains("NaN") && !render_svg(&[]).contains("NaN"));
        assert!(render_svg(&[]).ends_with("</svg>\n"));
        assert!(is_own_svg(&drawn) && is_own_svg(&render_svg(&[])) && !is_own_svg("<svg></svg>\n"));
    }
}
