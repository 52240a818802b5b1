#!/bin/sh
# A thousand users on one daemon, ten of them active: resident memory, threads and descriptors after
# everybody was there once, after the idle ones were put to sleep, and with the model asleep as well.
# Usage: tests/load/users.sh PATH/TO/reprise. Needs curl and the installed model. Memories sleep after
# 20 s here instead of ten minutes.
set -eu
reprise=$(realpath "$1")
work=$(mktemp -d)
export XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
printf '[memory]\npassivate_after_seconds = 20\n' >"$work/config.toml"
export REPRISE_CONFIG="$work/config.toml"
serve() { "$reprise" --data-dir "$work/data" "$@"; }
trap 'serve stop; rm -rf "$work"' EXIT
serve serve 2>"$work/daemon.log" &
until [ -s "$work/data/.reprise/daemon.lock" ]; do sleep 0.1; done
sleep 2
daemon=$(head -n 1 "$work/data/.reprise/daemon.lock")
socket=$(tail -n 1 "$work/data/.reprise/daemon.lock")
say() {
    awk -v what="$1" '/^Vm(RSS)|^Rss(Anon)|^Threads/ { v[$1] = $2 }
        END { printf "%-46s %4d MB resident, %3d MB of it its own, %4d threads",
              what, v["VmRSS:"] / 1024, v["RssAnon:"] / 1024, v["Threads:"] }' "/proc/$daemon/status"
    echo ", $(ls "/proc/$daemon/fd" | wc -l) descriptors"
}
ask() { curl --silent --fail --output /dev/null --unix-socket "$socket" "http://localhost/v1/users/$1" --data "$2"; }
everybody() {
    for user in $(seq "$1"); do ask "user$user/$2" "$3"; done
}
ticks() { awk '{ print $14 + $15 }' "/proc/$daemon/stat"; }
note='{"text": "the token refresh races with the logout"}'
question='{"query": "token refresh"}'
say "started, the model open"
everybody 10 records "$note"
say "10 users"
everybody 1000 records "$note"
say "1,000 users, one after another"
sleep 5
before=$(ticks)
sleep 10
echo "  idle: $(($(ticks) - before)) ticks of 10 ms in 10 s"
for round in 1 2 3 4 5 6 7 8; do
    everybody 10 recall "$question"
    sleep 5
done
say "10 active, the others asleep"
sleep 60
say "everybody asleep, the model too"
before=$(ticks)
sleep 30
echo "  idle: $(($(ticks) - before)) ticks of 10 ms in 30 s"
curl --silent --output /dev/null --unix-socket "$socket" "http://localhost/v1/users/user1/recall" \
    --data "$question" --write-out '  the first recall then: %{time_total} s\n'
