//! Tests of mem0, claude-mem, Markdown, instructions and git, with files of the original programs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use git2::{Repository, Signature};
use rusqlite::Connection;
use serde_json::Value;

use super::super::testing::{fixture, read_all};
use super::super::*;
use super::write_file;

/// A database from the dump of one.
fn database(folder: &Path, name: &str, dump: &str) -> PathBuf {
    let file = folder.join(name);
    let sql = fs_err::read_to_string(fixture(dump)).unwrap();
    Connection::open(&file)
        .unwrap()
        .execute_batch(&sql)
        .unwrap();
    file
}

#[test]
fn memories_of_mem0_come_in_and_its_history_adds_what_was_before() {
    let file = fixture("mem0/get_all.json");
    assert_eq!(recognise(&file).unwrap(), ImportKind::Mem0);
    let found = read_all(&file, ImportKind::Mem0);
    assert_eq!((found.records.len(), found.refused.len()), (4, 0));
    let tabs = &found.records[1];
    assert_eq!(tabs.text, "Ada prefers tabs over spaces in Go");
    assert_eq!(tabs.tags, ["preferences"]);
    assert_eq!(tabs.source.name(), "user_input");
    assert_eq!(tabs.details.as_ref().unwrap()["user_id"], "ada");
    assert_eq!(found.records[0].source.name(), "worker_result");
    assert_eq!(found.records[0].session_id, "run-7");
    assert_eq!(
        found.records[2].provenance.actor_id.as_deref(),
        Some("shipper")
    );

    let folder = tempfile::tempdir().unwrap();
    database(folder.path(), "history.db", "mem0/history.sql");
    assert_eq!(recognise(folder.path()).unwrap(), ImportKind::Mem0);
    let history = read_all(folder.path(), ImportKind::Mem0);
    let names = |all: &super::ReadSource| {
        let mut names: Vec<String> = all
            .records
            .iter()
            .map(|record| record.external_ids[0].id.clone())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&history), names(&found), "both name a memory alike");
    let moved = history
        .records
        .iter()
        .find(|record| record.text.ends_with("Thursdays"))
        .unwrap();
    let earlier = &moved.details.as_ref().unwrap()["earlier"];
    assert_eq!(
        earlier[0]["memory"],
        "The release branch is cut on Tuesdays"
    );
    // A deletion takes back one row; so does the change.
    assert_eq!(history.repeated, 2);
    assert_eq!(history.refused.len(), 1);
    assert!(
        history.refused[0].1.contains("deleted"),
        "{:?}",
        history.refused
    );
}

