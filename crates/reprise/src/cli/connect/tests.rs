//! Tests of the files on disk after a change, and after one that was killed or failed.

mod plugins;
mod tools;

use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use super::apply::{ApplyStep, apply};
use super::*;

const PROGRAM: HostProgram = HostProgram::ClaudeCode;
const SERVERS: &str = "{\n\"mcpServers\": {\"memory\": {\"command\": \"npx\", \"args\": []}} }\n";
const SETTINGS: &str = "{ \"theme\": 1 }\n";

fn build_entry() -> ProgramEntry {
    ProgramEntry {
        program: "/opt/reprise".to_owned(),
        data: "/d".to_owned(),
        models: None,
        config: None,
        user: "ada".to_owned(),
        of_project: false,
        replaces: true,
        tool_callers: Vec::new(),
    }
}

/// A home with two files that only their owner reads.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs_err::create_dir_all(home.0.path().join(".claude")).unwrap();
        for (name, text) in [
            (".claude.json", SERVERS),
            (".claude/settings.json", SETTINGS),
        ] {
            let path = home.0.path().join(name);
            fs_err::write(&path, text).unwrap();
            fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        home
    }

    fn plan_connection(&self) -> Vec<SettingsChange> {
        plan_connection(PROGRAM, self.0.path(), &build_entry()).unwrap()
    }

    fn disconnect(&self) {
        let changes = plan_disconnection(PROGRAM, self.0.path()).unwrap();
        apply(&changes, &mut |_| Ok(())).unwrap();
    }

    fn read(&self, name: &str) -> String {
        apply::read_settings(&self.0.path().join(name)).unwrap()
    }

    fn files(&self) -> Vec<String> {
        let folders = [self.0.path().to_owned(), self.0.path().join(".claude")];
        let mut names: Vec<String> = folders
            .iter()
            .flat_map(|folder| fs_err::read_dir(folder).unwrap())
            .map(|file| file.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| {
                let mode = fs_err::metadata(&path).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{}", path.display());
                path.file_name().unwrap().to_string_lossy().into_owned()
            })
            .collect();
        names.sort();
        names
    }

    fn is_as_it_was(&self) -> bool {
        self.read(".claude.json") == SERVERS && self.read(".claude/settings.json") == SETTINGS
    }
}

#[test]
fn files_keep_their_mode_and_come_back_to_the_letter() {
    let home = Home::new();
    apply(&home.plan_connection(), &mut |_| Ok(())).unwrap();
    assert!(home.read(".claude.json").contains("/opt/reprise"));
    assert_eq!(
        home.files(),
        [
            ".claude.json",
            ".claude.json.before-reprise",
            "settings.json",
            "settings.json.before-reprise"
        ]
    );
    // A second time changes nothing, and keeps the copies of what was there first.
    let again = home.plan_connection();
    assert!(
        again
            .iter()
            .all(|change| !change.has_effect() && change.backup == BackupAction::Kept)
    );
    home.disconnect();
    assert!(home.is_as_it_was());
    assert_eq!(home.files(), [".claude.json", "settings.json"]);
}

#[test]
fn a_folder_that_was_made_for_ours_goes_with_it() {
    for is_shared in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".codex");
        let changes = plan_connection(HostProgram::Codex, home.path(), &build_entry()).unwrap();
        apply(&changes, &mut |_| Ok(())).unwrap();
        if is_shared {
            fs_err::write(folder.join("auth.json"), "{}").unwrap();
        }
        let changes = plan_disconnection(HostProgram::Codex, home.path()).unwrap();
        apply(&changes, &mut |_| Ok(())).unwrap();
        apply::remove_empty_folders(&changes, home.path());
        assert_eq!(folder.exists(), is_shared);
        assert!(home.path().is_dir());
    }
}

