#!/bin/bash
# Copy-engine bandwidth by nvbandwidth and by xferscope probe, in turn in one session, and their
# ratios. nvbandwidth is built by whoever runs this; its median of samples at one size is held
# against the probe's median at the same size, both again over the runs.
# usage: compare_nvbandwidth.sh NVBANDWIDTH [BUILD [RUNS [MIB]]]
# Exit status: 0 when all medians are within 1 %, 3 when not, 1 when something could not be measured.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
peer=${1:?usage: compare_nvbandwidth.sh NVBANDWIDTH [BUILD [RUNS [MIB]]]}
build=$(cd "${2:-$here/../../build}" && pwd)
runs=${3:-5}
mib=${4:-256}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# nvbandwidth's test and the benchmark that measures the same thing
tests=(host_to_device_memcpy_ce device_to_host_memcpy_ce
    host_to_device_bidirectional_memcpy_ce device_to_host_bidirectional_memcpy_ce)
declare -A benchmark=(
    [host_to_device_memcpy_ce]=copy/pinned/h2d
    [device_to_host_memcpy_ce]=copy/pinned/d2h
    [host_to_device_bidirectional_memcpy_ce]=copy-both-ways/pinned/h2d
    [device_to_host_bidirectional_memcpy_ce]=copy-both-ways/pinned/d2h
)

# Its text: "Running NAME.", a line of columns (GPUs), a row of figures from the host ("0 55.3 ...").
measure_peer() {
    "$peer" -b "$mib" -t "${tests[@]}" | awk '
        /^Running / { name = $2; sub(/\.$/, "", name); columns = 0; next }
        /^SUM / { name = "" }
        name == "" { next }
        !columns && /^[ \t]*[0-9]+([ \t]+[0-9]+)*[ \t]*$/ { columns = NF; next }
        columns && $1 == "0" { for (i = 2; i <= NF; i++) print name, i - 2, $i }' |
        while read -r name gpu gbps; do echo "$gbps" >>"$scratch/$name.$gpu.peer"; done
}

# The host memory next to the GPU is what nvbandwidth uses: of several nodes the fastest.
measure_own() {
    local bytes=$((mib << 20))
    "$build/bin/xferscope" probe --sizes "$bytes:$bytes" --format csv --quiet \
        --filter '^copy(-both-ways)?/pinned/(h2d|d2h)/' | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        { n = split($column["name"], word, "/"); gpu = word[n]; sub(/.*gpu/, "", gpu)
          key = word[1] "/" word[2] "/" word[3] " " gpu
          if ($column["gbps"] + 0 > best[key] + 0) best[key] = $column["gbps"] }
        END { for (key in best) print key, best[key] }' |
        while read -r name gpu gbps; do echo "$gbps" >>"$scratch/${name//\//,}.$gpu.own"; done
}

median_of() { # file: median, and the spread of the runs in percent
    sort -n "$1" | awk '{ v[NR] = $1 }
        END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
              printf "%.2f %.2f\n", m, (m > 0 ? (v[NR] - v[1]) / m * 100 : 0) }'
}

for ((run = 0; run < runs; run++)); do
    measure_peer
    measure_own
done

status=0
compared=0
printf '%-40s %3s %12s %9s %12s %9s %7s\n' test GPU nvbandwidth spread xferscope spread ratio
for name in "${tests[@]}"; do
    for file in "$scratch/$name".*.peer; do
        [[ -e $file ]] || continue
        gpu=${file%.peer}
        gpu=${gpu##*.}
        own=$scratch/${benchmark[$name]//\//,}.$gpu.own
        if [[ ! -e $own ]]; then
            echo "$name, GPU $gpu: xferscope probe has no figure" >&2
            exit 1
        fi
        read -r theirs spread < <(median_of "$file")
        read -r ours own_spread < <(median_of "$own")
        ratio=$(awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "%.4f", a / b }')
        printf '%-40s %3s %7s GB/s %7s %% %7s GB/s %7s %% %7s\n' "$name" "$gpu" "$theirs" "$spread" \
            "$ours" "$own_spread" "$ratio"
        compared=$((compared + 1))
        awk -v r="$ratio" 'BEGIN { exit r < 0.99 || r > 1.01 }' || status=3
    done
done
if ((!compared)); then
    echo "nvbandwidth gave no figure that this script understands" >&2
    exit 1
fi
exit "$status"
