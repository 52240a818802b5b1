"""Adds the same records to five memories and asks them the same questions: time and R@10 in one run.

Protocol. One store per user. Records go in by groups (`--group`), each made durable; then
each question is asked once for its best 20. Every system is handed the same vectors (MiniLM int8, one
text a call), so that `add` and `search` are the store's own time; `with model` adds the embedding: for
Reprise a second, real run of the binary with its own model, for the others the measured time of the
same model file under onnxruntime. Reprise goes through its command line, so its `add` holds the start of
the process, the sync of every group and the checkpoint at the end. Searches are timed inside each
process, the printing of answers left out on all sides. R@10 is fractional recall over the answerable
questions that name gold, as `reprise-lab eval jsonl` has it.

Must never stand here: a setting that makes another system slower than its own documentation would.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

os.environ["MEM0_TELEMETRY"] = "False"
os.environ["ANONYMIZED_TELEMETRY"] = "False"
# mem0 wants a key to construct its language model; with infer=False it is never called.
os.environ.setdefault("OPENAI_API_KEY", "unused")

import numpy as np

TOP_K = 20
SPACE = {"model": "all-MiniLM-L6-v2", "version": "int8-1", "dimensions": 384}
WITHOUT_ANSWER = {"5", "abstention", "adversarial", "negative"}


class Embedder:
    """The model file that Reprise uses, under onnxruntime and as Reprise runs it: one text a call,
    256 tokens, a single-threaded session per core."""

    def __init__(self, folder):
        import onnxruntime
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(256)
        self.tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        model = str(folder / "all-MiniLM-L6-v2.int8-1.onnx")
        session = lambda: onnxruntime.InferenceSession(model, options)
        self.sessions = [session() for _ in range(os.cpu_count() or 1)]
        self.inputs = [given.name for given in self.sessions[0].get_inputs()]

    def one(self, text, session=0):
        ids = np.array([self.tokenizer.encode(text).ids], dtype=np.int64)
        ones = np.ones_like(ids)
        feeds = {n: ones if "mask" in n else 0 * ones if "type" in n else ids for n in self.inputs}
        return self.sessions[session].run(None, feeds)[0][0]

    def all(self, texts):
        """On every core; in the order of the texts."""
        vectors = [None] * len(texts)

        def work(session):
            for place in range(session, len(texts), len(self.sessions)):
                vectors[place] = self.one(texts[place], session)

        with concurrent.futures.ThreadPoolExecutor(len(self.sessions)) as pool:
            list(pool.map(work, range(len(self.sessions))))
        return vectors


class Mem0:
    name = "mem0 (infer=False)"

    def __init__(self, folder):
        from mem0 import Memory

        store = {"path": str(folder / "qdrant"), "embedding_model_dims": 384, "on_disk": True}
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self.memory.embedding_model = self
        self.handed = {}
        self.config = None

    # The embedder's side of mem0: the vectors that were handed over.
    def embed(self, text, memory_action=None):
        return self.handed[text.strip()]

    def embed_batch(self, texts, memory_action=None):
        return [self.handed[text.strip()] for text in texts]

    def add(self, ids, texts, vectors):
        for name, text, vector in zip(ids, texts, vectors):
            self.handed[text.strip()] = vector.tolist()
            self.memory.add(text, user_id="user", metadata={"name": name}, infer=False)

    def finish(self):
        pass

    def search(self, text, vector):
        self.handed[text.strip()] = vector.tolist()
        found = self.memory.search(text, filters={"user_id": "user"}, top_k=TOP_K, threshold=0.0)
        return [one["metadata"]["name"] for one in found["results"]]


class Chroma:
    name = "Chroma"

    def __init__(self, folder):
        import chromadb

        self.client = chromadb.PersistentClient(path=str(folder / "chroma"))
        self.records = self.client.create_collection(
            "user", embedding_function=None, metadata={"hnsw:space": "cosine"}
        )

    def add(self, ids, texts, vectors):
        self.records.add(ids=ids, documents=texts, embeddings=vectors)

    def finish(self):
        pass

    def search(self, text, vector):
        return self.records.query(query_embeddings=[vector], n_results=TOP_K)["ids"][0]


class SqliteVec:
    name = "sqlite-vec + FTS5"

    def __init__(self, folder):
        import apsw
        import sqlite_vec

        # Not the standard library's sqlite3: many builds of it cannot load extensions.
        self.file = apsw.Connection(str(folder / "memory.db"))
        self.file.enable_load_extension(True)
        sqlite_vec.load(self.file)
        self.file.execute(
            "PRAGMA journal_mode = WAL;"
            "CREATE TABLE records (number INTEGER PRIMARY KEY, name TEXT, text TEXT);"
            "CREATE VIRTUAL TABLE vectors USING vec0(v float[384] distance_metric=cosine);"
            "CREATE VIRTUAL TABLE words USING fts5(text, tokenize='porter unicode61');"
        ).fetchall()
        self.number = 0

    def add(self, ids, texts, vectors):
        with self.file:
            for name, text, vector in zip(ids, texts, vectors):
                self.number += 1
                row = (self.number, name, text)
                self.file.execute("INSERT INTO records VALUES (?, ?, ?)", row)
                blob = struct.pack("384f", *vector)
                self.file.execute("INSERT INTO vectors(rowid, v) VALUES (?, ?)", (self.number, blob))
                self.file.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (self.number, text))

    def finish(self):
        pass

    def search(self, text, vector):
        blob = struct.pack("384f", *vector)
        near = self.file.execute(
            "SELECT rowid FROM vectors WHERE v MATCH ? AND k = 60 ORDER BY distance", (blob,)
        )
        scores = {}
        for place, (number,) in enumerate(near):
            scores[number] = scores.get(number, 0) + 1 / (61 + place)
        letters = "".join(c if c.isalnum() else " " for c in text)
        wanted = " OR ".join(f'"{word}"' for word in letters.split())
        if wanted:
            met = self.file.execute(
                "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 60", (wanted,)
            )
            for place, (number,) in enumerate(met):
                scores[number] = scores.get(number, 0) + 1 / (61 + place)
        best = sorted(scores, key=lambda number: (-scores[number], number))[:TOP_K]
        name = "SELECT name FROM records WHERE number = ?"
        return [self.file.execute(name, (number,)).fetchone()[0] for number in best]


class Lance:
    name = "LanceDB (hybrid)"

    def __init__(self, folder):
        import lancedb
        from lancedb.rerankers import RRFReranker

        self.database = lancedb.connect(str(folder / "lance"))
        self.records = None
        self.merge = RRFReranker()

    def add(self, ids, texts, vectors):
        rows = [
            {"name": name, "text": text, "vector": vector}
            for name, text, vector in zip(ids, texts, vectors)
        ]
        if self.records is None:
            self.records = self.database.create_table("user", rows)
        else:
            self.records.add(rows)

    def finish(self):
        from lancedb.index import FTS

        self.records.create_index("text", config=FTS())

    def search(self, text, vector):
        question = self.records.search(query_type="hybrid").vector(vector).text(text)
        found = question.metric("cosine").rerank(self.merge).limit(TOP_K).to_list()
        return [one["name"] for one in found]


class User:
    """One user's records, questions and gold, with every vector."""

    def __init__(self, folder, embed, pad):
        def lines(name):
            with open(folder / name, encoding="utf-8") as file:
                return [json.loads(line) for line in file if line.strip()]

        self.name = folder.name
        self.records = lines("records.jsonl")
        gold = {line["query_id"]: line for line in lines("gold.jsonl")}
        self.queries = []
        for line in lines("queries.jsonl"):
            known = gold.get(line["query_id"])
            if known and known["gold"] and str(known.get("category")) not in WITHOUT_ANSWER:
                self.queries.append((line["query_id"], line["query"], set(known["gold"])))
        began = time.perf_counter()
        self.vectors = embed.all([record["text"] for record in self.records])
        self.embed_records_s = time.perf_counter() - began
        timed_queries = [timed(lambda: embed.one(query)) for _, query, _ in self.queries]
        self.query_vectors = [vector for _, vector in timed_queries]
        self.embed_queries_s = [seconds for seconds, _ in timed_queries]
        self.pad(pad)

    def pad(self, count):
        """More records of the same words, each near a mixture of two real ones. Seeded."""
        dice = random.Random(7)
        real = len(self.records)
        words = [word for record in self.records for word in record["text"].split()]
        for number in range(count):
            first, second = dice.randrange(real), dice.randrange(real)
            text = " ".join(dice.choice(words) for _ in range(20))
            noise = np.array([dice.gauss(0, 0.02) for _ in range(384)], dtype=np.float32)
            mixed = self.vectors[first] + self.vectors[second] + noise
            self.vectors.append(mixed / np.linalg.norm(mixed))
            record = {
                "external_id": f"pad-{number}",
                "text": text,
                "session_id": f"pad-{number // 20}",
                "timestamp": self.records[first].get("timestamp"),
            }
            self.records.append(record)

    def recall10(self, answers):
        shares = []
        for (query_id, _, gold), found in zip(self.queries, answers):
            shares.append(len(gold & set(found[:10])) / len(gold))
        return shares


