#!/usr/bin/env python3
"""Comm|Scope's cases and the same ones of xferscope probe, side by side, as Markdown tables.

usage: compare_commscope.py COMMSCOPE BUILD MINUTES MIN_TIME REPETITIONS (see compare_commscope.sh)
"""
import collections
import dataclasses
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import peers

LIMIT = 0.03
LOG_SIZES = (16, 20, 24, 26)
SIZES = "64K:64M"


@dataclasses.dataclass(frozen=True)
class Group:
    """Cases measured together. Places: which numbers follow a case's name."""
    title: str
    places: str
    cases: dict  # Comm|Scope's name: the benchmark of xferscope probe
    options: tuple = ("--no-flush",)


GROUPS = (
    Group("explicit copies", "NUMA/GPU", {
        "Comm_cudaMemcpyAsync_PinnedToGPU": "copy/registered/h2d/gpu{1}",
        "Comm_cudaMemcpyAsync_GPUToPinned": "copy/registered/d2h/gpu{1}",
        "Comm_cudaMemcpyAsync_HostToGPU": "copy/pageable/h2d/gpu{1}",
        "Comm_cudaMemcpyAsync_GPUToHost": "copy/pageable/d2h/gpu{1}",
        "Comm_cudaMemcpyAsync_WCToGPU": "copy/write-combined/h2d/gpu{1}",
        "Comm_cudaMemcpyAsync_GPUToWC": "copy/write-combined/d2h/gpu{1}",
    }),
    Group("explicit copies both ways", "NUMA/GPU", {
        "Comm_cudaMemcpyAsync_Duplex_Pinned": "both-ways/copy/pinned/gpu{1}",
        "Comm_cudaMemcpyAsync_Duplex_Host": "both-ways/copy/pageable/gpu{1}",
    }),
    Group("zero-copy", "NUMA/GPU", {
        "Comm_ZeroCopy_HostToGPU": "mapped-read/mapped/h2d/gpu{1}",
        "Comm_ZeroCopy_GPUToHost": "mapped-write/mapped/d2h/gpu{1}",
        "Comm_ZeroCopy_Duplex_HostGPU": "both-ways/mapped/mapped/gpu{1}",
    }),
    Group("managed memory", "NUMA/GPU", {
        "Comm_UM_Prefetch_HostToGPU": "prefetch/managed/h2d/gpu{1}",
        "Comm_UM_Prefetch_GPUToHost": "prefetch/managed/d2h/gpu{1}",
        "Comm_Prefetch_Duplex_HostGPU": "both-ways/prefetch/managed/gpu{1}",
        "Comm_UM_Demand_HostToGPU": "demand/managed/h2d/gpu{1}",
        "Comm_UM_Demand_GPUToHost": "demand/managed/d2h/gpu{1}",
        "Comm_Demand_Duplex_HostGPU": "both-ways/demand/managed/gpu{1}",
    }),
    Group("between GPUs", "GPU/GPU", {
        "Comm_cudaMemcpyPeerAsync_GPUToGPUPeer": "copy/peer/p2p/gpu{0}-gpu{1}",
        "Comm_cudaMemcpyPeerAync_GPUToGPU": "copy/no-peer/p2p/gpu{0}-gpu{1}",
        "Comm_cudaMemcpyPeerAsync_Duplex_GPUGPUPeer": "concurrent/peer/both/gpu{0}-gpu{1}",
        "Comm_ZeroCopy_GPUToGPU_Read": "mapped-read/device/p2p/gpu{0}-gpu{1}",
        "Comm_ZeroCopy_GPUToGPU_Write": "mapped-write/device/p2p/gpu{0}-gpu{1}",
    }),
)


def split_name(name):
    """("Comm_X", (0, 0), bytes) of Comm_X/0/0/log2(N):20/manual_time, or None."""
    match = re.match(r"^(\w+)/(\d+)/(\d+)/log2\(N\):(\d+)(?:/|$)", name)
    if not match:
        return None
    return match.group(1), (int(match.group(2)), int(match.group(3))), 1 << int(match.group(4))


def finished_runs(text):
    """The entries of google-benchmark's JSON, also of a file that was cut short."""
    at = text.find('"benchmarks": [')
    entries, decoder = [], json.JSONDecoder()
    at = text.find("{", at) if at >= 0 else -1
    while at >= 0:
        try:
            entry, end = decoder.raw_decode(text, at)
        except ValueError:
            break
        entries.append(entry)
        at = text.find("{", end)
    return entries


