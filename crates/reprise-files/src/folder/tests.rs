//! Tests of what may be opened, created, read and removed, and what is refused at once.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{FileType, mknodat};
use tempfile::TempDir;

use super::*;

/// Returns a folder with one of everything that is not a regular file of its own, and the folder to
/// which the links lead.
fn folder_with_other_files() -> (TempDir, TempDir) {
    let (own, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("victim"), "theirs").unwrap();
    let at = own.path();
    symlink(outside.path().join("victim"), at.join("link")).unwrap();
    symlink(outside.path(), at.join("linked")).unwrap();
    symlink(outside.path().join("none"), at.join("dangling")).unwrap();
    symlink("/dev/zero", at.join("zero")).unwrap();
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, at.join("pipe"), FileType::Fifo, mode, 0).unwrap();
    std::os::unix::net::UnixListener::bind(at.join("socket")).unwrap();
    fs::create_dir(at.join("folder")).unwrap();
    (own, outside)
}

const OTHERS: [&str; 8] = [
    "link",
    "linked/victim",
    "linked/new",
    "dangling",
    "zero",
    "pipe",
    "socket",
    "folder",
];

#[test]
fn what_is_no_regular_file_of_its_own_is_refused_at_once_and_left_as_it_is() {
    let (own, outside) = folder_with_other_files();
    let folder = Folder::open(own.path()).unwrap();
    for name in OTHERS {
        for access in [
            OpenMode::Read,
            OpenMode::Write,
            OpenMode::Create,
            OpenMode::CreateNew,
            OpenMode::Append,
        ] {
            let error = folder.open_file(name, access).unwrap_err();
            let message = error.to_string();
            assert!(!error.is_missing(), "{name} {access:?}: {message}");
            assert!(message.contains(own.path().to_str().unwrap()), "{message}");
        }
        assert!(folder.read(name, 10).is_err(), "{name}");
        assert!(folder.replace(name, b"x").is_err(), "{name}");
        assert!(folder.append_line(name, b"x").is_err(), "{name}");
    }
    assert!(folder.open_folder("linked").is_err());
    assert!(folder.open_or_create_folder("linked/below").is_err());
    assert!(folder.remove_file("linked/victim").is_err());
    assert!(folder.rename("linked/victim", "taken").is_err());
    assert!(folder.find_status("linked/victim").is_err());
    let left: Vec<_> = fs::read_dir(outside.path()).unwrap().collect();
    assert_eq!(left.len(), 1);
    let victim = fs::read_to_string(outside.path().join("victim"));
    assert_eq!(victim.unwrap(), "theirs");
    assert_eq!(folder.list(100).unwrap().len(), 7, "nothing is left over");
}

#[test]
fn names_that_lead_out_are_refused() {
    let (own, _outside) = folder_with_other_files();
    let folder = Folder::open(own.path()).unwrap();
    for name in ["/etc/passwd", "../x", "folder/../../x", ""] {
        assert!(matches!(folder.read(name, 10), Err(FileError::Name { .. })));
        assert!(matches!(
            folder.remove_file(name),
            Err(FileError::Name { .. })
        ));
        assert!(matches!(
            folder.find_status(name),
            Err(FileError::Name { .. })
        ));
    }
}

#[test]
fn a_file_is_made_read_and_removed_and_nobody_else_may_read_it() {
    let own = tempfile::tempdir().unwrap();
    let folder = Folder::open_or_create(&own.path().join("a/b")).unwrap();
    assert_eq!(folder.read("c/d", 5).unwrap(), None);
    folder.open_or_create_folder("c/e").unwrap();
    folder.replace("c/d", b"12345").unwrap();
    assert_eq!(
        folder.read("c/d", 5).unwrap().as_deref(),
        Some(&b"12345"[..])
    );
    assert!(matches!(
        folder.read("c/d", 4),
        Err(FileError::TooLarge { got: 5, max: 4, .. })
    ));
    let found = folder.find_status("c/d").unwrap().unwrap();
    assert_eq!((found.kind, found.mode), (FileKind::File, 0o600));
    let mode = fs::metadata(own.path().join("a/b")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
    let below = folder.open_folder("c").unwrap();
    let names: Vec<_> = below.list(2).unwrap();
    assert_eq!(names.len(), 2);
    assert!(matches!(below.list(1), Err(FileError::TooMany { .. })));
    assert!(
        folder
            .open_file("c/d", OpenMode::CreateNew)
            .unwrap_err()
            .is_taken()
    );
    assert!(folder.remove_file("c/d").unwrap() && !folder.remove_file("c/d").unwrap());
}

#[test]
fn a_line_that_was_never_finished_is_ended_before_the_next() {
    let own = tempfile::tempdir().unwrap();
    let folder = Folder::open(own.path()).unwrap();
    folder.append_line("log", b"one").unwrap();
    fs::write(own.path().join("log"), "one\ntw").unwrap();
    folder.append_line("log", b"three").unwrap();
    let text = folder.read_text("log", 100).unwrap().unwrap();
    assert_eq!(text, "one\ntw\nthree\n");
}

#[test]
fn a_file_that_the_user_has_chosen_may_be_linked_and_is_still_no_pipe() {
    let (own, _outside) = folder_with_other_files();
    let read = |name: &str| crate::read_if_exists(&own.path().join(name), 10);
    assert_eq!(read("link").unwrap().as_deref(), Some(&b"theirs"[..]));
    assert_eq!(read("none").unwrap(), None);
    assert_eq!(read("dangling").unwrap(), None);
    for name in ["zero", "pipe", "socket", "folder", "linked"] {
        assert!(read(name).is_err(), "{name}");
    }
    for name in ["link", "dangling", "zero", "pipe", "socket", "folder"] {
        for access in [
            OpenMode::Write,
            OpenMode::Create,
            OpenMode::CreateNew,
            OpenMode::Append,
        ] {
            let opened = crate::open_path(&own.path().join(name), access);
            assert!(opened.is_err(), "{name} {access:?}");
        }
    }
}
