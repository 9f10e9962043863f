#!/bin/bash
# Instructions per intercepted call, by callgrind on the simulated GPU: exact, and the same on a
# busy machine. Two loop lengths; their difference leaves out start and end. Counted is the calling
# thread; what the recorder's background thread adds (compression) stands beside it.
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

count() { # bursts settings...: prints instructions of the calling thread and of all others
    local bursts=$1
    shift
    rm -rf "$scratch"/run* "$scratch"/out*
    env LD_LIBRARY_PATH="$simulated${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" XFERSCOPE_OUTPUT="$scratch/run" "$@" \
        valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file="$scratch/out" \
        "$program" "$bursts" "$calls" >"$scratch/log" 2>&1 || {
        tail -n 5 "$scratch/log" >&2
        return 1
    }
    awk '/^(summary|totals):/ {n[FILENAME] = $2}
         END {for (f in n) if (f ~ /-01$/) caller = n[f]; else others += n[f]
              print caller + 0, others + 0}' "$scratch"/out-*
}

row() { # what settings...
    local what=$1 a b
    shift
    read -ra a <<<"$(count "$short" "$@")"
    read -ra b <<<"$(count "$long" "$@")"
    awk -v w="$what" -v n=$(((long - short) * calls)) -v c="$((b[0] - a[0]))" -v o="$((b[1] - a[1]))" -v bare="${bare:-}" \
        'BEGIN {c /= n; printf "%-36s %10.0f %10s %10.0f\n", w, c, bare == "" ? "" : sprintf("%+.0f", c - bare), o / n}'
    bare=${bare:-$(awk -v n=$(((long - short) * calls)) -v c="$((b[0] - a[0]))" 'BEGIN {print c / n}')}
}

printf '%-36s %10s %10s %10s\n' "instructions per cudaMemcpyAsync" "call" "- bare" "background"
row "without the library" XFERSCOPE_ENABLE=1
row "library, recording off" LD_PRELOAD="$library" XFERSCOPE_ENABLE=0
row "recorded, no stacks, host times" LD_PRELOAD="$library" XFERSCOPE_STACKS=0 XFERSCOPE_TIMING=host
row "recorded, stacks, host times" LD_PRELOAD="$library" XFERSCOPE_STACKS=1 XFERSCOPE_TIMING=host
