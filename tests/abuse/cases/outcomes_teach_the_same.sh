#!/usr/bin/env bash
# An outcome told to the file and one told to a daemon teach of the same question. Needs the model.
set -euo pipefail
home=$(mktemp -d)
trap '"$REPRISE" --data-dir "$home/data" serve stop 2>/dev/null || :; rm -rf "$home"' EXIT
export XDG_RUNTIME_DIR=$home
run() { "$REPRISE" --data-dir "$home/data" "$@"; }
asked='Can you remind me what we discussed about the city search cache?'
echo '{"external_id":"a","text":"the city search cache is emptied every night"}' >"$home/a"
echo "{\"query\":\"$asked\",\"used\":[\"a\"],\"quality\":1.0}" >"$home/outcome"
alike() { run --json outcome explain --user "$1" "$asked" a | grep -o '"similarity":[0-9.]*' | head -1; }
run ingest --user file --jsonl "$home/a" >/dev/null
run outcome --user file --jsonl "$home/outcome" >/dev/null
run ingest --user daemon --jsonl "$home/a" >/dev/null
run serve --idle-exit 60 2>"$home/log" &
for _ in $(seq 200); do run serve status >/dev/null 2>&1 && break; sleep .05; done
# The first answer of a daemon may come before its model is there.
for _ in $(seq 100); do
  run --json recall --user daemon city 2>/dev/null | grep -q no_query_vector || break
  sleep .1
done
run outcome --user daemon --jsonl "$home/outcome" >/dev/null
file=$(alike file) daemon=$(alike daemon)
[[ -n $file && $file == "$daemon" ]] || { echo "file says $file, daemon says $daemon" >&2; exit 1; }
