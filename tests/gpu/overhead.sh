#!/bin/bash
# What the recorder costs per call: runs the program overhead bare and under the library, in turn,
# several times, and prints the medians of the runs and their differences to the bare ones, in ns.
# Machines change their speed in steps, for whole runs: where least and most lie far apart, the
# difference of the least runs compares like with like.
# usage: overhead.sh [BUILD [RUNS [BURSTS [CALLS]]]]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
build=$(cd "${1:-$here/../../build}" && pwd)
runs=${2:-11}
bursts=${3:-100}
calls=${4:-1000}
library=$build/lib/libxferscope.so
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# configuration: the settings of a run under the library; none for a bare one
configurations=(bare plain stacks cupti)
declare -A settings=(
    [plain]="XFERSCOPE_STACKS=0 XFERSCOPE_TIMING=host"
    [stacks]="XFERSCOPE_STACKS=1 XFERSCOPE_TIMING=host"
    [cupti]="XFERSCOPE_BUDGET=0 XFERSCOPE_STACKS=0 XFERSCOPE_TIMING=cupti"
)
declare -A meaning=(
    [bare]="without the library"
    [plain]="recorded, no stacks, host times"
    [stacks]="recorded, stacks, host times"
    [cupti]="recorded, no stacks, CUPTI's times"
)

measure() { # program configuration: appends ns per call
    local words=() line
    if [[ $2 != bare ]]; then
        read -ra words <<<"${settings[$2]} LD_PRELOAD=$library XFERSCOPE_OUTPUT=$scratch/run"
    fi
    line=$(env "${words[@]}" LD_LIBRARY_PATH="$(cuda_path_for "$1")" "$1" "$bursts" "$calls") || return 1
    rm -rf "$scratch"/run*
    read -r _ median _ <<<"$line"
    echo "$median" >>"$scratch/$(basename "$1").$2"
}

median_of() { # file
    sort -n "$1" | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}

table() { # program
    local name=$1 bare value bare_least
    bare=$(median_of "$scratch/$name.bare")
    bare_least=$(sort -n "$scratch/$name.bare" | head -n 1)
    for configuration in "${configurations[@]}"; do
        value=$(median_of "$scratch/$name.$configuration")
        awk -v n="$name" -v m="${meaning[$configuration]}" -v v="$value" -v b="$bare" -v bl="$bare_least" \
            -v low="$(sort -n "$scratch/$name.$configuration" | head -n 1)" \
            -v high="$(sort -n "$scratch/$name.$configuration" | tail -n 1)" \
            'BEGIN {printf "%-16s %-36s %8.0f %8.0f %8.0f %+8.0f %+8.0f\n", n, m, v, low, high, v - b, low - bl}'
    done
}

[[ -e $library ]] || {
    echo "overhead.sh: $library is missing: build it first" >&2
    exit 2
}
measured=()
for program in "$build"/bin/programs/overhead_shared "$build"/bin/programs/overhead_static; do
    [[ -x $program ]] || continue
    if ! measure "$program" bare; then
        echo "overhead.sh: $(basename "$program") does not run here" >&2
        continue
    fi
    measured+=("$(basename "$program")")
    for ((run = 0; run < runs; run++)); do
        for configuration in "${configurations[@]}"; do
            measure "$program" "$configuration"
        done
    done
done
((${#measured[@]})) || {
    echo "overhead.sh: no program overhead_shared or overhead_static in $build/bin/programs" >&2
    exit 2
}
echo "ns per 64-byte cudaMemcpyAsync; medians of $runs runs of $bursts bursts of $calls calls, in turn"
printf '%-16s %-36s %8s %8s %8s %8s %8s\n' program how median least most "- bare" least
for name in "${measured[@]}"; do
    table "$name"
done

# In one process, the hook against the driver function behind it: burst by burst, so that the
# machine's own changes of speed cancel. What a static cudart's cudaMemcpyAsync adds is this hook.
paired=$build/bin/programs/overhead_paired
[[ -x $paired ]] || exit 0
settings[arguments]="XFERSCOPE_TIMING=host"
settings[no_arguments]="XFERSCOPE_TIMING=host XFERSCOPE_ARGUMENTS=0"
meaning[arguments]="launch, with its arguments"
meaning[no_arguments]="launch, without them"
paired_table() { # copy or launch; configurations...
    local call=$1 configuration run
    shift
    printf '%-36s %8s %8s %8s %8s\n' how median least most bare
    for configuration in "$@"; do # CUPTI's own cost would be on both sides
        read -ra words <<<"${settings[$configuration]} LD_PRELOAD=$library XFERSCOPE_OUTPUT=$scratch/run"
        for ((run = 0; run < runs; run++)); do
            env "${words[@]}" LD_LIBRARY_PATH="$(cuda_path_for "$paired")" "$paired" "$bursts" "$calls" "$call"
            rm -rf "$scratch"/run*
        done >"$scratch/paired"
        awk '{print $6}' "$scratch/paired" >"$scratch/added"
        awk '{print $2}' "$scratch/paired" >"$scratch/past"
        printf '%-36s %+8.0f %+8.0f %+8.0f %8.0f\n' "${meaning[$configuration]}" "$(median_of "$scratch/added")" \
            "$(sort -n "$scratch/added" | head -n 1)" "$(sort -n "$scratch/added" | tail -n 1)" \
            "$(median_of "$scratch/past")"
    done
}
echo
echo "ns that the hook adds to cuMemcpyHtoDAsync, 64 bytes; $runs runs of $bursts pairs of bursts in one process each"
paired_table copy plain stacks
echo
echo "ns that the hook adds to cuLaunchKernel, a pointer and a number; the same"
paired_table launch no_arguments arguments
