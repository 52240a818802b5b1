//! Who may see a record, and whether it is pinned: in words, and as a form.

use reprise_types::{ReleaseTarget, WithheldReason};

use crate::pages::wording::render_save_buttons;
use crate::prelude::*;

/// Whether a record is pinned, and who may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pages) struct RecordSettings {
    /// Whether tidying up never removes it.
    pub(in crate::pages) is_pinned: bool,
    /// The owner's choice of who may see it, if any.
    pub(in crate::pages) seen: Option<Visibility>,
}

/// The choices of who may see a record: value, form value and label.
pub(in crate::pages) const SEEN: [(Option<Visibility>, &str, &str); 3] = [
    (None, "owner", "Private"),
    (
        Some(Visibility::Private),
        "private",
        "Private, never published",
    ),
    (Some(Visibility::Workspace), "workspace", "In project files"),
];

/// What each choice allows, in the order of `SEEN`.
const SEEN_MEANINGS: [&str; 3] = [
    "only you see it; you can publish it",
    "only you see it; publishing is blocked",
    "also written to the files of its project; you can publish it",
];

impl RecordSettings {
    pub(in crate::pages) fn of(record: &MemoryRecord) -> Self {
        let seen = if record.visibility == Visibility::Workspace {
            Some(Visibility::Workspace)
        } else {
            let is_private =
                record.check_release(ReleaseTarget::Publication) == Err(WithheldReason::Private);
            is_private.then_some(Visibility::Private)
        };
        let is_pinned = record.retention == Retention::Pinned;
        Self { is_pinned, seen }
    }

    pub(in crate::pages) fn describe(self) -> String {
        let seen = SEEN.iter().find(|one| one.0 == self.seen);
        let seen = seen.map_or("", |one| one.2);
        if self.is_pinned {
            format!("{seen} \u{b7} pinned")
        } else {
            seen.to_owned()
        }
    }
}

/// Renders the form that chooses who may see a record, and whether it is pinned.
pub(super) fn render_settings_form(
    visit: &PageRequest,
    record: &MemoryRecord,
    path: &str,
) -> Markup {
    let settings = RecordSettings::of(record);
    html! {
        details class="act" id="standing" {
            summary class="button quiet" data-command="Visibility and pin of this memory" {
                "Visibility"
            }
            div class="stack" { (form(visit, &format!("{path}/standing"), &html! {
                fieldset {
                    legend class="unseen-text" { "Who can see it" }
                    @for ((one, word, label), meaning) in SEEN.into_iter().zip(SEEN_MEANINGS) {
                        label class="choice" {
                            input type="radio" name="seen" value=(word)
                                checked[one == settings.seen];
                            span { (label) " " small { (meaning) } }
                        }
                    }
                }
                label class="choice" {
                    input type="checkbox" name="pinned" value="yes" checked[settings.is_pinned];
                    span { "Pinned " small { "never merged or removed automatically" } }
                }
                (render_save_buttons("Save", path))
            })) }
        }
    }
}
