#!/usr/bin/env python3
"""What a memory of chats and lessons finds, against each kind in a memory of its own.

    mixed.py REPRISE EVAL-FOLDER [--models-dir DIR]

Six pairs of a chat and a log of commits or commands, from whole stores down to thirty records, and one of
four kinds, each ingested alone and together; every question of one part is asked of that part alone and of
all. The terminal's are asked once more as "Which command did I use to ...?".
Printed are R@1/R@5/R@10 of the answerable questions (at most 90 a part, the first of the file).
Which records a cut part keeps is drawn with seed 1. EVAL-FOLDER holds CORPUS/STORE/{records,
queries,gold}.jsonl as `reprise-lab eval` reads them.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile

QUESTIONS = 90
# The parts of each: store, and how many records of it (None: all; a chat is cut after the first).
PAIRS = [
    (("locomo-dev/conv-26", None), ("commits-dev/fd", None)),
    (("beam-dev/chat-2", None), ("shell-dev/shell-a", None)),
    (("locomo-dev/conv-30", None), ("commits-dev/fd", 40)),
    (("beam-dev/chat-3", None), ("shell-dev/shell-a", 60)),
    (("locomo-dev/conv-41", 30), ("shell-dev/shell-a", 300)),
    (("beam-dev/chat-4", 20), ("commits-dev/bat", 30)),
    (("shell-dev/shell-a", None), ("locomo-dev/conv-30", None), ("notes-dev/conv-41", None), ("commits-dev/fd", None)),
]


def lines(path):
    return [json.loads(line) for line in open(path)]


def part(folder, store, most, name):
    records, queries = lines(folder / store / "records.jsonl"), lines(folder / store / "queries.jsonl")
    gold = {row["query_id"]: {f"{name}.{g}" for g in row["gold"]}
            for row in lines(folder / store / "gold.jsonl")
            if row["gold"] and row.get("category") not in (5, "abstention")}
    for record in records:
        record["external_id"] = f"{name}.{record['external_id']}"
        record["session_id"] = f"{name}.{record.get('session_id', '')}"
    queries = [query for query in queries if query["query_id"] in gold]
    if most and store.split("/")[0] in ("locomo-dev", "beam-dev"):
        records = records[:most]
    elif most:
        draw, wanted = random.Random(1), set()
        for query in draw.sample(queries, len(queries)):
            if len(wanted) >= most // 2:
                break
            wanted |= gold[query["query_id"]]
        rest = [r["external_id"] for r in records if r["external_id"] not in wanted]
        wanted |= set(draw.sample(rest, max(0, most - len(wanted))))
        records = [r for r in records if r["external_id"] in wanted]
    held = {r["external_id"] for r in records}
    queries = [query for query in queries if gold[query["query_id"]] <= held]
    return records, queries[:QUESTIONS], gold


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("reprise")
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--models-dir")
    given = arguments.parse_args()
    work = pathlib.Path(tempfile.mkdtemp())
    base = [given.reprise, "--no-daemon", "--data-dir", str(work / "data")]
    if given.models_dir:
        base += ["--models-dir", given.models_dir]

    def keep(user, records):
        path = write(work / "records.jsonl", records)
        subprocess.run([*base, "ingest", "--user", user, "--jsonl", path],
                       check=True, capture_output=True)

    def found(user, queries, gold):
        path = write(work / "queries.jsonl", queries)
        told = subprocess.run([*base, "recall", "--user", user, "--queries", path, "--top-k", "10",
                               "--json"], check=True, capture_output=True, text=True).stdout
        shares = []
        for answer in map(json.loads, told.splitlines()):
            ids, wanted = [r["external_id"] for r in answer["results"]], gold[answer["query_id"]]
            shares.append([bool(wanted & set(ids[:1]))]
                          + [len(wanted & set(ids[:k])) / len(wanted) for k in (5, 10)])
        return "/".join(f"{100 * sum(column) / len(shares):.1f}" for column in zip(*shares))

    def plainly(query):
        text = query["query"]
        return {**query, "query": f"Which command did I use to {text[0].lower()}{text[1:]}?"}

    for number, pair in enumerate(PAIRS):
        parts = [part(given.folder, *one, name) for one, name in zip(pair, "abcd")]
        keep(f"both{number}", [record for records, _, _ in parts for record in records])
        for name, (store, _), (records, queries, gold) in zip("abcd", pair, parts):
            keep(f"{name}{number}", records)
            asked = {"": queries}
            if len(pair) == 4 and store.startswith("shell"):
                asked[", plainly"] = [plainly(query) for query in queries]
            for how, queries in asked.items():
                if queries:
                    alone = found(f"{name}{number}", queries, gold)
                    both = found(f"both{number}", queries, gold)
                    print(f"{store:20} {len(records):5} records, {len(queries):2} questions{how}, "
                          f"R@1/5/10 alone {alone}, beside the other {both}", flush=True)


if __name__ == "__main__":
    main()
