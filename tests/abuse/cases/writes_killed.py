#!/usr/bin/env python3
# Whole: at most 1800 s.
"""What writes one memory (learn, edit, forget, ingest, import, outcome, tags merge, check --repair,
rebuild) is killed at each call that would change a file: the memory is sound and has what it had or what
it was to have, nothing acknowledged is gone, and the command then does what it does."""

import collections
import json
import shutil
import sys

from abuse import Home, rounds

LINES = [{"external_id": f"n{n}", "text": f"zebra number {n} of the herd", "tags": [f"herd{n % 3}"],
          "session_id": f"s{n % 4}"} for n in range(30)]
MORE = [{"external_id": f"m{n}", "text": f"yak number {n} on the hill"} for n in range(12)]


def seen(home):
    """The texts of the memory with their tags; what another run may find in another order."""
    rows = [json.loads(line) for line in home.done("export", "--user", "ada").splitlines()]
    return sorted((row["text"], *sorted(row["tags"])) for row in rows)


with Home() as home:
    kept, counts = home.folder / "kept", collections.Counter()
    home.ingest("ada", LINES)
    for n in range(3):
        home.done("edit", "--user", "ada", f"n{n}", f"zebra number {n} has a foal")
    home.data.rename(kept)
    more, notes = home.folder / "more.jsonl", home.folder / "notes"
    more.write_text("".join(json.dumps(line) + "\n" for line in MORE))
    notes.mkdir()
    for n in range(5):
        (notes / f"note {n}.md").write_text(f"# Gate {n}\n\nGate {n} closes at {n} o'clock.\n")

    def reset():
        shutil.rmtree(home.data, ignore_errors=True)
        shutil.copytree(kept, home.data)

    own = ["--user", "ada"]
    commands = {
        "learn": ["learn", *own, "Never feed the zebras after eight."],
        "edit": ["edit", *own, "n7", "zebra number 7 has stripes"],
        "edit --tags": ["edit", *own, "n8", "--tags", "striped"],
        "forget": ["forget", *own, "--external-id", "n9"],
        "forget a session": ["forget", *own, "--session", "s1", "--yes"],
        "ingest": ["ingest", *own, str(more)],
        "import": ["import", *own, str(notes)],
        "tags merge": ["tags", *own, "--merge", "herd0", "herd1"],
        "check --repair": ["doctor", "check", *own, "--repair"],
        "rebuild": ["doctor", "rebuild", *own],
    }
    for name, command in commands.items():
        reset()
        before = seen(home)
        ended, traced = home.killed(0, *command)
        if ended.returncode == 2:
            print(f"{name} is no command here: {ended.stderr.strip()}", file=sys.stderr)
            continue
        after = seen(home)
        made = {path.name for path in (home.data / "ada").iterdir()}
        # Many records are written in groups: what stands is what stood, and some of the new.
        gone, new = set(before) - set(after), set(after) - set(before)
        for number in range(1, len(traced) + 1)[:: rounds(1, 7)]:
            reset()
            ended, _ = home.killed(number, *command)
            when = f"{name}, killed at {number} ({traced[number - 1]})"
            if ended.returncode == 0:
                counts["not reached"] += 1
                continue
            assert ended.returncode == 137, f"{when}: {ended.returncode} {ended.stderr}"
            counts[name] += 1
            # Files for other programs may be behind; the memory itself is sound.
            sound = home.run("doctor", "check", *own)
            is_sound = sound.returncode == 0 or "nothing was damaged" in sound.stdout
            assert is_sound, f"{when}: {sound.stdout} {sound.stderr}"
            found = set(seen(home))
            assert set(before) - gone <= found, f"{when}: lost {set(before) - gone - found}"
            assert found <= set(before) | new, f"{when}: from nowhere {found - set(before) - new}"
            again = home.run(*command)
            # What was forgotten before the kill is no longer there to forget.
            is_gone = again.returncode == 2 and again.stdout.startswith("no memory ")
            assert again.returncode in (0, 1) or is_gone, f"{when}: again: {again.stdout} {again.stderr}"
            assert seen(home) == after, f"{when}: it does not do it again"
            left = {p.name for p in (home.data / "ada").iterdir()}
            assert left <= made, f"{when}: left {left - made}"
    print(json.dumps(counts), file=sys.stderr)
    kills = sum(counts.values()) - counts["not reached"]
    print(f"{kills} kills, 0 lost, 0 half, 0 left over", file=sys.stderr)
