//! What a person can choose from in the filters of a list: the projects, agents, sessions and tags
//! that the memory has.

use std::collections::BTreeSet;

use reprise_operations::operations::sessions::{Prompts, PromptsArguments};
use reprise_operations::operations::tags;

use super::{collect_project_names, drop_second_names, label_project};
use crate::pairs::FilterChoices;
use crate::prelude::*;

/// Most values of a list.
const KNOWN: usize = 200;
/// Prompts from which sessions are known.
const LOOKED: usize = 200;
/// Most sessions of a list.
const SESSIONS: usize = 60;
const LABEL_CHARS: usize = 70;

/// Loads what the filters of a list offer: of the whole memory, of its newest prompts, and of these
/// records.
pub(in crate::pages) async fn load_choices<'a>(
    visit: &PageRequest,
    records: impl Iterator<Item = &'a MemoryRecord>,
) -> PageResult<FilterChoices> {
    let arguments = PromptsArguments {
        session: None,
        limit: Some(LOOKED),
        cursor: None,
    };
    let (known, prompts) = tokio::join!(
        visit.run_optional::<tags::Tags>(tags::TagsArguments::default()),
        visit.run_optional::<Prompts>(arguments),
    );
    let (known, prompts) = (known?, prompts?);
    let prompts = prompts.map(|found| found.prompts).unwrap_or_default();
    let names = known.as_ref().map(collect_project_names);
    let names = drop_second_names(&names.unwrap_or_default());
    let mut projects: Vec<(String, String)> = names
        .iter()
        .map(|name| (name.clone(), label_project(name, &names).to_owned()))
        .collect();
    projects.truncate(KNOWN);
    let mut authors: BTreeSet<String> = BTreeSet::new();
    let mut sessions: Vec<(String, String)> = Vec::new();
    // The newest prompt comes first; the oldest that is known of a session is its name.
    for prompt in prompts.iter().filter(|one| !one.session.is_empty()) {
        let label = text::plain_line(&prompt.text, LABEL_CHARS);
        match sessions.iter_mut().find(|(id, _)| *id == prompt.session) {
            Some((_, name)) => *name = label,
            None => sessions.push((prompt.session.clone(), label)),
        }
    }
    for record in records {
        authors.extend(RecordByline::of(record).by);
        let id = &record.session_id;
        if !id.is_empty() && !sessions.iter().any(|(own, _)| own == id) {
            let name = rows::name_session(id, None);
            sessions.push((id.clone(), text::plain_line(name, LABEL_CHARS)));
        }
    }
    sessions.truncate(SESSIONS);
    let authors = authors.into_iter().take(KNOWN);
    let tags = known.into_iter().flat_map(|known| known.tags);
    let tags = tags.map(|one| one.tag);
    Ok(FilterChoices {
        projects,
        authors: authors.map(|name| (name.clone(), name)).collect(),
        sessions,
        tags: tags.take(KNOWN).collect(),
    })
}
