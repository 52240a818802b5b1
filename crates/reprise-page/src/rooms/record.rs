//! One record at the side of its list: its text, the ways to put it right, and, folded, where it
//! comes from, what it is linked with, where it went into prompts and what it earned.

use reprise_operations::Prompt;
use reprise_operations::operations::learning::{Runs, RunsArguments, RunsFound};
use reprise_operations::operations::links::{Direction, Neighbours, Related, RelatedArguments};
use reprise_operations::operations::records::{ShowArguments, Versions};
use reprise_operations::operations::sessions::{Prompts, PromptsArguments};
use reprise_operations::operations::{list, shared};
use reprise_types::{WayOut, Withheld};
use similar::{ChangeTag, TextDiff};

use super::learning::runs_table;
use crate::prelude::*;
use crate::rows::Told;

/// Steps over links, and records at most.
const DEPTH: usize = 2;
const RELATED_MAX: usize = 60;
const RUNS_SHOWN: usize = 25;
/// Prompts that are looked through for it.
const PROMPTS: usize = 100;
/// Records beside it.
const BESIDE: usize = 40;

/// What a person can rewrite of a record: of a lesson its title and what was learned, of any other
/// its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wording {
    /// A lesson's title.
    pub(super) title: Option<String>,
    pub(super) text: String,
}

impl Wording {
    pub(super) fn of(record: &MemoryRecord) -> Self {
        let details = record.details.as_ref();
        let part = |name| Some(details?.get(name)?.as_str()?.to_owned());
        let plain = Self {
            title: None,
            text: record.text.clone(),
        };
        if part("type").as_deref() != Some("lesson") {
            return plain;
        }
        let title = Some(part("title").unwrap_or_default());
        let text = part("content").unwrap_or_default();
        Self { title, text }
    }
}

/// How long a record stays, and how far it may travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    /// No clean-up takes it.
    pub(super) is_pinned: bool,
    /// What its owner says of that, if anything.
    pub(super) seen: Option<Visibility>,
}

/// How far a record may travel, as its owner says: the words of a form, and of the page.
pub(super) const SEEN: [(Option<Visibility>, &str, &str); 3] = [
    (None, "owner", "You alone, until you publish it"),
    (
        Some(Visibility::Private),
        "private",
        "You alone; it cannot be published",
    ),
    (
        Some(Visibility::Workspace),
        "workspace",
        "Whoever reads the project's workspace, too",
    ),
];

impl Standing {
    pub(super) fn of(record: &MemoryRecord) -> Self {
        let seen = if record.visibility == Visibility::Workspace {
            Some(Visibility::Workspace)
        } else {
            let is_private = record.may_leave(WayOut::Publication) == Err(Withheld::Private);
            is_private.then_some(Visibility::Private)
        };
        let is_pinned = record.retention == Retention::Pinned;
        Self { is_pinned, seen }
    }

    fn says(self) -> String {
        let seen = SEEN.iter().find(|one| one.0 == self.seen);
        let pinned = if self.is_pinned {
            "Pinned: no clean-up takes it"
        } else {
            "Not pinned"
        };
        format!("{}. {pinned}.", seen.map_or("", |one| one.2))
    }
}

/// A record with all that is known of it.
struct Story {
    versions: Versions,
    around: Neighbours,
    runs: RunsFound,
    seen: shared::Answer,
    prompts: Vec<Prompt>,
}

async fn story(visit: &Visit, name: &str) -> Answer<Story> {
    let asked = HistoryArguments {
        id: name.to_owned(),
    };
    let versions = visit.ask::<History>(asked).await?;
    let id = versions.present.id.to_string();
    let around = RelatedArguments {
        id: id.clone(),
        depth: Some(DEPTH),
        limit: Some(RELATED_MAX),
        direction: Some(Direction::Both),
        ..RelatedArguments::default()
    };
    let runs = RunsArguments {
        record: Some(id.clone()),
        limit: Some(RUNS_SHOWN),
    };
    let prompts = PromptsArguments {
        limit: Some(PROMPTS),
        ..PromptsArguments::default()
    };
    let memory = visit.memory();
    let (around, runs, seen, prompts) = tokio::join!(
        Related::run(&memory, around),
        Runs::run(&memory, runs),
        visit.ask::<shared::Visibility>(ShowArguments { id }),
        Prompts::run(&memory, prompts),
    );
    Ok(Story {
        versions,
        around: around?,
        runs: runs?,
        seen: seen?,
        prompts: prompts?.prompts,
    })
}

