#!/bin/bash
# Instructions per transfer that the analyzer executes, by callgrind: of reading alone (an export that
# replays nothing), and of reports with all findings, whose run is replayed. They are the same on a
# busy machine but for some thousandths: which thread plays what, and the seed of hash tables.
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

# of: TRANSFERS FILES THREADS SITES of big_trace
row() { # name "of" arguments...: prints name|of|instructions per transfer
    local name=$1 of=$2 all
    shift 2
    rm -rf "$scratch/run"
    # shellcheck disable=SC2086 # they are several words
    "$build/bin/bench/big_trace" $of "$scratch/run" >"$scratch/log"
    valgrind --tool=callgrind --callgrind-out-file="$scratch/callgrind" "$xferscope" "$@" \
        -p "$scratch/profile.json" -o /dev/null "$scratch/run" >"$scratch/log" 2>&1 || {
        tail -n 5 "$scratch/log" >&2
        return 1
    }
    all=$(sed -n 's/^totals: //p' "$scratch/callgrind")
    echo "$name|$of|$((all / ${of%% *}))"
}

rows() {
    row "read" "40000 1 4 8" export -f folded
    row "read, columns written" "20000 1 4 8" export -f csv
    row "report" "6000 1 4 8" analyze -f json
    row "report of several processes" "6000 3 2 8" analyze -f json
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
printf '%-28s %-14s %s\n' "instructions per transfer" "big_trace" all
awk -F'|' '{printf "%-28s %-14s %8d\n", $1, $2, $3}' "$scratch/rows"
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
