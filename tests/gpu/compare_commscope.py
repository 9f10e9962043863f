#!/usr/bin/env python3
"""Comm|Scope's cases and the same ones of xferscope probe, side by side, as Markdown tables.

usage: compare_commscope.py COMMSCOPE BUILD MINUTES MIN_TIME REPETITIONS FILTER (see compare_commscope.sh)
"""
import collections
import csv
import dataclasses
import io
import json
import math
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


@dataclasses.dataclass(frozen=True)
class Group:
    """Cases with the same places: which numbers follow a case's name."""
    title: str
    places: str
    cases: dict  # Comm|Scope's name: the benchmark of xferscope probe


# Not compared: what Comm|Scope 0.12 does not measure (compare_commscope.md says why).
GROUPS = (
    Group("explicit copies", "NUMA/GPU", {
        "Comm_cudaMemcpyAsync_PinnedToGPU": "copy/registered/h2d/gpu{1}",
        "Comm_cudaMemcpyAsync_GPUToPinned": "copy/registered/d2h/gpu{1}",
        "Comm_cudaMemcpyAsync_HostToGPU": "copy/pageable/h2d/gpu{1}",
        "Comm_cudaMemcpyAsync_GPUToHost": "copy/pageable/d2h/gpu{1}",
        "Comm_cudaMemcpyAsync_WCToGPU": "copy/write-combined/h2d/gpu{1}",
        "Comm_cudaMemcpyAsync_GPUToWC": "copy/write-combined/d2h/gpu{1}",
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
        "Comm_UM_Demand_HostToGPU": "demand/managed/h2d/gpu{1}",
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

    def __init__(self, program, min_time, repetitions, pattern):
        self.program, self.min_time, self.repetitions = program, min_time, repetitions
        self.names = self.list_names(pattern)

    def list_names(self, pattern):
        text, _ = peers.run_timed([self.program, "--benchmark_list_tests=true"])
        names = [name for name in text.splitlines() if split_name(name) and re.search(pattern, name)]
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
        logs = "|".join(str(log) for log in sorted({size.bit_length() - 1 for _, _, size in cases}))
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


def own_names(group, case, places):
    """Its benchmark, on a machine with several NUMA nodes and on one with a single node."""
    name = group.cases[case].format(*places)
    if group.places == "GPU/GPU":
        return [name]
    return [re.sub(r"/gpu(\d+)$", rf"/node{places[0]}-gpu\1", name), name]


class OwnRuns:
    """Runs of the probe over exactly the cases chosen, size by size, gathered."""

    def __init__(self, probe, chosen):
        self.probe = probe
        self.stems = collections.defaultdict(set)
        for group, cases in chosen:
            for case, _, size in cases:
                self.stems[size].add(group.cases[case].rsplit("/", 1)[0])
        self.figures, self.seconds = collections.defaultdict(list), []

    def run(self, times):
        for _ in range(times):
            together = 0
            for size, stems in sorted(self.stems.items()):
                figures, took = self.probe.measure(f"^({'|'.join(sorted(stems))})/", f"{size}:{size}",
                                                   "--no-flush")
                together += took
                for key, figure in figures.items():
                    self.figures[key].append(figure)
            self.seconds.append(together)

    def find(self, names, size):
        """The benchmark found and the median of its runs."""
        for name in names:
            if (name, size) in self.figures:
                return name, peers.of_runs(self.figures[name, size])
        return names[-1], None


@dataclasses.dataclass
class Row:
    """A case that both measured."""
    case: str
    places: tuple
    size: int
    benchmark: str
    theirs: peers.Figure
    ours: peers.Figure

    @property
    def ratio(self):
        return self.ours.gbps / self.theirs.gbps

    @property
    def title(self):
        return f"{self.case}/{self.places[0]}/{self.places[1]}"


def match(group, cases, theirs, failed, own_runs):
    """The rows of a group, and what was left out."""
    rows, missing = [], []
    for case, places, size in cases:
        name, own = own_runs.find(own_names(group, case, places), size)
        other = theirs.get((case, places, size))
        if own and other:
            rows.append(Row(case, places, size, name, other, own))
            continue
        why = ("Comm|Scope reports an error" if (case, places, size) in failed else
               "no figure by " + ("xferscope" if other else "Comm|Scope in its time"))
        missing.append(f"{case}/{places[0]}/{places[1]} {peers.size_text(size)}: {why}")
    return rows, missing


def print_group(group, rows, missing):
    print(f"\n### {group.title[0].upper()}{group.title[1:]}\n")
    print(peers.markdown(
        ["Comm\\|Scope's case", "xferscope probe", "size", "Comm\\|Scope GB/s", "spread %", "xferscope GB/s",
         "spread %", "ratio"],
        [[row.title, row.benchmark, peers.size_text(row.size), f"{row.theirs.gbps:.2f}",
          peers.percent(row.theirs.spread), f"{row.ours.gbps:.2f}", peers.percent(row.ours.spread),
          f"{row.ratio:.3f}"] for row in rows]))
    for text in missing:
        print(f"\nLeft out: {text}.")


def median_spread(figures):
    spreads = [figure.spread for figure in figures if figure.spread is not None]
    return peers.percent(statistics.median(spreads)) if spreads else ""


def print_times(rows, their_seconds, own_runs):
    ours = statistics.median(own_runs.seconds)
    print("\n### Wall time of these cases\n")
    print(peers.markdown(["", "cases", "s", "spread, median %"], [
        ["Comm\\|Scope", str(len(rows)), f"{their_seconds:.1f}", median_spread([row.theirs for row in rows])],
        ["xferscope probe", str(len(rows)), f"{ours:.1f}", median_spread([row.ours for row in rows])]]))
    print(f"\nxferscope is {their_seconds / ours:.1f} times as fast; its spread is equal or smaller in "
          f"{sum(row.ours.spread <= row.theirs.spread for row in rows if row.theirs.spread is not None)} of "
          f"{len(rows)} cases.")


def rule_figures(build, rows):
    """{(case, bytes): {variant: Figure}} of three runs of commscope_rule, {} where it was not built."""
    program = os.path.join(build, "bin", "programs", "commscope_rule")
    if not os.path.exists(program):
        return {}
    sizes, cases = sorted({row.size for row in rows}), sorted({row.case for row in rows})
    figures = collections.defaultdict(lambda: collections.defaultdict(list))
    for _ in range(3):  # buffers lie elsewhere in each process
        text, _ = peers.run_timed([program, *(str(size.bit_length() - 1) for size in sizes), *cases])
        for line in csv.DictReader(io.StringIO(text)):
            figure = peers.Figure(float(line["gbps"]), 0)
            figures[line["case"], int(line["bytes"])][line["variant"]].append(figure)
    return {key: {name: peers.of_runs(runs) for name, runs in variants.items()}
            for key, variants in figures.items()}


def rests(row, variants):
    """{variant: what is left of the ratio when that change's own effect on the rule is taken out}."""
    rule = variants["rule"].gbps
    return {name: row.ratio / (figure.gbps / rule) - 1 for name, figure in variants.items() if name != "rule"}


def reason(row, variants):
    """What explains the difference, and what is left of it."""
    noise = sum(figure.spread or 0 for figure in (row.theirs, row.ours))
    left = rests(row, variants) if variants else {}
    best = min(left, key=lambda name: abs(left[name]), default=None)
    if best:
        changed_noise = noise + variants["rule"].spread + variants[best].spread
    if best and abs(left[best]) <= LIMIT:
        return best, left[best]
    if abs(row.ratio - 1) <= noise:
        return "spread of the runs", row.ratio - 1
    if best and abs(left[best]) <= LIMIT + changed_noise:
        return f"{best} and spread", left[best]
    if best and abs(math.log1p(left[best])) <= abs(math.log(row.ratio)) / 2:
        return f"mostly {best}", left[best]
    return "not explained" if variants else "not measured", row.ratio - 1


def print_reasons(rows, figures):
    print(f"\n### More than {LIMIT * 100:.0f} % apart\n")
    table, counts = [], collections.Counter()
    for row in rows:
        variants = figures.get((row.case, row.size), {})
        why, left = reason(row, variants)
        counts[why] += 1
        changed = ", ".join(f"{name} {figure.gbps:.2f}" for name, figure in variants.items() if name != "rule")
        table.append([row.title, peers.size_text(row.size), f"{row.theirs.gbps:.2f}",
                      f"{variants['rule'].gbps:.2f}" if variants else "", changed, f"{row.ours.gbps:.2f}",
                      f"{(row.ratio - 1) * 100:+.1f}", why, f"{left * 100:+.1f}"])
    print(peers.markdown(["case", "size", "Comm\\|Scope GB/s", "its rule, by us", "the rule changed",
                          "xferscope GB/s", "apart %", "explained by", "left %"], table))
    print("\nExplained by: " + ", ".join(f"{why} {count}" for why, count in counts.most_common()) + ".")


def print_commands(peer, chosen, own_runs):
    for _, cases in chosen:
        arguments = " ".join(f"'{argument}'" for argument in peer.command(cases)[1:])
        print(f"    {os.path.basename(peer.program)} {arguments}")
    for command in own_runs.probe.commands[:len(own_runs.stems)]:
        print(f"    {command}")


def main(program, build, minutes, min_time, repetitions, pattern):
    peer = CommScope(program, min_time, repetitions, pattern)
    chosen = [(group, cases) for group, cases in ((g, peer.applying(g)) for g in GROUPS) if cases]
    own_runs = OwnRuns(peers.Probe(build), chosen)
    until, their_seconds, rows = time.monotonic() + minutes * 60, 0, []
    print(f"{peers.machine_line()}; Comm|Scope: at least {min_time:g} s, {repetitions} repetitions; xferscope: "
          f"its own rule, {repetitions} runs. Spread: standard deviation of the repetitions or runs over their "
          "mean.\n")
    own_runs.run(repetitions // 2)
    measured = []
    for group, cases in chosen:
        theirs, failed, took = peer.measure(cases, until - time.monotonic())
        their_seconds += took
        measured.append((group, cases, theirs, failed))
    own_runs.run(repetitions - repetitions // 2)
    print_commands(peer, chosen, own_runs)
    for group, cases, theirs, failed in measured:
        of_group, missing = match(group, cases, theirs, failed, own_runs)
        print_group(group, of_group, missing)
        rows += of_group
    if not rows:
        raise peers.CompareError("Comm|Scope gave no figure")
    print_times(rows, their_seconds, own_runs)
    different = [row for row in rows if abs(row.ratio - 1) > LIMIT]
    print(f"\nWithin {LIMIT * 100:.0f} %: {len(rows) - len(different)} of {len(rows)} cases.")
    if different:
        print_reasons(different, rule_figures(build, different))
    return 3 if different else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]), sys.argv[6]))
    except peers.CompareError as error:
        print(f"compare_commscope: {error}", file=sys.stderr)
        sys.exit(1)
