#!/usr/bin/env python3
"""compact, restore, backup and merge are killed, and fail, at each of their renames and syncs: a
memory and a backup are what they were or what they were to be, and the command then succeeds."""

import shutil

from abuse import Home

KEPT = [f"note {n}" for n in range(40)]
OLD = KEPT[:25]
MERGED = KEPT[5:] + ["tried on the branch"]
COPY = "copy.rvf"


def prepare(home):
    """A memory with a backup of before, a few records forgotten, and a branch that went on."""
    note = lambda text: {"external_id": text, "text": text}
    home.ingest("ada", map(note, OLD))
    home.done("backup", "--user", "ada", str(home.folder / COPY))
    home.ingest("ada", map(note, KEPT[25:]))
    for text in KEPT[:5]:
        home.done("forget", "--user", "ada", "--external-id", text)
    home.done("branch", "fork", "--user", "ada", "idea")
    home.ingest("ada+idea", [note("tried on the branch")])


def in_copy(home):
    """What the backup has; None where there is none."""
    copy = home.folder / COPY
    if not copy.exists():
        return None
    home.done("restore", str(copy), "--user", "looked-at")
    texts = home.texts("looked-at")
    shutil.rmtree(home.data / "looked-at")
    return texts


# Each command, what it makes of ada's memory, and of the backup.
NOW = sorted(KEPT[5:])
COMMANDS = [
    (["compact", "--user", "ada"], NOW, OLD),
    (["restore", "{copy}", "--user", "ada", "--replace"], OLD, OLD),
    (["backup", "--user", "ada", "{copy}"], NOW, NOW),
    (["backup", "--all", "{folder}/all"], NOW, OLD),
    (["branch", "merge", "--user", "ada", "idea"], MERGED, OLD),
]

with Home() as home:
    prepare(home)
    kept = home.folder / "kept"
    home.data.rename(kept)
    shutil.copy(home.folder / COPY, kept / COPY)

    def reset():
        shutil.rmtree(home.data, ignore_errors=True)
        shutil.rmtree(home.folder / "all", ignore_errors=True)
        shutil.copytree(kept, home.data)
        (home.data / COPY).rename(home.folder / COPY)

    for command, after, copied in COMMANDS:
        command = [part.format(copy=home.folder / COPY, folder=home.folder) for part in command]
        reset()
        trace = home.folder / "trace"
        trace.write_text("")
        home.done(*command, shim={"SHIM_TRACE": trace})
        steps = trace.read_text().splitlines()
        assert any("sync" in step for step in steps), f"{command[0]} syncs nothing: {steps}"
        for number, step in enumerate(steps, 1):
            for how in ["SHIM_KILL", "SHIM_FAIL"]:
                reset()
                ended = home.run(*command, shim={how: number})
                when = f"{command[0]}, {how} at {number} ({step})"
                assert "panicked" not in ended.stderr, f"{when}: {ended.stderr}"
                if how == "SHIM_KILL":
                    assert ended.returncode == -9, f"{when}: was not killed"
                elif ended.returncode != 0:
                    assert len(ended.stderr.strip().splitlines()) == 1, f"{when}: {ended.stderr}"
                said_done = ended.returncode == 0
                home.done("check", "--user", "ada")
                texts, there = home.texts("ada"), in_copy(home)
                assert texts in ([sorted(after)] if said_done else [NOW, sorted(after)]), \
                    f"{when}: {len(texts)} records"
                assert there in ([sorted(copied)] if said_done else [sorted(OLD), sorted(copied)]), \
                    f"{when}: the backup has {there and len(there)} records"
                home.done(*command)
                assert home.texts("ada") == sorted(after), f"{when}: not done the second time"
                assert in_copy(home) == sorted(copied), f"{when}: no backup the second time"
                home.ingest("ada", [{"text": "and on it goes"}])
                left = {path.name for path in (home.data / "ada").iterdir()}
                left -= {"memory.rvf", "memory.rvf.before-restore"}
                assert not left, f"{when}: left {left}"
