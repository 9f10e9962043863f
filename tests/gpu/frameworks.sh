#!/bin/bash
# Transfers and bytes per direction of Python frameworks against CUPTI's own records, and the device
# times of a replayed CUDA graph. A framework that is not installed is skipped. Needs a GPU.
# usage: frameworks.sh [BUILD]        exit status: 0 when every one that ran is equal
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
build=$(cd "${1:-$here/../../build}" && pwd) || exit 2
programs=$here/../programs/frameworks
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
links=$(missing_libraries "$build" "$scratch/libraries")
[[ -z $links ]] || export LD_LIBRARY_PATH=$links${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

failed=0
check() { # title command...
    local title=$1
    shift
    printf '\n== %s\n' "$title"
    timeout 120 "$@" || {
        echo "FAILED: $title"
        failed=$((failed + 1))
    }
}

for program in torch_graph cupy_copies numba_copies jax_copies triton_copies; do
    if ! python3 -c "import ${program%_*}" 2>/dev/null; then
        printf '\n== %s: skipped, %s is not installed\n' "$program" "${program%_*}"
        continue
    fi
    check "$program: counts equal CUPTI's" "$here/compare_counts" --build "$build" -- \
        python3 "$programs/$program.py"
done
if python3 -c 'import torch' 2>/dev/null; then
    "$build/bin/xferscope" record --quiet -o "$scratch/graph.xft" -- python3 "$programs/torch_graph.py"
    check "torch_graph: device times complete" "$here/check_device_times" --build "$build" "$scratch/graph.xft"
fi
echo
echo "$failed failed"
exit $((failed > 0))
