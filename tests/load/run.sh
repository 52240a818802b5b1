#!/bin/sh
# Loads the HTTP door with wrk: 100 users with 100 records each, the model on; then far too many
# connections. Prints latency, errors and the daemon's resident memory.
# Usage: tests/load/run.sh PATH/TO/reprise [SECONDS]. Needs wrk, curl, python3 and the installed model
# (reprise doctor models pull). Held: no errors, p99 <= 10x p50, memory flat, overload answered by 429
# with Retry-After.
set -eu
reprise=$(realpath "$1")
seconds=${2:-30}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
export XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
serve() { "$reprise" --data-dir "$work/data" "$@"; }
trap 'serve stop; rm -rf "$work"' EXIT

port=7352
origin="http://127.0.0.1:$port"
TOKEN=$(serve token add load 2>"$work/told")
export TOKEN
serve serve --http "127.0.0.1:$port" 2>"$work/daemon.log" &
until curl --silent --fail "$origin/health/ready" >/dev/null; do sleep 0.1; done
daemon=$(head -n 1 "$work/data/.reprise/daemon.lock")
resident() { awk '/VmRSS/ { printf "%d MB", $2 / 1024 }' "/proc/$daemon/status"; }
ticks() { awk '{ print $14 + $15 }' "/proc/$daemon/stat"; }

python3 - "$work" <<'END'
import json, random, sys
words = "token refresh race deploy image tag cache index lock test build merge branch queue".split()
rng = random.Random(1)
for user in range(1, 101):
    with open(f"{sys.argv[1]}/load{user}", "w") as lines:
        for number in range(100):
            text = " ".join(rng.choices(words, k=20))
            lines.write(json.dumps({"text": f"{text} {number}"}) + "\n")
END
for user in $(seq 100); do
    curl --silent --fail --output /dev/null --header "Authorization: Bearer $TOKEN" \
        --header "Content-Type: application/x-ndjson" --data-binary "@$work/load$user" \
        "$origin/v1/users/load$user/records"
done
echo "resident with 100 users of 100 records: $(resident)"
load() {
    wrk --threads 2 --connections "$1" --duration "$2s" --timeout 20s --script "$here/mixed.lua" \
        "$origin" | grep -E 'FIGURES|Requests/sec'
}
echo "warming up"
load 8 "$((seconds / 3))"
for round in 1 2 3; do
    echo "round $round, 16 connections, resident before: $(resident)"
    load 16 "$seconds"
done
echo "resident after: $(resident)"
echo "overload, 800 connections"
load 800 "$((seconds / 2))"
echo "resident after the overload: $(resident)"
echo "live: $(curl --silent "$origin/health/live")"
sleep 10
before=$(ticks)
sleep 60
echo "idle: $(($(ticks) - before)) ticks of 10 ms in 60 s, resident $(resident)"
grep -c panicked "$work/daemon.log" || true
