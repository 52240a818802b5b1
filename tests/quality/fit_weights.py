#!/usr/bin/env python3
"""Fits the ranking weights of crates/reprise-rank/src/signals/weights.rs.

    fit_weights.py CORPUS=RECALL.jsonl,GOLD.jsonl ... [--leave-out] [--off CORPUS=RECALL.jsonl ...]

RECALL.jsonl is what `reprise recall --queries Q --top-k 150 --json` printed for one store (every
signal of every record, whatever the weights in force), GOLD.jsonl holds {"query_id", "gold",
"category"}. Several stores may share a CORPUS name; each corpus counts the same, however large.
--off names recalls of questions about something else, put to a store of that corpus.

Method, three fits, each from the one before:
1. Order. The softmax over the records of a store of the weighted sum of signals is the model of
   which record answers; the mean log-likelihood of the gold records is maximised with an L2 penalty
   on weights per standard deviation of their signal (0.02), each weight kept to the sign that its
   signal means. `same_text` has no spread in these corpora and keeps its hand-set weight.
2. Probability. A logistic regression on each question's first ten, of the sum and of what its rivals
   take: SHARPNESS, RIVALRY, INTERCEPT. What rivals take is read off `base_rate` by the constants in
   force (records that tell the same are no rivals, and their likeness is not in the recall), so run
   it again where weights moved much. Weights are printed times SHARPNESS.
3. Evidence. The centre of the gate at which, in the mean of the corpora, "nothing" is said of 4.5 % of
   the answerable questions; the slope stays.
No randomness: there is no seed to give. Look-ups (`named`) come first whatever the fit.

Printed are R@1/R@5/R@10/nDCG@10 before look-ups and diversity, the calibration error over the first
ten, what the first result is said to be and how often it is right, and how often the answer is
"nothing". --leave-out prints them also with each store left out of the fits, and with each corpus
left out of them: what to expect of data that nobody has looked at. Needs numpy and scipy.
"""
import json
import math
import pathlib
import re
import sys

import numpy as np
from scipy.optimize import minimize

SIGNALS = pathlib.Path(__file__).resolve().parents[2] / "crates/reprise-rank/src/signals"
PENALTY = 0.02
NEGATIVE = {"asked_of_assistant", "meaning_of_short_turn", "words_of_short_turn"}
FIXED = {"same_text": 2.0}
# The constants, what comes first or later whatever the fit, and the second look.
UNFITTED = {"base_rate", "doubt", "named", "unknown_context", "asked_before", "second_judge"}
# As `candidate.rs` weighs evidence and `Verdict` reads a score.
WITHOUT_WORDS = 0.6
MEANING_ALONE = 0.6
NOTHING_BELOW = 0.05
NOTHING_WRONGLY = 0.045


def in_force(signals=SIGNALS):
    text = (signals / "weights.rs").read_text()
    return {name: float(value)
            for name, value in re.findall(r"const (\w+): f32 = (-?[\d.]+);", text)}


def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def load(argument, force, off=False):
    corpus, files = argument.split("=", 1)
    recall, *gold = files.split(",")
    wanted = {}
    for line in open(gold[0]) if gold else []:
        row = json.loads(line)
        # Questions without an answer teach nothing about the order of records.
        if row["gold"] and row.get("category") not in (5, "abstention"):
            wanted[row["query_id"]] = set(row["gold"])
    store = {"corpus": corpus, "file": recall, "questions": []}
    for line in open(recall):
        row = json.loads(line)
        results = row["results"]
        if not results or not (off or row["query_id"] in wanted):
            continue
        parts = [{s["name"]: s["value"] for s in r["why"]["signals"]} for r in results]
        names = [name for name in parts[0] if name not in UNFITTED]
        assert store.setdefault("names", names) == names, "every signal must take part"
        values = np.array([[part[name] for name in names] for part in parts], np.float32)
        far = [r["why"]["raw_distance"] for r in results]
        words = values[:, names.index("coverage")].clip(0, 1)
        meaning = np.array([w if f is None else 1 - f for f, w in zip(far, words)]).clip(0, 1)
        both = np.sqrt((words + WITHOUT_WORDS) * meaning).clip(0, 1)
        evidence = (both + MEANING_ALONE * (meaning - both)).max()
        base = next(s["contribution"] for s in results[0]["why"]["signals"]
                    if s["name"] == "base_rate")
        gold_ids = wanted.get(row["query_id"], set())
        found = np.array([i for i, r in enumerate(results) if r["external_id"] in gold_ids], int)
        store["questions"].append({
            "values": values, "gold": found, "wanted": len(gold_ids), "evidence": evidence,
            "rivals": (force["INTERCEPT"] - base) / force["RIVALRY"]})
    return store


