//! `reprise recall`: one question for a person, or a file of questions for a program.

mod signals;

use std::io::BufWriter;

use reprise_engine::{excerpt, matches};
use reprise_knowledge::LessonDetails;
use reprise_operations::operations::recall::{self, Recalled};
use reprise_operations::{
    Bounds, Hit, LessonCard, QueryLine, RELATED, RecallAnswer, UNLIKELY, WEAK,
};
use reprise_types::{
    Calendar, ContextBlock, ContributingRun, HitLine, HitPart, HitStyle, HitView, RecallScope,
    RecordByline, RelevanceVerdict, describe_state, render_hit,
};

use crate::args::RecallArguments;
use crate::cli::prelude::*;

/// Most characters of a first line that counts as a title.
const TITLE_CHARS: usize = 100;
/// Characters that are printed of a result that is only related.
const FOLDED_CHARS: usize = 100;
/// Most results that are printed where none is likely to answer.
const PERHAPS_MAX: usize = 3;
/// Cosine, or share of the question's words, from which on a person may want to see a result that
/// is hardly an answer: other words for the same are often that far apart.
const NEAR_COSINE: f32 = 0.25;
const NEAR_WORDS: f32 = 0.5;
const NOTHING: &str = "found nothing";
/// Column at which every line but the first begins.
const INDENT: usize = 4;
const BETWEEN: &str = " \u{b7}";

pub(super) fn run(context: &Context, arguments: &RecallArguments) -> anyhow::Result<Exit> {
    let question = input::read_typed_text(&arguments.text)?;
    if arguments.queries.is_none() {
        RecallRequest::new(question.as_str()).validate()?;
    }
    ensure!(
        arguments.asked.limit != Some(0),
        "--limit must be 1 or more"
    );
    let user = &arguments.whose.user;
    let is_new = !store::exists(context, user)?;
    let session = Session::open(context, user, Effect::Reads)?;
    let mut asked = arguments.asked.clone();
    asked.filter.project =
        project::resolve_project_name(context, &session, asked.filter.project.as_deref())?;
    if asked.filter.project.is_none() && recall::asks_for_rules(&question) {
        // Who asks for rules works somewhere.
        asked.filter.project = project::find_own_repository(context);
    }
    // `handed` is the question's vector if the caller has one.
    let ask = |query: String, handed: Option<Embedding>| -> anyhow::Result<Recalled> {
        let (embedding_space, embedding) = handed.map(|e| (e.space, e.vector)).unzip();
        Ok(session.call::<recall::Recall>(recall::RecallArguments {
            query,
            embedding,
            embedding_space,
            ..asked.clone()
        })?)
    };
    let (has_found, refused) = if let Some(file) = &arguments.queries {
        answer_questions(file, ask)?
    } else {
        let found = ask(question.clone(), None)?;
        let is_empty = matches!(&found, Recalled::Answer(answer) if answer.results.is_empty());
        // That there is no memory at all is said below.
        let has_found = if is_new && is_empty && !context.json {
            false
        } else {
            print_recalled(context, arguments, &found)?
        };
        if let Recalled::Context(block) = &found
            && block.text.is_empty()
            && !context.json
        {
            // A prompt never receives what is sensitive: only the answer says if it is that.
            let all = recall::RecallArguments {
                query: question,
                max_tokens: None,
                ..asked.clone()
            };
            let all = session.call::<recall::Recall>(all)?;
            let tokens = asked.max_tokens.unwrap_or_default();
            note(&explain_empty_context(block, &all, tokens));
        }
        (has_found, 0)
    };
    drop(session);
    super::trust::hint_at_shared_lessons(context, user);
    if is_new && arguments.asked.scope != Some(RecallScope::Global) {
        note(&describe_empty_memory(user));
        // A wrong user name is a failure, unless published knowledge answered.
        if !has_found {
            return Ok(Exit::Failed);
        }
    }
    Ok(output::exit(refused == 0))
}

