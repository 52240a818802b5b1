#!/usr/bin/env python3
"""A daemon that is frozen: each command ends with one sentence, and `serve --replace` ends it."""

import subprocess
import time

from abuse import Home, stop, within

with Home() as home:
    lines = home.folder / "lines.jsonl"
    lines.write_text('{"external_id":"a","text":"the build needs protoc"}\n')
    first = home.serve()
    kept = home.run("ingest", "--user", "ada", "--jsonl", str(lines))
    assert kept.returncode == 0, kept.stderr
    stop(first)
    home.env["REPRISE_DAEMON_PATIENCE"] = "1"
    commands = [
        ["recall", "--user", "ada", "protoc"],
        ["ingest", "--user", "ada", "--jsonl", str(lines)],
        ["forget", "--user", "ada", "--external-id", "a"],
        ["stats", "--user", "ada"],
        ["export", "--user", "ada"],
        ["doctor", "compact", "--user", "ada"],
        ["tags", "--user", "ada"],
        ["show", "--user", "ada", "a"],
        ["backup", "--user", "ada", str(home.folder / "copy.rvf")],
        ["serve", "status"],
        ["serve", "stop"],
        ["serve"],
        ["serve", "token", "list"],
    ]
    for command in commands:
        try:
            ended = home.run(*command, timeout=15)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"`{command[0]}` hangs")
        said = ended.stderr.strip().splitlines()
        assert len(said) <= 1, f"`{command[0]}` says {said}"
        assert ended.returncode == 0 or said, f"`{command[0]}` fails without a word"
    # Also where so many gave up on it that its backlog is full.
    began = time.monotonic()
    second = home.start("serve", "--replace", stderr=subprocess.DEVNULL)
    home.daemons.append(second)
    within(30, lambda: first.poll() is not None, "the frozen daemon was not ended")
    within(30, lambda: home.status().get("pid") == second.pid, "nobody took its place")
    found = home.run("recall", "--user", "ada", "protoc")
    assert "protoc" in found.stdout, found.stderr
