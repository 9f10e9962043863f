#!/usr/bin/env python3
"""Programs that nobody wrote for it, each alone and under `xferscope apply`, compared.

usage: tests/gpu/apply_same.py BUILD OUT COMMANDS [options]

COMMANDS is as programs.py has it, and {build} stands for BUILD there. main() of each program runs --times times applied with one GPU visible (--one), and as often
with two (--two), in --processes processes each, as long as nothing else is said (repeated.c). Of these every other one is
applied as usual ("usual"), the others with all that can be carried out at once, from 1 MiB on ("all"). With each of both
--checks processes have all of that made as the program asked as well, and compared ("check"). As many rounds of main()
run alone, in --bare processes, by turns with two GPUs and with one. What cannot be repeated gets a process each time, at the
end, or beside the others (--apart); what can be, but fails with another number of GPUs, has all its rounds there as well. A process
whose first run had to end after --longest gets as many rounds as ended until then, in more processes (--spread).

One program after the other, so that when time ends most have all their runs and the others none: no program is begun that
would not be ready after --seconds, by the rate of processes so far (--to-the-end: all are begun). The first run alone tells which are
left out: those that fail, and without --spread those that take longer than --longest for their rounds. Processes start one after the other on all GPUs, however many
wait; which number of them at a time (--jobs) ends most, each is given --trial seconds to show. A process that does nothing
keeps a context on each GPU, without which starts take half as long again.

Exit status, standard output and standard error of an applied run have to be those of the runs alone, of each time that
main() ran (with --check in --check-rounds of them). Numbers that differ between these (times, rates) are left out, by their place; where even the words differ, the lines are
compared as a set without their numbers. What differs is run again, --again times alone and applied, since other
programs run at the same time: "still" are those that differ then from all runs alone.

OUT/same.jsonl gets a line for each program as it ends (--done FILE: those of an earlier one are left out, but what time ended),
OUT/differ.txt what those that differ said. Exit status: 0 none differs still; 1 some; 2 wrong usage.
"""
import collections
import json
import os
import re
import shlex
import shutil
import sys
import time
from pathlib import Path

import crowd
import programs
import repeated

NUMBER = re.compile(r"(0x[0-9a-fA-F]+|\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,}\b|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\binf\b|\bnan\b)")
DIFFERENT = re.compile(r"(\d+) compared, ([1-9]\d*) different")
CARRIED = re.compile(r"(\d+) calls? carried out")
NOW = {"XFERSCOPE_APPLY_TRIALS": "0", "XFERSCOPE_APPLY_LEAST": "1M"}
FORMS = {"alone": None, "usual": ([], {}), "all": (["--only", "all"], NOW),
         "check": (["--only", "all", "--check"], NOW)}
MOST_SHOWN = 3
LATE = ("time ended", "takes too long")


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
        self.shaped = len(lengths) == 1 and all(all(fixed[::2]) for fixed in self.fixed.values()) and not self.by_chance(lengths, runs)

    @staticmethod
    def by_chance(lengths, runs):
        """Whether a single process, whose rounds say now more, now less, is all there is."""
        return len(runs) == 1 and len(set(next(iter(lengths))[1:-1])) > 1

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


class Alone:
    """What runs alone said in so many rounds, and how they ended."""

    def __init__(self, runs, rounds):
        self.statuses = {run.status for run in runs}
        self.of_rounds = {status for run in runs for status in run.statuses}
        exact = [run for run in runs if run.rounds == rounds]
        self.out, self.err = (Expected([self.cut(getattr(run, key), rounds) for run in exact or runs]) for key in ("out", "err"))
        self.one = len(self.statuses) == 1 and self.out.shaped and self.err.shaped

    @staticmethod
    def cut(texts, rounds):
        """Of so many rounds, and what came behind the last one."""
        return texts[:rounds] + texts[-1:] if len(texts) > rounds + 1 else texts

    def difference(self, run):
        strange = {run.status} - self.statuses or set(run.statuses) - self.of_rounds
        if strange:
            return f"status {min(strange, key=str)} instead of {min(self.statuses, key=str)}"
        return self.out.difference(run.out) or self.err.difference(run.err)


