//! Adding a memory by hand: a lesson, a decision or a note.

use reprise_operations::Lesson;
use reprise_operations::operations::lessons::Learn;
use reprise_types::limits::TEXT_BYTES_MAX;

use crate::prelude::*;

/// The types that a person can write, the usual one first, each with what it is.
const TYPES: [(RecordType, &str); 3] = [
    (RecordType::Lesson, "Lesson: what to do next time"),
    (RecordType::Decision, "Decision: what was chosen, and why"),
    (RecordType::Note, "Note: a fact or an observation"),
];

pub(crate) async fn show(visit: PageRequest) -> Markup {
    let body = html! {
        (render_read_only_notice(&visit))
        div class="card add" {
            div class="stack" { (form(&visit, "/new", &html! {
                label {
                    "Type"
                    select name="type" {
                        @for (one, label) in TYPES { option value=(one.name()) { (label) } }
                    }
                }
                label {
                    "Title (optional)"
                    input name="title" maxlength="200" autocomplete="off";
                }
                label {
                    "What should your agents know?"
                    textarea name="text" rows="8" required autofocus {}
                }
                label {
                    "Project (optional; without one it holds everywhere)"
                    input name="project" maxlength="100" autocomplete="off" spellcheck="false";
                }
                label {
                    "Tags, separated by commas (optional)"
                    input name="tags" maxlength="400" autocomplete="off" spellcheck="false";
                }
                div class="acts" {
                    button class="first" { "Save memory" }
                    a class="button" href="/timeline" { "Cancel" }
                }
            })) }
        }
    };
    render_page(&visit, "/timeline", "Add a memory", &body)
}

/// Stores what was typed as a memory of the chosen type.
pub(crate) async fn save(posted: Posted) -> PageResult<Redirect> {
    let text = posted.text("text").replace("\r\n", "\n");
    if text.trim().is_empty() {
        return Err(PageError::invalid(
            "The memory has no text. Go back and write one.",
        ));
    }
    if text.len() > TEXT_BYTES_MAX {
        return Err(PageError::invalid(format!(
            "The text has {} bytes; the limit is {TEXT_BYTES_MAX}. Shorten it and save again.",
            text.len()
        )));
    }
    let filled = |name: &str| Some(posted.text(name).trim()).filter(|text| !text.is_empty());
    let tags = filled("tags").into_iter().flat_map(|tags| tags.split(','));
    let tags = tags
        .map(|tag| tag.trim().to_owned())
        .filter(|tag| !tag.is_empty());
    // A lesson is stored without a tag that says so.
    let chosen = TYPES.iter().skip(1).map(|(one, _)| one.name());
    let chosen = chosen.filter(|name| *name == posted.text("type"));
    let chosen = chosen.map(|name| [RecordType::TAG_PREFIX, name].concat());
    let project = filled("project").map(|project| format!("project:{project}"));
    let lesson = Lesson {
        title: filled("title").map(str::to_owned),
        text: Some(text),
        tags: Some(tags.chain(chosen).chain(project).collect()),
        ..Lesson::default()
    };
    let saved = posted.visit.run::<Learn>(lesson).await?;
    Ok(Redirect::to(&format!("/records/{}?done=added", saved.id)))
}