def peer_figures(text):
    """{(name, places, bytes): Figure} and the cases that failed: the median of the repetitions."""
    values, failed = collections.defaultdict(list), set()
    for entry in finished_runs(text):
        key = split_name(entry.get("run_name", entry.get("name", "")))
        if key is None or entry.get("run_type") == "aggregate":
            continue
        if entry.get("error_occurred"):
            failed.add(key)
        elif entry.get("bytes_per_second", 0) > 0:
            values[key].append(entry["bytes_per_second"] / 1e9)
    figures = {}
    for key, of_case in values.items():
        spread = statistics.stdev(of_case) / statistics.mean(of_case) if len(of_case) > 1 else None
        figures[key] = peers.Figure(statistics.median(of_case), spread)
    return figures, failed


class CommScope:
    """Comm|Scope's program and its rule."""

    def __init__(self, program, min_time, repetitions):
        self.program, self.min_time, self.repetitions = program, min_time, repetitions
        self.names = self.list_names()

    def list_names(self):
        text, _ = peers.run_timed([self.program, "--benchmark_list_tests=true"])
        names = [name for name in text.splitlines() if split_name(name)]
        if not names:
            raise peers.CompareError("Comm|Scope lists no case that this script knows")
        return names

    def applying(self, group):
        """Its cases of this group and these sizes; none of a GPU with itself."""
        found = []
        for name in self.names:
            case, places, size = split_name(name)
            itself = group.places == "GPU/GPU" and places[0] == places[1]
            if case in group.cases and size in [1 << log for log in LOG_SIZES] and not itself:
                found.append((case, places, size))
        return found

    def command(self, cases):
        names = "|".join(sorted({case for case, _, _ in cases}))
        places = "|".join(sorted({f"{a}/{b}" for _, (a, b), _ in cases}))
        logs = "|".join(str(log) for log in LOG_SIZES)
        return [self.program, rf"--benchmark_filter=^({names})/({places})/log2\(N\):({logs})(/|$)",
                f"--benchmark_min_time={self.min_time}", f"--benchmark_repetitions={self.repetitions}",
                "--benchmark_out_format=json"]

    def measure(self, cases, limit_s):
        """Figures, failed cases, and the wall time; what is not ready at the limit is left out."""
        with tempfile.NamedTemporaryFile("r", suffix=".json") as out:
            start = time.monotonic()
            with subprocess.Popen([*self.command(cases), f"--benchmark_out={out.name}"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                try:
                    process.wait(max(limit_s, 1))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGINT)  # upon which it restores the processor's settings
            seconds = time.monotonic() - start
            figures, failed = peer_figures(out.read())
        return figures, failed, seconds


@dataclasses.dataclass
class Result:
    """A group's outcome: rows (case, size, theirs, ours), wall times, cases without a figure."""
    group: Group
    rows: list
    their_seconds: float
    our_seconds: float
    our_points: int
    missing: list


def own_names(group, case, places):
    """Its benchmark, on a machine with several NUMA nodes and on one with a single node."""
    name = group.cases[case].format(*places)
    if group.places == "GPU/GPU":
        return [name]
    return [re.sub(r"/gpu(\d+)$", rf"/node{places[0]}-gpu\1", name), name]


class OwnRuns:
    """Runs of the probe over a group's benchmarks, gathered."""

    def __init__(self, probe, group, cases):
        stems = sorted({group.cases[case].rsplit("/", 1)[0] for case, _, _ in cases})
        self.probe, self.options, self.pattern = probe, group.options, f"^({'|'.join(stems)})/"
        self.figures, self.seconds = collections.defaultdict(list), []

    def run(self, times):
        for _ in range(times):
            figures, took = self.probe.measure(self.pattern, SIZES, *self.options)
            self.seconds.append(took)
            for key, figure in figures.items():
                self.figures[key].append(figure)

    def find(self, names, size):
        """The benchmark found and the median of its runs."""
        for name in names:
            if (name, size) in self.figures:
                return name, peers.of_runs(self.figures[name, size])
        return names[-1], None

    def points(self):
        return len({key for key in self.figures if "node" in key[0]} or self.figures)


def measure_group(peer, probe, group, limit_s):
    """Half of the probe's runs before Comm|Scope's, the others after it."""
    cases = peer.applying(group)
    if not cases:
        return None
    own_runs = OwnRuns(probe, group, cases)
    own_runs.run(peer.repetitions // 2)
    theirs, failed, their_seconds = peer.measure(cases, limit_s)
    own_runs.run(peer.repetitions - peer.repetitions // 2)
    rows, missing = [], []
    for key in cases:
        case, places, size = key
        name, own = own_runs.find(own_names(group, case, places), size)
        other = theirs.get(key)
        if own and other:
            rows.append((key, name, other, own))
            continue
        why = ("Comm|Scope reports an error" if key in failed else
               "no figure by " + ("xferscope" if other else "Comm|Scope in its time"))
        missing.append(f"{case}/{places[0]}/{places[1]} {peers.size_text(size)}: {why}")
    return Result(group, rows, their_seconds, statistics.median(own_runs.seconds), own_runs.points(), missing)


def print_group(result):
    rows = []
    for (case, places, size), name, theirs, ours in result.rows:
        rows.append([f"{case}/{places[0]}/{places[1]}", name, peers.size_text(size), f"{theirs.gbps:.2f}",
                     peers.percent(theirs.spread), f"{ours.gbps:.2f}", peers.percent(ours.spread),
                     f"{ours.gbps / theirs.gbps:.3f}"])
    print(f"\n### {result.group.title[0].upper()}{result.group.title[1:]}\n")
    print(peers.markdown(["Comm\\|Scope's case", "xferscope probe", "size", "Comm\\|Scope GB/s", "spread %",
                          "xferscope GB/s", "spread %", "ratio"], rows))
    for text in result.missing:
        print(f"\nLeft out: {text}.")


def median_spread(results, which):
    spreads = [row[which].spread for result in results for row in result.rows if row[which].spread is not None]
    return statistics.median(spreads) if spreads else None


def print_times(results):
    """Wall time and spread of the groups, and of all together."""
    rows = []
    for title, some in [(r.group.title, [r]) for r in results] + [("together", results)]:
        theirs, ours = sum(r.their_seconds for r in some), sum(r.our_seconds for r in some)
        rows.append([title, str(sum(len(r.rows) for r in some)), f"{theirs:.1f}",
                     peers.percent(median_spread(some, 2)), str(sum(r.our_points for r in some)), f"{ours:.1f}",
                     peers.percent(median_spread(some, 3)), f"{theirs / ours:.1f}"])
    print("\n### Wall time\n")
    print(peers.markdown(["", "cases in common", "Comm\\|Scope s", "spread %", "xferscope: points", "s", "spread %",
                          "times faster"], rows))


def differing(results):
    return [(row, row[3].gbps / row[2].gbps - 1) for result in results for row in result.rows
            if abs(row[3].gbps / row[2].gbps - 1) > LIMIT]


def main(program, build, minutes, min_time, repetitions):
    peer, probe = CommScope(program, min_time, repetitions), peers.Probe(build)
    until = time.monotonic() + minutes * 60
    print(f"{peers.machine_line()}; Comm|Scope: at least {min_time:g} s, {repetitions} repetitions; xferscope: "
          f"its own rule, {repetitions} runs. Spread: standard deviation of the repetitions or runs over their "
          "mean; its medians below.\n")
    results = []
    for group in GROUPS:
        result = measure_group(peer, probe, group, until - time.monotonic())
        if result:
            results.append(result)
            print(f"    {os.path.basename(program)} '" + "' '".join(peer.command(peer.applying(group))[1:]) + "'")
            print(f"    {probe.commands[-1]}")
    for result in results:
        print_group(result)
    if not any(result.rows for result in results):
        raise peers.CompareError("Comm|Scope gave no figure")
    print_times(results)
    different = differing(results)
    print(f"\nWithin {LIMIT * 100:.0f} %: {sum(len(r.rows) for r in results) - len(different)} of "
          f"{sum(len(r.rows) for r in results)} cases.")
    return 3 if different else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])))
    except peers.CompareError as error:
        print(f"compare_commscope: {error}", file=sys.stderr)
        sys.exit(1)
