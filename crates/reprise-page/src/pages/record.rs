//! One record at the side of its list: its text and its actions, and in folds its origin, its
//! links, the prompts that received it, and its effect on runs.

mod settings;

use std::collections::BTreeSet;

use reprise_operations::operations::links::{Direction, Neighbours, Related, RelatedArguments};
use reprise_operations::operations::outcomes::{Runs, RunsArguments, RunsFound};
use reprise_operations::operations::records::list;
use reprise_operations::operations::records::{ShowArguments, Versions};
use reprise_operations::operations::sessions::{Prompts, PromptsArguments};
use reprise_operations::operations::sharing;
use reprise_operations::{Prompt, RUNS_TO_COMPARE_MIN};
use reprise_types::{ExternalId, ReleaseTarget, WithheldReason};
use similar::ChangeTag;

use super::diary::render_replaced_notice;
use super::learning::{RunTitles, render_runs_table};
use super::linked::{render_link_form, render_links};
use super::wording::{Wording, render_save_buttons, split_result};
use crate::prelude::*;
use crate::rows::RowGroup;
use settings::render_settings_form;

pub(super) use settings::{RecordSettings, SEEN};

/// Steps over links, and most linked records.
const DEPTH: usize = 2;
const RELATED_MAX: usize = 60;
const RUNS_SHOWN: usize = 25;
/// Newest prompts that are searched for it.
const PROMPTS: usize = 100;
/// Records of the same session next to it.
const NEARBY_MAX: usize = 40;

/// A record with its versions, links, runs and prompts.
struct RecordDetails {
    versions: Versions,
    around: Neighbours,
    runs: RunsFound,
    seen: sharing::VisibilityReport,
    prompts: Vec<Prompt>,
    names: RunTitles,
    doubts: Markup,
}

impl RecordDetails {
    /// Returns the first of the loaded prompts of its session.
    fn session_title(&self) -> Option<&str> {
        let session = &self.versions.present.session_id;
        let mut of_session = self.prompts.iter().filter(|one| one.session == *session);
        of_session.next_back().map(|prompt| prompt.text.as_str())
    }
}

async fn load_details(visit: &PageRequest, name: &str) -> PageResult<RecordDetails> {
    let arguments = HistoryArguments {
        id: name.to_owned(),
    };
    let versions = visit.run_optional::<History>(arguments).await?;
    let versions = versions.ok_or_else(PageError::missing_memory)?;
    let id = versions.present.id.to_string();
    let doubts = render_contradictions(visit, &versions.present).await?;
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
        ratings: false,
    };
    let prompts = PromptsArguments {
        limit: Some(PROMPTS),
        ..PromptsArguments::default()
    };
    let memory = visit.memory();
    let (around, runs, seen, prompts, names) = tokio::join!(
        Related::run(&memory, around),
        Runs::run(&memory, runs),
        visit.run::<sharing::Visibility>(ShowArguments { id }),
        Prompts::run(&memory, prompts),
        RunTitles::load(visit),
    );
    Ok(RecordDetails {
        versions,
        around: around?,
        runs: runs?,
        seen: seen?,
        prompts: prompts?.prompts,
        names: names?,
        doubts,
    })
}

pub(crate) async fn show(
    visit: PageRequest,
    PathParameter(name): PathParameter<String>,
    pairs: QueryPairs,
) -> PageResult<Markup> {
    let details = load_details(&visit, &name).await?;
    let (record, calendar) = (&details.versions.present, visit.page.calendar());
    let article = html! {
        (render_older_address_notice(&details.versions, &name, &calendar))
        (render_article(&visit, &details, &calendar))
    };
    if pairs.get("part").is_some() {
        return Ok(article);
    }
    let (nearby, is_whole) = list_nearby(&visit, record).await?;
    let mut known = RowContext::load(&visit).await?;
    known.look_up(&visit, &nearby).await?;
    let groups = rows::group_by_session(&nearby, &calendar);
    let row_groups = groups
        .iter()
        .map(|group| RowGroup::from_group(group, &groups, is_whole));
    let rows = html! {
        h2 class="unseen-text" {
            (if record.session_id.is_empty() { "Earlier memories" } else { "Memories from the same session" })
        }
        (rows::render_groups(&row_groups.collect::<Vec<_>>(), &known))
    };
    let body = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        div class="split" data-opens=(record.id) {
            div class="side" id="side" {
                h2 class="unseen-text" { "This memory" }
                (article)
            }
            div { (rows::render_list(&visit, &rows)) }
        }
    };
    let subject = rows::title(record);
    Ok(render_page_about(
        &visit,
        "/timeline",
        "Memory",
        subject,
        &body,
    ))
}

