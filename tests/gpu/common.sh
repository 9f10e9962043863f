#!/bin/bash
# Sourced by the scripts of this folder.

# Programs carry no run path: where the toolkit's libraries are not on the loader's, they are added.
# Only for the program at hand: a Python wheel brings its own.
cuda_path_for() { # program: prints a value for LD_LIBRARY_PATH
    local path=${LD_LIBRARY_PATH:-} folder
    if ldd "$1" 2>/dev/null | grep -q 'libcuda.*not found'; then
        for folder in "${CUDA_HOME:-/usr/local/cuda}"/lib64 /usr/local/cuda/lib64 /usr/local/cuda/lib; do
            if compgen -G "$folder/libcudart.so.*" >/dev/null; then
                path=${path:+$path:}$folder
                break
            fi
        done
    fi
    echo "$path"
}

# Libraries of the build machine that this one lacks (collect_deps.sh put them into the build
# folder), as links in a folder of their own, so that nothing of this machine is replaced.
missing_libraries() { # build folder-for-links
    local build=$1 links=$2 name
    mkdir -p "$links"
    for _ in 1 2 3 4; do
        for name in $(LD_LIBRARY_PATH=$links ldd "$build"/bin/xferscope "$build"/lib/libxferscope*.so \
            "$links"/* 2>/dev/null | awk '/not found/ {print $1}' | sort -u); do
            [[ -e $build/lib/deps/$name ]] && ln -sf "$build/lib/deps/$name" "$links/$name"
        done
    done
    [[ -n $(ls -A "$links") ]] || return 0
    echo "$links"
}
