#!/bin/sh
# Writes a Python wheel and an npm package that carry a binary that is already built:
#   cargo build --profile dist --workspace --bins
#   deploy/package.sh --binary target/dist/reprise --out target/packages
# Plug-ins that are next to the binary are packed with it. Needs Python 3.9 or later, nothing else.
exec python3 "$(dirname "$0")/package.py" "$@"