def alone_by_gpus(runs, rounds, endless):
    """Those alone that a run with so many GPUs, of so many rounds, is compared with: all, but for a program that ends or says
    otherwise with another number of GPUs. None: they end differently with the same, or not, where they are not `endless`."""
    alone = [run for run in runs if run.form == "alone"]
    if not alone:
        return None
    whole = Alone(alone, rounds)
    own = {gpus: Alone([run for run in alone if run.gpus == gpus], rounds) for gpus in {run.gpus for run in alone}}
    if not endless and None in whole.statuses or any(len(those.statuses) != 1 for those in own.values()):
        return None
    return collections.defaultdict(lambda: whole, {} if whole.one else own)


def differences(runs, endless=False):
    """Of each applied run that is not as those alone: (form, GPUs, how). None: the runs alone end differently."""
    alone, found = {rounds: alone_by_gpus(runs, rounds, endless) for rounds in {run.rounds for run in runs}}, []
    if None in alone.values():
        return None
    for run in runs:
        if run.form == "alone":
            continue
        why = [alone[run.rounds][run.gpus].difference(run)]
        why.append("--check: " + different[0] if (different := DIFFERENT.search(run.said)) else None)
        if any(why):
            found.append((run.form, run.gpus, "; ".join(filter(None, why))))
    return sorted(found, key=lambda one: (list(FORMS).index(one[0]), one[1]))  # in whatever order they ended


