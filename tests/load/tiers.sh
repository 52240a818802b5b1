#!/bin/sh
# The whole service on machines of the smallest sizes: within one core and 512 MB of memory, then
# within two cores and 1 GB. A daemon with the model, 10,000 records ingested through it, recalls
# over HTTP, a service of published knowledge beside it and recalls over both, consolidation and
# compaction, a clean stop. Prints times, the peak of memory and whose it was, the disk used, and
# what was killed for want of memory.
# Usage: tests/load/tiers.sh PATH/TO/reprise [CORES:MEGABYTES ...]. Needs Linux with control groups
# (v1 or v2) and the right to make one (root), taskset, curl and the installed model (reprise doctor models
# pull). Held: nothing killed, everything answered, a clean stop. The peak has page cache in it,
# which fills any bound; the processes' own memory and the files they have mapped are given apart.
# The first recalls over both miss the service's answer while it opens its model (`no_global`).
set -eu
records=10000
published=500
questions=200
port=7353
global_port=7354

# Inside the bounds: a copy of binary and model, so that their pages are paid for here as well.
inside() {
    work=$1
    cp "$2" "$work/reprise"
    mkdir "$work/models"
    find "$3" -type f ! -name '*.f32*' -exec cp {} "$work/models" \;
    export XDG_RUNTIME_DIR="$work/run" REPRISE_MODELS_DIR="$work/models" REPRISE_USER=ada
    export REPRISE_CONFIG="$work/config.toml"
    : >"$REPRISE_CONFIG"
    mkdir -m 700 "$XDG_RUNTIME_DIR"

    knowledge() { "$work/reprise" --data-dir "$work/knowledge" "$@"; }
    knowledge global token add ada --user ada >"$work/token" 2>"$work/told"
    from=$(now)
    knowledge global import --user ann "$work/published" >"$work/imported"
    say "import of $published published things" "$(since "$from") s"
    "$work/reprise" --data-dir "$work/knowledge" global serve --http "127.0.0.1:$global_port" \
        2>"$work/global.log" &
    global=$!
    printf '[global]\nurl = "http://127.0.0.1:%s"\ntoken = "%s"\n' "$global_port" \
        "$(cat "$work/token")" >"$REPRISE_CONFIG"

    serve() { "$work/reprise" --data-dir "$work/data" "$@"; }
    token=$(serve token add load 2>"$work/told")
    "$work/reprise" --data-dir "$work/data" serve --http "127.0.0.1:$port" 2>"$work/daemon.log" &
    daemon=$!
    ready "$port" "$daemon"
    ready "$global_port" "$global"
    from=$(now)
    serve ingest --jsonl "$work/records" >"$work/ingested"
    say "ingest of $records records" "$(since "$from") s"
    say "kept" "$(cat "$work/ingested")"
    while read -r question; do
        curl --silent --fail --output "$work/answer" --write-out '%{time_total}\n' \
            --header "Authorization: Bearer $token" --data "{\"query\": \"$question\"}" \
            "http://127.0.0.1:$port/v1/users/ada/recall"
        grep -q '"degraded":\[\]' "$work/answer"
    done <"$work/questions" >"$work/times"
    say "recall over HTTP, median of $questions" "$(median "$work/times")"
    while read -r question; do
        from=$(now)
        serve recall --scope local+global --json "$question" >>"$work/both"
        since "$from"
    done <"$work/questions" >"$work/times"
    say "recall --scope local+global, a process each" "$(median "$work/times")"
    say "  answers with published things in them" "$(grep -c '"scope":"global"' "$work/both")"
    say "  answers without the service (no_global)" "$(grep -c no_global "$work/both" || true)"
    for work_of_its_own in consolidate compact; do
        from=$(now)
        serve $work_of_its_own >"$work/told"
        say "$work_of_its_own" "$(since "$from") s"
    done
    ready "$port" "$daemon"
    ready "$global_port" "$global"
    for process in daemon global; do
        eval "id=\$$process"
        say "$process: own memory, resident, most resident" \
            "$(awk '/^(RssAnon|VmRSS|VmHWM)/ { v[$1] = $2 / 1024 } END {
                printf "%d, %d, %d MB", v["RssAnon:"], v["VmRSS:"], v["VmHWM:"]
            }' "/proc/$id/status")"
    done
    serve stats | grep -q ' 0 records waiting'
    serve stop
    wait "$daemon"
    kill -TERM "$global"
    wait "$global"
    say "stop" "clean, both"
    serve check >"$work/checked"
    say "check" "nothing wrong"
    say "data folder, published store" "$(megabytes "$work/data"), $(megabytes "$work/knowledge")"
    say "these with binary and model" "$(megabytes "$work")"
}
now() { date +%s.%N; }
since() { echo "$1 $(now)" | awk '{ printf "%.3f\n", $2 - $1 }'; }
say() { printf '  %-48s %s\n' "$1" "$2"; }
median() { sort -n "$1" | awk '{ v[NR] = 1000 * $1 } END { print v[int((NR + 1) / 2)] " ms" }'; }
megabytes() { du -sm "$1" | awk '{ printf "%s MB", $1 }'; }
most() { cut -d ' ' -f "$1" "$work/parts" | sort -n | tail -n 1; }
ready() {
    until curl --silent --fail "http://127.0.0.1:$1/health/ready" >/dev/null; do
        kill -0 "$2"
        sleep 0.1
    done
}
if [ "$1" = inside ]; then
    shift
    inside "$@"
    exit
