#!/usr/bin/env python3
"""What `xferscope apply` changes in the time of programs that nobody wrote for it: alone and applied, in turn.

usage: tests/gpu/apply_gain.py BUILD OUT COMMANDS [options]

COMMANDS is as programs.py has it. In each process main() runs up to --repeat times (repeated.c), as often as fits into
--longest; the first time of a process is kept apart, since libraries are loaded and memory is mapped there. Processes alone
and applied take turns, --turns of each; one program at a time on each of --gpus. Afterwards one is recorded, for what the
report predicts of such a process.

OUT/gain.json has every time; the table, a line a program, of all later times of a way: how many there are, their median and
lower decile (which others' work disturbs less) alone and applied, the changes, how far the median of a process alone
is off those of the others (half of the distance between the 10th and the 90th percentile, in per cent of the median), and the medians of
the first time and of the rest of the process; and what was saved of a process, measured and predicted. "Slower" are programs whose median
and lower decile are both above by 2 % and more, "beyond the spread" those that are above by more than it as well. What they say is compared as
apply_same.py does it. `--table` makes the table of an OUT anew.

Exit status: 0 measured; 1 nothing was; 2 wrong usage.
"""
import concurrent.futures
import json
import queue
import re
import statistics
import subprocess
import sys
import time

import programs
import repeated
from apply_same import Expected

WAYS = ("alone", "applied")
ALLOWED = 0.02
CARRIED = re.compile(r"\d+ calls? carried out")


def difference(runs):
    """Where an applied run ends or says otherwise than those alone, or None; a program whose runs alone end differently says nothing."""
    alone, applied = ([run for way, run in runs if way == wanted] for wanted in WAYS)
    if not alone or len({run.status for run in alone}) > 1:
        return None
    expected = [(key, Expected([getattr(run, key) for run in alone])) for key in ("out", "err")]
    for run in applied:
        why = f"status {run.status} instead of {alone[0].status}" if run.status != alone[0].status else \
            next(filter(None, (those.difference(getattr(run, key)) for key, those in expected)), None)
        if why:
            return why
    return None


