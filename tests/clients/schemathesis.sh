#!/bin/sh
# Holds every route against /openapi.json: schemathesis sends what the document allows and what it
# forbids, and looks at statuses, media types, schemas, tokens and methods (all checks).
# Usage: tests/clients/schemathesis.sh PATH/TO/reprise [EXAMPLES [DOCUMENT]]. EXAMPLES are those of a
# route (100), DOCUMENT is held in place of the daemon's own. Needs python3, curl and a network.
set -eu
reprise=$(realpath "$1")
examples=${2:-100}
work=$(mktemp -d)
export XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
serve() { "$reprise" --data-dir "$work/data" --no-model "$@"; }
trap 'serve stop; rm -rf "$work"' EXIT

python3 -m venv "$work/python"
"$work/python/bin/pip" install --quiet 'schemathesis>=4,<5'

port=7351
origin="http://127.0.0.1:$port"
token=$(serve token add schemathesis 2>"$work/told")
serve serve --http "127.0.0.1:$port" 2>"$work/daemon.log" &
until curl --silent --fail "$origin/health/ready" >/dev/null; do sleep 0.1; done
document=$origin/openapi.json
[ $# -lt 3 ] || document=$(realpath "$3")
cd "$work"

# What a tool takes is in its own schema (tools/list), not in this document.
cat >"$work/schemathesis.toml" <<'END'
[[operations]]
include-path-regex = "/tools/"
checks.positive_data_acceptance.enabled = false
END
# Not asked: the feed, which has no end, and MCP, whose messages fuzz.py makes.
"$work/python/bin/schemathesis" --config-file "$work/schemathesis.toml" run "$document" \
    --url "$origin" --header "Authorization: Bearer $token" --max-examples "$examples" \
    --exclude-path-regex '/changes$|^/mcp$' --request-timeout 10 --seed 1 --no-color
if grep -qE "panicked|$token" "$work/daemon.log"; then
    cat "$work/daemon.log"
    exit 1
fi
