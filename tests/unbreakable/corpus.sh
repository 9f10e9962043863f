#!/usr/bin/env bash
# Puts every input that the fuzzers have kept through the replay of one of them.
# usage: corpus.sh ANALYZER_REPLAY CORPUS.tar.zst
set -euo pipefail
replay=$1 corpus=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
zstd -dcq "$corpus" | tar -xf - -C "$place"
inputs=$(find "$place" -type f | wc -l)
((inputs > 100)) || { echo "$corpus holds $inputs inputs" >&2; exit 1; }
find "$place" -type f -print0 | xargs -0 "$replay"
echo "$inputs inputs of the corpus read"
