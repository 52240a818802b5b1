//! Replacing a file while other writers, killed ones and people write to it.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn names(at: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(at)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_a_killed_writer_left_is_cleared_and_what_others_planted_is_stepped_over() {
    let own = tempfile::tempdir().unwrap();
    let folder = Folder::open(own.path()).unwrap();
    fs::write(own.path().join(".a.unfinished"), "half").unwrap();
    folder.replace("a", b"whole").unwrap();
    assert_eq!(names(own.path()), ["a"]);

    symlink("a", own.path().join(".a.unfinished")).unwrap();
    folder.replace("a", b"again").unwrap();
    assert_eq!(names(own.path()), [".a.unfinished", "a"]);
    assert_eq!(fs::read(own.path().join("a")).unwrap(), b"again");

    for slot in 0..SLOTS_MAX {
        let planted = own.path().join(slot_name("a".as_ref(), slot));
        let _made = fs::create_dir(planted).is_ok();
    }
    let error = folder.replace("a", b"no").unwrap_err();
    assert!(matches!(error, FileError::Busy { .. }), "{error}");
}

#[test]
fn many_writers_at_once_leave_one_whole_file_and_nothing_else() {
    let own = tempfile::tempdir().unwrap();
    std::thread::scope(|threads| {
        for writer in 0..8_u8 {
            let at = own.path();
            threads.spawn(move || {
                let folder = Folder::open(at).unwrap();
                for _ in 0..50 {
                    match folder.replace("file", &[writer; 4_096]) {
                        Ok(()) | Err(FileError::Busy { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                    let read = folder.read("file", 4_096).unwrap().unwrap();
                    assert_eq!(read, [read[0]; 4_096]);
                }
            });
        }
    });
    assert_eq!(names(own.path()), ["file"]);
}

#[test]
fn what_somebody_saved_meanwhile_stays() {
    let own = tempfile::tempdir().unwrap();
    let at = own.path();
    let folder = Folder::open(at).unwrap();
    let stamp = || folder.find_status("theirs").unwrap().unwrap().fingerprint;
    fs::write(at.join("theirs"), "before").unwrap();
    let before = stamp();
    fs::write(at.join("ours"), "new").unwrap();
    // An editor saves by renaming its own file to the name.
    fs::write(at.join("edit"), "edited").unwrap();
    fs::rename(at.join("edit"), at.join("theirs")).unwrap();
    let place = |expected| {
        folder
            .move_if_unchanged("ours", "theirs", expected)
            .unwrap()
    };
    assert_eq!(place(Some(before)), ChangeOutcome::Conflict);
    assert_eq!(place(None), ChangeOutcome::Conflict);
    assert_eq!(
        folder
            .move_aside_if_unchanged("theirs", "gone", before)
            .unwrap(),
        ChangeOutcome::Conflict
    );
    let replaced = folder
        .replace_if_unchanged("theirs", b"new", Some(before))
        .unwrap();
    assert_eq!(replaced, ChangeOutcome::Conflict);
    let replaced = folder.replace_if_unchanged("theirs", b"new", None).unwrap();
    assert_eq!(replaced, ChangeOutcome::Conflict);
    assert_eq!(fs::read_to_string(at.join("theirs")).unwrap(), "edited");
    assert_eq!(names(at), ["ours", "theirs"]);

    assert_eq!(place(Some(stamp())), ChangeOutcome::Applied);
    assert_eq!(fs::read_to_string(at.join("theirs")).unwrap(), "new");
    let replaced = folder
        .replace_if_unchanged("theirs", b"newer", Some(stamp()))
        .unwrap();
    assert_eq!(replaced, ChangeOutcome::Applied);
    assert_eq!(fs::read_to_string(at.join("theirs")).unwrap(), "newer");
    let replaced = folder
        .replace_if_unchanged("fresh", b"newer", None)
        .unwrap();
    assert_eq!((replaced, names(at).len()), (ChangeOutcome::Applied, 3));
    let removed = folder.remove_if_unchanged("fresh", stamp()).unwrap();
    assert_eq!((removed, names(at).len()), (ChangeOutcome::Conflict, 3));
    let fresh = folder.find_status("fresh").unwrap().unwrap().fingerprint;
    fs::write(at.join("other"), "x").unwrap();
    let other = folder.find_status("other").unwrap().unwrap().fingerprint;
    assert_eq!(
        folder.remove_if_unchanged("fresh", other).unwrap(),
        ChangeOutcome::Conflict
    );
    assert_eq!(
        folder.remove_if_unchanged("other", other).unwrap(),
        ChangeOutcome::Applied
    );
    assert_eq!(
        (fresh, names(at).len()),
        (folder.find_status("fresh").unwrap().unwrap().fingerprint, 3)
    );
    symlink("fresh", at.join("link")).unwrap();
    let linked = folder.find_status("fresh").unwrap().unwrap().fingerprint;
    let replaced = folder
        .replace_if_unchanged("link", b"x", Some(linked))
        .unwrap();
    assert_eq!((replaced, names(at).len()), (ChangeOutcome::Conflict, 4));
}
