//! What was changed lately and from where: the diary of what was decided and merged, and the
//! journal of other changes, with undo.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use reprise_operations::operations::maintenance::audit::{
    ContradictionState, Diary, DiaryArguments, MaintenanceAction,
};
use reprise_operations::operations::maintenance::{Undo, UndoArguments};
use reprise_operations::operations::records::Versions;
use reprise_operations::{ChangeKind, ChangeOrigin, JournalEntry, MergedSet};

use super::programs;
use crate::prelude::*;
use crate::undo::ChangeLine;

/// Most records named for one action.
const NAMED: usize = 12;
/// Most memories of a list whose titles are loaded.
const TITLES_MAX: usize = 120;
/// Most actions of the diary, and most entries of the journal.
const ACTIONS: usize = 20;
const CHANGES: usize = 40;
/// Most memories named for one entry.
const NAMED_OF_ENTRY: usize = 3;
/// Characters of the beginning of a text that an action tells.
const BEGINNING_CHARS: usize = 100;
/// Seconds within which an entry of the journal belongs to an action of the diary.
const NEAR: i64 = 2;

/// The titles of memories, by the name that each has in a list.
pub(super) type TitlesByName = BTreeMap<String, String>;

/// Loads the titles of the first memories of a list.
pub(super) async fn load_titles<'a>(
    visit: &PageRequest,
    names: impl Iterator<Item = &'a String>,
) -> PageResult<TitlesByName> {
    let mut titles = TitlesByName::new();
    for name in names.take(TITLES_MAX) {
        let id = name.clone();
        let found = visit
            .run_optional::<History>(HistoryArguments { id })
            .await?;
        let title = found.map(|found| rows::title(&found.present).to_owned());
        titles.extend(title.map(|title| (name.clone(), title)));
    }
    Ok(titles)
}

/// Lists the newest actions of the diary, with the titles of what they name.
pub(super) async fn list_actions(
    visit: &PageRequest,
) -> PageResult<(Vec<MaintenanceAction>, TitlesByName)> {
    let arguments = DiaryArguments {
        limit: Some(ACTIONS),
    };
    let diary = visit.run_optional::<Diary>(arguments).await?;
    let actions = diary.map(|diary| diary.actions).unwrap_or_default();
    let mut names = Vec::new();
    for action in &actions {
        names.extend(action.purged.iter().take(NAMED));
        names.extend(action.distilled.iter().take(NAMED));
    }
    let titles = load_titles(visit, names.into_iter()).await?;
    Ok((actions, titles))
}

/// Shows what was changed lately, wherever it was changed, with what can be undone.
pub(crate) async fn show_changes(visit: PageRequest) -> PageResult<Markup> {
    let (mut tended, titles) = list_actions(&visit).await?;
    tended.retain(|acted| !acted.undone);
    let journal = visit.memory().list_changes();
    let mut changes = undo::list_undo_lines(&visit).await?;
    for entry in journal.iter().take(CHANGES) {
        changes.extend(render_entry(&visit, entry).await?);
    }
    for acted in &tended {
        let at = acted.at.parse::<DateTime<Utc>>().unwrap_or_default();
        let entry = find_entry(&journal, acted);
        changes.push((at, render_action(&visit, acted, &titles, entry)));
    }
    changes.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let calendar = visit.page.calendar();
    let days = changes.iter().map(|(at, _)| calendar.day_of(*at));
    let days: Vec<_> = days.collect();
    let body = html! {
        p class="lead" {
            "What you and programs changed, the newest first: removed text is struck through, new text is \
             marked. Corrections, decisions and merged duplicates can be undone at any time; tags, \
             links and what you forgot here, until you sign out."
        }
        @if changes.is_empty() {
            div class="panel empty" {
                h2 { "Nothing was changed yet" }
                p { "Corrections, decisions, tags, links and what was forgotten are listed here." }
            }
        }
        @for (index, (_, change)) in changes.iter().enumerate() {
            @if index == 0 || days[index] != days[index - 1] {
                h2 class="day" { (rows::format_day(days[index], &calendar)) }
            }
            (change)
        }
    };
    Ok(render_page(&visit, "/done", "Recent changes", &body))
}

