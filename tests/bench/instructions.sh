#!/bin/bash
# Instructions per intercepted call, by callgrind on the simulated GPU with its virtual clock: exact,
# and the same on a busy machine, whatever the simulated GPU has finished meanwhile. Two numbers of calls; their difference leaves out start and end. What the calling
# thread executes until the call has returned counts; the last column is what the recorder adds to
# the bare call (two of its hooks where the runtime calls the driver, and two readings of the
# simulated clock, which is dearer than the processor's).
#
# usage: instructions.sh [--check | --update] [BUILD]
#   --check    compares with instructions.expected: within 3 % where the compiler is the one noted
#              there, within 25 % else. Exit status 1 when something differs by more
#   --update   writes instructions.expected. Set XFERSCOPE_COMPILER as ctest does
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
expected=$here/instructions.expected
mode=
case ${1:-} in --check | --update)
    mode=$1
    shift
    ;;
esac
build=$(cd "${1:-$here/../../build}" && pwd)
program=$build/bin/bench/calls
library=$build/lib/libxferscope.so
simulated=$build/lib/simgpu
compiler=${XFERSCOPE_COMPILER:-unknown}
short=2
long=6
calls=500
scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "$scratch.rows"' EXIT

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

count() { # file kind bursts settings...: writes instructions
    local out=$1 kind=$2 bursts=$3
    shift 3
    env LD_LIBRARY_PATH="$simulated${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" XFERSCOPE_SIMGPU_CLOCK=virtual \
        XFERSCOPE_OUTPUT="$out.xft" "$@" \
        valgrind --tool=callgrind --collect-atstart=no --toggle-collect=burst --callgrind-out-file="$out.callgrind" \
        "$program" "$kind" "$bursts" "$calls" >"$out.log" 2>&1 || {
        tail -n 5 "$out.log" >&2
        return 1
    }
    awk '/^(summary|totals):/ {n = $2} END {if (!n) exit 1; print n}' "$out.callgrind" >"$out"
}

per_call() { # kind settings...
    local kind=$1 few=$scratch/few many=$scratch/many
    shift
    rm -rf "${scratch:?}"/*
    count "$few" "$kind" "$short" "$@" &
    count "$many" "$kind" "$long" "$@"
    wait $!
    echo $((($(<"$many") - $(<"$few")) / ((long - short) * calls)))
}

# What is counted: kind, name, settings; "bare" starts a kind.
recorded=(LD_PRELOAD="$library" XFERSCOPE_TIMING=host)
rows() {
    row copy "bare"
    row copy "recording off" LD_PRELOAD="$library" XFERSCOPE_ENABLE=0
    row copy "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0
    row copy "recorded, stacks" "${recorded[@]}" XFERSCOPE_STACKS=1
    row wait "bare"
    row wait "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0
    row alloc "bare"
    row alloc "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0
    row range "bare" NVTX_INJECTION64_PATH=
    row range "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0 NVTX_INJECTION64_PATH="$library"
}

row() { # kind name settings...: prints kind|name|instructions|added
    local kind=$1 name=$2 all
    shift 2
    all=$(per_call "$kind" "$@")
    [[ $name != bare ]] || bare=$all
    echo "$kind|$name|$all|$((all - bare))"
}

table() {
    awk -F'|' '{printf "%-6s %-22s %8d %+8d\n", $1, $2, $3, $4}'
}

# Rows that differ from those expected by more than is allowed.
compare() {
    local noted tolerance=25
    noted=$(sed -n 's/^compiler|//p' "$expected")
    [[ $noted != "$compiler" ]] || tolerance=3
    echo "expected within $tolerance % (compiler: $compiler; noted: $noted)"
    awk -F'|' -v tolerance="$tolerance" '
        NR == FNR {want[$1 "|" $2] = $4; next}
        $2 == "bare" {next}
        {
            key = $1 "|" $2
            if (!(key in want)) {printf "%s %s: nothing expected\n", $1, $2; bad = 1; next}
            off = $4 - want[key]
            if (off < 0) off = -off
            if (off > want[key] * tolerance / 100 + 2) {
                printf "%s, %s: %d instructions added, expected %d\n", $1, $2, $4, want[key]
                bad = 1
            }
        }
        END {exit bad}' "$expected" "$scratch.rows"
}

rows >"$scratch.rows"
printf '%-6s %-22s %8s %8s\n' "" "instructions per call" all added
table <"$scratch.rows"
case $mode in
--check)
    compare || {
        echo "instructions.sh: if that is meant, run tests/bench/instructions.sh --update" >&2
        exit 1
    }
    ;;
--update)
    { echo "compiler|$compiler" && cat "$scratch.rows"; } >"$expected"
    ;;
esac
