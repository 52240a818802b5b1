//! What consolidation did, each action with its undo.

use maud::{Markup, html};

use super::list::encoded;
use super::review;
use crate::door::Visit;
use crate::tending::Tended;
use crate::{strings as s, text};

/// Records named for one action.
const NAMED: usize = 6;

pub(super) fn section(visit: &Visit, diary: &[Tended]) -> Markup {
    html! {
        section {
            h2 { (s::DIARY) }
            @if diary.is_empty() { p class="faint" { (s::NO_DIARY) } }
            @for tended in diary {
                article class="record" {
                    p class="head" {
                        time datetime=(tended.at) { (tended.at.get(..16).unwrap_or(&tended.at)) }
                        @if tended.is_undone { span class="badge" { (s::UNDONE) } }
                    }
                    @for (kept, gone) in &tended.merged {
                        p { (link(kept)) " " (s::answers_for(gone.len())) " " (named(gone)) }
                    }
                    @if !tended.purged.is_empty() {
                        p { (s::PURGED) " " (named(&tended.purged)) }
                    }
                    @if !tended.distilled.is_empty() {
                        p { (s::DISTILLED) " " (named(&tended.distilled)) }
                    }
                    @if !tended.contradictions.is_empty() {
                        p {
                            (s::NEWER_FIRST) " "
                            @for [older, newer] in tended.contradictions.iter().take(NAMED) {
                                (link(newer)) " (" (link(older)) ") "
                            }
                            @if tended.contradictions.len() > NAMED {
                                @let more = tended.contradictions.len() - NAMED;
                                span class="faint" { (s::and_more(more)) }
                            }
                        }
                    }
                    @if !tended.is_undone { (review::undo(visit, &tended.action)) }
                }
            }
        }
    }
}

fn link(name: &str) -> Markup {
    html! { a href=(format!("/records/{}", encoded(name))) { (text::line(name, 40)) } }
}

fn named(names: &[String]) -> Markup {
    html! {
        @for name in names.iter().take(NAMED) { (link(name)) " " }
        @if names.len() > NAMED { span class="faint" { (s::and_more(names.len() - NAMED)) } }
    }
}
