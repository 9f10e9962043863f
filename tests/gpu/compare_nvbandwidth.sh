#!/bin/bash
# Copy-engine bandwidth by nvbandwidth and by xferscope probe, in turn in one session, as a Markdown
# table with their ratios. nvbandwidth is built by whoever runs this; medians over the runs of its
# median and of the probe's, at the same size, are compared with each other.
# usage: compare_nvbandwidth.sh NVBANDWIDTH [BUILD [RUNS [MIB]]]
# Exit status: 0 when all medians are within 1 %, 3 when not, 1 when something could not be measured.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
peer=${1:?usage: compare_nvbandwidth.sh NVBANDWIDTH [BUILD [RUNS [MIB]]]}
build=$(cd "${2:-$here/../../build}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

LD_LIBRARY_PATH=$(missing_libraries "$build" "$scratch")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
python3 "$here/compare_nvbandwidth.py" "$peer" "$build" "${3:-5}" "${4:-512}"
