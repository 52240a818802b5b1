#!/usr/bin/env bash
# A backup takes the place of a memory that a daemon serves and that others ask for all the time:
# afterwards it is the backup, plus what was kept later, and nothing else.
set -euo pipefail
home=$(mktemp -d)
trap 'kill $asking 2>/dev/null || :; "$REPRISE" --data-dir "$home/data" serve stop 2>/dev/null || :; rm -rf "$home"' EXIT
asking=
export XDG_RUNTIME_DIR=$home
run() { "$REPRISE" --no-model --data-dir "$home/data" "$@"; }
run serve --idle-exit 120 2>"$home/log" &
for _ in $(seq 200); do run serve status >/dev/null 2>&1 && break; sleep .05; done
run learn --user ada --content "the first of them" >/dev/null
run backup "$home/ada.rvf" --user ada >/dev/null
(while :; do run recall --user ada first >/dev/null 2>&1 || :; done) & asking=$!
rounds=$((${SHORT:+1}+0 ? 5 : 25))
for ((round = 0; round < rounds; round++)); do
  run learn --user ada --content "forgotten by the restore $round" >/dev/null
  run restore "$home/ada.rvf" --user ada --replace >/dev/null 2>"$home/said" ||
    { echo "round $round: $(tail -n 1 "$home/said")" >&2; exit 1; }
  # The lock is the restore's until it has ended, and then the daemon's again.
  kept=$(run export --user ada | wc -l)
  ((kept == 1)) || { echo "round $round: $kept records instead of 1" >&2; exit 1; }
  run learn --user ada --content "kept after it $round" >/dev/null 2>"$home/said" ||
    { echo "round $round: $(tail -n 1 "$home/said")" >&2; exit 1; }
  kept=$(run export --user ada | wc -l)
  ((kept == 2)) || { echo "round $round: $kept records instead of 2" >&2; exit 1; }
done
run check --user ada >/dev/null || { echo "the memory is damaged" >&2; exit 1; }
