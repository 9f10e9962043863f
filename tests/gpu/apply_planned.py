#!/usr/bin/env python3
"""Steps of plans that drawn programs do not reach (leave-out, streams): what is expected of them, and what they save.

usage: tests/gpu/apply_planned.py BUILD OUT COMMANDS [options]

COMMANDS is as programs.py has it, and {build} stands for BUILD there; the last line that a program prints has its time (--figure). Each is
recorded, with contents; its plan's steps by --by are carried out (--grant: kernels are granted to keep what uploads brought, where the
plan asks), and nothing else is, once with --check and then in turn with the program alone, in --turns processes each. Expected is the sum of what `apply` is
expected to save by these steps, or for `streams`, of which that is not known, of what the fix would; inside, if that interval meets the
range of what the turns saved.

OUT/planned.jsonl has a line for each program. Exit status: 0 nothing differs; 1 something does, or nothing was carried out.
"""
import argparse
import json
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import programs

COMPARED = re.compile(r"(\d+) compared, (\d+) different")
BOUNDS = ("low", "likely", "high")


def run(words, folder, limit):
    return subprocess.run([str(word) for word in words], cwd=folder, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=limit,
                          check=False)


def edited(plan, arguments):
    """The steps that are to be carried out; the others are not."""
    steps = []
    for step in plan["steps"]:
        step["carry_out"] = step["by"] in arguments.by and (not step["why_not"] or step["why_not"] == "a question decides")
        if not step["carry_out"]:
            continue
        step["why_not"] = None
        for site in step["sites"] if arguments.grant else ():
            if "kernels_keep" in site:
                site["kernels_keep"] = True
        steps.append(step)
    return steps


def expected(steps):
    """ms: what apply saves by these, as far as that is known."""
    savings = [step["apply_saving_s"] or step["saving_s"] for step in steps]
    return [1e3 * sum(saving[key] for saving in savings) for key in BOUNDS]


class Measurement:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.tool = programs.tool_of(arguments)
        self.profile = ["--profile", arguments.profile.resolve()] if arguments.profile else []

    def one(self, words, *before):
        """(ms, what it said of itself but for times, what xferscope said)."""
        done = run([*before, *words], self.folder, self.arguments.limit)
        found = self.arguments.figure.search((done.stdout.splitlines() or [""])[-1])
        if done.returncode or not found:
            raise RuntimeError(f"status {done.returncode}: {done.stderr[-200:]}")
        return float(next(filter(None, found.groups()))) * self.arguments.unit, done.stderr

    def plan(self, words):
        """Steps that are carried out, and the plan's file."""
        trace, file = self.folder / "run.xft", self.folder / "plan.json"
        self.one(words, self.tool, "record", "--quiet", "--no-summary", "--force", "--content=whole", "-o", trace, "--")
        answers = ["--assume", "repeated-transfer=yes"] if self.arguments.grant else []  # what is granted is expected
        run([self.tool, "analyze", trace, *(["-p", self.profile[1]] if self.profile else []), *answers, "--plan", file, "-f", "json"],
            self.folder, 300)
        plan = json.loads(file.read_text())
        steps = edited(plan, self.arguments)
        file.write_text(json.dumps(plan))
        return steps, file

    def measure(self, program):
        words = shlex.split(program["command"].replace("{build}", str(self.arguments.build.resolve())))
        steps, file = self.plan(words)
        entry = {"name": program["name"], "by": sorted({step["by"] for step in steps}), "steps": len(steps)}
        if self.arguments.keep:
            kept = self.arguments.keep / program["name"].replace("/", "_")
            shutil.copytree(self.folder / "run.xft", kept.with_suffix(".xft"), dirs_exist_ok=True)
            shutil.copy(file, kept.with_suffix(".json"))
        if not steps:
            return entry
        apply = [self.tool, "apply", "--only", ",".join(entry["by"]), "--plan", file, *self.profile]
        checked = self.one(words, *apply, "--check", "--")[1]
        entry["compared"] = [sum(map(int, counts)) for counts in zip(*COMPARED.findall(checked))]
        turns = []
        for turn in range(self.arguments.turns):
            ways = [(), (*apply, "--")]
            took = {way: self.one(words, *ways[way]) for way in ((0, 1) if turn % 2 else (1, 0))}
            turns.append([took[0][0], took[1][0]])
            entry["said"] = took[1][1]
        saved = [alone - applied for alone, applied in turns]
        low, likely, high = expected(steps)
        entry.update(turns_ms=turns, expected_ms=[low, likely, high], of_fix=all(step["apply_saving_s"] is None for step in steps),
                     inside=low <= max(saved) and min(saved) <= high)
        return entry


def row(entry):
    if "turns_ms" not in entry:
        return f"| {entry['name']} | {entry.get('problem') or 'nothing to carry out'} | | | | | |"
    alone, applied = (statistics.median(turn[way] for turn in entry["turns_ms"]) for way in (0, 1))
    saved = [a - b for a, b in entry["turns_ms"]]
    compared = "{} compared, {} different".format(*entry["compared"]) if entry["compared"] else "nothing compared"
    return (f"| {entry['name']} | {', '.join(entry['by'])} | {compared} | {alone:.4g}, {applied:.4g} | {statistics.median(saved):.4g} "
            f"({min(saved):.4g} to {max(saved):.4g}) | {entry['expected_ms'][1]:.4g} ({entry['expected_ms'][0]:.4g} to {entry['expected_ms'][2]:.4g})"
            f"{', of the fix' if entry['of_fix'] else ''} | {'inside' if entry['inside'] else 'outside'} |")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("commands", type=Path)
    parser.add_argument("--by", type=lambda text: text.split(","), default=["leave-out", "streams"], metavar="CLASS,...")
    parser.add_argument("--grant", action="store_true")
    parser.add_argument("--turns", type=int, default=5, metavar="N")
    parser.add_argument("--figure", type=re.compile, default=re.compile(r"(\d+\.\d+)"), metavar="REGEX", help="of the time (default: %(default)s)")
    parser.add_argument("--unit", type=float, default=1, metavar="MS", help="of the figure")
    parser.add_argument("--limit", type=float, default=30, metavar="S", help="for each process")
    parser.add_argument("--seconds", type=float, default=3600, metavar="S", help="begin no program after this time")
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="that keeps the recorded runs and the plans")
    arguments = parser.parse_args()
    for folder in filter(None, (arguments.out, arguments.keep)):
        folder.mkdir(parents=True, exist_ok=True)
    return arguments


def main():
    arguments, begun, entries = parse_arguments(), time.monotonic(), []
    print("| program | by | with --check | alone, applied, ms | saved, ms (turns) | expected, ms | |\n|---|---|---|---|---|---|---|")
    with (arguments.out / "planned.jsonl").open("w") as file:
        for program in programs.programs_of(arguments.commands):
            if time.monotonic() - begun > arguments.seconds:
                break
            with tempfile.TemporaryDirectory() as folder:
                try:
                    entries.append(Measurement(arguments, Path(folder)).measure(program))
                except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
                    entries.append({"name": program["name"], "problem": str(error)[-200:]})
            print(json.dumps(entries[-1]), file=file, flush=True)
            print(row(entries[-1]), flush=True)
    different = [entry["name"] for entry in entries if entry.get("compared") and entry["compared"][1]]
    ready = [entry for entry in entries if "turns_ms" in entry]
    print(f"{len(ready)} programs with steps carried out, inside {sum(entry['inside'] for entry in ready)}; different: {', '.join(different) or 'none'}")
    return bool(different or not ready)


if __name__ == "__main__":
    sys.exit(main())
