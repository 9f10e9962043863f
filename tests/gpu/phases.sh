#!/bin/bash
# PyTorch with NVTX phases, and with copies that need not be: are the phases and the findings those
# that the programs are written for, and is the output what it is without the recorder? One line
# each. Needs a GPU and PyTorch; without, it is skipped.
# usage: phases.sh [BUILD]
# exit status: 0 as expected; 77 skipped
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
build=$(cd "${1:-$here/../../build}" && pwd) || exit 2
scripts=$here/../programs/frameworks
python3 -c 'import torch; exit(not torch.cuda.is_available())' 2>/dev/null || {
    echo "phases.sh: skipped: no PyTorch with a GPU"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
links=$(missing_libraries "$build" "$scratch/libraries")
[[ -z $links ]] || export LD_LIBRARY_PATH=$links${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
failed=0

recorded() { # name options... -- script arguments...: a report; its output is the bare program's
    local name=$1 options=()
    shift
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    python3 "$@" >"$scratch/bare" 2>/dev/null
    "$build/bin/xferscope" record -q "${options[@]}" -o "$scratch/$name" -- python3 "$@" >"$scratch/out" \
        2>"$scratch/said"
    if ! cmp -s "$scratch/bare" "$scratch/out"; then
        echo "$name: FAILED: another output than without the recorder"
        failed=1
    fi
    "$build/bin/xferscope" analyze "$scratch/$name.xft" --format json >"$scratch/$name.json" 2>/dev/null
}

check() { # name arguments...
    python3 "$here/check_phases" "$scratch/$1.json" "${@:2}" || failed=1
}

recorded phases -- "$scripts/torch_nvtx.py" 6
check phases phases 6
for how in sampled whole; do
    XFERSCOPE_CONTENT_SHARE=0 recorded "$how" --content="$how" -- "$scripts/torch_same.py" 400
    check "$how" contents 400
done
exit "$failed"