/// Says that an address names a version which another one replaced, as a link from a prompt may.
fn render_older_address_notice(versions: &Versions, name: &str, calendar: &Calendar) -> Markup {
    let mut earlier = versions.earlier.iter();
    let named = earlier.find(|one| one.id.to_string() == name);
    html! {
        @if let Some(older) = named {
            p class="notice" role="status" {
                "You opened an older version, of " (calendar.format_to_minute(older.known_at))
                ": it was corrected since. This is the current text, saved "
                (calendar.format_to_minute(versions.present.known_at)) "; \u{201c}Versions\u{201d} \
                 below shows what changed."
            }
        }
    }
}

/// Lists the records of its session, or before it; and whether the session is complete.
async fn list_nearby(
    visit: &PageRequest,
    record: &MemoryRecord,
) -> PageResult<(Vec<MemoryRecord>, bool)> {
    let session = Some(record.session_id.clone()).filter(|session| !session.is_empty());
    let list_request = |until| ListRequest {
        filter: MemoryFilter {
            session_id: session.clone(),
            until,
            ..MemoryFilter::default()
        },
        limit: NEARBY_MAX,
        after: None,
    };
    let memory = visit.memory();
    let first = session.is_none().then_some(record.timestamp);
    let found = list::list_records(&memory, list_request(first)).await?;
    if found.records.iter().any(|one| one.id == record.id) {
        return Ok((found.records, first.is_none() && found.next.is_none()));
    }
    let found = list::list_records(&memory, list_request(Some(record.timestamp))).await?;
    Ok((found.records, false))
}

/// Renders the memories that contradict one: those that are noted, and of the pairs that were found
/// to wait for a decision.
async fn render_contradictions(visit: &PageRequest, record: &MemoryRecord) -> PageResult<Markup> {
    let noted = visit.memory().list_contradictions_of(record.id).await?;
    let kept = visit.page.kept_reviews().get(&visit.user);
    let doubted = kept.iter().flat_map(|kept| &kept.found.contradictions);
    let pairs: BTreeSet<&[String; 2]> = noted.iter().chain(doubted).map(|one| &one.pair).collect();
    let pairs = pairs.into_iter();
    let mut others = Vec::new();
    for [older, newer] in pairs.filter(|pair| pair.iter().any(|it| rows::has_name(record, it))) {
        let other = if rows::has_name(record, older) {
            newer
        } else {
            older
        };
        let arguments = HistoryArguments { id: other.clone() };
        let found = visit.run_optional::<History>(arguments).await?;
        let present = found.map(|found| found.present);
        others.extend(present.filter(|it| rows::has_name(it, other)));
    }
    Ok(html! { @for other in &others {
        p class="why" {
            "May contradict: " a href=(rows::path(other)) { (text::shorten(rows::title(other), 90)) }
            " " a href="/needs" { "Decide" }
        }
    } })
}

