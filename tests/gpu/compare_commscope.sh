#!/bin/bash
# Comm|Scope's cases and the same ones of xferscope probe in one session: figures, spread and wall
# time as Markdown tables (compare_commscope.md). Comm|Scope is built by whoever runs this. It gets
# MINUTES in all; what it has not measured by then is left out. MIN_TIME and REPETITIONS are its own
# (the paper's: 1 and 5), FILTER an expression for its names. Differences of more than 3 % are looked
# into with the program commscope_rule where that was built.
# usage: compare_commscope.sh COMMSCOPE [BUILD [MINUTES [MIN_TIME [REPETITIONS [FILTER]]]]]
# Exit status: 0 when all cases are within 3 %, 3 when not, 1 when something could not be measured.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
peer=${1:?usage: compare_commscope.sh COMMSCOPE [BUILD [MINUTES [MIN_TIME [REPETITIONS [FILTER]]]]]}
build=$(cd "${2:-$here/../../build}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

LD_LIBRARY_PATH=$(missing_libraries "$build" "$scratch")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
python3 "$here/compare_commscope.py" "$peer" "$build" "${3:-4}" "${4:-0.1}" "${5:-3}" "${6:-}"
