//! Prompts: the three habits that make memory useful.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

/// Name, description, description of the topic if there is one, and text, which the topic follows.
const PROMPTS: [(&str, &str, Option<&str>, &str); 3] = [
    (
        "recall-context",
        "Begin a task with what is known about it",
        Some("The task, in the user's words"),
        "Recall what memory holds about this, then say in a few lines what matters for it and \
         what is not known. Use the `recall` tool with these words, and `get` for what looks \
         decisive:\n\n",
    ),
    (
        "remember-this",
        "Keep one lesson from what just happened",
        Some("What is to be remembered"),
        "Keep this as one lesson with the `learn` tool: a title that names it, what was \
         learned, where it holds and where not, how sure you are and what that rests on. Look \
         with `recall` first; correct an older lesson with `update` instead of repeating \
         it:\n\n",
    ),
    (
        "review-session",
        "End a session: keep what was learned and say how it went",
        None,
        "Look back over this session. For each thing that was unknown, \
         unexpected or took several tries, keep one lesson with `learn` (or `update` the one \
         that was wrong). Then call `outcome` for each `recall_id` of this session with the ids \
         that helped and how it went.",
    ),
];

/// Lists every prompt.
pub(super) fn list() -> Vec<Prompt> {
    let prompts = PROMPTS.into_iter().map(|(name, what, topic, _)| {
        let topic = topic.map(|what| PromptArgument::new("topic").with_description(what));
        let topic = topic.map(|topic| vec![topic.with_required(true)]);
        Prompt::new(name, Some(what), topic)
    });
    prompts.collect()
}

/// Renders a prompt with its topic.
pub(super) fn render(
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<GetPromptResult, ErrorData> {
    let prompt = PROMPTS.into_iter().find(|prompt| prompt.0 == name);
    let (_, _, takes, text) = prompt.ok_or_else(|| {
        let detail = format!("there is no prompt `{name:.64}`; list the prompts first");
        ErrorData::invalid_params(detail, None)
    })?;
    let topic = arguments.get("topic").and_then(Value::as_str);
    let topic = match takes {
        None => "",
        Some(_) => {
            topic.ok_or_else(|| ErrorData::invalid_params("the prompt needs a `topic`", None))?
        }
    };
    let message = PromptMessage::new_text(Role::User, format!("{text}{topic}"));
    Ok(GetPromptResult::new(vec![message]))
}
