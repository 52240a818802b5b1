//! Tokens changed from many threads at once, and what stands on the disk.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

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
    assert!(!ada.admits(&"bob".parse().unwrap()) && daemon.stands(&entry));
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
    assert!(!daemon.stands(&entry));
    command.revoke("laptop").unwrap();
    assert_eq!(opens(&daemon, &second), None);
    assert!(command.list().unwrap().is_empty());
    assert!(matches!(
        command.revoke("laptop"),
        Err(TokenError::Unknown { .. })
    ));
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
