#!/usr/bin/env python3
"""What recording cost programs that programs.py ran bare and recorded in several ways.

usage: tests/gpu/programs_cost.py OUT [--page FILE]

For each program and way: what the whole process took, and what the program says that its region took (where
--figure found it), as medians of the runs that ended well, beside bare ones in per cent. The spread of the bare
runs (largest less smallest, by the median) says what a difference is worth.

Prints a table in Markdown and, for each way, the median and the worst of the programs, by region and by process.
Exit status: 0; 1 a run ended badly; 2 wrong usage.
"""
import argparse
import json
import statistics
import sys
from pathlib import Path

from programs import runs_of


def values_of(runs, name, way, key):
    return [float(run[key]) for run in runs
            if run["name"] == name and run["way"] == way and run["status"] == "0" and run[key]]


def spread(values):
    return (max(values) - min(values)) / statistics.median(values)


def added(runs, name, way, key):
    """What a way adds to bare runs, as a share of these, or None."""
    bare, values = values_of(runs, name, "bare", key), values_of(runs, name, way, key)
    return statistics.median(values) / statistics.median(bare) - 1 if bare and values else None


def cells(runs, name, ways, key, digits):
    bare = values_of(runs, name, "bare", key)
    if not bare:
        return ["", ""] + [""] * len(ways)
    shares = [added(runs, name, way, key) for way in ways]
    return [f"{statistics.median(bare):.{digits}f}", f"{spread(bare):.1%}",
            *("" if share is None else f"{share:+.1%}" for share in shares)]


def summary(runs, names, ways):
    for key, what in (("figure", "region"), ("seconds", "process")):
        for way in ways:
            shares = [share for share in (added(runs, name, way, key) for name in names) if share is not None]
            if shares:
                yield (f"{what}, {way}: {len(shares)} programs, median {statistics.median(shares):+.1%}, worst "
                       f"{max(shares):+.1%}, at most 2 % in {sum(share <= 0.02 for share in shares)}, 5 % in "
                       f"{sum(share <= 0.05 for share in shares)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--page", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    runs = runs_of(arguments.out)
    names = [program["name"] for program in json.loads((arguments.out / "programs.json").read_text())
             if any(run["name"] == program["name"] for run in runs)]
    ways = list(dict.fromkeys(run["way"] for run in runs if run["way"] != "bare"))
    head = ["program", "region, bare", "spread", *ways, "process, bare, s", "spread", *ways]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name in names:
        lines.append(f"| {' | '.join([name, *cells(runs, name, ways, 'figure', 1), *cells(runs, name, ways, 'seconds', 3)])} |")
    bad = [run for run in runs if run["status"] != "0"]
    lines += ["", *(f"- {line}" for line in summary(runs, names, ways)),
              *(f"- {run['name']}, {run['way']}: exit status {run['status']}" for run in bad), ""]
    print("\n".join(lines), end="")
    if arguments.page:
        arguments.page.write_text("\n".join(lines))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