pub(crate) async fn show(visit: Visit, Named(name): Named<String>, pairs: Pairs) -> Answer<Markup> {
    let story = story(&visit, &name).await?;
    let (record, calendar) = (&story.versions.present, visit.page.calendar());
    let article = article(&visit, &story, &calendar);
    if pairs.get("part").is_some() {
        return Ok(article);
    }
    let (beside, is_whole) = beside(&visit, record).await?;
    let known = Known::of(&visit).await?;
    let groups = rows::groups(&beside, &calendar, false);
    let told = groups.iter().map(|group| Told::all(group, is_whole));
    let rows = html! {
        h2 class="unseen-text" { "What happened with it" }
        (rows::by_day(&told.collect::<Vec<_>>(), &known))
    };
    let body = html! {
        (undo::told(&visit, pairs.get("done")))
        div class="split" data-opens=(record.id) {
            div class="side" id="side" {
                h2 class="unseen-text" { "The record itself" }
                (article)
            }
            div { (rows::list(&visit, &rows)) }
        }
    };
    Ok(room(&visit, "/timeline", "Record", &body))
}

/// What happened with it: its session, and whether all of it; else what came before it.
async fn beside(visit: &Visit, record: &MemoryRecord) -> Answer<(Vec<MemoryRecord>, bool)> {
    let session = Some(record.session_id.clone()).filter(|session| !session.is_empty());
    let asked = |until| ListRequest {
        filter: MemoryFilter {
            session_id: session.clone(),
            until,
            ..MemoryFilter::default()
        },
        limit: BESIDE,
        after: None,
    };
    let memory = visit.memory();
    let first = session.is_none().then_some(record.timestamp);
    let found = list::records(&memory, asked(first)).await?;
    if found.records.iter().any(|one| one.id == record.id) {
        return Ok((found.records, first.is_none() && found.next.is_none()));
    }
    let found = list::records(&memory, asked(Some(record.timestamp))).await?;
    Ok((found.records, false))
}

fn article(visit: &Visit, story: &Story, calendar: &Calendar) -> Markup {
    let record = &story.versions.present;
    let path = rows::path(record);
    html! {
        article class="card" data-open=(record.id) aria-label="Record" {
            div class="meta" {
                (rows::kind_icon(record))
                span class="k" { (About::of(record)) }
                span title=(calendar.minute_of(record.timestamp)) {
                    (calendar.ago(record.timestamp))
                }
                @if record.retention == Retention::Pinned { span class="chip" { "pinned" } }
                @if story.seen.published.is_some() { span class="chip good" { "published" } }
                @if let Some(at) = record.corrected_at() {
                    span class="chip" { "corrected " (calendar.day_of(at)) }
                }
            }
            div class="said" { (markdown::shown(&record.text)) }
            @if !record.tags.is_empty() {
                div class="chips" {
                    @for tag in &record.tags {
                        a class="chip" href=(format!("/timeline?tag={}", encoded(tag))) {
                            (text::line(tag, 60))
                        }
                    }
                }
            }
            (actions(visit, story, &path))
            (facts(story, calendar))
            (used(visit, story, calendar))
            (links(visit, story, &path))
            (versions(&story.versions, calendar))
            (provenance(record))
        }
    }
}

/// What can be done, the destructive last.
fn actions(visit: &Visit, story: &Story, path: &str) -> Markup {
    let record = &story.versions.present;
    let may_leave = record.may_leave(WayOut::Publication) != Err(Withheld::Sensitive);
    html! {
        div class="acts" {
            @if !visit.read_only {
                (edit(visit, record, path))
                (tags(visit, record, path))
                (link(visit, path))
                (standing(visit, record, path))
            }
            a class="button" href=(format!("/map?around={}", record.id))
                data-command="Walk its links" {
                "Map"
            }
            details class="act" id="asked" {
                summary class="button" data-command="Does a question bring this record?" {
                    "Why not found?"
                }
                form class="stack" action="/search" {
                    input type="hidden" name="expected" value=(record.id);
                    label {
                        "The question that should bring it"
                        input name="q" required autocomplete="off";
                    }
                    button { "Ask" }
                }
            }
            @if !visit.read_only {
                @if may_leave {
                    a class="button" href=(format!("{path}/publish"))
                        data-command="Publish this record" { "Publish\u{2026}" }
                }
                a class="button danger" href=(format!("{path}/forget"))
                    data-command="Forget this record" { "Forget\u{2026}" }
            }
        }
    }
}

fn edit(visit: &Visit, record: &MemoryRecord, path: &str) -> Markup {
    html! {
        details class="act" id="edit" {
            summary class="button" data-command="Edit this record" { "Edit" }
            (correction(visit, path, &Wording::of(record)))
        }
    }
}

/// The form of a correction, which is one of the version that its path names.
fn correction(visit: &Visit, path: &str, Wording { title, text }: &Wording) -> Markup {
    html! {
        div class="stack" { (form(visit, &format!("{path}/correct"), &html! {
            p class="faint" { "A new version takes its place; this one stays in the history." }
            @if let Some(title) = title {
                label { "Title" input name="title" value=(title); }
            }
            // The first line break after the tag is not part of a text.
            label { "Text" textarea name="text" rows="8" required { "\n" (text) } }
            (ends("Save", path))
        })) }
    }
}

