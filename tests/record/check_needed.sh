#!/bin/sh
# check_needed.sh LIBRARY...: each needs libc when it is loaded, and nothing else.
for library in "$@"; do
    needed=$(LC_ALL=C readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p') || exit 1
    if [ "$needed" != libc.so.6 ]; then
        echo "$library needs: $needed"
        exit 1
    fi
done
