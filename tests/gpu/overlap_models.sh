#!/bin/bash
# Van Werkhoven's equations as the analyzer has them, compared with this machine's GPU 0: kernels like
# the paper's state and buoydiff, explicit, with mapped memory, with streams, hybrid. Needs some 2 GB
# of page-locked memory, and takes less than a minute; without a profile another for the probe.
#
# usage: overlap_models.sh [BUILD [PROFILE [OPTION...]]]   OPTION: those of overlap_models, for
#        instance --runs 21, or --quick; PROFILE - or none: the probe measures what is needed
# Writes overlap_models.json, overlap_models.txt and the profile that was measured to $OUT, if that
# is set.
# exit status: 0 errors no larger than the paper's, best methods predicted; 3 not so; 1, 2 trouble
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
build=$(cd "${1:-$here/../../build}" && pwd)
profile=${2:--}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
out=${OUT:-$scratch}
mkdir -p "$out"
program=$build/bin/programs/${XFERSCOPE_OVERLAP_MODELS:-overlap_models_static}

# What the equations need, and nothing else.
needed='^(copy/pinned/(h2d|d2h)/|copy-both-ways/pinned/|copy-under-mapped/pinned/|mapped-(read|write)/mapped/|mapped-write-under-copy/|both-ways/(mapped|one-kernel)/mapped/|streams/pinned/|overlap/)'

links=$(missing_libraries "$build" "$scratch/libraries")
[[ -z $links ]] || export LD_LIBRARY_PATH=$links${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if [[ $profile == - ]]; then
    profile=$out/overlap_machine.json
    "$build/bin/xferscope" probe --device 0 --filter "$needed" --quiet -o "$profile" >/dev/null
fi
"$program" "${@:3}" "$profile" "$out/overlap_models.json" | tee "$out/overlap_models.txt"
