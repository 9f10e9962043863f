#!/usr/bin/env python3
"""Analyses the runs recorded on an H200 and compares the reports with expected.json.

The transfers and bytes per direction there are CUPTI's own, counted in the same run_all.sh (README.md).
The other figures are what the report gave when they were written; they follow from the traces and the
profiles alone, so they are the same on every machine. Of the runs in today's format the traces
themselves are looked at too: launches against the kernels that CUPTI recorded, streams, INDEX.

usage: check_recorded.py XFERSCOPE            UPDATE_GOLDEN=1 writes the figures of the reports.
"""
import json
import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROFILES = {"h200-static": "h200.json", "h200-pytorch": "h200.json", "h200-shared-1.0": "h200-1.0.json"}
OLD = {"h200-shared-1.0": ("1.0", 2)}  # the format, and how many lines of what it lacks
TODAY = "1.2"
STREAMS = {"h200-static": False, "h200-pytorch": True}  # does the program make any
SEGMENT_HEADER = 40  # bytes
RECORDS_ALL = 3  # of copies and memsets, 1, and of kernels, 2


def run_command(command, verb, run, *options):
    result = subprocess.run([command, verb, HERE / f"{run}.xft", "--format", "json", *options],
                            capture_output=True, text=True, timeout=60, check=False)
    if result.returncode != 0:
        sys.exit(f"{run}: {verb} ended with {result.returncode}: {result.stderr.strip()}")
    return result.stdout


def analyze(command, run):
    return json.loads(run_command(command, "analyze", run, "--profile", HERE / PROFILES[run]))


def figures(report):
    """What is held: no paths, no times of day."""
    return {
        "directions": report["run"]["directions"],
        "wall_s": report["run"]["wall_s"],
        "simulated": report["run"]["simulated"],
        "format": report["run"]["format"],
        "lacks": report["run"]["lacks"],
        "gpus": [gpu["name"] for gpu in report["run"]["gpus"]],
        "profile_matches": report["machine"]["matches"],
        "rows": [[row["site"]["text"], row["function"], row["runtime_function"], row["direction"], row["transfers"], row["bytes"], row["achieved_gbps"], row["achievable_gbps"],
                  row["lost_s"]] for row in report["transfers"]],
        "findings": [[f["kind"], [site["text"] for site in f["sites"]], f["transfers"], f["bytes"],
                      f["achieved_gbps"], f["achievable_gbps"], f["lost_s"], f["run_saving_s"]]
                     for f in report["findings"]],
    }


def same(found, wanted):
    """Equal, numbers to the nine digits that a report prints."""
    if isinstance(wanted, float) and isinstance(found, (int, float)):
        return abs(found - wanted) <= 1e-8 * abs(wanted)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, dict):
        return isinstance(found, dict) and found.keys() == wanted.keys() and all(
            same(found[key], wanted[key]) for key in wanted)
    return found == wanted


def differences(found, wanted):
    for key in wanted:
        if key != "cupti" and not same(found.get(key), wanted[key]):
            yield f"{key}: {json.dumps(found.get(key))}\n  expected {json.dumps(wanted[key])}"
    for direction, counted in wanted["cupti"].items():
        if found["directions"].get(direction) != counted:
            yield f"{direction}: {found['directions'].get(direction)}, CUPTI counted {counted}"
    if found["directions"].keys() != wanted["cupti"].keys():
        yield f"directions {sorted(found['directions'])}, CUPTI's {sorted(wanted['cupti'])}"


def wrong_format(run, report):
    wanted = OLD.get(run, (TODAY, 0))
    found = (report["run"]["format"], len(report["run"]["lacks"]))
    if found != wanted:
        yield f"format and number of lines of what it lacks {found}, expected {wanted}"
    if not report["machine"]["matches"]:
        yield "the profile is another machine's"


def wrong_launches(launches, kernels, arguments):
    """Each launch has its name and arguments, and is a kernel that the device ran."""
    if not launches:
        yield "no launches"
    ran = {kernel["correlation"]: kernel for kernel in kernels}
    for launch in launches:
        kernel = ran.pop(launch["correlation"], None)
        if not launch["name"] or not arguments.get(launch["aux"]):
            yield f"launch {launch['seq']}: name {launch['name']}, arguments {launch['aux']}"
        if kernel is None or (kernel["name"], kernel["dst"]) != (launch["name"], launch["dst"]):
            yield f"launch {launch['seq']} of {launch['name']}: CUPTI recorded {kernel and kernel['name']}"
    for kernel in ran.values():
        yield f"kernel {kernel['name']}: no launch"


def wrong_contents(command, run):
    """What came with the newer formats is in the trace."""
    of_type, of_kind = {}, {}
    for row in map(json.loads, run_command(command, "dump", run).splitlines()):
        of_type.setdefault(row["type"], []).append(row)
    for event in of_type["event"]:
        of_kind.setdefault(event["kind"], []).append(event)
    arguments = {entry["id"]: entry["pointers"] for entry in of_type.get("arguments", [])}
    yield from wrong_launches(of_kind.get("launch", []), of_kind.get("kernel", []), arguments)
    records = [event["aux"] for event in of_kind.get("records", [])]
    if records != [RECORDS_ALL]:
        yield f"RECORDS {records}, expected one of {RECORDS_ALL}"
    if bool(of_kind.get("stream")) != STREAMS[run]:
        yield f"{len(of_kind.get('stream', []))} streams were made"
    sets, memsets = (sorted(event["correlation"] for event in of_kind.get(kind, []))
                     for kind in ("set", "memset"))
    if sets != memsets:
        yield f"{len(sets)} memsets were called, CUPTI recorded {len(memsets)}"
    payloads = [segment["at"] for segment in of_type["segment"] if segment["segment"] == "events"]
    indexed = [entry["at"] + SEGMENT_HEADER for entry in of_type.get("index", [])]
    if indexed != payloads:
        yield f"INDEX names EVENTS at {indexed}, they are at {payloads}"


def main():
    expected_file = HERE / "expected.json"
    expected = json.loads(expected_file.read_text())
    reports = {run: analyze(sys.argv[1], run) for run in PROFILES}
    found = {run: figures(report) for run, report in reports.items()}
    if os.environ.get("UPDATE_GOLDEN") == "1":
        for run in PROFILES:
            found[run]["cupti"] = expected[run]["cupti"]
        expected_file.write_text(json.dumps(found, indent=1) + "\n")
    failed = 0
    for run in PROFILES:
        contents = [] if run in OLD else wrong_contents(sys.argv[1], run)
        for line in chain(differences(found[run], expected[run]), wrong_format(run, reports[run]), contents):
            print(f"{run}: {line}")
            failed += 1
        print(f"{run}: {len(found[run]['rows'])} call sites, {len(found[run]['findings'])} findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
