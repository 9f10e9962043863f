#!/bin/bash
# Programs on the simulated GPU while device timing runs, with a stand-in for CUPTI beside the
# simulated driver: their output and exit status stay the same however they end, and the trace says
# that times came from CUPTI. usage: with_cupti_test.sh BUILD FAKE_CUPTI
set -uo pipefail

build=$1
fake=$2
library=$build/lib/libxferscope.so
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# The recorder looks for CUPTI in the folder of the simulated driver.
mkdir "$scratch/cuda"
ln -s "$build"/lib/simgpu/* "$scratch/cuda/"
ln -s "$fake" "$scratch/cuda/libcupti.so.13"
export LD_LIBRARY_PATH=$scratch/cuda

compare() { # program arguments...
    local name=$1 bare recorded
    shift
    { "$build/bin/programs/$name" "$@"; } >"$scratch/bare" 2>&1
    bare=$?
    { env LD_PRELOAD="$library" XFERSCOPE_OUTPUT="$scratch/run.xft" XFERSCOPE_TIMING=cupti \
        "$build/bin/programs/$name" "$@"; } >"$scratch/recorded" 2>&1
    recorded=$?
    ((bare == recorded)) || fail "$name $*: status $bare alone, $recorded recorded"
    cmp "$scratch/bare" "$scratch/recorded" || fail "$name $*: other output"
    "$build/bin/xferscope" dump "$scratch/run.xft" >"$scratch/dump" || fail "$name $*: no readable trace"
    grep -q '^meta timing=cupti$' "$scratch/dump" || fail "$name $*: no device timing"
    rm -rf "$scratch/run.xft"
}

for how in return exit _exit thread closed; do
    compare endings "$how"
done
compare failing
compare threads
compare forker
((failures == 0))
