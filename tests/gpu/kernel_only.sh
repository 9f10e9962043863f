#!/bin/bash
# What the recorder costs a program that only launches kernels: empty ones back to back, and 20 us
# ones. As it is, and (attached) after one small copy, which is when the recorder turns to CUPTI: bare, with
# hooks only, with CUPTI but no kernel records, with all, in turn. Prints medians in ns per launch and
# their ratio to the bare run.
# usage: kernel_only.sh [BUILD [RUNS [LAUNCHES]]]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
build=$(cd "${1:-$here/../../build}" && pwd)
runs=${2:-7}
launches=${3:-200000}
library=$build/lib/libxferscope.so
program=$build/bin/programs/kernel_only_static
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

configurations=(bare default hooks copies all)
declare -A settings=(
    [default]=""
    [hooks]="XFERSCOPE_TIMING=host"
    [copies]="XFERSCOPE_BUDGET=0 XFERSCOPE_TIMING=cupti XFERSCOPE_KERNELS=0"
    [all]="XFERSCOPE_BUDGET=0 XFERSCOPE_TIMING=cupti XFERSCOPE_KERNELS=1"
)
declare -A meaning=(
    [bare]="without the library"
    [default]="recorded, no transfer"
    [hooks]="attached, host times"
    [copies]="attached, no kernel records"
    [all]="attached, kernel records"
)

measure() { # kind configuration
    local words=() copy=()
    [[ $2 == bare || $2 == default ]] || copy=(copy)
    if [[ $2 != bare ]]; then
        read -ra words <<<"${settings[$2]} LD_PRELOAD=$library XFERSCOPE_OUTPUT=$scratch/run XFERSCOPE_SYMBOLS=0"
    fi
    env "${words[@]}" LD_LIBRARY_PATH="$(cuda_path_for "$program")" "$program" "$1" "$launches" "${copy[@]}" >>"$scratch/$1.$2"
    rm -rf "$scratch"/run*
}

median_of() { # file
    sort -n "$1" | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}

table() { # kind
    local bare configuration
    bare=$(median_of "$scratch/$1.bare")
    for configuration in "${configurations[@]}"; do
        awk -v k="$1" -v m="${meaning[$configuration]}" -v v="$(median_of "$scratch/$1.$configuration")" -v b="$bare" \
            -v low="$(sort -n "$scratch/$1.$configuration" | head -n 1)" \
            -v high="$(sort -n "$scratch/$1.$configuration" | tail -n 1)" \
            'BEGIN {printf "%-6s %-28s %9.0f %9.0f %9.0f %+9.2f %%\n", k, m, v, low, high, 100 * (v / b - 1)}'
    done
}

[[ -x $program && -e $library ]] || {
    echo "kernel_only.sh: $program or $library is missing: build them first" >&2
    exit 2
}
for ((run = 0; run < runs; run++)); do
    for kind in empty busy; do
        for configuration in "${configurations[@]}"; do
            measure "$kind" "$configuration"
        done
    done
done
echo "ns per launch, medians of $runs runs of $launches launches, in turn"
printf '%-6s %-28s %9s %9s %9s %11s\n' kernel how median least most "to bare"
table empty
table busy
