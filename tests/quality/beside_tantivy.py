#!/usr/bin/env python3
"""Words beside tantivy: the best 128 of the same texts, times and overlap in one run.

    beside_tantivy.py BENCH LINES.txt ... [--count 100000] [--queries 200] [--seed 7]

BENCH is the built bench `words` of reprise-index (cargo bench -p reprise-index --bench words --no-run prints its
path). Every LINES.txt gives sentences, one a line (or records.jsonl, whose texts are taken); texts are made of two of them at random
until there are --count. A query is the four rarest of eight words of a text, and four common ones. Needs
`pip install tantivy`. The two do not score alike (tantivy: BM25 over the whole text, k1 1.2; ours: over the
first 64 terms, k1 .4), so the overlap is below one for that alone. One thread each.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import statistics
import subprocess
import tempfile
import time

import tantivy

BEST = 128
ROUNDS = 7


def sentences(paths):
    for path in paths:
        for line in open(path, encoding="utf-8"):
            text = json.loads(line)["text"] if path.endswith(".jsonl") else line
            text = " ".join(text.split())
            if text:
                yield text[:400]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("lines", nargs="+")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    known = list(sentences(options.lines))
    texts = [f"{dice.choice(known)} {dice.choice(known)}" for _ in range(options.count)]
    words = [re.findall(r"[a-z]{3,}", text.lower()) for text in texts]
    held = collections.Counter(word for own in words for word in set(own))
    queries = []
    while len(queries) < options.queries:
        own = sorted(set(dice.choice(words)), key=lambda word: (held[word], word))
        if len(own) >= 8:
            queries.append(" ".join(own[:4] + dice.sample(own[4:], 4)))
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, name) for name in ("texts", "queries")]
        files[0].write_text("\n".join(texts), encoding="utf-8")
        files[1].write_text("\n".join(queries), encoding="utf-8")
        ours = subprocess.run([options.bench, *files], check=True, stdout=subprocess.PIPE, text=True)
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("text", tokenizer_name="en_stem", index_option="freq")
        schema.add_integer_field("number", stored=False, fast=True)
        index = tantivy.Index(schema.build())
        writer = index.writer(256 << 20, 1)
        started = time.perf_counter()
        for number, text in enumerate(texts):
            writer.add_document(tantivy.Document(text=text, number=number))
        writer.commit()
        writer.wait_merging_threads()
        print(f"tantivy: {len(texts)} texts in {time.perf_counter() - started:.1f} s")
        index.reload()
        searcher = index.searcher()
        times_of_ours, theirs, overlap, ten = [], [], [], []
        for line, question in zip(ours.stdout.splitlines(), queries):
            first, *own = line.split()
            times_of_ours.append(float(first))
            query = index.parse_query(question, ["text"])
            times = []
            for _ in range(ROUNDS):
                started = time.perf_counter()
                hits = searcher.search(query, limit=BEST, count=False).hits
                times.append((time.perf_counter() - started) * 1e3)
            theirs.append(statistics.median(times))
            found = searcher.fast_field_values("number", [address for _, address in hits])
            overlap.append(len(set(map(int, own)) & set(found)) / max(1, len(found)))
            ten.append(len(set(map(int, own[:10])) & set(found[:10])) / 10)
    for name, times in (("ours", times_of_ours), ("tantivy", theirs)):
        times.sort()
        print(f"{name:<12} median {statistics.median(times):.3f} ms, p95 {times[len(times) * 95 // 100]:.3f} ms")
    print(f"of tantivy's best 128 ours has {statistics.mean(overlap):.1%}, of its best ten {statistics.mean(ten):.1%}")


if __name__ == "__main__":
    main()
