//! Inputs bent at random: no reader panics, and each says what it could not use.

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::super::testing::fixture;
use super::super::*;

const TEXTS: [(ImportKind, &str); 5] = [
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
];

/// One change: at a place (as a part of the whole), so many bytes, by these.
type Change = (f64, usize, Vec<u8>);

fn changes() -> impl Strategy<Value = Vec<Change>> {
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

fn bend(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for (place, length, piece) in changes {
        let start = (place * bytes.len() as f64) as usize;
        let end = (start + length).min(bytes.len());
        bytes.splice(start..end, piece.iter().copied());
    }
    bytes
}

fn take_all(path: &Path, kind: ImportKind) {
    let mut take = |item: Item| {
        // What is told of whole notes stands at no line.
        let is_told = matches!(item.found, Found::Scope(_) | Found::Note(_));
        assert!(is_told || !item.place.is_empty());
        if let Found::Record(record) = &item.found {
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
    drop(read(path, kind, Zone::default(), &mut take));
}

fn configured() -> ProptestConfig {
    ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A document once for each of its parts and each other shape that this part may have.
fn reshaped(whole: &Value) -> Vec<Value> {
    let shapes = [json!(1), json!("x"), Value::Null, json!([1]), json!({})];
    let mut all: Vec<Value> = shapes.to_vec();
    match whole {
        Value::Object(fields) => {
            for (name, part) in fields {
                for part in reshaped(part) {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), part);
                    all.push(Value::Object(fields));
                }
            }
        }
        Value::Array(parts) => {
            // Parts of a list are alike.
            for (index, part) in parts.iter().enumerate().take(2) {
                for part in reshaped(part) {
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
    for shaped in reshaped(&serde_json::from_slice(&source).unwrap()) {
        fs_err::write(&file, shaped.to_string()).unwrap();
        take_all(&file, ImportKind::Mem0);
    }
    let file = folder.path().join("shaped.jsonl");
    let frames = fs_err::read_to_string(fixture("ralph_memory.jsonl")).unwrap();
    for shaped in reshaped(&serde_json::from_str(frames.lines().next().unwrap()).unwrap()) {
        fs_err::write(&file, format!("{shaped}\n")).unwrap();
        take_all(&file, ImportKind::Frames);
    }
    let note = json!({
        "title": "A", "tags": ["x"], "created": "2026-01-01", "permalink": "a",
        "reprise": {"id": "01KHMQXV4C0000000000000000", "kind": "finding", "tags": ["x"]},
        "links": [{"to": "01KHMQXV4C0000000000000001", "relation": "part_of"}],
    });
    let file = folder.path().join("shaped.md");
    for shaped in reshaped(&note) {
        // JSON is YAML.
        fs_err::write(&file, format!("---\n{shaped}\n---\n# A\n\ntext\n")).unwrap();
        take_all(&file, ImportKind::Markdown);
    }
}

proptest! {
    #![proptest_config(configured())]

    #[test]
    fn bent_texts_never_panic(changes in changes(), which in 0..TEXTS.len()) {
        let (kind, name) = TEXTS[which];
        let folder = tempfile::tempdir().unwrap();
        let ending = Path::new(name).extension().unwrap();
        let file = folder.path().join("bent").with_extension(ending);
        fs_err::write(&file, bend(fs_err::read(fixture(name)).unwrap(), &changes)).unwrap();
        take_all(&file, kind);
    }

    #[test]
    fn bent_databases_never_panic(changes in changes(), which in 0..2_usize) {
        let (kind, dump) = [
            (ImportKind::Mem0, "mem0/history.sql"),
            (ImportKind::ClaudeMem, "claude_mem/claude-mem.sql"),
        ][which];
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bent.db");
        let sql = fs_err::read_to_string(fixture(dump)).unwrap();
        Connection::open(&file).unwrap().execute_batch(&sql).unwrap();
        fs_err::write(&file, bend(fs_err::read(&file).unwrap(), &changes)).unwrap();
        take_all(&file, kind);
    }
}
