#!/usr/bin/env python3
"""Counts how many prompts whose hook has to start the daemon are given memories, and how long they wait.

Usage: tests/load/cold_hooks.py PATH/TO/reprise [--times 30] [--records 200] [--loops 0] [--models-dir FOLDER]
Each time the daemon is stopped, and one `hook user-prompt` is started as an agent does, in a session of its own. Printed
are how many got lines, p50 and max of the whole process, and how many `stats` counts as having got memories, which is the
same number. --loops keeps that many busy loops running beside.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

FACTS = [
    "The session cookie expired too early, so people had to sign in again",
    "Coupons are rounded once per cart, after the discount of the customer",
    "The deploy key of the mirror is rotated on Mondays by the release bot",
    "The export of invoices writes one file per month into the archive bucket",
]
PROMPTS = [
    "why did people have to sign in again, was it the session cookie?",
    "how are coupons rounded in a cart with a discount?",
    "when is the deploy key of the mirror rotated?",
    "where does the export of invoices write its files?",
]


class Home:
    """A memory of its own."""

    def __init__(self, reprise, models):
        self.folder = tempfile.TemporaryDirectory(prefix="reprise-cold-")
        place = pathlib.Path(self.folder.name)
        self.work = place / "work"
        self.work.mkdir()
        (place / "run").mkdir(mode=0o700)
        self.base = [reprise, "--data-dir", str(place / "data")]
        self.base += ["--models-dir", models] if models else ["--no-model"]
        self.env = {**os.environ, "HOME": str(place), "XDG_RUNTIME_DIR": str(place / "run"), "NO_COLOR": "1"}

    def run(self, *words, given="", check=True):
        return subprocess.run([*self.base, *words], env=self.env, input=given, capture_output=True, text=True,
                              check=check).stdout

    def prompt(self, number):
        """One cold prompt: its milliseconds, and whether it got lines."""
        self.run("serve", "stop", check=False)
        report = {"session_id": f"cold-{number}", "cwd": str(self.work), "hook_event_name": "UserPromptSubmit",
                  "prompt": f"{PROMPTS[number % len(PROMPTS)]} ({number})"}
        began = time.perf_counter()
        given = self.run("hook", "user-prompt", "--user", "ada", given=json.dumps(report))
        return (time.perf_counter() - began) * 1e3, bool(given.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reprise")
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--loops", type=int, default=0)
    parser.add_argument("--models-dir")
    asked = parser.parse_args()
    home = Home(asked.reprise, asked.models_dir)
    lines = [json.dumps({"text": fact}) for fact in FACTS]
    lines += [json.dumps({"text": f"Note {number} of the house: room {number % 7} has {number % 5} lamps"})
              for number in range(asked.records - len(FACTS))]
    home.run("ingest", "--user", "ada", "--jsonl", "-", given="\n".join(lines))
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(asked.loops)]
    try:
        if loops:
            time.sleep(5)
        seen = [home.prompt(number) for number in range(asked.times)]
        load = os.getloadavg()[0]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    # What could not be sent in time is sent by the next process.
    home.run("branch", "sync", "--unsent", check=False)
    time.sleep(1)
    today = json.loads(home.run("--json", "stats", "--user", "ada"))["today"]
    home.run("serve", "stop", check=False)
    times = sorted(took for took, _ in seen)
    given = sum(got for _, got in seen)
    print(f"{asked.times} cold prompts, {asked.records} records, {asked.loops} loops, load {load:.1f}: {given} got lines; "
          f"p50 {statistics.median(times):.0f} ms, max {times[-1]:.0f} ms")
    print(f"stats: {today['with_memory']} of {today['prompts']} got memories, the others {today['missed']}")
    sys.exit(0 if today["with_memory"] == given else 1)


main()
