//! Duplicates as a checklist: what is merged into what, chosen group by group, and undone the same
//! way.

use reprise_operations::MergedSet;
use reprise_operations::operations::maintenance::{
    Consolidate, ConsolidateArguments, Consolidated,
};

use super::diary::{
    TitlesByName, list_actions, load_titles, render_action, render_chips, render_link,
};
use crate::prelude::*;
use crate::shell::{PageFrame, stream_page};

/// Most groups of duplicates on the page at once.
const GROUPS: usize = 60;
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
        groups: None,
    };
    let plan = visit.run_optional::<Consolidate>(arguments).await?;
    let (actions, titles) = list_actions(visit).await?;
    let purged = plan.iter().flat_map(|plan| &plan.purged);
    let expired = load_titles(visit, purged).await?;
    Ok(html! {
        @if let Some(plan) = &plan { (render_plan(visit, plan, &expired)) }
        section {
            h2 { "History" }
            @if actions.is_empty() { p class="faint" { "Nothing was merged or decided yet." } }
            @else { p class="faint" { "You can undo every change below." } }
            @for acted in &actions { (render_action(visit, acted, &titles, None)) }
        }
    })
}

fn render_plan(visit: &PageRequest, plan: &Consolidated, expired: &TitlesByName) -> Markup {
    let copies: usize = plan.merged.iter().map(|merge| merge.gone.len()).sum();
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
                p class="why" { "One memory of each group is kept. The others are merged into it." }
                (form(visit, "/knowledge/consolidate", &html! {
                    ul class="checklist" {
                        @for merge in plan.merged.iter().take(GROUPS) {
                            (render_group(merge, visit.read_only))
                        }
                    }
                    div class="acts" {
                        button class="first" name="what" value="groups"
                            data-command="Merge the selected duplicates" {
                            "Merge selected groups"
                        }
                    }
                }))
                @if visit.read_only {
                    ul class="checklist" {
                        @for merge in plan.merged.iter().take(GROUPS) { (render_group(merge, true)) }
                    }
                }
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
                        button data-command="Apply all changes" name="what" value="all" {
                            "Apply all"
                            @if copies > 0 {
                                ", and merge " (text::pluralize(copies, "copy", "copies"))
                            }
                        }
                    }
                }))
            }
        }
    }
}

/// Renders a group with its box, the text that is kept, and its copies in a fold.
fn render_group(merge: &MergedSet, read_only: bool) -> Markup {
    let kept = merge
        .texts
        .first()
        .map_or(merge.kept.as_str(), String::as_str);
    html! {
        li {
            label class="choice" {
                @if !read_only {
                    input type="checkbox" name="group" value=(merge.kept) checked;
                }
                span { (text::shorten_title(kept, 140)) }
                small { "would keep 1, merge " (merge.gone.len()) }
            }
            details class="fold" {
                summary { "Show all " (merge.gone.len() + 1) }
                ul {
                    li { (render_link(&merge.kept, "keep")) ": " (text::shorten_title(kept, 300)) }
                    @for (index, gone) in merge.gone.iter().take(COPIES).enumerate() {
                        li {
                            (render_link(gone, "merge"))
                            @if let Some(text) = merge.texts.get(index + 1) {
                                ": " (text::shorten_title(text, 300))
                            }
                        }
                    }
                    @if merge.gone.len() > COPIES {
                        li class="faint" { "and " (merge.gone.len() - COPIES) " more" }
                    }
                }
            }
        }
    }
}

/// Merges the selected groups, or does all that was planned.
pub(crate) async fn consolidate(posted: Posted) -> PageResult<Redirect> {
    let is_all = posted.text("what") == "all";
    let groups: Vec<String> = posted.values("group").map(str::to_owned).collect();
    if !is_all && groups.is_empty() {
        return Err(PageError::invalid(
            "No group was selected. Go back and select one.",
        ));
    }
    let visit = &posted.visit;
    let arguments = ConsolidateArguments {
        dry_run: false,
        groups: (!is_all).then_some(groups),
    };
    visit.run::<Consolidate>(arguments).await?;
    visit.page.kept_reviews().remove(&visit.user);
    Ok(Redirect::to("/knowledge/tidy?done=tidied"))
}
