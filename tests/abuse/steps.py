"""A memory with a branch and a backup, the commands that put one file in another's place, and what
may stand there after one of them was killed or failed at one of its renames and syncs."""

import shutil

KEPT = [f"note {n}" for n in range(40)]
OLD = KEPT[:25]
NOW = sorted(KEPT[5:])
MERGED = sorted([*NOW, "tried on the branch"])
COPY = "copy.rvf"
# Each command, what it makes of ada's memory, and of the backup.
COMMANDS = [
    (["doctor", "compact", "--user", "ada"], NOW, OLD),
    (["backup", "restore", "{copy}", "--user", "ada", "--replace"], OLD, OLD),
    (["backup", "--user", "ada", "{copy}"], NOW, NOW),
    (["backup", "--all", "{folder}/all"], NOW, OLD),
    (["branch", "merge", "--user", "ada", "idea"], MERGED, OLD),
]


class Steps:
    def __init__(self, home):
        """A memory with a backup of before, a few records forgotten, and a branch that went on."""
        self.home = home
        self.trace = home.folder / "trace"
        note = lambda text: {"external_id": text, "text": text}
        home.ingest("ada", map(note, OLD))
        home.done("backup", "--user", "ada", str(home.folder / COPY))
        home.ingest("ada", map(note, KEPT[25:]))
        for text in KEPT[:5]:
            home.done("forget", "--user", "ada", "--external-id", text)
        home.done("branch", "fork", "--user", "ada", "idea")
        home.ingest("ada+idea", [note("tried on the branch")])
        self.kept = home.folder / "kept"
        home.data.rename(self.kept)
        shutil.copy2(home.folder / COPY, self.kept / COPY)

    def reset(self):
        shutil.rmtree(self.home.data, ignore_errors=True)
        shutil.rmtree(self.home.folder / "all", ignore_errors=True)
        shutil.copytree(self.kept, self.home.data)
        (self.home.data / COPY).rename(self.home.folder / COPY)
        self.trace.write_text("")

    def commands(self):
        places = {"copy": self.home.folder / COPY, "folder": self.home.folder}
        for command, after, copied in COMMANDS:
            yield [part.format(**places) for part in command], sorted(after), sorted(copied)

    def traced(self):
        return self.trace.read_text().splitlines()

    def in_copy(self):
        """What the backup has; None where there is none."""
        copy = self.home.folder / COPY
        if not copy.exists():
            return None
        self.home.done("backup", "restore", str(copy), "--user", "looked-at")
        texts = self.home.texts("looked-at")
        shutil.rmtree(self.home.data / "looked-at")
        return texts

    def look(self, when, ended, after, copied):
        """What stands there is what was or what was to be, and the latter where that was said."""
        said_done = ended.returncode == 0
        if 0 < ended.returncode < 128:
            assert "panicked" not in ended.stderr, f"{when}: {ended.stderr}"
            assert len(ended.stderr.strip().splitlines()) == 1, f"{when}: {ended.stderr}"
        self.home.done("doctor", "check", "--user", "ada")
        texts, there = self.home.texts("ada"), self.in_copy()
        assert texts in ([after] if said_done else [NOW, after]), f"{when}: {len(texts)} records"
        assert there in ([copied] if said_done else [sorted(OLD), copied]), \
            f"{when}: the backup has {there and len(there)} records"

    def again(self, when, command, after, copied):
        """The command goes through now, and so does a write; nothing is left lying about."""
        self.home.done(*command)
        assert self.home.texts("ada") == after, f"{when}: not done the second time"
        assert self.in_copy() == copied, f"{when}: no backup the second time"
        self.home.ingest("ada", [{"text": "and on it goes"}])
        assert len(self.home.texts("ada")) == len(after) + 1, f"{when}: it takes nothing more"
        left = {path.name for path in (self.home.data / "ada").iterdir()}
        left -= {"memory.rvf", "changes.jsonl"}
        left = [name for name in left if not name.startswith("memory.rvf.before-restore")]
        assert not left, f"{when}: left {left}"
