#!/usr/bin/env python3
"""A run that was played, in a line; and how many came close.

usage: play_table.py line REPORT NAME TIMES
       play_table.py sum REPORT...

REPORT: of analyze --replay=run --format json. TIMES: times.json of tests/pairs/run, which may not be
there; traces are NN.xft (before) and NN-after.xft of its pairs. Exit status: 1 when one was not
played.
"""
import json
import sys

CLOSE = 0.03


def load(name):
    try:
        with open(name, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def played_of(report):
    played = ((report or {}).get("whatif") or {}).get("played")
    return played if played and played["known"] else None


def milliseconds(seconds):
    return "-" if seconds is None else f"{seconds * 1e3:.2f}"


def measured_saving(times, name):
    """Seconds that the pair's change saves; of a trace of its program before."""
    for pair, measured in ((times or {}).get("pairs") or {}).items():
        medians = [(measured.get(side) or {}).get("median_work_ns") for side in ("before", "after")]
        if pair.split("-")[0] == name and None not in medians:
            return (medians[0] - medians[1]) / 1e9
    return None


def line(report, name, times):
    played = played_of(report)
    if not played:
        why = ((((report or {}).get("whatif") or {}).get("played")) or {}).get("why_not")
        print(f"{name:12} not played: {why or 'no report'}")
        return 1
    modelled = saved = None
    if played["advised_s"] is not None:
        modelled = played["alone_s"] - played["with_set_s"]
        saved = played["saving_s"]["likely"]
    print(f"{name:12} alone {milliseconds(played['alone_s']):>9} played {milliseconds(played['recorded_s']):>9}"
          f" {played['error']:7.2%} off; the set saves {milliseconds(modelled):>8} by the model,"
          f" {milliseconds(saved):>8} played, {milliseconds(measured_saving(times, name)):>8} measured"
          f"{'' if played['whole'] else '; in part'}"
          f"{'; ' + str(played['by_time']) + ' by their time' if played['by_time'] else ''}")
    return 0


def total(reports):
    errors = [played["error"] for played in map(played_of, reports) if played]
    close = sum(error <= CLOSE for error in errors)
    mean = sum(errors) / len(errors) if errors else 0
    print(f"{len(errors)} of {len(reports)} played, {close} within {CLOSE:.0%}, {mean:.2%} off on average")
    return 0 if len(errors) == len(reports) else 1


def main(arguments):
    if len(arguments) == 4 and arguments[0] == "line":
        return line(load(arguments[1]), arguments[2], load(arguments[3]))
    if len(arguments) > 1 and arguments[0] == "sum":
        return total([load(name) for name in arguments[1:]])
    print(__doc__.split("\n\n")[1], file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
