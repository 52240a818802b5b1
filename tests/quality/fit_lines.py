#!/usr/bin/env python3
"""Fits what `reprise-rank/src/answer.rs` asks of a line in a prompt, and says what it would put in.

    fit_lines.py REPRISE EVAL-FOLDER STORE ...          (pip install numpy)

STORE is CORPUS/NAME below EVAL-FOLDER, with records, queries and gold as the batch contract has them.
Each store is asked up to 150 questions of its own that it can answer and 16 of each other corpus. The
logit that a line answers is fitted over the first four results of each: the logit of its score, how far
that is behind the best, its cosine, its share of the question's words. Each corpus is judged by what was
fitted on the others, all counting the same. Printed are the weights of all together, and per store with
them as shipped: lines a prompt, those that answer, prompts with a right line, foreign prompts with any.
"""
import collections
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

FIRST, OTHERS, LINES = 0.17, 0.10, 4
UNANSWERABLE = (5, "abstention", "adversarial", "negative")


def read(path):
    return [json.loads(line) for line in open(path)]


def logit(score):
    score = min(max(score, 1e-4), 1 - 1e-4)
    return math.log(score / (1 - score))


def ask(binary, folder, stores):
    """Per store: (is foreign, features of each line, whether it answers) of every question."""
    random.seed(11)
    work = pathlib.Path(tempfile.mkdtemp())
    base = [binary, "--no-daemon", "--data-dir", str(work / "data")]
    queries = {store: read(folder / store / "queries.jsonl") for store in stores}
    found = collections.defaultdict(list)
    for store in stores:
        user = store.replace("/", "-")
        records = folder / store / "records.jsonl"
        subprocess.run([*base, "ingest", "--user", user, "--jsonl", records], check=True, capture_output=True)
        gold = {row["query_id"]: set(row["gold"]) for row in read(folder / store / "gold.jsonl")
                if row["gold"] and row.get("category") not in UNANSWERABLE}
        own = [row for row in queries[store] if row["query_id"] in gold]
        asked = [(row["query"], gold[row["query_id"]]) for row in random.sample(own, min(150, len(own)))]
        kind = lambda store: store.split("/")[0].replace("locomo", "notes")
        for other in stores:
            if kind(other) != kind(store):
                rows = random.sample(queries[other], min(16, len(queries[other])))
                asked += [(row["query"], None) for row in rows]
        lines = [json.dumps({"query_id": str(at), "query": asked[at][0]}) for at in range(len(asked))]
        (work / "q.jsonl").write_text("\n".join(lines))
        out = subprocess.run([*base, "recall", "--user", user, "--queries", work / "q.jsonl", "--top-k",
                              str(LINES), "--json"], check=True, capture_output=True, text=True).stdout
        for answer in map(json.loads, out.splitlines()):
            right = asked[int(answer["query_id"])][1]
            results = answer["results"]
            best = logit(results[0]["score"]) if results else 0
            rows = []
            for hit in results:
                signals = {part["name"]: part["value"] for part in hit["why"]["signals"]}
                own, words = logit(hit["score"]), signals.get("coverage", 0)
                far = hit["why"]["raw_distance"]
                features = [own, own - best, words if far is None else 1 - far, words]
                rows.append((features, hit["external_id"] in (right or ())))
            found[store].append((right is None, rows))
    return found


def fit(groups):
    """Logistic regression by Newton's method; each group weighs the same."""
    X = np.concatenate([np.array([f for f, _ in rows]) for rows in groups])
    y = np.concatenate([np.array([right for _, right in rows], float) for rows in groups])
    weight = np.concatenate([np.full(len(rows), 1000 / len(rows)) for rows in groups])
    X = np.hstack([np.ones((len(X), 1)), X])
    beta = np.zeros(X.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-X @ beta))
        slope = X.T @ (weight * (y - p)) - 0.01 * beta
        curve = (X * (weight * p * (1 - p))[:, None]).T @ X + 0.01 * np.eye(len(beta))
        beta += np.linalg.solve(curve, slope)
    return beta


def main():
    binary, folder, stores = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    found = ask(binary, folder, stores)
    corpora = collections.defaultdict(list)
    for store, questions in found.items():
        corpora[store.split("/")[0]] += [row for _, rows in questions for row in rows]
    print("start, score, behind, cosine, words:", fit(list(corpora.values())).round(2))
    for store, questions in found.items():
        corpus = store.split("/")[0]
        beta = fit([rows for name, rows in corpora.items() if name != corpus])
        own = foreign = lines = right_lines = hits = loud = 0
        for is_foreign, rows in questions:
            worth = [1 / (1 + math.exp(-(beta[0] + np.dot(beta[1:], f)))) for f, _ in rows]
            pays = max(worth, default=0) >= FIRST
            shown = [right for (_, right), p in zip(rows, worth) if pays and p >= OTHERS]
            if is_foreign:
                foreign, loud = foreign + 1, loud + bool(shown)
            else:
                own, lines = own + 1, lines + len(shown)
                right_lines, hits = right_lines + sum(shown), hits + any(shown)
        print(f"{store}: {lines / own:.2f} lines, {100 * right_lines / max(1, lines):.0f} % answer; right in "
              f"{100 * hits / own:.0f} %; foreign {100 * loud / max(1, foreign):.0f} %")


main()
