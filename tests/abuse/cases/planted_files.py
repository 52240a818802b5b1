#!/usr/bin/env python3
"""Each file of a lived-in data directory and projection is replaced by a link to a file, to a folder
and to /dev/zero, by a FIFO and by a folder, and every command that touches it is run, a daemon
included: none hangs, none grows, nothing outside of the folder is changed."""

# Whole: at most 3600 s.
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from abuse import Home, rounds, within

# No command may take longer than this, and none may take so much memory.
SECONDS = 10
BYTES = 3 << 30
WHATS = ["link to a file", "link to a folder", "link to /dev/zero", "FIFO", "folder"]
LINE = '{"text": "a line of the planted kind"}\n'


def plant(what, path, outside):
    if what == "link to a file":
        path.symlink_to(outside / "victim")
    elif what == "link to a folder":
        path.symlink_to(outside / "folder")
    elif what == "link to /dev/zero":
        path.symlink_to("/dev/zero")
    elif what == "FIFO":
        os.mkfifo(path)
    else:
        path.mkdir()


def uproot(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class Trial(Home):
    """A data directory, a project with a projection, and beside them what nobody may touch."""

    def __init__(self):
        super().__init__()
        self.outside = self.folder / "outside"
        (self.outside / "folder").mkdir(parents=True)
        (self.outside / "victim").write_text("theirs\n")
        (self.outside / "folder/victim").write_text("theirs too\n")
        self.project = self.folder / "project"
        self.project.mkdir()
        self.config = self.folder / ".config/reprise/config.toml"
        self.config.parent.mkdir(parents=True)
        places = [("sunwell", self.project), ("ai-lessons", self.project / "knowledge.db")]
        places += [("frames", self.project / "frames.jsonl"), ("markdown", self.project / "notes")]
        lines = (
            f'[[projections]]\nuser = "ada"\nkind = "{kind}"\npath = "{path}"\n'
            for kind, path in places
        )
        self.config.write_text("".join(lines))
        self.ran = self.hung = 0
        self.faults = []

    def live(self):
        """Leaves every kind of file that commands leave."""
        self.ingest("ada", [{"external_id": f"e{n}", "text": f"note {n}"} for n in range(5)])
        for text in ["Ask before you delete", "Keep a key for each table"]:
            self.done("learn", "--user", "ada", text)
        learning = json.dumps({"fact": "User has email", "category": "type"})
        self.done("call", "--user", "ada", "add_learning", learning)
        self.done("share", "publish", "--user", "ada", "e1", "--yes")
        self.done("doctor", "rebuild", "--user", "ada")
        self.done("doctor", "rebuild", "--user", "ada", "markdown", "--to", str(self.data / "ada/own"))
        self.done("backup", "--user", "ada", str(self.folder / "copy.rvf"))
        self.done("export", "--user", "ada", "--out", str(self.folder / "export.jsonl"))
        self.done("serve", "token", "add", "laptop")
        self.done("global", "token", "add", "reader", "--user", "ada", "--may", "read")
        self.serve("--idle-exit", "600")
        self.done("recall", "--user", "ada", "which note")
        self.done("serve", "stop")

    def files(self):
        """What may be replaced: every file and the folders of projections."""
        found = []
        for root in [self.data, self.project, self.config.parent]:
            found += [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
        named = ["copy.rvf", "export.jsonl"]
        found += [self.folder / name for name in named]
        folders = [".sunwell", ".sunwell/memory", "notes"]
        found += [self.project / name for name in folders]
        found += [self.data / ".reprise", self.data / ".global", self.data / "ada/.projections"]
        # What old versions wrote and a repository may bring along.
        found += [self.project / ".sunwell/memory/.reprise", self.project / "notes/.reprise"]
        found += [self.data / "ada/memory.rvf.unproven", self.data / ".reprise/tokens.new"]
        return found

    def standing(self):
        """What stands outside, with what it says."""
        found = {}
        for path in [self.outside, *sorted(self.outside.rglob("*"))]:
            said = path.read_bytes() if path.is_file() else None
            found[path] = (said, path.stat().st_mode, path.stat().st_mtime_ns)
        return found

    def commands(self):
        ada = ["--user", "ada"]
        return [
            (["learn", *ada, "Look before you leap"], None),
            (["ingest", *ada, "--jsonl", "-"], LINE),
            (["recall", *ada, "which note"], None),
            (["doctor", "rebuild", *ada], None),
            (["doctor", "rebuild", *ada, "markdown", "--to", str(self.data / "ada/own")], None),
            (["doctor", "check", *ada], None),
            (["doctor"], None),
            (["stats", *ada], None),
            (["serve", "token", "list"], None),
            (["serve", "token", "rotate", "laptop"], None),
            (["global", "token", "list"], None),
            (["share", "publish", *ada, "e2", "--yes"], None),
            (["global", "audit"], None),
            (["share", "list", *ada], None),
            (["backup", *ada, str(self.folder / "copy.rvf")], None),
            (["export", *ada, "--out", str(self.folder / "export.jsonl")], None),
            (["backup", "restore", str(self.folder / "copy.rvf"), "--user", "bob"], None),
            (["backup", "restore", str(self.folder / "copy.rvf"), *ada, "--replace"], None),
            (["forget", *ada, "--external-id", "e3", "--verify"], None),
            (["import", *ada, str(self.project)], None),
            (["serve", "status"], None),
        ]

    def limited(self):
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))

    def take(self, when, command, said):
        """Runs a command to its end, whatever that is."""
        self.ran += 1
        try:
            ended = subprocess.run(
                self.command(*command), env=self.env, input=said or "", capture_output=True,
                text=True, timeout=SECONDS, preexec_fn=self.limited,
            )
        except subprocess.TimeoutExpired:
            self.hung += 1
            self.faults.append(f"{when}: `{' '.join(command[:2])}` hangs")
            return
        if ended.returncode < 0 or "panicked" in ended.stderr:
            why = ended.stderr[:200]
            self.faults.append(f"{when}: `{' '.join(command[:2])}` {ended.returncode}: {why}")

    def served(self, when, path):
        """A daemon that is started over it, where it starts, answers and ends when it is told."""
        self.ran += 1
        daemon = self.start("serve", "--idle-exit", "60", stderr=subprocess.DEVNULL)
        self.daemons.append(daemon)
        socket = None
        end = time.monotonic() + SECONDS
        # The socket of a daemon that was killed may be there still.
        while time.monotonic() < end and daemon.poll() is None and socket is None:
            for found in (self.folder / "reprise").glob("*.sock"):
                try:
                    socket = found if self.local_at(found, "GET", "/health/live")[0] else None
                except OSError:
                    pass
            if socket is None:
                time.sleep(0.02)
        if daemon.poll() is None:
            try:
                assert socket, "no socket that answers"
                assert self.local_at(socket, "GET", "/health/live")[0] == 200
                body = {"text": "through the daemon"}
                self.local_at(socket, "POST", "/v1/users/ada/records", body)
                # Projections are written a moment later.
                time.sleep(0.6)
                assert self.local_at(socket, "GET", "/health/live")[0] == 200
            except (OSError, AssertionError) as error:
                self.hung += 1
                self.faults.append(f"{when}: the daemon does not answer: {error!r}")
            daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.hung += 1
            self.faults.append(f"{when}: the daemon does not end")
            daemon.kill()
            daemon.wait()

    def local_at(self, socket, method, path, body=None):
        import http.client
        import socket as sockets

        from abuse import ask

        connection = http.client.HTTPConnection("localhost", timeout=SECONDS)
        connection.sock = sockets.socket(sockets.AF_UNIX)
        connection.sock.settimeout(SECONDS)
        connection.sock.connect(str(socket))
        return ask(connection, method, path, body, None, ())


