//! The manual for agents: every tool with all of its arguments, those too that the lists of tools
//! leave out to stay short.

use reprise_operations::{Catalogue, Profile};
use serde_json::Value;

use super::{INSTRUCTIONS, tools};

/// Address of the manual.
pub(super) const URI: &str = "memory://man";

/// Renders the manual in Markdown. Who chose an added profile gets that of its tools.
pub(super) fn render(catalogue: &Catalogue, profile: Profile) -> String {
    let whole = match profile {
        Profile::Added(_) => profile,
        Profile::Lean | Profile::Default | Profile::Full => Profile::Full,
    };
    let shown = tools::list(catalogue, profile);
    let mut lines = vec![
        "# Reprise".to_owned(),
        String::new(),
        INSTRUCTIONS.to_owned(),
    ];
    for tool in tools::list(catalogue, whole) {
        let is_shown = shown.iter().any(|one| one.name == tool.name);
        let of_full = if is_shown {
            ""
        } else {
            " (with `--profile full`)"
        };
        let summary = tool.description.as_deref().unwrap_or_default();
        lines.push(format!("\n## {}{of_full}\n\n{summary}\n", tool.name));
        let properties = tool.input_schema.get("properties");
        for (name, argument) in properties.and_then(Value::as_object).into_iter().flatten() {
            let says = argument["description"].as_str().unwrap_or_default();
            let list = if argument["type"] == "array" {
                " (list)"
            } else {
                ""
            };
            lines.push(format!("- `{name}`{list}: {says}"));
        }
    }
    lines.join("\n") + "\n"
}
