"""What late_ranks.py says of each phase beside what the report says.

usage: late_table.py REPORT SAID        REPORT: analyze -f json of both ranks; SAID.0 and SAID.1: what they said

For each phase: who was late by how much; ms that the earlier rank waited, by the program (from its call to the other's,
added up) and by the report (LATE); GB/s of the report without the wait, with it, and without it against the
same call where nobody was late."""
import json
import sys


def rows_of(report, line, operation):
    names = {"send": ("send", "receive")}.get(operation, (operation,))
    return [row for row in report["messages"]["rows"]
            if row["operation"] in names and any(f":{line})" in text for text in texts(row))]


def texts(row):
    return [row["site"]["text"], *[str(frame) for frame in row["site"].get("stack") or []]]


def waited_ms(ranks, phase):
    """By rank: how long it had called before the other did."""
    began = [rank[phase]["began_ns"] for rank in ranks]
    return [sum(max(0, b - a) for a, b in zip(began[own], began[1 - own])) / 1e6 for own in (0, 1)]


def number(value, form="8.2f"):
    return format(value, form) if value is not None else " " * 7 + "-"


def line_of(report, ranks, phase, quiet):
    what = ranks[0][phase]
    rows = rows_of(report, what["line"], what["operation"])
    late = sum(row["before_others_s"] or 0 for row in rows) * 1e3
    kernels = sum(row["timed"] for row in rows)
    timed = next((row for row in rows if row["timed"]), None)
    without = timed["achieved_gbps"] if timed else None
    whole = rows[0]["kernels_gbps"] if rows else None
    key = (what["operation"], what["bytes"])
    if what["late"] is None and without:
        quiet[key] = without
    part = f"{without / quiet[key] * 100:7.1f} %" if without and key in quiet else " " * 8 + "-"
    who = "nobody" if what["late"] is None else f"rank {what['late']} by {what['ms']} ms"
    said = [f"{ms:9.2f}" for ms in waited_ms(ranks, phase)]
    return (f"{what['operation']:10} {what['bytes'] >> 20:4} MiB  {who:17} {said[0]} {said[1]}  {late:9.2f} {kernels:5}"
            f"  {number(without)} {number(whole)}  {part}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    ranks = []
    for rank in (0, 1):
        with open(f"{sys.argv[2]}.{rank}", encoding="utf-8") as file:
            ranks.append(json.load(file))
    print(f"{'':36}waited by program    by report        GB/s without  with  of that where")
    print(f"{'':36}rank 0, rank 1 (ms)     ms kernels  the wait   it     nobody is late")
    quiet = {}
    for phase in range(len(ranks[0])):
        print(line_of(report, ranks, phase, quiet))
    for process in report["messages"]["processes"]:
        print(f"rank {process['rank']} came last in {process['last']} of {process['collectives']} collectives, others "
              f"waited {process['others_waited_s'] * 1e3:.2f} ms for it")


if __name__ == "__main__":
    main()
