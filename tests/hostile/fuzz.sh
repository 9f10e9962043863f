#!/bin/bash
# The three libFuzzer targets side by side: the trace reader, completion with damaged unfinished files, the
# profile reader. usage:
#
#   fuzz.sh pack BUILD-FUZZ FOLDER            what another machine needs to run them, made small (once)
#   fuzz.sh run FOLDER SECONDS JOBS [OUT]     JOBS processes, shared among the targets, each so long
#
# BUILD-FUZZ: configured as docs/CONTRIBUTING.md says ("Tests by hand"). `run` prints a line for each target:
# processes, executions, CPU time, what was found; that lies in OUT/found, the logs in OUT/logs.
# Exit status: 1 when something was found.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
targets=(analyzer_fuzz_read analyzer_fuzz_complete probe_fuzz_profile)
folder_libraries=(libzstd.so.1 libjansson.so.4 libxxhash.so.0 libelf.so.1 libdw.so.1 libsmartcols.so.1)

pack() { # build folder
    local build=$1 folder=$2 target name path i
    rm -rf "$folder"
    mkdir -p "$folder/lib" "$folder/seeds/traces" "$folder/seeds/profiles"
    for target in "${targets[@]}"; do
        strip -g -o "$folder/$target" "$build/bin/$target"
    done
    # Of the build machine, where the other one lacks them.
    ldd "${folder}/${targets[0]}" "${folder}/${targets[1]}" "${folder}/${targets[2]}" |
        awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u >"$folder/libraries"
    while read -r path; do
        name=$(basename "$path")
        [[ $name =~ ^lib(c|m|dl|pthread|rt|resolv|gcc_s|stdc\+\+)\.so ]] || cp -L "$path" "$folder/lib/$name"
    done <"$folder/libraries"
    rm "$folder/libraries"
    zstd -dc "$root/tests/analyzer/corpus/read.tar.zst" | tar -xf - -C "$folder/seeds/traces"
    for i in {0..12}; do
        seed "$build" "$folder" ill "$i"
    done
    for i in {0..14}; do
        seed "$build" "$folder" ill-room "$i"
    done
    cp "$root"/tests/probe/corpus/*.json "$folder/seeds/profiles"
    cp "$root/tests/analyzer/corpus/read.dict" "$root/tests/probe/corpus/profile.dict" "$folder"
    tar -czf "$folder/seeds.tar.gz" -C "$folder" seeds
    rm -r "$folder/seeds"
    du -sh "$folder"
}

# An ill file with its sums as they are, made right, and with a second slab behind it.
seed() { # build folder kind number
    local file=$2/seeds/traces/$3-$4 how
    "$1/bin/analyzer_make_trace" "$3" "$file.trace" "$4"
    for how in 00 01 07 27; do
        { printf '%b' "\\0$how" && cat "$file.trace"; } >"$file-$how"
    done
    rm "$file.trace"
}

# What the machine lacks is looked for in the folder.
library_path() { # folder
    local links=$1/links name
    mkdir -p "$links"
    for name in $(ldd "$1"/*_fuzz_* 2>/dev/null | awk '/not found/ {print $1}' | sort -u); do
        ln -sf "../lib/$name" "$links/$name"
    done
    # What these need in their turn.
    for name in "${folder_libraries[@]}"; do
        if [[ -e $1/lib/$name ]] && ! ldconfig -p | grep -q "$name"; then
            ln -sf "../lib/$name" "$links/$name"
        fi
    done
    echo "$links${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

start() { # folder target seconds out number
    local folder=$1 target=$2 seconds=$3 out=$4 number=$5 seeds=traces dictionary=read.dict length=40000 still=()
    # Older sanitizers cannot live with all that newer kernels randomise.
    if setarch -R true 2>/dev/null; then
        still=(setarch -R)
    fi
    if [[ $target == probe_* ]]; then
        seeds=profiles dictionary=profile.dict length=20000
    fi
    mkdir -p "$out/corpus/$target" "$out/scratch/$target-$number"
    TMPDIR=$out/scratch/$target-$number ASAN_OPTIONS=quarantine_size_mb=16 "${still[@]}" "$folder/$target" \
        "$out/corpus/$target" "$out/seeds/$seeds" -dict="$folder/$dictionary" -max_len=$length -rss_limit_mb=1024 \
        -timeout=25 -max_total_time="$seconds" -seed=$((number * 7919 + 1)) -reload=30 -print_final_stats=1 \
        -artifact_prefix="$out/found/$target-" >"$out/logs/$target-$number" 2>&1
}

report() { # target out seconds
    local executions found processes
    processes=$(find "$2/logs" -name "$1-*" | wc -l)
    executions=$(cat "$2/logs/$1"-* | awk '/stat::number_of_executed_units/ {sum += $2} END {print sum + 0}')
    found=$(find "$2/found" -name "$1-*" | wc -l)
    echo "$1: $processes processes of $3 s, $executions executions, $found found"
    cat "$2/logs/$1"-* | grep -aE '^(SUMMARY|completion:)' | sort | uniq -c | head -n 5 || true
}

run() { # folder seconds jobs [out]
    local folder seconds=$2 jobs=$3 out=${4:-} i target
    folder=$(cd "$1" && pwd)
    out=${out:-$(mktemp -d)}
    mkdir -p "$out/logs" "$out/found"
    out=$(cd "$out" && pwd)
    tar -xzf "$folder/seeds.tar.gz" -C "$out"
    LD_LIBRARY_PATH=$(library_path "$folder")
    export LD_LIBRARY_PATH
    for ((i = 0; i < jobs; i++)); do
        start "$folder" "${targets[i % 3]}" "$seconds" "$out" "$i" &
    done
    wait
    for target in "${targets[@]}"; do
        report "$target" "$out" "$seconds"
    done
    rm -rf "$out/seeds" "$out/scratch" "$out/corpus"
    [[ -z $(ls -A "$out/found") ]]
}

case ${1:-} in
pack) pack "${2:?build folder}" "${3:?folder}" ;;
run) run "${2:?folder}" "${3:?seconds}" "${4:?processes}" "${5:-}" ;;
*) sed -n '2,12s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
