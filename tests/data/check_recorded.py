#!/usr/bin/env python3
"""Analyses the runs recorded on an H200 and holds the reports against expected.json.

The transfers and bytes per direction there are CUPTI's own, counted in the same run_all.sh (README.md).
The other figures are what the report gave when the runs were recorded; they follow from the traces
and the profile alone, so they are the same on every machine.

usage: check_recorded.py XFERSCOPE            UPDATE_EXPECTED=1 writes the figures of the reports.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNS = ("h200-static", "h200-shared", "h200-pytorch")


def analyze(command, run):
    result = subprocess.run([command, "analyze", HERE / f"{run}.xft", "--profile", HERE / "h200.json",
                             "--format", "json"], capture_output=True, text=True, timeout=60, check=False)
    if result.returncode != 0:
        sys.exit(f"{run}: analyze ended with {result.returncode}: {result.stderr.strip()}")
    return json.loads(result.stdout)


def figures(report):
    """What is held: no paths, no times of day."""
    return {
        "directions": report["run"]["directions"],
        "wall_s": report["run"]["wall_s"],
        "simulated": report["run"]["simulated"],
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


def main():
    expected_file = HERE / "expected.json"
    expected = json.loads(expected_file.read_text())
    found = {run: figures(analyze(sys.argv[1], run)) for run in RUNS}
    if os.environ.get("UPDATE_EXPECTED") == "1":
        for run in RUNS:
            found[run]["cupti"] = expected[run]["cupti"]
        expected_file.write_text(json.dumps(found, indent=1) + "\n")
    failed = 0
    for run in RUNS:
        for line in differences(found[run], expected[run]):
            print(f"{run}: {line}")
            failed += 1
        print(f"{run}: {len(found[run]['rows'])} call sites, {len(found[run]['findings'])} findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
