#!/usr/bin/env python3
"""Generates look-ups from a store's own records and counts how many find their record first.

    lookups.py REPRISE RECORDS.jsonl ... [--count 500] [--seed 7] [--model]

REPRISE is the binary; every RECORDS.jsonl (ingest form) becomes a memory of its own in a temporary
directory. From its records come questions of eight kinds: a whole external id, its first seven
digits, a hash, an issue, a flag, a path or file name, an error code or version, and an author, each
alone and in a sentence. A look-up is right if the first result is a record that holds what is named
(one of them, where several do). Prints a line per kind and the misses. Without --model the stores
are kept and asked without vectors. Needs nothing but Python.
"""
import argparse
import collections
import json
import random
import re
import subprocess
import tempfile

SENTENCES = {
    "id": ["{}", "commit {}", "what is {}?", "show {}"],
    "prefix": ["{}", "commit {}"],
    "hash": ["{}", "what mentions {}"],
    "issue": ["{}", "issue {}", "which commits mention {}?"],
    "flag": ["{}", "the {} option", "why was {} changed in the search"],
    "path": ["{}", "changes to {}", "what did we do with {} for the tests"],
    "code": ["{}", "error {}", "what is {}"],
    "author": ["{}", "by {}", "commits by {}"],
}
PATTERNS = {
    "hash": r"(?<![\w/.-])(?=[a-f]*\d)[0-9a-f]{7,40}(?![\w/.-])",
    "issue": r"(?<![\w/])#\d+\b",
    "flag": r"(?<![\w-])--[a-z][a-z0-9]+(?:-[a-z0-9]+)*(?![\w-])",
    "path": r"(?<![\w./@-])(?:[\w-]+/)+[\w-]+\.[a-z]{1,4}(?![\w/-])"
            r"|(?<![\w./@-])[\w-]{2,}\.(?:rs|md|toml|sh|py|yml|json)(?![\w/-])",
    "code": r"(?<![\w/.-])E\d{4}\b|(?<![\w/.-])v\d+\.\d+\.\d+(?![\w.-])",
}


def holds(record, kind, what):
    if kind == "author":
        return record.get("metadata", {}).get("author") == what
    if kind in ("id", "prefix"):
        return record["external_id"].startswith(what) or what in record["text"]
    if kind == "hash" and what.startswith(record["external_id"]):
        return True
    pattern = r"(?<![\w])v?" + re.escape(what.lstrip("v") if kind == "code" else what)
    return re.search(pattern, record["text"], re.I) or record["external_id"].startswith(what)


def questions(records, count, dice):
    found = collections.defaultdict(set)
    for record in records:
        if re.fullmatch(r"[0-9a-f]{10,}", record["external_id"]):
            found["id"].add(record["external_id"])
            found["prefix"].add(record["external_id"][:7])
        if author := record.get("metadata", {}).get("author"):
            found["author"].add(author)
        for kind, pattern in PATTERNS.items():
            found[kind].update(re.findall(pattern, record["text"]))
    kinds = sorted(found)
    lists = {kind: sorted(found[kind]) for kind in kinds}
    for kind in kinds:
        dice.shuffle(lists[kind])
    asked = []
    while len(asked) < count and any(lists.values()):
        for kind in kinds:
            if lists[kind] and len(asked) < count:
                what = lists[kind].pop()
                asked.append((kind, what, dice.choice(SENTENCES[kind]).format(what)))
    return asked


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("reprise")
    parser.add_argument("records", nargs="+")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--model", action="store_true")
    options = parser.parse_args()
    dice = random.Random(options.seed)
    right, all_, misses = collections.Counter(), collections.Counter(), []
    share = -(-options.count // len(options.records))
    with tempfile.TemporaryDirectory() as folder:
        base = [options.reprise, "--data-dir", folder, "--no-daemon"]
        base += [] if options.model else ["--no-model"]
        for number, path in enumerate(options.records):
            records = [json.loads(line) for line in open(path)]
            user = f"u{number}"
            subprocess.run(base + ["ingest", "--user", user, "--jsonl", path], check=True,
                           stdout=subprocess.DEVNULL)
            asked = questions(records, share, dice)
            lines = "".join(json.dumps({"query_id": str(at), "query": question}) + "\n"
                            for at, (_, _, question) in enumerate(asked))
            answers = subprocess.run(
                base + ["recall", "--user", user, "--queries", "-", "--top-k", "1", "--json"],
                input=lines, capture_output=True, text=True, check=True).stdout
            by_id = {record["external_id"]: record for record in records}
            for line in answers.splitlines():
                answer = json.loads(line)
                kind, what, question = asked[int(answer["query_id"])]
                first = answer["results"][:1]
                good = first and holds(by_id[first[0]["external_id"]], kind, what)
                all_[kind] += 1
                right[kind] += bool(good)
                if not good:
                    misses.append((question, first and first[0]["text"][:70]))
    for kind in sorted(all_):
        print(f"{kind:<8} {right[kind]:4} of {all_[kind]:4}")
    total = sum(all_.values())
    print(f"{'all':<8} {sum(right.values()):4} of {total:4} = {sum(right.values()) / total:.1%}")
    for question, text in misses:
        print(f"missed: {question!r}: {text!r}")


if __name__ == "__main__":
    main()
