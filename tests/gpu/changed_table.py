#!/usr/bin/env python3
"""What is predicted of programs before somebody changed them, beside what the change saved.

usage: tests/gpu/changed_table.py BUILD OUT PROFILE [--changes FILE] [--page FILE]

OUT is what programs.py left there, by the ways light and recorded, of programs named NAME.before and NAME.after:
the same program at two versions of its source. Compared are spans, from the first work for a GPU until the last wait for some is over, without contexts that
are made within (docs/method.md): of the light runs, without what recording cost these (medians). Predicted is the best set of the recorded run of NAME.before whose
replayed span is the one in the middle, by what it saves of that span; and the questions that this report asks. Inside: what was
saved lies between low and high (or between nothing and what a question says at most); near: likely within 10 % of it, or 1 % of the span.
How near measuring comes: of all pairs of one run before and one after, the part whose saving is near that of the medians.
Answered: of the questions the one whose likely figure, where it is answered with yes, is nearest to what was saved; what its
author did no report knows, so how many of these are near is counted in a line of its own.
A change that did not save over 2 % is counted apart: its author meant something else, and what is advised nobody tried.

--changes: what each author did, in kinds of finding, as a person wrote it who read both sources and had not looked at what is predicted. A line is

  NAME KIND[@SITE][=yes],...      # blank lines and #comments are left out

With it the recorded run of the table is analyzed once more with `--assume`: all other kinds, and with @SITE (as for --assume) all other sites of the kind,
are left out, and a question that the author answered by the change has its =yes. What the best set of that saves is what is predicted of the author's
change alone, in columns of its own: a miss there is a wrong figure, one in the set alone may be a set of more changes. "not found": no such finding.

Prints a table in Markdown and a summary, writes OUT/changed.json, and --page. Exit status: 0 all could be compared; 1 some could
not; 2 wrong usage.
"""
import concurrent.futures
import fnmatch
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import programs

SIDES = ("before", "after")
NEAR, NEAR_SPAN, CHANGED = 0.10, 0.01, 0.02
HEAD = ("| program | before, ms | after, ms | saved | predicted | low to high | inside | near | advised first, in the set | questions | answered |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|")
MORE_HEAD = (" the author's change | alone | low to high | inside | near |", "---|---|---|---|---|")
KINDS = Path(__file__).resolve().parents[2] / "analyzer" / "findings" / "kinds.def"
CHANGE = re.compile(r"([a-z-]+)(?:@(.+?))?(=yes)?")


def changes_of(parser, file):
    """By name, what its author did: (kind, pattern of its site or None, is it answered yes) of each change."""
    kinds, found = kinds_known(), {}
    for number, line in enumerate(file.read_text().splitlines() if file else [], 1):
        words = line.split("#")[0].split(None, 1)
        if not words:
            continue
        those = [CHANGE.fullmatch(word.strip()) for word in words[1].split(",")] if len(words) == 2 else [None]
        if not all(change and change[1] in kinds for change in those):
            parser.error(f"{file}:{number}: not NAME KIND[@SITE][=yes],... with kinds of finding")
        found[words[0]] = [(change[1], change[2], bool(change[3])) for change in those]
    return found


def kinds_known():
    return re.findall(r'^XFA_FINDING\(\w+, \w+, "([a-z-]+)"', KINDS.read_text(), re.MULTILINE)


