#!/bin/bash
# Transfers and bytes per direction of frameworks and of programs that use CUDA in every way there
# is, against CUPTI's own records of the same run; one line each. What is not installed, or wants
# more GPUs than there are, is skipped and says so. Needs a GPU.
# usage: frameworks.sh [BUILD [PATTERN]]    PATTERN: only programs whose title matches (bash's ==)
# exit status: 0 when every one that ran is equal
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
build=$(cd "${1:-$here/../../build}" && pwd) || exit 2
pattern=${2:-*}
scripts=$here/../programs/frameworks
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
links=$(missing_libraries "$build" "$scratch/libraries")
[[ -z $links ]] || export LD_LIBRARY_PATH=$links${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
gpus=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
if [[ -v CUDA_VISIBLE_DEVICES ]]; then # those that the programs will see
    IFS=, read -ra seen <<<"$CUDA_VISIBLE_DEVICES"
    ((gpus <= ${#seen[@]})) || gpus=${#seen[@]}
fi

ran=0 failed=0
compare() { # title options... -- command...
    local title=$1 status
    shift
    timeout 120 "$here/compare_counts" --build "$build" --title "$title" "$@" 2>"$scratch/said"
    status=$?
    ran=$((ran + 1))
    if ((status != 0)); then
        failed=$((failed + 1))
        ((status == 1)) || printf '%-22s FAILED (%d)\n' "$title" "$status"
        tail -n 5 "$scratch/said"
    fi
}

skip() { # title why
    printf '%-22s skipped: %s\n' "$1" "$2"
}

program() { # title GPUs-needed options... -- name arguments...
    local title=$1 needed=$2 options=()
    shift 2
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    local file=$build/bin/programs/$2
    # shellcheck disable=SC2053
    [[ $title == $pattern ]] || return
    [[ -x $file ]] || { skip "$title" "not built"; return; }
    ((gpus >= needed)) || { skip "$title" "needs $needed GPUs"; return; }
    LD_LIBRARY_PATH=$(cuda_path_for "$file") compare "$title" "${options[@]}" -- "$file" "${@:3}"
}

python() { # title GPUs-needed script arguments...     the module is the title's first word
    local title=$1 needed=$2 module=${1%%_*}
    # shellcheck disable=SC2053
    [[ $title == $pattern ]] || return
    python3 -c "import $module" 2>/dev/null || { skip "$title" "$module is not installed"; return; }
    ((gpus >= needed)) || { skip "$title" "needs $needed GPUs"; return; }
    compare "$title" -- python3 "$scripts/$3.py" "${@:4}"
}

nccl() { # the library that is installed: the loader's, or the wheel's
    python3 -c 'import nvidia.nccl as n; print(list(n.__path__)[0] + "/lib/libnccl.so.2")' 2>/dev/null || echo libnccl.so.2
}

python torch_train 1 ../train --steps 30
python torch_loader 1 torch_loader
python torch_compile 1 torch_compile
python torch_compile_graph 1 torch_compile reduce-overhead
python torch_expandable 1 torch_expandable
python torch_graph 1 torch_graph
python torch_threads 1 torch_threads
python torch_allreduce 1 torch_allreduce
python torch_distributed 2 torch_distributed
python cupy 1 cupy_copies
python numba 1 numba_copies
python jax 1 jax_copies
python triton 1 triton_copies
for kind in static shared; do
    program "copies_$kind" 1 -- "copies_all_$kind"
    program "loop_$kind" 1 -- "unoptimised_$kind"
    for part in kinds managed pools vmm; do
        program "${part}_$kind" 1 --announced -- "memories_$kind" "$part"
    done
    program "graphs_$kind" 1 --announced -- "graphs_$kind"
    program "exchanged_$kind" 1 --announced --known "CUPTI keeps the sizes that an exchanged child graph had before" \
        -- "graphs_$kind" exchanged
    program "ipc_$kind" 1 --announced -- "ipc_$kind"
    program "peers_$kind" 2 --announced -- "peers_$kind"
    program "ipc_peers_$kind" 2 --announced --known "CUPTI calls every copy of memory opened from another GPU P2P" \
        -- "ipc_$kind" 1
done
program driver_linked 1 -- driver_link link
program driver_dlsym 1 -- driver_dlsym dlsym
program driver_address 1 -- driver_dlsym address2
program nccl 2 -- nccl_reduce "$(nccl)"

# shellcheck disable=SC2053
if [[ torch_graph == $pattern ]] && python3 -c 'import torch' 2>/dev/null; then
    "$build/bin/xferscope" record --quiet -o "$scratch/graph.xft" -- python3 "$scripts/torch_graph.py" >/dev/null
    if "$here/check_device_times" --build "$build" "$scratch/graph.xft" >"$scratch/times"; then
        echo "torch_graph's device times: complete"
    else
        tail -n 5 "$scratch/times"
        failed=$((failed + 1))
    fi
fi
echo "$ran programs, $failed failed"
exit $((failed > 0))
