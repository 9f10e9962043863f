#!/bin/bash
# Instructions per intercepted call, by callgrind on the simulated GPU: exact, and the same on a
# busy machine. Two numbers of calls; their difference leaves out start and end.
#
#   call     what the calling thread executes until the call has returned, the simulated driver's
#            own work included; the second column is what the recorder adds to it
#   process  everything, background thread and end of recording (compression) included
#
# usage: instructions.sh [BUILD]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:-$here/../../build}" && pwd)
program=$build/bin/programs/overhead_shared
library=$build/lib/libxferscope.so
simulated=$build/lib/simgpu
short=2
long=12
calls=1000
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for needed in "$program" "$library" "$simulated/libcuda.so.1"; do
    [[ -e $needed ]] || {
        echo "instructions.sh: $needed is missing: build it first" >&2
        exit 2
    }
done
command -v valgrind >/dev/null || {
    echo "instructions.sh: valgrind is not installed" >&2
    exit 2
}

count() { # what bursts settings...: prints instructions
    local bursts=$2 options=()
    [[ $1 == call ]] && options=(--collect-atstart=no --toggle-collect=burst)
    shift 2
    rm -rf "$scratch"/run* "$scratch"/out
    env LD_LIBRARY_PATH="$simulated${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" XFERSCOPE_OUTPUT="$scratch/run" "$@" \
        valgrind --tool=callgrind "${options[@]}" --callgrind-out-file="$scratch/out" \
        "$program" "$bursts" "$calls" >"$scratch/log" 2>&1 || {
        tail -n 5 "$scratch/log" >&2
        return 1
    }
    awk '/^(summary|totals):/ {n = $2} END {if (!n) exit 1; print n}' "$scratch/out"
}

per_call() { # what settings...
    local what=$1 few many
    shift
    few=$(count "$what" "$short" "$@")
    many=$(count "$what" "$long" "$@")
    echo $(((many - few) / ((long - short) * calls)))
}

row() { # what settings...
    local name=$1 call process
    shift
    call=$(per_call call "$@")
    process=$(per_call process "$@")
    : "${bare:=$call}"
    printf '%-36s %8d %+8d %10d\n' "$name" "$call" $((call - bare)) "$process"
}

printf '%-36s %8s %8s %10s\n' "instructions per cudaMemcpyAsync" call "- bare" process
row "without the library" XFERSCOPE_ENABLE=1
row "library, recording off" LD_PRELOAD="$library" XFERSCOPE_ENABLE=0
row "recorded, no stacks, host times" LD_PRELOAD="$library" XFERSCOPE_STACKS=0 XFERSCOPE_TIMING=host
row "recorded, stacks, host times" LD_PRELOAD="$library" XFERSCOPE_STACKS=1 XFERSCOPE_TIMING=host
