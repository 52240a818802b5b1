//! Duplicates as a checklist: what is merged into what, chosen group by group, and undone the same
//! way.

use reprise_operations::MergedSet;
use reprise_operations::operations::maintenance::{
    Consolidate, ConsolidateArguments, Consolidated,
};

use super::diary::{
    TitlesByName, find_entry, list_actions, load_titles, render_action, render_chips,
};
use crate::prelude::*;
use crate::shell::{PageFrame, stream_page};

/// Most groups of duplicates on the page at once.
const GROUPS: usize = 60;
/// Groups that are shown at once; the others are in a fold.
const SHOWN: usize = 10;
/// Most copies of a group that are named.
const COPIES: usize = 12;

/// Shows what can be merged, and what was merged before.
pub(crate) async fn show(visit: PageRequest, pairs: QueryPairs) -> PageResult<Response> {
    let again: Option<usize> = pairs.parse_value("again")?;
    let before = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        @if let Some(again) = again {
            (toast(&html! {
                "Undone. " (text::pluralize(again, "memory is", "memories are")) " back."
            }))
        }
    };
    let frame = PageFrame {
        tab: "/knowledge/tidy",
        title: "Duplicates",
        progress: "Comparing your memories \u{2026}",
        before,
    };
    Ok(stream_page(visit, &frame, |visit| {
        Box::pin(async move { render_duplicates(&visit).await })
    }))
}

async fn render_duplicates(visit: &PageRequest) -> PageResult<Markup> {
    let arguments = ConsolidateArguments {
        dry_run: true,
        ..ConsolidateArguments::default()
    };
    let plan = visit.run_optional::<Consolidate>(arguments).await?;
    let (actions, titles) = list_actions(visit).await?;
    let journal = visit.memory().list_changes();
    let purged = plan.iter().flat_map(|plan| &plan.purged);
    let expired = load_titles(visit, purged).await?;
    let mut groups = Vec::new();
    for merge in plan.iter().flat_map(|plan| plan.merged.iter().take(GROUPS)) {
        groups.push(load_group(visit, merge).await?);
    }
    Ok(html! {
        @if let Some(plan) = &plan { (render_plan(visit, plan, &groups, &expired)) }
        section {
            h2 { "History" }
            @if actions.is_empty() { p class="faint" { "Nothing was merged or decided yet." } }
            @else { p class="faint" { "Changes that are not undone yet can be." } }
            @for acted in &actions {
                (render_action(visit, acted, &titles, find_entry(&journal, acted)))
            }
        }
    })
}

/// A group of duplicates with its first copies as they are stored, the one first that is kept if
/// nobody chooses another.
struct DuplicateGroup<'a> {
    merge: &'a MergedSet,
    copies: Vec<(&'a str, MemoryRecord)>,
}

async fn load_group<'a>(
    visit: &PageRequest,
    merge: &'a MergedSet,
) -> PageResult<DuplicateGroup<'a>> {
    let mut copies = Vec::new();
    for name in [&merge.kept].into_iter().chain(&merge.gone).take(COPIES) {
        let id = name.clone();
        let found = visit
            .run_optional::<History>(HistoryArguments { id })
            .await?;
        copies.extend(found.map(|found| (name.as_str(), found.present)));
    }
    Ok(DuplicateGroup { merge, copies })
}

