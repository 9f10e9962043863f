#!/usr/bin/env python3
"""Where the replay of a recorded run takes another time than the same program's unrecorded run.

usage: tests/gpu/calls_table.py BUILD PROFILE RECORDED LIGHT [--most N] [--each]

RECORDED and LIGHT are traces of one program: by default settings, and by the way light of programs.py. The calls of
both, as the replay has them without what recording cost (of LIGHT that is little), are laid beside each other by
process, thread and number, from each process's first work for a GPU on. A call that only one run has (a program that polls, or
works another number of times) is left out, with the time before it.

Of each kind of call and site: how often, how much longer the replay is than LIGHT, in the thread's own time before
these calls and in the calls, ms; the medians of both, us, recorded (as it was), replayed and light. --each: calls one by one instead, those
with the largest differences. Exit status: 0; 1 a trace could not be replayed; 2 wrong usage.
"""
import argparse
import collections
import difflib
import statistics
import subprocess
import sys
from pathlib import Path

KEYS = ("process", "thread", "what", "site", "start", "end", "call", "back", "device_start", "device_end", "work_start", "work_end",
        "gap", "own", "wake")
WORDS = KEYS[2:4]
WORK = {"copy", "memset", "launch", "graph", "prefetch"}
HEAD = (f"{'calls':>7} {'before':>9} {'within':>9} | {'before: recorded':>16} {'replayed':>9} {'light':>9} | "
        f"{'within: recorded':>16} {'replayed':>9} {'light':>9} | what, site")


def calls_of(tool, trace, profile):
    """The calls of a trace, by process and thread, from the first work of its process on."""
    done = subprocess.run([tool, trace, profile], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(1)
    found, begun = collections.defaultdict(list), {}
    for line in done.stdout.splitlines():
        words = line.split("\t")
        call = {key: word if key in WORDS else float(word) for key, word in zip(KEYS, words)}
        process = call["process"]
        if call["what"] in WORK:
            begun.setdefault(process, call["call"])
        if process in begun:
            call["call"] -= begun[process]
            call["back"] -= begun[process]
            found[process, call["thread"]].append(call)
    return found


def times_of(calls):
    """Of each call the time before it and within it, as replayed and as recorded, ns."""
    for before, call in zip([None, *calls], calls):
        call["before_ns"] = call["call"] - before["back"] if before else max(0, call["call"])
        call["within_ns"] = call["back"] - call["call"]
        call["recorded_before_ns"] = call["start"] - before["end"] if before else 0
        call["recorded_within_ns"] = call["end"] - call["start"]


def both_of(recorded, light):
    """Pairs of the calls that both runs have, in their order."""
    whats = [[call["what"] for call in calls] for calls in (recorded, light)]
    if whats[0] == whats[1]:
        yield from zip(recorded, light)
        return
    for block in difflib.SequenceMatcher(None, *whats, autojunk=False).get_matching_blocks():
        yield from zip(recorded[block.a:block.a + block.size], light[block.b:block.b + block.size])


def pairs_of(recorded, light):
    pairs, lone = [], 0
    for key, calls in sorted(recorded.items()):
        others = light.get(key, [])
        times_of(calls)
        times_of(others)
        both = list(both_of(calls, others))
        lone += len(calls) + len(others) - 2 * len(both)
        pairs += both
    return pairs, lone


def line_of(group):
    def median(key, of):
        return statistics.median(pair[of][key] for pair in group) / 1e3
    more = [sum(pair[0][key] - pair[1][key] for pair in group) / 1e6 for key in ("before_ns", "within_ns")]
    columns = []
    for key in ("before_ns", "within_ns"):
        columns.append(f"{median('recorded_' + key, 0):16.2f} {median(key, 0):9.2f} {median(key, 1):9.2f}")
    first = group[0][0]
    return abs(more[0]) + abs(more[1]), (f"{len(group):7} {more[0]:+9.3f} {more[1]:+9.3f} | {columns[0]} | {columns[1]} | "
                                         f"{first['what']} {first['site']}")


def by_groups(pairs, most):
    groups = collections.defaultdict(list)
    for pair in pairs:
        groups[pair[0]["what"], pair[0]["site"]].append(pair)
    print(HEAD)
    for _, line in sorted(map(line_of, groups.values()), reverse=True)[:most]:
        print(line)


def one_by_one(pairs, most):
    """The largest differences, in the order of the calls, with how far the replay is behind LIGHT by then."""
    differences = [(abs(a["before_ns"] - b["before_ns"]) + abs(a["within_ns"] - b["within_ns"]), i)
                   for i, (a, b) in enumerate(pairs)]
    print(f"{'thread':>6} {'call at, ms':>11} {'off, ms':>9} {'before, us: recorded':>20} {'replayed':>9} {'light':>9} {'within: recorded':>16} "
          f"{'replayed':>9} {'light':>9} what, site")
    for _, i in sorted(sorted(differences, reverse=True)[:most], key=lambda one: one[1]):
        a, b = pairs[i]
        times = [a["recorded_before_ns"], a["before_ns"], b["before_ns"], a["recorded_within_ns"], a["within_ns"], b["within_ns"]]
        words = " ".join(f"{ns / 1e3:{width}.2f}" for ns, width in zip(times, (20, 9, 9, 16, 9, 9)))
        print(f"{a['thread']:6.0f} {a['call'] / 1e6:11.3f} {(a['back'] - b['back']) / 1e6:+9.3f} {words} {a['what']} {a['site']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("build", "profile", "recorded", "light"):
        parser.add_argument(name)
    parser.add_argument("--most", type=int, default=24, metavar="N", help="lines at most (default: %(default)s)")
    parser.add_argument("--each", action="store_true")
    arguments = parser.parse_args()
    tool = str(Path(arguments.build) / "bin" / "played_calls")
    pairs, lone = pairs_of(*(calls_of(tool, trace, arguments.profile) for trace in (arguments.recorded, arguments.light)))
    if not pairs:
        print("no call is in both runs")
        return 1
    (one_by_one if arguments.each else by_groups)(pairs, arguments.most)
    ends = [max(pair[of]["back"] for pair in pairs) / 1e6 for of in (0, 1)]
    print(f"{len(pairs)} calls of both, {lone} of one alone; the last of both ends at {ends[0]:.3f} ms replayed, {ends[1]:.3f} light: "
          f"{ends[0] / ends[1] - 1:+.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
