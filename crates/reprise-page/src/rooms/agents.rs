//! Agents: each conversation as it was, with what memory put in where and what of it was used; and
//! what programs asked lately.

use reprise_operations::operations::sessions::{
    Prompts, PromptsArguments, Replay, ReplayArguments,
};
use reprise_operations::{Given, LeftOut, Prompt, Quoted, Replayed, Told};
use reprise_types::Verdict;

use crate::prelude::*;

/// Prompts of a page, and of a conversation, which looks each of them up.
const LIMIT: usize = 40;
const TURNS: usize = 10;
/// Characters of a prompt that are asked again.
const ASKED: usize = 2_000;
/// Rows of what followed a prompt.
const FOLLOWED: usize = 12;

pub(crate) async fn show(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let session = pairs.get("session");
    let asked = PromptsArguments {
        session: session.map(str::to_owned),
        limit: Some(if session.is_some() { TURNS } else { LIMIT }),
        cursor: pairs.read("after")?,
    };
    let found = visit.ask_if::<Prompts>(asked).await?;
    let (prompts, next) = found
        .map(|found| (found.prompts, found.next))
        .unwrap_or_default();
    let calendar = visit.page.calendar();
    let list = match session {
        Some(_) => conversation(&visit, &prompts, &calendar).await?,
        None => by_session(&prompts, &calendar),
    };
    let body = html! {
        (undo::told(&visit, pairs.get("done")))
        @if let Some(session) = session {
            div class="bar" {
                span class="f set" {
                    "session " b { (text::line(session, 80)) }
                    a href="/prompts" aria-label="Every session" { "\u{d7}" }
                }
                a href=(format!("/timeline?session={}", encoded(session))) { "All its records" }
            }
        }
        @if prompts.is_empty() {
            div class="panel empty" {
                h2 { "No prompt was asked through memory yet" }
                p {
                    code { (visit.command("reprise connect claude-code")) }
                    " lets an agent's prompts be answered."
                }
            }
        }
        (list)
        (pairs::pages(&pairs, "/prompts", next))
    };
    Ok(room(&visit, "/prompts", "Prompts", &body))
}

fn by_session(prompts: &[Prompt], calendar: &Calendar) -> Markup {
    let mut sessions: Vec<(&str, Vec<&Prompt>)> = Vec::new();
    for prompt in prompts {
        match sessions
            .iter_mut()
            .find(|(name, _)| *name == prompt.session)
        {
            Some((_, own)) => own.push(prompt),
            None => sessions.push((&prompt.session, vec![prompt])),
        }
    }
    html! {
        div class="list" data-list {
            h2 class="unseen-text" { "By session" }
            ol class="rows" {
                @for (session, prompts) in &sessions {
                    @if prompts.len() > 1 { li class="grouping" {
                        h3 {
                            a href=(format!("/prompts?session={}", encoded(session))) {
                                @match prompts.last() {
                                    Some(first) => (text::line(&first.text, 120)),
                                    None => (text::line(session, 80)),
                                }
                            }
                        }
                        small { (text::of(prompts.len(), "prompt", "prompts")) }
                    } }
                    @for prompt in prompts { (line(prompt, calendar)) }
                }
            }
        }
    }
}

/// How many records stood in what a prompt was given.
pub(super) fn put_in(given: &Given) -> usize {
    let found = given.found.iter();
    found.filter(|one| one.left_out.is_none()).count()
}

/// What became of a prompt, in a chip.
fn chip(prompt: &Prompt) -> Markup {
    let used = prompt
        .outcome
        .as_ref()
        .map_or(0, |outcome| outcome.used.len());
    html! {
        @match &prompt.given {
            None => { span class="chip" { "not asked" } }
            Some(given) if put_in(given) == 0 => { span class="chip" { "nothing put in" } }
            Some(given) => {
                span class="chip good" {
                    (put_in(given)) " put in" @if used > 0 { ", " (used) " used" }
                }
            }
        }
        @if let Some(outcome) = &prompt.outcome {
            span class=(if outcome.quality >= 0.5 { "chip good" } else { "chip bad" }) {
                (if outcome.quality >= 0.5 { "went well" } else { "went badly" })
            }
        }
    }
}

