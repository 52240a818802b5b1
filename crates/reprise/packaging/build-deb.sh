#!/usr/bin/env bash
# Builds the Debian package: target/debian/reprise_*.deb. Needs cargo-deb (it is installed where it is missing).
set -euo pipefail
cd "$(dirname "$0")/../../.."
# The list of files in Cargo.toml names this one.
unset CARGO_TARGET_DIR
target=target
command -v cargo-deb >/dev/null || cargo install cargo-deb --locked
cargo build --profile dist --locked \
    --package reprise --package reprise-workspace-cli --package reprise-global-cli --package reprise-seal
share="$target/share"
rm -rf "$share" && mkdir -p "$share/man"
"$target/dist/reprise" help --man "$share/man"
"$target/dist/reprise-global" man "$share/man"
"$target/dist/reprise-workspace" man "$share/man"
gzip --best --no-name "$share"/man/*.1
for shell in bash zsh fish; do
    "$target/dist/reprise" help --completions "$shell" >"$share/reprise.$shell"
done
cargo deb --no-build --profile dist --package reprise
