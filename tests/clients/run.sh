#!/bin/sh
# Drives the official clients and the conformance suite of MCP against a reprise of their own.
# Usage: tests/clients/run.sh PATH/TO/reprise. Needs python3, npm, curl and a network.
set -eu
reprise=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
export XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
serve() { "$reprise" --data-dir "$work/data" --no-model "$@"; }
trap 'serve stop; rm -rf "$work"' EXIT

python3 -m venv "$work/python"
"$work/python/bin/pip" install --quiet mcp
"$work/python/bin/python" "$here/client.py" "$reprise" --data-dir "$work/data" --no-model mcp

cd "$work"
npm init -y >/dev/null
npm install --silent @modelcontextprotocol/sdk @modelcontextprotocol/conformance@0.1.13
cp "$here/client.mjs" "$work/client.mjs"
node client.mjs "$reprise" --data-dir "$work/data" --no-model mcp

# The suite knows no tokens: a forwarder adds one.
port=7349
token=$(serve token add conformance)
serve serve --replace --http "127.0.0.1:$port" &
until curl --silent --fail "http://127.0.0.1:$port/health/ready" >/dev/null; do sleep 0.1; done
TOKEN="$token" PORT="$port" node "$here/forward.mjs" &
forward=$!
sleep 1
for scenario in server-initialize ping tools-list resources-list prompts-list dns-rebinding-protection; do
    npx @modelcontextprotocol/conformance server --url "http://127.0.0.1:7350/mcp" --scenario "$scenario"
done
kill "$forward"
