//! Real files; the order does not depend on the file system.

use super::search_files;

#[test]
fn the_line_with_the_most_words_comes_first_and_hidden_things_stay_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &[u8]| {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write(
        "b/auth.rs",
        b"fn login() {}\n// the Auth mutex of the session\n",
    );
    write("a.md", b"about the auth module\n");
    write(".git/auth", b"auth mutex session\n");
    write("target/auth.rs", b"auth mutex session\n");
    write("research/old.md", b"auth mutex session\n");
    write("image", b"auth\0mutex session\n");
    let words = ["auth", "mutex", "session"].map(str::to_owned);
    let found = search_files(folder.path(), &words, |_| 0.0);
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "b/auth.rs:2: // the Auth mutex of the session",
            "a.md:1: about the auth module"
        ]
    );
    assert!(search_files(folder.path(), &["nowhere".to_owned()], |_| 0.0).is_empty());
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_workspace_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink(folder.path().join("secret"), work.join("link")).unwrap();
    std::os::unix::fs::symlink(folder.path(), work.join("up")).unwrap();
    assert!(search_files(&work, &["secret".to_owned()], |_| 0.0).is_empty());
}
