//! `reprise recall`: one question for a person, or a file of questions for a program.

mod show;

use std::io::BufWriter;

use reprise_operations::operations::recall::{self, Recalled};
use reprise_operations::{Bounds, QueryLine};
use reprise_types::RecallScope;

use crate::args::RecallArguments;
use crate::cli::prelude::*;

pub(super) use show::{Detail, print};

pub(super) fn run(context: &Context, arguments: &RecallArguments) -> anyhow::Result<Exit> {
    if !arguments.text.is_empty() {
        let text = arguments.text.join(" ");
        RecallRequest::new(text).check()?;
    }
    let user = &arguments.whose.user;
    let is_new = !store::exists(context, user)?;
    let session = Session::open(context, user, Effect::Reads)?;
    let mut asked = arguments.asked.clone();
    asked.filter.project = project::named(context, &session, asked.filter.project.as_deref())?;
    let asker = Asker { asked, session };
    let found = answered(context, arguments, &asker)?;
    drop(asker);
    super::trust::hint(context, user);
    if is_new && arguments.asked.scope != Some(RecallScope::Global) {
        tell!("user `{user}` has no memory yet; `reprise learn` makes one");
        // A slip in the name is nothing done, but others' knowledge may have answered.
        if !found.anything {
            return Ok(Exit::Failed);
        }
    }
    Ok(output::exit(found.refused == 0))
}

/// What came of the questions.
#[derive(Debug, Default)]
struct Found {
    /// Something was brought back.
    anything: bool,
    /// Questions that could not be asked.
    refused: u64,
}

fn answered(
    context: &Context,
    arguments: &RecallArguments,
    asker: &Asker,
) -> anyhow::Result<Found> {
    if let Some(file) = &arguments.queries {
        return batch(asker, file);
    }
    let detail = if arguments.why {
        Detail::Signals
    } else {
        Detail::Reason
    };
    let found = asker.ask(&arguments.text.join(" "), None)?;
    output::print(context, &found, |out| {
        match &found {
            Recalled::Context(block) if block.text.is_empty() => {}
            Recalled::Context(block) => writeln!(out, "{}", block.text)?,
            Recalled::Answer(answer) => {
                print(out, answer, SystemClock.now(), Page::stdout(), detail)?;
                let (elapsed, considered) = (answer.elapsed_ms, answer.considered);
                let cost = format!("{elapsed:.1} ms, {considered} considered");
                writeln!(out, "{}", terminal::faint(cost))?;
            }
        }
        Ok(())
    })?;
    let anything = match &found {
        Recalled::Context(block) => !block.text.is_empty(),
        Recalled::Answer(answer) => !answer.results.is_empty(),
    };
    Ok(Found {
        anything,
        refused: 0,
    })
}

/// Asks one question after the other.
struct Asker {
    /// The arguments, but for the question.
    asked: recall::RecallArguments,
    session: Session,
}

impl Asker {
    /// What memory says. `handed` is the question's vector where the caller has one.
    fn ask(&self, text: &str, handed: Option<Embedding>) -> anyhow::Result<Recalled> {
        let (embedding_space, embedding) = handed.map(|e| (e.space, e.vector)).unzip();
        let asked = recall::RecallArguments {
            query: text.to_owned(),
            embedding,
            embedding_space,
            ..self.asked.clone()
        };
        Ok(self.session.call::<recall::Recall>(asked)?)
    }
}

fn batch(asker: &Asker, file: &Path) -> anyhow::Result<Found> {
    let mut out = BufWriter::new(crate::printer::stdout());
    let mut found = Found::default();
    for line in jsonl(BufReader::new(input::open(file)?)) {
        let (number, line) = line?;
        let query = line.and_then(|line| {
            let line = QueryLine::read(&line)?;
            let vector = line.vector()?;
            let asked = RecallRequest::new(line.query.as_str()).check();
            asked.map_err(|error| error.to_string())?;
            Bounds::of::<recall::RecallArguments>().check(&json!({ "query": line.query }))?;
            Ok((line, vector))
        });
        match query {
            Ok((line, vector)) => {
                let Recalled::Answer(mut answer) = asker.ask(&line.query, vector)? else {
                    anyhow::bail!("memory answered with a text; report this");
                };
                answer.query_id = Some(line.query_id);
                found.anything |= !answer.results.is_empty();
                serde_json::to_writer(&mut out, &answer)?;
                out.write_all(b"\n")?;
            }
            Err(why) => {
                found.refused += 1;
                tell!("line {number} was passed over: {why}");
            }
        }
    }
    out.flush()?;
    Ok(found)
}
