//! Tests that import notes repeatedly into a memory in a file, as `import` does.

use std::fs;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineOptions, ForgetSelector};
use reprise_store::RealDisk;

use super::*;
use crate::export::OutgoingRecord;
use crate::import::{ImportKind, read_source};
use crate::projection::{ProjectionKind, update_projection};

struct NotesBench {
    folder: tempfile::TempDir,
    engine: Engine,
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_768_000_000, 0).unwrap()
}

/// What is read of a folder of notes.
fn read_items(path: &Path) -> Vec<ImportItem> {
    let mut items = Vec::new();
    let mut take = |item| {
        items.push(item);
        true
    };
    read_source(path, ImportKind::Markdown, Zone::default(), &mut take).unwrap();
    items
}

impl NotesBench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("notes")).unwrap();
        let mut options = EngineOptions::new(8, 7, now());
        options.create = true;
        let file = folder.path().join("memory.rvf");
        let (engine, _) = Engine::open(Arc::new(RealDisk), &file, &options).unwrap();
        Self { folder, engine }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("notes").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Imports the folder: new, replaced, gone, refused.
    fn import(&mut self) -> (usize, usize, Vec<String>, Vec<String>) {
        let items = read_items(&self.folder.path().join("notes"));
        let clean = |text: &str| text.replace("hunter2", "[taken out]");
        let renewal = compare_notes(&self.engine.snapshot(), items, &clean);
        let replaced = renewal.replaced.len();
        for NoteReplacement {
            record, changes, ..
        } in renewal.replaced
        {
            let old = self.engine.snapshot().get_stored(record).unwrap().unwrap();
            let mut new = old.into_new_record();
            new.external_ids.clear();
            new.supersedes = Some(record);
            let text = changes["text"].as_str().unwrap();
            new.text = clean(text);
            if let Some(details) = changes.get("details") {
                new.details = serde_json::from_str(&clean(&details.to_string())).unwrap();
            }
            if let Some(Value::Object(metadata)) = changes.get("metadata") {
                new.metadata = metadata.clone();
            }
            self.engine.observe(vec![new], None, now()).unwrap();
        }
        let (mut new, mut refused) = (0, Vec::new());
        for ImportItem { content: found, .. } in renewal.items {
            match found {
                ItemContent::Record(mut record) => {
                    record.text = clean(&record.text);
                    let details = record.details.as_ref().map(Value::to_string);
                    record.details =
                        details.map(|text| serde_json::from_str(&clean(&text)).unwrap());
                    self.engine.observe(vec![*record], None, now()).unwrap();
                    new += 1;
                }
                ItemContent::Refused(why) => refused.push(why),
                _ => {}
            }
        }
        let gone = renewal.missing.into_iter().map(|gone| gone.text);
        (new, replaced, gone.collect(), refused)
    }

    /// The texts that are there, in order.
    fn live_texts(&self) -> Vec<String> {
        let memory = self.engine.snapshot();
        let records = memory.records().map(|one| one.unwrap().body.text);
        let mut texts: Vec<String> = records.collect();
        texts.sort();
        texts
    }

    /// Memory's own notes in the folder, as `rebuild` writes them.
    fn write_projection(&self) -> Result<crate::ProjectionUpdateReport, ExportError> {
        let memory = self.engine.snapshot();
        let told: Vec<OutgoingRecord> = memory
            .records()
            .map(|record| {
                let record = record.unwrap();
                OutgoingRecord {
                    line: json!({ "id": record.id, "text": record.text, "source": record.source,
                        "kind": record.kind, "known_at": record.known_at, "tags": record.tags,
                        "timestamp": record.timestamp, "session_id": "", "metadata": {} }),
                    links: Vec::new(),
                    first: first_version(&memory, &record),
                    vector: None,
                    record,
                }
            })
            .collect();
        let place = self.folder.path().join("notes");
        let home = self.folder.path();
        update_projection(
            ProjectionKind::Markdown,
            &place,
            home,
            told[..].into(),
            false,
        )
    }

    /// The one note that memory wrote.
    fn only_note(&self) -> PathBuf {
        let names = fs::read_dir(self.folder.path().join("notes")).unwrap();
        let mut names = names.map(|entry| entry.unwrap().path());
        let is_note = |path: &PathBuf| !path.ends_with("index.md");
        let found: Vec<PathBuf> = names.by_ref().filter(is_note).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    }
}

