#!/usr/bin/env python3
"""connect and disconnect are killed, and fail, at each of their renames and syncs: every file is
whole, in the mode it had, and `disconnect` gives back what was there, another program's server of
our name included."""

import json
import stat

from abuse import Home

SERVERS = '{"mcpServers": {"memory": {"command": "npx", "args": ["server-memory"]}}, "n": 1}\n'
SETTINGS = '{ "theme": "dark" }\n'

with Home() as home:
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
    connect = ("connect", "claude-code", "--user", "ada", "--replace")
    assert home.run(*connect).returncode == 0, "connect --replace failed"
    for path in home.folder.rglob("*reprise*"):
        if path.is_file():
            assert mode(path) == 0o600, f"{path.name} has mode {mode(path):o}"
    assert home.run("connect", "claude-code", "--undo").returncode == 0, "disconnect failed"
    is_as_it_was("disconnect")
    trace = home.folder / "trace"
    for command in [connect, ("connect", "claude-code", "--undo")]:
        if command is not connect:
            home.done(*connect)
        trace.write_text("")
        home.done(*command, shim={"SHIM_TRACE": trace})
        home.done("connect", "claude-code", "--undo")
        steps = trace.read_text().splitlines()
        assert any(step.startswith("rename") for step in steps), steps
        for number, step in enumerate(steps, 1):
            for how in ["SHIM_KILL", "SHIM_FAIL"]:
                when = f"{command[-1]}, {how} at {number} ({step})"
                if command is not connect:
                    home.done(*connect)
                ended = home.run(*command, shim={how: number})
                assert how == "SHIM_FAIL" or ended.returncode == -9, f"{when}: was not killed"
                assert "panicked" not in ended.stderr, f"{when}: {ended.stderr}"
                if command is connect and ended.returncode > 0:
                    is_as_it_was(f"{when}, which was refused")
                for path in files:
                    json.loads(path.read_text())
                home.done("connect", "claude-code", "--undo")
                is_as_it_was(when)
                left = [path.name for path in home.folder.glob(".claude*/*reprise*")]
                left += [path.name for path in home.folder.glob(".claude.json.*")]
                assert not left, f"{when} left {left}"
    broken = home.folder / ".claude/settings.json"
    broken.write_text("{ broken")
    assert home.run(*connect).returncode == 2, "a broken file was taken"
    assert (home.folder / ".claude.json").read_text() == SERVERS, "connect stayed half done"