/// Finds what the journal says of an action of the diary.
pub(super) fn find_entry<'j>(
    journal: &'j [JournalEntry],
    acted: &MaintenanceAction,
) -> Option<&'j JournalEntry> {
    let at = acted.at.parse::<DateTime<Utc>>().ok()?;
    let near = |entry: &&JournalEntry| (entry.at - at).abs() < TimeDelta::seconds(NEAR);
    let is_of_diary =
        |entry: &&JournalEntry| matches!(entry.kind, ChangeKind::Decided | ChangeKind::Merged);
    let id = acted.action.parse::<RecordId>().ok();
    let is_named = |entry: &&JournalEntry| id.is_some_and(|id| entry.ids.contains(&id));
    let mut all: Vec<_> = journal.iter().filter(is_of_diary).filter(near).collect();
    // Of several at one moment it is the one that names what went.
    all.sort_by_key(|entry| !is_named(entry));
    all.first().copied()
}

/// Says where a change came from.
fn describe_origin(entry: &JournalEntry) -> String {
    match &entry.origin {
        ChangeOrigin::Page => "by you on this page".to_owned(),
        ChangeOrigin::Command => "by a command on this machine".to_owned(),
        ChangeOrigin::Agent => match &entry.agent {
            Some(agent) => format!("by {}", programs::label_of(agent)),
            None => "by an agent".to_owned(),
        },
        ChangeOrigin::Token(name) => format!("with the token \u{201c}{name}\u{201d}"),
        ChangeOrigin::Upkeep => "by Reprise itself".to_owned(),
    }
}

/// Renders an entry of the journal, with its time; nothing if the diary or the list of what can be
/// undone says the same.
async fn render_entry(
    visit: &PageRequest,
    entry: &JournalEntry,
) -> PageResult<Option<(DateTime<Utc>, Markup)>> {
    let what = match entry.kind {
        ChangeKind::Decided | ChangeKind::Merged => return Ok(None),
        ChangeKind::Corrected => "Corrected",
        ChangeKind::Tagged => "Tags changed",
        ChangeKind::Linked => "Linked",
        ChangeKind::Unlinked => "Link removed",
        ChangeKind::Forgotten => "Forgotten",
    };
    if entry.origin == ChangeOrigin::Page && undo::lists_change(visit, entry) {
        return Ok(None);
    }
    let mut named = Vec::new();
    for id in entry.ids.iter().take(NAMED_OF_ENTRY) {
        let id = id.to_string();
        let found = visit
            .run_optional::<History>(HistoryArguments { id })
            .await?;
        named.extend(found.filter(|_| entry.kind != ChangeKind::Forgotten));
    }
    let body = match entry.kind {
        ChangeKind::Corrected => render_correction(&named, entry),
        _ => render_named(&named, entry),
    };
    let corrected = find_corrected(&named, entry);
    let undo = match &corrected {
        Some(correction) if !correction.is_undo && correction.is_latest => {
            render_undo_button(visit, &correction.present.id.to_string())
        }
        _ => html! {},
    };
    let what = match &corrected {
        Some(correction) if correction.is_undo => "Correction undone",
        Some(correction) if correction.is_undone => "Corrected, and undone",
        _ => what,
    };
    let line = ChangeLine {
        at: entry.at,
        what,
        from: Some(&describe_origin(entry)),
        body,
        undo,
    };
    Ok(Some((entry.at, line.render(&visit.page.calendar()))))
}

/// What a correction replaced, and whether it was taken back.
struct Correction<'a> {
    present: &'a MemoryRecord,
    after: &'a MemoryRecord,
    before: &'a MemoryRecord,
    /// Whether no later version exists.
    is_latest: bool,
    /// Whether it says again what was said before a correction.
    is_undo: bool,
    /// Whether the next version says again what it replaced.
    is_undone: bool,
}

/// Finds the version that an entry of the journal made, and the one that it replaced.
fn find_corrected<'a>(named: &'a [Versions], entry: &JournalEntry) -> Option<Correction<'a>> {
    let versions = named
        .first()
        .filter(|_| entry.kind == ChangeKind::Corrected)?;
    let all = std::iter::once(&versions.present).chain(&versions.earlier);
    let all: Vec<&MemoryRecord> = all.collect();
    let at = all
        .iter()
        .position(|version| entry.ids.contains(&version.id))?;
    let (after, before) = (all[at], *all.get(at + 1)?);
    let earlier = all.get(at + 2);
    let later = at.checked_sub(1).map(|later| all[later]);
    Some(Correction {
        present: &versions.present,
        after,
        before,
        is_latest: at == 0,
        is_undo: earlier.is_some_and(|earlier| earlier.text == after.text),
        is_undone: later.is_some_and(|later| later.text == before.text),
    })
}