def report_of(arguments, trace, assumed=()):
    """The report of a trace; None: there is none with a replayed span."""
    options = [word for line in assumed for word in ("--assume", line)]
    done = subprocess.run([arguments.tool, "analyze", trace, "-p", arguments.profile, "-f", "json", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 3):
        return None
    report = json.loads(done.stdout)
    whatif = report["whatif"]
    return report if whatif and whatif["known"] and whatif["span"]["alone_s"] else None


def is_at(pattern, text):
    """As --assume takes a pattern; of the site's line in the report."""
    return not pattern or (fnmatch.fnmatchcase(text, pattern) if set(pattern) & set("*?[") else pattern in text)


def all_but(changes, report):
    """The answers that leave of the findings of a report, and of all other kinds, only those changes."""
    answers = [f"{kind}=no" for kind in kinds_known() if kind not in {change[0] for change in changes}]
    for finding in report["findings"]:
        patterns = [pattern for kind, pattern, _ in changes if kind == finding["kind"]]
        for site in finding["sites"] if patterns else []:
            if not any(is_at(pattern, site["text"]) for pattern in patterns):
                answers.append(f"{finding['kind']}@{re.sub(r'[*?[]', '?', site['text'])}=no")
    return answers + [kind + (f"@{pattern}" if pattern else "") + "=yes" for kind, pattern, yes in changes if yes]


def alone_of(arguments, changes, trace, report, saved):
    """What is predicted of the author's changes alone."""
    words = [kind + (f"@{pattern}" if pattern else "") + ("=yes" if yes else "") for kind, pattern, yes in changes]
    alone = {"changes": words, "found": False}
    said = report_of(arguments, trace, all_but(changes, report))
    if said and any(finding["kind"] == change[0] for finding in said["findings"] for change in changes):
        bounds = predicted(said)
        alone.update(found=True, predicted=bounds, inside=bounds["low"] <= saved <= bounds["high"],
                     near=is_near(bounds["likely"], saved))
    return alone


def reports_of(arguments, runs):
    """By name and way, the (report, trace) of runs that ended well, the shorter spans first."""
    good = [run for run in runs if run["trace"] and run["status"] == "0"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = list(pool.map(lambda run: report_of(arguments, arguments.out / run["trace"]), good))
    found = {}
    for run, report in zip(good, reports):
        if report:
            found.setdefault((run["name"], run["way"]), []).append((report, arguments.out / run["trace"]))
    return {key: sorted(those, key=lambda one: span_ns(one[0])) for key, those in found.items()}


def span_ns(report):
    return report["whatif"]["span"]["alone_s"] * 1e9


def predicted(report):
    """What the best set saves of the span, as parts of it; likely as it was replayed, and the bounds in its proportion."""
    span, saving = report["whatif"]["span"], report["whatif"]["set_saving_s"]
    if not saving["likely"]:  # nothing is advised
        best = report["whatif"].get("best_alone_s") or {"high": 0}
        return {"low": 0, "likely": 0, "high": (best["high"] or 0) / span["alone_s"]}
    whole = 1 - span["with_set_s"] / span["alone_s"]
    return {key: whole * saving[key] / saving["likely"] for key in ("low", "likely", "high")}


def questions(report):
    """Of each question: the kind, and what the answer saves of the span at most, and likely (None: not known)."""
    span = report["whatif"]["span"]["alone_s"]

    def part(question, key):
        return None if question[key] is None else min(1, question[key] / span)

    return [{"kind": finding["kind"], "part": part(finding["question"], "up_to_span_s") or 0,
             "likely": part(finding["question"], "likely_span_s")} for finding in report["findings"] if finding["question"]]


def answered(asked, saved):
    """The question whose likely figure is nearest to what was saved; None: no such figure is known."""
    known = [question for question in asked if question["likely"] is not None]
    return min(known, key=lambda question: abs(question["likely"] - saved), default=None)


def is_near(part, saved):
    return abs(part - saved) <= max(NEAR * abs(saved), NEAR_SPAN)


def entry_of(arguments, name, reports):
    """What is known of one program."""
    spans = {side: [span_ns(report) for report, _ in reports.get((f"{name}.{side}", "light"), [])] for side in SIDES}
    recorded = reports.get((f"{name}.before", "recorded"))
    entry = {"name": name, "spans_ns": spans}
    if not recorded or not all(spans.values()):
        return {**entry, "problem": "not measured"}
    before, after = (statistics.median(spans[side]) for side in SIDES)
    report, trace = recorded[len(recorded) // 2]
    entry.update(before_ns=before, after_ns=after, saved=1 - after / before, predicted=predicted(report), questions=questions(report),
                 first=next((finding["kind"] for finding in report["findings"] if not finding["saving_s"]["idle"]), None),
                 in_set=sorted({finding["kind"] for finding in report["findings"] if any(site.get("in_set") for site in finding["sites"])}))
    saved, bounds = entry["saved"], entry["predicted"]
    high = max([bounds["high"], *(question["part"] for question in entry["questions"])])
    low = min(0, bounds["low"]) if high > bounds["high"] else bounds["low"]
    entry["changed"] = saved > CHANGED
    entry["inside"] = low <= saved <= high
    entry["near"] = is_near(bounds["likely"], saved)
    entry["answered"] = answered(entry["questions"], saved)
    entry["answered_near"] = bool(entry["answered"]) and is_near(entry["answered"]["likely"], saved)
    pairs = [is_near((one - other) / before, saved) for one in spans["before"] for other in spans["after"]]
    entry["pairs_near"] = sum(pairs) / len(pairs)
    if name in arguments.changed_by:
        entry["alone"] = alone_of(arguments, arguments.changed_by[name], trace, report, saved)
    return entry


WORDS = {True: "yes", False: "no"}


def more_of(entry):
    """The columns of --changes."""
    alone = entry.get("alone")
    if not alone or not alone["found"]:
        return f" {', '.join(alone['changes'])} | not found | | | |" if alone else " | | | | |"
    bounds = alone["predicted"]
    return (f" {', '.join(alone['changes'])} | {bounds['likely']:.1%} | {bounds['low']:.1%} to {bounds['high']:.1%} | "
            f"{WORDS[alone['inside']]} | {WORDS[alone['near']]} |")


def row(entry):
    if "problem" in entry:
        return f"| {entry['name']} | {entry['problem']} | | | | | | | | | |"
    bounds, words = entry["predicted"], WORDS
    asked = ", ".join(f"{question['kind']} up to {question['part']:.0%}" for question in entry["questions"])
    best = f"{entry['answered']['kind']} {entry['answered']['likely']:.1%}" if entry["answered"] else ""
    return (f"| {entry['name']} | {entry['before_ns'] / 1e6:.3f} | {entry['after_ns'] / 1e6:.3f} | {entry['saved']:+.1%} | "
            f"{bounds['likely']:.1%} | {bounds['low']:.1%} to {bounds['high']:.1%} | {words[entry['inside']]} | {words[entry['near']]} | "
            f"{'; '.join(filter(None, [entry['first'], ', '.join(entry['in_set'])]))} | {asked} | {best} |")


def summary(entries, by_author):
    compared = [entry for entry in entries if "problem" not in entry]
    changed = [entry for entry in compared if entry["changed"]]
    lines = [f"saved over {CHANGED:.0%}: {len(changed)}; inside {sum(entry['inside'] for entry in changed)}, "
             f"near {sum(entry['near'] for entry in changed)}"]
    answers = [entry for entry in changed if entry["answered"] and not entry["near"]]
    lines.append(f"of these not near but with a question whose answer has a figure: {len(answers)}; that one is near in "
                 f"{sum(entry['answered_near'] for entry in answers)}")
    if changed:
        lines.append(f"of pairs of single runs of these: near {statistics.fmean(entry['pairs_near'] for entry in changed):.0%}")
    rest = [entry for entry in compared if not entry["changed"]]
    lines.append(f"saved no more: {len(rest)}; of these over {CHANGED:.0%} is advised in "
                 f"{sum(entry['predicted']['likely'] > CHANGED for entry in rest)}")
    lines.append(f"not compared: {len(entries) - len(compared)}")
    if by_author:
        named = [entry["alone"] for entry in changed if "alone" in entry]
        found = [alone for alone in named if alone["found"]]
        lines.append(f"the author's change alone: of {len(found)} inside {sum(alone['inside'] for alone in found)}, "
                     f"near {sum(alone['near'] for alone in found)}; not found: {len(named) - len(found)}")
    return lines


def main():
    parser = programs.table_parser(__doc__)
    parser.add_argument("--changes", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    arguments.changed_by = changes_of(parser, arguments.changes)
    arguments.tool = programs.tool_of(arguments)
    those = json.loads((arguments.out / "programs.json").read_text())
    names = list(dict.fromkeys(program["name"].rsplit(".", 1)[0] for program in those if program["name"].endswith(SIDES)))
    if not names:
        parser.error(f"{arguments.out}: no programs named NAME.before and NAME.after")
    reports = reports_of(arguments, programs.runs_of(arguments.out))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        entries = list(pool.map(lambda name: entry_of(arguments, name, reports), names))
    (arguments.out / "changed.json").write_text(json.dumps(entries, indent=1) + "\n")
    by_author = arguments.changes is not None
    head = "\n".join(line + more for line, more in zip(HEAD.split("\n"), MORE_HEAD)) if by_author else HEAD
    rows = [row(entry) + (more_of(entry) if by_author else "") for entry in entries]
    programs.write_table(arguments, head, rows, summary(entries, by_author))
    return any("problem" in entry for entry in entries)


if __name__ == "__main__":
    sys.exit(main())
