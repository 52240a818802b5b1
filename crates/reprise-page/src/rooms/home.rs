//! Home: the question, what happened lately by day and session, and what needs a person.
//!
//! What it asks of memory it asks at once; what has to compare records comes after the page.

use std::collections::HashMap;

use reprise_engine::EngineStats;
use reprise_operations::operations::{care, learning, list, sessions, tending, workspace};
use reprise_operations::{Memory, Prompt};

use super::agents::put_in;
use super::ask::question;
use super::{learning as learned, review};
use crate::chart::Bar;
use crate::prelude::*;
use crate::rows::{Group, Told};

/// Records that the digest is made of.
const LOOKED: usize = 160;
/// Prompts that are counted.
const PROMPTS: usize = 200;
/// Groups and records that it shows at least, rows of a session, and rows of what has none.
const GROUPS: usize = 10;
const RECORDS: usize = 30;
const ROWS: usize = 7;
const ROWS_ALONE: usize = 24;
/// Live records up to which pairs in doubt are looked for by themselves: each is compared with
/// those like it, which takes seconds where there are many.
const COMPARED: u32 = 5_000;
/// Things that need a person, of each sort.
const NEEDS: usize = 3;
const DAYS: i64 = 7;

const BEGIN: [(&str, &str); 3] = [
    (
        "reprise learn \"the build needs libfoo 2\"",
        "keeps a lesson",
    ),
    (
        "reprise recall \"what does the build need\"",
        "finds it again, and says why",
    ),
    (
        "reprise connect claude-code",
        "lets an agent do both by itself",
    ),
];

pub(crate) async fn show(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let memory = visit.memory();
    let latest = ListRequest {
        filter: MemoryFilter::default(),
        limit: LOOKED,
        after: None,
    };
    let asked = sessions::PromptsArguments {
        limit: Some(PROMPTS),
        ..sessions::PromptsArguments::default()
    };
    let (stats, records, prompts, report, known) = tokio::join!(
        care::Stats::run(&memory, NoArguments {}),
        list::records(&memory, latest),
        sessions::Prompts::run(&memory, asked),
        learning::LearningReport::run(&memory, NoArguments {}),
        Known::of(&visit),
    );
    let Some(stats) = found(stats.map_err(Into::into))? else {
        let body = html! { (asks()) (nothing(&visit)) };
        return Ok(room(&visit, "/", "Home", &body));
    };
    let (records, prompts, known) = (records?.records, prompts?.prompts, known?);
    let calendar = known.calendar;
    let is_small = stats.live <= COMPARED;
    let body = html! {
        (undo::told(&visit, pairs.get("done")))
        (asks())
        div class="split" {
            @if stats.live == 0 {
                (nothing(&visit))
            } @else {
                div data-live="digest" {
                    (rows::list(&visit, &digest(&records, &prompts, &known)))
                }
            }
            div class="aside" {
                section {
                    h2 { "Needs you" }
                    @for trouble in troubles(&stats, &memory) {
                        div class="need" { b { "Not well" } p { (trouble) } }
                    }
                    div id="needs" data-load=[is_small.then_some("/needs?part=1")] {
                        p class="faint" {
                            a href="/needs" { "Look for contradictions, duplicates and approvals" }
                        }
                    }
                }
                (into_prompts(&prompts, visit.page.now(), &calendar))
                section {
                    h2 { a href="/learning" { "Learning" } }
                    p class="why" { (learned::sentence(&report?)) }
                }
                (numbers(&stats, &visit.page, &calendar))
            }
        }
    };
    Ok(room(&visit, "/", "Home", &body))
}

/// What Home begins with.
fn asks() -> Markup {
    html! { form class="stack" role="search" action="/search" { (question(None)) } }
}

fn digest(records: &[MemoryRecord], prompts: &[Prompt], known: &Known) -> Markup {
    // The oldest prompt of each session that was looked at is its title.
    let titles: HashMap<&str, &str> = prompts
        .iter()
        .filter(|prompt| !prompt.session.is_empty())
        .map(|prompt| (prompt.session.as_str(), prompt.text.as_str()))
        .collect();
    let groups = rows::groups(records, &known.calendar, false);
    let (mut told, mut shown) = (Vec::new(), 0);
    for group in &groups {
        if told.len() >= GROUPS && shown >= RECORDS {
            break;
        }
        let title = titles.get(group.session).copied();
        let one = session(group, title, &known.calendar);
        shown += one.records.len();
        told.push(one);
    }
    html! {
        h2 class="unseen-text" { "Lately" }
        (rows::by_day(&told, known))
        p class="pages" { a href="/timeline" { "Everything, by day and session" } }
    }
}

