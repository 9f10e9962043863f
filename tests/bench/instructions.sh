#!/bin/bash
# Instructions per intercepted call, by callgrind on the simulated GPU with its virtual clock: exact,
# and the same on a busy machine, whatever the simulated GPU has finished meanwhile. Each burst of calls is
# counted by itself, and all but the last two are left out: things begin in the first ones. What the calling thread executes until the call
# has returned is in the first column. The second one is what the recorder adds: the instructions of
# libxferscope.so itself and of what it calls, but for the simulated driver and runtime and the empty
# MPI, into which its calls are counted in the third one (the program's own, questions, readings of the clock). Theirs
# are left out by where they are, not by subtracting a bare run: how long the driver looks for a
# handle in its hash table depends on addresses, which differ between runs.
#
# usage: instructions.sh [--check | --update] [BUILD]
#   --check    compares with instructions.expected: within 1 % where the compiler is the one noted
#              there, within 25 % else; a message's hook is below a bound of its own, and what apply adds
#              where nothing is applied is below what recording adds. Exit status 1 when something
#              differs by more
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
bursts=4
counted=2
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

# One file for each burst, OUT.callgrind.1 and so on; the first one's may be in several pieces.
count() { # out kind settings...
    local out=$1 kind=$2
    shift 2
    env LD_LIBRARY_PATH="$simulated${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" XFERSCOPE_SIMGPU_CLOCK=virtual \
        XFERSCOPE_OUTPUT="$out.xft" "$@" \
        valgrind --tool=callgrind --collect-atstart=no --toggle-collect=burst --dump-after=burst \
        --callgrind-out-file="$out.callgrind" "$program" "$kind" "$bursts" "$calls" >"$out.log" 2>&1 || {
        tail -n 5 "$out.log" >&2
        return 1
    }
}

# All instructions, those that the recorder adds, and its calls into the simulated libraries. A cost
# line after "calls=" holds all that the callee did, in the object of "cob=" (else the caller's); the
# others a function's own.
added() { # file
    awk '
        function object(text,    id) {
            sub(/^c?ob=/, "", text)
            id = text
            sub(/ .*/, "", id)
            if (index(text, " ")) {sub(/^[^ ]* /, "", text); names[id] = text}
            return names[id]
        }
        function take_call(instructions) {
            if (here !~ recorder || there == "" || there == here) return
            if (there ~ simulated) asked += times
            else own += instructions
        }
        BEGIN {recorder = "/libxferscope[.]so$"; simulated = "/lib(cuda|cudart|empty_mpi|empty_nccl)[.]so"}
        /^ob=/ {here = object($0); next}
        /^cob=/ {there = object($0); next}
        /^calls=/ {sub(/^calls=/, "", $1); times = $1; next}
        /^[-+*0-9]/ {
            if (times) take_call($2)
            else if (here ~ recorder) own += $2
            times = 0
            there = ""
            next
        }
        /^(summary|totals):/ {all = $2}
        END {if (!all) exit 1; print all, own + 0, asked + 0}' "$1"
}

