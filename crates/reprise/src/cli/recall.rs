//! `reprise recall`: one question for a person, or a file of questions for a program.

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::time::Instant;

use chrono::{DateTime, Utc};
use reprise_embed::EmbedderFactory;
use reprise_engine::{Snapshot, TokenCounter, context_block, context_candidates, subject};
use reprise_store::Verify;
use reprise_types::{
    Clock, Degraded, Embedder, EmbeddingSpace, LearnedMove, MemoryFilter, Recall, RecallId,
    RecallRequest, SystemClock, TaughtBy,
};

use super::store::{self, Access};
use super::{Context, model};
use crate::args::RecallArguments;
use crate::exit::Exit;
use crate::lines::{AnswerLine, Lines, QueryLine};
use crate::terminal;

pub(super) fn run(context: &Context, arguments: &RecallArguments) -> anyhow::Result<Exit> {
    let (mut engine, _) = store::open(context, &arguments.user, Access::Read, Verify::Tail)?;
    if arguments.queries.is_some() {
        // Worth it for many questions; one is answered sooner without.
        engine.load()?;
    }
    let factory = model::factory(context);
    let embedder = factory.as_ref().map(EmbedderFactory::open).transpose()?;
    let mut asker = Asker {
        snapshot: engine.snapshot(),
        embedder,
    };
    if let (Some(text), Some(budget)) = (&arguments.text, arguments.budget) {
        let request = RecallRequest {
            top_k: context_candidates(budget),
            ..request(arguments, text)
        };
        let recall = asker.ask(&request, None)?;
        return print_block(context, &recall, budget, factory.as_ref());
    }
    match (&arguments.text, &arguments.queries) {
        (Some(text), _) => {
            let started = Instant::now();
            let recall = asker.ask(&request(arguments, text), None)?;
            let elapsed_ms = started.elapsed().as_secs_f64() * 1e3;
            let mut out = anstream::stdout().lock();
            if context.json {
                serde_json::to_writer(&mut out, &AnswerLine::new(None, recall, elapsed_ms))?;
                writeln!(out)?;
            } else {
                print(&mut out, &recall, SystemClock.now())?;
                let cost = format!("{elapsed_ms:.1} ms, {} considered", recall.considered);
                writeln!(out, "{}", terminal::faint(cost))?;
            }
            Ok(Exit::Success)
        }
        (None, Some(file)) => batch(&mut asker, arguments, file),
        (None, None) => anyhow::bail!("pass a text or --queries FILE"),
    }
}

/// Memory as one text for a prompt.
fn print_block(
    context: &Context,
    recall: &Recall,
    budget: usize,
    factory: Option<&EmbedderFactory>,
) -> anyhow::Result<Exit> {
    let count = |text: &str| {
        let counted = factory.and_then(|factory| factory.count_tokens(text).ok());
        counted.unwrap_or(text.len())
    };
    let counter = match factory {
        Some(_) => TokenCounter::Model(&count),
        None => TokenCounter::BytesOverFour,
    };
    let block = context_block(recall, budget, counter);
    let mut out = anstream::stdout().lock();
    if context.json {
        serde_json::to_writer(&mut out, &block)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", block.text)?;
    }
    Ok(Exit::Success)
}

/// A snapshot and what embeds the questions to it.
struct Asker {
    snapshot: std::sync::Arc<Snapshot>,
    embedder: Option<Box<dyn Embedder>>,
}

impl Asker {
    /// `handed` is the question's vector where the caller has one.
    fn ask(
        &mut self,
        request: &RecallRequest,
        handed: Option<(EmbeddingSpace, Vec<f32>)>,
    ) -> anyhow::Result<Recall> {
        let vector = match &mut self.embedder {
            _ if handed.is_some() => handed,
            Some(embedder) => Some((
                embedder.space().clone(),
                embedder.embed(&subject(&request.query))?,
            )),
            None => None,
        };
        let query = vector
            .as_ref()
            .map(|(space, vector)| (space, vector.as_slice()));
        let now = u64::try_from(SystemClock.now().timestamp_millis()).unwrap_or(0);
        let id = RecallId::from_parts(now, store::entropy()?);
        let learning = self.snapshot.learner().as_ref();
        Ok(self.snapshot.recall(request, query, id, learning))
    }
}

fn request(arguments: &RecallArguments, query: &str) -> RecallRequest {
    let given = |list: &[_]| (!list.is_empty()).then(|| list.to_vec());
    RecallRequest {
        query: query.to_owned(),
        top_k: arguments.top_k,
        filter: MemoryFilter {
            kinds: given(&arguments.kind),
            sources: (!arguments.source.is_empty()).then(|| arguments.source.clone()),
            since: arguments.since,
            until: arguments.until,
            session_id: arguments.session.clone(),
            tags: (!arguments.tag.is_empty()).then(|| arguments.tag.clone()),
        },
        as_of: arguments.as_of,
    }
}