#[test]
fn a_changed_section_takes_the_place_of_the_old_one() {
    let mut desk = NotesBench::new();
    desk.write(
        "a.md",
        "# Ports\n\nThe api listens on 80.\n\n# Disks\n\nTwo.\n",
    );
    assert_eq!(desk.import(), (2, 0, vec![], vec![]));
    assert_eq!(desk.import(), (0, 0, vec![], vec![]));
    desk.write(
        "a.md",
        "# Ports\n\nThe api listens on 90.\n\n# Disks\n\nTwo.\n",
    );
    assert_eq!(desk.import(), (0, 1, vec![], vec![]));
    assert_eq!(
        desk.live_texts(),
        ["a > Disks\n\nTwo.", "a > Ports\n\nThe api listens on 90."]
    );
    // Back to what it said first, under another heading, and a second section of the same name.
    desk.write(
        "a.md",
        "# Ports\n\nThe api listens on 80.\n\n# Storage\n\nTwo.\n",
    );
    assert_eq!(desk.import(), (0, 2, vec![], vec![]));
    assert_eq!(desk.import(), (0, 0, vec![], vec![]));
    assert_eq!(
        desk.live_texts(),
        ["a > Ports\n\nThe api listens on 80.", "a > Storage\n\nTwo."]
    );
    let memory = desk.engine.snapshot();
    let ports = memory.records().map(Result::unwrap);
    let ports = ports.filter(|one| one.text.contains("80")).last().unwrap();
    assert_eq!(memory.version_history(ports.id).len(), 3);
}

#[test]
fn what_was_corrected_here_stays_while_its_section_says_the_same() {
    let mut desk = NotesBench::new();
    desk.write("a.md", "# Ports\n\nThe api listens on 80.\n");
    desk.import();
    let record = desk.engine.snapshot().records().next().unwrap().unwrap();
    let mut corrected = record.clone().into_new_record();
    corrected.external_ids.clear();
    corrected.supersedes = Some(record.id);
    corrected.text = "a > Ports\n\nThe api listens on 90.".to_owned();
    corrected.details.as_mut().unwrap()["content"] = json!("The api listens on 90.");
    desk.engine.observe(vec![corrected], None, now()).unwrap();
    assert_eq!(desk.import(), (0, 0, vec![], vec![]));
    assert_eq!(desk.live_texts(), ["a > Ports\n\nThe api listens on 90."]);
    desk.write("a.md", "# Ports\n\nThe api listens on 70.\n");
    let (_, replaced, _, refused) = desk.import();
    assert!(
        replaced == 0 && refused[0].contains("conflict"),
        "{refused:?}"
    );
}

#[test]
fn a_secret_in_a_note_makes_no_new_version_each_time() {
    let mut desk = NotesBench::new();
    desk.write("a.md", "# Key\n\nIt is hunter2.\n");
    assert_eq!(desk.import(), (1, 0, vec![], vec![]));
    assert_eq!(desk.import(), (0, 0, vec![], vec![]));
}

#[test]
fn what_is_gone_is_named_once_for_each_record_and_a_note_elsewhere_is_not() {
    let mut desk = NotesBench::new();
    desk.write("a.md", "# One\n\nFirst.\n\n# Two\n\nSecond.\n");
    desk.write("b.md", "# Three\n\nThird.\n");
    desk.import();
    desk.write("a.md", "# One\n\nFirst.\n");
    fs::remove_file(desk.path("b.md")).unwrap();
    let gone = ["a > Two\n\nSecond.", "b > Three\n\nThird."].map(str::to_owned);
    assert_eq!(desk.import(), (0, 0, gone.to_vec(), vec![]));
    // A folder of the same names is another one.
    let other = desk.folder.path().join("other");
    fs::rename(desk.folder.path().join("notes"), &other).unwrap();
    fs::create_dir(desk.folder.path().join("notes")).unwrap();
    let renewal = compare_notes(&desk.engine.snapshot(), read_items(&other), &str::to_owned);
    assert!(
        renewal.missing.is_empty() && renewal.replaced.is_empty(),
        "{renewal:?}"
    );
}

