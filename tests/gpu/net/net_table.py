"""What programs said of their messages beside what was recorded of them, and beside the report.

usage: net_table.py counts XFERSCOPE FOLDER TRACE...    FOLDER/said.*: RANK op CALL bytes width to from tag RANKS
       net_table.py rates REPORT PROGRAM                REPORT: analyze -f json; PROGRAM: its lines "rate ..."

counts: operations and bytes, call by call; how many differ. rates, for each phase and direction: what this rank's other
side was late by (ms, all rounds), by the program and by the report (LATE); GB/s by the program's clock of the host and by
its CUDA events, and by the report without the wait and with it; POSSIBLE, or why it is not known; and kinds of memory."""
import collections
import glob
import json
import os
import re
import subprocess
import sys


def said_by(folder):
    said = collections.Counter()
    for path in glob.glob(os.path.join(folder, "said.*")):
        with open(path, encoding="utf-8") as file:
            said.update(tuple(line.split()) for line in file)
    return said


def rank_word(number):
    return "-" if number is None or number < 0 else str(number)


def recorded_in(command, path, operations):
    """As the programs say it; the rank is that of the call's communicator."""
    dump = subprocess.run([command, "dump", path, "-f", "json"], capture_output=True, text=True, check=True).stdout
    lines = [json.loads(line) for line in dump.splitlines()]
    communicators = {e["communicator"]: e for e in lines if e.get("kind") == "communicator"}
    found, memory, lost = collections.Counter(), collections.Counter(), 0
    for e in lines:
        lost += e.get("type") == "lost" and e.get("line") is not None
        if e.get("kind") != "message" or e["message"] not in operations:
            continue
        own = communicators.get(e["communicator"], {"rank": None, "name": "?"})
        mpi = e["call"].startswith("MPI_")
        memory[e["message"], e["src_memory"] if e["message"] == "send" else e["dst_memory"]] += 1
        found[rank_word(own["rank"]), e["message"], e["call"], str(e["bytes"]), str(e["width"]), rank_word(e["to"]),
              rank_word(e["from"]), str(e["correlation"]) if mpi else "0", own["name"]] += 1
    return found, memory, lost


def counts(command, folder, traces):
    said = said_by(folder)
    recorded, memory, lost = collections.Counter(), collections.Counter(), 0
    for path in traces:
        more, kinds, missing = recorded_in(command, path, {key[1] for key in said})
        recorded.update(more)
        memory.update(kinds)
        lost += missing

    def size(of):
        return f"{of.total()} calls, {sum(n * (int(key[3]) + int(key[4])) for key, n in of.items())} bytes"
    print(f"  said {size(said)}; recorded {size(recorded)}; said and not recorded {(said - recorded).total()}, "
          f"recorded and not said {(recorded - said).total()}; lost {lost}")
    print("  memory: " + ", ".join(f"{op} {kind} {n}" for (op, kind), n in sorted(memory.items())))
    for key in list((said - recorded) + (recorded - said))[:4]:
        print("   ", *key)


def number(value, form="8.2f"):
    return format(value, form) if value is not None else " " * 7 + "-"


def names_of(row):
    return " ".join([row["site"]["text"], *[str(frame) for frame in row["site"].get("stack") or []]])


def gbps(size, rounds, us):
    return size * rounds / us / 1e3 if us > 0 and size else None


def late_of(rows):
    known = [row["before_others_s"] for row in rows if row["before_others_s"] is not None]
    return sum(known) * 1e3 if known else None


def rates(report_path, program_path):
    with open(report_path, encoding="utf-8") as file:
        rows = json.load(file)["messages"]["rows"]
    print(f"  {'':22}late by:  program  report   GB/s: program events  report w.wait POSSIBLE")
    with open(program_path, encoding="utf-8") as file:
        lines = [line.split()[1:] for line in file if line.startswith("rate ")]
    for rank, phase, sent, got, rounds, waited, since, device, right in lines:
        for operation, end, size in (("send", "from", int(sent)), ("receive", "to", int(got))):
            own = [row for row in rows if row["operation"] == operation and row[end] == int(rank)
                   and re.search(rf"\b{phase.split('/')[0]}\b", names_of(row))]
            if size == 0 or not own:
                continue
            row = own[0]
            possible = row["achievable_gbps"]
            print(f"  {phase:16} {rank} {operation:8} {float(waited) / 1e3:9.2f} {number(late_of(own))}  "
                  f"{number(gbps(size, int(rounds), float(since)))} {number(gbps(size, int(rounds), float(device)))} "
                  f"{number(row['achieved_gbps'])} {number(row['kernels_gbps'])} "
                  f"{number(possible) if possible is not None else row['unknown_because'] or '-'} {right}, timed "
                  f"{row['timed']} of {row['calls']}")


def main():
    what, *arguments = sys.argv[1:]
    if what == "counts":
        counts(arguments[0], arguments[1], arguments[2:])
    else:
        rates(*arguments)


if __name__ == "__main__":
    main()
