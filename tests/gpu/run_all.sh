#!/bin/bash
# Everything that only a machine with a GPU can tell, in one go: records three programs, holds the
# traces against CUPTI's own records, checks that the programs notice nothing, measures the cost,
# probes the machine. Needs a built folder (made here, or carried: collect_deps.sh); no compiler,
# no network, no root. Takes under six minutes; a step that fails stops nothing.
#
# usage: run_all.sh [BUILD [WITHOUT...]]   results go to $OUT (default: gpu-results), at most 8
# files. WITHOUT: steps to leave out, of probe and overhead, which take the longest
# exit status: 0 when no step failed
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
XFS_BUILD=$(cd "${1:-$here/../../build}" && pwd) || exit 2
XFS_WORK=$(mktemp -d)
export XFS_BUILD XFS_WORK
without=" ${*:2} "
trap 'rm -rf "$XFS_WORK"' EXIT
out=${OUT:-gpu-results}
mkdir -p "$out"

links=$(missing_libraries "$XFS_BUILD" "$XFS_WORK/libraries")
[[ -z $links ]] || export LD_LIBRARY_PATH=$links${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# The three that the project's results are about, then every copy function.
recorded=(unoptimised_static unoptimised_shared pytorch copies_all_static copies_all_shared copies_all_ptds_shared)
# Ends, errors, threads, forks, direct users of the driver.
only_identical=("endings return" "endings exit" "endings _exit" "endings abort" "endings segv" "endings kill" "endings exec"
    "endings thread" "endings closed" failing threads forker "driver_link link" "driver_dlsym dlsym"
    "driver_dlsym address" "driver_dlsym address2" "driver_dlsym address2-ptds")
# What is reported.
reported=("${recorded[@]:0:3}")

summary=()
failures=0

step() { # seconds title arguments-of-steps.sh...
    local limit=$1 title=$2 start=$SECONDS status verdict
    shift 2
    printf '\n== %s\n' "$title"
    timeout -k 5 "$limit" "$here/steps.sh" "$@"
    status=$?
    case $status in
    0) verdict=ok ;;
    77) verdict=skipped ;;
    124 | 137) verdict="FAILED: over $limit s" ;;
    *) verdict="FAILED: $status" ;;
    esac
    [[ $verdict == FAILED* ]] && failures=$((failures + 1))
    summary+=("$(printf '%-56s %-20s %4d s' "$title" "$verdict" "$((SECONDS - start))")")
}

all_steps() {
    local name words
    step 20 "machine" facts
    [[ $without == *" probe "* ]] || step 70 "probe" probe
    for name in "${recorded[@]}"; do
        step 60 "$name: same output, same status" record "$name"
        step 20 "$name: device times complete" device-times "$name"
        step 60 "$name: counts equal CUPTI's" against-cupti "$name"
    done
    for name in "${only_identical[@]}"; do
        read -ra words <<<"$name"
        step 15 "$name: same output, same status" record "${words[@]}"
    done
    for name in "${reported[@]}"; do
        step 20 "$name: report" report "$name"
    done
    [[ $without == *" overhead "* ]] || step 150 "overhead" overhead
    printf '\n== summary: %d steps, %d failed, %d s\n' "${#summary[@]}" "$failures" "$SECONDS"
    printf '%s\n' "${summary[@]}"
    return $((failures > 0))
}

# Few files, whatever was recorded.
collect() {
    cp "$XFS_WORK/machine.json" "$XFS_WORK/reports.txt" "$out/" 2>/dev/null
    if command -v zstd >/dev/null; then
        tar -C "$XFS_WORK" --zstd -cf "$out/traces.tar.zst" traces
    else
        tar -C "$XFS_WORK" -czf "$out/traces.tar.gz" traces
    fi
}

all_steps 2>&1 | tee "$out/results.txt"
status=${PIPESTATUS[0]}
collect
exit "$status"
