#!/usr/bin/env python3
"""How well the replay of a recorded run tells the time of the same run unrecorded, and what recording cost.

usage: tests/gpu/programs_table.py BUILD OUT PROFILE [--shortest MS] [--steady PERCENT] [--page FILE]

OUT is what programs.py left there. Compared are spans: from the first work submitted to a GPU until the last
wait for some is over (report-format.md, whatif.span), without contexts that are made within, since what comes before is
mostly the driver's start, which differs from run to run by more than the rest takes. Of each program: the unrecorded span (of the light
runs, without what recording cost these; median, and spread: largest less smallest, by the median), the
recorded one, the one of the recorded run replayed without what recording cost (medians), how far the last is
off the first, and what recording added to the span and to the whole process (bare). Steady are programs of
--shortest ms and more whose unrecorded spans, two at least, spread by no more than --steady (10 %).

Prints a table in Markdown and a summary, writes OUT/table.json, and --page.
Exit status: 0 all runs could be compared; 1 some could not; 2 wrong usage.
"""
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys

import programs

HEAD = ("| program | unrecorded, ms | spread | recorded, ms | replayed, ms | off | span | process, bare, s | process |\n"
        "|---|---|---|---|---|---|---|---|---|")


def span(arguments, trace):
    """Spans in ms of one trace, or a line that says why there are none."""
    done = subprocess.run([arguments.tool, "analyze", trace, "-p", arguments.profile, "-f", "json"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 3):
        return "nothing was recorded"
    whatif = json.loads(done.stdout)["whatif"]
    if not whatif or not whatif["span"]["recorded_s"]:
        return "no work for a GPU"
    if not whatif["known"]:
        return whatif["why_not"]
    return {key: whatif["span"][f"{key}_s"] * 1e3 for key in ("recorded", "replayed", "alone")}


def runs_of(arguments):
    """The runs of each program, those of a trace with what the analyzer makes of it."""
    runs = programs.runs_of(arguments.out)

    def look(run):
        run["seconds"] = float(run["seconds"])
        if run["trace"]:
            spans = span(arguments, arguments.out / run["trace"])
            run.update(spans if isinstance(spans, dict) else {"why": spans})

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(look, runs))
    return runs


def medians(runs, way, key):
    values = [run[key] for run in runs if run["way"] == way and key in run and run["status"] == "0"]
    return statistics.median(values) if values else None, values


def entry_of(program, runs):
    """What is known of one program."""
    entry = {"name": program["name"], "command": program["command"], "problem": program["problem"], "runs": runs}
    if entry["problem"] or not runs:
        return {**entry, "problem": entry["problem"] or "no time was left"}
    statuses = {run["status"] for run in runs}
    if statuses != {"0"}:
        entry["problem"] = f"exit status {', '.join(sorted(statuses - {'0'}))} in some runs"
    alone, all_alone = medians(runs, "light", "alone")
    replayed, all_replayed = medians(runs, "recorded", "alone")
    bare, recorded = medians(runs, "bare", "seconds")[0], medians(runs, "recorded", "seconds")[0]
    if bare and recorded:
        entry.update(bare_s=bare, process=recorded / bare - 1)
    if not alone or not replayed:
        why = [run["why"] for run in runs if "why" in run]
        return {**entry, "problem": entry["problem"] or (why[0] if why else "no time was left")}
    span_ms = medians(runs, "recorded", "recorded")[0]
    return {**entry, "alone_ms": alone, "runs_alone": len(all_alone), "each_alone": all_alone,
            "spread": (max(all_alone) - min(all_alone)) / alone, "recorded_ms": span_ms,
            "replayed_ms": replayed, "off": replayed / alone - 1, "each_off": [ms / alone - 1 for ms in all_replayed],
            "added": span_ms / alone - 1}


def row(entry):
    whole = (f"{entry['bare_s']:.3f}", f"{entry['process']:+.1%}") if "process" in entry else ("", "")
    if "off" not in entry:
        return f"| {entry['name']} | {entry['problem']} | | | | | | {' | '.join(whole)} |"
    return (f"| {entry['name']} | {entry['alone_ms']:.3f} | {entry['spread']:.1%} | {entry['recorded_ms']:.3f} | "
            f"{entry['replayed_ms']:.3f} | {entry['off']:+.1%} | {entry['added']:+.1%} | {' | '.join(whole)} |")


def sums(what, values):
    """One line on how large values are, their sign left away."""
    sizes = sorted(map(abs, values))
    if not sizes:
        return f"{what}: none"
    within = ", ".join(f"within {limit} % {sum(size <= limit / 100 for size in sizes)}" for limit in (3, 5, 10))
    return f"{what}: {len(sizes)}; median {statistics.median(sizes):.1%}, mean {statistics.mean(sizes):.1%}; {within}"


def summary(entries, shortest, spread):
    """The lines below the table."""
    compared = [entry for entry in entries if "off" in entry]
    long = [entry for entry in compared if entry["alone_ms"] >= shortest]
    steady = [entry for entry in long if entry["runs_alone"] > 1 and entry["spread"] <= spread / 100]
    added = [entry["added"] for entry in steady]
    process = [entry["process"] for entry in compared if "process" in entry]
    lines = [sums("off, all programs", [entry["off"] for entry in compared]),
             sums(f"off, of {shortest:g} ms and more", [entry["off"] for entry in long]),
             sums("off, steady ones of these", [entry["off"] for entry in steady]),
             sums("off, single recorded runs of the steady ones", [off for entry in steady for off in entry["each_off"]])]
    twice = [entry for entry in long if entry["runs_alone"] > 1]
    lines += [sums(f"one unrecorded run of {shortest:g} ms and more off another",
                   [entry["each_alone"][0] / entry["each_alone"][1] - 1 for entry in twice]),
              sums("the replay off that other one", [entry["replayed_ms"] / entry["each_alone"][1] - 1 for entry in twice])]
    for what, values in (("recording added to the spans of the steady ones", added), ("to whole processes", process)):
        if values:
            lines.append(f"{what}: {len(values)}; median {statistics.median(values):+.1%}, worst {max(values):+.1%}, "
                         f"at most 2 % in {sum(value <= 0.02 for value in values)}, 5 % in {sum(value <= 0.05 for value in values)}")
    lines.append(f"not compared: {len(entries) - len(compared)}")
    return lines


def main():
    parser = programs.table_parser(__doc__)
    parser.add_argument("--shortest", type=float, default=2, metavar="MS")
    parser.add_argument("--steady", type=float, default=10, metavar="PERCENT", help="spread of the steady ones at most")
    arguments = parser.parse_args()
    arguments.tool = programs.tool_of(arguments)
    those = json.loads((arguments.out / "programs.json").read_text())
    runs = runs_of(arguments)
    entries = [entry_of(program, [run for run in runs if run["name"] == program["name"]]) for program in those]
    (arguments.out / "table.json").write_text(json.dumps(entries, indent=1) + "\n")
    programs.write_table(arguments, HEAD, map(row, entries), summary(entries, arguments.shortest, arguments.steady))
    return any("off" not in entry for entry in entries)


if __name__ == "__main__":
    sys.exit(main())
