#!/usr/bin/env bash
# The packages as a user has them: tests/clients/packages.sh BINARY
# The wheel goes into an empty environment, the npm package into an empty prefix, both without a
# network, and `reprise demo` runs from each with an empty home and no compiler on the path.
set -euo pipefail
binary=$(realpath "${1:?usage: tests/clients/packages.sh BINARY}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

deploy/package.sh --binary "$binary" --out "$folder/out"
wheel=("$folder"/out/*.whl)
package=("$folder"/out/*.tgz)

python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-index "${wheel[0]}"
programs=("$folder/venv/bin/reprise")
if command -v npm >/dev/null; then
  npm install --silent --offline --global --prefix "$folder/prefix" "${package[0]}"
  programs+=("$folder/prefix/bin/reprise")
else
  echo "npm is not here: the npm package was written and not installed" >&2
fi

# Python with pip is what the model comes by; node runs the launcher.
mkdir "$folder/bin" "$folder/home"
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$folder/bin/python3"
for name in node sh env; do
  found=$(command -v "$name" || true)
  [ -z "$found" ] || ln -s "$found" "$folder/bin/$name"
done
for program in "${programs[@]}"; do
  echo "== $program"
  [ -f "$(dirname "$program")/../share/man/man1/reprise.1" ]
  env -i HOME="$folder/home" PATH="$folder/bin" "$program" --version
  env -i HOME="$folder/home" PATH="$folder/bin" "$program" demo | tail -3
done

# A signal to the npm launcher reaches the program, so that no daemon stays behind.
launcher=$folder/prefix/bin/reprise
if [ -e "$launcher" ]; then
  env -i HOME="$folder/home" PATH="$folder/bin" "$launcher" --data-dir "$folder/data" serve &
  started=$!
  for _ in $(seq 100); do
    env -i HOME="$folder/home" PATH="$folder/bin" "$launcher" --data-dir "$folder/data" serve status >/dev/null && break
    sleep .1
  done
  kill -TERM "$started"
  wait "$started" || true
  if pgrep -f -- "--data-dir $folder/data serve" >/dev/null; then
    echo "the daemon goes on after its npm launcher was ended" >&2
    exit 1
  fi
fi
