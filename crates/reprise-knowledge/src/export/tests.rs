//! Each form written, and read back by the reader that takes it.

use reprise_types::{Evidence, ExternalId, MemoryKind, MemoryRecord, MemorySource, NewRecord};
use serde_json::{Value, json};

use super::*;
use crate::archive::{Archive, ArchiveSection};
use crate::import::testing::{ReadSource, read_all};
use crate::import::{ImportKind, read_archive, recognise};
use crate::lesson::LessonDetails;
use crate::record_for_tests::record_from_new;
use crate::sunwell::{SunwellDecision, SunwellFailure};

fn outgoing_records() -> Vec<OutgoingRecord> {
    let mut lesson = NewRecord::new("", MemorySource::UserInput, MemoryKind::Finding);
    let details = LessonDetails {
        title: "Jira transitions".to_owned(),
        content: "Ask for them first".to_owned(),
        contexts: vec!["cloud".to_owned()],
        anti_contexts: vec!["server".to_owned()],
        ..LessonDetails::default()
    };
    lesson.text = details.to_text();
    lesson.details = Some(details.to_details());
    lesson.tags = vec!["api".to_owned(), "jira".to_owned()];
    lesson.confidence = Some(0.9);
    lesson.evidence = Some(Evidence::Tested);
    lesson.external_ids = vec![ExternalId::new(ExternalId::AI_LESSONS, "L1")];
    let at = DateTime::from_timestamp(1_768_000_000, 0).unwrap();
    let plain = "  First line\n---\n# No heading: [really\n\nand the end\n";
    let mut plain = NewRecord::new(plain, MemorySource::WorkerResult, MemoryKind::Episode);
    plain.session_id = "s".to_owned();
    plain.metadata.insert("n".to_owned(), json!(1.5));
    let records = [
        lesson,
        SunwellDecision::new("Use SQLite", "One file", at).to_record(),
        SunwellFailure::new("Leaks", "Unbounded cache", at).to_record(),
        plain,
    ];
    let records = (1..)
        .zip(records)
        .map(|(number, new)| record_from_new(new, number));
    let records: Vec<MemoryRecord> = records.collect();
    let count = records.len() as u64;
    let links = [
        vec![(records[3].id, "because_of".to_owned())],
        vec![],
        vec![],
        vec![],
    ];
    let line = |record: &MemoryRecord| {
        let mut line = json!(record);
        for name in ["embedding", "embedding_space", "content_hash"] {
            line.as_object_mut().unwrap().remove(name);
        }
        line
    };
    let told = records
        .iter()
        .zip(links)
        .enumerate()
        .map(|(at, (record, links))| {
            let mut line = line(record);
            if at as u64 + 1 == count {
                line["archive"] = json!(ArchiveSection::for_last_line(count));
            }
            let vector = (at != 1).then(|| vec![0.6, 0.8]);
            OutgoingRecord {
                record: record.clone(),
                line,
                links,
                first: None,
                vector,
            }
        });
    told.collect()
}

fn write_and_read(
    kind: impl Into<Option<ProjectionKind>>,
    name: &str,
) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    write_export(kind.into(), &path, outgoing_records()[..].into()).unwrap();
    (folder, path)
}

fn read_back(path: &Path, kind: ImportKind) -> ReadSource {
    assert_eq!(recognise(path).unwrap(), kind, "it is known by its looks");
    let found = read_all(path, kind);
    assert!(found.refused.is_empty(), "{:?}", found.refused);
    found
}

#[test]
fn notes_hold_every_field_and_every_link() {
    let (_folder, path) = write_and_read(ProjectionKind::Markdown, "notes");
    let found = read_back(&path, ImportKind::Markdown);
    assert_eq!((found.records.len(), found.links.len()), (4, 1));
    for one in outgoing_records() {
        let own = ExternalId::new(ExternalId::REPRISE, one.record.id.to_string());
        let mut record = one.record.into_new_record();
        record.external_ids.push(own.clone());
        let same = found
            .records
            .iter()
            .find(|found| found.external_ids.contains(&own));
        assert_eq!(same, Some(&record));
    }
    assert_eq!(found.links[0].relation, "because_of");
}