def timed(action):
    began = time.perf_counter()
    result = action()
    return time.perf_counter() - began, result


def measure(kind, users, folder, group):
    """Seconds of add, seconds of each search, shares of the gold, of one system."""
    add_s, search_s, shares = 0.0, [], []
    for user in users:
        place = folder / f"{kind.__name__}-{group}-{user.name}"
        place.mkdir()
        system = kind(place)

        def fill():
            for start in range(0, len(user.records), group):
                records = user.records[start : start + group]
                names = [record["external_id"] for record in records]
                texts = [record["text"] for record in records]
                system.add(names, texts, user.vectors[start : start + group])
            system.finish()

        add_s += timed(fill)[0]
        answers = []
        for (_, query, _), vector in zip(user.queries, user.query_vectors):
            seconds, found = timed(lambda: system.search(query, vector))
            search_s.append(seconds)
            answers.append(found)
        shares += user.recall10(answers)
    return add_s, search_s, shares


def measure_reprise(binary, users, folder, group, with_model):
    """The same through the command line. With its own model, or with the vectors handed over."""
    data = folder / f"reprise-{group}-{with_model}"
    flags = [] if with_model else ["--no-model"]
    add_s, search_s, shares = 0.0, [], []
    for user in users:
        records, queries = folder / "records.jsonl", folder / "queries.jsonl"
        with open(records, "w", encoding="utf-8") as out:
            for record, vector in zip(user.records, user.vectors):
                handed = {"embedding": vector.tolist(), "embedding_space": SPACE}
                out.write(json.dumps(record if with_model else record | handed) + "\n")
        with open(queries, "w", encoding="utf-8") as out:
            for (name, query, _), vector in zip(user.queries, user.query_vectors):
                line = {"query_id": name, "query": query}
                handed = {"embedding": vector.tolist(), "embedding_space": SPACE}
                out.write(json.dumps(line if with_model else line | handed) + "\n")
        start = [binary, "--data-dir", str(data), *flags]
        ingest = [*start, "ingest", "--user", user.name, "--jsonl", str(records)]
        ingest += ["--group", str(group)]
        seconds, done = timed(lambda: subprocess.run(ingest, capture_output=True, text=True))
        if done.returncode != 0:
            sys.exit(f"reprise ingest: {done.stderr}")
        add_s += seconds
        recall = [*start, "--json", "recall", "--user", user.name, "--queries", str(queries)]
        recall += ["--top-k", str(TOP_K)]
        done = subprocess.run(recall, capture_output=True, text=True, check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        if any("no_query_vector" in answer["degraded"] for answer in answers):
            sys.exit("reprise recall answered without the vectors that it was handed")
        search_s += [answer["elapsed_ms"] / 1e3 for answer in answers]
        found = [[one["external_id"] for one in answer["results"]] for answer in answers]
        shares += user.recall10(found)
    return add_s, search_s, shares


def models_folder():
    given = os.environ.get("REPRISE_MODELS_DIR")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(given or f"{cache}/reprise/models")


def rows_of(arguments, users, folder):
    """One row per system: name, add, search, both with the model, R@10; milliseconds a piece."""
    records = sum(len(user.records) for user in users)
    real = records - arguments.pad * len(users)
    embed_add = 1e3 * sum(user.embed_records_s for user in users) / real
    embed_search = 1e3 * statistics.median(s for user in users for s in user.embed_queries_s)

    def row(name, add_s, search_s, shares, model_add, model_search):
        add, search = 1e3 * add_s / records, 1e3 * statistics.median(search_s)
        return {
            "system": name,
            "add_ms": add,
            "search_ms": search,
            "add_with_model_ms": model_add if model_add else add + embed_add,
            "search_with_model_ms": model_search if model_search else search + embed_search,
            "recall_at_10": 100 * statistics.mean(shares),
        }

    group = arguments.group
    own = measure_reprise(arguments.reprise, users, folder, group, with_model=False)
    if "model" in arguments.without:
        yield row("Reprise", *own, None, None)
    else:
        model = measure_reprise(arguments.reprise, users, folder, group, with_model=True)
        model_add, model_search = 1e3 * model[0] / records, 1e3 * statistics.median(model[1])
        # What is found is what a user finds: with its own model.
        yield row("Reprise", own[0], own[1], model[2], model_add, model_search)
    for kind in (Mem0, Chroma, SqliteVec, Lance):
        if kind.__name__.lower() in arguments.without:
            continue
        print(f"... {kind.name}", file=sys.stderr)
        yield row(kind.name, *measure(kind, users, folder, group), None, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="users' folders, or one user's")
    parser.add_argument("--reprise", required=True, help="the binary")
    parser.add_argument("--pad", type=int, default=0, help="synthetic records more in each store")
    parser.add_argument("--group", type=int, default=64, help="records of one commit, 1..64")
    parser.add_argument("--users", type=int, default=None, help="the first users only")
    leave = "what takes too long on a large store: mem0, or our second run with the model"
    parser.add_argument("--without", nargs="*", default=[], choices=["mem0", "model"], help=leave)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    one = (arguments.folder / "records.jsonl").exists()
    folders = [arguments.folder] if one else sorted(p for p in arguments.folder.iterdir() if p.is_dir())
    embed = Embedder(models_folder())
    embed.all(["the first call is slower than the others"] * len(embed.sessions))
    print("... embedding", file=sys.stderr)
    users = [User(folder, embed, arguments.pad) for folder in folders[: arguments.users]]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="reprise-compare-"))
    try:
        rows = list(rows_of(arguments, users, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if arguments.json:
        print(json.dumps(rows))
        return
    records = sum(len(user.records) for user in users)
    asked = sum(len(user.queries) for user in users)
    print(f"{records} records of {len(users)} users, {arguments.group} a commit, {asked} questions")
    print("| system | add ms | x | search ms | x | add, model | x | search, model | x | R@10 |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    ours = rows[0]
    for row in rows:
        cells = [row["system"]]
        for key in ("add_ms", "search_ms", "add_with_model_ms", "search_with_model_ms"):
            cells += [f"{row[key]:.3f}", f"{row[key] / ours[key]:.1f}"]
        print("| " + " | ".join([*cells, f"{row['recall_at_10']:.1f}"]) + " |")


if __name__ == "__main__":
    main()
