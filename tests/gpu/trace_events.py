"""Reading a run through `xferscope dump`, for the checks in this folder."""
import json
import os
import subprocess

DEFAULT_BUILD = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build"))
DIRECTIONS = ("H2D", "D2H", "D2D", "P2P", "H2H", "unknown")


class TraceError(Exception):
    """One line saying what could not be read."""


def events(xferscope, run, kinds):
    """Yields the events of these kinds, each with the process ("pid") it belongs to."""
    command = [xferscope, "dump", run, "--format", "json", "--kind", ",".join(kinds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as dump:
        pid = None
        for line in dump.stdout:
            item = json.loads(line)
            if item["type"] == "file":
                pid = item["pid"]
            elif item["type"] == "event":
                item["pid"] = pid
                yield item
    if dump.returncode != 0:
        raise TraceError(f"{' '.join(command)}: exit status {dump.returncode}")


def moved_bytes(event):
    """False for what moves nothing: failed calls, capture into a graph, copies of zero bytes."""
    return event["bytes"] > 0 and not {"failed", "captured"} & set(event["flags"])


def empty_counts():
    return {direction: {"transfers": 0, "bytes": 0} for direction in DIRECTIONS}


def count(counts, event):
    row = counts[event["direction"]]
    row["transfers"] += event["count"]
    row["bytes"] += event["bytes"]


def print_table(titles, rows):
    """Left-aligns the first column, right-aligns the others."""
    cells = [titles] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(titles))]
    for row in cells:
        first = row[0].ljust(widths[0])
        print("  ".join([first] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]))