#[test]
fn an_edited_note_of_ours_replaces_its_record_and_goes_round_no_second_time() {
    let mut desk = NotesBench::new();
    let new = |text: &str| NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
    desk.engine
        .observe(vec![new("The api listens on 80.")], None, now())
        .unwrap();
    assert_eq!(desk.write_projection().unwrap().written, 2);
    let note = desk.only_note();
    assert_eq!(desk.import(), (0, 0, vec![], vec![]));
    let edit = |from: &str, to: &str| {
        let text = fs::read_to_string(&note).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(
            &note,
            text.replace(&format!("---\n{from}"), &format!("---\n{to}")),
        )
        .unwrap();
    };
    // Twice before memory writes it anew.
    for to in [
        ("The api listens on 80.", "It listens on 90."),
        ("It listens on 90.", "On 91."),
    ] {
        edit(to.0, to.1);
        assert_eq!(desk.import(), (0, 1, vec![], vec![]), "{to:?}");
        assert_eq!(desk.import(), (0, 0, vec![], vec![]), "{to:?}");
    }
    assert_eq!(desk.live_texts(), ["On 91."]);
    // Memory writes into the same file, once.
    assert_eq!(desk.write_projection().unwrap().written, 2);
    assert_eq!(desk.write_projection().unwrap().written, 0);
    assert_eq!(desk.only_note(), note);
    assert_eq!(desk.import(), (0, 0, vec![], vec![]));

    // Corrected here and edited there: neither is lost.
    let record = desk.engine.snapshot().records().next().unwrap().unwrap();
    let mut corrected = new("On 92.");
    corrected.supersedes = Some(record.id);
    desk.engine.observe(vec![corrected], None, now()).unwrap();
    assert_eq!(
        desk.import(),
        (0, 0, vec![], vec![]),
        "nobody touched the note"
    );
    edit("On 91.", "On 93.");
    let (.., refused) = desk.import();
    assert!(refused[0].contains("conflict"), "{refused:?}");
    assert_eq!(desk.live_texts(), ["On 92."]);
    assert!(desk.write_projection().is_err(), "the edit would be lost");
    assert!(fs::read_to_string(&note).unwrap().contains("On 93."));

    let home = desk.folder.path();
    fs::remove_file(&note).unwrap();
    let gone = find_deleted_notes(&desk.engine.snapshot(), note.parent().unwrap(), home).unwrap();
    assert_eq!(gone.len(), 1);
    let every = ForgetSelector::Id(gone[0].record);
    desk.engine.forget(&every, "gone", now()).unwrap();
    let gone = find_deleted_notes(&desk.engine.snapshot(), note.parent().unwrap(), home).unwrap();
    assert!(gone.is_empty());
}

#[test]
fn a_text_is_cleaned_once_however_many_it_is_compared_with() {
    let mut desk = NotesBench::new();
    let note = |word: &str| -> String {
        let part = |number| format!("# Part {number}\n\nThe {word} of part {number}.\n\n");
        (0..50).map(part).collect()
    };
    desk.write("a.md", &note("first word"));
    desk.import();
    desk.write("a.md", &note("second word"));
    let items = read_items(&desk.folder.path().join("notes"));
    let calls = std::cell::Cell::new(0);
    let clean = |text: &str| {
        calls.set(calls.get() + 1);
        text.to_owned()
    };
    let renewal = compare_notes(&desk.engine.snapshot(), items, &clean);
    assert_eq!(renewal.replaced.len(), 50);
    assert!(calls.get() < 300, "{}", calls.get());
}

#[test]
fn a_moved_note_takes_its_memories_along_and_a_copy_does_not() {
    let mut desk = NotesBench::new();
    desk.write(
        "a.md",
        "# When\n\nDeploy on Thursdays.\n\n# Who\n\nAda does.\n",
    );
    desk.write("b.md", "---\nid: b-7\n---\nBob has the pager.\n");
    assert_eq!(desk.import(), (3, 0, vec![], vec![]));
    fs::rename(desk.path("a.md"), desk.path("c.md")).unwrap();
    fs::copy(desk.path("b.md"), desk.path("copy.md")).unwrap();
    assert_eq!(desk.import(), (1, 2, vec![], vec![]));
    assert!(
        desk.live_texts()[0].starts_with('b'),
        "{:?}",
        desk.live_texts()
    );
    assert!(
        desk.live_texts()
            .iter()
            .any(|text| text.contains("c > When"))
    );
    assert_eq!(desk.import(), (0, 0, vec![], vec![]));
    // Of two notes with one name neither is known by it.
    fs::remove_file(desk.path("b.md")).unwrap();
    fs::remove_file(desk.path("copy.md")).unwrap();
    desk.write("d.md", "---\nid: b-7\n---\nEve has it in winter.\n");
    let (new, replaced, gone, _) = desk.import();
    assert_eq!((new, replaced, gone.len()), (1, 0, 2), "{gone:?}");
    assert_eq!(desk.live_texts().len(), 5);
}
