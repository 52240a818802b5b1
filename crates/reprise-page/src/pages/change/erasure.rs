//! Erasing forgotten texts from the file: what would go, a yes to that, and the proof afterwards.

use reprise_operations::operations::care;

use super::list_copies_with_forgotten;
use super::render_copies_with_forgotten;
use crate::prelude::*;
use crate::undo::UndoList;

/// Most texts that are named before they are erased, and the characters of each.
const NAMED: usize = 200;
const NAMED_CHARS: usize = 160;

/// Renders the link to the page that asks before it erases anything.
pub(in crate::pages) fn render_erase_link(visit: &PageRequest) -> Markup {
    html! {
        @if !visit.read_only {
            div class="acts" {
                a class="button danger" href="/erase" data-command="Erase forgotten texts from disk" {
                    "Erase from disk\u{2026}"
                }
            }
        }
    }
}

/// Lists the forgotten texts in the file; none if the user has no memory.
pub(in crate::pages) async fn list_forgotten(visit: &PageRequest) -> PageResult<Vec<String>> {
    let found = visit.memory().list_forgotten_texts().await;
    Ok(none_if_missing(found.map_err(Into::into))?.unwrap_or_default())
}

/// Shows every text that would be erased, and asks for a yes.
pub(crate) async fn confirm_erase(visit: PageRequest) -> PageResult<Markup> {
    let texts = list_forgotten(&visit).await?;
    Ok(render_confirmation(&visit, &texts, &html! {}))
}

fn render_confirmation(visit: &PageRequest, texts: &[String], notice: &Markup) -> Markup {
    let count = text::pluralize(texts.len(), "text", "texts");
    let body = html! { div class="page-column" {
        (render_read_only_notice(visit))
        (notice)
        @if texts.is_empty() {
            p class="lead" role="status" {
                "The memory file was read: it has no forgotten text. There is nothing to erase."
            }
            div class="acts" { a class="button" href="/care" { "Storage" } }
        } @else {
            p class="lead" {
                (text::pluralize(texts.len(), "forgotten text", "forgotten texts"))
                " will be erased from the memory file, earlier versions included. "
                (if texts.len() == 1 { "Its undo ends." } else { "Their undo ends." })
                " This cannot be undone."
            }
            ul class="card told" data-forgotten {
                @for one in texts.iter().take(NAMED) { li { q { (text::shorten(one, NAMED_CHARS)) } } }
                @if texts.len() > NAMED { li class="faint" { "and " (texts.len() - NAMED) " more" } }
            }
            p class="faint" {
                "Expired memories that were removed from view are erased, too. Backups and exports stay as they are."
            }
            (form(visit, "/erase", &html! {
                input type="hidden" name="texts" value=(texts.len());
                div class="acts" {
                    button class="danger first" { "Erase " (count) }
                    a class="button" href="/care" {
                        (if texts.len() == 1 { "Keep it" } else { "Keep them" })
                    }
                }
            }))
        }
    } };
    render_page(visit, "/care", "Erase from disk?", &body)
}

/// Compacts the file and reads it again; afterwards no forgetting can be undone.
pub(crate) async fn erase(posted: Posted) -> PageResult<Response> {
    let visit = &posted.visit;
    let texts = list_forgotten(visit).await?;
    let confirmed: usize = posted.parse_value("texts")?;
    if texts.len() > confirmed {
        let notice = html! {
            p class="notice" { "More was forgotten since you looked, so nothing was erased yet." }
        };
        let page = render_confirmation(visit, &texts, &notice);
        return Ok((StatusCode::CONFLICT, page).into_response());
    }
    // Afterwards the memory no longer tells a backup that has them from one that has not.
    let copies = list_copies_with_forgotten(visit, None).await?;
    let done = visit.run::<care::Compact>(NoArguments {}).await?;
    visit.with_undo(UndoList::drop_forgotten);
    let left = list_forgotten(visit).await?;
    let (before, after) = (
        text::format_size(done.bytes_before),
        text::format_size(done.bytes_after),
    );
    let body = html! { div class="page-column" {
        div class="card" role="status" {
            h2 { "Checked" }
            (render_proof(texts.len(), left.len()))
            p class="why" { "The file had " (before) " and now has " (after) "." }
        }
        @if !texts.is_empty() {
            div class="card" {
                h2 { "Backups and exports" }
                (render_copies_with_forgotten(visit, &copies))
            }
        }
    } };
    Ok(render_page(visit, "/care", "Erased", &body).into_response())
}

/// Says what a reading of the whole file found of the texts after they were erased.
fn render_proof(erased: usize, left: usize) -> Markup {
    html! {
        p {
            @if left > 0 {
                b { (text::pluralize(left, "forgotten text is", "forgotten texts are")) " still in the file." }
                " Please report this bug, and run " code { "reprise doctor check" } "."
            } @else if erased == 1 {
                "The file was read again from its beginning: the forgotten text is not in it."
            } @else if erased == 0 {
                "The file was read again from its beginning: no forgotten text is in it."
            } @else {
                "The file was read again from its beginning: none of the " (erased)
                " forgotten texts is in it."
            }
        }
    }
}