fi

reprise=$(realpath "$1")
shift
models=${REPRISE_MODELS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/reprise/models}
groups=/sys/fs/cgroup
if [ -w $groups/memory/memory.limit_in_bytes ]; then
    groups=$groups/memory limit=memory.limit_in_bytes swap=memory.memsw.limit_in_bytes
    peak=memory.max_usage_in_bytes kills=memory.oom_control own=total_rss mapped=total_mapped_file
elif grep -qsw memory $groups/cgroup.controllers &&
    echo +memory 2>/dev/null >$groups/cgroup.subtree_control; then
    limit=memory.max swap=memory.swap.max
    peak=memory.peak kills=memory.events own=anon mapped=file_mapped
else
    echo "Nothing can be bounded: this user may use no memory controller in $groups." >&2
    exit 2
fi
group=$groups/reprise-tiers-$$
work=$(mktemp -d)
unbind() {
    while [ -d "$group" ] && ! rmdir "$group" 2>/dev/null; do
        while read -r left; do kill -KILL "$left" || true; done <"$group/cgroup.procs"
        sleep 0.1
    done
}
trap 'unbind; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

awk -v records=$records -v published=$published -v questions=$questions -v folder="$work" '
    function text(count, line) {
        for (line = word(); --count;) line = line " " word()
        return line
    }
    function word() { return words[int(rand() * many) + 1] }
    BEGIN {
        srand(1)
        many = split("token refresh race deploy image tag cache index lock test build merge " \
            "branch queue timeout retry session cookie logout certificate proxy header upload " \
            "disk quota backup restore replica leader vote shard page query plan column " \
            "migration schema worker thread panic stack heap leak socket port firewall route " \
            "metric alert dashboard release rollback canary flag invoice payment", words, " ")
        for (n = 1; n <= records; n++)
            printf "{\"external_id\":\"%d\",\"text\":\"%s %d\"}\n", n, text(25), n \
                >(folder "/records")
        for (n = 1; n <= published; n++)
            printf "{\"origin\":\"%064x\",\"content_type\":\"document\",\"title\":\"%s\"," \
                "\"summary\":\"%s\",\"content\":\"%s %d\",\"tags\":[]," \
                "\"access_policy\":\"public\",\"licence\":\"\"}\n", \
                n, text(5), text(10), text(25), n >(folder "/published")
        for (n = 1; n <= questions; n++) print text(5) >(folder "/questions")
    }'

bad=0
[ $# -gt 0 ] || set -- 1:512 2:1024
for tier in "$@"; do
    cores=${tier%:*} memory=${tier#*:}
    mkdir "$group" "$work/tier"
    cp "$work/records" "$work/published" "$work/questions" "$work/tier"
    echo "$((memory * 1048576))" >"$group/$limit"
    if [ -f "$group/$swap" ]; then
        case $swap in *max) echo 0 ;; *) echo "$((memory * 1048576))" ;; esac >"$group/$swap"
    fi
    echo "$cores core(s), $memory MB; load of the machine before: $(cut -d ' ' -f 1 /proc/loadavg)"
    how=failed
    sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec taskset --cpu-list "$@"' - "$group" \
        "0-$((cores - 1))" sh "$0" inside "$work/tier" "$reprise" "$models" &
    bound=$!
    while kill -0 "$bound" 2>/dev/null; do
        awk -v own="$own" -v mapped="$mapped" '{ v[$1] = int($2 / 1048576) }
            END { print v[own], v[mapped] }' "$group/memory.stat" >>"$work/parts"
        sleep 0.2
    done
    if wait "$bound"; then how=done; fi
    killed=$(awk '$1 == "oom_kill" { print $2 }' "$group/$kills")
    say "peak, page cache included" "$(awk '{ print int($1 / 1048576) }' "$group/$peak") MB"
    say "the processes' own memory at most (each 0.2 s)" "$(most 1) MB"
    say "pages of mapped files at most" "$(most 2) MB"
    say "killed for want of memory" "$killed"
    say "everything was" "$how"
    if [ "$how" = failed ] || [ "$killed" != 0 ]; then
        bad=1
        find "$work/tier" -maxdepth 1 -name '*.log' -exec tail -n 5 {} \;
    fi
    unbind
    rm -rf "$work/tier" "$work/parts"
done
exit $bad
