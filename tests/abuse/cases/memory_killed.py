#!/usr/bin/env python3
# Whole: at most 1200 s.
"""compact, restore, backup, branch merge, consolidate and publish are killed at each call that would
change a file: what is kept, tidied up or published is what it was or what it was to be, and the command
then succeeds and leaves nothing lying about."""

import collections
import json
import shutil
import sys

from abuse import Home, rounds
from steps import Steps

COPIES = 3
SCRATCH = 12


def kill_all(home, name, command, reset, look, counts, short):
    """Kills a command at each of its calls; `look(when)` follows each kill."""
    reset()
    ended, traced = home.killed(0, *command)
    assert ended.returncode == 0, f"{name}: {ended.stderr}"
    for number in range(1, len(traced) + 1)[:: rounds(1, short)]:
        reset()
        ended, _ = home.killed(number, *command)
        if ended.returncode == 0:
            counts["not reached"] += 1
            continue
        when = f"{name}, killed at {number} ({traced[number - 1]})"
        assert ended.returncode == 137, f"{when}: {ended.returncode} {ended.stderr}"
        counts[name] += 1
        look(when, ended)


def of_steps(counts):
    with Home() as home:
        steps = Steps(home)
        for command, after, copied in steps.commands():
            def look(when, ended):
                steps.look(when, ended, after, copied)
                steps.again(when, command, after, copied)

            name = " ".join(part for part in command[:2] if "/" not in part)
            kill_all(home, name, command, steps.reset, look, counts, 7)


class Kept:
    """A memory that wants tidying up, brought back before each kill."""

    def __init__(self, home):
        self.home, self.kept = home, home.folder / "kept"
        finding = {"text": "The build is slow because the cache is cold.", "kind": "finding"}
        home.ingest("ada", [
            *({"external_id": f"copy {n}", "timestamp": f"2024-01-0{n + 1}T00:00:00Z", **finding}
              for n in range(COPIES)),
            *({"external_id": f"scratch {n}", "text": f"a buffer of run {n}",
               "metadata": {"expires_at": "2025-01-01T00:00:00Z"}} for n in range(SCRATCH)),
            *({"external_id": f"note {n}", "text": f"what stays, number {n}"} for n in range(10)),
        ])
        home.data.rename(self.kept)

    def reset(self):
        shutil.rmtree(self.home.data, ignore_errors=True)
        shutil.copytree(self.kept, self.home.data)

    def told(self, *arguments):
        return json.loads(self.home.done("--json", *arguments, "--user", "ada"))

    def state(self):
        """The texts that are left, what was done to them, what others find, and the receipts."""
        self.home.done("doctor", "check", "--user", "ada")
        receipts = self.home.done("--json", "list", "--user", "ada", "--tag", "receipt:global")
        texts = self.home.done("export", "--user", "ada").splitlines()
        return {
            "texts": sorted(one["text"] for one in map(json.loads, texts)
                            if "receipt:global" not in one["tags"]),
            "actions": self.told("doctor", "audit")["actions"],
            "published": sorted(one["title"] for one in self.told("share", "list")["published"]),
            "receipts": receipts.count('"act":"published"'),
        }

    def nothing_left(self, when):
        left = {str(p.relative_to(self.home.data)) for p in self.home.data.rglob("*") if p.is_file()}
        wanted = {"ada/memory.rvf", "ada/changes.jsonl", ".global/memory.rvf",
                  ".global/ledger.jsonl", ".global/writer.lock"}
        assert left <= wanted, f"{when}: left {left - wanted}"


def consolidated(kept, when, before, after):
    """Whatever has gone was on record by then, and comes back."""
    found = kept.state()
    gone = sum(len(one["purged"]) + sum(len(merged["gone"]) for merged in one["merged"])
               for one in found["actions"])
    assert len(before["texts"]) - len(found["texts"]) == gone, f"{when}: {gone} on record: {found}"
    kept.home.done("doctor", "tidy", "--user", "ada")
    again = kept.state()
    assert again["texts"] == after["texts"], f"{when}: not done again: {again['texts']}"
    for one in again["actions"]:
        kept.home.done("doctor", "undo", one["action"], "--user", "ada")
    back = kept.state()["texts"]
    assert back == before["texts"], f"{when}: what was put away did not come back: {back}"


def published(kept, when, before, after):
    """Others find all of it or none; the receipt follows it, at the latest with the next word of it."""
    found = kept.state()
    assert found["texts"] == before["texts"], f"{when}: {found['texts']}"
    assert found["published"] in ([], after["published"]), f"{when}: {found['published']}"
    assert found["receipts"] <= len(found["published"]), f"{when}: a receipt of nothing"
    kept.home.done("share", "publish", "--yes", "--user", "ada", "note 1")
    again = kept.state()
    for field in ["texts", "published", "receipts"]:
        assert again[field] == after[field], f"{when}: not done again: {again[field]}"


def of_kept(counts):
    commands = {
        "consolidate": (["doctor", "tidy", "--user", "ada"], consolidated),
        "publish": (["share", "publish", "--yes", "--user", "ada", "note 1"], published),
    }
    with Home() as home:
        kept = Kept(home)
        kept.reset()
        before = kept.state()
        for name, (command, judge) in commands.items():
            kept.reset()
            home.done(*command)
            after = kept.state()
            assert after != before, f"{name} does nothing: {after}"

            def look(when, _):
                judge(kept, when, before, after)
                kept.nothing_left(when)

            kill_all(home, name, command, kept.reset, look, counts, 5)


counts = collections.Counter()
of_kept(counts)
of_steps(counts)
print(json.dumps(counts), file=sys.stderr)
kills = sum(count for name, count in counts.items() if name != "not reached")
print(f"{kills} kills, 0 lost, 0 half, 0 left over", file=sys.stderr)
