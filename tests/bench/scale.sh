#!/bin/bash
# How fast, and in how much memory, runs of any size are read and analyzed: processor time of one
# core, the median of three, the files being in the page cache; and the most memory of the three.
#
#   open     the files are opened: sums are checked, names are read
#   lanes    and their events streamed lane by lane
#   merge    and their events streamed in the order of time
#   analyze  `xferscope analyze`, with a machine profile
#
# usage: scale.sh [BUILD [TRANSFERS[/FILES]...]]
#        scale.sh --check BUILD
#
#   TRANSFERS[/FILES]  a run to be made: 1000000 10000000 100000000 100000000/1000, by default.
#                      Each takes 17 bytes of $TMPDIR per transfer, until it has been measured
#   --check            small runs; no times: are all transfers there, within memory that does not
#                      grow with their number?
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
check=
if [[ ${1:-} == --check ]]; then
    check=1
    shift
fi
build=$(cd "${1:-$here/../../build}" && pwd)
shift || true
bench=$build/bin/bench
xferscope=$build/bin/xferscope
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

threads=4
sites=200
walk_kib=16384 # address space that suffices for walking such runs
analyze_kib=65536 # for analyzing them, and replaying them once more, libraries included
classes_kib=106496 # where sites of 40 files are 23,000 classes of transfers, two kilobytes each

for needed in "$bench/big_trace" "$bench/walk" "$bench/cost" "$xferscope" "$build/bin/analyzer_make_trace"; do
    [[ -x $needed ]] || {
        echo "scale.sh: $needed is missing: build it first" >&2
        exit 2
    }
done

make_run() { # TRANSFERS FILES: in $scratch/run
    rm -rf "$scratch/run"
    "$bench/big_trace" "$1" "$2" "$threads" "$sites" "$scratch/run"
}

# ---- counts and bounds ---------------------------------------------------------------------

equal() { # what is wanted
    [[ $2 == "$3" ]] || {
        echo "scale.sh: $1: $2 instead of $3" >&2
        exit 1
    }
}

transfers_of() { # KIB: the report's, all directions
    (ulimit -v "$1" && "$xferscope" analyze -j 1 --format json --top 1 "$scratch/run") |
        awk '/"levels"/ { over = 1 }
            !over && /"transfers"/ { gsub(/[^0-9]/, ""); sum += $0 } END { print sum }'
}

check_run() { # TRANSFERS FILES KIB
    local how events transfers rest
    make_run "$1" "$2"
    for how in lanes merge; do
        read -r events transfers rest < <(ulimit -v "$walk_kib" && "$bench/walk" "$how" "$scratch/run")
        equal "transfers of $how, $1/$2" "${transfers:-none}" "$1"
        equal "events of $how, $1/$2" "${events:-none}" $(($1 * 11 / 4))
    done
    equal "transfers of the report, $1/$2" "$(transfers_of "$3")" "$1"
}

if [[ $check ]]; then
    check_run 80000 1 "$analyze_kib"
    check_run 2000000 1 "$analyze_kib"
    check_run 80000 40 "$classes_kib"
    exit 0
fi

# ---- times ---------------------------------------------------------------------------------

# Prints the median of the first and the greatest of the second column.
summarize() {
    sort -n | awk '{ ns[NR] = $1; if ($2 > kib) kib = $2 } END { print ns[int((NR + 1) / 2)], kib }'
}

row() { # what transfers files events: reads "ns KiB" lines
    local ns kib
    read -r ns kib < <(summarize)
    awk -v what="$1" -v transfers="$2" -v files="$3" -v events="$4" -v ns="$ns" -v kib="$kib" 'BEGIN {
        printf "| %d | %d | %s | %.2f | %.1f | %.1f | %.1f |\n", transfers, files, what, ns / 1e9,
               transfers * 1e3 / ns, events * 1e3 / ns, kib / 1024 }'
}

measure_run() { # TRANSFERS FILES
    local how events
    make_run "$1" "$2"
    read -r events _ < <("$bench/walk" lanes "$scratch/run")
    for how in open lanes merge; do
        for _ in 1 2 3; do "$bench/walk" "$how" "$scratch/run" | cut -d' ' -f3,4; done |
            row "$how" "$1" "$2" "$events"
    done
    for _ in 1 2 3; do
        "$bench/cost" "$xferscope" analyze -j 1 --profile "$scratch/profile.json" "$scratch/run"
    done | row analyze "$1" "$2" "$events"
}

[[ $# -gt 0 ]] || set -- 1000000 10000000 100000000 100000000/1000
"$build/bin/analyzer_make_trace" profile "$scratch/profile.json"
echo '| transfers | files | what | s | million transfers/s | million events/s | peak MiB |'
echo '|---|---|---|---|---|---|---|'
for size in "$@"; do
    files=1
    [[ $size != */* ]] || files=${size#*/}
    measure_run "${size%/*}" "$files"
done
