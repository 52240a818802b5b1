#!/usr/bin/env python3
"""`kill -9` of connect and disconnect at any moment: every file is whole, in the mode it had, and
`disconnect` gives back what was there, another program's server of our name included."""

import json
import os
import random
import signal
import stat
import time

from abuse import Home, rounds

SERVERS = '{"mcpServers": {"memory": {"command": "npx", "args": ["server-memory"]}}, "n": 1}\n'
SETTINGS = '{ "theme": "dark" }\n'

with Home() as home:
    draw = random.Random(3)
    files = {home.folder / ".claude.json": SERVERS, home.folder / ".claude/settings.json": SETTINGS}
    (home.folder / ".claude").mkdir()

    def mode(path):
        return stat.S_IMODE(path.stat().st_mode)

    def reset():
        for path, text in files.items():
            path.write_text(text)
            path.chmod(0o600)

    def is_as_it_was(when):
        for path, text in files.items():
            assert path.read_text() == text, f"{when}: {path.name} did not come back"
            assert mode(path) == 0o600, f"{when}: {path.name} has mode {mode(path):o}"

    reset()
    refused = home.run("connect", "claude-code", "--user", "ada")
    assert refused.returncode == 2 and "another program" in refused.stderr, refused.stderr
    is_as_it_was("a refused connect")
    began = time.monotonic()
    connect = ("connect", "claude-code", "--user", "ada", "--replace")
    assert home.run(*connect).returncode == 0, "connect --replace failed"
    whole = time.monotonic() - began
    for path in home.folder.rglob("*reprise*"):
        if path.is_file():
            assert mode(path) == 0o600, f"{path.name} has mode {mode(path):o}"
    assert home.run("disconnect", "claude-code").returncode == 0, "disconnect failed"
    is_as_it_was("disconnect")
    for n in range(rounds(120, 20)):
        command = connect if n % 3 else ("disconnect", "claude-code")
        killed = home.start(*command, stdout=-3, stderr=-3)
        time.sleep(draw.random() * whole * 1.2)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        for path in files:
            json.loads(path.read_text())
        done = home.run("disconnect", "claude-code")
        assert done.returncode == 0, f"round {n}: {done.stderr}"
        is_as_it_was(f"round {n}")
        left = [path.name for path in home.folder.glob(".claude*/*reprise*")]
        assert not left, f"round {n} left {left}"
    broken = home.folder / ".claude/settings.json"
    broken.write_text("{ broken")
    assert home.run(*connect).returncode == 2, "a broken file was taken"
    assert (home.folder / ".claude.json").read_text() == SERVERS, "connect stayed half done"
