#!/usr/bin/env bash
# Several ingests of one memory at once: each waits its turn, and everything is kept once.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export XDG_RUNTIME_DIR=$home
each=$((${SHORT:+1}+0 ? 100 : 1000))
run() { "$REPRISE" --no-model --data-dir "$home/data" "$@"; }
for client in 1 2 3 4; do
  for ((n = 0; n < each; n++)); do echo "{\"external_id\":\"$client-$n\",\"text\":\"$client says $n\"}"; done >"$home/$client"
done
pids=()
for client in 1 2 3 4; do run ingest --user ada --jsonl "$home/$client" >/dev/null 2>>"$home/said" & pids+=($!); done
for pid in "${pids[@]}"; do wait "$pid" || { echo "an ingest failed: $(tail -n 1 "$home/said")" >&2; exit 1; }; done
kept=$(run export --user ada | wc -l)
((kept == 4 * each)) || { echo "$kept of $((4 * each)) are kept" >&2; exit 1; }
