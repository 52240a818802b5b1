#!/usr/bin/env python3
"""Whoever reads the first line of a long answer and leaves has not met an error."""

import json
import subprocess

from abuse import Home

with Home() as home:
    lines = home.folder / "lines.jsonl"
    texts = (json.dumps({"text": f"{n} " + "word " * 200}) for n in range(3000))
    lines.write_text("\n".join(texts))
    kept = home.run("ingest", "--user", "ada", "--jsonl", str(lines))
    assert kept.returncode == 0, kept.stderr
    commands = [["export", "--user", "ada", "--format", form] for form in ["jsonl", "json", "yaml"]]
    commands.append(["--json", "recall", "--user", "ada", "--top-k", "500", "word"])
    for daemon in [False, True]:
        if daemon:
            home.serve()
        for command in commands:
            pipe = subprocess.PIPE
            process = home.start(*command, stdout=pipe, stderr=pipe)
            process.stdout.readline()
            process.stdout.close()
            said = process.stderr.read()
            assert process.wait(30) == 0 and not said, f"{command}: {said}"
