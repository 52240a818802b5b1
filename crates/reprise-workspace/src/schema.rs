//! Step three's first half: what is written has the form of its kind.
//!
//! JSON Schemas are built in for PRDs, TSDs, checkpoints, manifests, contradictions, scratch and
//! log lines; `extensions/schemas/NAME.schema.json` of the project replaces the one of its name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use reprise_workspace_types::{Class, MergeRule, RepoPath};
use serde_json::Value;

use crate::cache::get_or_make;
use crate::error::{Result, WorkspaceError, invalid_error};

/// Largest file that git is given, in bytes.
pub const ARTIFACT_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// Most complaints about one file that are told.
const COMPLAINTS_MAX: usize = 3;

/// A kind of content that has a schema.
struct SchemaKind {
    /// `schema-` and its name.
    rule: &'static str,
    /// Whether a file of it is many documents: lines, or a JSON array.
    is_many: bool,
    built_in: &'static str,
}

macro_rules! kind {
    ($name:literal, $is_many:literal) => {
        SchemaKind {
            rule: concat!("schema-", $name),
            is_many: $is_many,
            built_in: include_str!(concat!("rules/schemas/", $name, ".json")),
        }
    };
}

fn find_schema_kind(path: &RepoPath) -> Option<SchemaKind> {
    Some(match (path.class(), path.merge_rule()) {
        (Class::Prd, _) if path.ends_with(".json") => kind!("prd", false),
        (Class::Tsd, _) if path.ends_with(".json") => kind!("tsd", false),
        (_, MergeRule::Checkpoint) => kind!("checkpoint", false),
        (_, MergeRule::Manifest) => kind!("manifest", false),
        (Class::LongTerm, MergeRule::Lines) if path.name().starts_with("contradiction") => {
            kind!("contradiction", true)
        }
        (Class::Episodic, _) if path.ends_with(".episodic") => kind!("episode", true),
        (Class::Logs, _) | (_, MergeRule::Lines) if path.ends_with(".jsonl") => {
            kind!("event-line", true)
        }
        _ => return None,
    })
}

/// Checks the content of one file. Lines that are in `known` are not checked again; an earlier
/// version may have accepted them. `project` reads a file of the project's own rules.
pub(crate) fn check_content(
    path: &RepoPath,
    bytes: &[u8],
    known: &[u8],
    project: &dyn Fn(&RepoPath) -> Result<Option<Vec<u8>>>,
) -> Result<()> {
    let refuse = |rule, why: String| Err(invalid_error(rule, path.as_str(), why));
    let class = path.class();
    if class.is_versioned() && bytes.len() as u64 > ARTIFACT_BYTES_MAX {
        return refuse("artifact-size", too_large(bytes.len() as u64));
    }
    let kind = find_schema_kind(path);
    let must_be_text = class.is_core() || class == Class::Rules || kind.is_some();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text,
        _ if must_be_text => {
            let why =
                "it is no text (UTF-8); keep binary files under extensions/ or embeddings/vectors/";
            return refuse("text-only", why.to_owned());
        }
        _ => return Ok(()),
    };
    if class == Class::Rules {
        return check_rule_file(path, text);
    }
    if matches!(class, Class::Prd | Class::Tsd) && !path.ends_with(".json") && !is_prose(path) {
        let why = "PRDs and TSDs are JSON (`.json`) or prose (`.md`); no schema fits this name";
        return refuse("schema-less", why.to_owned());
    }
    let Some(kind) = kind else {
        return Ok(());
    };
    // Where a project keeps the schema that replaces the built-in one.
    let name = kind.rule.trim_start_matches("schema-").replace('-', "_");
    let own = RepoPath::trusted(format!("extensions/schemas/{name}.schema.json"));
    let replaced = project(&own)?;
    let schema = replaced.as_deref().unwrap_or(kind.built_in.as_bytes());
    let validator = compile_schema(&own, schema)?;
    if !kind.is_many {
        let complaints = match serde_json::from_str(text) {
            Ok(document) => describe_violations(&validator, &document),
            Err(error) => format!("it is not valid JSON: {error}"),
        };
        if complaints.is_empty() {
            return Ok(());
        }
        return refuse(kind.rule, complaints);
    }
    let documents = match parse_log(text) {
        Ok(documents) => documents,
        Err(why) => return refuse(kind.rule, why),
    };
    let known = parse_log(&String::from_utf8_lossy(known)).unwrap_or_default();
    for (number, document) in (1_usize..).zip(&documents) {
        let complaints = describe_violations(&validator, document);
        // Looked for only then: a log can be long, and nearly all of it is good.
        if !complaints.is_empty() && !known.contains(document) {
            return refuse(kind.rule, format!("line {number}: {complaints}"));
        }
    }
    Ok(())
}

