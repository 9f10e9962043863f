#!/usr/bin/env python3
"""What `xferscope apply` changes in the time of programs, seen within each process: rounds of main() with and without it, by turns.

usage: tests/gpu/apply_within.py BUILD OUT COMMANDS [options]

COMMANDS is as programs.py has it, and {build} stands for BUILD there; Python scripts repeat their step by themselves (repeated_steps.py).
Processes of one program differ in speed by 5 to 20 % on a virtual machine, rounds of one process by far less. So each program
runs in one process under apply, in which all is passed on to the driver in every other round (preload/apply/apply.h), in fours ABBA
or BAAB at random; the first round is kept apart. Each two rounds give a difference. Then a process without apply is recorded, of as
many rounds as were with it, for what the report predicts. What the hooks themselves take is in both ways; so at the end whole
processes of one round alone and applied take turns, --whole seconds long.

The change is the middle of the means of all two differences of logarithms (Hodges and Lehmann), with its exact interval of 95 %
(Wilcoxon's signed ranks): it needs no more than that differences are as often as far above the change as below it, which they are
where rounds of both ways scatter in the same manner, since their order is drawn; single slow rounds do not move it, and it needs a third fewer
pairs than the median. "Slower", by --allowed: the interval lies above it; "not slower": it ends below; else it is not decided. Where nothing
was carried out it is "not slower" by count, too, if calls of a round (of the recorded process) times what apply adds to one (--calls:
measured in loops through the hooks and past them, overhead_paired.c, the highest of so many processes) are less than that.

Saved is the mean of the differences of a round, with its interval (bootstrap, 95 %): inside, if it
meets what is predicted of a round, and where nothing is predicted (less than 0.5 % of the run), half a per cent of the round. What is
predicted of calls that the process makes less often than rounds (before them, mostly) is no saving of a round, and counted apart.

OUT/within.jsonl has a line for each program, OUT/whole.jsonl for each whole process, OUT/calls.json what a call takes; --table makes
the table of these anew.
Exit status: 0 measured; 1 nothing was; 2 wrong usage.
"""
import collections
import concurrent.futures
import json
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import programs
import repeated

sys.path.append(str(Path(__file__).resolve().parents[1]))
import event_kinds

SITE = re.compile(r"^xferscope apply: (\S+) (?:\S+ )?.*?: ([\d.]+) ([KMG]i)?B of (\d+) calls? carried out, .*?\(([\d.]+) GB/s instead of ([\d.]+)\)", re.M)
CARRIED = re.compile(r"calls? carried out")
OWN = re.compile(r"calls? carried out, ([\d.]+) (ns|us|ms|s) (saved|lost)")
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
ADDED = re.compile(r"added (-?[\d.]+) ")
# What is measured for the calls of a recorded run, by the kind of its event; all others: the dearest.
KINDS = {"transfer": "copy", "launch": "launch", "sync": "wait", "wait": "wait", "query": "wait", "record": "record", "alloc": "alloc",
         "free": "alloc"}
PAIRED = {"copy": (150, 500), "large": (60, 20), "launch": (150, 500), "wait": (150, 500), "record": (150, 500), "set": (150, 500),
          "alloc": (150, 100)}
LARGE = 2**20
CALLS = event_kinds.words_of("CALL")
UNIT = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
NOTHING = 0.005  # of the run: what saves less is not said
DRAWS = 2000


# ---- what a process tells --------------------------------------------------------------------------

def differences(seconds, without):
    """(without, with) of each two rounds behind the first."""
    pairs = zip(zip(seconds[1::2], without[1::2]), zip(seconds[2::2], without[2::2]))
    return [(a, b) if a_off else (b, a) for (a, a_off), (b, b_off) in pairs if a_off != b_off]


