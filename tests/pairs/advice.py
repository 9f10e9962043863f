"""What the analyzer predicts of the pairs, compared with what was measured: tests/pairs/run --advice.

Of each program that was recorded into OUT, `xferscope analyze --phase work --format json` with the machine's
profile: "work" is the region that the programs measure, and what only concerns the time around it is left out.
Predictions are the report's, of that region. Medians of the unrecorded runs are the truth. A program that was
recorded several times has as many predictions: what stands is, figure by figure, their median, and
the output also says how each of them alone would have fared.

What is compared with the measured saving: the expected finding's alone; of a pair that mends several
kinds ("also"), or whose kind is several findings, the best set's.
"""
import json
import re
import statistics
import subprocess
from datetime import date

SIDES = ("before", "after")
REGION = "work"
NEAR, NEAR_RUN = 0.10, 0.01  # likely and measured saving: of the measured one, or of the region before
QUIET = 0.01  # of the region: what an `after` program or a trap may be advised
REPLAY_MEAN, REPLAY_MOST, REPLAY_PART = 0.03, 0.05, 0.9
BEGIN, END = "<!-- advice: begin -->", "<!-- advice: end -->"


# ---- a report --------------------------------------------------------------------------------

def analyze(arguments, trace):
    """The report, or one line why there is none."""
    command = [str(arguments.build.resolve() / "bin" / "xferscope"), "analyze", str(trace),
               "--profile", str(arguments.advice), "--format", "json", "--phase", REGION]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=arguments.limit, check=False)
        if done.returncode in (0, 3):
            return json.loads(done.stdout), None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return None, str(error).splitlines()[0]
    return None, f"exit status {done.returncode}: {(done.stderr.splitlines() or ['said nothing'])[-1]}"


def advised(report):
    """The findings that stand as such, in the report's order."""
    return [finding for finding in report["findings"] if not finding["saving_s"]["idle"]]


def first_of(report):
    """The kind that stands first on the first screen; None: nothing does."""
    asked = [finding for finding in report["findings"] if (finding.get("question") or {}).get("first")]
    if asked:
        return max(asked, key=lambda finding: finding["question"]["up_to_s"])["kind"]
    return next((finding["kind"] for finding in advised(report)), None)


def milliseconds(saving):
    """{low, likely, high}; None where it is not known."""
    if saving is None or saving["likely"] is None:
        return None
    return {key: saving[key] * 1e3 for key in ("low", "likely", "high")}


def phase(report):
    """The measured region, replayed without what recording cost; None: not known."""
    found = [p for p in report["whatif"]["phases"] if p["name"] == REGION]
    return found[0]["alone_s"] * 1e3 if found and found[0]["alone_s"] is not None else None


def loudest(report):
    """What is advised at most: kind, and part of the region, or of the run (None: not known). None: nothing is."""
    findings = advised(report)
    if not findings:
        return None
    unknown = [f for f in findings if f["saving_s"]["share"] is None]
    worst = unknown[0] if unknown else max(findings, key=lambda f: f["saving_s"]["share"])
    return {"kind": worst["kind"], "part": worst["saving_s"]["share"]}


def is_quiet(loud):
    return loud is None or loud["part"] is not None and loud["part"] <= QUIET


# ---- a pair ----------------------------------------------------------------------------------

def in_region(report):
    """Which part of what the best set saves in the run falls into the measured region: the steps that warm
    up lie outside. 1 where that is not known."""
    regions = [p for p in report["whatif"].get("phases", []) if p["name"] == REGION]
    saved = report["whatif"]["set_saving_s"]["likely"]
    if not regions or not saved or saved <= 0 or not regions[0].get("with_set_s"):
        return 1.0
    return max(0.0, min(1.0, (regions[0]["alone_s"] - regions[0]["with_set_s"]) / saved))


def finding_in_region(saving, report):
    """The same of one finding's saving."""
    region = phase(report)
    if region is None or not saving["likely"] or saving["likely"] <= 0 or saving["share_of"] != f"phase {REGION}":
        return 1.0
    return max(0.0, min(1.0, saving["share"] * region / 1e3 / saving["likely"]))


def part_of(saving, share_in):
    return None if saving is None else {key: value * share_in for key, value in saving.items()}


