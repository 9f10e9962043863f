#!/usr/bin/env bash
# The recorder's threads under ThreadSanitizer: no data race is reported.
# usage: tsan.sh SUBJECT [ROUNDS]     SUBJECT: record_subject built with -fsanitize=thread
# Exits with 77 where ThreadSanitizer does not run.
set -euo pipefail
subject=$1 rounds=${2:-1}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

export TSAN_OPTIONS=exitcode=66 XFERSCOPE_OUTPUT=$place/run.xft

# The runtime of older compilers does not know all the places addresses are drawn from.
fixed=()
if setarch -R true 2>/dev/null; then
    fixed=(setarch -R)
fi

tries=0
run() { # buffer stacks mode arguments...
    local buffer=$1 stacks=$2 status=0
    shift 2
    XFERSCOPE_BUFFER=$buffer XFERSCOPE_STACKS=$stacks "${fixed[@]}" "$subject" "$@" 2>"$place/said" || status=$?
    if grep -q 'unexpected memory mapping' "$place/said"; then
        echo "ThreadSanitizer does not run here"
        exit 77
    fi
    if ((status != 0)) || grep -q ThreadSanitizer "$place/said"; then
        cat "$place/said"
        echo "failed ($status): $*, buffer $buffer, stacks $stacks"
        exit 1
    fi
    rm -rf "$place/run.xft"
    tries=$((tries + 1))
}

for ((i = 0; i < rounds; i++)); do
    for stacks in 0 1; do
        for buffer in 256M 1K; do
            run "$buffer" "$stacks" threads 64 1000
            run "$buffer" "$stacks" exits-amid
        done
    done
    run 1K 1 cancels
    run 256M 1 short-threads 100
    run 256M 1 is-interrupted
done
echo "$tries runs, 64 threads at most, no race"