/// What was typed for a version whose place another has taken.
pub(super) fn not_saved(visit: &Visit, record: &MemoryRecord, typed: &Wording) -> Markup {
    html! {
        p class="lead" role="alert" {
            "This record was changed after you opened it, so nothing was saved. What you typed is \
             below: saving it puts it in the place of what the record says now."
        }
        div class="card" {
            h2 { "What it says now" }
            div class="said" { (text::whole(&record.text)) }
        }
        div class="card" {
            h2 { "What you typed" }
            (correction(visit, &rows::path(record), typed))
        }
    }
}

/// What ends an act: it is saved, or nothing of it.
fn ends(says: &str, path: &str) -> Markup {
    html! {
        div class="acts" {
            button class="first" { (says) }
            a class="button" href=(path) data-cancel { "Cancel" }
        }
    }
}

fn tags(visit: &Visit, record: &MemoryRecord, path: &str) -> Markup {
    html! {
        details class="act" id="tag" {
            summary class="button" data-command="Tag this record" { "Tag" }
            div class="stack" { (form(visit, &format!("{path}/tags"), &html! {
                label {
                    "Tags, with commas between" input name="tags" value=(record.tags.join(", "));
                }
                (ends("Save the tags", path))
            })) }
        }
    }
}

fn link(visit: &Visit, path: &str) -> Markup {
    html! {
        details class="act" id="link" {
            summary class="button" data-command="Link this record" { "Link" }
            div class="stack" { (form(visit, &format!("{path}/link"), &html! {
                label {
                    "To the record with this id"
                    input name="other" required autocomplete="off" spellcheck="false";
                }
                label { "How" input name="relation" value="related_to"; }
                (ends("Save the link", path))
            })) }
        }
    }
}

fn standing(visit: &Visit, record: &MemoryRecord, path: &str) -> Markup {
    let standing = Standing::of(record);
    html! {
        details class="act" id="standing" {
            summary class="button" data-command="Pin this record, or say who sees it" {
                "Pin, share"
            }
            div class="stack" { (form(visit, &format!("{path}/standing"), &html! {
                fieldset {
                    legend class="unseen-text" { "Who can see it" }
                    @for (one, word, says) in SEEN {
                        label class="choice" {
                            input type="radio" name="seen" value=(word)
                                checked[one == standing.seen];
                            (says)
                        }
                    }
                }
                label class="choice" {
                    input type="checkbox" name="pinned" value="yes" checked[standing.is_pinned];
                    "Pinned: no clean-up takes it"
                }
                (ends("Save", path))
            })) }
        }
    }
}

/// When it happened and when it was kept, and who can see it.
fn facts(story: &Story, calendar: &Calendar) -> Markup {
    let record = &story.versions.present;
    let standing = Standing::of(record);
    let is_former = story.seen.is_former;
    html! {
        dl class="facts" {
            dt { "Happened" } dd { (calendar.minute_of(record.timestamp)) }
            dt { "Kept" } dd { (calendar.minute_of(record.known_at)) }
            @if !record.session_id.is_empty() {
                dt { "Session" }
                dd {
                    a href=(format!("/timeline?session={}", encoded(&record.session_id))) {
                        (text::line(&record.session_id, 80))
                    }
                }
            }
            dt { "Seen by" }
            dd {
                @match (story.seen.published, story.seen.version.as_deref()) {
                    (Some(id), Some(version)) => {
                        "Everybody: others can find "
                        a href=(format!("/global/{id}")) { "version " (version) }
                        @if is_former { ", which says what it said before it was corrected" }
                        "."
                    }
                    _ if record.may_leave(WayOut::Publication) == Err(Withheld::Sensitive) => {
                        "You alone: it is marked sensitive and cannot be published."
                    }
                    _ => (standing.says()),
                }
            }
        }
    }
}