fn render_article(visit: &PageRequest, details: &RecordDetails, calendar: &Calendar) -> Markup {
    let record = &details.versions.present;
    let path = rows::path(record);
    let (text, result) = split_result(record);
    // A text that begins with its title shows it once.
    let rest = text.strip_prefix(rows::title(record));
    let (is_said, is_titled) = (
        rest.is_some(),
        rest.is_some_and(|rest| rest.starts_with("\n\n")),
    );
    html! {
        article class="card" data-open=(record.id) aria-label="Memory" {
            (render_replaced_notice(visit, &details.versions))
            (details.doubts)
            h3 class=(if is_said { "unseen-text" } else { "record-title" }) {
                (text::shorten(rows::title(record), 120))
            }
            div class="meta" {
                (rows::kind_icon(record))
                span class="k" { (rows::byline(record)) }
                span title=(calendar.format_to_minute(record.timestamp)) {
                    (calendar.format_relative(record.timestamp))
                }
                @if let Some(result) = result { span class="chip" { (result) } }
                @if record.retention == Retention::Pinned { span class="chip" { "pinned" } }
                @if details.seen.published.is_some() { span class="chip good" { "published" } }
                @if let Some(at) = record.made_as_correction_at() {
                    span class="chip" { "corrected " (calendar.day_of(at)) }
                }
            }
            a class="full" href=(path) { "Open in full" }
            div class=(if is_titled { "said titled" } else { "said" }) { (markdown::render(&text)) }
            @if !record.tags.is_empty() {
                div class="chips" {
                    @for tag in &record.tags {
                        a class="chip" href=(format!("/timeline?tag={}", percent_encode(tag)))
                            title=(text::plain_line(tag, 200)) {
                            (text::shorten(&rows::label_tag(tag), 60))
                        }
                    }
                }
            }
            (render_actions(visit, details, &path))
            (render_facts(details, calendar))
            (render_use(visit, details, calendar))
            (render_links(visit, &details.around, &path))
            (render_versions(&details.versions, calendar))
            (render_provenance(record))
        }
    }
}

/// Renders the actions on a record, the destructive last.
fn render_actions(visit: &PageRequest, details: &RecordDetails, path: &str) -> Markup {
    let record = &details.versions.present;
    let may_leave =
        record.check_release(ReleaseTarget::Publication) != Err(WithheldReason::Sensitive);
    html! {
        div class="acts" {
            @if !visit.read_only {
                (render_edit(visit, record, path))
                (render_tag_form(visit, record, path))
                (render_link_form(visit, path))
                (render_settings_form(visit, record, path))
            }
            details class="act" id="asked" {
                summary class="button quiet" data-command="Check whether a question finds this memory" {
                    "Why was it not found?"
                }
                form class="stack" action="/search" {
                    input type="hidden" name="expected" value=(record.id);
                    label {
                        "The question that should find it"
                        input name="q" required autocomplete="off";
                    }
                    button { "Ask this" }
                }
            }
            @if !visit.read_only {
                @if may_leave {
                    a class="button quiet" href=(format!("{path}/publish"))
                        data-command="Publish this memory" { "Publish\u{2026}" }
                }
                a class="button quiet danger" href=(format!("{path}/forget"))
                    data-command="Forget this memory" { "Forget\u{2026}" }
            }
        }
    }
}

fn render_edit(visit: &PageRequest, record: &MemoryRecord, path: &str) -> Markup {
    html! {
        details class="act" id="edit" {
            summary class="button" data-command="Edit this memory" { "Edit" }
            (render_edit_form(visit, path, &Wording::of(record)))
        }
    }
}

/// Renders the form that corrects the version in its path.
fn render_edit_form(visit: &PageRequest, path: &str, wording: &Wording) -> Markup {
    let Wording { title, text, .. } = wording;
    html! {
        div class="stack" { (form(visit, &format!("{path}/correct"), &html! {
            p class="faint" { "Saving makes a new version. This one stays in the history." }
            @if let Some(title) = title {
                label { "Title" input name="title" value=(title); }
            }
            // The first line break after the tag is not part of a text.
            label { "Text" textarea name="text" rows="8" required { "\n" (text) } }
            (render_save_buttons("Save", path))
        })) }
    }
}

/// Renders what was typed for a version that another has replaced, next to the present text.
pub(super) fn render_conflict(
    visit: &PageRequest,
    record: &MemoryRecord,
    typed: &Wording,
) -> Markup {
    html! {
        p class="lead" role="alert" {
            "This memory was changed after you opened it, so nothing was saved. Your text is \
             below. Saving it replaces the present text."
        }
        div class="card" {
            h2 { "Present text" }
            div class="said" { (text::render(&record.text)) }
        }
        div class="card" {
            h2 { "Your text" }
            (render_edit_form(visit, &rows::path(record), typed))
        }
    }
}

