#!/usr/bin/env python3
# Whole: at most 3900 s.
"""Files of other programs, bent at random, come in by `import`, `ingest`, `outcome` and hooks: nothing
panics or hangs, and an odd line costs no line beside it. SECONDS says how long (an hour)."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from abuse import SHORT, Home

SEED = int(os.environ.get("SEED", time.time_ns()))
SECONDS = float(os.environ.get("SECONDS", 20 if SHORT else 3600))
FIXTURES = Path(__file__).parents[3] / "crates/reprise-knowledge/tests/fixtures"
FIXTURES = Path(os.environ.get("FIXTURES", FIXTURES))
# Forms with an object on each line, where each line stands for itself.
OF_LINES = {
    "frames": "ralph_memory.jsonl",
    "server-memory": "bent/server-memory.jsonl",
    "claude-code": "sessions/claude/projects",
    "codex": "sessions/codex/sessions",
    "gemini": "sessions/gemini/tmp/shop/chats",
    "copilot": "bent/events.jsonl",
    "cursor": "bent/cursor.jsonl",
}
PIECES = [b"{", b"}", b"[", b"]", b'"', b"\n", b"null", b"1e999", b"[[", b"]]", b"---\n", b"\\", b"\0",
          b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\\ud83d", b"\xe9", b"\x1b[2J", b"-- ", b"'", b"];",
          b"9" * 400, b"{" * 300, b"\r\n", b"\r", b"\xc3", b"- [a] #", b"| ", b"\t", b"#" * 9]
HOOKS = ["session-start", "user-prompt", "stop", "post-tool", "session-end", "pre-compact"]


def bend(data, dice):
    data = bytearray(data)
    for _ in range(dice.randint(1, 6)):
        at, length = dice.randrange(len(data) + 1), dice.choice([0, 0, 1, 2, 8, 40, 400])
        piece = dice.choice(PIECES) if dice.random() < .7 else dice.randbytes(dice.randint(0, 6))
        data[at:at + length] = piece
    way = dice.random()
    if way < .1:
        return bytes(data)[:dice.randrange(len(data) + 1)]
    if way < .2:
        return bytes(data) + bytes(data)[dice.randrange(len(data) + 1):]
    return bytes(data)


def run(home, what, *words, data=None):
    try:
        ended = home.run_bytes(*words, data=data)
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{what}: it hangs") from late
    said = ended.stderr.decode(errors="replace")
    assert ended.returncode in (0, 1, 2), f"{what}: {ended.returncode} {said}"
    assert "panicked" not in said, f"{what}: {said}"
    return ended


class Bent(Home):
    def clear(self):
        shutil.rmtree(self.data, ignore_errors=True)

    def run_bytes(self, *words, data=None):
        # A daemon that a hook started has a data directory of its own, which stays.
        command = self.command(*words)
        if words[0] in ("hook", "serve"):
            command[command.index(str(self.data))] = str(self.folder / "served")
        else:
            command.append("--no-daemon")
        return subprocess.run(command, env=self.env, input=data or b"",
                              capture_output=True, timeout=60)


def texts(home, what, kind, path, data):
    """What a file gives a memory of its own."""
    path.write_bytes(data)
    home.clear()
    came = run(home, what, "import", "--from", kind, "--user", "ada", "--verbatim", str(path))
    assert came.returncode < 2, f"{what}: {came.stderr}"
    rows = run(home, what, "export", "--user", "ada", "--format", "jsonl").stdout
    return {json.loads(row)["text"] for row in rows.splitlines()}


def of_lines(kind):
    place = FIXTURES / OF_LINES[kind]
    found = [place] if place.is_file() else sorted(place.rglob("*.jsonl"))
    return [one for one in found if one.stat().st_size < 200_000]


with Bent() as home:
    whole = [one for one in sorted(FIXTURES.rglob("*"))
             if one.is_file() and 0 < one.stat().st_size < 200_000]
    end, files, neighbours, hooks = time.monotonic() + SECONDS, 0, 0, 0
    print(f"seed {SEED}, {len(whole)} files to bend", file=sys.stderr, flush=True)
    number = 0
    while time.monotonic() < end:
        number += 1
        dice = random.Random(f"{SEED} {number}")
        turn = dice.random()
        what = f"seed {SEED}, number {number}"
        if turn < .6:
            # A file under the path that it has, which tells what it is.
            one = dice.choice(whole)
            path = home.folder / "bent" / one.relative_to(FIXTURES)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bend(one.read_bytes(), dice))
            run(home, f"{what}, {one.name}", "import", "--dry-run", "--user", "ada", str(path))
            path.unlink()
            files += 1
        elif turn < .75:
            kind = dice.choice(list(OF_LINES))
            one = dice.choice(of_lines(kind))
            path = home.folder / one.name
            if kind == "gemini":
                path = home.folder / "chats" / one.name
                path.parent.mkdir(exist_ok=True)
            lines = one.read_bytes().splitlines(keepends=True)
            before = texts(home, what, kind, path, b"".join(lines))
            # A `$set` of Gemini replaces every message before it.
            odd = bend(dice.choice([line for line in lines if b'"$' not in line]), dice).replace(b"\n", b" ").replace(b"\r", b" ")
            if odd[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in odd[:4]:
                # It says of the whole file that it is in UTF-16.
                odd = b" " * 4 + odd
            at = dice.randrange(len(lines) + 1)
            bent = lines[:at] + [odd + b"\n"] + lines[at:]
            after = texts(home, f"{what}, {one.name}", kind, path, b"".join(bent))
            gone = before - after
            # What was learned from a line quotes it, and goes with it.
            lost = {one for one in gone if not any(one in other for other in gone - {one})}
            # A line of the same name may take another's place, as in its program.
            taken = len(after - before)
            assert len(lost) <= taken, f"{what}, {one.name}, line {at}: lost {lost} by {odd[:200]}"
            neighbours += 1
        elif turn < .9:
            body = (b'{"session_id":"s-1","cwd":"/","hook_event_name":"x","tool_name":"Bash","tool_input":'
                    b'{"command":"ls"},"tool_response":{"stdout":"","stderr":"no"},"prompt":"Never feed '
                    b'the zebras after eight","last_assistant_message":"done"}')
            event = dice.choice(HOOKS)
            run(home, f"{what}, {event}", "hook", event, "--user", "ada", "--deadline-ms", "50",
                data=bend(body, dice))
            hooks += 1
        else:
            line = b'{"text":"a zebra","external_id":"z","tags":["a"],"timestamp":"2026-01-01T00:00:00Z"}\n'
            words = dice.choice([["ingest", "-"], ["outcome", "--jsonl", "-"]])
            run(home, f"{what}, {words[0]}", *words, "--user", "ada", data=bend(line * 3, dice))
            files += 1
        if number % 500 == 0:
            print(f"{files} files, {neighbours} with neighbours, {hooks} hooks", file=sys.stderr, flush=True)
    home.run_bytes("serve", "stop")
    print(f"{files} files, {neighbours} with neighbours, {hooks} hooks in {SECONDS:.0f} s: 0 panics, "
          "0 hangs, no neighbour lost", file=sys.stderr)
