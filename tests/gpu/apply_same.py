#!/usr/bin/env python3
"""Programs that nobody wrote for it, each alone and under `xferscope apply`, compared.

usage: tests/gpu/apply_same.py BUILD OUT COMMANDS [--times N] [--seconds S] [--jobs N] [--gpus LIST]

COMMANDS is as programs.py has it. Each program is run in four forms, several at a time: alone; applied as usual
("usual"); with all that can be carried out at once, from 1 MiB on ("all"); and with all of that made as the program
asked as well, and compared ("check", in every fifth round). One round has each form once, on one GPU or with all of them
visible, in turn. Programs of which nothing was carried out have --others rounds, the others --times; none is begun after
--seconds.

Exit status, standard output and standard error of an applied run have to be those of the runs alone. Numbers that differ
between these (times, rates) are left out, as are programs whose runs alone end differently; where even the words differ, the
lines are compared as a set without their numbers. A difference is printed with where it is.

Writes OUT/same.json, and a line for each program that differs. Exit status: 0 none; 1 some; 2 wrong usage.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import programs

NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\binf\b|\bnan\b)")
OURS = re.compile(r"^xferscope.*\n?", re.MULTILINE)
DIFFERENT = re.compile(r"(\d+) compared, ([1-9]\d*) different")
CARRIED = re.compile(r"(\d+) calls? carried out")
NOW = {"XFERSCOPE_APPLY_TRIALS": "0", "XFERSCOPE_APPLY_LEAST": "1M"}
FORMS = {"alone": None, "usual": ([], {}), "all": (["--only", "all"], NOW),
         "check": (["--only", "all", "--check"], NOW)}
CHECK_EVERY = 5
MOST_SHOWN = 3


def words_of(text):
    """Numbers, and what stands between them."""
    return NUMBER.split(text)


def without_numbers(text):
    return collections.Counter(NUMBER.sub("#", line) for line in text.splitlines())


class Expected:
    """What the runs alone have in common."""

    def __init__(self, texts):
        split = [words_of(text) for text in texts]
        self.shaped = len({len(words) for words in split}) == 1
        if self.shaped:
            self.fixed = [len(set(those)) == 1 for those in zip(*split)]
            self.words = split[0]
            # what is no number has to be the same: else lines move, and places mean nothing
            self.shaped = all(fixed for fixed in self.fixed[::2])
        self.lines = [without_numbers(text) for text in texts]

    def difference(self, text):
        """Where the text differs, or None."""
        if not self.shaped:
            lines = without_numbers(text)
            known = set().union(*self.lines)
            return next((f"a line that no run alone has: {line[:80]!r}" for line in lines if line not in known), None)
        words = words_of(text)
        if len(words) != len(self.words):
            return f"{len(words) // 2} numbers instead of {len(self.words) // 2}"
        for fixed, word, other in zip(self.fixed, self.words, words):
            if fixed and word != other:
                return f"{other[:60]!r} instead of {word[:60]!r}"
        return None


def once(task, folder, arguments):
    program, form, gpus = task
    command, env = shlex.split(program["command"]), dict(os.environ)
    if FORMS[form]:
        options, settings = FORMS[form]
        command = [arguments.tool, "apply", *options, "--", *command]
        env.update(settings)
    if gpus:
        env["CUDA_VISIBLE_DEVICES"] = gpus
    process = subprocess.Popen(command, cwd=folder, env=env, start_new_session=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    try:
        out, err = process.communicate(timeout=arguments.limit * (3 if form == "check" else 1))
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        status = None
    return program["name"], form, {"gpus": gpus or "all", "status": status, "out": out,
                                   "err": OURS.sub("", err), "said": "".join(OURS.findall(err))}


def is_carried(runs):
    return sum(bool(CARRIED.search(run["said"])) for form in ("usual", "all") for run in runs[form])


def tasks(those, runs, round_, arguments):
    """One round: each program in each form."""
    visible = arguments.gpus[round_ // 2 % len(arguments.gpus)] if round_ % 2 == 0 else None
    for program in those:
        if round_ >= arguments.others and not is_carried(runs[program["name"]]):
            continue
        for form in FORMS:
            if form != "check" or round_ % CHECK_EVERY == 0:
                yield program, form, visible


def judge(name, runs):
    """What is to be said of a program."""
    alone = [run for run in runs["alone"] if run["status"] is not None]
    entry = {"name": name, "runs": {form: len(those) for form, those in runs.items()}, "differs": [],
             "carried": is_carried(runs), "left_out": None}
    if not alone or len(alone) < len(runs["alone"]) or len({run["status"] for run in alone}) != 1:
        entry["left_out"] = "ends differently alone, or too late"
        return entry
    status = alone[0]["status"]
    out, err = (Expected([run[key] for run in alone]) for key in ("out", "err"))
    for form in FORMS:
        for run in runs[form] if form != "alone" else ():
            why = f"status {run['status']} instead of {status}" if run["status"] != status else \
                out.difference(run["out"]) or err.difference(run["err"])
            different = DIFFERENT.search(run["said"])
            if different:
                why = (why + "; " if why else "") + f"--check: {different[0]}"
            if why:
                entry["differs"].append(f"{form}, GPUs {run['gpus']}: {why}")
    return entry


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("commands", type=Path)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--others", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--limit", type=float, default=20, metavar="S", help="for each run (--check: three times that)")
    parser.add_argument("--first", type=float, default=8, metavar="S", help="longest first run of a program that is tried")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() // 2)
    parser.add_argument("--gpus", type=lambda text: text.split(","), default=["0"], metavar="LIST",
                        help="the one that is visible, in turn; every other round all are")
    arguments = parser.parse_args()
    arguments.tool = str(arguments.build.resolve() / "bin" / "xferscope")
    arguments.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + arguments.seconds
    those, folder = programs.programs_of(arguments.commands), arguments.commands.resolve().parent
    programs.screen(those, folder, argparse.Namespace(limit=arguments.first, screen=arguments.jobs))
    working = [program for program in those if not program["problem"]]
    print(f"{len(working)} of {len(those)} programs work here", flush=True)
    runs = {program["name"]: {form: [] for form in FORMS} for program in working}

    def in_time(task):
        return once(task, folder, arguments) if time.monotonic() < end else None

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for round_ in range(arguments.times):
            for result in pool.map(in_time, list(tasks(working, runs, round_, arguments))):
                if result:
                    runs[result[0]][result[1]].append(result[2])
    entries = [judge(name, those) for name, those in runs.items()]
    (arguments.out / "same.json").write_text(json.dumps({"left_out": [p for p in those if p["problem"]], "programs": entries},
                                                        indent=1) + "\n")
    compared = [entry for entry in entries if not entry["left_out"]]
    bad = [entry for entry in compared if entry["differs"]]
    for entry in bad:
        for line in entry["differs"][:MOST_SHOWN]:
            print(f"{entry['name']}: {line}")
        (arguments.out / (entry["name"].replace("/", "-") + ".txt")).write_text(
            "".join(f"== {form} {run['status']}\n{run['out'][:4000]}\n{run['err'][:2000]}\n{run['said']}\n"
                    for form in FORMS for run in runs[entry["name"]][form][:2]))
    count = {form: sum(entry["runs"][form] for entry in compared) for form in FORMS}
    print(f"{len(compared)} programs compared, {sum(bool(e['carried']) for e in compared)} of them with something carried "
          f"out; {len(entries) - len(compared)} end differently alone; runs: "
          f"{', '.join(f'{form} {number}' for form, number in count.items())}; {len(bad)} differ")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
