#!/bin/bash
# Recorded runs played on this machine's GPUs (analyze --replay=run): what each takes by the replay
# of its record and as it was played, in ms, and how far that is off; what its best set of fixes
# saves, by the model and as it was played. Where RUNS has a times.json of tests/pairs/run, what was
# measured of a pair stands beside it. A line for each run, then how many were off by 3 % at most.
# usage: play.sh BUILD RUNS PROFILE [SECONDS]    RUNS: a folder with *.xft; --replay-time: 30
# exit status: 0 all were played; 1 some were not; 2 wrong usage
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
if [[ $# -lt 3 || ! -x $1/bin/xferscope || ! -d $2 || ! -f $3 ]]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
build=$(cd "$1" && pwd)
runs=$2 profile=$3 seconds=${4:-30}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
links=$(missing_libraries "$build" "$scratch/libraries")
[[ -z $links ]] || export LD_LIBRARY_PATH=$links${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

for run in "$runs"/*.xft; do
    name=$(basename "$run" .xft)
    "$build/bin/xferscope" analyze "$run" -p "$profile" --replay=run --replay-time "$seconds" \
        --format json -o "$scratch/$name.json" 2>"$scratch/$name.said" </dev/null
    [[ -s $scratch/$name.json ]] || sed "s/^/$name: /" "$scratch/$name.said" >&2
    python3 "$here/play_table.py" line "$scratch/$name.json" "$name" "$runs/times.json"
done
python3 "$here/play_table.py" sum "$scratch"/*.json
