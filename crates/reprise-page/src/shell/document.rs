//! The document of a page, and the page of a visitor who is not signed in.

use maud::{DOCTYPE, Markup, html};

use crate::{assets, text};

/// Name of the field by which every form says which sign-in it belongs to.
pub(crate) const FORM_TOKEN: &str = "form_token";

/// Address that ends a sign-in.
pub(crate) const SIGN_OUT: &str = "/sign-out";

/// Address that switches to another user's memory.
pub(crate) const SWITCH: &str = "/switch";

/// Most characters of the sentence of an error.
pub(super) const SENTENCE_CHARS: usize = 600;

/// Most characters of a subject in the title of a browser's tab.
pub(super) const SUBJECT_CHARS: usize = 80;

/// Renders a page without navigation, for visitors who are not signed in and for errors.
pub(crate) fn render_standalone(title: &str, sentence: &str) -> Markup {
    render_document(
        &text::plain_line(title, SUBJECT_CHARS),
        &html! {
            main id="main" class="alone" tabindex="-1" {
                h1 { (text::shorten_title(title, SENTENCE_CHARS)) }
                @if !sentence.is_empty() { p { (text::shorten_title(sentence, SENTENCE_CHARS)) } }
                p class="acts" {
                    button type="button" data-back hidden { "Back" }
                    a class="button" href="/" { "Home" }
                }
            }
        },
    )
}

pub(super) fn render_document(title: &str, body: &Markup) -> Markup {
    render_document_with(title, body, true)
}

/// Renders a document that asks for no news of a memory.
pub(crate) fn render_document_without_events(title: &str, body: &Markup) -> Markup {
    render_document_with(title, body, false)
}

fn render_document_with(title: &str, body: &Markup, has_events: bool) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " - Reprise" }
                link rel="stylesheet" href=(assets::asset_path("page.css"));
                // It runs before the page is drawn, so that the theme does not flicker.
                script src=(assets::asset_path("theme.js")) {}
                link rel="icon" type="image/svg+xml" href=(assets::asset_path("icon.svg"));
                @if has_events { script type="module" src=(assets::asset_path("page.js")) {} }
            }
            body {
                a class="skip" href="#main" { "Skip to the content" }
                (body)
                p id="said" class="unseen-text" role="status" {}
            }
        }
    }
}