#[test]
fn a_cut_answer_of_mem0_is_one_sentence_and_a_full_page_is_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs_err::read_to_string(fixture("mem0/get_all.json")).unwrap();
    write_file(folder.path(), "cut.json", &whole[..whole.len() / 2]);
    let found = read_all(&folder.path().join("cut.json"), ImportKind::Mem0);
    assert_eq!((found.records.len(), found.refused.len()), (0, 1));
    assert!(found.refused[0].1.contains("cut"), "{:?}", found.refused);
    let lines: Vec<String> = (0..20)
        .map(|at| format!(r#"{{"id":"m{at}","memory":"x {at}","user_id":"a"}}"#))
        .collect();
    write_file(folder.path(), "page.jsonl", lines.join("\n"));
    let file = folder.path().join("page.jsonl");
    assert_eq!(recognise(&file).unwrap(), ImportKind::Mem0);
    let found = read_all(&file, ImportKind::Mem0);
    assert_eq!(found.records.len(), 20);
    assert!(found.refused[0].1.contains("top_k"), "{:?}", found.refused);
    let bad = r#"{"memory":"no id","user_id":"a"}
{"id":"a","user_id":"a"}
{"id":"b","text":"gone","state":"deleted","user_id":"a"}
{"id":"c","text":"kept","user_id":"a","categories":["work",7],"expiration_date":"2027-01-01"}"#;
    write_file(folder.path(), "bad.jsonl", bad);
    let found = read_all(&folder.path().join("bad.jsonl"), ImportKind::Mem0);
    assert_eq!((found.records.len(), found.refused.len()), (1, 3));
    assert_eq!(found.records[0].tags, ["work"]);
    assert_eq!(found.records[0].metadata["expires_at"], "2027-01-01");
}

#[test]
fn claude_mems_sessions_come_in_under_the_hosts_name() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path(), "claude-mem.db", "claude_mem/claude-mem.sql");
    assert_eq!(recognise(folder.path()).unwrap(), ImportKind::ClaudeMem);
    let found = read_all(folder.path(), ImportKind::ClaudeMem);
    let texts: Vec<&str> = found
        .records
        .iter()
        .map(|record| record.text.as_str())
        .collect();
    assert_eq!(texts[0], "Why does checkout time out?");
    assert_eq!(
        texts[2],
        "Connection pool was exhausted\nTen connections for fifty workers\nCheckout timed out \
         because the pool in db/pool.rs held ten connections.\n- The pool held 10 connections\n- \
         Fifty workers asked for one each"
    );
    assert!(
        texts[4].starts_with("Request: Why does checkout"),
        "{texts:?}"
    );
    assert!(
        found
            .records
            .iter()
            .all(|record| record.session_id == "8f3c-host-session")
    );
    assert!(
        found
            .records
            .iter()
            .all(|record| record.tags.contains(&"project:shop-api".into()))
    );
    let observed = &found.records[2];
    assert_eq!(
        observed.tags,
        ["bugfix", "problem-solution", "gotcha", "project:shop-api"]
    );
    assert_eq!(
        observed.provenance.source_refs,
        ["src/db/pool.rs", "config/prod.toml"]
    );
    let at = observed.timestamp.unwrap().to_rfc3339();
    assert_eq!(at, "2026-03-04T05:06:07+00:00");
    assert_eq!((found.records.len(), found.refused.len()), (5, 1));
    assert!(
        found.refused[0].1.contains("observer"),
        "{:?}",
        found.refused
    );
}

#[test]
fn an_early_database_of_claude_mem_comes_in_by_the_columns_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claude-mem.db");
    Connection::open(&file)
        .unwrap()
        .execute_batch(
            "CREATE TABLE sdk_sessions(id INTEGER, claude_session_id TEXT, sdk_session_id TEXT,
                 project TEXT);
             CREATE TABLE observations(id INTEGER, sdk_session_id TEXT, project TEXT, text TEXT,
                 type TEXT, facts TEXT, created_at TEXT);
             INSERT INTO sdk_sessions VALUES(1,'host','sdk','p');
             INSERT INTO observations VALUES(1,'sdk','p','Old words','change','bare','2025-10-01'),
                 (2,'gone','p',NULL,'change',NULL,'soon');",
        )
        .unwrap();
    let found = read_all(&file, ImportKind::ClaudeMem);
    assert_eq!((found.records.len(), found.refused.len()), (1, 1));
    assert_eq!(found.records[0].text, "Old words\n- bare");
    assert_eq!(found.records[0].session_id, "host");
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "what basic-memory says of three notes, one after the other"
)]
fn basic_memorys_notes_are_read_as_it_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "Coffee Brewing Methods.md",
        "design/Search Design.md",
        "design/Storage.md",
    ] {
        let text = fs_err::read(fixture("basic_memory").join(name)).unwrap();
        write_file(folder.path(), name, text);
    }
    write_file(folder.path(), "empty.md", "");
    write_file(folder.path(), "latin.md", b"bad \xff byte\n");
    write_file(folder.path(), ".obsidian/hidden.md", "not ours");
    assert_eq!(recognise(folder.path()).unwrap(), ImportKind::Markdown);
    let found = read_all(folder.path(), ImportKind::Markdown);
    let expected = fs_err::read_to_string(fixture("basic_memory/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    for (path, note) in expected.as_object().unwrap() {
        let own = found
            .records
            .iter()
            .filter(|record| record.provenance.source_refs == [path.as_str()]);
        let own: Vec<_> = own.collect();
        assert_eq!(
            own[0].details.as_ref().unwrap()["title"],
            note["title"],
            "{path}"
        );
        for observation in note["observations"].as_array().unwrap() {
            let said = observation["content"].as_str().unwrap();
            let same = |details: &Value| {
                // basic-memory drops what comes after the first line of an item; we do not.
                details["content"]
                    .as_str()
                    .is_some_and(|content| content.starts_with(said))
                    && details["category"] == observation["category"]
                    && details["context"] == observation["context"]
            };
            let of_item = own
                .iter()
                .any(|record| same(record.details.as_ref().unwrap()));
            // A paragraph with a `#word` stays in its section, which has the tag.
            let of_text = own.iter().any(|record| record.text.contains(said));
            assert!(
                of_item || of_text && observation["category"].is_null(),
                "{path}: {said}"
            );
        }
    }
    let links: Vec<(&str, &str, &str)> = found
        .links
        .iter()
        .filter(|link| !["observes", "part_of"].contains(&link.relation.as_str()))
        .map(|link| {
            (
                link.from.id.as_str(),
                link.relation.as_str(),
                link.to.id.as_str(),
            )
        })
        .map(|(from, relation, to)| {
            (
                from.split('#').next().unwrap(),
                relation,
                to.split('#').next().unwrap(),
            )
        })
        .collect();
    let (coffee, search) = ("Coffee Brewing Methods.md", "design/Search Design.md");
    assert_eq!(
        links,
        [
            (coffee, "links_to", search),
            (search, "implements", coffee),
            (search, "depends on", "design/Storage.md"),
            (search, "links_to", coffee),
        ]
    );
    let first = found
        .records
        .iter()
        .find(|record| record.text.contains("one snapshot"))
        .unwrap();
    assert_eq!(first.tags, ["search", "ranking", "architecture"]);
    assert_eq!(first.details.as_ref().unwrap()["front"]["owner"], "Ada");
    assert_eq!(
        first.timestamp.unwrap().to_rfc3339(),
        "2026-02-03T09:20:00+00:00"
    );
    let coffee: Vec<_> = found
        .records
        .iter()
        .filter(|record| record.text.starts_with("Coffee"))
        .collect();
    assert_eq!(
        coffee[0].timestamp.unwrap().to_rfc3339(),
        "2026-01-06T09:30:00+00:00"
    );
    let whys: Vec<&str> = found.refused.iter().map(|(_, why)| why.as_str()).collect();
    assert_eq!(whys, ["the note is empty", "byte 5 is not UTF-8"]);
}

