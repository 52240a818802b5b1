#!/usr/bin/env python3
"""Measures how long a prompt waits for its hook, with a second look and without one.

    prompt_hooks.py REPRISE STORE ... [--records N] [--prompts N] [--reranker NAME ...] [--models-dir FOLDER]

STORE is a folder with records.jsonl and queries.jsonl, as the data sets of `reprise-lab eval jsonl` have them.
One memory is filled with their records, again with a number behind them if they are few, up to N (10,000). Then,
without a second look and with each reranker (`doctor models add NAME`), a daemon of its own is asked by N (200)
processes of `hook user-prompt`, one after the other, as an agent starts them, each in a session of its own; the first
twenty warm it up. Printed are p50 and p99 of the whole process, its own processor time, and how many prompts got
lines.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import tempfile
import time

WARM_UP = 20


def read(path):
    return [json.loads(line) for line in open(path)]


def fill(command, stores, count):
    rows = [row for store in stores for row in read(store / "records.jsonl")]
    lines = []
    for number, (at, row) in zip(range(count), itertools.cycle(enumerate(rows))):
        again = number // len(rows)
        row = dict(row, external_id=f"{again}-{at}")
        if again:
            row["text"] += f" ({again})"
            row["session_id"] = f"{row.get('session_id') or ''}-{again}"
        lines.append(json.dumps(row))
    subprocess.run([*command, "ingest", "--user", "ada", "--jsonl", "-"], input="\n".join(lines), text=True,
                   check=True, capture_output=True)


def measure(command, work, queries, count):
    """Milliseconds of each prompt's hook, those of the processor in its process, and how many got lines."""
    times, own, told = [], [], 0
    for number, query in zip(range(count + WARM_UP), itertools.cycle(queries)):
        report = {"session_id": f"s{number}-{time.time()}", "cwd": str(work), "hook_event_name": "UserPromptSubmit",
                  "prompt": query}
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        given = subprocess.run([*command, "hook", "user-prompt", "--text", "--user", "ada"], input=json.dumps(report),
                               text=True, check=True, capture_output=True).stdout
        took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if number >= WARM_UP:
            times.append(took * 1e3)
            own.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3)
            told += bool(given.strip())
    return sorted(times), own, told


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reprise")
    parser.add_argument("stores", type=pathlib.Path, nargs="+")
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--reranker", action="append", default=[])
    parser.add_argument("--models-dir")
    asked = parser.parse_args()
    home = pathlib.Path(tempfile.mkdtemp())
    work, config = home / "work", home / "config.toml"
    (home / "run").mkdir(mode=0o700)
    work.mkdir()
    config.write_text("")
    os.environ["XDG_RUNTIME_DIR"] = str(home / "run")
    command = [asked.reprise, "--data-dir", str(home / "data"), "--config", str(config)]
    if asked.models_dir:
        command += ["--models-dir", asked.models_dir]
    fill([*command, "--no-daemon"], asked.stores, asked.records)
    queries = [row["query"] for store in asked.stores for row in read(store / "queries.jsonl")]
    random.Random(7).shuffle(queries)
    for number, reranker in enumerate([None, *asked.reranker]):
        config.write_text(f'[recall]\nreranker = "{reranker}"\n' if reranker else "")
        daemon = subprocess.Popen([*command, "serve"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            # Each round asks other prompts, so that none was asked before.
            own = queries[number * len(queries) // (1 + len(asked.reranker)):]
            times, used, told = measure(command, work, own, asked.prompts)
            print(f"{asked.records} records, {len(times)} prompts, {reranker or 'no second look'}: "
                  f"p50 {statistics.median(times):.1f} ms, p99 {times[int(len(times) * .99)]:.1f} ms, "
                  f"processor of the hook {statistics.median(used):.1f} ms, "
                  f"{100 * told / len(times):.0f} % with lines; load {os.getloadavg()[0]:.1f}", flush=True)
        finally:
            subprocess.run([*command, "serve", "stop"], capture_output=True)
            daemon.wait(30)


main()
