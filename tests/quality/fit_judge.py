#!/usr/bin/env python3
"""Fits the weights of crates/reprise-rank/src/answer/judgements.rs, and says what the second look brings.

    fit_judge.py REPRISE FOLDER CORPUS/STORE=KIND ... [-- OPTION ...]

FOLDER/CORPUS/STORE has records, queries and gold as JSONL; KIND is dialogue, notes or tools. What follows
`--` goes before every command (`--models-dir DIR`); the cross-encoder ms-marco-minilm-l12 must be
installed (`reprise doctor models add`). A judged result's logit is fitted as own x logit + judged x
judgement + start, by logistic regression over the judged results of answerable questions, each store of
a kind counting the same. Printed are the weights of each kind, and for each store R@1 / R@5 without the
second look, with the weights in force, and with weights fitted on the other stores. Needs numpy.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

NAME, LIMIT = "second_judge", 20
UNANSWERABLE = (5, "abstention", "adversarial", "negative")


def logit(chance, nearest):
    chance = min(max(chance, nearest), 1 - nearest)
    return math.log(chance / (1 - chance))


def ask(base, folder):
    """Per question: its gold, and of each result whether it answers, its own logit and the judgement's."""
    run = lambda *more: subprocess.run([*base, *more], check=True, capture_output=True, text=True).stdout
    run("ingest", "--user", folder.name, "--jsonl", str(folder / "records.jsonl"))
    gold = {row["query_id"]: set(row["gold"]) for row in map(json.loads, open(folder / "gold.jsonl"))
            if row["gold"] and row.get("category") not in UNANSWERABLE}
    answers = run("recall", "--user", folder.name, "--queries", str(folder / "queries.jsonl"), "--limit",
                  str(LIMIT), "--json")
    questions = []
    for answer in map(json.loads, answers.splitlines()):
        right = gold.get(answer["query_id"])
        if not right:
            continue
        rows = []
        for hit in answer["results"]:
            parts = {part["name"]: part for part in hit["why"]["signals"]}
            own = sum(part["contribution"] for name, part in parts.items() if name != NAME)
            judged = logit(parts[NAME]["value"], 1e-5) if NAME in parts else None
            rows.append((hit["external_id"] in right, own, judged))
        questions.append((len(right), rows))
    return questions


def fit(stores):
    rows, right, share = [], [], []
    for questions in stores:
        judged = [row for _, found in questions for row in found if row[2] is not None]
        rows += [(own, said, 1.0) for _, own, said in judged]
        right += [float(answers) for answers, _, _ in judged]
        share += [1000 / max(1, len(judged))] * len(judged)
    rows, right, share = np.array(rows), np.array(right), np.array(share)
    weights = np.zeros(3)
    for _ in range(60):
        chance = 1 / (1 + np.exp(-rows @ weights))
        bend = (rows * (share * chance * (1 - chance))[:, None]).T @ rows + 1e-6 * np.eye(3)
        weights += np.linalg.solve(bend, rows.T @ (share * (right - chance)))
    return weights


def measure(questions, order):
    marks = []
    for wanted, rows in questions:
        found = [answers for answers, _, _ in order(rows)]
        marks.append([sum(found[:k]) / wanted for k in (1, 5)])
    return " / ".join(f"{100 * share:.1f}" for share in np.mean(marks, 0))


def by_weights(weights):
    def order(rows):
        judged = [row for row in rows if row[2] is not None]
        judged.sort(key=lambda row: -(weights[0] * row[1] + weights[1] * row[2]))
        return judged + [row for row in rows if row[2] is None]
    return order


def main():
    words = sys.argv[1:]
    options = words[words.index("--") + 1:] if "--" in words else []
    binary, folder, *named = words[:words.index("--")] if "--" in words else words
    work = pathlib.Path(tempfile.mkdtemp())
    settings = work / "config.toml"
    settings.write_text('[recall]\nreranker = "ms-marco-minilm-l12"\nrerank_ms = 8000\n')
    base = [binary, "--no-daemon", "--config", str(settings), *options]
    kinds = dict(name.split("=") for name in named)
    stores = {name: ask([*base, "--data-dir", str(work / name.replace("/", "-"))], pathlib.Path(folder, name))
              for name in kinds}
    for kind in sorted(set(kinds.values())):
        own = fit([stores[name] for name in kinds if kinds[name] == kind])
        print(f"{kind}: own {own[0]:.2f}, judged {own[1]:.2f}, start {own[2]:.2f}")
    for name, questions in stores.items():
        others = [stores[other] for other in kinds if other.split("/")[0] != name.split("/")[0]]
        left_out = measure(questions, by_weights(fit(others))) if others else "-"
        plain = measure(questions, lambda rows: sorted(rows, key=lambda row: -row[1]))
        print(f"{name}: {len(questions)} questions, without {plain}, in force {measure(questions, lambda rows: rows)}, "
              f"its corpus left out {left_out}")


main()