def predicted(about, report):
    """Of the measured region, the savings of what the pair is about: of the expected finding (or the bait) alone, of the best
    set, and which of them is compared with the measured one."""
    kind = about["finding"] or about.get("bait")
    alone = [f["saving_s"] for f in report["findings"] if f["kind"] == kind]
    standing = [saving for saving in alone if not saving["idle"]]
    best = max(alone, key=lambda s: s["likely"] if s["likely"] is not None else -1, default=None)
    several = bool(about.get("also")) or len(standing) > 1
    inside = in_region(report)
    alone = part_of(milliseconds(best), finding_in_region(best, report)) if best else None
    return {"alone": alone, "held": "set" if several else "alone",
            "set": part_of(milliseconds(report["whatif"]["set_saving_s"]), inside)}


def median_saving(savings):
    """Figure by figure, of those that are known."""
    known = [saving for saving in savings if saving is not None]
    return {key: statistics.median(saving[key] for saving in known) for key in known[0]} if known else None


def fares(saving, measured):
    """How a saving compares with the measured one; None: not known."""
    if saving is None or measured is None:
        return None
    off = saving["likely"] - measured["saved"]
    return {"error": off / measured["saved"] if measured["saved"] else None, "error_of_run": off / measured["before"],
            "near": abs(off) <= max(NEAR * abs(measured["saved"]), NEAR_RUN * measured["before"]),
            "inside": saving["low"] <= measured["saved"] <= saving["high"]}


def hold(entry, about, reports):
    """Adds what the records of `before` predict, and how that compares with what was measured."""
    each = [predicted(about, report) for report in reports]
    entry["held"] = each[0]["held"]
    for way in ("alone", "set"):
        entry[way] = median_saving([one[way] for one in each])
    entry.update(fares(entry[entry["held"]], entry["measured_ms"]) or {})
    singly = [fares(one[entry["held"]], entry["measured_ms"]) for one in each]
    entry["singly"] = [{"likely": one[entry["held"]]["likely"], "near": score["near"], "inside": score["inside"]}
                       for one, score in zip(each, singly) if score]


def region_runs(side):
    """The measured region in its unrecorded runs, ms."""
    return [one["work_ns"] / 1e6 for one in side.get("runs", [])]


def by_trying(measured, before, after):
    """The part of all couples of one unrecorded run before and one after whose difference is as near to the saving as
    is asked of a prediction: what making the change and timing it once would reach. None: there are no runs."""
    near = [fares({key: one - other for key in ("low", "likely", "high")}, measured)["near"]
            for one in before for other in after]
    return sum(near) / len(near) if near else None


def side_of(reports, median_ms, runs):
    """reports: of its records, that of the run in the middle first. runs: unrecorded, ms."""
    known = [alone for alone in map(phase, reports) if alone is not None]
    alone = statistics.median(known) if known else None
    return {"work_ms": alone, "error": (alone - median_ms) / median_ms if known and median_ms else None,
            "own_errors": [abs(run - median_ms) / median_ms for run in runs] if median_ms else [],
            "loudest": loudest(reports[0]), "why_not": reports[0]["whatif"]["why_not"]}


def judge(measured, reports):
    """All that is said of one pair. reports: by side, those of its records that there are."""
    about = measured["about"]
    medians = {side: measured[side]["median_work_ns"] for side in SIDES}
    entry = {"expected": about["finding"], "bait": about.get("bait"), "trap": about["finding"] is None,
             "measured_ms": None, "first": None, "right": None, "alone": None, "set": None, "held": "alone",
             "error": None, "error_of_run": None, "near": False, "inside": False, "singly": [], "replay": {},
             "near_by_trying": None}
    runs = {side: region_runs(measured[side]) for side in SIDES}
    if None not in medians.values():
        before, after = (medians[side] / 1e6 for side in SIDES)
        entry["measured_ms"] = {"before": before, "after": after, "saved": before - after}
        entry["near_by_trying"] = by_trying(entry["measured_ms"], runs["before"], runs["after"])
        entry["trap"] |= before - after <= QUIET * before
    for side, of_side in reports.items():
        entry["replay"][side] = side_of(of_side, medians[side] / 1e6 if medians[side] else None, runs[side])
    if "before" in reports:
        entry["first"] = first_of(reports["before"][0])
        entry["right"] = entry["first"] in [about["finding"], *about.get("also", [])]
        hold(entry, about, reports["before"])
    return entry


# ---- all of them -----------------------------------------------------------------------------

