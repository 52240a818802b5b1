#!/usr/bin/env python3
# Whole: at most 7200 s.
"""Every command of a workspace is killed at each call that would change a file, and so is the recovery
after it: the tree, git, the trail, the events, the snapshots and the log of conflicts are together
what they were or what they were to be; nothing is left lying about; the command then succeeds.

    workspace_killed.py [NAME...]    these commands alone
"""

import collections
import json
import re
import shutil
import subprocess
import sys

from abuse import Home, rounds

PRD = "core/prd/PRD-001.json"
TRAIL = (".sdlc_ide/logs/audit_trail.jsonl", ".sdlc_ide/logs/audit/")
# The name of a report, which differs each time.
ID = re.compile("[0-9A-Z]{26}")
# How often the recovery after a kill is killed as well: once for so many kills.
TWICE = 5


def git(root, *arguments, check=True):
    done = subprocess.run(
        ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.invalid", *arguments],
        cwd=root, capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0 or not check, f"git {arguments}: {done.stderr}"
    return done.stdout


class Tree:
    """A lived-in workspace, brought back before each kill."""

    def __init__(self, home):
        self.home = home
        self.root = home.folder / "tree"
        self.kept = home.folder / "kept"
        self.input = home.folder / "input"
        self.run("init")
        self.write("prm", {PRD: '{"id":"PRD-001","v":1}'})
        self.write("prm", {"core/kb/old/deep.md": "old\n", "core/kb/note.md": "one\ntwo\nthree\n"})
        self.save("tsm", "start")
        self.bad = json.loads(self.write("prm", {PRD: '{"id":"PRD-001","v":2}'}))["commit"]
        self.snapshot = json.loads(self.run("snapshot", "--actor", "governor"))["id"]
        git(self.root, "switch", "-qc", "other")
        self.write("researcher", {"core/kb/theirs.md": "theirs\n", "memory/long_term/x.jsonl": '{"event_id":"a"}\n'})
        self.save("tsm", "theirs")
        git(self.root, "switch", "-q", "main")
        git(self.root, "switch", "-qc", "against")
        self.write("researcher", {"core/kb/note.md": "one\nTHEIRS\nthree\n"})
        git(self.root, "switch", "-q", "main")
        self.write("prm", {"core/kb/note.md": "one\nOURS\nthree\n"})
        self.save("tsm", "ours")
        self.run("agent", "propose", "done")
        self.root.rename(self.kept)

    def file(self, text):
        self.input.write_text(text)
        return str(self.input)

    def run(self, *arguments):
        done = self.home.run(*self.command(arguments))
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def command(self, arguments):
        """`init` names its folder, everything else works in it."""
        is_init = arguments[0] == "init"
        where = self.home.folder if is_init else self.root
        return ["--json", "workspace", "-C", str(where), *arguments, *["tree"][: is_init]]

    def write(self, actor, files):
        pairs = []
        for number, (path, text) in enumerate(files.items()):
            place = self.home.folder / f"input-{number}"
            place.write_text(text)
            pairs.append(f"{path}={place}")
        return self.run("write", "--actor", actor, *pairs)

    def save(self, actor, note):
        return self.run("checkpoint", "--actor", actor, "--file", self.file(json.dumps({"next_action": note})))

    def reset(self, command):
        shutil.rmtree(self.root, ignore_errors=True)
        if command[0] == "init":
            return
        shutil.copytree(self.kept, self.root, symlinks=True)
        # What git remembers of a file's times is of the copy from now on.
        git(self.root, "update-index", "-q", "--refresh")

    def trail(self):
        """Every line of the trail, each file by itself: `audit` would hide one that is there twice."""
        logs = self.root / ".sdlc_ide/logs"
        files = [logs / "audit_trail.jsonl", *logs.glob("audit/**/*.jsonl"), *logs.glob("pending/*.jsonl")]
        return [json.loads(line) for file in files if file.exists() for line in file.read_text().splitlines()]

    def state(self):
        """All that is to be together, without what differs from run to run."""
        if not (self.root / ".git").exists():
            return None
        files = {}
        listed = git(self.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
        for path in filter(None, listed):
            place = self.root / path
            if path.startswith(TRAIL) or path.startswith("memory/agent_state") or "/conflicts/" in path:
                continue
            files[path] = place.read_text() if place.exists() else None
        scratch = self.root / "cache"
        files |= {str(p.relative_to(self.root)): p.read_text() for p in scratch.rglob("*") if p.is_file()}
        lines = lambda path: [json.loads(line) for line in (self.root / path).read_text().splitlines()] \
            if (self.root / path).exists() else []
        snapshots = self.root / ".sdlc_ide/snapshots"
        names = sorted(p.name for p in snapshots.iterdir()) if snapshots.exists() else []
        reports = self.root / "memory/long_term/conflicts"
        return {
            "files": files,
            "notes": sorted(p.read_text().split('"next_action": "')[1].split('"')[0]
                            for p in (self.root / "memory/agent_state").glob("*.json")),
            "reports": len(list(reports.iterdir())) if reports.exists() else 0,
            "trail": collections.Counter(
                (one["action"], one["actor"], ID.sub("ID", " ".join(one["paths"])), one["branch"])
                for one in self.trail()
            ),
            "events": collections.Counter(
                (one["topic"], one["actor"]) for one in lines(".sdlc_ide/logs/events.jsonl")
            ),
            "conflicts": collections.Counter(
                one["kind"] for one in lines(".sdlc_ide/logs/merge_conflicts.jsonl")
            ),
            "snapshots": sum(name.endswith(".json") for name in names),
            "archives": sum(name.endswith(".tar.gz") for name in names),
            "commits": int(git(self.root, "rev-list", "--count", "HEAD", check=False) or 0),
            "tags": len(git(self.root, "tag").split()),
        }

    def at_rest(self, when):
        """Nothing is left of a transaction, for us and for git."""
        assert git(self.root, "status", "--porcelain") == "", f"{when}: {git(self.root, 'status', '--short')}"
        fsck = subprocess.run(["git", "fsck", "--strict", "--no-dangling"], cwd=self.root,
                              capture_output=True, text=True, check=False)
        assert fsck.returncode == 0, f"{when}: {fsck.stdout} {fsck.stderr}"
        left = [p for p in (self.root / ".git").rglob("*.lock")]
        tmp = self.root / ".sdlc_ide/tmp"
        left += list(tmp.glob("tx-*")) + list((tmp / "locks").glob("*"))
        assert not left, f"{when}: left {left}"
        names = {p.name for p in (self.root / ".sdlc_ide/snapshots").iterdir()}
        ids = {name.split(".")[0] for name in names}
        assert names == {f"{i}{end}" for i in ids for end in (".json", ".tar.gz")}, f"{when}: {names}"
        commits = set(git(self.root, "log", "--format=%(trailers:key=Reprise-Tx,valueonly)").split())
        told = [one["event_id"] for one in self.trail()]
        assert len(told) == len(set(told)), f"{when}: a line twice"
        assert commits <= set(told), f"{when}: {commits - set(told)} is not in the trail"
        events = [json.loads(line)["event_id"]
                  for line in (self.root / ".sdlc_ide/logs/events.jsonl").read_text().splitlines()]
        assert len(events) == len(set(events)), f"{when}: an event twice"

    def recovered(self, when):
        """What stands after the next look; the second finds nothing more to do."""
        first = json.loads(self.run("recover"))
        assert first["left_alone"] == [] and first["damaged"] == [], f"{when}: {first}"
        second = json.loads(self.run("recover"))
        assert not any(second.values()), f"{when}: {second}"


def commands(tree):
    """Each command, what must be done before it, and the settings that give it fewer steps of its
    own: a merge and a TSD are followed by a snapshot, which is a transaction for itself."""
    new = tree.home.folder / "new"
    new.write_text("new\n")
    prd = tree.home.folder / "prd"
    prd.write_text('{"id":"PRD-001","v":3}')
    tsd = tree.home.folder / "tsd"
    tsd.write_text('{"prd_id":"PRD-001"}')
    note = tree.home.folder / "state"
    note.write_text('{"next_action": "rest"}')
    write = ["write", "--actor", "prm", f"{PRD}={prd}", f"core/kb/new/deep.md={new}",
             "--delete", "core/kb/old/deep.md"]
    yield "write", write, []
    yield "write what git does not keep", ["write", "--actor", "prm", f"cache/a/b={new}"], []
    yield "write a TSD", ["write", "--actor", "tsm", f"core/tsd/TSD-001.json={tsd}"], ["snapshot"]
    yield "be refused", ["write", "--actor", "researcher", f"{PRD}={prd}"], []
    yield "merge", ["merge", "--actor", "governor", "other"], ["snapshot"]
    yield "merge against", ["merge", "--actor", "governor", "against"], []
    yield "rollback", ["rollback", "--actor", "governor", tree.bad], []
    yield "approve", ["approve", "--human", "ada", "other"], []
    yield "checkpoint", ["checkpoint", "--actor", "tsm", "--file", str(note)], []
    yield "snapshot", ["snapshot", "--actor", "governor", "--tag"], []
    yield "restore", ["restore", "--actor", "governor", tree.snapshot], []
    yield "init", ["init"], []


REFUSED = {"be refused": 1, "merge against": 1}


def main():
    counts = collections.Counter()
    with Home() as home:
        tree = Tree(home)
        for name, command, more in commands(tree):
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            expected = REFUSED.get(name, 0)
            tree.reset(command)
            before = tree.state()
            ended, traced = home.killed(0, *tree.command(command))
            assert ended.returncode == expected, f"{name}: {ended.stderr}"
            states = [before, tree.state()]
            assert before != states[1], f"{name} does nothing"
            if more:
                tree.reset(command)
                git(tree.root, "config", "reprise.snapshots", "0")
                home.run(*tree.command(command))
                states.append(tree.state())
            for number in range(1, len(traced) + 1)[:: rounds(1, 12)]:
                when = f"{name}, killed at {number} ({traced[number - 1]})"
                tree.reset(command)
                ended, _ = home.killed(number, *tree.command(command))
                if ended.returncode == expected:
                    counts["not reached"] += 1
                    continue
                assert ended.returncode == 137, f"{when}: {ended.returncode} {ended.stderr}"
                counts[name] += 1
                if name == "init":
                    # Until it has come to its end it is begun again.
                    tree.run("init")
                elif number % TWICE == 0:
                    step = 1 + number // TWICE
                    ended, _ = home.killed(step, *tree.command(["recover"]))
                    counts["recoveries killed"] += ended.returncode == 137
                tree.recovered(when)
                found = tree.state()
                tree.at_rest(when)
                if name == "init":
                    assert found == states[1], f"{when}: {told(found, states[1])}"
                else:
                    assert found in states, f"{when}: neither: {told(found, before)}; {told(found, states[1])}"
                home.run(*tree.command(command))
                tree.write("prm", {"core/adr/next.md": "and on it goes\n"})
                tree.at_rest(f"{when}, again")
    print(json.dumps(counts), file=sys.stderr)
    kills = sum(count for name, count in counts.items() if name != "not reached")
    print(f"{kills} kills, 0 lost, 0 half, 0 left over", file=sys.stderr)


def told(found, other):
    return {key: (value, other[key]) for key, value in found.items() if other is None or other[key] != value} \
        if found and other else (found, other)


if __name__ == "__main__":
    main()
