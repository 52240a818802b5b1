//! Five hundred generated merges: git's own result, or a refusal; never a third thing.

use std::collections::BTreeMap;

use git2::Oid;

use super::{try_git, workspace};
use crate::Actor;
use crate::git::{Blob, FILE, Git, WrittenObjects};
use crate::merge::{MergeCommits, plan_merge};

const SEED: u64 = 0x5eed_0500;
const MERGES: usize = 500;
const FILES: [&str; 4] = [
    "core/adr/a.md",
    "core/kb/a.md",
    "core/kb/b.md",
    "core/prd/a.md",
];

/// An xorshift generator, so that the merges are the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

type Files = BTreeMap<&'static str, Vec<String>>;

fn edit_files(files: &Files, dice: &mut Dice) -> Files {
    let mut files = files.clone();
    for _ in 0..=dice.below(4) {
        let path = FILES[dice.below(FILES.len())];
        let word = format!("line {}", dice.below(1_000));
        let Some(lines) = files.get_mut(path) else {
            files.insert(path, vec![word]);
            continue;
        };
        let at = dice.below(lines.len() + 1);
        match dice.below(8) {
            0 => drop(files.remove(path)),
            1 | 2 => lines.insert(at, word),
            3 if at < lines.len() => drop(lines.remove(at)),
            _ if at < lines.len() => lines[at] = word,
            _ => lines.push(word),
        }
    }
    files
}

fn commit_files(git: &Git, files: &Files, parent: Option<Oid>) -> Oid {
    let mut written = WrittenObjects::default();
    let mut changes = Vec::new();
    for (path, lines) in files {
        let text = lines.join("\n") + "\n";
        let id = git.write_blob(text.as_bytes(), &mut written).unwrap();
        changes.push((*path, Some(Blob { id, mode: FILE })));
    }
    let tree = git.write_tree(None, &changes, &mut written).unwrap();
    let at = reprise_types::parse_timestamp("2026-02-16T09:46:08Z").unwrap();
    let parents: Vec<Oid> = parent.into_iter().collect();
    let actor = Actor::new("prm").unwrap();
    let by = crate::git::signature(&actor, at).unwrap();
    git.write_commit([&by, &by], "generated", tree, &parents, &mut written)
        .unwrap()
}

#[test]
fn generated_merges_agree_with_git_or_are_refused() {
    let (_folder, workspace) = workspace();
    let git = Git::open(workspace.root()).unwrap();
    let mut dice = Dice(SEED);
    let (mut agreed, mut refused) = (0, 0);
    for number in 0..MERGES {
        let mut files = Files::new();
        for path in FILES {
            let lines = (0..2 + dice.below(10)).map(|line| format!("{path} {line}"));
            files.insert(path, lines.collect());
        }
        let base = commit_files(&git, &files, None);
        let ours = commit_files(&git, &edit_files(&files, &mut dice), Some(base));
        let theirs = commit_files(&git, &edit_files(&files, &mut dice), Some(base));
        let found = plan_merge(&git, &MergeCommits { base, ours, theirs }).unwrap();
        let names = [ours.to_string(), theirs.to_string()];
        let told = [
            "-c",
            "merge.renames=false",
            "merge-tree",
            "--write-tree",
            &names[0],
            &names[1],
        ];
        let (is_clean, text) = try_git(workspace.root(), &told);
        if !found.contradictions.is_empty() {
            assert!(!is_clean, "merge {number}: refused, and git merges it");
            refused += 1;
            continue;
        }
        assert!(
            is_clean,
            "merge {number}: merged, and git refuses it: {text}"
        );
        let mut written = WrittenObjects::default();
        let mut changes = Vec::new();
        for (path, content) in &found.changes {
            let blob = content.as_ref().map(|bytes| Blob {
                id: git.write_blob(bytes, &mut written).unwrap(),
                mode: FILE,
            });
            changes.push((path.as_str(), blob));
        }
        let tree = Some(git.tree_of(ours).unwrap());
        let tree = git.write_tree(tree, &changes, &mut written).unwrap();
        assert_eq!(text.trim(), tree.to_string(), "merge {number}");
        agreed += 1;
    }
    assert!(
        agreed > 100 && refused > 100,
        "{agreed} agreed, {refused} refused"
    );
}