def quiet_ones(pairs):
    """By name: is it? Of each program that has nothing left to mend."""
    found = {}
    for name, entry in pairs.items():
        for side, replayed in entry["replay"].items():
            if side == "after" or entry["trap"]:
                found[f"{name[:2]} {side}"] = is_quiet(replayed["loudest"])
    return found


def counted(found):
    """Of how many it is so, and those of which it is not."""
    return {"yes": sum(found.values()), "of": len(found), "not": [name for name, so in found.items() if not so]}


def summary(pairs):
    wastes = {name[:2]: entry for name, entry in pairs.items() if not entry["trap"] and entry["measured_ms"]}
    singly = [one for entry in wastes.values() for one in entry["singly"]]
    errors = {f"{name[:2]} {side}": abs(replayed["error"]) for name, entry in pairs.items()
              for side, replayed in entry["replay"].items() if replayed["error"] is not None}
    tried = [entry["near_by_trying"] for entry in wastes.values() if entry["near_by_trying"] is not None]
    own = [replayed["own_errors"] for entry in pairs.values() for replayed in entry["replay"].values() if replayed["own_errors"]]
    return {"near": counted({name: entry["near"] for name, entry in wastes.items()}),
            "inside": counted({name: entry["inside"] for name, entry in wastes.items()}),
            "singly": {"of": len(singly), **{key: sum(one[key] for one in singly) for key in ("near", "inside")}},
            "right": counted({name: bool(entry["right"]) for name, entry in wastes.items()}),
            "quiet": counted(quiet_ones(pairs)),
            "tried": {"near": sum(tried), "of": len(tried), "sides": len(own),
                      "mean": statistics.mean(map(statistics.mean, own)) if own else None,
                      "within": sum(sum(error <= REPLAY_MOST for error in errors) / len(errors) for errors in own)},
            "replay": {"mean": statistics.mean(errors.values()) if errors else None,
                       **counted({name: error <= REPLAY_MOST for name, error in errors.items()})}}


def lines(sums):
    """The summary for people, against the goals."""
    def of(key):
        missed = f"; not {', '.join(sums[key]['not'])}" if sums[key]["not"] else ""
        return f"{sums[key]['yes']} of {sums[key]['of']}{missed}"
    mean, tried = sums["replay"]["mean"], sums["tried"]
    return [f"likely saving within {NEAR:.0%} of the measured one or {NEAR_RUN:.0%} of the region "
            f"(goal: nine in ten): {of('near')}",
            f"measured saving between low and high (goal: 95 %): {of('inside')}",
            f"the right finding first (goal: all): {of('right')}",
            f"nothing above {QUIET:.0%} of the region advised for `after` programs and traps (goal: all): {of('quiet')}",
            f"unchanged replay off by {'-' if mean is None else f'{mean:.1%}'} on average (goal: {REPLAY_MEAN:.0%}), "
            f"within {REPLAY_MOST:.0%} (goal: nine in ten): {of('replay')}",
            f"each record's prediction by itself: near {sums['singly']['near']} of {sums['singly']['of']}, "
            f"inside {sums['singly']['inside']} of {sums['singly']['of']}",
            *([f"in place of predictions, one unrecorded run before and one after: near {tried['near']:.1f} of "
               f"{tried['of']}; in place of the replay, one unrecorded run: off by {tried['mean']:.1%} on average, "
               f"within {REPLAY_MOST:.0%} {tried['within']:.1f} of {tried['sides']}"] if tried["mean"] is not None else [])]


# ---- the table -------------------------------------------------------------------------------

def number(value, form="{:.1f}"):
    return "-" if value is None else form.format(value)


def share(value):
    return number(value, "{:+.1%}")


def bounds(saving):
    return "-" if saving is None else "{likely:.1f} [{low:.1f}, {high:.1f}]".format(**saving)


def loud_text(replayed):
    if replayed is None or replayed["loudest"] is None:
        return "-" if replayed is None else "none"
    loud = replayed["loudest"]
    return f"{loud['kind']} {number(loud['part'], '{:.1%}')}"


