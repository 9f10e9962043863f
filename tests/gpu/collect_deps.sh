#!/bin/bash
# Makes a build folder fit to be carried to another machine: copies the shared libraries that
# xferscope needs, all but the C library's, into BUILD/lib/deps. There, only those that the machine
# lacks are used. usage: collect_deps.sh [BUILD]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:-$here/../../build}" && pwd)
deps=$build/lib/deps
mkdir -p "$deps"

# Opened at run time, so that ldd does not show them.
at_run_time=(libzstd.so.1 libnuma.so.1 libhwloc.so.15)

copy() { # path
    cp -fL "$1" "$deps/$(basename "$1")"
}

needed_by() { # files: paths of their libraries
    ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
        grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv|libgcc_s|ld-linux[^/]*)\.so' || true
}

while read -r path; do
    copy "$path"
done < <(needed_by "$build"/bin/xferscope "$build"/lib/libxferscope*.so)
for name in "${at_run_time[@]}"; do
    path=$(ldconfig -p | awk -v n="$name" '$1 == n && /x86-64/ && !seen++ {print $NF}')
    if [[ -n $path ]]; then
        copy "$path"
        while read -r path; do
            copy "$path"
        done < <(needed_by "$path")
    fi
done
du -sh "$deps"