#[test]
fn a_stock_file_is_a_whole_export_with_vectors() {
    let (_folder, path) = write_and_read(None::<ProjectionKind>, "memory.rvf");
    let archive = read_archive(&path).unwrap();
    let told = outgoing_records();
    let lines: Vec<_> = told.iter().map(|one| one.line.clone()).collect();
    let expected = Archive::from_lines(lines).unwrap();
    assert_eq!(
        (archive.log, archive.live_records),
        (expected.log, expected.live_records)
    );
    assert_eq!(recognise(&path).unwrap(), ImportKind::Reprise);
    let store = rvf_runtime::RvfStore::open_readonly(&path).unwrap();
    assert_eq!(store.iter_vectors().count(), 3);
    // Read as anybody's file it gives its texts.
    let found = read_all(&path, ImportKind::Rvf);
    assert_eq!(found.records.len(), 3);
    assert_eq!(found.records[0].text, told[0].record.text);
    let whole = fs_err::read(&path).unwrap();
    fs_err::write(&path, &whole[..whole.len() / 2]).unwrap();
    let cut = read_archive(&path).map(|archive| archive.live_records.len());
    assert!(
        cut.unwrap_err()
            .to_string()
            .contains("make the export again")
    );
}

const OF_OTHERS: [(ProjectionKind, ImportKind, &str); 3] = [
    (ProjectionKind::Sunwell, ImportKind::Sunwell, "project"),
    (
        ProjectionKind::AiLessons,
        ImportKind::AiLessons,
        "knowledge.db",
    ),
    (ProjectionKind::Frames, ImportKind::Frames, "frames.jsonl"),
];

#[test]
fn what_a_form_has_no_place_for_comes_back_from_a_corner_of_it() {
    for (kind, from, name) in OF_OTHERS {
        let (_folder, path) = write_and_read(kind, name);
        let found = read_back(&path, from);
        let told = outgoing_records();
        assert_eq!(found.links.len(), 1, "{kind:?}");
        let named =
            |at: usize| ExternalId::new(ExternalId::REPRISE, told[at].record.id.to_string());
        let link = &found.links[0];
        let ends = (&link.from, &link.to, link.relation.as_str());
        assert_eq!(ends, (&named(0), &named(3), "because_of"), "{kind:?}");
        for (at, one) in told.iter().enumerate() {
            let mut record = one.record.clone().into_new_record();
            record.external_ids.push(named(at));
            let same = found
                .records
                .iter()
                .find(|found| found.external_ids.contains(&named(at)));
            assert_eq!(same, Some(&record), "{kind:?}");
        }
    }
}

#[test]
fn what_was_changed_in_another_program_is_taken_from_there() {
    for (kind, from, name) in OF_OTHERS {
        let (_folder, path) = write_and_read(kind, name);
        let change = |file: &Path| {
            let text = fs_err::read_to_string(file).unwrap();
            // The first is what that program reads, the second our own.
            let changed = text.replacen("and the end", "and another end", 1);
            assert_ne!(text, changed);
            fs_err::write(file, changed).unwrap();
        };
        match kind {
            ProjectionKind::Sunwell => change(&path.join(".sunwell/memory/learnings.jsonl")),
            ProjectionKind::Frames => change(&path),
            _ => {
                let database = rusqlite::Connection::open(&path).unwrap();
                let update =
                    "UPDATE lessons SET content = replace(content, 'the end', 'another end')";
                database.execute(update, []).unwrap();
            }
        }
        let found = read_back(&path, from);
        let texts: Vec<&str> = found
            .records
            .iter()
            .map(|record| record.text.as_str())
            .collect();
        let changed = texts
            .iter()
            .filter(|text| text.contains("and another end"))
            .count();
        assert_eq!(
            (texts.len(), changed),
            (4 + usize::from(kind == ProjectionKind::Sunwell) * 2, 1),
            "{texts:?}"
        );
        assert!(
            !json!(found.records[0].metadata)
                .to_string()
                .contains("reprise")
        );
        assert_links_are_complete(&found, kind);
    }
}

/// Every link leads from a record that is there to one that is.
fn assert_links_are_complete(found: &ReadSource, kind: ProjectionKind) {
    let names = found.records.iter().flat_map(|record| &record.external_ids);
    let names: Vec<&ExternalId> = names.collect();
    assert!(!found.links.is_empty(), "{kind:?}");
    for link in &found.links {
        let ends = [&link.from, &link.to];
        assert!(
            ends.iter().all(|end| names.contains(end)),
            "{kind:?}: {link:?}"
        );
    }
}

