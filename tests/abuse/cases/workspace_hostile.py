#!/usr/bin/env python3
# Whole: at most 3600 s.
"""Trees that a stranger prepared (hooks, filters, programs and places in git's configuration, links
and false journals) while commands in them are killed: nothing that the tree brings is run, nothing
outside it is touched, no command crashes or hangs, and a sound tree works on after the recovery."""

import json
import os
import subprocess
import sys

from abuse import Home, rounds
from workspace_killed import PRD, Tree, git

HOOKS = [
    "applypatch-msg", "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase",
    "post-checkout", "post-merge", "pre-merge-commit", "post-rewrite", "pre-auto-gc", "update",
    "reference-transaction", "post-index-change", "fsmonitor-watchman",
]
PROGRAMS = [
    "core.fsmonitor", "core.editor", "core.pager", "core.sshCommand", "core.askPass", "diff.external",
    "gpg.program", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
    "merge.evil.driver", "diff.evil.command", "diff.evil.textconv", "credential.helper",
    "sequence.editor", "uploadpack.packObjectsHook",
]


class Hostile:
    def __init__(self, home, tree):
        self.home, self.tree, self.root = home, tree, tree.root
        self.outside = home.folder / "outside"
        self.canary = home.folder / "canary"
        (self.outside / "deep").mkdir(parents=True)
        (self.outside / "victim").write_text("a person's\n")
        (self.outside / "deep/victim.json").write_text("{}\n")
        self.program = home.folder / "program"
        self.program.write_text(f"#!/bin/sh\necho \"$0 $*\" >>'{self.canary}'\nexec cat\n")
        self.program.chmod(0o755)

    def standing(self):
        return sorted(
            (str(p.relative_to(self.outside)), p.read_text() if p.is_file() else None)
            for p in self.outside.rglob("*")
        )

    def hooks(self):
        folder = self.root / ".git/hooks"
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(self.program)

    def hooks_elsewhere(self):
        folder = self.root / "hooks"
        folder.mkdir()
        for name in HOOKS:
            (folder / name).symlink_to(self.program)
        git(self.root, "config", "core.hooksPath", str(folder))

    def programs(self):
        for name in PROGRAMS:
            git(self.root, "config", name, str(self.program))
        for name, value in [("commit.gpgSign", "true"), ("tag.gpgSign", "true"), ("gc.auto", "1"),
                            ("filter.evil.required", "true"), ("alias.commit", f"!{self.program}")]:
            git(self.root, "config", name, value)
        (self.root / ".git/info").mkdir(exist_ok=True)
        (self.root / ".git/info/attributes").write_text("* filter=evil merge=evil diff=evil\n")

    def configured_place(self):
        git(self.root, "config", "core.worktree", str(self.outside))

    def included(self):
        (self.outside / "config").write_text(f"[core]\n\tfsmonitor = {self.program}\n")
        git(self.root, "config", "include.path", str(self.outside / "config"))

    def link(self, name, to):
        place = self.root / name
        if place.is_dir() and not place.is_symlink():
            place.rename(place.with_name(f"{place.name}-was"))
        else:
            place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(to)

    def linked_kb(self):
        self.link("core/kb", self.outside / "deep")

    def linked_prd(self):
        self.link(PRD, self.outside / "deep/victim.json")

    def linked_logs(self):
        self.link(".sdlc_ide/logs", self.outside / "deep")

    def linked_tmp(self):
        self.link(".sdlc_ide/tmp", self.outside / "deep")

    def linked_git(self):
        self.link(".git/refs/heads/other", self.outside / "victim")

    def false_journals(self):
        """Transactions that name what is outside, in the forms that a real one leaves."""
        self.home.killed(20, *self.tree.command(["write", "--actor", "prm", f"{PRD}={self.tree.file('{}')}"]))
        tmp = self.root / ".sdlc_ide/tmp"
        for path in list(tmp.rglob("*")):
            if path.is_file() and not path.is_symlink():
                text = path.read_text(errors="replace").replace(PRD, "../outside/victim")
                path.write_text(text.replace("core/kb", "../outside/deep"))
        planted = tmp / "tx-01ARZ3NDEKTSV4RRFFQ69G5FAV"
        planted.mkdir(parents=True, exist_ok=True)
        for name in ["journal.json", "journal", "state.json", "plan.json"]:
            said = {"paths": ["../outside/victim"], "files": [{"path": "../outside/victim"}],
                    "delete": ["../outside/victim"], "root": str(self.outside)}
            (planted / name).write_text(json.dumps(said))


WAYS = ["hooks", "hooks_elsewhere", "programs", "configured_place", "included", "linked_kb", "linked_prd",
        "linked_logs", "linked_tmp", "linked_git", "false_journals"]
# Of these the commands work as ever, since nothing of the tree itself is odd.
SOUND = {"hooks", "hooks_elsewhere", "programs", "included"}


def main():
    with Home() as home:
        tree = Tree(home)
        hostile = Hostile(home, tree)
        new, prd = home.folder / "new", home.folder / "prd"
        new.write_text("new\n")
        prd.write_text('{"id":"PRD-001","v":9}')
        commands = [
            ["write", "--actor", "prm", f"{PRD}={prd}", f"core/kb/new/deep.md={new}",
             "--delete", "core/kb/old/deep.md"],
            ["merge", "--actor", "governor", "other"],
            ["restore", "--actor", "governor", tree.snapshot],
        ]
        kills = 0
        # Git itself falls into the trap.
        tree.reset(commands[0])
        hostile.hooks()
        git(tree.root, "commit", "-q", "--allow-empty", "-m", "x")
        assert hostile.canary.exists(), "the trap does not work here"
        for way in [one for one in WAYS if one in sys.argv[1:] or not sys.argv[1:]]:
            for command in commands:
                def prepare():
                    tree.reset(command)
                    getattr(hostile, way)()
                    hostile.canary.unlink(missing_ok=True)

                def look(when, ended):
                    assert "panicked" not in ended.stderr, f"{when}: {ended.stderr[:300]}"
                    assert ended.returncode in (0, 1, 2, 137), f"{when}: {ended.returncode}"
                    assert hostile.standing() == before, f"{when}: something outside was touched"
                    run = hostile.canary.read_text() if hostile.canary.exists() else ""
                    assert not run, f"{when}: what the tree brings was run: {run[:200]}"

                prepare()
                before = hostile.standing()
                ended, traced = home.killed(0, *tree.command(command))
                look(f"{way}: {command[0]}", ended)
                if way in SOUND:
                    assert ended.returncode == 0, f"{way}: {command[0]}: {ended.stderr}"
                last = len(traced)
                for number in range(1, last + 1, rounds(4, max(1, last // 2))):
                    when = f"{way}: {command[0]} killed at {number} of {last}"
                    prepare()
                    ended, _ = home.killed(number, *tree.command(command))
                    kills += ended.returncode == 137
                    look(when, ended)
                    for again in [["recover"], command, ["log"]]:
                        look(f"{when}, then {again[0]}", home.run(*tree.command(again)))
        print(f"{kills} kills in {len(WAYS)} hostile trees, nothing run, nothing touched", file=sys.stderr)


if __name__ == "__main__":
    main()