def signed_rank_cut(count, sure):
    """How many of the means of two lie outside the interval on each side; exact up to 60 values."""
    means = count * (count + 1) // 2
    if count > 60:
        return int(means / 2 - statistics.NormalDist().inv_cdf((1 + sure) / 2) * math.sqrt(count * (count + 1) * (2 * count + 1) / 24))
    ways = [1] + [0] * means  # of each sum of ranks
    for rank in range(1, count + 1):
        for total in range(means, rank - 1, -1):
            ways[total] += ways[total - rank]
    cut, below = 0, 0
    while below + ways[cut] <= 2**count * (1 - sure) / 2:
        below += ways[cut]
        cut += 1
    return cut


def middle(values, sure=0.95):
    """(Hodges and Lehmann's estimate, low, high bound); infinite with too few values."""
    means = sorted((a + b) / 2 for place, a in enumerate(values) for b in values[place:])
    cut = signed_rank_cut(len(values), sure)
    return statistics.median(means), *((means[cut - 1], means[-cut]) if cut else (-math.inf, math.inf))


def mean_interval(values, sure=0.95):
    """Of means of as many, drawn from these again and again."""
    drawn = random.Random(1)
    means = sorted(statistics.fmean(drawn.choices(values, k=len(values))) for _ in range(DRAWS))
    return means[int(DRAWS * (1 - sure) / 2)], means[int(DRAWS * (1 + sure) / 2) - 1]


def bandwidths(said):
    """Of copies that were carried out: bytes, GB/s applied, GB/s as the program asked, by their class."""
    found = collections.defaultdict(lambda: [0.0, 0.0, 0.0])
    for word, size, unit, _, ours, asked in SITE.findall(said):
        size = float(size) * UNIT[unit]
        if size and float(ours) and float(asked):
            found[word][0] += size
            found[word][1] += size / float(ours)
            found[word][2] += size / float(asked)
    return {word: (size, size / ours, size / asked) for word, (size, ours, asked) in found.items()}


def own_count(entry):
    """Seconds of a round with apply that it saved by its own count, of copies and allocations alone."""
    saved = sum((1 if way == "saved" else -1) * float(number) * SECONDS[unit] for number, unit, way in OWN.findall(entry["said"]))
    return saved / max(1, len(entry["without"]) - sum(entry["without"]))


def counted(entry, added):
    """Seconds that the calls of a round take longer at most, or None: they were not counted."""
    calls = entry.get("calls")
    if not calls or not added:
        return None
    most = max(added.values())
    return 1e-9 * sum(count * max(0.0, added.get(kind, most)) for kind, count in calls.items()) / entry["recorded_rounds"]


def judged(entry, allowed, added=None):
    """What is to be said of one program; None: too little was measured."""
    pairs = differences(entry["seconds"], entry["without"])
    if len(pairs) < 2:
        return None
    off, carried = statistics.median(a for a, _ in pairs), bool(CARRIED.search(entry["said"]))
    saved = [off - on for off, on in pairs]
    change, low, high = (math.expm1(value) if value < 99 else value for value in middle([math.log(on / off) for off, on in pairs]))
    mean_low, mean_high = mean_interval(saved)
    prediction, once = entry.get("predicted"), entry.get("once", 0)
    each = [value * (1 - once) / entry["recorded_rounds"] for value in prediction] if prediction and once < 1 else [-NOTHING * off, 0, NOTHING * off]
    takes = None if carried else counted(entry, added)
    verdict = "slower" if low > allowed else "not slower" if high <= allowed else "not decided"
    by_count = takes is not None and takes <= allowed * off and verdict != "not slower"
    return {"name": entry["name"], "pairs": len(pairs), "off": off, "on": statistics.median(b for _, b in pairs), "change": change,
            "interval": (low, high), "verdict": "not slower" if by_count and verdict == "not decided" else verdict, "by_count": by_count,
            "counted": None if takes is None else takes / off, "own": own_count(entry) if carried else None,
            "faster": high < -allowed, "saved": statistics.fmean(saved), "saved_interval": (mean_low, mean_high),
            "predicted": each if prediction and once < 1 else None, "known": entry.get("predicted_known", False),
            "once": [value * once for value in prediction] if prediction and once else None,
            "inside": mean_low <= each[2] and mean_high >= each[0], "compared": entry.get("comparable", True),
            "carried": carried, "bandwidths": bandwidths(entry["said"]), "first": entry["seconds"][0]}


