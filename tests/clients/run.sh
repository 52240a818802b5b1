#!/bin/sh
# Drives the official clients and the conformance suite of MCP against a reprise of their own.
# Usage: tests/clients/run.sh PATH/TO/reprise. Needs python3, npm, curl and a network.
set -eu
reprise=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
export XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
memory() { "$reprise" --data-dir "$work/data" --no-model "$@"; }
trap 'memory serve stop; rm -rf "$work"' EXIT

python3 -m venv "$work/python"
"$work/python/bin/pip" install --quiet mcp
"$work/python/bin/python" "$here/client.py" "$reprise" --data-dir "$work/data" --no-model mcp

cd "$work"
npm init -y >/dev/null
# The suite for the spec of 2026-07-28 wants a newer Node than Debian has; npm has that too.
npm install --silent @modelcontextprotocol/sdk node@22 @modelcontextprotocol/conformance@0.2.0-alpha.12
cp "$here/client.mjs" "$work/client.mjs"
node client.mjs "$reprise" --data-dir "$work/data" --no-model mcp

# The suite knows no tokens: a forwarder adds one.
port=7349
token=$(memory serve token add conformance)
memory serve --replace --http "127.0.0.1:$port" &
until curl --silent --fail "http://127.0.0.1:$port/health/ready" >/dev/null; do sleep 0.1; done
TOKEN="$token" PORT="$port" node "$here/forward.mjs" &
forward=$!
sleep 1
suite() {
    node_modules/.bin/node node_modules/@modelcontextprotocol/conformance/dist/index.js server \
        --url http://127.0.0.1:7350/mcp --spec-version "$1" --scenario "$2"
}
# Every scenario that needs no tool of the suite's own.
for scenario in server-initialize server-session-lifecycle ping completion-complete tools-list \
    resources-list prompts-list dns-rebinding-protection; do
    suite 2025-11-25 "$scenario"
done
for scenario in tools-list resources-list prompts-list sep-2164-resource-not-found caching \
    http-header-validation dns-rebinding-protection; do
    suite 2026-07-28 "$scenario"
done
# Four of its 25 checks need tools of the suite's own and say "Not testable"; nothing else may fail.
suite 2026-07-28 server-stateless >stateless.log || true
failed=$(grep -c FAILURE stateless.log || true)
untestable=$(grep -c 'Error: Not testable' stateless.log || true)
echo "server-stateless: $failed checks do not pass, of which $untestable are not testable here"
[ "$failed" -eq "$untestable" ]
kill "$forward"

# A daemon that issues its own tokens: the client finds the way in, and a person confirms.
memory serve stop
printf '[serve.oauth]\n' >"$work/config.toml"
cp "$here/oauth.mjs" "$work/oauth.mjs"
memory --config "$work/config.toml" serve --http "127.0.0.1:$port" &
until curl --silent --fail "http://127.0.0.1:$port/health/ready" >/dev/null; do sleep 0.1; done
node oauth.mjs "http://127.0.0.1:$port/mcp" "$reprise" --data-dir "$work/data" --no-model \
    --config "$work/config.toml"