#[test]
fn what_was_connected_twice_is_as_it_was_after_one_undo() {
    let newer = ProgramEntry {
        program: "/usr/bin/reprise".to_owned(),
        of_project: true,
        tool_callers: vec![HookProgram::ClaudeCode, HookProgram::Codex],
        ..build_entry()
    };
    for program in HostProgram::value_variants().iter().copied() {
        for text in [None, Some("{}"), Some("{\n  \"theme\": 1\n}\n")] {
            let home = tempfile::tempdir().unwrap();
            let path = |target: &Target| target.path.clone();
            let files: Vec<PathBuf> = plan::targets(program, home.path())
                .iter()
                .map(path)
                .collect();
            let json = |file: &&PathBuf| file.extension().is_some_and(|end| end == "json");
            for file in files.iter().filter(json) {
                fs_err::create_dir_all(file.parent().unwrap()).unwrap();
                if let Some(text) = text {
                    fs_err::write(file, text).unwrap();
                }
            }
            let read = || -> Vec<String> {
                let texts = files.iter().map(|file| apply::read_settings(file).unwrap());
                texts.collect()
            };
            let before = read();
            for entry in [build_entry(), newer.clone(), build_entry()] {
                let changes = plan_connection(program, home.path(), &entry).unwrap();
                apply(&changes, &mut |_| Ok(())).unwrap();
            }
            let changes = plan_disconnection(program, home.path()).unwrap();
            apply(&changes, &mut |_| Ok(())).unwrap();
            assert_eq!(read(), before, "{program:?} {text:?}");
            let left = files.iter().filter(|file| file.exists()).count();
            let there = files.iter().filter(json).count() * usize::from(text.is_some());
            assert_eq!(left, there, "{program:?} {text:?}");
        }
    }
}

#[test]
fn a_process_killed_at_any_step_is_undone_by_disconnect() {
    let steps = {
        let mut steps = 0;
        apply(&Home::new().plan_connection(), &mut |_| {
            steps += 1;
            Ok(())
        })
        .unwrap();
        steps
    };
    assert!(steps >= 6, "{steps}");
    for dies_at in 0..steps {
        let home = Home::new();
        let changes = home.plan_connection();
        let mut step = 0;
        // Nothing of `apply` runs any more, as after `kill -9`.
        let died = catch_unwind(AssertUnwindSafe(|| {
            apply(&changes, &mut |_| {
                assert!(step != dies_at, "killed");
                step += 1;
                Ok(())
            })
        }));
        assert!(died.is_err());
        for name in [".claude.json", ".claude/settings.json"] {
            let text = home.read(name);
            let whole = serde_json::from_str::<Value>(&text).is_ok();
            assert!(whole, "step {dies_at}: {text}");
        }
        home.disconnect();
        assert!(home.is_as_it_was(), "step {dies_at}");
        // And it can be connected as if nothing had been.
        apply(&home.plan_connection(), &mut |_| Ok(())).unwrap();
        home.disconnect();
        assert!(home.is_as_it_was(), "step {dies_at}");
        assert_eq!(home.files(), [".claude.json", "settings.json"]);
    }
}

#[test]
fn where_one_file_cannot_be_changed_none_is() {
    // The second file is broken: nothing is planned.
    let home = Home::new();
    fs_err::write(home.0.path().join(".claude/settings.json"), "{ broken").unwrap();
    assert!(plan_connection(PROGRAM, home.0.path(), &build_entry()).is_err());
    assert_eq!(home.read(".claude.json"), SERVERS);

    // The disk fails at any step: what was done is taken back.
    for fails_at in 0..6 {
        let home = Home::new();
        let mut step = 0;
        let applied = apply(&home.plan_connection(), &mut |_| {
            step += 1;
            if step > fails_at {
                return Err(io::Error::other("the disk is full"));
            }
            Ok(())
        });
        assert!(applied.is_err());
        assert!(home.is_as_it_was(), "step {fails_at}");
    }

    // Its program has written it meanwhile: that stays.
    let home = Home::new();
    let changes = home.plan_connection();
    let theirs = "{\"theme\": 2}";
    let mut watch = |step| {
        if step == ApplyStep::Write {
            fs_err::write(home.0.path().join(".claude/settings.json"), theirs)?;
        }
        Ok(())
    };
    assert!(apply(&changes, &mut watch).is_err());
    assert_eq!(home.read(".claude/settings.json"), theirs);
    assert_eq!(home.read(".claude.json"), SERVERS);
}
