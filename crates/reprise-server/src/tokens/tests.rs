//! Tokens changed from many threads at once, and what is on the disk.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use super::*;

fn now() -> DateTime<Utc> {
    reprise_types::parse_timestamp("2026-02-16T09:00:00Z").unwrap()
}

fn opens(file: &TokenFile, token: &str) -> Option<Scope> {
    file.recognise(token).map(|entry| entry.scope)
}

#[test]
fn a_token_opens_until_it_is_replaced_and_stands_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    let daemon = TokenFile::new(path.clone());
    assert_eq!(opens(&daemon, "rpr_0"), None);
    // Another process writes the file while the daemon holds what it read.
    let command = TokenFile::new(path.clone());
    let ada = Scope::User("ada".parse().unwrap());
    let first = command.add("laptop", ada.clone(), now()).unwrap();
    assert_eq!(first.len(), PREFIX.len() + 64);
    let halves = first[PREFIX.len()..].split_at(32);
    assert_ne!(halves.0, halves.1, "256 bits, not 128 of them twice");
    assert_eq!(opens(&daemon, &first), Some(ada.clone()));
    let entry = daemon.recognise(&first).unwrap();
    assert!(!ada.admits(&"bob".parse().unwrap()) && daemon.is_valid(&entry));
    let text = fs_err::read_to_string(&path).unwrap();
    assert!(!text.contains(&first) && text.contains("sha256"));
    for file in ["tokens.json", "tokens.lock"] {
        let file = fs_err::metadata(folder.path().join(file)).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }
    assert!(matches!(
        command.add("laptop", Scope::All, now()),
        Err(TokenError::Taken { .. })
    ));
    let second = command.rotate("laptop", now()).unwrap();
    assert_eq!(opens(&daemon, &first), None);
    assert_eq!(opens(&daemon, &second), Some(ada));
    assert!(!daemon.is_valid(&entry));
    command.revoke("laptop").unwrap();
    assert_eq!(opens(&daemon, &second), None);
    assert!(command.list().unwrap().is_empty());
    assert!(matches!(
        command.revoke("laptop"),
        Err(TokenError::Unknown { .. })
    ));
}

#[test]
fn the_last_use_of_a_token_is_known_to_a_later_daemon_and_not_to_its_namesake() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    let daemon = TokenFile::new(path.clone());
    let minutes = |minutes| now() + TimeDelta::minutes(minutes);
    let token = daemon.add("laptop", Scope::All, now()).unwrap();
    let entry = daemon.recognise(&token).unwrap();
    assert_eq!(daemon.last_use(&entry), None);
    daemon.note_use(&entry, minutes(1));
    daemon.note_use(&entry, minutes(5));
    assert_eq!(
        daemon.last_use(&entry),
        Some(minutes(1)),
        "a step is ten minutes"
    );
    daemon.note_use(&entry, minutes(12));
    let later = TokenFile::new(path);
    assert_eq!(later.last_use(&entry), Some(minutes(12)));
    later.revoke("laptop").unwrap();
    let token = later.add("laptop", Scope::All, minutes(20)).unwrap();
    let entry = later.recognise(&token).unwrap();
    assert_eq!(later.last_use(&entry), None);
}

/// Changes of the same file within one tick of its clock, by way of inodes that come free again.
#[test]
fn each_of_many_quick_changes_is_seen_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    let (daemon, command) = (TokenFile::new(path.clone()), TokenFile::new(path));
    let mut old = command.add("t", Scope::All, now()).unwrap();
    for round in 0..50 {
        let new = command.rotate("t", now()).unwrap();
        assert_eq!(opens(&daemon, &new), Some(Scope::All), "{round}");
        assert_eq!(opens(&daemon, &old), None, "{round}");
        old = new;
    }
}

/// Each thread opens the lock by itself, as a process would.
#[test]
fn of_many_changes_at_once_none_is_lost_and_none_undone() {
    const THREADS: usize = 6;
    const ROUNDS: usize = 5;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let tokens = TokenFile::new(path.clone());
            std::thread::spawn(move || {
                let mut mine = BTreeMap::new();
                for round in 0..ROUNDS {
                    let [kept, gone] = ["kept", "gone"].map(|n| format!("{n}-{thread}-{round}"));
                    tokens.add(&kept, Scope::All, now()).unwrap();
                    let revoked = tokens.add(&gone, Scope::All, now()).unwrap();
                    mine.insert(kept.clone(), tokens.rotate(&kept, now()).unwrap());
                    tokens.revoke(&gone).unwrap();
                    assert_eq!(opens(&tokens, &revoked), None);
                }
                mine
            })
        })
        .collect();
    let mut expected = BTreeMap::new();
    for thread in threads {
        expected.extend(thread.join().unwrap());
    }
    let tokens = TokenFile::new(path);
    let listed = tokens.list().unwrap();
    assert_eq!((listed.len(), expected.len()), (30, THREADS * ROUNDS));
    for (name, token) in expected {
        assert_eq!(tokens.recognise(&token).map(|t| t.name), Some(name));
    }
}

#[test]
fn a_damaged_file_opens_nothing_and_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    fs_err::write(&path, "[{").unwrap();
    let tokens = TokenFile::new(path.clone());
    assert_eq!(opens(&tokens, "rpr_0"), None);
    let refused = tokens.add("t", Scope::All, now());
    assert!(matches!(refused, Err(TokenError::Unreadable { .. })));
    assert_eq!(fs_err::read(&path).unwrap(), b"[{");
}

#[test]
fn a_user_who_is_erased_is_in_no_line_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let file = Arc::new(TokenFile::new(folder.path().join("tokens.json")));
    let line = |who: &str, name: &str, about: &str| AuditLine {
        name: Some(name.to_owned()),
        about: Some(about.parse().unwrap()),
        ..AuditLine::new(now(), who, "grant")
    };
    file.audit(&line("grant", "grant {\"org\":\"grant\"}", "bob"))
        .unwrap();
    file.audit(&line("olga", "laptop", "grant")).unwrap();
    let tokens = ServiceTokens::new(Arc::clone(&file), None);
    tokens.revoke_user(&"grant".parse().unwrap()).unwrap();
    let lines = file.merge_audit(Vec::new(), 10).unwrap();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in &lines {
        assert_eq!(line.what, "grant");
        assert!(line.who != "grant", "{line:?}");
        assert!(line.about.as_ref().unwrap().as_str() != "grant", "{line:?}");
        let name = line.name.as_deref().unwrap();
        assert!(!name.starts_with("grant "), "{name}");
    }
}

impl TokenFile {
    /// Holds up every reader of the tokens, as a disk that does not answer does.
    pub(crate) fn hold(&self) -> impl Sized + '_ {
        lock(&self.known)
    }
}
