#!/usr/bin/env bash
# Holds the table in docs/interception.md against the one the recorder is built from.
# usage: check_doc.sh CALLS_TABLE DOC     UPDATE_DOC=1 writes the table into the page instead.
set -euo pipefail
table=$1 doc=$2
begin='<!-- table: begin -->' end='<!-- table: end -->'
wanted=$(printf '%s\n\n' "$begin"; "$table" --markdown; printf '%s' "$end")
if [ "${UPDATE_DOC:-0}" = 1 ]; then
    new=$(mktemp)
    awk -v b="$begin" -v e="$end" -v text="$wanted" '
        $0 == b { print text; skip = 1 }
        !skip { print }
        $0 == e { skip = 0 }' "$doc" >"$new"
    cat "$new" >"$doc"
    rm -f "$new"
fi
found=$(awk -v b="$begin" -v e="$end" '$0 == b { on = 1 } on { print } $0 == e { on = 0 }' "$doc")
if ! diff <(printf '%s\n' "$wanted") <(printf '%s\n' "$found"); then
    echo "docs/interception.md does not match calls.def; run this with UPDATE_DOC=1" >&2
    exit 1
fi
