#!/bin/bash
# Which step of attaching CUPTI, at which moment, crashes a program with threads on several GPUs:
# tests/programs/races.cu under libcupti_steps.so, without the recorder; then what the steps cost a
# program that only launches kernels. usage: attach_steps.sh [BUILD [TRIES [AT_ONCE [RUNS [STEPS...]]]]]
# RUNS: of the second part, 0 = none. STEPS: these only, as in the table; "+" stands for a blank.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
build=$(cd "${1:-$here/../../build}" && pwd)
tries=${2:-40}
at_once=${3:-8}
runs=${4:-5}
library=$build/lib/libcupti_steps.so
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
program=$build/bin/programs/races_static
LD_LIBRARY_PATH=$(cuda_path_for "$program")
export LD_LIBRARY_PATH

one_try() { # steps what number
    CUPTI_STEPS=$1 LD_PRELOAD=$library timeout -k 1 60 "$program" 8 "$3" "$2" >>"$scratch/out" 2>&1
    echo $?
}
export -f one_try
export library program scratch

race() { # steps [what]
    seq "$tries" | xargs -P "$at_once" -I{} bash -c 'one_try "$@"' _ "$1" "${2:-}" {} |
        sort | uniq -c | awk -v s="$1" -v w="${2:-}" -v n="$tries" \
        '{k = $2 == 0 ? "fine" : $2 == 139 ? "crashed" : $2 >= 124 && $2 <= 137 ? "hung or killed" : "status " $2
          out = out sprintf("  %d %s", $1, k)} END {printf "%-28s %-4s of %d:%s\n", s, w, n, out}'
}

echo "8 threads over all GPUs; steps as in cupti_steps.c"
while read -r steps what; do
    race "${steps//+/ }" "$what"
done < <(if (($# > 4)); then printf '%s\n' "${@:5}"; else cat; fi <<'LIST'
-:-
copy:stzbmkc
copy:stzbmk
copy:stzb
copy:sc
init:s+copy:tzbmkc
init:s+copy:tzbmk
init:stzb+copy:mk
init:stzb+copy:c
init:stzbmk+copy:c
init:sc+copy:tzbmk
init:stzbc+copy:mk
init:stzbmkc
init:stzbmkc+copy:u
init:stzbmkcu
init:stzbmkc c
init:stzbmkc r
start:stzbmkc
alone:stzbmkc
alone:stzbmkc c
away:stzbmkc
init:stzbc+away:mk
LIST
)
sort "$scratch/out" | grep -v '^h2d' | uniq -c | sort -rn | head -n 12
((runs > 0)) || exit 0

echo
echo "kernels only: ns per launch, medians of $runs runs, in turn"
kernels=$build/bin/programs/kernel_only_static
steps=(- load:s load:sc load:stzb load:stzbc load:stzbmc load:stzbmkc load:stzbmkcu)
for ((run = 0; run < runs; run++)); do
    for kind in empty busy; do
        for s in "${steps[@]}"; do
            CUPTI_STEPS=$s LD_PRELOAD=$library "$kernels" "$kind" 50000 >>"$scratch/$kind.$s"
        done
    done
done
for kind in empty busy; do
    for s in "${steps[@]}"; do
        printf '%-6s %-18s %s\n' "$kind" "$s" "$(sort -n "$scratch/$kind.$s" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)], v[1], v[NR]}')"
    done
done
