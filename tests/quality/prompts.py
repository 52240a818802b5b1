#!/usr/bin/env python3
"""What `hook user-prompt` really puts into a prompt.

    prompts.py REPRISE NAME=OWN:FOREIGN ... [-v]

OWN and FOREIGN are folders with records, queries and gold as JSONL. Each memory is filled with OWN's
records; then 80 of its answerable questions and 80 questions of FOREIGN are sent as prompts, each in a
session of its own, and kept as hooks keep them; then 40 of its own once more. Printed are the lines of
an own prompt and how many of them answer, how often a right one is among them and first, how often a
foreign prompt gets any, and of the second time how often the right line is first (in brackets: of the
same questions the first time) and how often a kept prompt is. -v names the lines of foreign prompts.
"""
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r"^- \[[^\]]*?([0-9A-HJKMNP-TV-Z]{26})", re.M)


def read(path):
    return [json.loads(line) for line in open(path)]


class Memory:
    def __init__(self, binary, name, home):
        self.binary, self.name, self.home = binary, name, home
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.environment = dict(os.environ, HOME=str(home), XDG_RUNTIME_DIR=str(home / "run"), XDG_CACHE_HOME=cache)

    def run(self, *arguments, **more):
        told = subprocess.run([self.binary, *arguments, "--user", self.name], env=self.environment,
                              check=True, capture_output=True, text=True, **more)
        return told.stdout

    def records(self):
        return {row["id"]: row for row in map(json.loads, self.run("export", "--format", "jsonl").splitlines())}

    def prompt(self, session, text):
        """The ids of the lines that a prompt gets."""
        report = {"session_id": f"{self.name}-{session}", "cwd": str(self.home / "work"),
                  "hook_event_name": "UserPromptSubmit", "prompt": text}
        hook = ["hook", "user-prompt", "--text", "--deadline-ms", "4000"]
        return LINE.findall(self.run(*hook, input=json.dumps(report)))


def ask(memory, own, foreign, verbose):
    """Counts of one memory."""
    memory.run("ingest", "--jsonl", str(own / "records.jsonl"))
    outside = {key: row.get("external_id") for key, row in memory.records().items()}
    gold = {row["query_id"]: set(row["gold"]) for row in read(own / "gold.jsonl")
            if row["gold"] and row.get("category") != 5}
    asked = [(row["query"], gold[row["query_id"]]) for row in read(own / "queries.jsonl") if row["query_id"] in gold]
    random.shuffle(asked)
    others = [row["query"] for row in read(foreign / "queries.jsonl")]
    random.shuffle(others)
    count, first = collections.Counter(), {}
    for number, (text, right) in enumerate(asked[:80]):
        found = [outside.get(line) in right for line in memory.prompt(number, text)]
        first[text] = bool(found) and found[0]
        count.update(own=1, lines=len(found), answer=sum(found), right=any(found), first=first[text])
    given = [(text, memory.prompt(1000 + number, text)) for number, text in enumerate(others[:80])]
    count.update(foreign=len(given), loud=sum(bool(lines) for _, lines in given))
    if verbose:
        held = memory.records()
        for text, lines in given:
            if lines:
                print("  ", repr(text[:80]), [held[line]["text"][:60] for line in lines])
    for number, (text, right) in enumerate(asked[:40]):
        found = [outside.get(line) for line in memory.prompt(2000 + number, text)]
        count.update(again=1, again_first=bool(found) and found[0] in right, before=first[text],
                     echo=bool(found) and found[0] is None)
    return count


def told(name, count):
    share = lambda part, whole: f"{100 * count[part] / max(1, count[whole]):.1f} %"
    print(f"{name}: {count['lines'] / count['own']:.2f} lines, {share('answer', 'lines')} answer; right in "
          f"{share('right', 'own')}, first {share('first', 'own')}; foreign {share('loud', 'foreign')}; "
          f"again right first {share('again_first', 'again')} ({share('before', 'again')}), a kept prompt "
          f"{share('echo', 'again')}", flush=True)


def main():
    random.seed(7)
    home = pathlib.Path(tempfile.mkdtemp())
    (home / "work").mkdir()
    (home / "run").mkdir(mode=0o700)
    total = collections.Counter()
    verbose = "-v" in sys.argv
    for argument in sys.argv[2:]:
        if argument == "-v":
            continue
        name, folders = argument.split("=")
        own, foreign = map(pathlib.Path, folders.split(":"))
        memory = Memory(sys.argv[1], name, home)
        count = ask(memory, own, foreign, verbose)
        told(name, count)
        total.update(count)
    told("all", total)
    subprocess.run([sys.argv[1], "serve", "stop"], env=memory.environment, capture_output=True)


main()
