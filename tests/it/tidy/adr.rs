//! Decisions are numbered without gaps, named after their title, and shaped alike.
//!
//! The rule over `docs/adr/`.

/// Complaints about the pages, each a file name and its text, sorted by name.
pub(super) fn misnumbered(pages: &[(String, String)]) -> Vec<String> {
    let mut complaints = Vec::new();
    if pages.is_empty() {
        complaints.push("docs/adr holds no decision".to_owned());
    }
    for (expected, (name, text)) in pages.iter().enumerate() {
        let number = format!("{expected:04}");
        if !name.starts_with(&format!("{number}-")) || name.strip_suffix(".md").is_none() {
            complaints.push(format!("docs/adr/{name}: expected {number}-some-words.md"));
        }
        if !text.starts_with(&format!("# {number} ")) {
            complaints.push(format!(
                "docs/adr/{name}: opens with # {number} and its title"
            ));
        }
        for heading in ["## Context", "## Decision", "## Consequences"] {
            if !text.lines().any(|line| line == heading) {
                complaints.push(format!("docs/adr/{name}: {heading} is missing"));
            }
        }
    }
    complaints
}