def shares(stores):
    count = {}
    for store in stores:
        count[store["corpus"]] = count.get(store["corpus"], 0) + len(store["questions"])
    return {corpus: 1.0 / (n * len(count)) for corpus, n in count.items()}


def fit_order(stores):
    names, share = stores[0]["names"], shares(stores)
    rows = [(q["values"].astype(float), q["gold"], 2 * share[s["corpus"]])
            for s in stores for q in s["questions"] if len(q["gold"])]
    values = np.vstack([r[0] for r in rows])
    first = np.cumsum([0] + [len(r[0]) for r in rows])
    lengths = np.diff(first)
    spread = values.std(0)
    spread[spread == 0] = 1.0
    gold = np.concatenate([r[1] + at for r, at in zip(rows, first)])
    gold_share = np.concatenate([np.full(len(r[1]), r[2] / len(r[1])) for r in rows])
    share = np.array([r[2] for r in rows])
    wanted = (values[gold] * gold_share[:, None]).sum(0)

    def loss(scaled):
        score = values @ (scaled / spread)
        top = np.maximum.reduceat(score, first[:-1])
        odds = np.exp(score - np.repeat(top, lengths))
        mass = np.add.reduceat(odds, first[:-1])
        total = (share * (top + np.log(mass))).sum() - (gold_share * score[gold]).sum()
        slope = (odds * np.repeat(share / mass, lengths)) @ values - wanted
        return total + PENALTY / 2 * scaled @ scaled, slope / spread + PENALTY * scaled

    bounds = []
    for name, scale in zip(names, spread):
        fixed = FIXED.get(name)
        bounds.append((fixed * scale,) * 2 if fixed is not None
                      else (None, 0) if name in NEGATIVE else (0, None))
    start = np.array([b[0] if b[0] else 0.0 for b in bounds])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds,
                     options={"maxiter": 200})
    return found.x / spread


def ranked(question, weights):
    score = question["values"] @ weights
    order = np.argsort(-score, kind="stable")
    return score[order], np.isin(order, question["gold"])


def fit_probability(stores, weights):
    share, rows, labels, counts = shares(stores), [], [], []
    for store in stores:
        for question in store["questions"]:
            score, gold = ranked(question, weights)
            for place in range(min(10, len(score))):
                rows.append((score[place], -question["rivals"], 1.0))
                labels.append(gold[place])
                counts.append(share[store["corpus"]])
    rows, labels, counts = np.array(rows), np.array(labels, float), np.array(counts)
    line = np.zeros(3)
    for _ in range(100):
        chance = 1 / (1 + np.exp(-(rows @ line)))
        slope = rows.T @ (counts * (labels - chance))
        bend = (rows * (counts * chance * (1 - chance))[:, None]).T @ rows
        line += np.linalg.solve(bend + 1e-9 * np.eye(3), slope)
    return line


def fit(stores, force):
    model = {"weights": fit_order(stores), "slope": force["EVIDENCE_SLOPE"]}
    model["line"] = fit_probability(stores, model["weights"])
    share = shares(stores)
    for centre in np.arange(0.5, 0.1, -0.005):
        model["centre"] = centre
        wrongly = sum(share[s["corpus"]] * (scores(q, model)[0][0] < NOTHING_BELOW)
                      for s in stores for q in s["questions"])
        if wrongly <= NOTHING_WRONGLY:
            break
    return model


