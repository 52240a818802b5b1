//! A workspace on a disk that takes no more, or nothing at all: one sentence, nothing half done.

use std::fs;
use std::path::Path;
use std::process::Command;

use reprise_tests::{RunOutput, find_reprise_binary, reprise_command, run_to_end};

use super::{PRD, must, run_json, workspace, write};

/// Most blocks that a file may have, from a disk that takes nothing to one that takes all.
const BLOCKS: std::ops::Range<u32> = 0..14;

/// A write whose files stop growing at so many blocks of the shell: the disk is full there.
fn write_within(root: &Path, blocks: u32, text: &str) -> RunOutput {
    let input = root.join(".git/in/full");
    fs::write(&input, text).expect("a file to write from");
    let binary = find_reprise_binary().expect("reprise is built");
    let mut command = Command::new("sh");
    // A process that ignores the signal is told by an error, as with a disk without room.
    command
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"",
            "sh",
        ])
        .arg(blocks.to_string())
        .arg(binary)
        .args(["--data-dir"])
        .arg(root)
        .args(["workspace", "-C"])
        .arg(root)
        .args(["write", "--actor", "prm"])
        .arg(format!("{PRD}={}", input.display()));
    run_to_end(&mut command).expect("it runs")
}

#[test]
fn a_disk_that_fills_up_anywhere_leaves_the_tree_whole() {
    let folder = workspace();
    let root = folder.path();
    let draft = |version: u32| format!("{{\"v\":{version},\"text\":\"{}\"}}", "x".repeat(3000));
    assert_eq!(write(root, "prm", PRD, draft(0).as_bytes()).code, Some(0));
    let (mut version, mut refused) = (0, 0);
    for blocks in BLOCKS {
        let finished = write_within(root, blocks, &draft(version + 1));
        if finished.code == Some(0) {
            version += 1;
        } else {
            refused += 1;
            let said = finished.stderr.trim_end();
            assert_eq!(said.lines().count(), 1, "{blocks}: {said}");
            assert!(!said.contains("panicked"), "{blocks}: {said}");
        }
        // Room again: what had happened is finished, what had not is taken back.
        run_json(root, &["recover"]);
        let there = fs::read_to_string(root.join(PRD)).expect("the PRD");
        let trail = run_json(root, &["audit", "--action", "write", "--limit", "1"]);
        let head = must(root, &["show", &format!("HEAD:{PRD}")]);
        assert_eq!(there, head, "{blocks}: {trail}");
        assert!(
            there == draft(version) || there == draft(version + 1),
            "{blocks}"
        );
        version = if there == draft(version) {
            version
        } else {
            version + 1
        };
        assert_eq!(must(root, &["status", "--porcelain"]), "", "{blocks}");
        let fsck = must(root, &["fsck", "--strict", "--no-dangling"]);
        assert!(!fsck.contains("error"), "{blocks}: {fsck}");
        let status = run_json(root, &["status"]);
        assert_eq!(status["loose_ends"], serde_json::json!([]), "{blocks}");
    }
    assert!(
        refused > 2 && version > 0,
        "{refused} refused, {version} written"
    );
}

#[test]
fn a_tree_that_cannot_be_written_to_is_named_and_can_be_read() {
    let folder = workspace();
    let root = folder.path();
    assert_eq!(write(root, "prm", PRD, b"{\"v\":1}").code, Some(0));
    let before = must(root, &["rev-parse", "HEAD"]);
    let input = tempfile::NamedTempFile::new().expect("a file to write from");
    fs::write(input.path(), "{\"v\":2}").expect("a file to write from");
    let own = reprise_command(root).expect("reprise is built");
    // Root writes where it may not: it gets a mount of its own that nobody can write to.
    let read_only = |arguments: &[&str]| {
        let is_root = fs::metadata("/proc/self")
            .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
        let mut command = if is_root {
            let mut command = Command::new("unshare");
            let script = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && shift && \
                          exec \"$@\"";
            command.args(["-m", "sh", "-c", script, "sh"]).arg(root);
            command
        } else {
            let mut command = Command::new("sh");
            let script = "chmod -R a-w \"$1\"; root=$1; shift; \"$@\"; code=$?; chmod -R u+w \
                          \"$root\"; exit $code";
            command.args(["-c", script, "sh"]).arg(root);
            command
        };
        command.arg(own.get_program()).args(own.get_args());
        command.args(["workspace", "-C"]).arg(root).args(arguments);
        run_to_end(&mut command).expect("it runs")
    };
    let pair = format!("{PRD}={}", input.path().display());
    for arguments in [
        &["write", "--actor", "prm", &pair][..],
        &["approve", "--human", "ada", "main"],
        &["snapshot"],
        &["init"],
    ] {
        let finished = read_only(arguments);
        assert_eq!(finished.code, Some(2), "{arguments:?}: {}", finished.stderr);
        let said = finished.stderr.trim_end();
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        let named = said.contains("Read-only file system") || said.contains("Permission denied");
        assert!(named, "{arguments:?}: {said}");
    }
    for arguments in [&["status"][..], &["log"], &["audit"], &["graph"], &["diff"]] {
        let finished = read_only(arguments);
        assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
    }
    assert_eq!(must(root, &["rev-parse", "HEAD"]), before);
    assert_eq!(must(root, &["status", "--porcelain"]), "");
}
