#!/bin/bash
# What the examples of docs/examples take, as they are and fixed, each in turn; then each is recorded.
# The pages of the frameworks (docs/pytorch.md ...) tell of these runs. Needs a GPU and the frameworks;
# what cannot be imported is skipped and said so.
# usage: examples.sh BUILD OUT [REPEAT]
# Writes OUT/NAME.xft, OUT/NAME.json (the analysis with OUT/machine.json, which is probed when it is
# not there) and OUT/examples.txt.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?usage: examples.sh BUILD OUT [REPEAT]}" && pwd) || exit 2
out=${2:?usage: examples.sh BUILD OUT [REPEAT]}
repeat=${3:-7}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
xferscope=$build/bin/xferscope
[[ -e $out/machine.json ]] || "$xferscope" probe -o "$out/machine.json" >"$out/probe.txt" || exit 1
cd "$here/../../docs/examples" || exit 2

one() { # name import record-options...
    local name=$1 module=$2 i which status=0
    shift 2
    python3 -c "import $module" 2>/dev/null || { echo "$name skipped: no $module"; return; }
    for ((i = 0; i <= repeat; i++)); do # the first is not counted
        for which in "$name" "${name}_fixed"; do
            python3 "$which.py" | sed "s/^/$which $i: /" || status=1
        done
    done
    "$xferscope" record --quiet --force "$@" -o "$out/$name.xft" -- python3 "$name.py" |
        sed "s/^/$name recorded: /" || status=1
    "$xferscope" analyze "$out/$name.xft" --profile "$out/machine.json" --format json \
        -o "$out/$name.json" || status=1
    return "$status"
}

failed=0
{
    one pytorch_train torch || failed=1
    one cupy_filter cupy || failed=1
    one jax_fit jax --content || failed=1
    one numba_diffuse numba.cuda --content || failed=1
} >"$out/examples.txt"
cat "$out/examples.txt"
exit "$failed"