/// Where it went into prompts, and how runs went that used it.
fn used(visit: &Visit, story: &Story, calendar: &Calendar) -> Markup {
    let id = story.versions.present.id;
    let is_in = |prompt: &&Prompt| {
        let given = prompt.given.iter().flat_map(|given| &given.found);
        given
            .into_iter()
            .any(|one| one.id == id && one.left_out.is_none())
    };
    let prompts: Vec<&Prompt> = story.prompts.iter().filter(is_in).collect();
    let runs = &story.runs;
    let better: f32 = runs.runs.iter().map(|run| run.quality - run.expected).sum();
    html! {
        @if story.versions.present.is_prompt() {
            p class="why" {
                a href=(format!("/prompts/{id}")) { "What memory put into this prompt" }
            }
        }
        (fold("Into prompts", prompts.len(), &html! {
            ol class="rows" {
                @for prompt in &prompts {
                    li class="row" {
                        span {} span class="prompt" { (icon("prompt")) }
                        span class="k" { (calendar.ago(prompt.at)) }
                        a class="x" href=(format!("/prompts/{}", prompt.id)) {
                            (text::line(&prompt.text, 120))
                        }
                        span class="w" {}
                    }
                }
            }
            p class="faint" { "Of the newest " (PROMPTS) " prompts." }
        }))
        (fold("What it earned", runs.all, &html! {
            p class="why" {
                @let better = better / runs.runs.len().max(1) as f32;
                "Runs that used it went " (format!("{better:+.2}"))
                " otherwise than expected."
            }
            (runs_table(visit, runs, runs.runs.iter(), calendar))
        }))
    }
}

fn links(visit: &Visit, story: &Story, path: &str) -> Markup {
    let related = &story.around.related;
    html! {
        (fold("Linked", related.len(), &html! {
            ul class="linked" {
                @for one in related {
                    li class="put" {
                        span {
                            span class="faint" {
                                (text::line(&one.relation.replace('_', " "), 40))
                                (if one.outgoing { " \u{2192} " } else { " \u{2190} " })
                            }
                            a href=(format!("/records/{}", one.id)) {
                                (text::line(&one.title, 100))
                            }
                        }
                        @if one.depth == 1 {
                            (form(visit, &format!("{path}/unlink"), &html! {
                                input type="hidden" name="other" value=(one.id);
                                input type="hidden" name="relation" value=(one.relation);
                                input type="hidden" name="outgoing" value=(one.outgoing);
                                button class="quiet" { "Unlink" }
                            }))
                        } @else { small { "over another" } }
                    }
                }
            }
        }))
    }
}

fn versions(story: &Versions, calendar: &Calendar) -> Markup {
    let all: Vec<&MemoryRecord> = [&story.present].into_iter().chain(&story.earlier).collect();
    html! {
        (fold("Versions", if story.earlier.is_empty() { 0 } else { all.len() }, &html! {
            ol class="versions" {
                @for (place, version) in all.iter().enumerate() {
                    li {
                        p class="faint" {
                            (calendar.minute_of(version.known_at))
                            @if place == 0 { ", now" }
                        }
                        @match all.get(place + 1) {
                            Some(before) => { (changed(before, version)) }
                            None => { div class="said" { (text::whole(&version.text)) } }
                        }
                    }
                }
            }
        }))
    }
}

fn changed(before: &MemoryRecord, after: &MemoryRecord) -> Markup {
    let (was, is) = (Standing::of(before), Standing::of(after));
    html! {
        @if before.text == after.text { p class="faint" { "The text is the same." } }
        @else { (diff(&before.text, &after.text)) }
        @if was != is { p { del { (was.says()) } " " ins { (is.says()) } } }
    }
}

fn diff(before: &str, after: &str) -> Markup {
    let diff = TextDiff::from_words(before, after);
    html! {
        div class="said diff" {
            @for change in diff.iter_all_changes() {
                @match change.tag() {
                    ChangeTag::Equal => { (text::whole(change.value())) }
                    ChangeTag::Delete => { del { (text::whole(change.value())) } }
                    ChangeTag::Insert => { ins { (text::whole(change.value())) } }
                }
            }
        }
    }
}

fn provenance(record: &MemoryRecord) -> Markup {
    let provenance = &record.provenance;
    let mut facts: Vec<(&str, String)> = vec![("id", record.id.to_string())];
    let optional = [
        ("run", provenance.run_id.clone()),
        ("agent", provenance.actor_id.clone()),
        ("evidence", record.evidence.map(|it| it.to_string())),
        ("confidence", record.confidence.map(|it| format!("{it:.2}"))),
        ("quality", record.quality_score.map(|it| format!("{it:.2}"))),
    ];
    let given = optional.into_iter();
    facts.extend(given.filter_map(|(name, value)| Some((name, value?))));
    let external = record.external_ids.iter();
    facts.extend(external.map(|it| ("known as", format!("{} {}", it.namespace, it.id))));
    let rests = provenance.source_refs.iter();
    facts.extend(rests.map(|it| ("rests on", it.clone())));
    html! {
        (fold("Where it comes from", facts.len() + record.metadata.len(), &html! {
            dl class="facts" {
                @for (name, value) in &facts { dt { (name) } dd { (text::line(value, 200)) } }
                @for (name, value) in &record.metadata {
                    dt { (text::line(name, 60)) }
                    dd { (text::line(&text::word(value), 200)) }
                }
            }
        }))
    }
}