fn line(prompt: &Prompt, calendar: &Calendar) -> Markup {
    html! {
        li class="row" data-record=(prompt.id) data-at=(format!("/prompts/{}", prompt.id)) {
            span {} span class="prompt" { (icon("prompt")) }
            span class="k" { (calendar.clock_of(prompt.at)) }
            a class="x" href=(format!("/prompts/{}", prompt.id)) { (text::line(&prompt.text, 160)) }
            span class="w" { (chip(prompt)) (calendar.ago(prompt.at)) }
        }
    }
}

/// A session's prompts with all that came of each, the oldest first.
async fn conversation(visit: &Visit, prompts: &[Prompt], calendar: &Calendar) -> Answer<Markup> {
    let mut turns = Vec::new();
    for prompt in prompts.iter().rev() {
        let id = prompt.id.to_string();
        let replayed = visit.ask::<Replay>(ReplayArguments { id }).await?;
        turns.push(turn(visit, &replayed, calendar));
    }
    Ok(html! { @for turn in turns { (turn) } })
}

pub(crate) async fn replay(
    visit: Visit,
    Named(id): Named<RecordId>,
    pairs: Pairs,
) -> Answer<Markup> {
    let asked = ReplayArguments { id: id.to_string() };
    let replayed = visit.ask::<Replay>(asked).await?;
    let (prompt, calendar) = (&replayed.prompt, visit.page.calendar());
    let again: String = prompt.text.chars().take(ASKED).collect();
    let body = html! {
        (undo::told(&visit, pairs.get("done")))
        div class="bar" {
            a href=(format!("/prompts?session={}", encoded(&prompt.session))) {
                "The whole conversation"
            }
            a href=(format!("/search?q={}", encoded(&again))) { "Ask it again now" }
            a href=(format!("/records/{}", prompt.id)) { "Its record" }
        }
        (turn(&visit, &replayed, &calendar))
        (why_not(&again))
    };
    Ok(room(&visit, "/prompts", "A prompt", &body))
}

fn why_not(asked: &str) -> Markup {
    html! {
        div class="card" {
            h2 { "Why not this one?" }
            form class="stack" action="/search" {
                input type="hidden" name="q" value=(asked);
                div class="fields" {
                    label {
                        "The id of a record that should have come up"
                        input name="expected" required autocomplete="off" spellcheck="false";
                    }
                    button { "Why not?" }
                }
            }
        }
    }
}

/// A prompt, what memory put into it, what of that was used, and what followed.
fn turn(visit: &Visit, replayed: &Replayed, calendar: &Calendar) -> Markup {
    let prompt = &replayed.prompt;
    let used = prompt.outcome.as_ref();
    let used = used.map_or(&[][..], |outcome| &outcome.used);
    let (put, left): (Vec<_>, Vec<_>) = replayed
        .found
        .iter()
        .partition(|one| one.noted.left_out.is_none());
    html! {
        article class="turn" aria-label="A prompt" {
            div class="meta" {
                span class="k" { "prompt" } (calendar.minute_of(prompt.at))
                span class="end chips" { (chip(prompt)) }
            }
            div class="said" { (text::whole(&prompt.text)) }
            div class="card" {
                h2 { "What memory put in" }
                @match &prompt.given {
                    None => { p class="why" { "Memory was not asked for this one." } }
                    Some(given) => {
                        @if put.is_empty() {
                            p class="why" {
                                (match given.verdict {
                                    Verdict::Nothing => "Nothing: it held nothing about this.",
                                    Verdict::Weak => "Nothing: what it held was too weak.",
                                    Verdict::Relevant => "Nothing: what it held was there already.",
                                })
                            }
                        }
                        div data-prompt {
                            @for one in &put { (found(visit, prompt, given, one, used)) }
                        }
                        @if !left.is_empty() {
                            details class="fold" {
                                summary { "Came up and was left out " small { (left.len()) } }
                                @for one in &left { (found(visit, prompt, given, one, used)) }
                            }
                        }
                    }
                }
            }
            @if !replayed.followed.is_empty() {
                ol class="rows" {
                    @for one in replayed.followed.iter().take(FOLLOWED) {
                        (rows::named(one.id, &calendar.clock_of(one.at), &one.title, ""))
                    }
                    @if replayed.followed.len() > FOLLOWED {
                        li class="grouping" { small {
                            "and " (replayed.followed.len() - FOLLOWED) " more"
                        } }
                    }
                }
            }
            @if let Some(outcome) = &prompt.outcome {
                p class="why" {
                    "The work went " (format!("{:.2}", outcome.quality)) " of 1; "
                    (format!("{:.2}", outcome.expected)) " was expected."
                }
            }
        }
    }
}