fn render_tag_form(visit: &PageRequest, record: &MemoryRecord, path: &str) -> Markup {
    html! {
        details class="act" id="tag" {
            summary class="button quiet" data-command="Tag this memory" { "Tags" }
            div class="stack" { (form(visit, &format!("{path}/tags"), &html! {
                label {
                    "Tags, separated by commas" input name="tags" value=(record.tags.join(", "));
                }
                (render_save_buttons("Save tags", path))
            })) }
        }
    }
}

/// Renders when it happened, when it was saved, and who can see it.
fn render_facts(details: &RecordDetails, calendar: &Calendar) -> Markup {
    let record = &details.versions.present;
    let settings = RecordSettings::of(record);
    let is_former = details.seen.is_former;
    html! {
        dl class="facts" {
            @let happened = calendar.format_to_minute(record.timestamp);
            @let saved = calendar.format_to_minute(record.known_at);
            @if happened != saved { dt { "Happened" } dd { (happened) } }
            dt { "Saved" } dd { (saved) }
            @if !record.session_id.is_empty() {
                dt { "Session" }
                dd {
                    a href=(format!("/timeline?session={}", percent_encode(&record.session_id))) {
                        (text::shorten(rows::name_session(&record.session_id, details.session_title()), 80))
                    }
                }
            }
            dt { "Visibility" }
            dd {
                @match (details.seen.published, details.seen.version.as_deref()) {
                    (Some(id), Some(version)) => {
                        "Published: others can find "
                        a href=(format!("/global/{id}")) { "version " (version) }
                        @if is_former { ", which has the text from before your correction" }
                        "."
                    }
                    _ if record.check_release(ReleaseTarget::Publication) == Err(WithheldReason::Sensitive) => {
                        "Private: it is marked sensitive and cannot be published."
                    }
                    _ => (settings.describe()),
                }
            }
        }
    }
}

/// Renders the prompts that received it, and how runs went that used it.
fn render_use(visit: &PageRequest, details: &RecordDetails, calendar: &Calendar) -> Markup {
    let id = details.versions.present.id;
    // What an earlier version was given to stays known after a correction.
    let earlier: Vec<RecordId> = details.versions.earlier.iter().map(|one| one.id).collect();
    let received_one_of = |prompt: &Prompt, ids: &[RecordId]| {
        let mut given = prompt.given.iter().flat_map(|given| &given.found);
        given.any(|one| ids.contains(&one.id) && one.left_out.is_none())
    };
    let is_in =
        |prompt: &&Prompt| received_one_of(prompt, &[id]) || received_one_of(prompt, &earlier);
    let prompts: Vec<&Prompt> = details.prompts.iter().filter(is_in).collect();
    let runs = &details.runs;
    let better: f32 = runs.runs.iter().map(|run| run.quality - run.expected).sum();
    html! {
        @if details.versions.present.is_prompt() {
            p class="why" {
                a href=(format!("/prompts/{id}")) { "Memories added to this prompt" }
            }
        }
        (fold("Prompts that received it", prompts.len(), &html! {
            ol class="rows" {
                @for prompt in &prompts {
                    li class="row" {
                        span {} span class="prompt" { (icon("prompt")) }
                        span class="k" { "prompt" }
                        a class="x" href=(format!("/prompts/{}", prompt.id)) {
                            (text::shorten(&prompt.text, 120))
                        }
                        span class="w" {
                            @if !received_one_of(prompt, &[id]) { span class="faint" { "an earlier version" } }
                            time class="ago" { (calendar.format_relative(prompt.at)) }
                        }
                    }
                }
            }
            p class="faint" { "Of the latest " (PROMPTS) " prompts." }
        }))
        (fold("Effect on runs", runs.all, &html! {
            p class="why" {
                @let better = better / runs.runs.len().max(1) as f32;
                (describe_effect(better, runs.runs.len()))
            }
            (render_runs_table(visit, runs, &details.names, runs.runs.iter(), calendar))
        }))
    }
}