def measure(program, folder, arguments, gpus, end):
    """All processes of a program; (way, whole seconds, [seconds of each time]) each. None: there was no time left."""
    gpu = gpus.get()
    if time.monotonic() > end:
        gpus.put(gpu)
        return None
    env = {"CUDA_VISIBLE_DEVICES": gpu}
    found = {"name": program["name"], "gpu": gpu, "problem": None, "processes": [],
             "differs": None, "trace": None}
    try:
        first = repeated.run(program["command"], folder, arguments.first, (), env, 2, arguments.repeater)
        times = repeated.rounds_for(first, arguments.longest, arguments.repeat)
        if first.status is None or (first.status and times == 1):
            found["problem"] = "takes too long" if first.status is None else f"exit status {first.status}"
            return found
        runs = []
        for turn in range(2 * arguments.turns):
            if time.monotonic() > end:
                break
            way = WAYS[(turn + turn // 2) % 2]
            before = [arguments.tool, "apply", "--"] if way == "applied" else ()
            start = time.monotonic()
            run = repeated.run(program["command"], folder, arguments.limit, before, env, times, arguments.repeater)
            whole = time.monotonic() - start
            runs.append((way, run))
            found["processes"].append({"way": way, "status": run.status, "whole_s": whole, "times_s": run.seconds, "said": run.said})
        found["differs"] = difference(runs)
        if arguments.record and time.monotonic() < end:
            trace = program["name"].replace("/", "-") + ".xft"
            repeated.run(program["command"], folder, arguments.limit,
                         [arguments.tool, "record", "--quiet", "-o", str(arguments.out.resolve() / trace), "--"], env, times,
                         arguments.repeater)
            found["trace"] = trace
        return found
    finally:
        gpus.put(gpu)


def percentile(values, part):
    """The value below which `part` of the values lie, between neighbours by distance."""
    values = sorted(values)
    place = part * (len(values) - 1)
    low = int(place)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (place - low)


def predicted(found, arguments):
    """What the report of the recorded process says that apply would save: (low, likely, high) in s, or None."""
    if not found["trace"]:
        return None
    done = subprocess.run([arguments.tool, "analyze", arguments.out / found["trace"], "--format", "json"], capture_output=True, check=False)
    saving = json.loads(done.stdout or "{}").get("whatif", {}).get("apply_saving_s")
    return saving and [saving[key] for key in ("low", "likely", "high")]


def entry_of(found, arguments):
    """A program's line of the table, or None where nothing can be said."""
    by_way = {way: [p for p in found["processes"] if p["way"] == way and not p["status"] and p["times_s"]] for way in WAYS}
    if not all(by_way.values()):
        return None
    later = {way: [p["times_s"][1:] or p["times_s"] for p in those] for way, those in by_way.items()}
    all_ = {way: [time_ for times in those for time_ in times] for way, those in later.items()}
    processes = [statistics.median(times) for times in later["alone"]]
    alone = statistics.median(all_["alone"])
    deciles, medians = ([of(all_[way]) for way in WAYS] for of in (lambda times: percentile(times, 0.1), statistics.median))
    return {"name": found["name"], "times": [len(all_[way]) for way in WAYS], "medians": medians, "deciles": deciles,
            "changes": [medians[1] / medians[0] - 1, deciles[1] / deciles[0] - 1],
            "carried": any(CARRIED.search(p["said"]) for p in by_way["applied"]),
            "spread": (percentile(processes, 0.9) - percentile(processes, 0.1)) / 2 / alone,
            "first": [statistics.median(p["times_s"][0] for p in by_way[way]) for way in WAYS],
            "rest": [statistics.median(p["whole_s"] - sum(p["times_s"]) for p in by_way[way]) for way in WAYS],
            "saved": statistics.median(sum(p["times_s"]) for p in by_way["alone"]) -
            statistics.median(sum(p["times_s"]) for p in by_way["applied"]),
            "predicted": predicted(found, arguments)}


def pair_ms(values):
    return ", ".join(f"{1e3 * value:.4g}" for value in values)


def table(arguments):
    """Prints it; how many programs there are."""
    found = json.loads((arguments.out / "gain.json").read_text())
    entries = [entry for entry in (entry_of(one, arguments) for one in found) if entry]
    print("| program | times | median, ms | lower decile, ms | changes | spread alone | carried out | first time, ms "
          "| rest of the process, ms | saved of a process, ms | predicted, ms |\n|---|---|---|---|---|---|---|---|---|---|---|")
    for e in sorted(entries, key=lambda e: e["changes"][1]):
        print(f"| {e['name']} | {e['times'][0]}, {e['times'][1]} | {pair_ms(e['medians'])} | {pair_ms(e['deciles'])} "
              f"| {e['changes'][0]:+.1%}, {e['changes'][1]:+.1%} | {e['spread']:.1%} | {'yes' if e['carried'] else 'no'} "
              f"| {pair_ms(e['first'])} | {pair_ms(e['rest'])} | {1e3 * e['saved']:.4g} | {pair_ms(e['predicted']) if e['predicted'] else ''} |")
    for what, those in (("carried out", [e for e in entries if e["carried"]]), ("nothing", [e for e in entries if not e["carried"]])):
        if those:
            print(f"{what}: {len(those)} programs, median change {statistics.median(e['changes'][1] for e in those):+.2%}, faster by 2 % "
                  f"and more {sum(max(e['changes']) < -ALLOWED for e in those)}, slower {sum(min(e['changes']) > ALLOWED for e in those)}, "
                  f"beyond the spread {sum(min(e['changes']) > max(ALLOWED, e['spread']) for e in those)}")
    for one in found:
        if one["differs"]:
            print(f"{one['name']}: {one['differs']}")
    return len(entries)


def parse_arguments():
    parser = repeated.parser(__doc__, rounds=30, limit=30)
    parser.add_argument("--turns", type=int, default=4, metavar="N", help="processes of each way")
    parser.add_argument("--gpus", type=lambda text: text.split("/"), default=["0"], metavar="N/N...")
    parser.add_argument("--no-record", dest="record", action="store_false")
    parser.add_argument("--table", action="store_true")
    arguments = repeated.parsed(parser)
    arguments.repeater = repeated.library(arguments.build)  # it says how long a single time took, too
    return arguments


def main():
    arguments = parse_arguments()
    if not arguments.table:
        those, folder = programs.programs_of(arguments.commands), arguments.commands.resolve().parent
        end, gpus = time.monotonic() + arguments.seconds, queue.Queue()
        for gpu in arguments.gpus:
            gpus.put(gpu)
        found = []
        with concurrent.futures.ThreadPoolExecutor(len(arguments.gpus)) as pool:
            for each in pool.map(lambda program: measure(program, folder, arguments, gpus, end), those):
                found += [each] if each else []  # written each time, since it may be ended
                (arguments.out / "gain.json").write_text(json.dumps(found, indent=1) + "\n")
    return not table(arguments)


if __name__ == "__main__":
    sys.exit(main())
