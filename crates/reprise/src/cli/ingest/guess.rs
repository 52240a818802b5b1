//! Guesses the kind of a file without records from its name and first lines, and what to do with
//! it.

use crate::cli::prelude::*;

/// Most keys that are printed of an object without a text.
const KEYS_MAX: usize = 6;

/// Returns what the file seems to be and what to do, as the end of a sentence. A line that is not
/// text is empty in `lines`.
pub(super) fn guess_file_kind(file: &Path, lines: &[String]) -> String {
    let ending = file.extension().and_then(|ending| ending.to_str());
    let ending = ending.unwrap_or_default().to_lowercase();
    let first = lines.first().map_or("", |line| line.trim());
    let objects: Vec<Map<String, Value>> = lines
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let name = file.display();
    if ending == "rvf" || first.starts_with("RVFS") {
        return format!("a memory; `reprise backup restore {name} --user USER` imports it");
    }
    if ending == "db" || first.starts_with("SQLite format") {
        return "an SQLite database; export its rows as JSON, one per line".to_owned();
    }
    if lines
        .iter()
        .all(|line| line.trim().is_empty() || line.contains(['\0', '\u{fffd}']))
    {
        return "not text; `ingest` needs one JSON object per line".to_owned();
    }
    // Before its lines are looked at: a note may begin with front matter, and may quote JSON.
    if matches!(ending.as_str(), "md" | "markdown" | "mdc") {
        return format!("a note; `reprise import {name}` imports it");
    }
    if let Some(object) = objects.first() {
        return guess_object_kind(object, &name.to_string());
    }
    if first.starts_with('[') || first.starts_with('{') {
        return format!(
            "JSON that is not one object per line; convert it with `jq -c '.[]? // .' {name} | \
             reprise \
             ingest --jsonl - --user USER`"
        );
    }
    if first.starts_with('<') {
        return "HTML or XML; `ingest` needs one JSON object per line".to_owned();
    }
    if matches!(ending.as_str(), "yaml" | "yml") || first == "---" || first.starts_with("text: ") {
        return format!("YAML; pass it as `--yaml {name}`");
    }
    for (mark, called) in [(',', "a table (CSV)"), ('\t', "a table (TSV)")] {
        let columns = first.matches(mark).count();
        let alike = lines
            .iter()
            .all(|line| line.matches(mark).count() == columns);
        if columns > 0 && alike {
            return format!("{called}; make each row an object with a `text`, one per line");
        }
    }
    "plain text; `reprise learn \"...\"` remembers one thing, and `ingest` needs one JSON object \
     per line: {\"text\": \"...\"}"
        .to_owned()
}

fn guess_object_kind(object: &Map<String, Value>, name: &str) -> String {
    let has = |key: &str| object.contains_key(key);
    if has("event_type") && has("payload") {
        return format!(
            "a host's event log; `reprise ingest --events {name} --user USER` imports it"
        );
    }
    if has("query_id") || has("query") {
        return format!("a file of questions; `reprise recall --queries {name}` asks them");
    }
    if has("quality") || has("used") {
        return format!("a file of outcomes; `reprise outcome --jsonl {name}` imports it");
    }
    let keys: Vec<&str> = object.keys().take(KEYS_MAX).map(String::as_str).collect();
    if has("text") {
        return "a file of memories with an unknown field; see the first line above".into();
    }
    format!(
        "JSON whose objects have no `text` (they have {}); name the field to remember `text`",
        keys.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(file: &str, text: &str) -> String {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        guess_file_kind(Path::new(file), &lines)
    }

    #[test]
    fn a_wrong_file_is_known_by_its_name_or_its_first_lines() {
        for (file, text, word) in [
            ("notes", "# Notes\n\n- one\n", "plain text"),
            ("notes.md", "# Notes\n\n- one\n", "reprise import notes.md"),
            ("a.md", "---\ntitle: a\n---\n{\"a\":1}\n", "reprise import"),
            ("memory.rvf", "", "restore"),
            ("x.db", "", "SQLite"),
            ("picture", "\u{fffd}PNG\n\u{fffd}\n", "not text"),
            ("a.json", "[\n  {\n  \"text\": \"x\"\n", "jq"),
            ("a.json", "{\n  \"text\": \"x\"\n", "jq"),
            ("a.txt", "text: one\n", "--yaml"),
            ("a.csv", "id,text\n1,one\n", "CSV"),
            ("page", "<html>", "HTML"),
            (
                "log",
                "{\"seq\":1,\"event_type\":\"a\",\"payload\":{}}",
                "ingest --events",
            ),
            ("q", "{\"query_id\":\"1\",\"query\":\"x\"}", "--queries"),
            (
                "o",
                "{\"query\":\"x\",\"used\":[],\"quality\":1}",
                "--queries",
            ),
            (
                "o",
                "{\"recall_id\":\"x\",\"used\":[],\"quality\":1}",
                "outcome",
            ),
            (
                "m",
                "{\"role\":\"user\",\"content\":\"x\"}",
                "content, role",
            ),
        ] {
            let said = guessed(file, text);
            assert!(said.contains(word), "{file}: {said}");
        }
    }
}
