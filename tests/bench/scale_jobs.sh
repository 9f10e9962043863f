#!/bin/bash
# How long `xferscope analyze` takes for a run of many processes, by how many processes of this
# machine analyze it (--jobs): wall time and processor time of each, and the sum of the report,
# which has to be the same. Runs are made by big_trace, in $TMPDIR.
#
# usage: scale_jobs.sh BUILD TRANSFERS FILES THREADS SITES JOBS...
#
#   JOBS  numbers of processes, one after the other; auto: as many as the command takes by itself
set -euo pipefail

if [[ $# -lt 6 ]]; then
    sed -n 's/^# usage: //p' "$0" >&2
    exit 2
fi
build=$(cd "$1" && pwd)
shape=("${@:2:4}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$build/bin/analyzer_make_trace" profile "$scratch/machine.json"
"$build/bin/bench/big_trace" "${shape[@]}" "$scratch/run"
TIMEFORMAT='%R %U %S'
echo "# transfers files threads sites jobs: wall, user, system seconds, the report"
for jobs in "${@:6}"; do
    how=(--jobs "$jobs")
    [[ $jobs == auto ]] && how=()
    took=$({ time "$build/bin/xferscope" analyze "${how[@]}" -f json -p "$scratch/machine.json" "$scratch/run" \
        > "$scratch/report.json" 2> "$scratch/lines"; } 2>&1)
    echo "${shape[*]} $jobs: $took $(sha256sum < "$scratch/report.json" | cut -c1-16)"
done
