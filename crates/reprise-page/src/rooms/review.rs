//! Pairs in doubt side by side, each answered with one button or key; and tidying up.

use axum::extract::{Query, State};
use axum::response::Redirect;
use maud::{Markup, html};

use super::list::encoded;
use super::timeline::Pairs;
use crate::door::Visit;
use crate::page::{Answer, Page, Posted};
use crate::shell::{self, Room, form};
use crate::tending::{Consolidation, Pair};
use crate::together::both;
use crate::{strings as s, text};

/// Pairs of each sort that wait on the page at once.
const SHOWN: usize = 20;
/// The answers, each with its key.
const ANSWERS: [(&str, &str, &str); 4] = [
    ("newer", "n", s::ANSWER_NEWER),
    ("older", "o", s::ANSWER_OLDER),
    ("same", "s", s::ANSWER_SAME),
    ("different", "d", s::ANSWER_DIFFERENT),
];

pub(crate) async fn show(
    State(page): State<Page>,
    visit: Visit,
    Query(pairs): Query<Pairs>,
) -> Answer<Markup> {
    let (memory, user) = (page.memory(), &visit.user);
    let (doubt, would) = both(memory.in_doubt(user), memory.consolidate(user, true)).await;
    let (doubt, would) = (doubt?, would?);
    let not_shown = |pairs: &[Pair]| pairs.len().saturating_sub(SHOWN);
    let more = doubt.more + not_shown(&doubt.contradictions) + not_shown(&doubt.alike);
    // After an answer the next pair is under the hands.
    let is_next = pairs.get("answered").is_some();
    let body = html! {
        (answered(&visit, &pairs))
        section {
            h2 { (s::CONTRADICTIONS) }
            @if doubt.contradictions.is_empty() { p class="faint" { (s::NO_CONTRADICTIONS) } }
            @for (place, pair) in doubt.contradictions.iter().take(SHOWN).enumerate() {
                (side_by_side(&visit, pair, is_next && place == 0))
            }
        }
        section {
            h2 { (s::ALIKE) }
            @if doubt.alike.is_empty() { p class="faint" { (s::NONE_ALIKE) } }
            @let first = is_next && doubt.contradictions.is_empty();
            @for (place, pair) in doubt.alike.iter().take(SHOWN).enumerate() {
                (side_by_side(&visit, pair, first && place == 0))
            }
            @if more > 0 { p class="faint" { (s::more_pairs(more)) } }
        }
        (tidying(&visit, &would))
    };
    Ok(shell::room(&visit, Some(Room::Knowledge), s::REVIEW, &body))
}

fn answered(visit: &Visit, pairs: &Pairs) -> Markup {
    html! {
        @if let Some(action) = pairs.get("answered") {
            div class="notice" role="status" {
                @if action == "apart" { (s::DID_SET_APART) }
                @else { (s::DID_ANSWER) (undo(visit, action)) }
            }
        }
    }
}

/// The button that takes an action of tending back.
pub(super) fn undo(visit: &Visit, action: &str) -> Markup {
    form(
        visit,
        "/knowledge/undo",
        &html! {
            input type="hidden" name="action" value=(action);
            button { (s::TAKE_BACK) }
        },
    )
}

fn side_by_side(visit: &Visit, pair: &Pair, is_next: bool) -> Markup {
    let sides = [(s::OLDER_ONE, 0), (s::NEWER_ONE, 1)];
    html! {
        article class="record pair" data-pair {
            p class="reason" { (text::line(&pair.why, 300)) }
            div class="sides" {
                @for (name, side) in sides {
                    section {
                        h3 {
                            (name) " "
                            a href=(format!("/records/{}", encoded(&pair.names[side]))) {
                                (text::line(&pair.names[side], 60))
                            }
                        }
                        div class="scroll said" tabindex="0" role="group" aria-label=(name) {
                            (text::whole(&pair.texts[side]))
                        }
                    }
                }
            }
            (form(visit, "/knowledge/answer", &html! {
                input type="hidden" name="one" value=(pair.names[0]);
                input type="hidden" name="other" value=(pair.names[1]);
                div class="actions" {
                    @for (place, (answer, key, says)) in ANSWERS.into_iter().enumerate() {
                        button class="quiet" name="answer" value=(answer) data-answer=(key)
                            autofocus[is_next && place == 0] {
                            (says) " " kbd { (key) }
                        }
                    }
                }
            }))
        }
    }
}

fn tidying(visit: &Visit, would: &Consolidation) -> Markup {
    html! {
        section {
            h2 { (s::TIDY) }
            p { (s::would(would.merged, would.purged, would.distilled)) }
            @if would.merged + would.purged + would.distilled > 0 {
                (form(visit, "/knowledge/consolidate", &html! { button { (s::TIDY_NOW) } }))
            }
        }
    }
}

pub(crate) async fn answer(State(page): State<Page>, posted: Posted) -> Answer<Redirect> {
    let pair = ["one", "other"].map(|name| posted.get(name).to_owned());
    let (user, answer) = (&posted.visit.user, posted.get("answer"));
    let action = page.memory().answer(user, pair, answer).await?;
    let action = action.unwrap_or_else(|| "apart".to_owned());
    let path = format!("/knowledge/review?answered={}", encoded(&action));
    Ok(Redirect::to(&path))
}

pub(crate) async fn consolidate(State(page): State<Page>, posted: Posted) -> Answer<Redirect> {
    page.memory().consolidate(&posted.visit.user, false).await?;
    Ok(Redirect::to("/knowledge?done=tidied"))
}

pub(crate) async fn undo_action(State(page): State<Page>, posted: Posted) -> Answer<Redirect> {
    let (user, action) = (&posted.visit.user, posted.get("action"));
    let again = page.memory().undo_tending(user, action).await?;
    Ok(Redirect::to(&format!("/knowledge?again={again}")))
}
