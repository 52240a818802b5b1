#!/usr/bin/env python3
"""A transcript of 2 GB with one line of 20 MB, looked at before it comes in:
python3 tests/load/huge_transcript.py target/debug/reprise [megabytes]

Writes one session in Claude Code's form, most of it what tools printed, as the long ones are, and runs
`import --dry-run` on it. Fails where the program holds more than 400 MB, where the line that is too long
is not told by its number, or where a turn behind it is missing. Needs as much room in TMPDIR.
"""
import json, os, resource, shutil, subprocess, sys, tempfile, time

BINARY = os.path.abspath(sys.argv[1])
SIZE = int(sys.argv[2] if len(sys.argv) > 2 else 2_000) * 1_000_000
LONG = 20_000_000
PRINTED = 40_000
RESIDENT_MAX = 400_000_000


def main():
    home = tempfile.mkdtemp()
    try:
        look(home)
    finally:
        shutil.rmtree(home)


def look(home):
    transcript = f"{home}/.claude/projects/-work-shop/s.jsonl"
    os.makedirs(os.path.dirname(transcript))
    long_line, turns = write(transcript)
    print(f"{os.path.getsize(transcript) / 1e6:.0f} MB, {turns} turns, line {long_line} has {LONG / 1e6:.0f} MB")
    env = {"HOME": home, "PATH": os.environ["PATH"], "NO_COLOR": "1"}
    words = ["--no-model", "--json", "import", "--user", "ada", "--dry-run", transcript]
    began = time.monotonic()
    done = subprocess.run([BINARY, *words], env=env, cwd=home, capture_output=True, text=True)
    took = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"{took:.0f} s, {peak / 1e6:.0f} MB at most; asked: {RESIDENT_MAX / 1e6:.0f}")
    # A line that did not come in is exit 1.
    assert done.returncode in (0, 1), (done.returncode, done.stderr[-2000:])
    told = json.loads(done.stdout.splitlines()[-1])
    print({name: value for name, value in told.items() if isinstance(value, (int, float))})
    said = done.stdout + done.stderr
    assert f":{long_line}" in said, f"line {long_line} is not told: {said[-2000:]}"
    assert peak <= RESIDENT_MAX, f"{peak / 1e6:.0f} MB"
    assert told["inserted"] == turns, (told, turns)


def write(path):
    """The number of the line that is too long, and how many turns are to come in."""
    number, turns, size, long_line = 0, 0, 0, None
    printed = "the build prints a line of no interest to anybody\n" * (PRINTED // 50)
    with open(path, "w") as file:
        def line(kind, content, **more):
            nonlocal number, size
            number += 1
            message = {"id": f"m{number}", "role": kind, "content": content}
            text = json.dumps({"type": kind, "uuid": f"u{number}", "parentUuid": f"u{number - 1}", "sessionId": "s",
                               "cwd": "/work/shop", "timestamp": "2026-11-25T10:00:00Z", "message": message, **more})
            size += len(text) + 1
            file.write(text + "\n")

        while size < SIZE:
            line("user", f"Please look at part {number} of the build, it is slow again")
            line("assistant", [{"type": "text", "text": f"I look at part {number} and at what it prints."},
                               {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": "/x"}}])
            line("user", [{"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": printed}])
            turns += 2
            if long_line is None and size > SIZE // 2:
                line("assistant", [{"type": "text", "text": "a word of a line too long " * (LONG // 26)}])
                long_line = number
    return long_line, turns


if __name__ == "__main__":
    main()
