//! Inputs bent at random: no reader panics, and each says what it could not use.

use std::io::Write;

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::super::sqlite::Database;
use super::super::testing::{fixture, read_all};
use super::super::*;

const TEXTS: [(ImportKind, &str); 20] = [
    (ImportKind::Frames, "ralph_memory.jsonl"),
    (ImportKind::Mem0, "mem0/get_all.json"),
    (ImportKind::Markdown, "basic_memory/design/Search Design.md"),
    (
        ImportKind::Instructions,
        "basic_memory/Coffee Brewing Methods.md",
    ),
    (
        ImportKind::Sunwell,
        "sunwell_legacy/.sunwell/intelligence/decisions.jsonl",
    ),
    (ImportKind::ClaudeCode, CLAUDE_CODE),
    (ImportKind::Codex, CODEX),
    (ImportKind::Gemini, GEMINI),
    (ImportKind::ServerMemory, "bent/server-memory.jsonl"),
    (ImportKind::Reprise, "bent/reprise.jsonl"),
    (ImportKind::Reprise, "bent/reprise.yaml"),
    (ImportKind::Chatgpt, "bent/chatgpt.json"),
    (ImportKind::ClaudeAi, "bent/claude-ai.json"),
    (ImportKind::Copilot, "bent/events.jsonl"),
    (ImportKind::Cursor, "bent/cursor.jsonl"),
    (ImportKind::Trajectory, "bent/atif.json"),
    (ImportKind::Trajectory, "bent/letta.jsonl"),
    // A form that is read as another: names lie.
    (ImportKind::Reprise, "bent/events.jsonl"),
    (ImportKind::Trajectory, CLAUDE_CODE),
    (ImportKind::Gemini, CODEX),
];

const CLAUDE_CODE: &str =
    "sessions/claude/projects/-work-shop/e8f91fe5-2e92-473f-861a-44c5cc8086cc.jsonl";
const CODEX: &str = "sessions/codex/sessions/2026/11/25/\
                     rollout-2026-11-25T19-32-41-01a21432-28d4-77e1-8330-02b82414e990.jsonl";
const GEMINI: &str = "sessions/gemini/tmp/shop/chats/session-2026-11-25T19-33-d74f5100.jsonl";

/// Forms with an object on each line, where an odd line may cost no other. Our own export is whole
/// or refused.
const LINES: [(ImportKind, &str); 7] = [
    (ImportKind::Frames, "ralph_memory.jsonl"),
    (ImportKind::ClaudeCode, CLAUDE_CODE),
    (ImportKind::Codex, CODEX),
    (ImportKind::Gemini, GEMINI),
    (ImportKind::ServerMemory, "bent/server-memory.jsonl"),
    (ImportKind::Copilot, "bent/events.jsonl"),
    (ImportKind::Cursor, "bent/cursor.jsonl"),
];

/// One change: at a place (as a part of the whole), so many bytes, by these.
type Change = (f64, usize, Vec<u8>);

fn byte_changes() -> impl Strategy<Value = Vec<Change>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..6),
        prop::sample::select(vec![
            "{", "}", "[", "]", "\"", "\n", "null", "1e999", "[[", "]]", "- [a] #", "---\n", "(",
            "\\", "\u{0}", "> ", "| ", "\t", "\u{feff}", "#", "'", "];", "--",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
    ];
    prop::collection::vec((0.0..1.0, 0..40_usize, piece), 1..8)
}

fn apply_changes(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for (place, length, piece) in changes {
        let start = (place * bytes.len() as f64) as usize;
        let end = (start + length).min(bytes.len());
        bytes.splice(start..end, piece.iter().copied());
    }
    bytes
}

fn read_without_panic(path: &Path, kind: ImportKind) {
    let mut take = |item: ImportItem| {
        // An item about a whole note has no line.
        let is_told = matches!(item.content, ItemContent::Scope(_) | ItemContent::Note(_));
        assert!(is_told || !item.place.is_empty());
        if let ItemContent::Record(record) = &item.content {
            assert!(
                !record.external_ids.is_empty(),
                "{:?} has no name",
                record.text
            );
        }
        true
    };
    // An error is an answer.
    drop(recognise(path));
    drop(read_source(path, kind, Zone::default(), &mut take));
}

fn proptest_config() -> ProptestConfig {
    let mut config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    // Which proptest reads for a longer run.
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 96;
    }
    config
}

/// A document once for each of its parts and each other shape that this part may have.
fn reshape_parts(whole: &Value) -> Vec<Value> {
    let shapes = [json!(1), json!("x"), Value::Null, json!([1]), json!({})];
    let mut all: Vec<Value> = shapes.to_vec();
    match whole {
        Value::Object(fields) => {
            for (name, part) in fields {
                for part in reshape_parts(part) {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), part);
                    all.push(Value::Object(fields));
                }
            }
        }
        Value::Array(parts) => {
            // Parts of a list are alike.
            for (index, part) in parts.iter().enumerate().take(2) {
                for part in reshape_parts(part) {
                    let mut parts = parts.clone();
                    parts[index] = part;
                    all.push(Value::Array(parts));
                }
            }
        }
        _ => {}
    }
    all
}

