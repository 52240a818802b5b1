#!/usr/bin/env bash
# A wrong file is given up after ten lines with a guess, and makes no memory.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export XDG_RUNTIME_DIR=$home
many() { for ((n = 0; n < 500; n++)); do echo "$1"; done; }
try() { # FILE WORD
  local code=0
  "$REPRISE" --no-model --data-dir "$home/data" ingest --user ada --jsonl "$1" 2>"$home/said" >/dev/null || code=$?
  ((code == 2 || code == 1)) || { echo "$1: exit code $code" >&2; exit 1; }
  (($(wc -l <"$home/said") <= 11)) || { echo "$1: $(wc -l <"$home/said") lines were said" >&2; exit 1; }
  (($(wc -c <"$home/said") <= 4000)) || { echo "$1: $(wc -c <"$home/said") bytes were said" >&2; exit 1; }
  grep -q "seems to be.*$2" "$home/said" || { echo "$1: $(tail -n 1 "$home/said")" >&2; exit 1; }
  [[ ! -e $home/data/ada ]] || { echo "$1 made a memory" >&2; exit 1; }
}
many '- a note' >"$home/notes.md"; try "$home/notes.md" 'a note'
head -c 100000 "$REPRISE" >"$home/program"; try "$home/program" 'not text'
many 'id,text' >"$home/table.csv"; try "$home/table.csv" 'CSV'
printf '[\n%s\n]\n' "$(many '  {"text": "x"},')" >"$home/list.json"; try "$home/list.json" 'jq'
many '{"role":"user","content":"x"}' >"$home/chat.jsonl"; try "$home/chat.jsonl" 'no `text`'
many '{"seq":1,"event_type":"a","payload":{}}' >"$home/log"; try "$home/log" 'event log'
