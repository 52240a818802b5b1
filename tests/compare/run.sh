#!/usr/bin/env bash
# Reprise beside mem0, Chroma, sqlite-vec with FTS5 and LanceDB, on one data folder, in one run.
# usage: tests/compare/run.sh FOLDER [--pad N] [--json]
# FOLDER holds users' folders with records.jsonl, queries.jsonl and gold.jsonl (docs/builders/evaluation.md).
# Installs the others from PyPI into a virtual environment of its own; needs python3 and pip.
#   REPRISE_COMPARE_VENV  where that is [target/compare-venv]
#   REPRISE_BIN           the binary to measure [built here]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/tests/compare
venv=${REPRISE_COMPARE_VENV:-$root/target/compare-venv}

if (($# == 0)); then
  sed -n '2,7s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
if [[ ! -x $venv/bin/python ]]; then
  python3 -m venv "$venv"
fi
if ! "$venv/bin/python" -c 'import apsw, chromadb, lancedb, mem0, sqlite_vec' 2>/dev/null; then
  nice -n 10 "$venv/bin/python" -m pip install --quiet --no-compile \
    --disable-pip-version-check -r "$here/requirements.txt"
fi
if [[ -z ${REPRISE_BIN:-} ]]; then
  (cd "$root" && cargo build --release -p reprise)
  REPRISE_BIN=${CARGO_TARGET_DIR:-$root/target}/release/reprise
fi
"$REPRISE_BIN" models pull >&2
exec "$venv/bin/python" "$here/compare.py" --reprise "$REPRISE_BIN" "$@"
