#!/bin/bash
# What a budget of 2 % leaves of recording's cost in programs with a call every few microseconds
# (dense_calls): bare, recorded with host times only, with that budget, and without a bound, in turn. Mean
# us per round and its median over the runs, as a table.
# usage: budget.sh [BUILD [RUNS [SECONDS]]]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
build=$(cd "${1:-$here/../../build}" && pwd)
runs=${2:-3}
seconds=${3:-1}
program=$build/bin/programs/dense_calls_static
library=$build/lib/libxferscope.so
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
modes=(gather upload symbol launches solver managed large)
ways=(bare host budget unbounded)
declare -A settings=(
    [bare]=""
    [host]="LD_PRELOAD=$library XFERSCOPE_TIMING=host"
    [budget]="LD_PRELOAD=$library XFERSCOPE_BUDGET=2"
    [unbounded]="LD_PRELOAD=$library XFERSCOPE_BUDGET=0"
)

[[ -x $program && -e $library ]] || {
    echo "budget.sh: $program or $library is missing: build them first" >&2
    exit 2
}
for ((run = 0; run < runs; run++)); do
    for mode in "${modes[@]}"; do
        for way in "${ways[@]}"; do
            read -ra words <<<"${settings[$way]}"
            env "${words[@]}" DENSE_PIN=1 XFERSCOPE_SYMBOLS=0 XFERSCOPE_OUTPUT="$scratch/run" \
                LD_LIBRARY_PATH="$(cuda_path_for "$program")" "$program" "$mode" "$seconds" |
                sed 's/.*mean \([0-9.]*\) .*/\1/' >>"$scratch/$mode.$way"
            rm -rf "$scratch"/run*
        done
    done
done
printf '%-9s' us
printf ' %12s      ' "${ways[@]}"
echo
for mode in "${modes[@]}"; do
    printf '%-9s' "$mode"
    bare=$(sort -n "$scratch/$mode.bare" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}')
    for way in "${ways[@]}"; do
        sort -n "$scratch/$mode.$way" |
            awk -v b="$bare" '{v[NR] = $1} END {m = v[int((NR + 1) / 2)]; printf " %10.1f %+6.1f %%", m, 100 * (m / b - 1)}'
    done
    echo
done