fn batch(asker: &mut Asker, arguments: &RecallArguments, file: &Path) -> anyhow::Result<Exit> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut refused = 0_u64;
    for line in Lines::new(BufReader::new(open(file)?)) {
        let (number, line) = line?;
        let query = line.and_then(|line| {
            let line: QueryLine = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            let vector = line.vector()?;
            Ok((line, vector))
        });
        match query {
            Ok((line, vector)) => {
                let started = Instant::now();
                let recall = asker.ask(&request(arguments, &line.query), vector)?;
                let elapsed_ms = started.elapsed().as_secs_f64() * 1e3;
                let answer = AnswerLine::new(Some(line.query_id), recall, elapsed_ms);
                serde_json::to_writer(&mut out, &answer)?;
                out.write_all(b"\n")?;
            }
            Err(why) => {
                refused += 1;
                super::note(&format!("line {number} was passed over: {why}"));
            }
        }
    }
    out.flush()?;
    Ok(if refused == 0 {
        Exit::Success
    } else {
        Exit::Refused
    })
}

/// A file, or standard input for `-`.
pub(super) fn open(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    Ok(Box::new(fs_err::File::open(file)?))
}

/// An answer as a person reads it.
pub(super) fn print(
    out: &mut impl Write,
    recall: &Recall,
    now: DateTime<Utc>,
) -> std::io::Result<()> {
    if recall.results.is_empty() {
        writeln!(out, "nothing comes to mind")?;
    } else if recall.nothing_relevant {
        writeln!(out, "nothing here is likely to answer that; the nearest:")?;
    }
    for (rank, found) in (1..).zip(&recall.results) {
        let record = &found.record;
        writeln!(
            out,
            "{rank:>2}  {}  {}",
            terminal::score(found.sona_score),
            terminal::title(terminal::one_line(&record.text, 76))
        )?;
        let mut facts = vec![
            terminal::ago(record.timestamp, now),
            record.kind.to_string(),
        ];
        if !record.session_id.is_empty() {
            facts.push(format!("session {}", record.session_id));
        }
        facts.push(record.id.to_string());
        writeln!(out, "      {}", terminal::faint(facts.join(" | ")))?;
        writeln!(out, "      {}", terminal::faint(reason(found)))?;
    }
    for degraded in &recall.degraded {
        writeln!(out, "{}", terminal::faint(degraded_line(*degraded)))?;
    }
    Ok(())
}

fn degraded_line(degraded: Degraded) -> String {
    format!("degraded: {}", degraded.sentence())
}

/// Reasons that a line has room for.
const REASONS: usize = 5;

/// `because meaning +2.1, session +0.9; words: auth, race`: what speaks most for it. A speaker whom
/// the question does not name is no reason.
fn reason(found: &reprise_types::RetrievedMemory) -> String {
    let mut signals: Vec<_> = found
        .why
        .signals
        .iter()
        .filter(|signal| signal.name != "base_rate" && signal.contribution > 0.05)
        .filter(|signal| signal.name != "speaker" || signal.value > 0.5)
        .collect();
    signals.sort_by(|a, b| b.contribution.total_cmp(&a.contribution));
    let parts: Vec<String> = signals
        .iter()
        .take(REASONS)
        .map(|signal| {
            format!(
                "{} +{:.1}",
                signal.name.replace('_', " "),
                signal.contribution
            )
        })
        .collect();
    let mut text = format!("because {}", parts.join(", "));
    if let Some(learned) = &found.why.learning {
        text.push_str(&lesson(learned, &found.why.taught_by));
    }
    if !found.why.matched_words.is_empty() {
        text.push_str("; words: ");
        text.push_str(&found.why.matched_words.join(", "));
    }
    text
}

/// `; learned +0.08: 3 similar runs that used it scored 0.90`.
fn lesson(learned: &LearnedMove, runs: &[TaughtBy]) -> String {
    let moved = format!("; learned {:+.2}", learned.adjustment);
    if runs.is_empty() {
        return format!("{moved} from runs that used others like it");
    }
    let (count, total) = (runs.len(), runs.iter().map(|run| run.quality).sum::<f32>());
    let what = if count == 1 { "run" } else { "runs" };
    let mean = total / count as f32;
    format!("{moved}: {count} similar {what} that used it scored {mean:.2}")
}
