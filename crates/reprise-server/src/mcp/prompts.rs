//! Prompts: the three habits that make memory useful.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

/// Every prompt.
pub(super) fn all() -> Vec<Prompt> {
    let topic = |what: &str| {
        let argument = PromptArgument::new("topic").with_description(what);
        Some(vec![argument.with_required(true)])
    };
    vec![
        Prompt::new(
            "recall-context",
            Some("Begin a task with what is known about it"),
            topic("The task, in the user's words"),
        ),
        Prompt::new(
            "remember-this",
            Some("Keep one lesson from what just happened"),
            topic("What is to be remembered"),
        ),
        Prompt::new(
            "review-session",
            Some("End a session: keep what was learned and say how it went"),
            None,
        ),
    ]
}

/// One prompt with its argument put in.
pub(super) fn get(
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<GetPromptResult, ErrorData> {
    let topic = || {
        let topic = arguments.get("topic").and_then(Value::as_str);
        topic.ok_or_else(|| ErrorData::invalid_params("the prompt needs a `topic`", None))
    };
    let text = match name {
        "recall-context" => format!(
            "Recall what memory holds about this, then say in a few lines what matters for it and \
             what is not known. Use the `recall` tool with these words, and `get` for what looks \
             decisive:\n\n{}",
            topic()?
        ),
        "remember-this" => format!(
            "Keep this as one lesson with the `learn` tool: a title that names it, what was \
             learned, where it holds and where not, how sure you are and what that rests on. Look \
             with `recall` first; correct an older lesson with `update` instead of repeating \
             it:\n\n{}",
            topic()?
        ),
        "review-session" => "Look back over this session. For each thing that was unknown, \
             unexpected or took several tries, keep one lesson with `learn` (or `update` the one \
             that was wrong). Then call `outcome` for each `recall_id` of this session with the ids \
             that helped and how it went."
            .to_owned(),
        _ => {
            let name: String = name.chars().take(64).collect();
            let said = format!("there is no prompt `{name}`; list the prompts first");
            return Err(ErrorData::invalid_params(said, None));
        }
    };
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]))
}