/// Renders the difference that a correction made.
fn render_correction(named: &[Versions], entry: &JournalEntry) -> Markup {
    let Some(Correction { after, before, .. }) = find_corrected(named, entry) else {
        return render_named(named, entry);
    };
    html! {
        p { a href=(format!("/records/{}", after.id)) {
            @if before.text == after.text { (text::shorten_title(rows::title(after), 100)) }
            @else { (undo::render_difference(&before.text, &after.text)) }
        } }
    }
}

/// Renders the memories that an entry of the journal names, in one line if it links two of them.
fn render_named(named: &[Versions], entry: &JournalEntry) -> Markup {
    let more = entry.count.saturating_sub(named.len());
    let link = |one: &Versions| render_link(&one.present.id.to_string(), rows::title(&one.present));
    html! {
        @match (entry.kind, named) {
            (ChangeKind::Linked, [from, to]) => { p { (link(from)) " \u{2192} " (link(to)) } }
            (ChangeKind::Unlinked, [from, to]) => { p { (link(from)) " \u{219b} " (link(to)) } }
            _ => { @for one in named { p { (link(one)) } } }
        }
        @if more > 0 && entry.kind == ChangeKind::Forgotten {
            p class="why" { (text::pluralize(more, "memory", "memories")) ", earlier versions included" }
        } @else if more > 0 {
            p class="why" { "and " (text::pluralize(more, "more memory", "more memories")) }
        }
    }
}

/// Renders that the memory that was asked for was replaced: by what, when and by whom, with undo.
pub(super) fn render_replaced_notice(visit: &PageRequest, versions: &Versions) -> Markup {
    let Some(replaced) = &versions.replaced else {
        return html! {};
    };
    let (old, calendar) = (&replaced.record, visit.page.calendar());
    let journal = visit.memory().list_changes();
    let entry = journal.iter().find(|entry| entry.ids.contains(&old.id));
    let (verb, from) = match entry {
        Some(entry) if entry.kind == ChangeKind::Decided => ("Decided ", Some(entry)),
        Some(entry) if entry.kind == ChangeKind::Merged => ("Merged ", Some(entry)),
        _ => ("", None),
    };
    html! {
        div class="notice replaced" role="status" {
            p {
                b { "This memory was replaced." } " Agents no longer see it. They see the one below in its place since "
                time datetime=(replaced.at.to_rfc3339()) { (calendar.format_to_minute(replaced.at)) } ". "
                @if let Some(from) = from { (verb) (describe_origin(from)) "." }
            }
            blockquote { (text::shorten(&old.text, 400)) }
            (form(visit, "/knowledge/undo", &html! {
                input type="hidden" name="action" value=(old.id);
                input type="hidden" name="record" value=(old.id);
                button { "Undo, and keep both" }
            }))
        }
    }
}

