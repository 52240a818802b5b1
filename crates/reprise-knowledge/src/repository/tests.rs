//! What a clone may hold where lessons are looked for.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::record_for_tests::record_from_new;

fn clean_secret(text: &str) -> (String, Vec<String>) {
    let is_there = text.contains("hunter2");
    let rules = is_there
        .then(|| "password".to_owned())
        .into_iter()
        .collect();
    (text.replace("hunter2", "[redacted:password]"), rules)
}

fn make_checkout() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(SHARED_FOLDER);
    fs::create_dir_all(&folder).unwrap();
    (root, folder)
}

fn read_lessons(root: &Path) -> SharedLessons {
    read_shared_lessons(root, "github.com/acme/api", &clean_secret).unwrap()
}

#[test]
fn a_lesson_says_its_title_text_and_plain_tags_and_nothing_else_of_its_head() {
    let (root, folder) = make_checkout();
    let note = "---\ntype: Lesson\ntitle: Deploy day\ntags: [Ops, 'project:evil', sensitive]\n\
        confidence: 1.0\nreprise: {id: x, quality_score: 1}\n---\nDeploy on Thursdays.\n";
    fs::write(folder.join("deploy.md"), note).unwrap();
    fs::write(folder.join("index.md"), "# List\n").unwrap();
    fs::write(folder.join("empty.md"), "---\ntitle: x\n---\n").unwrap();
    let shared = read_lessons(root.path());
    let [lesson] = shared.lessons.as_slice() else {
        panic!("one lesson: {shared:?}");
    };
    assert_eq!(lesson.text, "Deploy day\n\nDeploy on Thursdays.");
    assert_eq!(
        lesson.tags,
        ["ops", "sensitive", "project:github.com/acme/api"]
    );
    assert_eq!(lesson.provenance.source_refs, [".reprise/shared/deploy.md"]);
    assert_eq!(lesson.confidence, None);
    assert!(shared.problems[0].contains("empty.md"), "{shared:?}");
    // The same file has the same name, another text another one.
    let before = lesson.external_ids.clone();
    assert_eq!(read_lessons(root.path()).lessons[0].external_ids, before);
    fs::write(folder.join("deploy.md"), "Deploy on Mondays.").unwrap();
    assert_ne!(read_lessons(root.path()).lessons[0].external_ids, before);
}

#[test]
fn what_a_clone_may_hold_is_bounded_and_told() {
    let (root, folder) = make_checkout();
    let outside = root.path().join("secret.md");
    fs::write(&outside, "not of the repository").unwrap();
    symlink(&outside, folder.join("link.md")).unwrap();
    fs::write(folder.join("huge.md"), "x".repeat(70_000)).unwrap();
    fs::write(folder.join("binary.md"), b"\xff\xfe\x00").unwrap();
    let bomb = format!(
        "---\na: &a [{}]\nb: [*a, *a]\n---\nStill a text.\n",
        "x, ".repeat(50)
    );
    fs::write(folder.join("odd.md"), bomb).unwrap();
    fs::write(
        folder.join("key.md"),
        "The password\nis hunter2\nand stays.\n",
    )
    .unwrap();
    let shared = read_lessons(root.path());
    let texts: Vec<&str> = shared.lessons.iter().map(|one| one.text.as_str()).collect();
    assert!(texts.contains(&"The password\nand stays."), "{texts:?}");
    assert!(
        texts.iter().any(|text| text.ends_with("Still a text.")),
        "{texts:?}"
    );
    assert_eq!(texts.len(), 2, "{texts:?}");
    for (file, word) in [
        ("link.md", "symbolic link"),
        ("huge.md", "huge.md"),
        ("binary.md", "binary.md"),
        ("key.md", "password"),
    ] {
        let told = shared.problems.iter().find(|told| told.contains(file));
        assert!(told.is_some_and(|told| told.contains(word)), "{shared:?}");
    }
    assert!(!format!("{shared:?}").contains("hunter2"));

    // The folder itself may lead elsewhere.
    let (elsewhere, _) = make_checkout();
    let other = tempfile::tempdir().unwrap();
    symlink(
        elsewhere.path().join(".reprise"),
        other.path().join(".reprise"),
    )
    .unwrap();
    assert!(read_shared_state(other.path()).is_err());
    assert!(
        read_shared_state(&root.path().join("nowhere"))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_record_is_shared_once_and_never_over_what_somebody_changed() {
    let root = tempfile::tempdir().unwrap();
    let record = |text: &str, tag: &str| {
        let mut new = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
        new.tags = vec!["ops".to_owned(), "project:shop".to_owned(), tag.to_owned()];
        record_from_new(new, 1)
    };
    let deploy = record("Deploy on Thursdays.", "ci");
    let path = write_shared_lesson(root.path(), &deploy, &clean_secret).unwrap();
    assert_eq!(path, Path::new(".reprise/shared/deploy-on-thursdays.md"));
    assert_eq!(
        write_shared_lesson(root.path(), &deploy, &clean_secret).unwrap(),
        path
    );
    let written = fs::read_to_string(root.path().join(&path)).unwrap();
    assert!(!written.contains(&deploy.id.to_string()) && !written.contains("project:"));
    let shared = read_lessons(root.path());
    assert_eq!(shared.lessons[0].text, "Deploy on Thursdays.");
    assert_eq!(
        shared.lessons[0].tags,
        ["ops", "ci", "project:github.com/acme/api"]
    );
    fs::write(root.path().join(&path), "Deploy never.").unwrap();
    let refused = write_shared_lesson(root.path(), &deploy, &clean_secret).unwrap_err();
    assert!(refused.to_string().contains("stays as it is"), "{refused}");
    for (record, word) in [
        (record("It is hunter2.", "ci"), "password"),
        (record("Between us.", "sensitive"), "sensitive"),
    ] {
        let refused = write_shared_lesson(root.path(), &record, &clean_secret).unwrap_err();
        assert!(refused.to_string().contains(word), "{refused}");
    }
}