/// Returns the sentence about a file that is too large.
pub(crate) fn too_large(bytes: u64) -> String {
    format!(
        "it has {bytes} bytes, and git is given {ARTIFACT_BYTES_MAX} at most; keep large files \
         outside and their hash here"
    )
}

fn is_prose(path: &RepoPath) -> bool {
    path.ends_with(".md") || path.ends_with(".txt") || path.name().starts_with('.')
}

/// Refuses a rule of the project that would not be usable.
fn check_rule_file(path: &RepoPath, text: &str) -> Result<()> {
    if path.ends_with(".rego") {
        return crate::governor::check_policy(path, text);
    }
    if path.ends_with(".schema.json") {
        compile_schema(path, text.as_bytes())?;
    }
    Ok(())
}

/// Most schemas that this process keeps ready.
const READY_MAX: usize = 32;
/// Schemas that were read before.
static READY: Mutex<BTreeMap<Vec<u8>, Arc<Validator>>> = Mutex::new(BTreeMap::new());

fn compile_schema(path: &RepoPath, bytes: &[u8]) -> Result<Arc<Validator>> {
    get_or_make(&READY, READY_MAX, bytes.to_vec(), |bytes| {
        parse_schema(path, bytes).map(Arc::new)
    })
}

fn parse_schema(path: &RepoPath, bytes: &[u8]) -> Result<Validator> {
    let unusable = |why: String| WorkspaceError::Rules {
        path: path.to_string(),
        why: why.replace('\n', " "),
    };
    let schema: Value =
        serde_json::from_slice(bytes).map_err(|error| unusable(error.to_string()))?;
    jsonschema::options()
        .should_validate_formats(true)
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .offline()
        .build(&schema)
        .map_err(|error| unusable(error.to_string()))
}

fn describe_violations(validator: &Validator, document: &Value) -> String {
    let texts: Vec<String> = validator
        .iter_errors(document)
        .take(COMPLAINTS_MAX)
        .map(|error| {
            let place = error.instance_path().to_string();
            let what = match error.kind() {
                // In its own words it would be `{} has less than 1 property`.
                ValidationErrorKind::MinProperties { limit: 1 } => "it has no field".to_owned(),
                _ => error.to_string().chars().take(200).collect(),
            };
            if place.is_empty() {
                what
            } else {
                format!("{place}: {what}")
            }
        })
        .collect();
    texts.join("; ")
}

