#!/bin/bash
# What `xferscope apply` gains: copies of pageable memory (apply_copies), pairs as they are before
# the advised change, and what a call costs where there is nothing to gain (overhead); each bare and
# applied in turn, so that a machine that changes its speed does so for both. Prints tables in
# Markdown (apply_table.py); the outputs are kept in OUT.
# usage: apply.sh BUILD OUT [ROUNDS [MOST_MIB [SECONDS_PER_ROW]]]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
rounds=${3:-3}
most=${4:-256}
seconds=${5:-0.2}
xferscope=$build/bin/xferscope
pairs=(01-pageable-upload 02-trap-hidden-download 29-out-of-core 30-inference-small 37-slow-page-locking)

measure() { # name round program arguments...
    local name=$1 round=$2 path
    shift 2
    path=$(cuda_path_for "$1")
    LD_LIBRARY_PATH=$path "$@" >"$out/$name.bare.$round" || echo "$name: bare: status $?" >&2
    LD_LIBRARY_PATH=$path "$xferscope" apply -- "$@" >"$out/$name.applied.$round" \
        2>"$out/$name.lines.$round" || echo "$name: applied: status $?" >&2
}

for ((round = 1; round <= rounds; round++)); do
    measure copies "$round" "$build/bin/programs/apply_copies_shared" "$most" "$seconds"
    measure overhead "$round" "$build/bin/programs/overhead_shared" 100 1000
    for pair in "${pairs[@]}"; do
        if [[ -x $build/bin/pairs/$pair/before ]]; then
            measure "pair-$pair" "$round" "$build/bin/pairs/$pair/before"
        fi
    done
done
python3 "$here/apply_table.py" "$out"
