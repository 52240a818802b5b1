//! `reprise recall`: one question for a person, or a file of questions for a program.

use std::io::BufWriter;

use reprise_engine::{excerpt, matches};
use reprise_knowledge::Lesson;
use reprise_operations::operations::recall::{self, Recalled};
use reprise_operations::{Answer, Bounds, Hit, LessonCard, QueryLine};
use reprise_types::{About, Calendar, ContextBlock, RecallScope, TaughtBy, Verdict};

use crate::args::RecallArguments;
use crate::cli::prelude::*;

/// Characters of a first line that is a title, at most.
const TITLE_CHARS: usize = 100;
/// Characters of a result that is only related.
const FOLDED_CHARS: usize = 100;
const NOTHING: &str = "nothing comes to mind";
/// Where everything but a first line begins.
const INDENT: usize = 4;
const BETWEEN: &str = " \u{b7}";

pub(super) fn run(context: &Context, arguments: &RecallArguments) -> anyhow::Result<Exit> {
    let question = arguments.text.join(" ");
    if arguments.queries.is_none() {
        RecallRequest::new(question.as_str()).check()?;
    }
    let user = &arguments.whose.user;
    let is_new = !store::exists(context, user)?;
    let session = Session::open(context, user, Effect::Reads)?;
    let mut asked = arguments.asked.clone();
    asked.filter.project = project::named(context, &session, asked.filter.project.as_deref())?;
    // What memory says. `handed` is the question's vector where the caller has one.
    let ask = |query: String, handed: Option<Embedding>| -> anyhow::Result<Recalled> {
        let (embedding_space, embedding) = handed.map(|e| (e.space, e.vector)).unzip();
        Ok(session.call::<recall::Recall>(recall::RecallArguments {
            query,
            embedding,
            embedding_space,
            ..asked.clone()
        })?)
    };
    let (has_found, refused) = match &arguments.queries {
        Some(file) => batch(file, ask)?,
        None => (answered(context, arguments, &ask(question, None)?)?, 0),
    };
    drop(session);
    super::trust::hint(context, user);
    if is_new && arguments.asked.scope != Some(RecallScope::Global) {
        tell!("user `{user}` has no memory yet; `reprise learn` makes one");
        // A slip in the name is nothing done, but others' knowledge may have answered.
        if !has_found {
            return Ok(Exit::Failed);
        }
    }
    Ok(output::exit(refused == 0))
}

/// Prints what came of one question; answers whether anything was brought back.
fn answered(
    context: &Context,
    arguments: &RecallArguments,
    found: &Recalled,
) -> anyhow::Result<bool> {
    output::print(context, found, |out| {
        match found {
            // No part of a prompt.
            Recalled::Context(block) if block.text.is_empty() => note(silence(block)),
            Recalled::Context(block) => writeln!(out, "{}", block.text)?,
            Recalled::Answer(answer) => {
                let (now, page) = (SystemClock.now(), Page::stdout());
                print(out, answer, now, page, arguments.why)?;
                let (elapsed, considered) = (answer.elapsed_ms, answer.considered);
                let cost = format!("{elapsed:.1} ms, {considered} considered");
                writeln!(out, "{}", terminal::faint(cost))?;
            }
        }
        Ok(())
    })?;
    Ok(match found {
        Recalled::Context(block) => !block.text.is_empty(),
        Recalled::Answer(answer) => !answer.results.is_empty(),
    })
}

/// Asks one question after the other. Answers whether anything was brought back, and how many could
/// not be asked.
fn batch(
    file: &Path,
    ask: impl Fn(String, Option<Embedding>) -> anyhow::Result<Recalled>,
) -> anyhow::Result<(bool, u64)> {
    let mut out = BufWriter::new(crate::printer::stdout());
    let (mut has_found, mut refused) = (false, 0);
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
                let Recalled::Answer(mut answer) = ask(line.query, vector)? else {
                    bail!("memory answered with a text; report this");
                };
                answer.query_id = Some(line.query_id);
                has_found |= !answer.results.is_empty();
                serde_json::to_writer(&mut out, &answer)?;
                out.write_all(b"\n")?;
            }
            Err(why) => {
                refused += 1;
                tell!("line {number} was passed over: {why}");
            }
        }
    }
    out.flush()?;
    Ok((has_found, refused))
}