#[test]
fn instructions_of_a_project_come_in_with_what_they_import() {
    let folder = tempfile::tempdir().unwrap();
    write_file(
        folder.path(),
        "CLAUDE.md",
        "# Rules\n\nRead @docs/style.md and @~/.claude/mine.md.\n\n```\n@docs/code.md\n```\n",
    );
    write_file(folder.path(), "docs/style.md", "Short words.\n");
    write_file(folder.path(), "docs/code.md", "Not imported.\n");
    write_file(folder.path(), ".claude/rules/tests.md", "Red first.\n");
    write_file(
        folder.path(),
        "memory-bank/progress.md",
        "## Done\n\nThe login.\n",
    );
    write_file(
        folder.path(),
        ".cursor/rules/db.mdc",
        "---\nglobs: *.sql\n---\nNo selects of stars.\n",
    );
    assert_eq!(
        recognise_all(folder.path()).unwrap(),
        [ImportKind::Instructions, ImportKind::Markdown]
    );
    let found = read_all(folder.path(), ImportKind::Instructions);
    let mut texts: Vec<&str> = found
        .records
        .iter()
        .map(|record| record.text.as_str())
        .collect();
    texts.sort_unstable();
    let short: Vec<&str> = texts
        .iter()
        .map(|text| text.lines().next().unwrap())
        .collect();
    assert_eq!(
        short,
        [
            "CLAUDE > Rules",
            "db",
            "db",
            "progress > Done",
            "style",
            "tests"
        ]
    );
    assert!(
        found
            .records
            .iter()
            .all(|record| record.tags.contains(&"instructions".to_owned()))
    );
    assert_eq!(found.refused.len(), 1);
    assert!(
        found.refused[0].1.contains("~/.claude/mine.md"),
        "{:?}",
        found.refused
    );
    let file = folder.path().join("CLAUDE.md");
    assert_eq!(recognise(&file).unwrap(), ImportKind::Instructions);
    assert_eq!(read_all(&file, ImportKind::Instructions).records.len(), 2);
}