/// A session of a day: what says most about it.
fn session<'a>(group: &'a Group<'a>, title: Option<&'a str>, calendar: &Calendar) -> Told<'a> {
    let is_alone = group.session.is_empty();
    let name = title.unwrap_or(group.name());
    // A first prompt that is the title need not stand below it once more.
    let is_title = |record: &MemoryRecord| !is_alone && rows::title(record) == name;
    let mut chosen: Vec<&MemoryRecord> = group.records.clone();
    if chosen.len() > 1 {
        chosen.retain(|record| !is_title(record));
    }
    let (most, all) = (if is_alone { ROWS_ALONE } else { ROWS }, chosen.len());
    if !is_alone && all > most {
        chosen.sort_by_key(|record| weight(record));
        chosen.truncate(most);
        chosen.sort_by_key(|record| std::cmp::Reverse((record.timestamp, record.id)));
    }
    chosen.truncate(most);
    let more = all - chosen.len();
    let mut says = span(group, calendar);
    if more > 0 {
        says = format!("{says} \u{b7} {more} more");
    }
    Told {
        group,
        name,
        says,
        end: how_it_went(group),
        records: chosen,
    }
}

/// What says most about a session comes first.
fn weight(record: &MemoryRecord) -> u8 {
    match record.record_type() {
        RecordType::Decision | RecordType::Lesson => 0,
        RecordType::Test if rows::test_passed(record) == Some(false) => 1,
        RecordType::Commit | RecordType::Note => 1,
        RecordType::Test => 2,
        RecordType::Document | RecordType::Run => 3,
        RecordType::Prompt => 4,
        RecordType::Answer => 5,
        RecordType::Command => 6,
    }
}

/// In which project, by whom, from when to when.
fn span(group: &Group<'_>, calendar: &Calendar) -> String {
    let about = group.records.iter().map(|record| About::of(record));
    let (mut project, mut by) = (None, None);
    for one in about {
        project = project.or(one.project);
        by = by.or(one.by);
    }
    // The newest comes first.
    let mut times = group.records.iter().rev().map(|record| record.timestamp);
    let (from, to) = (times.next(), times.next_back());
    let [from, to] = [from, to].map(|at| at.map(|at| calendar.clock_of(at)));
    let when = match (from, to) {
        (Some(from), Some(to)) if from != to => Some(format!("{from}\u{2013}{to}")),
        (from, _) => from,
    };
    let says: Vec<String> = [project, by, when].into_iter().flatten().collect();
    says.join(" \u{b7} ")
}

/// How its last tests ended.
fn how_it_went(group: &Group<'_>) -> Markup {
    let mut tests = group
        .records
        .iter()
        .filter_map(|record| rows::test_passed(record));
    html! {
        @match tests.next() {
            Some(true) => { span class="chip good" { "tests pass" } }
            Some(false) => { span class="chip bad" { "tests fail" } }
            None => {}
        }
    }
}

/// What is not as it should be, in sentences.
fn troubles(stats: &EngineStats, memory: &Memory) -> Vec<String> {
    let failed = memory.all().service().stats().pool.failed;
    let by_words = stats.unembedded.saturating_sub(stats.foreign_vectors);
    let mut troubles = Vec::new();
    if by_words > 0 {
        troubles.push(format!(
            "{by_words} of {} records have no vector and are found by words alone; `reprise \
             doctor` says why.",
            stats.live
        ));
    }
    if let Some(percent) = stats.re_embedded_percent() {
        troubles.push(format!(
            "Vectors are made anew by another model: {percent} % are done, the others are searched \
             in the space they have."
        ));
    }
    if failed > 0 {
        troubles.push(format!(
            "{failed} texts could not be embedded since the daemon began; `reprise models pull` \
             fetches the model."
        ));
    }
    troubles
}

/// That the file is damaged, in a sentence. It is read wholly, so this comes after the page.
pub(super) async fn damage(visit: &Visit) -> Option<String> {
    let read = visit.memory().damaged_bytes().await;
    match found(read.map_err(Into::into)) {
        Ok(None | Some(0)) => None,
        Ok(Some(bytes)) => Some(format!(
            "{} of the file are damaged; `{}` says what was lost.",
            text::size(bytes),
            visit.command("reprise check")
        )),
        Err(trouble) => Some(trouble.sentence),
    }
}

