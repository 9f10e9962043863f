#!/bin/bash
# Instructions per transfer that the analyzer executes, by callgrind: of reading alone (an export that
# replays nothing), and of reports with all findings, whose run is replayed; and of runs of shapes
# that took too long once (shape_trace). They are the same on a busy machine but for some thousandths:
# which thread plays what, and the seed of hash tables.
#
# usage: analyze_instructions.sh [--check | --update] [BUILD]
#   --check    exit status 1 when a row is above what analyze_instructions.expected has: by more than
#              10 % where the compiler is the one noted there, by more than 40 % else. A row that is
#              far below is named, so that the bound can follow it
#   --update   writes analyze_instructions.expected. Set XFERSCOPE_COMPILER as ctest does
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
expected=$here/analyze_instructions.expected
mode=
case ${1:-} in --check | --update)
    mode=$1
    shift
    ;;
esac
build=$(cd "${1:-$here/../../build}" && pwd)
xferscope=$build/bin/xferscope
compiler=${XFERSCOPE_COMPILER:-unknown}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

command -v valgrind >/dev/null || {
    echo "analyze_instructions.sh: valgrind is not installed" >&2
    exit 2
}
"$build/bin/analyzer_make_trace" profile "$scratch/profile.json"

# of: TRANSFERS FILES THREADS SITES of big_trace, or TRANSFERS SHAPE [FIELD=NUMBER...] of shape_trace
make_run() {
    local transfers=$1
    shift
    rm -rf "$scratch/run"
    if [[ $1 == [0-9]* ]]; then
        "$build/bin/bench/big_trace" "$transfers" "$@" "$scratch/run"
        return
    fi
    local shape=$1
    shift
    mkdir "$scratch/run"
    "$build/bin/bench/shape_trace" "$shape" "$transfers" "$scratch/run/1000-1.trace" "$@"
}

row() { # name "of" arguments...: prints name|of|instructions per transfer
    local name=$1 of=$2 all profile=$scratch/profile.json
    shift 2
    [[ $of == *" "[0-9]*" "* ]] || profile=$here/../data/h200.json # with costs of all kinds
    # shellcheck disable=SC2086 # they are several words
    make_run $of >"$scratch/log"
    # It counts as callgrind does, in half the time.
    valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file="$scratch/cachegrind" "$xferscope" "$@" \
        -p "$profile" -o /dev/null "$scratch/run" >"$scratch/log" 2>&1 || {
        tail -n 5 "$scratch/log" >&2
        return 1
    }
    all=$(sed -n 's/^summary: //p' "$scratch/cachegrind")
    echo "$name|$of|$((all / ${of%% *}))"
}

rows() {
    row "read" "40000 1 4 8" export -f folded
    row "read, columns written" "20000 1 4 8" export -f csv
    row "report" "6000 1 4 8" analyze -f json
    row "report of several processes" "6000 3 2 8" analyze -f json
    row "report, many sites" "6000 sites pageable=16" analyze -f json
    row "report, memory anew" "6000 anew" analyze -f json
    row "report, long steps" "6000 steps" analyze -f json
    row "report, many streams" "6000 streams" analyze -f json
    row "report, graphs" "6000 graphs" analyze -f json
    row "report, threads in turns" "6000 sleepers streams=1 ring=1 sleep=200 samples=0" analyze -f json
    row "report, questions" "6000 contents contents=6000 buffers=1000" analyze -f json
}

check() {
    local noted tolerance=40
    noted=$(sed -n 's/^compiler|//p' "$expected")
    [[ $noted != "$compiler" ]] || tolerance=10
    echo "at most $tolerance % above what is expected (compiler: $compiler; noted: $noted)"
    awk -F'|' -v tolerance="$tolerance" '
        NR == FNR {want[$1 "|" $2] = $3; next}
        !(($1 "|" $2) in want) {printf "%s, %s: nothing expected\n", $1, $2; failed = 1; next}
        {wanted = want[$1 "|" $2]}
        $3 > wanted * (1 + tolerance / 100) {
            printf "%s, %s: %d instructions per transfer, expected %d\n", $1, $2, $3, wanted
            failed = 1
        }
        $3 < wanted * 0.8 {printf "%s, %s: %d only, expected %d: --update\n", $1, $2, $3, wanted}
        END {exit failed}' "$expected" "$scratch/rows"
}

rows >"$scratch/rows"
printf '%-28s %-24s %s\n' "instructions per transfer" "of" all
awk -F'|' '{printf "%-28s %-24s %8d\n", $1, $2, $3}' "$scratch/rows"
case $mode in
--check)
    check || {
        echo "analyze_instructions.sh: if that is meant, run tests/bench/analyze_instructions.sh --update" >&2
        exit 1
    }
    ;;
--update)
    { echo "compiler|$compiler" && cat "$scratch/rows"; } >"$expected"
    ;;
esac
