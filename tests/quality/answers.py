#!/usr/bin/env python3
"""What a small memory says of itself.

    answers.py REPRISE

The 100 questions of `answers/`, written before the rules that they judge, over 40 notes of a person and
a team: 45 that a note answers (`ans`), 15 with a date and a topic (`date`), 25 about another attribute of
something known (`near`) and 15 about what was never kept (`never`). Printed are, of each kind, how often
the right note is first, and the verdicts. Days without a year are of 2026: run it before September 2027.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).parent / "answers"
base = [sys.argv[1], "--no-daemon", "--data-dir", tempfile.mkdtemp()]
subprocess.run([*base, "ingest", "--user", "u", "--jsonl", here / "records.jsonl"], check=True, capture_output=True)
out = subprocess.run([*base, "recall", "--user", "u", "--queries", here / "queries.jsonl", "--json"],
                     check=True, capture_output=True, text=True).stdout
gold = {row["query_id"]: row for row in map(json.loads, open(here / "gold.jsonl"))}
text = {row["query_id"]: row["query"] for row in map(json.loads, open(here / "queries.jsonl"))}
count = collections.defaultdict(collections.Counter)
for answer in map(json.loads, out.splitlines()):
    row = gold[answer["query_id"]]
    results, verdict, kind = answer["results"], answer["verdict"], row["category"]
    first = bool(results) and results[0]["external_id"] in row["gold"]
    count[kind].update(["asked", verdict] + ["first"] * first + ["shown"] * any(r["shown"] for r in results))
    odd = not first or verdict == "nothing" if row["gold"] else verdict == "relevant"
    if odd and "-v" in sys.argv:
        told = results[0]["text"][:60] if results else ""
        print(f"  {kind} {verdict} {text[answer['query_id']]!r}: {told!r}", answer["notes"])
for kind, of in count.items():
    print(f"{kind}: {of['asked']} asked, right first {of['first']}; relevant {of['relevant']}, weak {of['weak']}, "
          f"nothing {of['nothing']}; with a line for a prompt {of['shown']}")
