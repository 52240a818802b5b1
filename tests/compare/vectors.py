"""Reprise's vector index beside usearch and hnswlib: the same vectors, the same machine, one run.

Protocol. Vectors are of 384 numbers and of unit length: `clustered` around 200 centres, `latent` near a
space of 24 dimensions as embeddings of text are, or those of a file (`--vectors X.npy --questions Y.npy`).
Exact answers are numpy's inner products. Each system answers one question at a time on one thread, each
question five times, for k = 10 and k = 128 (what a recall asks for). The others get M 16 and
ef_construction 200, as ours has, and a row for each ef; ours runs as
`cargo bench -p reprise-index --bench search -- file`, whose exact answers are its own.

    python tests/compare/vectors.py [--records 100000] [--data latent] [--bench PATH]

Must never stand here: a setting that makes another system slower than its own documentation would.
"""

import argparse
import pathlib
import subprocess
import tempfile
import time

import hnswlib
import numpy as np
from usearch.index import Index

NUMBERS = 384
QUESTIONS = 60
ROUNDS = 5


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def clustered(random, count, fixed):
    centres = unit(fixed.standard_normal((200, NUMBERS)))
    noise = unit(random.standard_normal((count, NUMBERS), dtype=np.float32))
    return unit(centres[random.integers(0, 200, count)] + 0.8 * noise)


def latent(random, count, fixed):
    basis = unit(fixed.standard_normal((24, NUMBERS)))
    weights = random.standard_normal((count, 24), dtype=np.float32) / 5
    noise = unit(random.standard_normal((count, NUMBERS), dtype=np.float32))
    return unit(weights @ basis + 0.3 * noise)


def exact(vectors, questions, k):
    best = []
    for question in questions:
        scores = vectors @ question
        top = np.argpartition(-scores, k)[:k]
        best.append(top[np.argsort(-scores[top])])
    return best


def row(name, k, answer, questions, truth):
    times, hits = [], 0
    for _ in range(ROUNDS):
        for question, best in zip(questions, truth):
            began = time.perf_counter()
            found = answer(question, k)
            times.append((time.perf_counter() - began) * 1e3)
            hits += len(set(best[:k].tolist()) & set(int(one) for one in found))
    times.sort()
    recall = hits / (k * len(questions) * ROUNDS)
    print(f"  {name:<26} k = {k:<4} {times[len(times) // 2]:>7.3f} ({times[0]:.3f}) ms  recall {recall:.4f}", flush=True)


def theirs(vectors, questions, efs):
    truth = exact(vectors, questions, 128)
    began = time.perf_counter()
    ours = Index(ndim=NUMBERS, metric="ip", dtype="i8", connectivity=16, expansion_add=200)
    ours.add(np.arange(len(vectors)), vectors, threads=1)
    print(f"  usearch i8 grown in {(time.perf_counter() - began) / len(vectors) * 1e3:.3f} ms a record", flush=True)
    for ef in efs:
        ours.expansion_search = ef
        for k in (10, 128):
            ask = lambda question, k: ours.search(question, k, threads=1).keys
            row(f"usearch i8, ef {ef}", k, ask, questions, truth)
    began = time.perf_counter()
    other = hnswlib.Index(space="ip", dim=NUMBERS)
    other.init_index(max_elements=len(vectors), ef_construction=200, M=16)
    other.set_num_threads(1)
    other.add_items(vectors, num_threads=1)
    print(f"  hnswlib f32 grown in {(time.perf_counter() - began) / len(vectors) * 1e3:.3f} ms a record", flush=True)
    for ef in efs:
        other.set_ef(max(ef, 128))
        for k in (10, 128):
            ask = lambda question, k: other.knn_query(question, k=k, num_threads=1)[0][0]
            row(f"hnswlib f32, ef {max(ef, 128)}", k, ask, questions, truth)


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("--records", type=int, default=100_000)
    parse.add_argument("--data", choices=["clustered", "latent"], default="latent")
    parse.add_argument("--vectors")
    parse.add_argument("--questions")
    parse.add_argument("--bench", help="the bench's executable; built where none is named")
    parse.add_argument("--ef", type=int, nargs="*", default=[128, 256, 512])
    options = parse.parse_args()
    if options.vectors:
        vectors = unit(np.load(options.vectors).astype(np.float32))
        questions = unit(np.load(options.questions).astype(np.float32))
    else:
        make = {"clustered": clustered, "latent": latent}[options.data]
        vectors = make(np.random.default_rng(1), options.records, np.random.default_rng(17))
        questions = make(np.random.default_rng(2), QUESTIONS, np.random.default_rng(17))
    print(f"{options.vectors or options.data}, {len(vectors)} vectors, one thread, ms: median (best)", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, name) for name in ("vectors", "questions")]
        vectors.astype("<f4").tofile(files[0])
        questions.astype("<f4").tofile(files[1])
        cargo = ["cargo", "bench", "-p", "reprise-index", "--bench", "search", "--"]
        own = [options.bench] if options.bench else cargo
        subprocess.run([*own, "file", *map(str, files)], check=True)
    theirs(vectors, questions, options.ef)


if __name__ == "__main__":
    main()
