#!/bin/bash
# The steps of run_all.sh, each of which can be run alone:
#
#   steps.sh facts | probe | overhead
#   steps.sh record | device-times | against-cupti | report  PROGRAM [ARGUMENTS]
#
# PROGRAM: one in BUILD/bin/programs, or pytorch. Environment: XFS_BUILD, the build folder, and
# XFS_WORK, a folder for traces and results. Exit status: 0 as it should be, 77 skipped because this
# machine cannot do it, anything else failed.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
build=${XFS_BUILD:-$here/../../build}
work=${XFS_WORK:-gpu-work}
xferscope=$build/bin/xferscope
program=${2:-}
arguments=("${@:3}")
name=$(printf '%s' "$program" "${arguments[@]/#/-}")
run=$work/traces/$name.xft
mkdir -p "$work/traces"

# Sets `command` to the program's, and the library path that it needs.
find_program() {
    if [[ $program == pytorch ]]; then
        python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null || exit 77
        command=(python3 "$here/../programs/train.py" --steps 100)
        return
    fi
    command=("$build/bin/programs/$program" "${arguments[@]}")
    [[ -x ${command[0]} && ! -d ${command[0]} ]] || exit 77
    LD_LIBRARY_PATH=$(cuda_path_for "${command[0]}")
    export LD_LIBRARY_PATH
}

facts() {
    date -u +'%Y-%m-%d %H:%M UTC'
    uname -srm
    grep -m 1 'model name' /proc/cpuinfo | sed 's/.*: //'
    echo "$(nproc) cores, $(awk '/MemTotal/ {printf "%.0f GiB", $2 / 1048576}' /proc/meminfo)"
    echo "NUMA nodes: $(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' 2>/dev/null | wc -l)"
    nvidia-smi 2>/dev/null --format=csv --query-gpu=name,driver_version,pci.bus_id,pcie.link.gen.current,pcie.link.width.current,memory.total ||
        echo "no nvidia-smi"
    nvidia-smi 2>/dev/null | grep -o 'CUDA Version: [0-9.]*'
    python3 -c 'import torch; print("PyTorch", torch.__version__)' 2>/dev/null || echo "no PyTorch"
    "$xferscope" --version
}

probe() {
    "$xferscope" probe --time-limit 40 -o "$work/machine.json"
}

# The program alone and under the recorder: same output, same status, and a trace.
record() {
    local alone recorded
    find_program
    "${command[@]}" >"$work/$name.out" 2>"$work/$name.err"
    alone=$?
    "$xferscope" record --force --budget 0 -o "$run" -- "${command[@]}" >"$work/$name.out2" 2>"$work/$name.err2+"
    recorded=$?
    grep '^xferscope: ' "$work/$name.err2+"
    grep -v '^xferscope: ' "$work/$name.err2+" >"$work/$name.err2"
    echo "exit status alone $alone, recorded $recorded; $(wc -c <"$work/$name.out") bytes of output"
    diff "$work/$name.out" "$work/$name.out2" | head -n 10
    diff "$work/$name.err" "$work/$name.err2" | head -n 10
    [[ -d $run ]] && ((alone == recorded)) && cmp -s "$work/$name.out" "$work/$name.out2" &&
        cmp -s "$work/$name.err" "$work/$name.err2"
}

# Every transfer of the trace has its device copies.
device_times() {
    [[ -d $run ]] || exit 77
    "$xferscope" dump "$run" --kind peer | grep '^meta timing'
    "$here/check_device_times" --build "$build" "$run"
}

# The program once more, watched by CUPTI.
against_cupti() {
    find_program
    "$here/compare_counts" --build "$build" --keep "$work/counts-$name" --output "$work/$name.compared" -- \
        "${command[@]}"
}

report() {
    local profile=()
    [[ -d $run ]] || exit 77
    [[ -e $work/machine.json ]] && profile=(--profile "$work/machine.json")
    "$xferscope" analyze "$run" "${profile[@]}" >"$work/report.txt"
    local status=$?
    cat "$work/report.txt"
    { echo "== $name" && cat "$work/report.txt"; } >>"$work/reports.txt"
    return "$status"
}

case ${1:-} in
facts) facts ;;
probe) probe ;;
record) record ;;
device-times) device_times ;;
against-cupti) against_cupti ;;
report) report ;;
overhead) "$here/overhead.sh" "$build" 9 60 1000 ;;
*)
    echo "steps.sh: no such step: ${1:-}" >&2
    exit 2
    ;;
esac
