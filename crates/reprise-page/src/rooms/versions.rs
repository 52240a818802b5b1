//! The versions of a record, with what changed from each to the next.

use maud::{Markup, html};
use reprise_types::{Calendar, MemoryRecord};
use similar::{ChangeTag, TextDiff};

use super::standing;
use crate::memory::{Standing, Story};
use crate::strings::{self as s, words};
use crate::text;

pub(super) fn section(story: &Story, calendar: &Calendar) -> Markup {
    let all: Vec<&MemoryRecord> = [&story.record].into_iter().chain(&story.earlier).collect();
    html! {
        section {
            h2 { (s::VERSIONS) }
            @if story.earlier.is_empty() { p class="faint" { (s::ONE_VERSION) } }
            @else {
                ol class="versions" {
                    @for (place, version) in all.iter().enumerate() {
                        li {
                            p class="head" {
                                time datetime=(version.known_at.to_rfc3339()) {
                                    (words::at(version.known_at, calendar))
                                }
                                @if place == 0 { span class="badge" { (s::PRESENT) } }
                                code { (version.id) }
                            }
                            @match all.get(place + 1) {
                                Some(before) => { (changed(before, version)) }
                                None => { div class="said" { (text::whole(&version.text)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn changed(before: &MemoryRecord, after: &MemoryRecord) -> Markup {
    let (was, is) = (Standing::of(before), Standing::of(after));
    html! {
        @if before.text == after.text { p class="faint" { (s::SAME_TEXT) } }
        @else { (diff(&before.text, &after.text)) }
        @if was.seen != is.seen {
            p { del { (standing::says(was).0) } " " ins { (standing::says(is).0) } }
        }
        @if was.is_pinned != is.is_pinned {
            p { del { (standing::says(was).1) } " " ins { (standing::says(is).1) } }
        }
    }
}

pub(super) fn diff(before: &str, after: &str) -> Markup {
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
