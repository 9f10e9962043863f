#!/bin/bash
# Processor time of messages, with and without recording them, in turns; by hand. The driver is the simulated
# one, of whose clock the recorder gets no notice: so it reads the processor's, as on a real machine.
#
# usage: message_times.sh BUILD ROUNDS [LIBRARY...]     further builds of libxferscope.so, for comparison
#
# XFERSCOPE_BENCH_KINDS: what is called, if not all that is below.
#
# Each line: what is called, which library (none: not recorded), stacks or not, and ns of one call (of a
# pair of calls: isend, start, matched, self, pair, group-empty; of four: group): lower quartile, median, upper quartile of
# 400 bursts.
set -euo pipefail

build=$(cd "$1" && pwd)
rounds=$2
libraries=("" "$build/lib/libxferscope.so" "${@:3}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cp -L "$build"/lib/simgpu/libcuda*.so* "$scratch"
cp -r "$build/lib/simgpu/machines" "$scratch"
sed -i 's/xferscope_simgpu_now_ns/xferscope_simgpu_no_clk/g' "$scratch/libcuda.so.1"
export LD_LIBRARY_PATH=$scratch XFERSCOPE_TIMING=host XFERSCOPE_OUTPUT=$scratch/run.xft
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Only the program itself is recorded, not its launcher.
timed() { # library stacks kind
    rm -rf "$scratch/run.xft"
    case $3 in
    self) mpirun -n 1 env LD_PRELOAD="$1" XFERSCOPE_STACKS="$2" "$build/bin/bench/exchange" self 400 2000 ;;
    pair) mpirun --oversubscribe -n 2 env LD_PRELOAD="$1" XFERSCOPE_STACKS="$2" "$build/bin/bench/exchange" pair 400 500 ;;
    *) LD_PRELOAD=$1 XFERSCOPE_STACKS=$2 "$build/bin/bench/calls" "$3" 400 5000 times ;;
    esac
}

for ((i = 0; i < rounds; i++)); do
    for kind in ${XFERSCOPE_BENCH_KINDS:-clock send recv isend send-large start neighbors matched launch reduce reduce-launch group group-launch group-empty self pair}; do
        [[ $kind != self && $kind != pair || -x $build/bin/bench/exchange ]] || continue
        for library in "${libraries[@]}"; do
            for stacks in 1 0; do
                [[ -n $library || $stacks == 1 ]] || continue
                echo "$kind ${library:-none} stacks=$stacks $(timed "$library" "$stacks" "$kind" 2>/dev/null)"
            done
        done
    done
done | sort