#[test]
fn what_was_changed_leads_to_what_was_not() {
    for (kind, from, name) in [OF_OTHERS[1], OF_OTHERS[2]] {
        let (_folder, path) = write_and_read(kind, name);
        if kind == ProjectionKind::Frames {
            let text = fs_err::read_to_string(&path).unwrap();
            let changed = text.replacen("Ask for them first", "Ask for them last", 1);
            fs_err::write(&path, changed).unwrap();
        } else {
            let database = rusqlite::Connection::open(&path).unwrap();
            let update = "UPDATE lessons SET content = 'Ask for them last' WHERE id = 'L1'";
            assert_eq!(database.execute(update, []).unwrap(), 1);
        }
        assert_links_are_complete(&read_back(&path, from), kind);
    }
    // What a decision takes the place of may have no name of Sunwell's.
    let at = DateTime::from_timestamp(1_768_000_000, 0).unwrap();
    let older = SunwellDecision::new("Use SQLite", "One file", at);
    let mut newer = SunwellDecision::new("Use RVF", "One file", at);
    newer.supersedes = Some(older.id.clone());
    let mut told = outgoing_records();
    for (one, decision) in told.iter_mut().zip([older, newer]) {
        one.record = record_from_new(decision.to_record(), 1);
        one.record.external_ids.clear();
        one.links.clear();
    }
    told.truncate(2);
    told[1].record.id = RecordId::from_u128(7);
    for one in &mut told {
        one.line = json!(one.record);
        for name in ["embedding", "embedding_space", "content_hash"] {
            one.line.as_object_mut().unwrap().remove(name);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("project");
    write_export(Some(ProjectionKind::Sunwell), &path, told[..].into()).unwrap();
    let lines = path.join(".sunwell/memory/decisions.jsonl");
    let mut said: Vec<String> = fs_err::read_to_string(&lines)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    let newest = said.last_mut().unwrap();
    *newest = newest.replacen("One file", "Two files", 1);
    fs_err::write(&lines, said.join("\n")).unwrap();
    assert_links_are_complete(
        &read_back(&path, ImportKind::Sunwell),
        ProjectionKind::Sunwell,
    );
}

#[test]
fn ai_lessons_gets_a_database_of_its_last_schema() {
    let (_folder, path) = write_and_read(ProjectionKind::AiLessons, "knowledge.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute("DROP TABLE reprise", []).unwrap();
    drop(database);
    let found = read_back(&path, ImportKind::AiLessons);
    let told = outgoing_records();
    assert_eq!((found.records.len(), found.links.len()), (4, 1));
    let (lesson, was) = (&found.records[0], &told[0].record);
    assert_eq!(lesson.external_ids, was.external_ids);
    assert_eq!((&lesson.text, &lesson.tags), (&was.text, &was.tags));
    // There is no column for what something is: a tag says it, and means the same on the way back.
    let typed = |at: usize| {
        let record = &found.records[at];
        let tags = record.tags.iter().filter(|tag| tag.starts_with("type:"));
        (record.kind, tags.cloned().collect::<Vec<_>>())
    };
    for (at, kind, tags) in [
        (0, MemoryKind::Finding, &[][..]),
        (1, MemoryKind::Strategy, &["type:decision"]),
        (2, MemoryKind::Episode, &["type:failure"]),
        (3, MemoryKind::Episode, &["type:episode"]),
    ] {
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        assert_eq!(typed(at), (kind, tags), "{at}");
    }
    assert_eq!(
        (lesson.confidence, lesson.evidence),
        (was.confidence, was.evidence)
    );
    let contexts = |details: &Option<Value>| details.as_ref().unwrap()["anti_contexts"].clone();
    assert_eq!(contexts(&lesson.details), contexts(&was.details));
    // It had no title: the one that the table needs is not taken for its own.
    assert_eq!(found.records[3].text, told[3].record.text.trim_end());
    assert_eq!(found.records[3].details.as_ref().unwrap()["title"], "");
}

#[test]
fn nothing_is_written_over() {
    let (_folder, path) = write_and_read(ProjectionKind::Frames, "frames.jsonl");
    assert!(
        write_export(
            Some(ProjectionKind::Frames),
            &path,
            outgoing_records()[..].into()
        )
        .is_err()
    );
}