#[test]
fn a_part_of_another_shape_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shaped.json");
    let source = fs_err::read(fixture("mem0/get_all.json")).unwrap();
    for shaped in reshape_parts(&serde_json::from_slice(&source).unwrap()) {
        fs_err::write(&file, shaped.to_string()).unwrap();
        read_without_panic(&file, ImportKind::Mem0);
    }
    let file = folder.path().join("shaped.jsonl");
    let frames = fs_err::read_to_string(fixture("ralph_memory.jsonl")).unwrap();
    for shaped in reshape_parts(&serde_json::from_str(frames.lines().next().unwrap()).unwrap()) {
        fs_err::write(&file, format!("{shaped}\n")).unwrap();
        read_without_panic(&file, ImportKind::Frames);
    }
    let note = json!({
        "title": "A", "tags": ["x"], "created": "2026-01-01", "permalink": "a",
        "reprise": {"id": "01KHMQXV4C0000000000000000", "kind": "finding", "tags": ["x"]},
        "links": [{"to": "01KHMQXV4C0000000000000001", "relation": "part_of"}],
    });
    let file = folder.path().join("shaped.md");
    for shaped in reshape_parts(&note) {
        // JSON is YAML.
        fs_err::write(&file, format!("---\n{shaped}\n---\n# A\n\ntext\n")).unwrap();
        read_without_panic(&file, ImportKind::Markdown);
    }
}

#[test]
fn a_column_whose_name_is_no_text_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("odd.db");
    let database = Connection::open(&file).unwrap();
    database
        .execute_batch("CREATE TABLE notes (id, oddly, body); INSERT INTO notes VALUES (1, 2, 3);")
        .unwrap();
    drop(database);
    let mut bytes = fs_err::read(&file).unwrap();
    let at = bytes.windows(5).position(|five| five == b"oddly").unwrap();
    bytes[at] = 0xff;
    fs_err::write(&file, bytes).unwrap();
    let mut rows = Vec::new();
    let database = Database::open(&file).unwrap();
    database
        .for_each_table_row("notes", "rowid", |row| {
            rows.push(json!(row));
            Ok(())
        })
        .unwrap();
    assert_eq!(rows, [json!({"id": 1, "body": 3})]);
}

proptest! {
    #![proptest_config(proptest_config())]

    #[test]
    fn bent_texts_never_panic(changes in byte_changes(), which in 0..TEXTS.len()) {
        let (kind, name) = TEXTS[which];
        let folder = tempfile::tempdir().unwrap();
        let ending = Path::new(name).extension().unwrap();
        let file = folder.path().join("bent").with_extension(ending);
        fs_err::write(&file, apply_changes(fs_err::read(fixture(name)).unwrap(), &changes)).unwrap();
        read_without_panic(&file, kind);
    }

    #[test]
    fn an_odd_line_costs_no_other(
        which in 0..LINES.len(),
        place in 0.0..1.0,
        odd in prop::collection::vec(any::<u8>().prop_filter("no new line", |b| *b != b'\n'), 1..40),
        cut in 0.0..1.0,
        is_cut in any::<bool>(),
    ) {
        let (kind, name) = LINES[which];
        let whole = fs_err::read_to_string(fixture(name)).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let at = ((place * lines.len() as f64) as usize).min(lines.len() - 1);
        // A line that was cut, or no line at all.
        let half = lines[at].as_bytes();
        let odd = if is_cut { &half[..(cut * half.len() as f64) as usize] } else { &odd };
        let mut bent = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            if number == at {
                bent.extend_from_slice(odd);
                bent.push(b'\n');
            }
            bent.extend_from_slice(line.as_bytes());
            bent.push(b'\n');
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bent.jsonl");
        fs_err::write(&file, &whole).unwrap();
        let all = read_all(&file, kind);
        fs_err::write(&file, bent).unwrap();
        let found = read_all(&file, kind);
        let texts: Vec<&str> = found.records.iter().map(|one| one.text.as_str()).collect();
        for record in &all.records {
            prop_assert!(texts.contains(&record.text.as_str()), "{kind:?}: lost {:?}", record.text);
        }
    }

    #[test]
    fn a_bent_archive_never_panics(changes in byte_changes()) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bent.zip");
        let mut zip = zip::ZipWriter::new(fs_err::File::create(&file).unwrap());
        zip.start_file("conversations.json", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&fs_err::read(fixture("bent/chatgpt.json")).unwrap()).unwrap();
        zip.finish().unwrap();
        fs_err::write(&file, apply_changes(fs_err::read(&file).unwrap(), &changes)).unwrap();
        read_without_panic(&file, ImportKind::Chatgpt);
    }

    #[test]
    fn bent_databases_never_panic(changes in byte_changes(), which in 0..3_usize) {
        let (kind, dump) = [
            (ImportKind::Mem0, "mem0/history.sql"),
            (ImportKind::ClaudeMem, "claude_mem/claude-mem.sql"),
            (ImportKind::Opencode, "sessions/opencode.sql"),
        ][which];
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bent.db");
        let sql = fs_err::read_to_string(fixture(dump)).unwrap();
        Connection::open(&file).unwrap().execute_batch(&sql).unwrap();
        fs_err::write(&file, apply_changes(fs_err::read(&file).unwrap(), &changes)).unwrap();
        read_without_panic(&file, kind);
    }
}
