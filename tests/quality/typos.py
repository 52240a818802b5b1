#!/usr/bin/env python3
"""How much one mistyped word costs.

    typos.py REPRISE FOLDER ... [--count 500] [--seed 7] [--no-model]

FOLDER holds a folder per store with records.jsonl, queries.jsonl and gold.jsonl (the batch contract's
forms). Of their questions, --count are put twice: as they are, and with one slip in one word of five letters
or more (two letters swapped, one left out, doubled or mistaken for its neighbour on the keyboard; never the
first). Printed is R@10 of both and their ratio. The seed is fixed; needs nothing but Python.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import tempfile

ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def slip(word, dice):
    at = dice.randrange(1, len(word) - 1)
    kind = dice.choice("sodm")
    if kind == "s" and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2:]
    if kind == "o":
        return word[:at] + word[at + 1:]
    if kind == "m":
        row = next((row for row in ROWS if word[at].lower() in row), None)
        if row:
            place = row.index(word[at].lower())
            return word[:at] + row[place - 1 if place else place + 1] + word[at + 1:]
    return word[:at] + word[at] + word[at:]


def mistyped(question, dice):
    words = [m.span() for m in re.finditer(r"(?<![\w./'#@-])[A-Za-z][a-z]{4,}(?![\w/'@-])", question)]
    if not words:
        return None
    start, end = dice.choice(words)
    return question[:start] + slip(question[start:end], dice) + question[end:]


def read(path):
    return [json.loads(line) for line in open(path)]


def ask(base, user, lines, path):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = subprocess.run([*base, "recall", "--user", user, "--queries", path, "--top-k", "10", "--json"],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    answers = map(json.loads, out.splitlines())
    return {a["query_id"]: [r["external_id"] for r in a["results"]] for a in answers}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("reprise")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--no-model", action="store_true")
    options = parser.parse_args()
    dice = random.Random(options.seed)
    asked = []
    stores = sorted(path.parent for folder in options.folders for path in folder.glob("*/gold.jsonl"))
    for number, store in enumerate(stores):
        gold = {row["query_id"]: set(row["gold"]) for row in read(store / "gold.jsonl")
                if row["gold"] and row.get("category") not in (5, "abstention")}
        for query in read(store / "queries.jsonl"):
            if query["query_id"] in gold and (typed := mistyped(query["query"], dice)):
                asked.append((number, query["query_id"], query["query"], typed, gold[query["query_id"]]))
    asked = sorted(dice.sample(asked, min(options.count, len(asked))), key=lambda one: one[:2])
    clean, typed, worse = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        base = [options.reprise, "--data-dir", folder, "--no-daemon"]
        base += ["--no-model"] if options.no_model else []
        lines = pathlib.Path(folder, "lines.jsonl")
        for number, store in enumerate(stores):
            own = [one for one in asked if one[0] == number]
            if not own:
                continue
            user = f"u{number}"
            subprocess.run([*base, "ingest", "--user", user, "--jsonl", store / "records.jsonl"],
                           check=True, stdout=subprocess.DEVNULL)
            answers = [ask(base, user, [{"query_id": one[1], "query": one[which]} for one in own], lines)
                       for which in (2, 3)]
            for _, query, question, slipped, gold in own:
                right = [len(gold & set(answer[query])) / len(gold) for answer in answers]
                clean.append(right[0])
                typed.append(right[1])
                if right[1] < right[0]:
                    worse.append((question, slipped))
    before, after = sum(clean) / len(clean), sum(typed) / len(typed)
    print(f"{len(clean)} questions: R@10 {before:.1%} as they are, {after:.1%} with a slip: {after / before:.1%}")
    for question, slipped in worse:
        print(f"worse: {slipped!r} for {question!r}")


if __name__ == "__main__":
    main()
