#!/usr/bin/env bash
# The abuse campaign, by hand: what a careless or hostile machine does to the real binary.
#
#   cargo build --release && tests/abuse/run.sh [CASE...]     # all, or cases/CASE.* alone
#   SHORT=1 tests/abuse/run.sh                                # fewer rounds of each
#   REPRISE=target/debug/reprise tests/abuse/run.sh           # another binary
#
# Each executable in cases/ works in a folder of its own, over loopback and Unix sockets only, and
# says by its exit code whether the promise held; the last line of its stderr says why not.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPRISE=$(realpath -e "${REPRISE:-$here/../../target/release/reprise}") || {
  echo "run.sh: no binary; run: cargo build --release" >&2
  exit 2
}
export REPRISE PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1
# What takes longer than this, in seconds, hangs, on the slowest machine too; some say another limit of
# their whole form.
usual=${LIMIT:-600}
wanted=" $* "
passed=0 failed=0
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for case in "$here"/cases/*; do
  name=$(basename "${case%.*}")
  [[ -x $case ]] || continue
  [[ $# -eq 0 || $wanted == *" $name "* ]] || continue
  limit=$usual
  if [[ -z ${SHORT:-} ]]; then
    own=$(sed -n 's/^# Whole: at most \([0-9]*\) s\.$/\1/p' "$case")
    limit=${own:-$usual}
  fi
  timeout --kill-after=5 "$limit" "$case" >/dev/null 2>"$said"
  code=$?
  if ((code == 0)); then
    echo "ok $name"
    passed=$((passed + 1))
  else
    why=$(grep -v '^[[:space:]]*$' "$said" | tail -n 1)
    ((code == 124)) && why="it took more than $limit s"
    echo "FAILED $name: ${why:-exit code $code}"
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