/// Renders an action of the diary; each of its groups can be undone alone.
pub(super) fn render_action(
    visit: &PageRequest,
    acted: &MaintenanceAction,
    titles: &TitlesByName,
    entry: Option<&JournalEntry>,
) -> Markup {
    let from = entry.map(describe_origin);
    let at = acted.at.parse::<DateTime<Utc>>().unwrap_or_default();
    let calendar = visit.page.calendar();
    let body = html! {
            @if acted.undone { p class="why" { (describe_undone(acted)) } }
            @for merge in &acted.merged {
                p {
                    "Kept " q { (render_link(&merge.kept, merge.texts.first().map_or("a memory", String::as_str))) }
                    @for (index, gone) in merge.gone.iter().take(3).enumerate() {
                        @if index > 0 { ", " }
                        @else {
                            @if !merge.texts.first().is_some_and(|text| is_sentence(text)) { "." }
                            (if acted.undone { " Agents see again " } else { " Agents no longer see " })
                        }
                        q { (render_link(gone, &name_copy(merge, index))) }
                    }
                    @if merge.gone.len() > 3 { " and " (merge.gone.len() - 3) " more" }
                    @if !ends_with_stop(merge) { "." }
                    @if !acted.undone && acted.merged.len() > 1 {
                        " " (form(visit, "/knowledge/undo", &html! {
                            @for gone in &merge.gone { input type="hidden" name="action" value=(gone); }
                            button class="quiet" { "Undo this group" }
                        }))
                    }
                }
            }
            @if !acted.purged.is_empty() {
                p { "Expired:" } (render_chips(&acted.purged, titles))
            }
            @if !acted.distilled.is_empty() { p { "New summaries:" } (render_chips(&acted.distilled, titles)) }
            @let states = acted.contradiction_states.iter();
            @for ([older, newer], state) in acted.contradictions.iter().zip(states).take(NAMED) {
                @let [one, other] = [&state.texts[0], &state.texts[1]];
                div data-contradiction {
                    p { span class="faint" { "Newer: " } (render_link(newer, &end_with_ellipsis(other))) }
                    p { span class="faint" { "Older: " } (render_link(older, &end_with_ellipsis(one))) }
                    p class="why" {
                        (describe_contradiction(state, &calendar)) " "
                        @if state.held_until.is_some() && !acted.undone {
                            a href="/knowledge/review" { "Decide which is true" }
                        }
                    }
                }
            }
            @if acted.contradictions.len() > NAMED {
                p class="faint" { "and " (acted.contradictions.len() - NAMED) " more" }
            }
            @for kept in acted.apart.iter().take(NAMED) {
                p {
                    "Both stay: " q { (render_link(&kept.pair[0], &kept.texts[0])) } " "
                    q { (render_link(&kept.pair[1], &kept.texts[1])) }
                }
            }
    };
    let undo = html! {
        @if !acted.undone {
            // A contradiction that was decided is undone where the decision is listed.
            @if is_contradiction(acted) && is_decided(acted) {}
            @else if is_contradiction(acted) { (render_not_contradiction(visit, &acted.action)) }
            @else { (render_undo_button(visit, &acted.action)) }
        }
    };
    let line = ChangeLine {
        at,
        what: name_action(acted, entry.map(|entry| entry.kind)),
        from: from.as_deref(),
        body,
        undo,
    };
    line.render(&calendar)
}

/// Names a memory that was merged into another one by its text, and says if that differs from the
/// text that was kept by nothing that is read.
fn name_copy(merge: &MergedSet, index: usize) -> String {
    let Some(text) = merge.texts.get(index + 1) else {
        return "a copy of it".to_owned();
    };
    let kept = merge.texts.first().map_or("", String::as_str);
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let is_whole = text.chars().count() < BEGINNING_CHARS;
    if is_whole && text != kept && words(text) == words(kept) {
        format!("{text} (differs in punctuation or case only)")
    } else {
        text.clone()
    }
}

/// Ends a text that memory tells only the beginning of with an ellipsis, so that no broken word
/// looks like the end.
fn end_with_ellipsis(text: &str) -> String {
    let is_whole = text.chars().count() < BEGINNING_CHARS || text.ends_with('\u{2026}');
    if is_whole {
        text.to_owned()
    } else {
        format!("{}\u{2026}", text.trim_end())
    }
}

/// Returns whether a text ends as a sentence does, so that no full stop follows it.
fn is_sentence(text: &str) -> bool {
    text.trim_end().ends_with(['.', '!', '?'])
}

/// Returns whether the last text that is quoted of a group ends as a sentence does.
fn ends_with_stop(merge: &MergedSet) -> bool {
    let is_cut = merge.gone.len() > 3;
    !is_cut
        && merge
            .texts
            .get(merge.gone.len())
            .is_some_and(|text| is_sentence(text))
}

/// Returns whether an action of the diary only noted contradictions.
fn is_contradiction(acted: &MaintenanceAction) -> bool {
    acted.merged.is_empty()
        && acted.purged.is_empty()
        && acted.distilled.is_empty()
        && acted.apart.is_empty()
}

/// Returns whether agents no longer see both memories of any contradiction of an action.
fn is_decided(acted: &MaintenanceAction) -> bool {
    let mut states = acted.contradiction_states.iter();
    !acted.contradiction_states.is_empty() && states.all(|state| state.is_recalled != [true, true])
}

