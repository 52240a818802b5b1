#!/usr/bin/env bash
# Runs a command on a slow machine, again and again, in each of three ways: on one core; on one core
# beside two busy loops; and with a quota of processor time (cgroups, or systemd-run).
# Usage: tests/load/slow_machine.sh [--times N] [--quota PERCENT] [--only core|busy|quota] [-- COMMAND ...]
# Without a command it runs README's `cargo test` command. Build first: a build would be slow as well.
# For README's demo: tests/load/slow_machine.sh --quota 10 -- cargo run -- demo
# Held: every run ends with 0. Prints a line for each run; where no quota can be had it says so.
set -euo pipefail

times=3
quota=25
only=all
while (($#)); do
  case $1 in
    --times) times=$2; shift 2 ;;
    --quota) quota=$2; shift 2 ;;
    --only) only=$2; shift 2 ;;
    --) shift; break ;;
    *) printf 'slow_machine.sh: %s is not an option; see its first lines\n' "$1" >&2; exit 2 ;;
  esac
done
if (($#)); then
  command=("$@")
else
  cd "$(dirname "${BASH_SOURCE[0]}")/../.."
  command=(cargo test --workspace --no-fail-fast)
fi
command -v taskset >/dev/null || { echo "slow_machine.sh: taskset is not here; install util-linux" >&2; exit 2; }

log=$(mktemp)
loops=()
group=
failed=0
clean() {
  for loop in "${loops[@]}"; do kill "$loop" 2>/dev/null || true; done
  if [[ -n $group ]]; then rmdir "$group" 2>/dev/null || true; fi
  rm -f "$log"
}
trap clean EXIT

# The first core that this process may use.
core=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')

# run WAY COMMAND...: as often as was asked, until one fails.
run() {
  local way=$1 began status round
  shift
  for ((round = 1; round <= times; round++)); do
    began=$SECONDS status=0
    "$@" >"$log" 2>&1 || status=$?
    printf '%-34s %d of %d: %s in %d s\n' "$way" "$round" "$times" \
      "$( ((status)) && echo "ended with $status" || echo green)" "$((SECONDS - began))"
    if ((status)); then
      failed=1
      grep -E '^(test .* FAILED|error|thread .* panicked)' "$log" || tail -n 20 "$log"
      cp "$log" "${TMPDIR:-/tmp}/slow_machine.log"
      echo "  all that it said: ${TMPDIR:-/tmp}/slow_machine.log"
      return
    fi
  done
}

busy() { while :; do :; done; }

# within FOLDER COMMAND...: as a process of that group.
within() {
  local folder=$1
  shift
  (echo "$BASHPID" >"$folder/cgroup.procs" && exec "$@")
}

# A group of processes with the quota, of either version of cgroups; fails where none can be made.
make_group() {
  local period=100000
  local own=reprise-slow-$$
  if [[ -w /sys/fs/cgroup/cgroup.procs && $(cat /sys/fs/cgroup/cgroup.controllers 2>/dev/null) == *cpu* ]]; then
    group=/sys/fs/cgroup/$own
    mkdir "$group" 2>/dev/null || { group=; return 1; }
    echo +cpu >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
    echo "$((quota * period / 100)) $period" 2>/dev/null >"$group/cpu.max"
  elif [[ -w /sys/fs/cgroup/cpu/cgroup.procs ]]; then
    group=/sys/fs/cgroup/cpu/$own
    mkdir "$group" 2>/dev/null || { group=; return 1; }
    echo "$period" >"$group/cpu.cfs_period_us" && echo "$((quota * period / 100))" 2>/dev/null >"$group/cpu.cfs_quota_us"
  else
    return 1
  fi
}

if [[ $only == all || $only == core ]]; then
  run "one core" taskset -c "$core" "${command[@]}"
fi
if [[ $only == all || $only == busy ]]; then
  for _ in 1 2; do
    taskset -c "$core" "$BASH" -c "$(declare -f busy); busy" &
    loops+=($!)
  done
  run "one core beside two busy loops" taskset -c "$core" "${command[@]}"
  for loop in "${loops[@]}"; do kill "$loop"; wait "$loop" 2>/dev/null || true; done
  loops=()
fi
if [[ $only == all || $only == quota ]]; then
  if make_group; then
    run "$quota % of a core (cgroup)" within "$group" "${command[@]}"
  elif systemd-run --scope --quiet --property "CPUQuota=$quota%" true 2>/dev/null; then
    run "$quota % of a core (systemd-run)" \
      systemd-run --scope --quiet --property "CPUQuota=$quota%" "${command[@]}"
  else
    printf '%-34s not tried: neither cgroups nor systemd-run can be had here\n' "$quota % of a core"
  fi
fi
exit "$failed"
