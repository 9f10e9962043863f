#!/usr/bin/env python3
"""Programs that nobody wrote for it, each alone and under `xferscope apply`, compared.

usage: tests/gpu/apply_same.py BUILD OUT COMMANDS [options]

COMMANDS is as programs.py has it. Each program is run in four forms, several at a time: alone; applied as usual
("usual"); with all that can be carried out at once, from 1 MiB on ("all"); and with all of that made as the program
asked as well, and compared ("check", in every --check-every-th round). One round has each form once: even ones on one GPU
(--one), odd ones with two visible (--two). Programs of which nothing was carried out have --others rounds, the others
--times; none is begun after --seconds. A process may take --limit seconds, with --check three times that.

A process needs longer to start there than most programs run, one process after the other on all GPUs. With --repeat N main() is repeated up to N times
in each process (repeated.c), as often as fits into --longest; programs that cannot be repeated run once.

Exit status, standard output and standard error of an applied run have to be those of the runs alone, of each time that
main() ran. Numbers that differ between these (times, rates) are left out, as are programs whose runs alone end
differently; where even the words differ, the lines are compared as a set without their numbers. A difference is printed
with where it is.

Writes OUT/same.json, and a file for each program that differs. Exit status: 0 none; 1 some; 2 wrong usage.
"""
import collections
import concurrent.futures
import json
import os
import re
import sys
import time

import programs
import repeated

NUMBER = re.compile(r"(0x[0-9a-fA-F]+|\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,}\b|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\binf\b|\bnan\b)")
DIFFERENT = re.compile(r"(\d+) compared, ([1-9]\d*) different")
CARRIED = re.compile(r"(\d+) calls? carried out")
NOW = {"XFERSCOPE_APPLY_TRIALS": "0", "XFERSCOPE_APPLY_LEAST": "1M"}
FORMS = {"alone": None, "usual": ([], {}), "all": (["--only", "all"], NOW),
         "check": (["--only", "all", "--check"], NOW)}
MOST_SHOWN = 3


def words_of(text):
    """Numbers, and what stands between them."""
    return NUMBER.split(text)


def without_numbers(text):
    """Lines, however wide their columns are: numbers have as much room as they need."""
    return collections.Counter(" ".join(NUMBER.sub(" # ", line).split()) for line in text.splitlines())


class Expected:
    """What the runs alone have in common: `runs` has the text of each time that main() ran, of each process."""

    def __init__(self, runs):
        split = [[words_of(text) for text in run] for run in runs]
        self.words = split[0]
        self.lines = set().union(*(without_numbers(text) for run in runs for text in run))
        lengths = {tuple(len(words) for words in run) for run in split}
        self.fixed = {}
        if len(lengths) == 1:
            for length in set(next(iter(lengths))):
                times = [time_ for time_ in zip(*split) if len(time_[0]) == length]
                self.fixed[length] = self.fixed_places(times, length)
        # what is no number has to be the same: else lines move, and places mean nothing
        self.shaped = len(lengths) == 1 and all(all(fixed[::2]) for fixed in self.fixed.values())

    @staticmethod
    def fixed_places(times, length):
        """Whether each word is the same in all processes. One that is so by chance is not so each time that main() ran; with a
        single process, it has to be the same each time."""
        those = times if len(times[0]) > 1 else [sum(times, ())]
        return [all(len({words[place] for words in time_}) == 1 for time_ in those) for place in range(length)]

    def difference(self, run):
        """Where the texts of a process differ, or None."""
        if not self.shaped:
            strange = (line for text in run for line in without_numbers(text) if line not in self.lines)
            return next((f"a line that no run alone has: {line[:80]!r}" for line in strange), None)
        if len(run) != len(self.words):
            return f"main() ran {len(run) - 1} times instead of {len(self.words) - 1}"
        for text, expected in zip(run, self.words):
            words = words_of(text)
            if len(words) != len(expected):
                return f"{len(words) // 2} numbers instead of {len(expected) // 2}"
            for fixed, word, other in zip(self.fixed[len(expected)], words, expected):
                if fixed and word != other:
                    return f"{word[:60]!r} instead of {other[:60]!r}"
        return None


def once(task, folder, arguments):
    """One process: (name, form, Run)."""
    program, form, gpus = task
    before, env = (), {}
    if FORMS[form]:
        options, env = FORMS[form]
        before = [arguments.tool, "apply", *options, "--"]
    if gpus:
        env = {**env, "CUDA_VISIBLE_DEVICES": gpus}
    run = repeated.run(program["command"], folder, arguments.limit * (3 if form == "check" else 1), before, env,
                    program["times"], arguments.repeater)
    run.gpus = gpus or "all"
    return program["name"], form, run