/// An answer as a person reads it: what was found, where it is from, why it is here.
/// `why`: every signal with its value and weight, too.
pub(super) fn print(
    out: &mut impl Write,
    answer: &Answer,
    now: DateTime<Utc>,
    page: Page,
    why: bool,
) -> io::Result<()> {
    if let Some(said) = headline(answer.verdict, answer.results.is_empty()) {
        lines(out, page, 0, said, ToOwned::to_owned)?;
    }
    let results = (1..).zip(&answer.results);
    let (whole, folded) = if why {
        (results.collect(), Vec::new())
    } else {
        folded(answer, results.collect())
    };
    for (rank, found) in whole {
        if rank > 1 && page.is_terminal() {
            writeln!(out)?;
        }
        hit(out, rank, found, now, page)?;
        if why {
            signals(out, found)?;
        }
    }
    if !folded.is_empty() {
        lines(out, page, 0, "related, not likely to answer:", |line| {
            terminal::faint(line)
        })?;
    }
    for (rank, found) in folded {
        let text = terminal::one_line(&found.text, FOLDED_CHARS);
        let ago = Calendar::of_machine(now).ago(found.timestamp);
        let said = format!("{rank}. {}, {ago}: {text}", found.about.record_type);
        lines(out, page, 0, &said, |line| terminal::faint(line))?;
    }
    for note in &answer.notes {
        let said = format!("note: {note}");
        lines(out, page, 0, &said, |line| terminal::faint(line))?;
    }
    for degraded in &answer.degraded {
        let said = format!("degraded: {}", degraded.sentence());
        lines(out, page, 0, &said, |line| terminal::faint(line))?;
    }
    Ok(())
}

/// Results with their places.
type Placed<'a> = Vec<(usize, &'a Hit)>;

/// The results that are shown whole, and those that are only related, a line each. Where none would
/// go into a prompt, what is related is shown whole; where nothing is, nothing.
fn folded<'a>(answer: &Answer, results: Placed<'a>) -> (Placed<'a>, Placed<'a>) {
    if answer.verdict == Verdict::Nothing {
        return (Vec::new(), Vec::new());
    }
    let related = |found: &Hit| found.shown || found.why.is_related(found.score);
    let related = results.into_iter().filter(|(_, found)| related(found));
    let (whole, folded): (Vec<_>, Vec<_>) = related.partition(|(_, found)| found.shown);
    if whole.is_empty() {
        (folded, whole)
    } else {
        (whole, folded)
    }
}

/// What may be made of the answer, where it is not simply good.
fn headline(verdict: Verdict, empty: bool) -> Option<&'static str> {
    match verdict {
        _ if empty => Some(NOTHING),
        Verdict::Nothing => Some("nothing here is likely to answer that; --why shows the nearest"),
        Verdict::Weak => Some("weak: it may be about this, but is not likely to answer it:"),
        Verdict::Relevant => None,
    }
}

/// Why there is no text for a prompt.
fn silence(block: &ContextBlock) -> &'static str {
    match block.verdict {
        _ if block.left_out == 0 => NOTHING,
        Verdict::Nothing => {
            "nothing for a prompt: what was found is not likely to answer that, or is sensitive; \
             without --max-tokens more is said"
        }
        Verdict::Weak | Verdict::Relevant => {
            "nothing for a prompt: what was found does not fit into so few tokens"
        }
    }
}

fn hit(
    out: &mut impl Write,
    rank: usize,
    found: &Hit,
    now: DateTime<Utc>,
    page: Page,
) -> io::Result<()> {
    let words = &found.why.matched_words;
    let titled = found
        .lesson
        .as_ref()
        .filter(|card| !card.title.trim().is_empty());
    let (bar, bar_columns) = page.score(found.sona_score);
    let head = format!("{rank:>2}  {bar}  ");
    let head_columns = INDENT + bar_columns + 2;
    let (title, body) = parts(&found.text);
    let holds = |text: &str| !matches(text, words).is_empty();
    let text = match title {
        Some(title) if holds(title) && !holds(body) => title.to_owned(),
        Some(_) | None => {
            let room = |text: &str| page.has_room(text, head_columns, INDENT);
            excerpt(body, words, &room).unwrap_or_default()
        }
    };
    // The matching sentence alone does not say what it belongs to.
    let first = title.filter(|title| *title != text).map(str::to_owned);
    let shown: Vec<String> = match titled {
        Some(card) => vec![headed(card)],
        None => first.into_iter().chain([text]).collect(),
    };
    let (mut lead, mut lead_columns) = (head, head_columns);
    for part in &shown {
        for line in page.wrap(part, lead_columns, INDENT) {
            let line = terminal::marked(&line, &matches(&line, words));
            writeln!(out, "{lead}{line}")?;
            lead = " ".repeat(INDENT);
        }
        lead_columns = INDENT;
    }
    for (said, is_plain) in found.lesson.iter().flat_map(of_lesson) {
        lines(out, page, INDENT, &said, |line| {
            if is_plain {
                line.to_owned()
            } else {
                terminal::faint(line)
            }
        })?;
    }
    if let Some(card) = titled {
        let room = |text: &str| page.has_room(text, INDENT, INDENT);
        let told = Lesson::told(&found.text);
        let content = told.strip_prefix(card.title.trim_end()).unwrap_or(&told);
        let begins = excerpt(content, &[], &room).filter(|content| !content.is_empty());
        if let Some(content) = begins {
            lines(out, page, INDENT, &format!("\"{content}\""), |line| {
                terminal::marked(line, &matches(line, words))
            })?;
        }
    }
    for line in page.wrap_items(&facts(found, now), BETWEEN, INDENT) {
        writeln!(out, "{:INDENT$}{}", "", terminal::faint(line))?;
    }
    let reason = format!("why: {}", found.reason);
    lines(out, page, INDENT, &reason, ToOwned::to_owned)
}