with Trial() as home:
    home.live()
    # Everything is put back from here after each trial.
    kept = home.folder.parent / f"{home.folder.name}-kept"
    live = [home.data, home.project, home.config.parent]
    for number, root in enumerate(live):
        shutil.copytree(root, kept / str(number), symlinks=True)
    for name in ["copy.rvf", "export.jsonl"]:
        shutil.copy2(home.folder / name, kept / name)

    shutil.copytree(home.outside, kept / "outside", symlinks=True)

    def reset():
        for number, root in enumerate(live):
            shutil.rmtree(root, ignore_errors=True)
            shutil.copytree(kept / str(number), root, symlinks=True)
        for name in ["copy.rvf", "export.jsonl"]:
            uproot(home.folder / name)
            shutil.copy2(kept / name, home.folder / name)

    try:
        before = home.standing()
        planted = touched = 0
        # What a cloned repository says of itself removes nothing.
        victim = home.outside / "victim"
        names = [str(victim), f"../../../{victim.relative_to(home.folder)}", "kept.md"]
        for place in [home.project / ".sunwell/memory", home.project / "notes"]:
            files = [*names, f"../{victim.relative_to(home.folder)}"]
            (place / ".reprise").write_text(json.dumps({"projection": "x", "files": files}))
            (place / "kept.md").write_text("a person's")
        home.take("a sidecar", ["--no-daemon", *home.commands()[0][0]], None)
        home.served("a sidecar", None)
        assert home.standing() == before, "a sidecar removed what stands outside"
        kept_there = list(home.project.rglob("kept.md"))
        assert len(kept_there) == 2, f"a sidecar removed a person's file: {kept_there}"
        trials = [(path, what) for path in home.files() for what in WHATS]
        # In the short form a few of each kind, all files in turn.
        for number, (path, what) in enumerate(trials):
            if number % rounds(1, 11):
                continue
            reset()
            uproot(path)
            if not path.parent.is_dir():
                continue
            plant(what, path, home.outside)
            planted += 1
            when = f"{what} at {path.relative_to(home.folder)}"
            commands = home.commands()
            for command, said in commands[number % 3 :: rounds(1, 3)]:
                home.take(when, ["--no-daemon", *command], said)
            home.served(when, path)
            if home.standing() != before:
                home.faults.append(f"{when}: something outside was changed")
                touched += 1
                uproot(home.outside)
                shutil.copytree(kept / "outside", home.outside, symlinks=True)
                before = home.standing()
        print(
            f"{planted} replacements of files by {len(WHATS)} kinds of things, {home.ran} commands, "
            f"{home.hung} hung, {touched} times something outside was touched, "
            f"{len(home.faults)} faults", file=sys.stderr,
        )
        for fault in home.faults:
            print(fault, file=sys.stderr)
        assert not home.faults, f"{len(home.faults)} faults, such as {home.faults[0]}"
    finally:
        shutil.rmtree(kept, ignore_errors=True)
