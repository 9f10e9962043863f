#!/usr/bin/env python3
"""How well the analyzer's replay of a recorded run tells the time of the same run unrecorded.

usage: tests/gpu/replay_error.py BUILD PROFILE OUT COMMANDS [--repeat N] [--limit S]

COMMANDS is a file with one program a line, as a shell takes it; empty lines and #comments are left
out. Each is run once unrecorded (a first run is slower), once recorded with the default settings, and
N times with next to nothing recorded: no stacks, no device times, no kernels, so that CUPTI is not
there; what remains, some 100 ns a call, the trace itself tells and the replay takes out. Compared are
spans: from the first work submitted to a GPU until the last wait for some is over (report-format.md,
whatif.span), since what comes before is mostly the driver's start, which differs from run to run by
more than the rest takes.

Prints a table and writes OUT/replay_error.json: per program `span_ms` unrecorded (median and all),
recorded, replayed with and without what recording cost, the error of the last against the first, and
of the recorded run, too: what the error would be without a replay.

Exit status: 0 all could be compared; 1 some could not; 2 wrong usage.
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

LIGHT = {"XFERSCOPE_TIMING": "host", "XFERSCOPE_KERNELS": "0", "XFERSCOPE_STACKS": "0",
         "XFERSCOPE_ARGUMENTS": "0", "XFERSCOPE_MANAGED": "0", "XFERSCOPE_NVTX": "0"}


def run(command, limit, folder, **more):
    """Whether it ended by itself; exit statuses are the program's business."""
    try:
        subprocess.run(command, env={**os.environ, **more}, cwd=folder, timeout=limit, check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return False
    return True


def span(arguments, trace):
    """What the analyzer makes of a trace: its `whatif`, with the span in ms; None: nothing."""
    done = subprocess.run([arguments.tool, "analyze", trace, "-p", arguments.profile, "-f", "json"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 3):
        return None
    whatif = json.loads(done.stdout)["whatif"]
    return whatif if whatif and whatif["span"]["recorded_s"] else None


def measure(line, number, arguments):
    command, out = shlex.split(line), arguments.out / f"{number:03}"
    folder = Path(command[0]).resolve().parent if os.sep in command[0] else None
    entry = {"command": line, "unrecorded_ms": [], "problem": None}
    if not run(command, arguments.limit, folder):
        return {**entry, "problem": "takes too long"}
    record = [arguments.tool, "record", "--quiet", "-o"]
    full = f"{out}.xft"
    run([*record, full, "--", *command], arguments.limit, folder)
    for i in range(arguments.repeat):
        light = f"{out}-light{i}.xft"
        run([*record, light, "--", *command], arguments.limit, folder, **LIGHT)
        told = span(arguments, light)
        if told:
            entry["unrecorded_ms"].append(told["span"]["alone_s"] * 1e3)
    told = span(arguments, full)
    if not told or not entry["unrecorded_ms"]:
        return {**entry, "problem": "nothing was recorded"}
    if not told["known"]:
        return {**entry, "problem": told["why_not"]}
    spans = {key: told["span"][f"{key}_s"] * 1e3 for key in ("recorded", "replayed", "alone")}
    alone = statistics.median(entry["unrecorded_ms"])
    return {**entry, **{f"{key}_ms": value for key, value in spans.items()},
            "spread": (max(entry["unrecorded_ms"]) - min(entry["unrecorded_ms"])) / alone,
            "median_ms": alone, "error": spans["alone"] / alone - 1,
            "recorded_error": spans["recorded"] / alone - 1}


def table(entries):
    print(f"{'PROGRAM':34} {'ALONE ms':>10} {'SPREAD':>7} {'RECORDED':>10} {'REPLAYED':>10} {'ERROR':>8}")
    for entry in entries:
        name = entry["command"].split("/")[-1][:34]
        if entry["problem"]:
            print(f"{name:34} {entry['problem']}")
        else:
            print(f"{name:34} {entry['median_ms']:10.3f} {entry['spread']:7.1%} "
                  f"{entry['recorded_ms']:10.3f} {entry['alone_ms']:10.3f} {entry['error']:+8.1%}")
    errors = sorted(abs(entry["error"]) for entry in entries if not entry["problem"])
    if errors:
        print(f"{len(errors)} programs: error {statistics.mean(errors):.1%} on average, "
              f"{statistics.median(errors):.1%} median, within 5 % in "
              f"{sum(error <= 0.05 for error in errors)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("profile", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("commands", type=Path)
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    parser.add_argument("--limit", type=float, default=60, metavar="S")
    arguments = parser.parse_args()
    arguments.tool = str(arguments.build.resolve() / "bin" / "xferscope")
    arguments.profile = str(arguments.profile.resolve())
    arguments.out = arguments.out.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    lines = [line.strip() for line in arguments.commands.read_text().splitlines()]
    entries = []
    for line in lines:
        if line and not line.startswith("#"):
            entries.append(measure(line, len(entries), arguments))
            (arguments.out / "replay_error.json").write_text(json.dumps(entries, indent=1) + "\n")
    table(entries)
    return any(entry["problem"] for entry in entries)


if __name__ == "__main__":
    sys.exit(main())