/// A lesson's title, after how sure its author was (A38).
fn headed(card: &LessonCard) -> String {
    let level = card.confidence.map(|level| level.name().replace('_', "-"));
    let level = level.map(|level| format!("[{level}] "));
    level.unwrap_or_default() + card.title.trim()
}

/// Where a lesson holds, and loudly that it does not hold here; on what ground.
fn of_lesson(lesson: &LessonCard) -> Vec<(String, bool)> {
    let mut said = Vec::new();
    if let Some(warning) = &lesson.warning {
        said.push((format!("WARNING: {warning}"), true));
    }
    let ground: Vec<String> = lesson.evidence.iter().cloned().collect();
    for (head, words) in [
        ("Context", &lesson.contexts),
        ("Not for", &lesson.anti_contexts),
        ("Source", &ground),
    ] {
        if !words.is_empty() {
            said.push((format!("{head}: {}", words.join("; ")), false));
        }
    }
    said
}

/// A short first line that names what follows it, and what follows.
fn parts(text: &str) -> (Option<&str>, &str) {
    let text = text.trim();
    let split = text
        .split_once('\n')
        .map(|(title, body)| (title.trim(), body.trim()));
    match split {
        Some((title, body)) if title.chars().count() <= TITLE_CHARS => (Some(title), body),
        Some(_) | None => (None, text),
    }
}

fn about(found: &Hit) -> About {
    let tags = found.tags.iter().map(String::as_str);
    found.about.clone().tagged(tags)
}

/// When it happened, what it is, where it belongs, what it is called, how it did.
fn facts(found: &Hit, now: DateTime<Utc>) -> Vec<String> {
    let calendar = Calendar::of_machine(now);
    let (day, clock) = (
        calendar.day_of(found.timestamp),
        calendar.clock_of(found.timestamp),
    );
    let at = format!("{day} {clock}");
    let mut facts = vec![
        format!("{} ({at})", calendar.ago(found.timestamp)),
        about(found).to_string(),
    ];
    if let Some(at) = found.corrected_at {
        facts.push(format!("corrected on {}", calendar.day_of(at)));
    }
    facts.extend(
        found
            .why
            .contradicted_by
            .map(|newer| format!("newer: {newer}")),
    );
    if !found.session_id.is_empty() {
        facts.push(format!("session {}", found.session_id));
    }
    let name = found.external_id.clone();
    facts.push(name.unwrap_or_else(|| found.id.to_string()));
    if let Some(quality) = TaughtBy::mean_quality(&found.why.taught_by) {
        let runs = counted(found.why.taught_by.len(), "run");
        facts.push(format!("quality {quality:.2} in {runs}"));
    }
    facts
}

/// One text on as many lines as it needs.
fn lines(
    out: &mut impl Write,
    page: Page,
    indent: usize,
    text: &str,
    style: impl Fn(&str) -> String,
) -> io::Result<()> {
    for line in page.wrap(text, indent, indent) {
        writeln!(out, "{:indent$}{}", "", style(&line))?;
    }
    Ok(())
}

/// Every part of a score, what moves it most first.
fn signals(out: &mut impl Write, found: &Hit) -> io::Result<()> {
    let why = &found.why;
    let mut signals: Vec<_> = why
        .signals
        .iter()
        .filter(|s| thousandths(s.contribution) != 0.0)
        .collect();
    signals.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()));
    for signal in signals {
        let name = signal.name.replace('_', " ");
        let (value, weight, sum) = (signal.value, signal.weight, signal.contribution);
        writeln!(
            out,
            "      {name:<22} {value:>6.3} x {weight:>+7.3} = {sum:>+7.3}"
        )?;
    }
    writeln!(out, "      {:<22} {:>6.3}", "in a dialogue", why.dialogue)?;
    if let Some(distance) = why.raw_distance {
        writeln!(out, "      {:<22} {:>6.3}", "cosine", 1.0 - distance)?;
    }
    if let Some(learned) = &why.learning {
        writeln!(
            out,
            "      {:<22} {:>+6.3} of at most {:.3}: evidence {:+.3} (believed {:.2}), adapter {:+.3} \
             (believed {:.2})",
            "learned",
            thousandths(learned.adjustment),
            learned.cap,
            thousandths(learned.evidence),
            learned.evidence_gate,
            thousandths(learned.adapter),
            learned.adapter_gate
        )?;
    }
    Ok(())
}

/// A number as it is printed: what rounds to nothing has no sign.
fn thousandths(number: f32) -> f32 {
    (number * 1e3).round() / 1e3 + 0.0
}

#[cfg(test)]
mod tests;
