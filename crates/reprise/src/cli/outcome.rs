//! `reprise outcome`: how runs went, a JSONL line each. Each accepted line is on disk when it is
//! counted; a refused one changes nothing.

use std::io::BufReader;

use reprise_operations::operations::learning::Outcome;
use reprise_operations::{
    Operation, OutcomeLine, OutcomeReport, Problem, ProblemKind, counted, from_json,
};

use super::session::Session;
use super::{Context, input, output, store};
use crate::args::OutcomeArguments;
use crate::exit::Exit;
use crate::lines::jsonl;

pub(super) fn run(context: &Context, arguments: &OutcomeArguments) -> anyhow::Result<Exit> {
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
                super::note(&format!("line {number} was refused: {why}"));
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