/// Says what is so again after an action of the diary was undone.
fn describe_undone(acted: &MaintenanceAction) -> &'static str {
    if is_contradiction(acted) {
        "Undone: this is no contradiction any more."
    } else if !acted.apart.is_empty() {
        "Undone: you are asked about them again."
    } else if acted.merged.is_empty() {
        "Undone."
    } else {
        "Undone: all of these are seen again."
    }
}

/// Renders the button that takes back what the diary noted as contradictions.
fn render_not_contradiction(visit: &PageRequest, action: &str) -> Markup {
    form(
        visit,
        "/knowledge/undo",
        &html! { input type="hidden" name="action" value=(action); button { "Not a contradiction" } },
    )
}

/// Returns what an action of the diary did, in the words of the answer that it was.
fn name_action(acted: &MaintenanceAction, kind: Option<ChangeKind>) -> &'static str {
    if !acted.merged.is_empty() {
        match kind {
            Some(ChangeKind::Decided) => "Kept only this",
            // What Reprise merges by itself is in no journal.
            _ => "Merged",
        }
    } else if !acted.purged.is_empty() {
        "Expired"
    } else if !acted.distilled.is_empty() {
        "Summarized"
    } else if !acted.apart.is_empty() {
        "Kept both"
    } else {
        "Contradiction found"
    }
}

pub(super) fn render_link(name: &str, label: &str) -> Markup {
    let label = if label.is_empty() { name } else { label };
    html! {
        a href=(format!("/records/{}", percent_encode(name))) title=(name) { (text::shorten_title(label, 100)) }
    }
}

/// Says what agents see of two memories that contradict each other.
fn describe_contradiction(state: &ContradictionState, calendar: &Calendar) -> String {
    let until = state.held_until.as_ref();
    let until = until.and_then(|at| at.parse::<DateTime<Utc>>().ok());
    match (state.is_recalled, until) {
        ([true, true], Some(at)) => format!(
            "Agents see both; the older one is marked as true until {}.",
            name_day_in_sentence(calendar.day_of(at), calendar)
        ),
        ([true, true], None) => "Agents see both as true.".to_owned(),
        ([false, true], _) => "Agents no longer see the older.".to_owned(),
        ([true, false], _) => "Agents no longer see the newer.".to_owned(),
        ([false, false], _) => "Agents no longer see either.".to_owned(),
    }
}

/// Names a day as it is written within a sentence: "today", "yesterday", or a date.
fn name_day_in_sentence(day: NaiveDate, calendar: &Calendar) -> String {
    let named = rows::format_day(day, calendar);
    if ["Today", "Yesterday"].contains(&named.as_str()) {
        named.to_lowercase()
    } else {
        named
    }
}

pub(super) fn render_chips(names: &[String], titles: &TitlesByName) -> Markup {
    html! { p class="chips" { (render_record_chips(names, titles, NAMED)) } }
}

/// Renders the first `most` records as chips that link to them.
pub(super) fn render_record_chips(names: &[String], titles: &TitlesByName, most: usize) -> Markup {
    html! {
        @for name in names.iter().take(most) {
            a class="chip" href=(format!("/records/{}", percent_encode(name))) title=(name) {
                (text::shorten_title(titles.get(name).unwrap_or(name), 60))
            }
        }
        @if names.len() > most { span class="faint" { "and " (names.len() - most) " more" } }
    }
}

/// Undoes an action of the diary, or brings back some of the memories that it merged.
pub(crate) async fn undo_action(posted: Posted) -> PageResult<Redirect> {
    let visit = &posted.visit;
    let mut again = 0;
    for action in posted.values("action") {
        let action = Some(action.to_owned());
        let done = visit
            .run::<Undo>(UndoArguments {
                action,
                dry_run: false,
            })
            .await?;
        again += done.restored.len();
    }
    visit.page.kept_reviews().remove(&visit.user);
    // From the page of a memory one comes back to it.
    if let Ok(id) = posted.text("record").parse::<RecordId>() {
        return Ok(Redirect::to(&format!("/records/{id}?done=unreplaced")));
    }
    Ok(Redirect::to(&format!("/knowledge/tidy?again={again}")))
}

/// Renders the button that undoes an action of the diary.
fn render_undo_button(visit: &PageRequest, action: &str) -> Markup {
    form(
        visit,
        "/knowledge/undo",
        &html! { input type="hidden" name="action" value=(action); button { "Undo" } },
    )
}