# ---- measuring -------------------------------------------------------------------------------------

class Measurement:
    def __init__(self, arguments):
        self.arguments, self.folder, self.end = arguments, arguments.commands.resolve().parent, time.monotonic() + arguments.seconds
        self.env = {"CUDA_VISIBLE_DEVICES": arguments.gpu, "PYTHONPATH": str(Path(__file__).resolve().parent)}
        if arguments.profile:
            self.env["XFERSCOPE_PROFILE"] = str(arguments.profile.resolve())
        self.repeater = repeated.library(arguments.build)
        self.random = random.Random(arguments.seed)

    def run(self, program, before, rounds, **env):
        command = program["command"].replace("{build}", str(self.arguments.build.resolve()))
        before = [*(("taskset", "-c", self.arguments.cpus) if self.arguments.cpus else ()), *before]
        limit = max(0.1, min(self.arguments.limit, self.end - time.monotonic()))
        return repeated.run(command, self.folder, limit, before, {**self.env, **env}, rounds, self.repeater)

    def measure(self, program, traces):
        """A line of within.jsonl."""
        tool, arguments = self.arguments.tool, self.arguments
        entry = {"name": program["name"], "command": program["command"], "problem": None}
        run = self.run(program, [tool, "apply", "--"], arguments.repeat, REPEATED_TURNS=str(self.random.randrange(1, 2**31)),
                       REPEATED_LONGEST=str(int(arguments.longest * 1e9)), REPEATED_LEAST=str(arguments.least))
        entry.update(seconds=run.seconds, without=run.without, said=run.said, status=run.status)
        rounds = 1 + len(run.without[1:]) - sum(run.without[1:])
        if run.status or rounds < 2:
            entry["problem"] = "takes too long" if run.status is None else f"exit status {run.status}" if run.status else "runs once"
            entry["error"] = run.err[-1][-300:]
            return entry
        entry["comparable"] = arguments.recorded is None or rounds <= arguments.recorded
        rounds = rounds if entry["comparable"] else arguments.recorded
        if rounds == 0:
            return entry
        trace = traces / (program["name"].replace("/", "-") + ".xft")
        run = self.run(program, [tool, "record", "--quiet", "--no-summary", "--force", "-o", str(trace), "--"], rounds)
        entry.update(recorded_rounds=len(run.seconds), recorded_seconds=run.seconds, trace=str(trace) if run.status == 0 else None)
        return entry

    def calls(self):
        """ns that apply adds to a call of each kind: the highest median of the processes."""
        found = collections.defaultdict(list)
        for _ in range(self.arguments.calls):
            for kind, (pairs, count) in PAIRED.items():
                one = {"command": f"{{build}}/bin/programs/overhead_paired {pairs} {count} {kind}"}
                run = self.run(one, [self.arguments.tool, "apply", "--"], 1)
                found[kind] += [float(number) for number in ADDED.findall("".join(run.out))]
        return {"added_ns": {kind: max(values) for kind, values in found.items() if values}, "of_processes": found}

    def whole(self, those, file):
        """Whole processes of one round, alone and applied in turn."""
        self.end = time.monotonic() + self.arguments.whole
        ways = [(), (self.arguments.tool, "apply", "--")]
        for turn in range(1000):
            for program in those:
                for way in (turn % 2, 1 - turn % 2):
                    if time.monotonic() > self.end:
                        return
                    start = time.monotonic()
                    run = self.run(program, ways[way], 1)
                    line = {"name": program["name"], "turn": turn, "applied": bool(way), "status": run.status,
                            "whole_s": time.monotonic() - start, "main_s": run.seconds[:1]}
                    print(json.dumps(line), file=file, flush=True)


def calls_of(trace, arguments):
    """Calls of a recorded process, by what they are counted as."""
    found = collections.Counter()
    with subprocess.Popen([arguments.tool, "dump", trace, "-f", "json"], stdout=subprocess.PIPE, text=True) as dump:
        for line in dump.stdout:
            event = json.loads(line)
            kind = event.get("kind")
            if event.get("type") == "event" and kind in CALLS:
                large = kind == "transfer" and event.get("bytes", 0) >= LARGE
                found["large" if large else KINDS.get(kind, kind)] += 1
    return found