class Program:
    """One program, its processes so far, and those that are due. Its methods are called by one thread at a time, but run()."""

    def __init__(self, entry, number, arguments):
        self.name, self.number, self.arguments = entry["name"], number, arguments
        self.command = entry["command"].replace("{build}", shlex.quote(str(arguments.build.resolve())))
        self.rounds, self.processes = arguments.times // arguments.processes, arguments.processes
        self.go_on = self.single = False
        self.endless = bool(arguments.endless and arguments.endless.search(self.name))
        self.runs, self.due, self.stage, self.differs, self.still, self.left_out = [], 0, "first", [], [], None
        self.begun = time.monotonic()

    def is_there(self):
        word = shlex.split(self.command)[0]
        return shutil.which(self.arguments.folder / word if "/" in word else word) is not None

    def tasks(self):
        """What the stage takes: (form, GPUs)."""
        visible = [of[self.number % len(of)] for of in self.arguments.visible]
        if self.stage == "first":
            return [("alone", visible[-1])]
        if self.stage == "again":
            asked = dict.fromkeys((form, gpus) for form, gpus, _ in self.differs)
            return [task for form, gpus in asked for gpu in (None if gpus == "all" else gpus,)
                    for task in (("alone as " + form, gpu), (form, gpu))] * self.arguments.again
        alone = [("alone", visible[-1 - number % 2 % len(visible)]) for number in range(len(self.runs), self.arguments.bare)]
        for place, gpus in enumerate(visible):
            count = self.processes if self.rounds > 1 else self.arguments.single or self.arguments.times
            alone += [(("usual", "all")[(number + place + self.number) % 2], gpus) for number in range(count)]
            if not self.arguments.check_turns or (self.number // 2 + place) % 2:
                alone += [("check", gpus)] * self.arguments.checks
        return alone

    def run(self, form, gpus, limit):
        form, like = form.split(" as ") if " as " in form else (form, form)
        options, env = FORMS[form] or ([], {})
        rounds = min(self.rounds, self.arguments.check_rounds or self.rounds) if like == "check" else self.rounds
        env = {**env, **({"CUDA_VISIBLE_DEVICES": gpus} if gpus else {}), **({"REPEATED_GO_ON": "1"} if self.go_on else {})}
        if self.stage == "first":
            env["REPEATED_LONGEST"] = str(int(self.arguments.longest * 1e9))
        run = repeated.run(self.command, self.arguments.folder, limit, [self.arguments.tool, "apply", *options, "--"] if FORMS[form] else (),
                           env, rounds, repeated.library(self.arguments.build) if self.rounds > 1 else None)
        run.form, run.gpus, run.rounds = form, gpus or "all", rounds
        return run

    def one_each(self):
        """A process each time."""
        self.rounds, self.runs, self.single = 1, [], True

    def after_first(self, run):
        """What the first run tells."""
        failed = run.status and run.statuses[:1] != [0]
        ended = run.status == 0 and not run.seconds  # it ends the process itself
        if self.rounds > 1 and (ended or run.status and (not failed or self.arguments.any_status)):
            self.one_each()  # no second time, or that fails
            return "later"
        if failed and not self.arguments.any_status:
            self.left_out = f"exit status {run.status}"
        elif run.status is None or self.rounds > 1 and len(run.seconds) < (2 if self.arguments.spread else self.rounds):
            self.left_out = "takes too long"
        elif self.rounds > 1:
            self.rounds = run.rounds = len(run.seconds)
            self.processes = -(-self.arguments.times // self.rounds)
        self.go_on = self.rounds > 1
        return "ready" if self.left_out else "all"

    def ended(self, run):
        """Of one run; true: its stage is over, and the next one has begun."""
        self.runs.append(run)
        self.due -= 1
        if self.due:
            return False
        if self.stage == "first":
            self.stage = self.after_first(run)
            return True
        self.still = differences(self.runs, self.endless)
        if self.still is None:
            self.left_out, self.still = "ends differently alone, or too late", []
        elif self.stage == "all" and self.still:
            self.differs, self.stage = self.still, "again"
            return True
        self.stage = "ready"
        return True

    def entry(self):
        counts = collections.Counter((run.form, run.gpus) for run in self.runs)
        applied = collections.Counter(run.gpus for run in self.runs if run.form in ("usual", "all"))
        whole = len(applied) == len(self.arguments.visible) and all(count * self.rounds >= self.arguments.times for count in applied.values())
        return {"name": self.name, "command": self.command, "left_out": self.left_out, "rounds": self.rounds,
                "applied": {gpus: count * self.rounds for gpus, count in sorted(applied.items())},
                "whole": self.stage == "ready" and not self.left_out and whole, "status": self.runs[0].status if self.runs else None,
                "processes": {f"{form}, GPUs {gpus}": count for (form, gpus), count in sorted(counts.items())},
                "carried": sum(bool(CARRIED.search(run.said)) for run in self.runs if run.form != "alone"),
                "differs": [f"{form}, GPUs {gpus}: {why}" for form, gpus, why in self.differs],
                "still": [f"{form}, GPUs {gpus}: {why}" for form, gpus, why in self.still],
                "seconds": round(time.monotonic() - self.begun, 3)}


class Measurement:
    """The work of crowd.py: the next process, and what is to be done when one ends."""

    def __init__(self, those, arguments, file):
        done = {entry["name"] for path in arguments.done for entry in map(json.loads, path.open()) if entry.get("left_out") not in LATE}
        self.waiting = collections.deque(Program(entry, number, arguments) for number, entry in enumerate(those)
                                         if entry["name"] not in done)
        self.later, self.begun, self.entries = collections.deque(), [], []
        for program in [program for program in self.waiting if arguments.each and arguments.each.search(program.name)]:
            self.waiting.remove(program)
            self.later.append(program)
            program.one_each()
            program.stage = "all"
        self.tasks = {False: collections.deque(), True: collections.deque()}  # true: of what needs a process each time, with --apart
        self.active = collections.Counter()
        self.arguments, self.file, self.end = arguments, file, time.monotonic() + arguments.seconds
        for program in [program for program in (*self.waiting, *self.later) if not program.is_there()]:
            (self.later if program.single else self.waiting).remove(program)
            self.begun.append(program)
            program.left_out = "is not there"
            self.report(program)

    def next(self, rate):
        """(program, form, GPUs, whether it is of what needs a process each time), or None: nothing is due now."""
        if time.monotonic() >= self.end:
            return None
        first = self.active[True] < self.arguments.apart
        return self.next_of(first, rate) or self.next_of(not first, rate)

    def queue(self, single):
        if not self.arguments.apart:
            return () if single else self.waiting or self.later
        return self.later if single else self.waiting

    def next_of(self, single, rate):
        """Of those that need a process each time, or of the others."""
        queue = self.queue(single)
        if not self.tasks[single] and queue and self.in_time(queue[0], rate):
            self.begun.append(queue.popleft())
            self.begun[-1].begun = time.monotonic()
            self.add(self.begun[-1])
        if not self.tasks[single]:
            return None
        self.active[single] += 1
        return self.tasks[single].popleft()

    def in_time(self, program, rate):
        """Whether it would be ready before the end, behind those that have begun; while no rate is known, it is tried."""
        if self.arguments.to_the_end:
            return True
        each = self.arguments.bare + 2 * self.arguments.processes + self.arguments.checks * (1 if self.arguments.check_turns else 2)
        left = sum(one.due + (each - 1 if one.stage == "first" else 0) for one in self.begun) + \
            (each if program.rounds > 1 else each + 2 * ((self.arguments.single or self.arguments.times) - self.arguments.processes))
        return time.monotonic() + (left / rate if rate else 0) < self.end

    def add(self, program):
        """Its stage begins."""
        tasks = program.tasks()
        program.due = len(tasks)
        single = self.arguments.apart > 0 and program.single
        self.tasks[single].extend((program, *task, single) for task in tasks)

    def run(self, task):
        program, form, gpus, _ = task
        usual = self.arguments.limit_each if program.single and self.arguments.limit_each else self.arguments.limit
        limit = self.arguments.first if program.stage == "first" else usual * (3 if form == "check" else 1)
        return program.run(form, gpus, max(0.1, min(limit, self.end - time.monotonic())))

    def ended(self, task, run):
        program = task[0]
        self.active[task[-1]] -= 1
        if time.monotonic() >= self.end or not program.ended(run):
            return
        if program.stage == "later":
            self.begun.remove(program)
            self.later.append(program)
            program.stage = "all"
        elif program.stage == "ready":
            self.report(program)
        else:
            self.add(program)

    def report(self, program):
        self.begun.remove(program)
        self.entries.append(program.entry())
        print(json.dumps(self.entries[-1]), file=self.file, flush=True)
        for line in self.entries[-1]["still"][:MOST_SHOWN]:
            print(f"{program.name}: {line}", flush=True)
        if program.differs or self.arguments.keep and self.arguments.keep.search(program.name):
            keep(program, self.arguments.out)

    def cut(self):
        """Those that are not ready when the time ends; what ran until then is compared."""
        for program in list(self.begun):
            program.left_out = "time ended"
            program.still = differences(program.runs, program.endless) or []
            self.report(program)


def keep(program, folder):
    """What a program that differs said, for somebody who looks."""
    with (folder / "differ.txt").open("a") as file:
        file.write(f"==== {program.name}\n")
        file.writelines(f"== {run.form}, GPUs {run.gpus}, {run.status}\n{''.join(run.out)[:4000]}\n{''.join(run.err)[:2000]}\n{run.said}\n"
                        for run in program.runs)


def parse_arguments():
    """--check has three times --limit."""
    parser = repeated.parser(__doc__, rounds=None, limit=20)
    parser.add_argument("--times", type=int, default=20, metavar="N", help="rounds of main(), with each number of GPUs")
    parser.add_argument("--single", type=int, metavar="N", help="times of what cannot be repeated in a process (default: --times)")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="in so many processes; divides --times")
    parser.add_argument("--bare", type=int, default=3, metavar="N", help="processes alone")
    parser.add_argument("--checks", type=int, default=1, metavar="N", help="processes with --check, with each number of GPUs")
    parser.add_argument("--check-turns", action="store_true", help="--checks with one GPU or with two, from program to program in turn")
    parser.add_argument("--check-rounds", type=int, metavar="N", help="of main() in a process with --check (default: as in the others)")
    parser.add_argument("--spread", action="store_true", help="what takes longer than --longest gets more processes")
    parser.add_argument("--each", type=re.compile, metavar="REGEX", help="of these names it is known that they cannot be repeated")
    parser.add_argument("--endless", type=re.compile, metavar="REGEX", help="of these names it is known that they do not end, also alone: they are ended at their limit")
    parser.add_argument("--keep", type=re.compile, metavar="REGEX", help="what these said is kept in differ.txt as well")
    parser.add_argument("--limit-each", type=float, metavar="S", help="--limit of a process each time")
    parser.add_argument("--apart", type=int, default=0, metavar="N", help="so many of --jobs are for what needs a process each time")
    parser.add_argument("--to-the-end", action="store_true", help="begin what may not be ready in time, too")
    parser.add_argument("--again", type=int, default=3, metavar="N", help="processes in each form, alone as well, of what differs")
    parser.add_argument("--jobs", type=lambda text: [int(number) for number in text.split(",")], default=[4, 8, 16, 32], metavar="N,...",
                        help="processes at a time; several: which of these ends most is measured")
    parser.add_argument("--trial", type=float, default=4, metavar="S", help="for each of --jobs")
    parser.add_argument("--one", type=lambda text: text.split("/"), default=["0"], metavar="N/N...",
                        help="the GPU that is visible, by program in turn (none: --two is all there is)")
    parser.add_argument("--two", type=lambda text: text.split("/"), default=[None], metavar="N,N/N,N...",
                        help="the GPUs that are visible then (default: all); none: --one is all there is")
    parser.add_argument("--any-status", action="store_true", help="also programs that fail by themselves")
    parser.add_argument("--done", type=Path, action="append", default=[], metavar="FILE", help="a same.jsonl of an earlier call")
    arguments = repeated.parsed(parser)
    if arguments.times % arguments.processes or min(arguments.bare, *arguments.jobs) < 1:
        parser.error("--processes has to divide --times; --bare, --jobs: 1 at least")
    arguments.visible = [of for of in (arguments.one, arguments.two) if of != ["none"]]
    if not arguments.visible:
        parser.error("--one, --two: not both none")
    arguments.folder = arguments.commands.resolve().parent
    return arguments


def table(entries, said):
    """What is to be read at the end."""
    out = collections.Counter(re.sub(r"exit status .*", "fails by itself", entry["left_out"]) for entry in entries if entry["left_out"])
    ready = [entry for entry in entries if not entry["left_out"]]
    whole = [entry for entry in ready if entry["whole"]]
    processes = collections.Counter()
    for entry in ready:
        for form, count in entry["processes"].items():
            processes[form] += count
    rows = [("programs begun", len(entries)), *((f"left out: {why}", count) for why, count in sorted(out.items())),
            ("compared", len(ready)), ("with all of their runs", len(whole)),
            ("of these with something carried out", sum(bool(entry["carried"]) for entry in whole)),
            ("differ at first", sum(bool(entry["differs"]) for entry in ready)),
            ("differ still", sum(bool(entry["still"]) for entry in ready)),
            ("exit statuses alone", dict(collections.Counter(entry["status"] for entry in ready))),
            ("processes", dict(sorted(processes.items()))), *said]
    for key, value in rows:
        print(f"{key}: {value}")


def main():
    arguments = parse_arguments()
    with (arguments.out / "same.jsonl").open("w") as file, crowd.contexts():
        measurement = Measurement(programs.programs_of(arguments.commands), arguments, file)
        said = crowd.run(measurement, arguments.jobs, arguments.trial)
        measurement.cut()
    table(measurement.entries, said)
    return any(entry["still"] for entry in measurement.entries)


if __name__ == "__main__":
    sys.exit(main())
