//! What a restore would bring and take, memory by memory.

use crate::backup_files::RestorePreview;
use crate::prelude::*;

/// Renders how a backup differs from the memory of now, with the memories named.
pub(super) fn render_comparison(
    visit: &PageRequest,
    file: &str,
    preview: &RestorePreview,
) -> Markup {
    let calendar = visit.page.calendar();
    let saved = preview.last_saved;
    let rows = vec![
        ("memories now", text::format_count(preview.memories_now)),
        (
            "memories in the backup",
            text::format_count(preview.memories),
        ),
        (
            "sessions in the backup",
            text::format_count(preview.sessions),
        ),
        (
            "newest memory in it",
            saved.map_or("none".to_owned(), |at| calendar.format_to_minute(at)),
        ),
    ];
    let count = |count: u64, one, many| {
        text::pluralize(usize::try_from(count).unwrap_or(usize::MAX), one, many)
    };
    html! {
        p { "Every memory in the file was read, and is undamaged." }
        (figures(&rows))
        p class="why" { "File: " code { (text::shorten(file, 300)) } }
        @if preview.only_now + preview.only_then + preview.other_version == 0 {
            p { "This backup has the same memories as you have now." }
        }
        div class="compared" {
            (render_named(preview.only_now, &preview.only_now_texts, "bad", &{
                let verb = if preview.only_now == 1 { "is" } else { "are" };
                let memories = count(preview.only_now, "memory", "memories");
                format!("{memories} of now {verb} not in this backup, and will not be found after the restore")
            }))
            (render_named(preview.only_then, &preview.only_then_texts, "good", &{
                let memories = count(preview.only_then, "memory", "memories");
                format!("{memories} of this backup will be found again")
            }))
            (render_named(preview.other_version, &preview.other_version_texts, "warn", &{
                let verb = if preview.other_version == 1 { "has" } else { "have" };
                let memories = count(preview.other_version, "memory", "memories");
                format!("{memories} {verb} another version in this backup. The version of now reads")
            }))
        }
        @if preview.would_come_back > 0 {
            p {
                b { (count(preview.would_come_back, "forgotten memory", "forgotten memories")) }
                " will be found again."
            }
        }
        p class="why" {
            "Nothing is lost: what you have now is kept as a file, and is listed with the backups. \
             Restore that to go back."
        }
    }
}

/// Renders a sentence about some memories with how the first of them begin, if there are any.
fn render_named(count: u64, texts: &[String], class: &str, sentence: &str) -> Markup {
    let more = usize::try_from(count).unwrap_or(usize::MAX);
    let more = more.saturating_sub(texts.len());
    html! {
        @if count > 0 {
            section class=(class) {
                h3 { (sentence) ":" }
                ul {
                    @for text in texts { li { (text::shorten(text, 120)) } }
                    @if more > 0 { li class="faint" { "and " (more) " more" } }
                }
            }
        }
    }
}