def cells(name, entry):
    measured = entry["measured_ms"] or {}
    replay = [entry["replay"].get(side) for side in SIDES]
    expected = entry["expected"] or f"none (not {entry['bait']})"
    if entry["trap"] and entry["expected"]:
        expected = f"none here (not {expected})"
    right = {None: "-", True: "yes", False: "**no**"}
    judged = [share(entry["error"]), share(entry["error_of_run"]), right[entry["near"]], right[entry["inside"]]]
    if entry["trap"]:
        judged = ["", "", "", ""]
    loud = [loud_text(replay[0])] if entry["trap"] else []
    ranked = right[is_quiet(replay[0]["loudest"]) if replay[0] else None] if entry["trap"] else right[entry["right"]]
    return [name, expected, entry["first"] or "none", ranked,
            *[number(measured.get(key), "{:.2f}") for key in ("before", "after", "saved")],
            *[share(replayed["error"]) if replayed else "-" for replayed in replay],
            *[bounds(entry[key]) + (" *" if entry[key] and entry["held"] == key and not entry["trap"] else "")
              for key in ("alone", "set")],
            *judged, "; ".join([*loud, loud_text(replay[1])])]


HEADS = ["pair", "expected", "ranked first", "right", "before, ms", "after, ms", "saved, ms", "replay of before",
         "replay of after", "predicted alone, ms", "predicted set, ms", "off", "off, of the region", "near", "inside",
         "still advised"]


def table(pairs):
    rows = [HEADS, ["---"] * len(HEADS), *[cells(name, pairs[name]) for name in sorted(pairs)]]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def machine_line(document):
    machine = document["machine"]
    gpus = machine.get("gpus", [])
    names = sorted({gpu["name"] for gpu in gpus})
    driver = machine.get("driver_release") or "unknown"
    return (f"{len(gpus)} x {', '.join(names) or 'no GPU'}, {machine.get('cpu') or 'unknown processor'}, "
            f"{machine.get('cpus') or '?'} CPUs, driver {driver}"
            f"{', ' + machine['hypervisor'] if machine.get('hypervisor') else ''}"
            f"{', SIMULATED' if machine.get('simulated') else ''}")


def markdown(document):
    problems = [f"- {name}, {problem}\n" for name, problem in document["problems"]]
    return "".join([
        f"Machine: {machine_line(document)}. Recorded {document['recorded'] or '-'}, "
        f"analysed {document['analysed']}; medians of {document['runs'] or '-'} runs.\n\n",
        *[f"- {line}\n" for line in lines(document["summary"])], *problems, "\n", table(document["pairs"])])


def put_into(page, text):
    """Between the page's two marks."""
    whole = page.read_text()
    if not re.search(f"{BEGIN}.*{END}", whole, re.DOTALL):
        raise SystemExit(f"run: {page}: lacks {BEGIN} and {END}")
    begin, end = whole.index(BEGIN) + len(BEGIN), whole.index(END)
    page.write_text(f"{whole[:begin]}\n{text}{whole[end:]}")


# ---- the stage -------------------------------------------------------------------------------

def gather(arguments, measured):
    """By pair what analyze said of its programs, what went wrong, and the days of recording."""
    pairs, problems, days = {}, [], set()
    for name, measurement in sorted(measured.items()):
        if arguments.only and name.split("-")[0] not in arguments.only:
            continue
        reports = {}
        for side in SIDES:
            for trace in [measurement[side]["trace"], *measurement[side].get("others", [])]:
                report, why = analyze(arguments, arguments.out / trace)
                if report:
                    reports.setdefault(side, []).append(report)
                    days.add((report["run"]["started"] or "")[:10])
                else:
                    problems.append((name, f"{side}: {why}"))
        pairs[name] = judge(measurement, reports)
    return pairs, problems, ", ".join(sorted(days - {""}))


def advise(arguments):
    """Writes OUT/advice.json and OUT/advice.md, prints how the goals are met. False: part of it failed."""
    path = arguments.out / "times.json"
    if not path.exists():
        raise SystemExit(f"run: {path}: no such file; measure first")
    times = json.loads(path.read_text())["pairs"]
    pairs, problems, days = gather(arguments, times)
    counts = {len(measurement[side].get("runs", [])) for measurement in times.values() for side in SIDES} - {0}
    document = {"machine": json.loads(arguments.advice.read_text()).get("machine", {}), "recorded": days,
                "runs": " to ".join(str(n) for n in sorted({min(counts), max(counts)})) if counts else None,
                "analysed": date.today().isoformat(), "problems": problems, "summary": summary(pairs), "pairs": pairs}
    text = markdown(document)
    (arguments.out / "advice.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    (arguments.out / "advice.md").write_text(text)
    if arguments.page:
        put_into(arguments.page, text)
    for line in lines(document["summary"]):
        print(line)
    for name, problem in problems:
        print(f"{name}, {problem}")
    return not problems