def once_share(plan, rounds):
    """Of what apply saves without a plan, the share of calls that the process makes less often than rounds."""
    those = [step for step in plan.get("steps", ()) if (step.get("why_not") or "").startswith("apply ")]
    savings = [max(0.0, step["saving_s"]["likely"] or 0.0) for step in those]  # null: not known
    once = [saving for step, saving in zip(those, savings) if all(site["transfers"] < rounds for site in step["sites"])]
    return sum(once) / sum(savings) if sum(savings) else 0.0


def predict(entry, arguments):
    """What the report of the recorded process says that apply would save, and how many calls it made."""
    if not entry.get("trace"):
        return entry
    options = ["-p", str(arguments.profile.resolve())] if arguments.profile else []
    with tempfile.TemporaryDirectory() as scratch:
        plan = Path(scratch) / "plan.json"
        done = subprocess.run([arguments.tool, "analyze", entry["trace"], *options, "--format", "json", "--plan", plan], capture_output=True,
                              check=False, timeout=300)
        entry["once"] = once_share(json.loads(plan.read_text()), entry["recorded_rounds"]) if plan.exists() else 0
    whatif = json.loads(done.stdout or "{}").get("whatif", {})
    saving = whatif.get("apply_saving_s")
    entry["predicted_known"] = bool(whatif.get("known"))
    entry["predicted"] = [saving[key] for key in ("low", "likely", "high")] if saving else None
    entry["calls"] = calls_of(entry["trace"], arguments)
    return entry