fn found(visit: &Visit, prompt: &Prompt, given: &Given, one: &Quoted, used: &[RecordId]) -> Markup {
    let (id, is_in) = (one.noted.id, one.noted.left_out.is_none());
    let asked: String = prompt.text.chars().take(ASKED).collect();
    html! {
        div class="put" {
            span {
                @match &one.title {
                    Some(title) => {
                        a href=(format!("/records/{id}")) { (text::line(title, 120)) }
                    }
                    None => { span class="faint" { "forgotten since" } }
                }
                " " span class="faint" {
                    @if let Some(why) = one.noted.left_out { "left out: " (left_out(why)) }
                }
            }
            span {
                @if used.contains(&id) { span class="chip good" { "used" } }
                @else if one.is_quoted { span class="chip good" { "quoted" } }
                @else if is_in { span class="chip" { "no trace of use" } }
            }
            @if one.title.is_some() {
                span {
                    (rows::judge(visit, &[
                        ("recall", &given.recall_id.to_string()), ("query", &asked),
                        ("record", &id.to_string()), ("prompt", &prompt.id.to_string()),
                    ]))
                }
            }
        }
    }
}

fn left_out(why: LeftOut) -> &'static str {
    match why {
        LeftOut::Weak => "too weak",
        LeftOut::OtherProject => "of another project",
        LeftOut::SameSession => "said in this session",
        LeftOut::Seen => "given before",
        LeftOut::NoRoom => "no room left",
    }
}

/// What programs asked in the last hour, and what listeners were told.
pub(crate) async fn activity(visit: Visit) -> Markup {
    let (hour, calendar) = (
        visit.page.now() - TimeDelta::hours(1),
        visit.page.calendar(),
    );
    let memories = visit.page.memories();
    let recalls = memories.recalls(&visit.user).into_iter();
    let recalls: Vec<_> = recalls.take_while(|one| one.at >= hour).collect();
    let told = memories.told(&visit.user).into_iter();
    let told: Vec<_> = told
        .take_while(|one| one.at >= hour)
        .take(FOLLOWED)
        .collect();
    let body = html! {
        div data-live="activity" {
            section {
                h2 { "Asked in the last hour " small { (recalls.len()) } }
                @if recalls.is_empty() { p class="faint" { "No program asked for anything." } }
                @else {
                    (table("Asked in the last hour", &["When", "Question", "Results", "ms"],
                        recalls.iter().take(LIMIT).map(|one| html! {
                            td { (calendar.clock_of(one.at)) }
                            td {
                                a href=(format!("/search?q={}", encoded(&one.query))) {
                                    (text::line(&one.query, 120))
                                }
                            }
                            td class="number" {
                                @if one.verdict == Verdict::Nothing { "nothing fits" }
                                @else { (one.results) }
                            }
                            td class="number" { (format!("{:.1}", one.elapsed_ms)) }
                        })
                    ))
                }
            }
            section {
                h2 { "Learned in the last hour" }
                @if told.is_empty() { p class="faint" { "Nothing new." } }
                ul class="told" {
                    @for one in &told {
                        li { span class="faint" { (calendar.clock_of(one.at)) } " " (learned(one)) }
                    }
                }
            }
        }
    };
    room(&visit, "/activity", "Lately", &body)
}

fn learned(told: &Told) -> Markup {
    let count = |name: &str| told.event.get(name).and_then(Value::as_u64).unwrap_or(0) as usize;
    let text = |value: Option<&Value>| {
        let text = value.and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    if told.what == "memory_loaded" {
        let (all, decisions) = (count("total"), count("decisions"));
        return html! {
            "An agent went to work with " (text::of(all, "learning", "learnings")) ", "
            (text::of(decisions, "decision", "decisions")) " and "
            (text::of(count("failures"), "failure", "failures")) "."
        };
    }
    let learning = told.event.get("learning");
    let category = text(learning.and_then(|it| it.get("category")));
    let fact = text(told.event.get("fact"));
    html! {
        span class="chip" { (text::line(&category, 40)) } " "
        @match told.id {
            Some(id) => { a href=(format!("/records/{id}")) { (text::line(&fact, 160)) } }
            None => { (text::line(&fact, 160)) }
        }
    }
}
