#!/bin/sh
# The page in a real browser. Usage: tests/page/run.sh PATH/TO/reprise [TEST.mjs ...]
# Needs Node 20 with npm, and Chromium (Debian: apt-get install chromium, or CHROMIUM=PATH). Where one of
# them is missing it says so and tests nothing; with REPRISE_PAGE_TESTS=required that is a failure.
set -eu
reprise=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
lacks() {
    echo "tests/page: not run: $1" >&2
    [ "${REPRISE_PAGE_TESTS:-}" != required ] || exit 1
    exit 0
}
command -v node >/dev/null && command -v npm >/dev/null || lacks "node and npm are not here"
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}
[ -n "$chromium" ] || lacks "chromium is not here; install it or set CHROMIUM"
# Libraries of the tests stand outside the checkout, by the lock file that pins them.
lock=$(sha256sum "$here/package-lock.json" | cut -c1-12)
kept="${XDG_CACHE_HOME:-$HOME/.cache}/reprise/tests-page-$lock"
if [ ! -e "$kept/done" ]; then
    mkdir -p "$kept"
    cp "$here/package.json" "$here/package-lock.json" "$kept/"
    (cd "$kept" && npm ci --silent --no-audit --no-fund --ignore-scripts)
    touch "$kept/done"
fi
"$kept/node_modules/.bin/tsc" -p "$here/tsconfig.json"
lines=$(cat "$here"/../../crates/reprise-page/assets/*.js | wc -l)
[ "$lines" -le 1500 ] || { echo "the page's script has $lines lines; 1500 are allowed" >&2; exit 1; }
export REPRISE="$reprise" CHROMIUM="$chromium" LIBRARIES="$kept/node_modules"
cd "$here"
[ $# -gt 0 ] || set -- *.test.mjs
case $1 in
    *.test.mjs) ;;
    # What prints or draws: `figures.mjs`, `pictures.mjs FOLDER`.
    *) exec node "$@" ;;
esac
# Each file has a daemon and a browser of its own; two at once, for two cores. What hangs fails.
exec node --test --test-timeout=600000 --test-concurrency="${AT_ONCE:-2}" "$@"