def scores(question, model):
    score, gold = ranked(question, model["weights"])
    sharpness, rivalry, intercept = model["line"]
    logit = sharpness * score - rivalry * question["rivals"] + intercept
    logit -= softplus(model["slope"] * (model["centre"] - question["evidence"]))
    return 1 / (1 + np.exp(-logit)), gold


def measure(stores, off, model_of):
    places, said, first, nothing = [], [], [], []
    for store in stores:
        for question in store["questions"]:
            score, gold = scores(question, model_of(store))
            wanted = question["wanted"]
            gain = [1 / math.log2(at + 2) for at in range(10)]
            got = sum(g for g, right in zip(gain, gold) if right)
            places.append([gold[:k].sum() / wanted for k in (1, 5, 10)]
                          + [got / sum(gain[:min(10, wanted)])])
            said += list(zip(score[:10], gold[:10]))
            first.append((score[0], gold[0]))
            nothing.append((score[0] < NOTHING_BELOW, gold[0]))
    said, first, nothing = np.array(said), np.array(first), np.array(nothing, float)
    bins = np.minimum((said[:, 0] * 10).astype(int), 9)
    error = sum(abs((said[bins == b, 0] - said[bins == b, 1]).sum()) for b in range(10)) / len(said)
    quiet = [scores(q, model_of(s))[0][0] < NOTHING_BELOW for s in off for q in s["questions"]]
    return (100 * np.mean(places, 0), error, first.mean(0), 100 * nothing[:, 0].mean(),
            100 * (nothing[:, 0] * nothing[:, 1]).mean(), 100 * np.mean(quiet) if quiet else 0.0)


def show(label, stores, off, model_of):
    for corpus in sorted({s["corpus"] for s in stores}):
        own = [s for s in stores if s["corpus"] == corpus]
        others = [s for s in off if s["corpus"] == corpus]
        places, error, first, wrongly, right, rightly = measure(own, others, model_of)
        print(f"{label:20} {corpus:8} R@1/5/10 " + "/".join(f"{p:4.1f}" for p in places[:3])
              + f" nDCG {places[3]:4.1f}  ECE {error:.3f}  first {first[0]:.2f} of {first[1]:.2f}"
              f"  nothing: off {rightly:4.1f}, answerable {wrongly:4.1f}, right first {right:3.1f}",
              flush=True)


def main():
    force = in_force()
    plain, _, behind = " ".join(sys.argv[1:]).partition("--off")
    off = [load(a, force, True) for a in behind.split() if "=" in a]
    stores = [load(a, force) for a in plain.split() if "=" in a]
    model = fit(stores, force)
    show("fitted on all", stores, off, lambda _: model)
    if "--leave-out" in sys.argv:
        corpora = sorted({s["corpus"] for s in stores})
        within = {s["file"]: fit([o for o in stores if o is not s], force) for s in stores}
        others = [dict(s, file=s["file"].replace(".off.", ".own.")) for s in off]
        others = [s for s in others if s["file"] in within]
        show("its store left out", stores, others, lambda s: within[s["file"]])
        without = {c: fit([s for s in stores if s["corpus"] != c], force) for c in corpora}
        show("its corpus left out", stores, off, lambda s: without[s["corpus"]])
    sharpness, rivalry, intercept = model["line"]
    for name, weight in zip(stores[0]["names"], model["weights"]):
        print(f"{weight * sharpness:9.3f}, // {name}")
    print(f"INTERCEPT {intercept:.3f}  RIVALRY {rivalry:.3f}  SHARPNESS {sharpness:.3f}"
          f"  EVIDENCE_CENTRE {model['centre']:.3f}")


if __name__ == "__main__":
    main()