def how_often(those, folder, arguments):
    """Which programs work here, and how often main() can run in a process."""
    def first(program):
        run = repeated.run(program["command"], folder, arguments.first, (), {"CUDA_VISIBLE_DEVICES": arguments.one[0]},
                        min(2, arguments.repeat), arguments.repeater)
        alone = run if not run.status or len(run.seconds) < 2 else \
            repeated.run(program["command"], folder, arguments.first, (), {"CUDA_VISIBLE_DEVICES": arguments.one[0]})
        program["times"] = repeated.rounds_for(run, arguments.longest, arguments.repeat)
        if alone.status is None:
            program["problem"] = f"takes longer than {arguments.first:g} s"
        elif alone.status:
            program["problem"] = f"exit status {alone.status}"

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(first, those))


def is_carried(runs):
    return sum(bool(CARRIED.search(run.said)) for form in ("usual", "all") for run in runs[form])


def tasks(those, runs, round_, arguments):
    """One round: each program in each form."""
    for number, program in enumerate(those):
        if round_ >= arguments.others and not is_carried(runs[program["name"]]):
            continue
        sets = arguments.two if round_ % 2 else arguments.one
        for form in FORMS:
            if form != "check" or round_ % arguments.check_every == 0:
                yield program, form, sets[number % len(sets)]


def judge(program, runs):
    """What is to be said of a program."""
    alone = [run for run in runs["alone"] if run.status is not None]
    entry = {"name": program["name"], "runs": {form: len(those) for form, those in runs.items()},
             "times": {form: sum(max(1, len(run.seconds)) for run in those) for form, those in runs.items()}, "differs": [],
             "carried": is_carried(runs), "left_out": None}
    if not alone or len(alone) < len(runs["alone"]) or len({run.status for run in alone}) != 1:
        entry["left_out"] = "ends differently alone, or too late"
        return entry
    status = alone[0].status
    out, err = (Expected([getattr(run, key) for run in alone]) for key in ("out", "err"))
    for form in FORMS:
        for run in runs[form] if form != "alone" else ():
            why = f"status {run.status} instead of {status}" if run.status != status else \
                out.difference(run.out) or err.difference(run.err)
            different = DIFFERENT.search(run.said)
            if different:
                why = (why + "; " if why else "") + f"--check: {different[0]}"
            if why:
                entry["differs"].append(f"{form}, GPUs {run.gpus}: {why}")
    return entry


def parse_arguments():
    """--check has three times --limit."""
    parser = repeated.parser(__doc__, rounds=1, limit=20)
    parser.add_argument("--times", type=int, default=20, metavar="N", help="rounds")
    parser.add_argument("--others", type=int, default=4, metavar="N", help="rounds of those of which nothing is carried out")
    parser.add_argument("--check-every", type=int, default=5, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() // 2)
    parser.add_argument("--one", type=lambda text: text.split("/"), default=["0"], metavar="N/N...",
                        help="the GPU that is visible in even rounds, by program in turn")
    parser.add_argument("--two", type=lambda text: text.split("/"), default=[None], metavar="N,N/N,N...",
                        help="the GPUs that are visible in odd ones (default: all)")
    return repeated.parsed(parser)


def measure(working, folder, arguments, end):
    """The runs of each program by form."""
    runs = {program["name"]: {form: [] for form in FORMS} for program in working}

    def in_time(task):
        return once(task, folder, arguments) if time.monotonic() < end else None

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for round_ in range(arguments.times):
            for result in pool.map(in_time, list(tasks(working, runs, round_, arguments))):
                if result:
                    runs[result[0]][result[1]].append(result[2])
    return runs


def keep(entry, runs, folder):
    """What a program that differs said, for somebody who looks."""
    (folder / (entry["name"].replace("/", "-") + ".txt")).write_text(
        "".join(f"== {form} {run.status}\n{''.join(run.out)[:4000]}\n{''.join(run.err)[:2000]}\n{run.said}\n"
                for form in FORMS for run in runs[form][:2]))


def main():
    arguments = parse_arguments()
    end = time.monotonic() + arguments.seconds
    those, folder = programs.programs_of(arguments.commands), arguments.commands.resolve().parent
    how_often(those, folder, arguments)
    working = [program for program in those if not program["problem"]]
    print(f"{len(working)} of {len(those)} programs work here", flush=True)
    runs = measure(working, folder, arguments, end)
    entries = [judge(program, runs[program["name"]]) for program in working]
    (arguments.out / "same.json").write_text(json.dumps({"left_out": [p for p in those if p["problem"]], "programs": entries},
                                                        indent=1) + "\n")
    compared = [entry for entry in entries if not entry["left_out"]]
    bad = [entry for entry in compared if entry["differs"]]
    for entry in bad:
        for line in entry["differs"][:MOST_SHOWN]:
            print(f"{entry['name']}: {line}")
        keep(entry, runs[entry["name"]], arguments.out)
    count = {form: (sum(entry["runs"][form] for entry in compared), sum(entry["times"][form] for entry in compared)) for form in FORMS}
    print(f"{len(compared)} programs compared, {sum(bool(e['carried']) for e in compared)} of them with something carried "
          f"out; {len(entries) - len(compared)} end differently alone; processes (times of main()): "
          f"{', '.join(f'{form} {processes} ({times})' for form, (processes, times) in count.items())}; {len(bad)} differ")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