/// Prints the answer to one question; returns whether it has results.
fn print_recalled(
    context: &Context,
    arguments: &RecallArguments,
    found: &Recalled,
) -> anyhow::Result<bool> {
    output::print(context, found, |out| {
        match found {
            Recalled::Context(block) if block.text.is_empty() => {}
            Recalled::Context(block) => writeln!(out, "{}", block.text)?,
            Recalled::Answer(answer) => {
                let (now, page) = (SystemClock.now(), Page::stdout());
                print_answer(out, answer, now, page, arguments.why)?;
                let considered = format_count(answer.considered, "memory");
                let cost = format!("{considered} searched in {:.1} ms", answer.elapsed_ms);
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

/// Asks the questions of a file. Returns whether any had results, and how many were refused.
fn answer_questions(
    file: &Path,
    ask: impl Fn(String, Option<Embedding>) -> anyhow::Result<Recalled>,
) -> anyhow::Result<(bool, u64)> {
    let mut out = BufWriter::new(crate::printer::stdout());
    let (mut has_found, mut refused) = (false, 0);
    for line in jsonl(BufReader::new(input::open(file)?)) {
        let (number, line) = line?;
        let query = line.and_then(|line| {
            let line = QueryLine::parse_line(&line)?;
            let vector = line.query_embedding()?;
            let asked = RecallRequest::new(line.query.as_str()).validate();
            asked.map_err(|error| error.to_string())?;
            Bounds::get_for_type::<recall::RecallArguments>()
                .check(&json!({ "query": line.query }))?;
            Ok((line, vector))
        });
        match query {
            Ok((line, vector)) => {
                let Recalled::Answer(mut answer) = ask(line.query, vector)? else {
                    bail!("memory answered with a text; report this");
                };
                answer.query_id = line.query_id.or_else(|| Some(number.to_string()));
                has_found |= !answer.results.is_empty();
                serde_json::to_writer(&mut out, &answer)?;
                out.write_all(b"\n")?;
            }
            Err(why) => {
                refused += 1;
                tell!("skipped line {number}: {why}");
            }
        }
    }
    out.flush()?;
    Ok((has_found, refused))
}

/// Prints an answer for a person: each result with its origin and the reason why it matches. `why`
/// also prints every signal with its value and weight.
pub(super) fn print_answer(
    out: &mut impl Write,
    answer: &RecallAnswer,
    now: DateTime<Utc>,
    page: Page,
    why: bool,
) -> io::Result<()> {
    let (whole, folded) = if why {
        (answer.results.iter().collect(), Vec::new())
    } else {
        split_related(answer)
    };
    if let Some(said) = verdict_headline(answer, !folded.is_empty()) {
        print_wrapped(out, page, 0, &said, ToOwned::to_owned)?;
    }
    // They are numbered as they are printed.
    let first_folded = whole.len() + 1;
    for (rank, found) in (1..).zip(whole) {
        if rank > 1 && page.is_terminal() {
            writeln!(out)?;
        }
        print_hit(out, rank, found, now, page)?;
        if why {
            signals::print_signals(out, found)?;
        }
    }
    let heading = match answer.verdict {
        RelevanceVerdict::Relevant | RelevanceVerdict::Weak => Some(RELATED),
        // The headline says it.
        RelevanceVerdict::Nothing => None,
    };
    if let Some(heading) = heading.filter(|_| !folded.is_empty()) {
        print_wrapped(out, page, 0, heading, |line| terminal::faint(line))?;
    }
    for (rank, found) in (first_folded..).zip(folded) {
        let text = terminal::one_line(&found.text, FOLDED_CHARS);
        let ago = Calendar::in_machine_zone(now).format_relative(found.timestamp);
        let caption = format!("{}, {ago}", found.about.record_type);
        let view = HitView::new(found.id, found.timestamp, caption, text);
        for HitLine { label, text, .. } in render_hit(&view, HitStyle::TerminalLine) {
            let said = format!("{rank}. {label}{text}");
            print_wrapped(out, page, 0, &said, |line| terminal::faint(line))?;
        }
    }
    for note in &answer.notes {
        let said = format!("note: {note}");
        print_wrapped(out, page, 0, &said, |line| terminal::faint(line))?;
    }
    for degraded in &answer.degraded {
        let said = format!("note: {}", degraded.message());
        print_wrapped(out, page, 0, &said, |line| terminal::faint(line))?;
    }
    Ok(())
}

/// Splits results into those printed in full and those that are only related, a line each. If none
/// would go into a prompt, the related ones are printed in full, and the first that are near are a
/// line each; these alone where none is likely to answer.
fn split_related(answer: &RecallAnswer) -> (Vec<&Hit>, Vec<&Hit>) {
    if answer.verdict == RelevanceVerdict::Nothing {
        let near = answer.results.iter().filter(|found| is_near(found));
        return (Vec::new(), near.take(PERHAPS_MAX).collect());
    }
    let is_related = |found: &Hit| found.shown || found.why.is_related(found.score);
    let (related, others): (Vec<_>, Vec<_>) =
        answer.results.iter().partition(|found| is_related(found));
    let (whole, folded): (Vec<_>, Vec<_>) = related.into_iter().partition(|found| found.shown);
    if !whole.is_empty() {
        return (whole, folded);
    }
    let near = others.into_iter().filter(|found| is_near(found));
    (folded, near.take(PERHAPS_MAX).collect())
}

/// Whether a result is near enough to be printed as related.
fn is_near(found: &Hit) -> bool {
    let by_words = found.why.word_coverage() >= NEAR_WORDS;
    let cosine = found.why.raw_distance.map(|distance| 1.0 - distance);
    cosine.map_or(by_words, |cosine| cosine >= NEAR_COSINE)
}

/// Returns the headline of an answer that is not simply good; `has_folded` says whether lines of
/// less likely results follow.
fn verdict_headline(answer: &RecallAnswer, has_folded: bool) -> Option<String> {
    match answer.verdict {
        _ if answer.results.is_empty() => Some(NOTHING.to_owned()),
        RelevanceVerdict::Nothing if has_folded => Some(format!("{UNLIKELY}; {RELATED}")),
        RelevanceVerdict::Nothing => Some(format!("{UNLIKELY}; --why shows the closest matches")),
        RelevanceVerdict::Weak => Some(format!("{WEAK}:")),
        RelevanceVerdict::Relevant => None,
    }
}

/// Returns why there is no text for a prompt.
fn explain_empty_context(block: &ContextBlock, all: &Recalled, tokens: usize) -> String {
    let is_shown = |all: &RecallAnswer| all.results.iter().any(|hit| hit.shown);
    let would_be_shown = matches!(all, Recalled::Answer(all) if is_shown(all));
    match block.verdict {
        _ if block.left_out == 0 => NOTHING.to_owned(),
        RelevanceVerdict::Nothing if would_be_shown => {
            "nothing for a prompt: what answers is sensitive and never put into one; leave out \
             --max-tokens to see it"
                .to_owned()
        }
        RelevanceVerdict::Nothing => {
            "nothing for a prompt: no result is likely to be an answer; leave out --max-tokens to \
             see them"
                .to_owned()
        }
        RelevanceVerdict::Weak | RelevanceVerdict::Relevant => {
            format!("no result fits into {tokens} tokens; raise --max-tokens")
        }
    }
}

fn print_hit(
    out: &mut impl Write,
    rank: usize,
    found: &Hit,
    now: DateTime<Utc>,
    page: Page,
) -> io::Result<()> {
    let words = &found.why.matched_words;
    let mark = |line: &str| terminal::mark_words(line, &matches(line, words));
    let (bar, bar_columns) = page.render_score(found.sona_score);
    let (mut lead, mut lead_columns) = (format!("{rank:>2}  {bar}  "), INDENT + bar_columns + 2);
    let mut facts = Vec::new();
    let view = view_hit(found, now, page, lead_columns);
    for HitLine { part, label, text } in render_hit(&view, HitStyle::Terminal) {
        let said = label + &text;
        match part {
            HitPart::Text => {
                for line in page.wrap(&said, lead_columns, INDENT) {
                    writeln!(out, "{lead}{}", mark(&line))?;
                    lead = " ".repeat(INDENT);
                }
                lead_columns = INDENT;
            }
            HitPart::Body => print_wrapped(out, page, INDENT, &said, mark)?,
            HitPart::Warning => print_wrapped(out, page, INDENT, &said, ToOwned::to_owned)?,
            HitPart::Lesson => {
                print_wrapped(out, page, INDENT, &said, |line| terminal::faint(line))?;
            }
            HitPart::Fact => facts.push(said),
            HitPart::Reason => {
                print_facts(out, page, &std::mem::take(&mut facts))?;
                print_wrapped(out, page, INDENT, &said, ToOwned::to_owned)?;
            }
        }
    }
    print_facts(out, page, &facts)
}

/// Prints facts with dots between them, on as many lines as they need.
fn print_facts(out: &mut impl Write, page: Page, facts: &[String]) -> io::Result<()> {
    if facts.is_empty() {
        return Ok(());
    }
    for line in page.wrap_items(facts, BETWEEN, INDENT) {
        writeln!(out, "{:INDENT$}{}", "", terminal::faint(line))?;
    }
    Ok(())
}

/// Returns a result as a person sees it: of its text what matched, as far as it fits on the page.
fn view_hit(found: &Hit, now: DateTime<Utc>, page: Page, head_columns: usize) -> HitView {
    let words = &found.why.matched_words;
    let lesson = found.lesson.clone().unwrap_or_default();
    let (title, body) = split_title(&found.text);
    let holds = |text: &str| !matches(text, words).is_empty();
    let text = match title {
        Some(title) if holds(title) && !holds(body) => title.to_owned(),
        Some(_) | None => {
            let room = |text: &str| page.has_room(text, head_columns, INDENT);
            excerpt(body, words, &room).unwrap_or_else(|| terminal::one_line(body, FOLDED_CHARS))
        }
    };
    // The matching sentence alone does not say what it belongs to.
    let above = title.filter(|title| *title != text).unwrap_or_default();
    let is_titled = !lesson.title.trim().is_empty();
    let (title, text, body) = if is_titled {
        let room = |text: &str| page.has_room(text, INDENT, INDENT);
        let told = LessonDetails::without_added_lines(&found.text);
        let content = told.strip_prefix(lesson.title.trim_end()).unwrap_or(&told);
        let content = excerpt(content, &[], &room).filter(|content| !content.is_empty());
        let content = content.map(|content| format!("\"{content}\""));
        (
            String::new(),
            render_lesson_title(&lesson),
            content.unwrap_or_default(),
        )
    } else {
        (above.to_owned(), text, String::new())
    };
    HitView {
        title,
        body,
        reason: found.reason.clone(),
        warning: lesson.warning.unwrap_or_default(),
        contexts: lesson.contexts,
        anti_contexts: lesson.anti_contexts,
        evidence: lesson.evidence.unwrap_or_default(),
        facts: hit_facts(found, now),
        ..HitView::new(found.id, found.timestamp, String::new(), text)
    }
}

/// Renders a lesson's title after its confidence.
fn render_lesson_title(card: &LessonCard) -> String {
    let level = card.confidence.map(|level| level.name().replace('_', "-"));
    let level = level.map(|level| format!("[{level}] "));
    level.unwrap_or_default() + card.title.trim()
}

/// Splits a text into a short first line as its title, and the rest.
fn split_title(text: &str) -> (Option<&str>, &str) {
    let text = text.trim();
    let split = text
        .split_once('\n')
        .map(|(title, body)| (title.trim(), body.trim()));
    match split {
        Some((title, body)) if title.chars().count() <= TITLE_CHARS => (Some(title), body),
        Some(_) | None => (None, text),
    }
}

fn to_byline(found: &Hit) -> RecordByline {
    let tags = found.tags.iter().map(String::as_str);
    found.about.clone().with_project_from_tags(tags)
}

/// Returns the facts of a result: time, kind, project, session, id and quality.
fn hit_facts(found: &Hit, now: DateTime<Utc>) -> Vec<String> {
    let calendar = Calendar::in_machine_zone(now);
    let (day, clock) = (
        calendar.day_of(found.timestamp),
        calendar.format_time_of_day(found.timestamp),
    );
    let at = format!("{day} {clock}");
    let mut facts = vec![
        format!("{} ({at})", calendar.format_relative(found.timestamp)),
        to_byline(found).to_string(),
    ];
    let (newer, until) = (found.why.contradicted_by, found.why.held_until);
    facts.extend(describe_state(found.corrected_at, newer, until, &calendar));
    if !found.session_id.is_empty() {
        let session = terminal::shorten_session(&found.session_id);
        facts.push(format!("session {session}"));
    }
    let (own, given) = (found.id.to_string(), found.external_id.as_deref());
    facts.push(terminal::choose_shown_name(&own, given).to_owned());
    if let Some(quality) = ContributingRun::mean_quality(&found.why.taught_by) {
        let runs = format_count(found.why.taught_by.len(), "run");
        facts.push(format!("quality {quality:.2} in {runs}"));
    }
    facts
}

/// Prints a text on as many lines as it needs.
fn print_wrapped(
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

#[cfg(test)]
mod tests;