/// Compares the runs that used a memory with what was expected, in a sentence.
fn describe_effect(better: f32, runs: usize) -> String {
    if runs < RUNS_TO_COMPARE_MIN {
        let runs = text::pluralize(runs, "run", "runs");
        return format!("{runs} used this: too few to compare with what was expected.");
    }
    let size = if better.abs() < 0.25 { "slightly " } else { "" };
    let how = match better {
        better if better.abs() < 0.005 => "as expected".to_owned(),
        better if better > 0.0 => format!("{size}better than expected"),
        _ => format!("{size}worse than expected"),
    };
    format!(
        "{} that used this went {how} ({}).",
        text::pluralize(runs, "run", "runs"),
        text::format_signed(better)
    )
}

fn render_versions(details: &Versions, calendar: &Calendar) -> Markup {
    let all: Vec<&MemoryRecord> = [&details.present]
        .into_iter()
        .chain(&details.earlier)
        .collect();
    html! {
        (fold("Versions", if details.earlier.is_empty() { 0 } else { all.len() }, &html! {
            ol class="versions" {
                @for (index, version) in all.iter().enumerate() {
                    li {
                        p class="faint" {
                            (calendar.format_to_minute(version.known_at))
                            @if index == 0 { ", current" }
                        }
                        @match all.get(index + 1) {
                            Some(before) => { (render_change(before, version)) }
                            None => { div class="said" { (text::render(&version.text)) } }
                        }
                    }
                }
            }
        }))
    }
}

fn render_change(before: &MemoryRecord, after: &MemoryRecord) -> Markup {
    let (was, is) = (RecordSettings::of(before), RecordSettings::of(after));
    html! {
        @if before.text == after.text { p class="faint" { "The text is the same." } }
        @else { (render_diff(&before.text, &after.text)) }
        @if was != is {
            p {
                del { span class="unseen-text" { "removed: " } (was.describe()) } " \u{2192} "
                ins { span class="unseen-text" { "added: " } (is.describe()) }
            }
        }
    }
}

fn render_diff(before: &str, after: &str) -> Markup {
    let changes = text::diff_words(before, after);
    html! {
        div class="said diff" {
            @for (index, (tag, part)) in changes.iter().enumerate() {
                @match tag {
                    ChangeTag::Equal => { (text::render(part)) }
                    ChangeTag::Delete => {
                        del { span class="unseen-text" { " removed: " } (text::render(part)) }
                        @if changes.get(index + 1).is_some_and(|next| next.0 == ChangeTag::Insert) { " \u{2192} " }
                    }
                    ChangeTag::Insert => {
                        ins { span class="unseen-text" { " added: " } (text::render(part)) }
                    }
                }
            }
        }
    }
}

/// Describes an external id and where it comes from.
fn describe_external_id(external: &ExternalId) -> String {
    let from = match external.namespace.as_str() {
        ExternalId::BATCH => "ingested",
        ExternalId::EVENT => "event log",
        other => other,
    };
    format!("{} ({from})", external.id)
}

fn render_provenance(record: &MemoryRecord) -> Markup {
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
    // What Reprise itself names requests and merged memories by is of no use to a person.
    let external = record.external_ids.iter();
    let external = external.filter(|it| it.is_shared_by_versions());
    facts.extend(external.map(|it| ("external id", describe_external_id(it))));
    let rests = provenance.source_refs.iter();
    facts.extend(rests.map(|it| ("source", it.clone())));
    html! {
        details class="fold" {
            summary { "Origin" }
            dl class="facts" {
                @for (name, value) in &facts { dt { (name) } dd { (text::shorten(value, 200)) } }
                @for (name, value) in &record.metadata {
                    dt { (text::shorten(name, 60)) }
                    dd { (text::shorten(&text::format_value(value), 200)) }
                }
            }
        }
    }
}
