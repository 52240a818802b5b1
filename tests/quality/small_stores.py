#!/usr/bin/env python3
"""How far `score` can be believed in a store of few records.

    small_stores.py REPRISE FOLDER ...

FOLDER holds a folder per store with records.jsonl, queries.jsonl and gold.jsonl (the batch contract's
forms). Windows of so many consecutive records become stores of their own, asked every question whose
gold lies within; printed are the probability said of the first result and how often it was right, the
same over the first twenty, and how often "nothing relevant" was said although there is an answer.
Then how often the answer was said to be relevant: of those whose first result is right, and of
questions of the other folders, which nothing in the window answers. The seed is fixed.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

WINDOWS = ((1, 30), (3, 20), (6, 30), (15, 30), (40, 20), (100, 8))
QUESTIONS_MAX = 30
# Questions of each other folder.
FOREIGN = 4


def read(path):
    return [json.loads(line) for line in open(path)]


def load(folder):
    gold = {row["query_id"]: set(row["gold"]) for row in read(folder / "gold.jsonl")
            if row["gold"] and row.get("category") not in (5, "abstention")}
    queries = {row["query_id"]: row for row in read(folder / "queries.jsonl")}
    return read(folder / "records.jsonl"), gold, queries


def window_of(size, records, gold):
    """A window around the gold of a random question, with the questions that it answers."""
    if len(records) < size:
        return None
    place = {record["external_id"]: at for at, record in enumerate(records)}
    places = [place[g] for g in gold[random.choice(list(gold))] if g in place]
    if not places or max(places) - min(places) >= size:
        return None
    low = max(0, max(places) - size + 1)
    high = min(min(places), len(records) - size)
    if low > high:
        return None
    at = random.randint(low, high)
    window = records[at:at + size]
    ids = {record["external_id"] for record in window}
    return window, [query for query in gold if gold[query] <= ids][:QUESTIONS_MAX]


def ask(binary, data, user, window, queries):
    lines = pathlib.Path(data, "lines.jsonl")
    command = [binary, "--data-dir", data, "--no-daemon"]
    lines.write_text("\n".join(map(json.dumps, window)))
    subprocess.run([*command, "ingest", "--user", user, "--jsonl", lines],
                   check=True, capture_output=True)
    lines.write_text("\n".join(map(json.dumps, queries)))
    answered = subprocess.run(
        [*command, "recall", "--user", user, "--queries", lines, "--top-k", "20", "--json"],
        check=True, capture_output=True, text=True)
    return [json.loads(line) for line in answered.stdout.splitlines()]


def mean(values):
    return sum(values) / max(1, len(values))


def main():
    binary, *folders = sys.argv[1:]
    random.seed(5)
    all_stores = {folder: [load(f) for f in sorted(folder.iterdir()) if (f / "gold.jsonl").exists()]
                  for folder in map(pathlib.Path, folders)}
    for folder, stores in all_stores.items():
        others = [store for other, stores in all_stores.items() if other != folder for store in stores]
        for size, count in WINDOWS:
            first, all_twenty, nothing, right_first, foreign = [], [], [], [], []
            with tempfile.TemporaryDirectory() as data:
                for number in range(count):
                    records, gold, queries = random.choice(stores)
                    found = window_of(size, records, gold)
                    if not found or not found[1]:
                        continue
                    window, asked = found
                    wanted = [queries[query] for query in asked]
                    strange = [{**other[2][query], "query_id": ""} for other in others
                               for query in random.sample(list(other[1]), FOREIGN)]
                    for answer in ask(binary, data, f"w{number}", window, wanted + strange):
                        relevant = answer["verdict"] == "relevant"
                        if not answer["query_id"]:
                            foreign.append(relevant)
                            continue
                        right = gold[answer["query_id"]]
                        rows = [(r["score"], r["external_id"] in right) for r in answer["results"]]
                        first += rows[:1]
                        all_twenty += rows
                        nothing.append(answer["nothing_relevant"])
                        if rows and rows[0][1]:
                            right_first.append(relevant)
            said, true = (mean([row[part] for row in first]) for part in (0, 1))
            said_all, true_all = (mean([row[part] for row in all_twenty]) for part in (0, 1))
            print(f"{folder.name:12} {size:4} records, {len(first):4} questions: first said {said:.2f}"
                  f" true {true:.2f}; all said {said_all:.2f} true {true_all:.2f};"
                  f" nothing said {mean(nothing):.2f}; relevant said of right {mean(right_first):.3f}"
                  f" of foreign {mean(foreign):.3f}", flush=True)


if __name__ == "__main__":
    main()
