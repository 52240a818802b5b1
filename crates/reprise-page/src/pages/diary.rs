//! The diary of what was decided and merged, with undo.

use std::collections::BTreeMap;

use reprise_operations::operations::maintenance::audit::{
    ContradictionState, Diary, DiaryArguments, MaintenanceAction,
};
use reprise_operations::operations::maintenance::{Undo, UndoArguments};

use super::review::render_undo_button;
use crate::prelude::*;

/// Most records named for one action.
const NAMED: usize = 12;
/// Most memories of a list whose titles are loaded.
const TITLES_MAX: usize = 120;
/// Most actions of the diary.
const ACTIONS: usize = 20;

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

/// Shows everything that can be undone: changes since the sign-in, and the diary.
pub(crate) async fn show_changes(visit: PageRequest) -> PageResult<Markup> {
    let acts = undo::render_undo_entries(&visit);
    let (mut tended, titles) = list_actions(&visit).await?;
    tended.retain(|acted| !acted.undone);
    let body = html! {
        p class="lead" {
            "Corrections, tags, links, forgetting and publishing can be undone here until you sign \
             out; decisions and merged duplicates later, too. What was forgotten can come back until \
             it is erased from disk."
        }
        @if acts.is_empty() && tended.is_empty() {
            div class="empty" { h2 { "Nothing was changed yet" } }
        }
        @for act in acts { (act) }
        @if !tended.is_empty() {
            section {
                h2 { "Decisions and merged duplicates" }
                @for acted in &tended { (render_action(&visit, acted, &titles)) }
            }
        }
    };
    Ok(render_page(&visit, "/done", "Recent changes", &body))
}

/// Renders an action of the diary; each of its groups can be undone alone.
pub(super) fn render_action(
    visit: &PageRequest,
    acted: &MaintenanceAction,
    titles: &TitlesByName,
) -> Markup {
    let at = acted.at.parse::<DateTime<Utc>>();
    let at = at.map(|at| visit.page.calendar().format_to_minute(at));
    html! {
        div class="card" {
            div class="meta" {
                (at.unwrap_or_else(|_| acted.at.clone()))
                @if acted.undone { span class="chip" { "undone" } }
            }
            @for merge in &acted.merged {
                p {
                    "Kept " (render_link(&merge.kept, merge.texts.first().map_or("a memory", String::as_str)))
                    @for (index, gone) in merge.gone.iter().take(3).enumerate() {
                        (if index == 0 { "; agents no longer see " } else { ", " })
                        (render_link(gone, merge.texts.get(index + 1).map_or("a copy of it", String::as_str)))
                    }
                    @if merge.gone.len() > 3 { " and " (merge.gone.len() - 3) " more" }
                    "."
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
                p {
                    "Contradiction found" @if acted.undone { " (undone)" } ": "
                    (render_link(newer, &state.texts[1])) " against "
                    (render_link(older, &state.texts[0])) ". "
                    (describe_contradiction(state, &visit.page.calendar())) " "
                    @if state.held_until.is_some() { a href="/knowledge/review" { "Decide which is true" } }
                }
            }
            @if acted.contradictions.len() > NAMED {
                p class="faint" { "and " (acted.contradictions.len() - NAMED) " more" }
            }
            @if !acted.undone { div class="acts" { (render_undo_button(visit, &acted.action)) } }
        }
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
            "Agents see both, the older one marked \u{201c}held until {}\u{201d}.",
            calendar.day_of(at)
        ),
        ([true, true], None) => "Agents see both as true.".to_owned(),
        ([false, true], _) => "Agents no longer see the older.".to_owned(),
        ([true, false], _) => "Agents no longer see the newer.".to_owned(),
        ([false, false], _) => "Agents no longer see either.".to_owned(),
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
        let done = visit.run::<Undo>(UndoArguments { action }).await?;
        again += done.restored.len();
    }
    visit.page.kept_reviews().remove(&visit.user);
    Ok(Redirect::to(&format!("/knowledge/tidy?again={again}")))
}