/// Renders the groups as a checklist, all but the first in a fold.
fn render_groups(visit: &PageRequest, groups: &[DuplicateGroup<'_>]) -> Markup {
    let (shown, folded) = groups.split_at(groups.len().min(SHOWN));
    let list = |groups: &[DuplicateGroup<'_>]| {
        html! { ul class="checklist" { @for group in groups { (render_group(visit, group)) } } }
    };
    html! {
        (list(shown))
        (fold("More groups", folded.len(), &list(folded)))
    }
}

fn render_plan(
    visit: &PageRequest,
    plan: &Consolidated,
    groups: &[DuplicateGroup<'_>],
    expired: &TitlesByName,
) -> Markup {
    let others = plan.purged.len() + plan.distilled.len();
    let doubtful = plan.review.len() + plan.review_more;
    html! {
        section class="card" {
            h2 {
                @if plan.merged.is_empty() { "Nothing to merge" }
                @else {
                    (text::pluralize(plan.merged.len(), "group of duplicates", "groups of duplicates"))
                }
            }
            (render_read_only_notice(visit))
            @if doubtful > 0 {
                p class="why" {
                    (text::pluralize(doubtful, "pair", "pairs")) " may say the same thing. "
                    a href="/knowledge/review" { "Decide pair by pair" }
                }
            }
            @if plan.merged.is_empty() {
                @if doubtful == 0 { p class="why" { "No duplicates were found." } }
            } @else {
                p class="why" {
                    "One memory of each group is kept; open a group to choose which. The others are \
                     merged into it. You can undo that."
                }
                (form(visit, "/knowledge/consolidate", &html! {
                    (render_groups(visit, groups))
                    div class="acts" {
                        button class="first" name="what" value="groups"
                            data-command="Merge the selected duplicates" {
                            "Merge selected groups"
                        }
                    }
                }))
                @if visit.read_only { (render_groups(visit, groups)) }
                @if plan.merged.len() > GROUPS {
                    p class="faint" {
                        "and " (plan.merged.len() - GROUPS) " more, once these are merged"
                    }
                }
            }
        }
        @if others > 0 {
            section class="card" {
                h2 { "Expired memories and new summaries" }
                @if !plan.purged.is_empty() {
                    p { "These memories have expired. Agents will not see them again:" }
                    (render_chips(&plan.purged, expired))
                }
                @if !plan.distilled.is_empty() {
                    p { "These summaries are written from several memories each:" }
                    ul { @for text in &plan.summaries { li { (text::shorten(text, 200)) } } }
                }
                (form(visit, "/knowledge/consolidate", &html! {
                    div class="acts" {
                        button data-command="Apply these changes" name="what" value="others" {
                            "Apply these changes"
                        }
                        span class="faint" { "This merges no duplicates." }
                    }
                }))
            }
        }
    }
}

/// Renders a group with its box, the text that is kept, and in a fold its copies to choose from.
fn render_group(visit: &PageRequest, group: &DuplicateGroup<'_>) -> Markup {
    let DuplicateGroup { merge, copies } = group;
    let kept = merge
        .texts
        .first()
        .map_or(merge.kept.as_str(), String::as_str);
    let (all, choice) = (merge.gone.len() + 1, format!("{KEEP}{}", merge.kept));
    html! {
        li {
            label class="choice" {
                @if !visit.read_only {
                    input type="checkbox" name="group" value=(merge.kept) checked;
                }
                span { (text::shorten_title(kept, 140)) }
                small { (text::pluralize(all, "copy", "copies")) }
            }
            details class="fold" {
                summary { @if visit.read_only { "Show all " (all) } @else { "Choose which of " (all) " stays" } }
                ul class="copies" {
                    @for (place, (name, record)) in copies.iter().enumerate() {
                        li { (render_copy(visit, (name, record), &choice, place == 0)) }
                    }
                    @if all > copies.len() { li class="faint" { "and " (all - copies.len()) " more" } }
                }
            }
        }
    }
}

/// Renders a copy with its date, project and session, and the button that lets it stay.
fn render_copy(
    visit: &PageRequest,
    (name, record): (&str, &MemoryRecord),
    choice: &str,
    is_kept: bool,
) -> Markup {
    let calendar = visit.page.calendar();
    let session = rows::name_session(&record.session_id, None);
    html! {
        label class="choice" {
            @if !visit.read_only {
                input type="radio" name=(choice) value=(name) checked[is_kept];
                span class="keep" { "Keep this" }
            }
            span class="x" { (text::shorten_title(&record.text, 300)) }
            small {
                (calendar.format_to_minute(record.timestamp))
                @if let Some(project) = rows::byline(record).project { " \u{b7} " (text::shorten(&project, 24)) }
                @if !session.is_empty() { " \u{b7} " (text::shorten(session, 40)) }
            }
        }
        a href=(rows::path(record)) { "Open" }
    }
}

/// How the field begins that names the copy of a group that stays.
const KEEP: &str = "keep ";

/// Merges the selected groups into the copies that were chosen, or does what else was planned.
pub(crate) async fn consolidate(posted: Posted) -> PageResult<Redirect> {
    let skip_groups = posted.text("what") == "others";
    let chosen = posted.values("group").map(|group| {
        let copy = posted.raw_value(&format!("{KEEP}{group}"));
        copy.unwrap_or(group).to_owned()
    });
    let groups: Vec<String> = chosen.collect();
    if !skip_groups && groups.is_empty() {
        return Err(PageError::invalid(
            "No group was selected. Go back and select one.",
        ));
    }
    let visit = &posted.visit;
    let arguments = ConsolidateArguments {
        dry_run: false,
        groups: (!skip_groups).then_some(groups),
        skip_groups,
    };
    visit.run::<Consolidate>(arguments).await?;
    visit.page.kept_reviews().remove(&visit.user);
    let done = if skip_groups { "applied" } else { "tidied" };
    Ok(Redirect::to(&format!("/knowledge/tidy?done={done}")))
}