# The three numbers for one call, rounded.
per_call() { # kind settings...
    local out=$scratch/run part
    rm -rf "${scratch:?}"/*
    count "$out" "$@"
    for part in $(printf '%s\n' "$out".callgrind.* | sort -V | tail -n "$counted"); do
        added "$part"
    done >"$out"
    awk -v calls=$((counted * calls)) '{all += $1; own += $2; asked += $3}
        END {printf "%.0f|%.0f|%.0f\n", all / calls, own / calls, asked / calls}' "$out"
}

# What is counted: kind, name, settings; "bare" starts a kind.
recorded=(LD_PRELOAD="$library" XFERSCOPE_TIMING=host)
busy=(XFERSCOPE_SIMGPU_KERNEL_NS=600000000000) # a kernel that outlasts the calls
applied=(LD_PRELOAD="$library" XFERSCOPE_ENABLE=0 XFERSCOPE_APPLY=all)
rows() {
    row copy "bare"
    row copy "recording off" LD_PRELOAD="$library" XFERSCOPE_ENABLE=0
    row copy "applied" "${applied[@]}"
    row copy "applied, looked at" "${applied[@]}" XFERSCOPE_APPLY_LEAST=1
    row copy "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0
    row copy "recorded, stacks" "${recorded[@]}" XFERSCOPE_STACKS=1
    row wait "bare"
    row wait "applied" "${applied[@]}"
    row wait "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0
    row query "bare" "${busy[@]}"
    row query "applied" "${busy[@]}" "${applied[@]}"
    row query "recorded" "${busy[@]}" "${recorded[@]}"
    row alloc "bare"
    row alloc "applied" "${applied[@]}"
    row alloc "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0
    row launch "bare"
    row launch "applied" "${applied[@]}"
    row launch "recorded" "${recorded[@]}"
    row launch-given "bare"
    row launch-given "recorded, no arguments" "${recorded[@]}" XFERSCOPE_ARGUMENTS=0
    row launch-given "recorded" "${recorded[@]}"
    row launch-only "bare"
    row launch-only "recorded" "${recorded[@]}"
    row send "bare"
    row send "not recorded" "${recorded[@]}" XFERSCOPE_MESSAGES=0
    row send "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0
    row send "recorded, stacks" "${recorded[@]}" XFERSCOPE_STACKS=1
    row recv "bare"
    row recv "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0
    row recv "recorded, stacks" "${recorded[@]}" XFERSCOPE_STACKS=1
    row isend "bare"
    row isend "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0
    row isend "recorded, stacks" "${recorded[@]}" XFERSCOPE_STACKS=1
    for kind in send-large start neighbors matched reduce reduce-launch group group-launch group-empty; do
        row $kind "bare"
        row $kind "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0
        row $kind "recorded, stacks" "${recorded[@]}" XFERSCOPE_STACKS=1
    done
    row range "bare" NVTX_INJECTION64_PATH=
    row range "recorded, no stacks" "${recorded[@]}" XFERSCOPE_STACKS=0 NVTX_INJECTION64_PATH="$library"
}

row() { # kind name settings...: prints kind|name|instructions|added|calls
    local kind=$1 name=$2
    shift 2
    # Nothing adds to a program alone: nothing is expected of it.
    [[ $mode != --check || $name != bare ]] || return 0
    echo "$kind|$name|$(per_call "$kind" "$@")"
}

table() {
    awk -F'|' '{printf "%-11s %-22s %8d %+8d %8d\n", $1, $2, $3, $4, $5}'
}

# What a message's hook may take at most with GNU's compiler, whatever is expected: kind, name, instructions
# (isend, start, matched: of two calls; group: of four; -launch: with the hook of a kernel's launch).
bounds() {
    echo "send|recorded, no stacks|250"
    echo "send|recorded, stacks|350"
    echo "recv|recorded, no stacks|270"
    echo "recv|recorded, stacks|360"
    echo "isend|recorded, no stacks|540"
    echo "isend|recorded, stacks|720"
    echo "send-large|recorded, no stacks|410"
    echo "send-large|recorded, stacks|520"
    echo "start|recorded, no stacks|700"
    echo "start|recorded, stacks|920"
    echo "neighbors|recorded, no stacks|570"
    echo "neighbors|recorded, stacks|690"
    echo "matched|recorded, no stacks|1250"
    echo "matched|recorded, stacks|1370"
    echo "reduce|recorded, no stacks|510"
    echo "reduce|recorded, stacks|620"
    echo "reduce-launch|recorded, no stacks|830"
    echo "reduce-launch|recorded, stacks|930"
    echo "group|recorded, no stacks|1100"
    echo "group|recorded, stacks|1320"
    echo "group-launch|recorded, no stacks|1410"
    echo "group-launch|recorded, stacks|1630"
    echo "group-empty|recorded, stacks|110"
}

within_bounds() {
    [[ $compiler == GNU* ]] || return 0
    awk -F'|' '
        NR == FNR {most[$1 "|" $2] = $3; next}
        ($1 "|" $2) in most && $4 > most[$1 "|" $2] {
            printf "%s, %s: %d instructions added, at most %d\n", $1, $2, $4, most[$1 "|" $2]
            failed = 1
        }
        END {exit failed}' <(bounds) "$scratch.rows"
}

# A program to which nothing is applied has no more instructions added than one that is recorded with
# host times, a copy that is looked at none more than one recorded with its stack.
within_recording() {
    awk -F'|' '
        {added[$1 "|" $2] = $4}
        function more(applied, recorded) {
            if (!(applied in added) || !(recorded in added) || added[applied] <= added[recorded]) return
            printf "%s: %d instructions added, %s: %d\n", applied, added[applied], recorded, added[recorded]
            failed = 1
        }
        END {
            more("copy|applied", "copy|recorded, no stacks")
            more("copy|applied, looked at", "copy|recorded, stacks")
            more("wait|applied", "wait|recorded, no stacks")
            more("alloc|applied", "alloc|recorded, no stacks")
            more("launch|applied", "launch|recorded")
            exit failed
        }' "$scratch.rows"
}

# Rows that differ from those expected by more than is allowed.
compare() {
    local noted tolerance=25
    noted=$(sed -n 's/^compiler|//p' "$expected")
    [[ $noted != "$compiler" ]] || tolerance=1
    echo "expected within $tolerance % (compiler: $compiler; noted: $noted)"
    awk -F'|' -v tolerance="$tolerance" '
        function bad(what, is, wanted) {
            printf "%s, %s: %d %s, expected %d\n", $1, $2, is, what, wanted
            failed = 1
        }
        NR == FNR {want[$1 "|" $2] = $4; calls[$1 "|" $2] = $5; next}
        {
            key = $1 "|" $2
            if (!(key in want)) {printf "%s %s: nothing expected\n", $1, $2; failed = 1; next}
            off = $4 - want[key]
            if (off < 0) off = -off
            if (off > want[key] * tolerance / 100 + 1) bad("instructions added", $4, want[key])
            if ($5 != calls[key]) bad("calls into the driver and runtime", $5, calls[key])
        }
        END {exit failed}' "$expected" "$scratch.rows"
}

rows >"$scratch.rows"
printf '%-11s %-22s %8s %8s %8s\n' "" "instructions per call" all added calls
table <"$scratch.rows"
case $mode in
--check)
    if ! within_bounds || ! within_recording || ! compare; then
        echo "instructions.sh: if that is meant, run tests/bench/instructions.sh --update" >&2
        exit 1
    fi
    ;;
--update)
    { echo "compiler|$compiler" && cat "$scratch.rows"; } >"$expected"
    ;;
esac