fn into_prompts(prompts: &[Prompt], now: DateTime<Utc>, calendar: &Calendar) -> Markup {
    let since = now - TimeDelta::days(DAYS);
    let week: Vec<&Prompt> = prompts.iter().filter(|prompt| prompt.at >= since).collect();
    let put = |prompt: &Prompt| prompt.given.as_ref().map_or(0, put_in);
    let helped = week.iter().filter(|prompt| put(prompt) > 0).count();
    let total: usize = week.iter().map(|prompt| put(prompt)).sum();
    let used = week.iter().filter_map(|prompt| {
        let outcome = prompt.outcome.as_ref()?;
        let given = prompt.given.as_ref()?.found.iter();
        Some(given.filter(|one| outcome.used.contains(&one.id)).count())
    });
    let used: usize = used.sum();
    let bars = (0..DAYS).rev().map(|back| {
        let day = calendar.day_of(now - TimeDelta::days(back));
        let of_day = week
            .iter()
            .filter(|prompt| calendar.day_of(prompt.at) == day);
        Bar {
            name: day.to_string(),
            count: of_day.count(),
            path: None,
        }
    });
    let bars: Vec<Bar> = bars.collect();
    html! {
        section {
            h2 { a href="/prompts" { "Into prompts" } " " small { "last 7 days" } }
            @if week.is_empty() {
                p class="why" { "No connected agent was given a prompt." }
            } @else {
                (chart::bars("Prompts by day", &bars))
                (figures(&[
                    ("prompts", text::count(week.len() as u64)),
                    ("got something", text::count(helped as u64)),
                    ("records put in", text::count(total as u64)),
                    ("of them used", text::count(used as u64)),
                ]))
            }
        }
    }
}

fn numbers(stats: &EngineStats, page: &Page, calendar: &Calendar) -> Markup {
    let recall = page.memories().service().stats().recall;
    let mut rows = vec![
        ("records", text::count(stats.live.into())),
        ("sessions", text::count(stats.sessions.into())),
        ("file", text::size(stats.file_bytes)),
    ];
    rows.extend(stats.last_ingest.map(|at| ("last kept", calendar.ago(at))));
    if recall.count > 0 {
        let mean = recall.total_us as f64 / recall.count as f64 / 1e3;
        rows.push(("recall", format!("{mean:.0} ms")));
    }
    let model = stats
        .space
        .clone()
        .unwrap_or_else(|| "none in use".to_owned());
    rows.push((
        "model",
        model.rsplit('/').next_back().unwrap_or(&model).to_owned(),
    ));
    html! { section { h2 { a href="/care" { "Memory" } } (figures(&rows)) } }
}

/// What begins a memory.
fn nothing(visit: &Visit) -> Markup {
    html! {
        section class="empty" data-live="digest" {
            h2 { "Nothing is remembered yet" }
            p { "Three commands begin a memory:" }
            dl class="facts" {
                @for (command, says) in BEGIN {
                    dt { code { (visit.command(command)) } } dd { (says) }
                }
            }
        }
    }
}

/// What waits for a person: it compares records, and so comes after the page.
pub(crate) async fn needs(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let asked = tending::ReviewArguments::default();
    let doubt = visit.ask_if::<tending::Review>(asked).await?;
    let doubt = doubt.as_ref();
    let contradictions = doubt.map_or(&[][..], |doubt| &doubt.contradictions);
    let alike = doubt.map_or(&[][..], |doubt| &doubt.review);
    let all = contradictions.len() + alike.len();
    let mut waiting = Vec::new();
    for tree in visit.memory().workspaces() {
        let asked = workspace::ReviewArguments {
            workspace: Some(tree.clone()),
            ..workspace::ReviewArguments::default()
        };
        // A tree that cannot be read says so in its own room.
        let reviews = visit.ask::<workspace::Review>(asked).await;
        let reviews = reviews.map(|found| found.reviews).unwrap_or_default();
        waiting.extend(reviews.into_iter().map(|one| (tree.clone(), one)));
    }
    let damage = damage(&visit).await;
    let nothing = all == 0 && waiting.is_empty() && damage.is_none();
    let body = html! {
        @if let Some(damage) = &damage {
            div class="need" { b { "Not well" } p { (damage) } }
        }
        @for pair in contradictions.iter().take(NEEDS) {
            (review::need(&visit, pair, "Which holds now?"))
        }
        @for pair in alike.iter().take(NEEDS - 1) {
            (review::need(&visit, pair, "Do these say the same?"))
        }
        @if all > contradictions.len().min(NEEDS) + alike.len().min(NEEDS - 1) {
            p {
                a href="/knowledge/review" {
                    (text::of(all, "pair waits", "pairs wait")) " in all"
                }
            }
        }
        @for (tree, one) in waiting.iter().take(NEEDS) {
            div class="need" {
                b {
                    (text::line(&one.branch, 60))
                    (match one.word.as_ref().map(|word| word.is_approved) {
                        None => " waits for approval",
                        Some(true) => " is approved and waits for its merge",
                        Some(false) => " was declined",
                    })
                }
                p {
                    (text::of(one.paths.len(), "file", "files")) " in " (text::line(tree, 60)) "."
                }
                a class="button" href=(format!("/workspace?tree={}", encoded(tree))) { "Look" }
            }
        }
        @if nothing { p class="faint" { "Nothing waits for you." } }
    };
    if pairs.get("part").is_some() {
        return Ok(body);
    }
    Ok(room(&visit, "/needs", "Needs you", &body))
}
