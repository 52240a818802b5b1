#!/bin/sh
# Holds every route of both services, the daemon and `global serve`, against its /openapi.json:
# schemathesis sends what the document allows and what it forbids, and looks at statuses, media
# types, schemas, tokens and methods (all checks). Nothing may fail, and but for tools a document may
# promise nothing that is refused.
# Usage: tests/clients/schemathesis.sh PATH/TO/reprise [EXAMPLES]. EXAMPLES are those of a route (40),
# beside the cases that are made for every bound. SEED=2 takes others; SHORT=1 takes one of each, and
# looks at no text beyond a thousand characters. Needs python3, pip or an installed schemathesis, and
# curl; where they cannot be had, it says so and ends with 0.
set -eu
reprise=$(realpath "$1")
examples=${2:-40}
[ -z "${SHORT:-}" ] || examples=1
work=$(mktemp -d)
export XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
run() { "$reprise" --data-dir "$work/data" --config "$work/config.toml" --no-model "$@"; }
global=
end() {
    [ -z "$global" ] || kill "$global"
    run serve stop >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap end EXIT

st=$(command -v schemathesis || true)
if [ -z "$st" ]; then
    if ! { python3 -m venv "$work/python" && "$work/python/bin/pip" install --quiet 'schemathesis>=4.32,<5'; } \
        >"$work/pip" 2>&1; then
        tail -n 1 "$work/pip"
        echo "schemathesis cannot be installed here: its cases are left out"
        exit 0
    fi
    st=$work/python/bin/schemathesis
fi

free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
until_ready() { until curl --silent --fail "$1/health/ready" >/dev/null; do sleep 0.1; done; }

# A tree whose operations do something, and something to find.
git -c init.defaultBranch=main init --quiet "$work/tree"
printf '[workspaces.app]\npath = "%s"\nusers = { "0" = ["tsm"], ada = ["tsm"] }\n' "$work/tree" >"$work/config.toml"
run workspace init "$work/tree" >/dev/null 2>&1 || true
token=$(run serve token add schemathesis 2>/dev/null)
daemon=http://127.0.0.1:$(free)
run serve --http "${daemon#http://}" 2>"$work/daemon.log" &
until_ready "$daemon"
for user in 0 ada; do
    curl --silent --fail --output "$work/kept" --header "Authorization: Bearer $token" \
        --json '[{"text": "Ada keeps the keys.", "external_id": "0"}, {"text": "Bob lost them."}]' \
        "$daemon/v1/users/$user/records"
done

mkdir "$work/shared"
reader=$("$reprise" --data-dir "$work/shared" global token add all --user ann --org acme \
    --may read,write,operate 2>/dev/null)
shelf=http://127.0.0.1:$(free)
"$reprise" --data-dir "$work/shared" --no-model global serve --http "${shelf#http://}" \
    --requests-per-second 100000 2>"$work/global.log" &
global=$!
until_ready "$shelf"

cd "$work"
# What a service says of a refusal must not change what is asked of it next. A body may be too large
# before it is wrong. What a tool takes is in its own schema (tools/list), not in this document.
cat >schemathesis.toml <<'END'
[phases.fuzzing.error-feedback]
enabled = false

[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 429]

[[operations]]
include-path-regex = "/tools/"
checks.positive_data_acceptance.enabled = false
END
# It makes no text that has both a pattern and so large a bound, and then sends something else: of
# these the bound is left to `bounds/tests.rs`.
asked() {
    curl --silent --fail "$1/openapi.json" | python3 -c '
import json, sys

def small(part):
    if isinstance(part, list):
        return [small(one) for one in part]
    if not isinstance(part, dict):
        return part
    most, bound = (1_000 if sys.argv[1:] else 100_000), part.get("maxLength")
    large = isinstance(bound, int) and bound > most and ("pattern" in part or sys.argv[1:])
    return {name: small(one) for name, one in part.items() if not (large and name == "maxLength")}

json.dump(small(json.load(sys.stdin)), sys.stdout)' ${SHORT:+short}
}
failed=0
# What means one thing in another type is read as that (`bounds/meant_types.rs`): a request that is wrong by
# its type alone may be answered. Anything else that is found is a failure.
only_types() {
    python3 -c '
import re, sys

found = re.split(r"(?m)^- (?=ST[0-9]+ )", open("found.txt").read())[1:]
wrong = [re.findall(r"Invalid component: .*", one) for one in found if one.startswith("ST201 ")]
by_type = [each for each in wrong if each and all(part.endswith(": Incorrect type") for part in each)]
print(f"{len(found)} found, {len(by_type)} of them read as what they mean")
sys.exit(not found or len(by_type) < len(found))'
}
# Not asked: the feed, which has no end.
held() {
    asked "$1" >described.json
    "$st" --config-file schemathesis.toml run described.json --url "$1" \
        --header "Authorization: Bearer $2" --max-examples "$examples" \
        --exclude-path-regex '/changes$' --request-timeout 30 --seed "${SEED:-1}" --no-color \
        --continue-on-failure --warnings off >found.txt && ended=0 || ended=$?
    cat found.txt
    [ "$ended" -eq 0 ] || only_types || failed=1
}
held "$daemon" "$token"
held "$shelf" "$reader"
for log in daemon.log global.log; do
    if grep -qE "panicked|$token|$reader" "$log"; then
        cat "$log"
        failed=1
    fi
done
exit "$failed"
