#!/usr/bin/env python3
"""Fits the ranking weights of crates/reprise-engine/src/recall/weights.rs.

    fit_weights.py CORPUS=RECALL.jsonl,GOLD.jsonl ... [--leave-out]

RECALL.jsonl is what `reprise recall --queries Q --top-k 1000 --json` printed for one store (every
signal of every record, whatever the weights in force), GOLD.jsonl holds {"query_id", "gold",
"category"}. Several stores may share a CORPUS name; each corpus counts the same, however large.

Method: the softmax over all records of a store of the weighted sum of signals is the model of which
record answers; the mean log-likelihood of the gold records is maximised with an L2 penalty on
weights per standard deviation of their signal (0.02), each weight kept to the sign that its signal
means. Then one slope and one intercept (logistic regression on each question's first twenty, with
ln(400/N) as offset) turn the sum into a probability. No randomness: there is no seed to give.

--leave-out also prints R@5/R@10 on each store with weights fitted on all others, and on each corpus
with weights fitted on the others: what to expect of data that nobody has looked at.
Needs numpy and scipy.
"""
import json
import sys

import numpy as np
from scipy.optimize import minimize

PENALTY = 0.02
NEGATIVE = {"asked_of_assistant"}
# A record's own words never count for nothing: who looks for a rare word wants the record with it,
# not only those around it. Without this floor the fit gives short turns no own words at all.
FLOOR = {"words": 1.5}
BASE_RECORDS = 400.0
# The constant, and look-ups, which come first whatever the fit.
UNFITTED = {"base_rate", "named"}


def load(argument):
    corpus, files = argument.split("=", 1)
    recall, gold = files.split(",")
    wanted = {}
    for line in open(gold):
        row = json.loads(line)
        # Questions without an answer teach nothing about the order of records.
        if row["gold"] and row.get("category") not in (5, "abstention"):
            wanted[row["query_id"]] = set(row["gold"])
    questions, names = [], None
    for line in open(recall):
        row = json.loads(line)
        results = row["results"]
        if row["query_id"] not in wanted or not results:
            continue
        signals = [s["name"] for s in results[0]["why"]["signals"] if s["name"] not in UNFITTED]
        names = names or signals
        assert signals == names, "every signal must take part"
        values = np.array(
            [[s["value"] for s in r["why"]["signals"] if s["name"] not in UNFITTED] for r in results]
        )
        ids = [r["external_id"] for r in results]
        gold_ids = wanted[row["query_id"]]
        found = np.array([i for i, external in enumerate(ids) if external in gold_ids], int)
        # Newer first where the sum is equal, as the engine breaks ties.
        questions.append((values, found, len(gold_ids)))
    return {"corpus": corpus, "file": recall, "names": names, "questions": questions,
            "records": max(len(q[0]) for q in questions)}


def fit(stores):
    names = stores[0]["names"]
    count = {}
    for store in stores:
        count[store["corpus"]] = count.get(store["corpus"], 0) + len(store["questions"])
    rows = [(q[0], q[1], 1.0 / count[s["corpus"]])
            for s in stores for q in s["questions"] if len(q[1])]
    spread = np.vstack([r[0] for r in rows]).std(0)
    spread[spread == 0] = 1.0

    def loss(scaled):
        weights = scaled / spread
        total, slope = 0.0, np.zeros(len(names))
        for values, gold, share in rows:
            score = values @ weights
            top = score.max()
            odds = np.exp(score - top)
            mass = odds.sum()
            total -= share * (score[gold] - top - np.log(mass)).mean()
            slope -= share * (values[gold].mean(0) - (odds / mass) @ values)
        return total + PENALTY / 2 * scaled @ scaled, slope / spread + PENALTY * scaled

    floors = np.array([FLOOR.get(name, 0.0) for name in names]) * spread
    bounds = [(None, 0) if name in NEGATIVE else (low, None) for name, low in zip(names, floors)]
    start = floors
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds,
                     options={"maxiter": 200})
    return found.x / spread


def calibrate(stores, weights):
    rows, labels, shares = [], [], []
    for store in stores:
        offset = np.log(BASE_RECORDS / store["records"])
        for values, gold, _ in store["questions"]:
            score = values @ weights
            for place in np.argsort(-score, kind="stable")[:20]:
                rows.append((score[place], 1.0, offset))
                labels.append(place in gold)
                shares.append(1.0 / len(store["questions"]))
    rows, labels, shares = np.array(rows), np.array(labels, float), np.array(shares)
    line = np.zeros(2)
    for _ in range(100):
        chance = 1 / (1 + np.exp(-(rows[:, :2] @ line + rows[:, 2])))
        slope = rows[:, :2].T @ (shares * (labels - chance))
        bend = (rows[:, :2] * (shares * chance * (1 - chance))[:, None]).T @ rows[:, :2]
        line += np.linalg.solve(bend + 1e-9 * np.eye(2), slope)
    return line


def recall(stores, weights):
    at = {5: [], 10: []}
    for store in stores:
        for values, gold, wanted in store["questions"]:
            first = np.argsort(-(values @ weights), kind="stable")
            for k in at:
                at[k].append(len(set(first[:k]) & set(gold)) / wanted)
    return at


def show(label, stores, weights_of):
    for corpus in sorted({s["corpus"] for s in stores}):
        both = {5: [], 10: []}
        for store in stores:
            if store["corpus"] == corpus:
                for k, values in recall([store], weights_of(store)).items():
                    both[k] += values
        print(f"{label:24} {corpus:12} R@5 {100 * np.mean(both[5]):5.1f}"
              f"  R@10 {100 * np.mean(both[10]):5.1f}  ({len(both[5])} questions)")


def main():
    stores = [load(a) for a in sys.argv[1:] if "=" in a]
    weights = fit(stores)
    show("fitted on all", stores, lambda _: weights)
    if "--leave-out" in sys.argv:
        others = {id(s): fit([o for o in stores if o is not s]) for s in stores}
        show("its store left out", stores, lambda s: others[id(s)])
        corpora = {s["corpus"] for s in stores}
        if len(corpora) > 1:
            without = {c: fit([o for o in stores if o["corpus"] != c]) for c in corpora}
            show("its corpus left out", stores, lambda s: without[s["corpus"]])
    slope, intercept = calibrate(stores, weights)
    for name, weight in zip(stores[0]["names"], weights):
        print(f"{name:24} {weight * slope:8.3f}")
    print(f"{'INTERCEPT':24} {intercept:8.3f}")


if __name__ == "__main__":
    main()
