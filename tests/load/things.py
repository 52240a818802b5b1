"""How questions to a service grow with what is published: processor time of a question, and how long one
client waits, with the model.

python3 tests/load/things.py PATH/TO/reprise [THINGS=100000] [QUESTIONS=300]

Some thousand texts made of sentences of our own documents are imported with their vectors; the rest are
copies of their rows with vectors that are bent a little, written by SQL. Then an import of one more lets
the program build its vector index, and one client asks one question after the other, each of which has
words of two sentences. Prints a line of JSON: megabytes of the database, seconds of each step, processor
time of service and database for a question, median and 99 of 100, and what the answers were degraded by.
"""

import glob
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from overload import family, processor_seconds
from teams import HERE, Database, served, share, token

BASE = 3000

BENT = """
INSERT INTO reprise_global.search (shelf, id, version, content_type, since, head, terms, embedding)
    SELECT s.shelf, c.copy, s.version, s.content_type, s.since, s.head, s.terms,
        l2_normalize((SELECT array_agg(v + (random() - 0.5) * 0.03)
            FROM unnest(s.embedding::real[]) AS v)::real[]::halfvec)
    FROM copied c JOIN reprise_global.search s ON s.id = c.id;
"""
COPIES = """
SET synchronous_commit = off;
CREATE TEMPORARY TABLE copied AS SELECT id, gen_random_uuid() AS copy, n
    FROM (SELECT id FROM reprise_global.thing WHERE author = 'ann' ORDER BY since, id LIMIT {base}) t,
    generate_series({first}, {last}) AS n;
INSERT INTO reprise_global.thing (shelf, id, version, author, publication, checksum, since, tokens)
    SELECT t.shelf, c.copy, t.version, t.author, t.publication, t.checksum, t.since, t.tokens
    FROM copied c JOIN reprise_global.thing t ON t.id = c.id;
""" + BENT + """
INSERT INTO reprise_global.posting (shelf, token, id, version, count, head)
    SELECT p.shelf, p.token, c.copy, p.version, p.count, p.head
    FROM copied c JOIN reprise_global.posting p ON p.id = c.id;
INSERT INTO reprise_global.authored (author, origin, id, shelf, version, checksum)
    SELECT a.author, a.origin || '/' || c.n, c.copy, a.shelf, a.version, a.checksum
    FROM copied c JOIN reprise_global.authored a ON a.id = c.id;
"""


def sentences():
    texts = [open(path, encoding="utf-8").read()
             for path in glob.glob(os.path.join(HERE, "..", "..", "docs", "**", "*.md"), recursive=True)]
    found = re.split(r"(?<=[.:])\s+", "\n".join(texts))
    return [" ".join(one.split()) for one in found if 40 < len(one) < 300 and "|" not in one]


def main():
    reprise = os.path.realpath(sys.argv[1])
    things = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    questions = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    dice, said = random.Random(7), sentences()
    work = tempfile.mkdtemp(dir="/tmp")
    os.chmod(work, 0o755)
    database = Database(work, "shared_buffers=1GB", "maintenance_work_mem=1GB", "max_wal_size=4GB")
    data, done = os.path.join(work, "data"), {"things": things}

    def timed(name, act):
        began = time.monotonic()
        act()
        done[f"{name}_s"] = round(time.monotonic() - began, 1)

    def imported(name, origins):
        file = os.path.join(work, f"{name}.jsonl")
        with open(file, "w", encoding="utf-8") as lines:
            for origin in origins:
                text = " ".join(dice.choices(said, k=3))
                lines.write(json.dumps({
                    "origin": origin, "content_type": "document", "title": text[:60], "summary": "",
                    "content": text, "tags": [], "access_policy": "public", "licence": "",
                }) + "\n")
        command = [reprise, "--data-dir", data, "--json", "global", "import", file, "--user", "ann",
                   "--database-url", database.url]
        # A text that happens to look like a secret is passed over.
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        if subprocess.run(command, check=False, **quiet).returncode not in (0, 1):
            sys.exit("the import did not end as it should")

    def sql(statement):
        psql = glob.glob(os.path.join(tempfile.gettempdir(), "reprise-postgres/*/*/*/bin/psql"))[0]
        command = [psql, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", database.folder,
                   "-U", "postgres", "-d", "knowledge", "-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    base = min(BASE, things)
    timed("import", lambda: imported("base", [f"o{number}" for number in range(base)]))
    step = 50_000 // base
    copies = things // base - 1

    def copied():
        for first in range(1, copies + 1, step):
            last = min(first + step - 1, copies)
            sql(COPIES.format(base=base, first=first, last=last))

    timed("copies", copied)
    timed("index", lambda: imported("last", ["last"]))
    done["published"] = int(sql("SELECT sum(things) FROM reprise_global.shelf_size"))
    done["database_mb"] = int(sql("SELECT pg_database_size('knowledge') / 1000000"))
    service, address = served(reprise, data, database.url, models=True)
    bearer = token(reprise, data, database.url, "bob", "acme")
    door = http.client.HTTPConnection(address, timeout=60)
    took, degraded = [], {}

    def ask():
        words = " ".join(dice.choices(said, k=2)).split()
        body = json.dumps({"text": " ".join(dice.sample(words, min(8, len(words)))), "top_k": 10})
        began = time.monotonic()
        door.request("POST", "/v1/query", body, {"authorization": f"Bearer {bearer}"})
        answer = door.getresponse()
        told = json.loads(answer.read())
        took.append(time.monotonic() - began)
        for part in told["degraded"] if answer.status == 200 else [answer.status]:
            degraded[part] = degraded.get(part, 0) + 1

    for _ in range(30):
        ask()
    took.clear()
    degraded.clear()
    pids = [*family(database.keeper.pid), *family(service.pid)]
    before, began = processor_seconds(pids), time.monotonic()
    for _ in range(questions):
        ask()
    pids = [*family(database.keeper.pid), *family(service.pid)]
    done["questions_s"] = round(time.monotonic() - began, 1)
    done["processor_ms"] = round((processor_seconds(pids) - before) / questions * 1e3, 1)
    done["p50_ms"], done["p99_ms"] = share(took, 0.5), share(took, 0.99)
    done["degraded"], done["load"] = degraded, os.getloadavg()[0]
    print(json.dumps(done))
    for pid in family(service.pid):
        os.kill(int(pid), signal.SIGTERM)
    service.wait()
    database.close()


if __name__ == "__main__":
    main()