def measure_all(arguments):
    those, entries = programs.programs_of(arguments.commands), []
    measurement = Measurement(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        traces = arguments.traces or Path(scratch)
        traces.mkdir(parents=True, exist_ok=True)
        if arguments.calls:
            (arguments.out / "calls.json").write_text(json.dumps(measurement.calls()) + "\n")
        for program in those:
            if time.monotonic() > measurement.end:
                break
            entries.append(measurement.measure(program, traces))
            write(arguments, entries)  # each time, since it may be ended
        if arguments.whole:
            working = [p for p, entry in zip(those, entries) if not entry["problem"]]
            with (arguments.out / "whole.jsonl").open("w") as file:
                measurement.whole(working[::arguments.every], file)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for each in [pool.submit(predict, entry, arguments) for entry in entries]:
                if each.exception():
                    print(f"not analyzed: {each.exception()}"[:300])
        write(arguments, entries)
    return entries


def write(arguments, entries):
    (arguments.out / "within.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))


# ---- the table -------------------------------------------------------------------------------------

def ms(values):
    return ", ".join(f"{1e3 * value:.4g}" for value in values)


def row(one):
    best = one["bandwidths"].get("staging")
    verdict = one["verdict"] + (", faster" if one["faster"] else "") + (" (by count)" if one["by_count"] else "")
    inside = "" if not one["compared"] else "inside" if one["inside"] else "outside"
    return (f"| {one['name']} | {one['pairs']} | {ms([one['off'], one['on']])} | {one['change']:+.1%} ({one['interval'][0]:+.1%} to "
            f"{one['interval'][1]:+.1%}) | {'' if one['counted'] is None else format(one['counted'], '+.3%')} | {verdict} "
            f"| {ms([one['saved']])} ({ms(one['saved_interval'])}) | {'' if one['own'] is None else ms([one['own']])} "
            f"| {ms(one['predicted']) if one['predicted'] and one['compared'] else ''} | {inside} "
            f"| {f'{best[1]:.3g}, {best[2]:.3g}' if best else ''} |")


def counts(what, those):
    staged = [one["bandwidths"]["staging"] for one in those if "staging" in one["bandwidths"]]
    compared = [one for one in those if one["compared"]]
    predicted = [one for one in compared if one["predicted"]]
    print(f"{what}: {len(those)} programs, carried out in {sum(one['carried'] for one in those)}; slower "
          f"{sum(one['verdict'] == 'slower' for one in those)}, not slower {sum(one['verdict'] == 'not slower' for one in those)} (faster "
          f"{sum(one['faster'] for one in those)}; by count alone {sum(one['by_count'] for one in those)}), not decided {sum(one['verdict'] == 'not decided' for one in those)}; staged copies at 2x and more "
          f"{sum(ours >= 2 * asked for _, ours, asked in staged)} of {len(staged)}; inside {sum(one['inside'] for one in predicted)} of "
          f"{len(predicted)} predictions, {sum(one['inside'] for one in compared if not one['predicted'])} of {len(compared) - len(predicted)} of nothing")
    for one in those:
        if one["once"]:
            print(f"{one['name']}: once a process, not of its rounds: {ms(one['once'])} ms predicted")


def table(arguments):
    """Prints it; how many programs there are."""
    entries = [json.loads(line) for line in (arguments.out / "within.jsonl").open()]
    calls = arguments.out / "calls.json"
    added = json.loads(calls.read_text())["added_ns"] if calls.exists() else {}
    those = list(filter(None, (judged(entry, arguments.allowed, added) for entry in entries if not entry["problem"])))
    print("| program | pairs | without, with, ms | change | calls add | | saved of a round, ms | by its own count | predicted, ms | | staging, GB/s |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|")
    for one in sorted(those, key=lambda one: (one["name"].split("/")[0], one["change"])):
        print(row(one))
    for entry in entries:
        if entry["problem"]:
            print(f"{entry['name']}: {entry['problem']}")
    whole_table(arguments)
    if added:
        print("apply adds to a call at most, ns:", ", ".join(f"{kind} {value:.3g}" for kind, value in added.items()))
    groups = collections.defaultdict(list)
    for one in those:
        groups[one["name"].split("/")[0]].append(one)
    for name, group in sorted(groups.items()):
        counts(name, group)
    if those:
        counts("all", those)
    return len(those)


def whole_table(arguments):
    """Differences of whole processes in turn."""
    path = arguments.out / "whole.jsonl"
    if not path.exists():
        return
    turns = collections.defaultdict(dict)
    for line in map(json.loads, path.open()):
        if line["status"] == 0:
            turns[line["name"], line["turn"]][line["applied"]] = line["whole_s"]
    changes = collections.defaultdict(list)
    for (name, _), both in turns.items():
        if len(both) == 2:
            changes[name].append((both[False], both[True]))
    print("\n| whole process | turns | alone, applied, ms (medians) | median change |\n|---|---|---|---|")
    for name, pairs in changes.items():
        print(f"| {name} | {len(pairs)} | {ms([statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)])} "
              f"| {statistics.median(b / a - 1 for a, b in pairs):+.1%} |")


def parse_arguments():
    parser = repeated.parser(__doc__, rounds=61, limit=30)
    parser.add_argument("--least", type=int, default=17, metavar="N", help="rounds, whatever they take")
    parser.add_argument("--whole", type=float, default=0, metavar="S", help="for whole processes")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth program of these")
    parser.add_argument("--recorded", type=int, metavar="N", help="rounds at most (default: as many as were with apply); fewer: predictions are not compared")
    parser.add_argument("--calls", type=int, default=0, metavar="N", help="processes that measure what apply adds to a call")
    parser.add_argument("--cpus", metavar="LIST", help="processors that programs may use (taskset)")
    parser.add_argument("--allowed", type=float, default=0.02)
    parser.add_argument("--gpu", default="0")
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--traces", type=Path, metavar="FOLDER", help="that keeps the recorded runs")
    parser.add_argument("--jobs", type=int, default=8, metavar="N", help="reports at a time, at the end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    arguments = repeated.parsed(parser)
    if arguments.repeat < 5 or arguments.least < 5:
        parser.error("--repeat, --least: 5 at least")
    return arguments


def main():
    arguments = parse_arguments()
    if not arguments.table:
        measure_all(arguments)
    return not table(arguments)


if __name__ == "__main__":
    sys.exit(main())
