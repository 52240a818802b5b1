#!/usr/bin/env python3
"""Asks the first question after a start, each time with a cold model on a machine that is far too busy:
`demo`, `recall` after `serve`, MCP's first tool call, the page's first question.

Usage: tests/load/cold.py PATH/TO/reprise [--times 50] [--at-once 25] [--loops 5] [--only FACE]
Needs the installed model (reprise doctor models pull). As many starts as are asked for are in flight at
once; they and a few busy loops are each other's load, whose mean is printed: the processes and threads
that ran or waited for a core, counted in /proc/loadavg while starts were left to begin. Held: every
question is answered; how many of the answers had no vector in time is printed beside.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

QUESTION = "users are logged out at random"
NOTES = [
    "The session cookie expired too early, so people had to sign in again",
    "Coupons are rounded once per cart",
    "The deploy key is rotated on Mondays",
]


class Home:
    """A memory of this round's own: the copy of another, where one is given."""

    def __init__(self, reprise, models, like=None):
        self.folder = tempfile.TemporaryDirectory()
        place = pathlib.Path(self.folder.name)
        self.data = place / "data"
        self.base = [reprise, "--data-dir", str(self.data), "--models-dir", models]
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(place), "HOME": str(place), "NO_COLOR": "1"}
        if like:
            shutil.copytree(like.data, self.data)
            return
        notes = place / "notes.jsonl"
        notes.write_text("".join(json.dumps({"text": text}) + "\n" for text in NOTES))
        self.run("ingest", "--user", "ada", str(notes))

    def run(self, *words):
        return subprocess.run(
            [*self.base, *words], env=self.env, capture_output=True, text=True, check=True
        ).stdout

    def start(self, *words, **pipes):
        return subprocess.Popen([*self.base, *words], env=self.env, text=True, **pipes)

    def serve(self):
        """Starts a daemon and returns as soon as it says that it serves."""
        daemon = self.start("serve", "--idle-exit", "60", stderr=subprocess.PIPE)
        for line in daemon.stderr:
            if line.startswith("serving"):
                return daemon
        raise RuntimeError("the daemon ended")


def demo(home):
    said = home.run("demo")
    assert "fixed with a mutex" in said, said
    return "degraded" not in said


def recall(home):
    daemon = home.serve()
    try:
        answer = json.loads(home.run("--json", "recall", "--user", "ada", QUESTION))
        assert answer["results"], answer
        return not answer["degraded"]
    finally:
        daemon.kill()
        daemon.wait()


def mcp(home):
    server = home.start("mcp", "--user", "ada", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    for number, (method, parameters) in enumerate(
        [("initialize", hello), ("tools/call", {"name": "recall", "arguments": {"query": QUESTION}})]
    ):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
    server.stdin.close()
    server.wait()
    subprocess.run([*home.base, "stop"], env=home.env, capture_output=True, check=False)
    assert not answer["result"].get("isError"), answer
    assert NOTES[0] in json.dumps(answer), answer
    return "embedder was late" not in json.dumps(answer)


def page(home):
    daemon = home.serve()
    try:
        link = [word for word in home.run("open", "--print", "--user", "ada").split() if "http://" in word][0]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(link).read()
        root = "/".join(link.split("/")[:3])
        shown = opener.open(f"{root}/search?q={QUESTION.replace(' ', '+')}").read().decode()
        assert "session cookie" in shown, shown
        return "embedder was late" not in shown
    finally:
        daemon.kill()
        daemon.wait()


FACES = {"demo": demo, "recall": recall, "mcp": mcp, "page": page}


class Load:
    """What ran or waited for a core, counted five times a second until it is asked for the mean."""

    def __init__(self):
        self.seen = []
        self.over = threading.Event()
        self.counting = threading.Thread(target=self.count, daemon=True)
        self.counting.start()

    def count(self):
        while not self.over.wait(0.2):
            # The process that reads this counts as well; it is not part of the load.
            running = pathlib.Path("/proc/loadavg").read_text().split()[3].split("/")[0]
            self.seen.append(int(running) - 1)

    def mean(self):
        self.over.set()
        self.counting.join()
        return statistics.mean(self.seen) if self.seen else 0.0


def ask(face, reprise, models, like):
    """One start and its first question: what went wrong, whether a vector was in time, and the seconds."""
    home = Home(reprise, models, like)
    began = time.monotonic()
    wrong, whole = None, False
    try:
        whole = FACES[face](home)
    except (AssertionError, subprocess.CalledProcessError, OSError, RuntimeError, ValueError) as error:
        wrong = f"{error} {getattr(error, 'stderr', '')}"
    return wrong, whole, time.monotonic() - began


def measure(face, asked, reprise, models, like):
    """Prints a face's line and returns how many of its questions were not answered."""
    with concurrent.futures.ThreadPoolExecutor(asked.at_once) as workers:
        load = Load()
        rounds = [workers.submit(ask, face, reprise, models, like) for _ in range(asked.times)]
        # The last ones have fewer and fewer beside them: the mean is of the time before.
        left = asked.times - asked.at_once
        for done, _ in enumerate(concurrent.futures.as_completed(rounds), 1):
            if done == max(left, 1):
                mean = load.mean()
        results = [each.result() for each in rounds]
    for wrong, _, _ in results:
        if wrong:
            print(f"{face}: {wrong}")
    failed = sum(1 for wrong, _, _ in results if wrong)
    whole = sum(1 for _, whole, _ in results if whole)
    seconds = sorted(seconds for _, _, seconds in results)
    print(
        f"{face:<7} {asked.times - failed} of {asked.times} answered, {whole} with a vector,"
        f" {statistics.median(seconds):.1f} s at the median, at most {seconds[-1]:.1f} s; mean load {mean:.1f}",
        flush=True,
    )
    return failed


FACES = {"demo": demo, "recall": recall, "mcp": mcp, "page": page}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("reprise")
    arguments.add_argument("--times", type=int, default=50)
    arguments.add_argument("--at-once", type=int, default=25)
    arguments.add_argument("--loops", type=int, default=5)
    arguments.add_argument("--only", choices=FACES)
    asked = arguments.parse_args()
    reprise = os.path.realpath(asked.reprise)
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    models = os.environ.get("REPRISE_MODELS_DIR", f"{cache}/reprise/models")
    like = Home(reprise, models)
    # Ended from outside, it ends its loops as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(asked.loops)]
    try:
        faces = [asked.only] if asked.only else FACES
        failed = sum(measure(face, asked, reprise, models, like) for face in faces)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
