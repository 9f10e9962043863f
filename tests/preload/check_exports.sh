#!/usr/bin/env bash
# libxferscope.so exports the intercepted names, a switch for measurements and nothing else, and needs nothing but libc.
# usage: check_exports.sh CALLS_TABLE LIBRARY
set -euo pipefail
table=$1 library=$2
specials='cuGetProcAddress cuGetProcAddress_v2 cudaGetDriverEntryPoint cudaGetDriverEntryPoint_ptsz
cudaGetDriverEntryPointByVersion cudaGetDriverEntryPointByVersion_ptsz cuptiSubscribe cuptiSubscribe_v2 __sysv_signal bsd_signal dlclose dlsym prctl prlimit prlimit64 pthread_exit
setrlimit setrlimit64 sigaction sigaltstack signal sigset ssignal syscall sysv_signal xferscope_apply_pass_on InitializeInjectionNvtx2 libcudart.so.12 libcudart.so.13'
exec_functions=$(sed -nE 's/^(X|SHORT)\(([a-z_]+)\)$/\2/p' "$(dirname "$0")/../../preload/process/exec.def")
wanted=$( { "$table" --names; echo "$exec_functions"; tr ' ' '\n' <<<"$specials"; } | sort -u)
found=$(nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u)
diff <(echo "$wanted") <(echo "$found") || { echo "exported names differ from calls.def and exec.def" >&2; exit 1; }
needed=$(readelf -d "$library" | awk '/NEEDED/ { gsub(/[][]/, "", $NF); print $NF }' |
    grep -Ev '^(libc\.so\.6|ld-linux-x86-64\.so\.2|libasan\.so\..*|libubsan\.so\..*|libtsan\.so\..*)$' || true)
[ -z "$needed" ] || { echo "libxferscope.so needs $needed" >&2; exit 1; }
echo "$(wc -l <<<"$wanted") names exported, libc needed"