#[test]
fn a_changed_section_comes_in_again_and_the_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let names = || {
        let found = read_all(folder.path(), ImportKind::Markdown);
        let names = found
            .records
            .into_iter()
            .map(|record| record.external_ids[0].clone());
        names.collect::<Vec<_>>()
    };
    write_file(folder.path(), "a.md", "# One\n\nfirst\n\n# Two\n\nsecond\n");
    let before = names();
    write_file(
        folder.path(),
        "a.md",
        "# New\n\nzero\n\n# One\n\nfirst\n\n# Two\n\nchanged\n",
    );
    let after = names();
    assert!(
        after.contains(&before[0]) && !after.contains(&before[1]),
        "{before:?} {after:?}"
    );
}

#[test]
fn a_history_comes_in_with_authors_files_and_what_was_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::init(folder.path()).unwrap();
    repository
        .remote("origin", "git@example.com:acme/api.git")
        .unwrap();
    let mut last = None;
    let mut commit = |words: &str, file: &str, text: &str| {
        write_file(folder.path(), file, text);
        let mut index = repository.index().unwrap();
        index.add_path(Path::new(file)).unwrap();
        let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
        let author = Signature::new(
            "Ada",
            "ada@example.com",
            &git2::Time::new(1_760_000_000, 60),
        );
        let author = author.unwrap();
        let parent = last.map(|id| repository.find_commit(id).unwrap());
        let parents: Vec<_> = parent.iter().collect();
        let id = repository.commit(Some("HEAD"), &author, &author, words, &tree, &parents);
        last = Some(id.unwrap());
        last.unwrap()
    };
    let first = commit("Open the pool\n\nTen were too few.", "src/pool.rs", "1");
    commit("", "src/other.rs", "2");
    let taken = format!("Revert \"Open the pool\"\n\nThis reverts commit {first}.");
    commit(&taken, "src/pool.rs", "0");
    assert_eq!(recognise(folder.path()).unwrap(), ImportKind::Git);
    let found = read_all(folder.path(), ImportKind::Git);
    assert_eq!(
        (found.records.len(), found.refused.len(), found.links.len()),
        (2, 1, 1)
    );
    let opened = &found.records[0];
    assert_eq!(opened.text, "Open the pool\n\nTen were too few.");
    assert_eq!(opened.external_ids[0].id, first.to_string());
    assert_eq!(opened.provenance.actor_id.as_deref(), Some("Ada"));
    assert_eq!(opened.provenance.source_refs, ["src/pool.rs"]);
    assert_eq!(opened.tags, ["commit", "project:example.com/acme/api"]);
    assert_eq!(opened.timestamp.unwrap().timestamp(), 1_760_000_000);
    assert_eq!(
        found.records[1].details.as_ref().unwrap()["files"][0]["change"],
        "modified"
    );
    assert_eq!(found.links[0].relation, "reverts");
    let error = read_source(
        &fixture("mem0"),
        ImportKind::Git,
        Zone::default(),
        &mut |_| true,
    );
    assert!(error.unwrap_err().to_string().contains("git fsck"));
    let empty = tempfile::tempdir().unwrap();
    Repository::init(empty.path()).unwrap();
    assert!(read_all(empty.path(), ImportKind::Git).records.is_empty());
}

#[test]
fn a_signed_history_comes_in_without_a_program_that_the_repository_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let repository = Repository::init(at("api")).unwrap();
    let (program, started) = (at("gpg.sh"), at("started"));
    let script = format!("#!/bin/sh\ntouch '{}'\n", started.display());
    fs_err::write(&program, script).unwrap();
    fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = repository.config().unwrap();
    let program = program.to_str().unwrap();
    for (key, value) in [
        ("gpg.program", program),
        ("core.fsmonitor", program),
        ("log.showSignature", "true"),
    ] {
        config.set_str(key, value).unwrap();
    }
    let author = Signature::now("Ada", "ada@example.com").unwrap();
    let tree = repository.treebuilder(None).unwrap().write().unwrap();
    let tree = repository.find_tree(tree).unwrap();
    let commit = repository.commit_create_buffer(&author, &author, "Open the pool", &tree, &[]);
    let commit = commit.unwrap();
    let seal = "-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n";
    let id = repository.commit_signed(commit.as_str().unwrap(), seal, None);
    repository.set_head_detached(id.unwrap()).unwrap();
    let found = read_all(&at("api"), ImportKind::Git);
    assert_eq!(found.records[0].text, "Open the pool");
    assert!(!started.exists());
}
