#!/usr/bin/env python3
"""Copy-engine bandwidth by nvbandwidth and by xferscope probe, in turn, as a Markdown table.

usage: compare_nvbandwidth.py NVBANDWIDTH BUILD RUNS MIB (see compare_nvbandwidth.sh)
"""
import collections
import json
import math
import os
import sys

import peers

LIMIT = 0.01

# nvbandwidth's test: the benchmark that measures the same, a row and a column of its matrix given.
# "read" copies from the column's device into the row's, which issues the copy.
ONE_GPU = {
    "host_to_device_memcpy_ce": "copy/pinned/h2d/gpu{column}",
    "device_to_host_memcpy_ce": "copy/pinned/d2h/gpu{column}",
    "host_to_device_bidirectional_memcpy_ce": "copy-both-ways/pinned/h2d/gpu{column}",
    "device_to_host_bidirectional_memcpy_ce": "copy-both-ways/pinned/d2h/gpu{column}",
    "device_local_copy": "copy/device/d2d/gpu{column}",
}
BETWEEN = {
    "device_to_device_memcpy_read_ce": "copy/peer/p2p/gpu{column}-gpu{row}",
    "device_to_device_memcpy_write_ce": "copy/peer/p2p/gpu{row}-gpu{column}",
}
PATTERN = r"^(copy/pinned|copy-both-ways/pinned|copy/device|copy/peer)/"


def peer_figures(text):
    """{(test, row, column): GB/s} of what nvbandwidth --json printed."""
    try:
        root = json.loads(text[text.index("{"):])["nvbandwidth"]
        tests = root["testcases"]
    except (ValueError, KeyError) as error:
        raise peers.CompareError("nvbandwidth gave no JSON that this script understands") from error
    figures = {}
    for test in tests:
        for row, values in enumerate(test.get("bandwidth_matrix") or []):
            for column, value in enumerate(values):
                if value != "N/A":
                    figures[test["name"], row, column] = float(value)
    if not figures:
        raise peers.CompareError("nvbandwidth gave no figure that this script understands")
    return figures, root.get("git_version") or root.get("version", "")


def measure(program, probe, runs, mib):
    """Figures of both, a list per case, measured A B A B; nvbandwidth's version; wall times."""
    theirs, ours = collections.defaultdict(list), collections.defaultdict(list)
    seconds = {"theirs": [], "ours": []}
    command = [program, "--json", "-b", str(mib), "-t", *ONE_GPU, *BETWEEN]
    version = ""
    for _ in range(runs):
        text, took = peers.run_timed(command)
        seconds["theirs"].append(took)
        figures, version = peer_figures(text)
        for key, gbps in figures.items():
            theirs[key].append(peers.Figure(gbps, 0))
        figures, took = probe.measure(PATTERN, f"{mib}M:{mib}M", "--no-flush")
        seconds["ours"].append(took)
        for key, figure in figures.items():
            ours[key].append(figure)
    return theirs, ours, seconds, version


def compare(theirs, ours, size):
    """Rows of the table, and lines on those that differ by more than the limit."""
    rows, different = [], []
    for (test, row, column), runs in sorted(theirs.items(), key=lambda item: item[0][1:]):
        name = (ONE_GPU.get(test) or BETWEEN[test]).format(row=row, column=column)
        if not ours.get((name, size)):
            raise peers.CompareError(f"xferscope probe has no figure for {name}")
        peer, own = peers.of_runs(runs), peers.of_runs(ours[name, size])
        ratio = own.gbps / peer.gbps
        place = f"{test}, GPU {column}" if test in ONE_GPU else f"{test}, GPU {row} and {column}"
        rows.append([place, name, f"{peer.gbps:.2f}", peers.percent(peer.spread), f"{own.gbps:.2f}",
                     peers.percent(own.spread), f"{ratio:.4f}"])
        if abs(ratio - 1) > LIMIT:
            error = math.hypot(peer.spread or 0, own.spread or 0) / math.sqrt(len(runs))
            different.append(f"{place} ({(ratio - 1) * 100:+.2f} %, standard error {error * 100:.2f} %)")
    return rows, different


def main(program, build, runs, mib):
    probe = peers.Probe(build)
    theirs, ours, seconds, version = measure(program, probe, runs, mib)
    rows, different = compare(theirs, ours, mib << 20)
    print(f"{peers.machine_line()}; {runs} runs of each in turn, copies of {mib} MiB; "
          f"nvbandwidth {version}\n")
    print(f"    {os.path.basename(program)} --json -b {mib} -t {' '.join([*ONE_GPU, *BETWEEN])}")
    print(f"    {probe.commands[0]}\n")
    titles = ["nvbandwidth's test", "xferscope probe", "nvbandwidth GB/s", "spread %", "xferscope GB/s",
              "spread %", "ratio"]
    print(peers.markdown(titles, rows))
    print(f"\nWall time of a run: nvbandwidth {min(seconds['theirs']):.1f} s, xferscope "
          f"{min(seconds['ours']):.1f} s. Spread: standard deviation of the runs over their mean.")
    for text in different:
        print(f"\nMore than {LIMIT * 100:.0f} % apart: {text}")
    return 3 if different else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    except peers.CompareError as error:
        print(f"compare_nvbandwidth: {error}", file=sys.stderr)
        sys.exit(1)
