//! What the hook of a prompt with the words of a question would add, as the hook itself writes it.

use reprise_operations::{PromptPreview, UnaskedReason};
use reprise_types::RelevanceVerdict;

use crate::pages::week::describe_nothing_added;
use crate::prelude::*;

/// What the hook of a prompt with the words of a question would add, in a project.
pub(super) struct PreviewInProject {
    preview: PromptPreview,
    project: String,
    /// Whether no memory of any project is about the question.
    is_nothing: bool,
}

impl PreviewInProject {
    /// Asks in the project of the filter, or in that of the best result.
    pub(super) async fn load(
        visit: &PageRequest,
        pairs: &QueryPairs,
        question: &str,
        recall: &RecallResponse,
    ) -> PageResult<Self> {
        let best = recall.results.iter().find(|hit| hit.shown);
        let mut tags = best.into_iter().flat_map(|hit| &hit.record.tags);
        let of_best = tags.find_map(|tag| tag.strip_prefix("project:"));
        let project = pairs.get("project").or(of_best).unwrap_or_default();
        let preview = visit.memory().preview_prompt(question, project).await?;
        Ok(Self {
            preview,
            project: project.to_owned(),
            is_nothing: recall.verdict == RelevanceVerdict::Nothing,
        })
    }

    /// Says why the hook would add nothing.
    fn describe_nothing(&self) -> String {
        let sentence = match &self.preview.found {
            Ok(_) if self.is_nothing => "Nothing would be added: no memory is about this.",
            Ok(given) => return describe_nothing_added("Nothing would be added", given),
            Err(UnaskedReason::Paused) => "Memory is paused there: agents get nothing.",
            Err(UnaskedReason::NoTokensLeft) => "The tokens for today are used up.",
            Err(UnaskedReason::SaysNothing) => "Memory is not asked for so short a prompt.",
            Err(UnaskedReason::Late) => "Memory answered too late.",
        };
        sentence.to_owned()
    }

    /// Renders the text that the hook would add; its panel is hidden if there is none.
    pub(super) fn render(&self, pairs: &QueryPairs) -> Markup {
        let Self {
            preview, project, ..
        } = self;
        let is_empty = preview.text.is_empty();
        let filters = pairs::FILTERS.iter().map(|(name, _)| *name);
        let mut options = filters.chain(["back", "scope"]);
        let is_narrowed = options.any(|name| name != "project" && pairs.get(name).is_some());
        html! {
            section {
                h2 {
                    "What an agent would receive" @if is_empty { ": nothing" } " "
                    @if !is_empty { small { (text::pluralize(preview.tokens, "token", "tokens")) } }
                }
                @if is_empty { p { (self.describe_nothing()) } }
                pre class="block" data-prompt hidden[is_empty] {
                    @if !is_empty { (text::render(&preview.text)) }
                }
                p class="faint" {
                    "For a prompt with these words that begins a session"
                    @if project.is_empty() { " outside any project" }
                    @else { " in " (text::shorten(project, 60)) }
                    "." @if is_narrowed { " Filters and options do not change it." }
                }
            }
        }
    }
}