/// Parses the documents of a log: one a line, or a JSON array.
pub(crate) fn parse_log(text: &str) -> std::result::Result<Vec<Value>, String> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text)
            .map_err(|error| format!("it is not valid JSON: {error}"));
    }
    let mut documents = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let document = serde_json::from_str(line)
            .map_err(|error| format!("line {} is not valid JSON: {error}", index + 1))?;
        documents.push(document);
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &str, text: &[u8]) -> std::result::Result<(), String> {
        check_content(&RepoPath::trusted(path), text, &[], &|_| Ok(None))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn each_kind_has_its_form() {
        let good: [(&str, &[u8]); 11] = [
            (
                "core/prd/PRD-001.json",
                br#"{"id":"PRD-001","goals":["x"]}"#,
            ),
            ("core/prd/PRD-001.md", b"# Goals"),
            ("core/tsd/TSD-001.json", br#"{"prd_id":"PRD-001"}"#),
            (
                "memory/contradiction_history.jsonl",
                include_bytes!("../tests/fixtures/contradiction_history_array.jsonl"),
            ),
            // What merges and projections bring has an id and says nothing of a PRD.
            ("memory/contradiction_history.jsonl", br#"{"event_id":"a"}"#),
            (
                "memory/episodic/TSD_Check.episodic",
                br#"[{"ts":"2025-11-27T10:00:00Z","status":"done","duration_ms":12.5}]"#,
            ),
            ("memory/episodic/notes.txt", b"whatever"),
            (
                "memory/long_term/x.jsonl",
                b"{\"event_id\":\"a\"}\n\n{\"b\":1}\n",
            ),
            (
                "memory/agent_state/tsm.checkpoint",
                include_bytes!("../tests/fixtures/theirs.checkpoint.json"),
            ),
            (
                "embeddings/index/m.json",
                include_bytes!("../tests/fixtures/ours.manifest.json"),
            ),
            ("extensions/logo.png", b"\x89PNG\0"),
        ];
        for (path, text) in good {
            assert_eq!(checked(path, text), Ok(()), "{path}");
        }
    }

    #[test]
    fn each_kind_refuses_another_form() {
        let bad: [(&str, &[u8], &str); 17] = [
            (
                "memory/contradiction_history.jsonl",
                br#"{"ts":"2025-11-27T10:00:00Z","conflict":{}}"#,
                "schema-contradiction",
            ),
            (
                "memory/contradiction_history.jsonl",
                br#"{"event_id":"a","prd_id":"PRD-42"}"#,
                "schema-contradiction",
            ),
            (
                "memory/long_term/contradictions.jsonl",
                br#"{"ts":"noon","prd_id":"PRD-42","conflict":"x"}"#,
                "schema-contradiction",
            ),
            (
                "memory/contradiction_history.jsonl",
                br#"{"a":1}"#,
                "line 1",
            ),
            (
                "memory/episodic/a.episodic",
                br#"[{"ts":"2025-11-27T10:00:00Z","status":"done"}]"#,
                "duration_ms",
            ),
            (
                "memory/episodic/a.episodic",
                br#"[{"ts":"2025-11-27T10:00:00Z","status":"done","duration_ms":-1}]"#,
                "schema-episode",
            ),
            ("memory/episodic/a.episodic", b"[7]", "schema-episode"),
            ("core/prd/PRD-001.json", b"{", "schema-prd"),
            ("core/prd/PRD-001.json", b"[]", "schema-prd"),
            ("core/prd/PRD-001.json", br#"{"id":7}"#, "/id"),
            ("core/prd/PRD-001.exe", b"text", "schema-less"),
            ("core/kb/a.md", b"\xff\xfe", "text-only"),
            ("core/kb/a.md", b"a\0b", "text-only"),
            (
                "memory/long_term/x.jsonl",
                b"{\"a\":1}\nnonsense\n",
                "line 2",
            ),
            (
                "memory/agent_state/tsm.checkpoint.json",
                br#"{"agent_id":"tsm"}"#,
                "ts_checkpoint",
            ),
            (
                "memory/agent_state/a.json",
                br#"{"agent_id":"a","ts_checkpoint":"noon"}"#,
                "date-time",
            ),
            (
                "embeddings/index/m.json",
                br#"{"artifacts":[{"vec_id":"v"}]}"#,
                "artifact_id",
            ),
        ];
        for (path, text, word) in bad {
            let error = checked(path, text).unwrap_err();
            assert!(error.contains(word), "{path}: {error}");
        }
        // What an earlier version took does not stand in the way of the next line.
        let old = br#"{"ts":"2025-11-27T10:00:00Z","conflict":{}}"#;
        let both = [&old[..], b"\n", br#"{"event_id":"b"}"#].concat();
        let log = RepoPath::trusted("memory/contradiction_history.jsonl");
        check_content(&log, &both, old, &|_| Ok(None)).unwrap();
        let large = vec![b'x'; ARTIFACT_BYTES_MAX as usize + 1];
        assert!(
            checked("core/kb/a.md", &large)
                .unwrap_err()
                .contains("artifact-size")
        );
    }

    #[test]
    fn a_project_replaces_a_schema_and_a_broken_one_is_named() {
        let path = RepoPath::trusted("core/prd/PRD-001.json");
        let own = |text: &'static str| {
            move |asked: &RepoPath| {
                assert_eq!(asked.as_str(), "extensions/schemas/prd.schema.json");
                Ok(Some(text.as_bytes().to_vec()))
            }
        };
        let strict = own(r#"{"required":["owner"]}"#);
        let error = check_content(&path, b"{\"id\":\"x\"}", &[], &strict)
            .unwrap_err()
            .to_string();
        assert!(error.contains("owner"), "{error}");
        let broken = own(r#"{"type":"nothing"}"#);
        let error = check_content(&path, b"{\"id\":\"x\"}", &[], &broken)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("extensions/schemas/prd.schema.json"),
            "{error}"
        );
        // A reference to elsewhere is not followed.
        let remote = own(r#"{"$ref":"https://example.invalid/x.json"}"#);
        assert!(check_content(&path, b"{\"id\":\"x\"}", &[], &remote).is_err());
        let rules = RepoPath::trusted("extensions/schemas/prd.schema.json");
        assert!(check_content(&rules, br#"{"type":"nothing"}"#, &[], &|_| Ok(None)).is_err());
    }
}
