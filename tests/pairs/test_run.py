"""tests/pairs/run, with scripts in place of the recorder and of the programs."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import advice  # noqa: E402 (it lies beside this file)

RUN = Path(__file__).resolve().parent / "run"
ONE, TWO, TABLE = "01-pageable-upload", "10-peer-disabled", "13-repeated-transfer"

# Appends to the log beside it what it is; the nth call prints the nth line that it was given.
PROGRAM = """#!/bin/sh
echo {name} "$@" >>{log}
echo x >>{calls}
sed -n "$(wc -l <{calls})p" {lines}
exit {status}
"""
RECORDER = """#!/bin/sh
echo "$@" >>{log}
[ "$1" = analyze ] && exec cat "{reports}/$(basename "$2").json"
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


def printed(work_ns, total=5, transfers=3):
    return f"work_ns {work_ns} sum {total} transfers {transfers}"


def saving(likely, low=None, high=None):
    """As the report has it, from milliseconds."""
    return {key: None if ms is None else ms / 1e3 for key, ms in (("low", low), ("likely", likely), ("high", high))}


def made_finding(kind, low, likely, high, idle=False):
    """All of it in the region, which takes 100 ms."""
    return {"kind": kind, "saving_s": {**saving(likely, low, high), "idle": idle, "share": None if likely is None else likely / 100,
                                       "share_of": "phase work"}}


class InRegion(unittest.TestCase):
    """The steps that warm up save something, too, which the measured region does not show."""

    @staticmethod
    def part(**phase):
        whatif = {"set_saving_s": {"low": 0.0, "likely": 0.1, "high": 0.2}, "phases": [{"name": "work", **phase}]}
        return advice.in_region({"whatif": whatif})

    def test_in_region(self):
        self.assertAlmostEqual(self.part(alone_s=0.5, with_set_s=0.42), 0.8)
        self.assertEqual(self.part(alone_s=0.5, with_set_s=0.3), 1.0)
        self.assertEqual(self.part(alone_s=0.5, with_set_s=None), 1.0)

    def test_of_one_finding(self):
        """What it saves in the region is given as a share of that."""
        report = {"whatif": {"phases": [{"name": "work", "alone_s": 0.5}]}}
        saving = {"likely": 0.1, "share": 0.16, "share_of": "phase work"}
        self.assertAlmostEqual(advice.finding_in_region(saving, report), 0.8)
        self.assertEqual(advice.finding_in_region({**saving, "share": 0.3}, report), 1.0)
        self.assertEqual(advice.finding_in_region({**saving, "share_of": "the run"}, report), 1.0)
        self.assertEqual(advice.finding_in_region({**saving, "likely": None}, report), 1.0)

    def test_all_of_a_saving(self):
        self.assertEqual(advice.part_of({"low": 1.0, "likely": 2.0, "high": 4.0}, 0.5),
                         {"low": 0.5, "likely": 1.0, "high": 2.0})
        self.assertIsNone(advice.part_of(None, 0.5))


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xferscope-pairs-")
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name) / "build"
        self.out, self.log = Path(folder.name) / "out", Path(folder.name) / "log"
        self.reports = Path(folder.name) / "reports"
        self.script(self.build / "bin" / "xferscope", RECORDER.format(log=self.log, reports=self.reports))

    def script(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def program(self, pair, side, lines, status=0):
        path = self.build / "bin" / "pairs" / pair / side
        names = {"name": f"{pair[:2]}-{side}", "log": self.log, "calls": f"{path}.calls", "lines": f"{path}.lines"}
        self.script(path, PROGRAM.format(status=status, **names))
        Path(names["lines"]).write_text("\n".join(lines) + "\n")

    def pair(self, pair, before, after):
        self.program(pair, "before", [printed(ns) for ns in before])
        self.program(pair, "after", [printed(ns) for ns in after])

    def run_pairs(self, *options, status=0):
        done = subprocess.run([sys.executable, RUN, self.build, self.out, "--gpus", "1", "--record", "1", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def times(self):
        return json.loads((self.out / "times.json").read_text())["pairs"]

    def test_once_uncounted_recorded_once_then_in_turn(self):
        self.pair(ONE, [99000000, 9000000, 1000000, 4000000, 2000000], [99000000, 8000000, 500000, 510000, 490000])
        table = self.run_pairs("--only", "01", "--repeat", "3")
        log = self.log.read_text().splitlines()
        record = "record --quiet --force -o"
        self.assertEqual([line.split(" -- ")[0] for line in log],
                         ["01-before", "01-after", f"{record} {self.out}/01.0.xft", "01-before",
                          f"{record} {self.out}/01-after.0.xft", "01-after", *3 * ["01-before", "01-after"]])
        self.assertEqual(table.splitlines()[1].split(), [ONE, "2.000", "0.500", "1.500", "150.0%"])
        written = self.times()[ONE]
        self.assertEqual([run["work_ns"] for run in written["before"]["runs"]], [1000000, 4000000, 2000000])
        self.assertEqual([written[side]["recorded"]["work_ns"] for side in ("before", "after")], [9000000, 8000000])
        self.assertEqual((written["after"]["median_work_ns"], written["after"]["trace"]), (500000, "01-after.xft"))
        for run in written["before"]["runs"]:
            self.assertEqual((run["sum"], run["transfers"]), ("5", 3))
            self.assertGreater(run["wall_ns"], 0)

    def test_the_recorded_run_in_the_middle_stands_first(self):
        self.pair(ONE, [1, 7000000, 5000000, 6000000, 2000000], [1, 40, 10, 20, 1])
        for name in ("01", "01-after"):
            for i in range(3):
                (self.out / f"{name}.{i}.xft").mkdir(parents=True)
                (self.out / f"{name}.{i}.xft" / f"{i}").touch()
        self.run_pairs("--only", "01", "--repeat", "1", "--record", "3")
        written = self.times()[ONE]
        self.assertEqual([written[side]["recorded"]["work_ns"] for side in ("before", "after")], [6000000, 20])
        kept = sorted(str(path.relative_to(self.out)) for path in self.out.glob("*.xft/*"))
        self.assertEqual(kept, ["01-after.0.xft/0", "01-after.1.xft/1", "01-after.xft/2", "01.0.xft/0", "01.1.xft/1",
                                "01.xft/2"])
        self.assertEqual([sorted(written[side]["others"]) for side in ("before", "after")],
                         [["01.0.xft", "01.1.xft"], ["01-after.0.xft", "01-after.1.xft"]])

    def test_content_is_hashed_where_the_pair_says_so(self):
        self.pair(TABLE, [2] * 3, [1] * 3)
        self.run_pairs("--only", "13", "--repeat", "1")
        recorded = [line.split(" -- ")[0] for line in self.log.read_text().splitlines() if " -- " in line]
        self.assertEqual([line.split()[-1] for line in recorded], ["--content", "--content"])

    def test_others_go_on_when_one_fails(self):
        self.program(ONE, "before", [], status=7)
        self.program(ONE, "after", [printed(1)] * 5)
        self.pair(TABLE, [2000000] * 5, [1000000] * 5)
        table = self.run_pairs("--only", "01,13", "--repeat", "3", status=1).splitlines()
        self.assertEqual(self.times()[ONE]["problems"], ["before, first run: exit status 7: said nothing"])
        self.assertIn("before, first run: exit status 7", table[1])
        self.assertEqual(table[2].split(), [TABLE, "2.000", "1.000", "1.000", "0.0%"])
        self.assertEqual(self.log.read_text().splitlines().count("01-before"), 1)  # not again and again
        self.assertEqual(self.times()[ONE]["after"]["median_work_ns"], 1)

    def test_a_program_that_fails_later(self):
        self.program(ONE, "before", [printed(2)] * 2 + ["done"])
        self.program(ONE, "after", [printed(1)] * 5)
        self.run_pairs("--only", "01", "--repeat", "3", status=1)
        self.assertEqual(self.times()[ONE]["problems"], ["before: exit status 0: said nothing"])
        self.assertEqual(self.log.read_text().splitlines().count("01-before"), 3)

    def test_a_program_that_prints_no_times_has_failed(self):
        self.program(ONE, "before", ["done"] * 3)
        self.program(ONE, "after", [printed(1)] * 3)
        self.run_pairs("--only", "01", "--repeat", "1", status=1)
        self.assertIsNone(self.times()[ONE]["before"]["median_work_ns"])

    def test_sums_that_differ(self):
        self.program(ONE, "before", [printed(2)] * 3)
        self.program(ONE, "after", [printed(1), printed(1), printed(1, total=6)])
        self.run_pairs("--only", "01", "--repeat", "1", status=1)
        self.assertEqual(self.times()[ONE]["problems"], ["sums differ: before: 5; after: 5 6"])

    def test_a_program_that_hangs_is_ended_with_those_it_started(self):
        self.program(ONE, "before", [printed(1)] * 3)
        hanging = self.build / "bin" / "pairs" / ONE / "after"
        self.script(hanging, "#!/bin/sh\nsleep 1000 &\nwait\n")
        self.run_pairs("--only", "01", "--repeat", "1", "--limit", "1", status=1)
        self.assertEqual(self.times()[ONE]["problems"], ["after, first run: took more than 1 s"])

    def test_gpus_and_earlier_results(self):
        self.pair(ONE, [2] * 3, [1] * 3)
        self.pair(TWO, [2] * 3, [1] * 3)
        table = self.run_pairs("--only", "01,10", "--repeat", "1")
        self.assertEqual(table.splitlines()[-1], f"too few GPUs for: {TWO}")
        self.assertEqual(set(self.times()), {ONE})
        self.run_pairs("--only", "10", "--repeat", "1", "--gpus", "2")
        self.assertEqual(set(self.times()), {ONE, TWO})

    def test_wrong_usage(self):
        self.run_pairs("--only", "99", status=2)
        self.run_pairs("--repeat", "0", status=2)
        self.run_pairs("--advice-only", status=2)
        self.run_pairs("--page", "page.md", status=2)

    # ---- --advice -------------------------------------------------------------------------------

    def report(self, trace, findings=(), **whatif):
        """What analyze says of a run of 200 ms, 100 of them in the region; findings: made_finding()."""
        whatif = {"alone_s": 0.2, "why_not": None, "phases": [{"name": "other", "alone_s": 9.0},
                                                            {"name": "work", "alone_s": 0.1}],
                "set_saving_s": saving(None), **whatif}
        self.reports.mkdir(exist_ok=True)
        (self.reports / f"{trace}.json").write_text(json.dumps(
            {"run": {"started": "2026-01-02T03:04:05Z"}, "whatif": whatif, "findings": list(findings)}))

    def measured(self, pair, before_ms, after_ms, others=(), runs=None, **about):
        """A pair as an earlier call left it in times.json. runs: by side, the region in each, ms."""
        path, sides = self.out / "times.json", {"before": before_ms, "after": after_ms}
        self.out.mkdir(exist_ok=True)
        document = json.loads(path.read_text()) if path.exists() else {"pairs": {}}
        entry = {side: {"trace": f"{pair[:2]}{'-after' if side == 'after' else ''}.xft",
                       "median_work_ns": None if ms is None else ms * 1e6} for side, ms in sides.items()}
        entry["before"]["others"] = list(others)
        for side, each in (runs or {}).items():
            entry[side]["runs"] = [{"work_ns": ms * 1e6} for ms in each]
        document["pairs"][pair] = {"about": {"gpus": 1, "what": "", **about}, **entry}
        path.write_text(json.dumps(document))

    def advice(self, *options, status=0):
        profile = self.out / "machine.json"
        profile.write_text(json.dumps({"machine": {
            "cpu": "CPU", "cpus": 8, "driver_release": "1.2", "gpus": 2 * [{"name": "GPU"}], "hypervisor": None}}))
        printed_lines = self.run_pairs("--advice", profile, "--advice-only", *options, status=status).splitlines()
        document = json.loads((self.out / "advice.json").read_text())
        self.assertFalse([line for line in self.log.read_text().splitlines() if not line.startswith("analyze ")])
        return document, printed_lines

    def test_prediction_held_against_the_measured_saving(self):
        self.measured(ONE, 100, 60, finding="pageable-host-memory")
        self.report("01.xft", [made_finding("pageable-host-memory", 30, 38, 50),
                               made_finding("synchronous-transfer", 1, 2, 3, idle=True)],
                    set_saving_s=saving(38, 30, 50))
        self.report("01-after.xft", phases=[{"name": "work", "alone_s": 0.0618}])
        document, printed = self.advice()
        entry = document["pairs"][ONE]
        self.assertEqual(entry["measured_ms"], {"before": 100, "after": 60, "saved": 40})
        self.assertEqual(entry["alone"], {"low": 30, "likely": 38, "high": 50})
        self.assertEqual([entry[key] for key in ("first", "right", "held", "near", "inside")],
                         ["pageable-host-memory", True, "alone", True, True])
        self.assertAlmostEqual(entry["error"], -0.05)
        self.assertAlmostEqual(entry["error_of_run"], -0.02)
        self.assertAlmostEqual(entry["replay"]["before"]["error"], 0)
        self.assertAlmostEqual(entry["replay"]["after"]["error"], 0.03)
        self.assertAlmostEqual(entry["replay"]["before"]["loudest"]["part"], 0.38)
        self.assertEqual(
            printed, ["likely saving within 10% of the measured one or 1% of the region (goal: nine in ten): 1 of 1",
                   "measured saving between low and high (goal: 95 %): 1 of 1",
                   "the right finding first (goal: all): 1 of 1",
                   "nothing above 1% of the region advised for `after` programs and traps (goal: all): 1 of 1",
                   "unchanged replay off by 1.5% on average (goal: 3%), within 5% (goal: nine in ten): 2 of 2",
                   "each record's prediction by itself: near 1 of 1, inside 1 of 1"])
        page = (self.out / "advice.md").read_text()
        self.assertIn("Machine: 2 x GPU, CPU, 8 CPUs, driver 1.2. Recorded 2026-01-02, analysed ", page)
        self.assertIn("| 01-pageable-upload | pageable-host-memory | pageable-host-memory | yes | 100.00 | 60.00 | 40.00 "
                      "| +0.0% | +3.0% | 38.0 [30.0, 50.0] * | 38.0 [30.0, 50.0] | -5.0% | -2.0% | yes | yes | none |\n", page)

    def test_what_misses_its_goal_is_named(self):
        self.measured(ONE, 100, 60, finding="pageable-host-memory")
        self.report("01.xft", [made_finding("synchronous-transfer", 45, 46, 47),
                               made_finding("pageable-host-memory", 41, 45, 47)],
                    phases=[{"name": "work", "alone_s": 0.106}])
        self.report("01-after.xft", [made_finding("small-transfers", 0, 2.1, 3)],
                    phases=[{"name": "work", "alone_s": 0.06}])
        document, printed = self.advice()
        self.assertEqual(document["pairs"][ONE]["alone"]["likely"], 45)
        self.assertEqual([line.split(": ")[-1] for line in printed],
                         ["0 of 1; not 01", "0 of 1; not 01", "0 of 1; not 01", "0 of 1; not 01 after",
                          "1 of 2; not 01 before", "near 0 of 1, inside 0 of 1"])
        self.assertIn("| small-transfers 2.1% |\n", (self.out / "advice.md").read_text())

    def test_several_records_are_as_many_predictions(self):
        self.measured(ONE, 100, 60, finding="pageable-host-memory", others=["01.0.xft", "01.2.xft"])
        for trace, likely, alone in (("01.xft", 37, 0.1), ("01.0.xft", 60, 0.104), ("01.2.xft", 20, 0.13)):
            self.report(trace, [made_finding("pageable-host-memory", likely - 5, likely, likely + 5)],
                        phases=[{"name": "work", "alone_s": alone}])
        self.report("01-after.xft", phases=[{"name": "work", "alone_s": 0.06}])
        document, printed = self.advice()
        entry = document["pairs"][ONE]
        self.assertEqual(entry["alone"], {"low": 32, "likely": 37, "high": 42})
        self.assertEqual((entry["near"], entry["inside"]), (True, True))
        self.assertEqual([one["near"] for one in entry["singly"]], [True, False, False])
        self.assertAlmostEqual(entry["replay"]["before"]["error"], 0.04)
        self.assertEqual(printed[-1], "each record's prediction by itself: near 1 of 3, inside 1 of 3")

    def test_what_one_run_each_would_tell(self):
        """All couples of a run before and one after: 41, 38.5, 49, 46.5 saved; near are those of 36 to 44."""
        self.measured(ONE, 100, 60, runs={"before": [100, 108], "after": [59, 61.5]}, finding="pageable-host-memory")
        self.report("01.xft", [made_finding("pageable-host-memory", 30, 38, 50)])
        self.report("01-after.xft", phases=[{"name": "work", "alone_s": 0.06}])
        document, printed = self.advice()
        self.assertEqual(document["pairs"][ONE]["near_by_trying"], 0.5)
        self.assertEqual(printed[-1], "in place of predictions, one unrecorded run before and one after: near 0.5 of 1; in "
                                   "place of the replay, one unrecorded run: off by 3.0% on average, within 5% 1.5 of 2")

    def test_a_question_that_comes_first(self):
        asked = {**made_finding("host-device-turns", 0, 0, 90, idle=True), "question": {"first": True, "up_to_s": 0.09}}
        self.measured(ONE, 100, 40, finding="host-device-turns")
        self.report("01.xft", [made_finding("synchronous-transfer", 1, 2, 3), asked])
        self.report("01-after.xft")
        document, _ = self.advice()
        self.assertEqual(document["pairs"][ONE]["first"], "host-device-turns")

    def test_one_percent_of_the_region_is_near(self):
        self.measured(ONE, 100, 98, finding="pageable-host-memory")
        self.report("01-after.xft")
        for likely, near in ((2.9, True), (3.1, False)):
            self.report("01.xft", [made_finding("pageable-host-memory", 1, likely, 5)])
            self.assertEqual(self.advice()[0]["pairs"][ONE]["near"], near)

    def test_a_prediction_that_is_not_known_is_not_near(self):
        self.measured(ONE, 100, 60, finding="pageable-host-memory")
        self.measured(TWO, 100, 60, finding="peer-access-disabled")
        self.report("01.xft", [made_finding("pageable-host-memory", None, None, None)], phases=[])
        self.report("10.xft")
        self.report("01-after.xft", [made_finding("small-transfers", None, None, None)])
        self.report("10-after.xft", [made_finding("small-transfers", 0, 0.9, 3)])
        document, printed = self.advice()
        self.assertIsNone(document["pairs"][ONE]["replay"]["before"]["error"])
        self.assertEqual([line.split(": ")[-1] for line in printed[:4]],
                         ["0 of 2; not 01, 10", "0 of 2; not 01, 10", "1 of 2; not 10", "1 of 2; not 01 after"])

    def test_several_findings_are_held_as_a_set(self):
        self.measured(ONE, 100, 60, finding="pageable-host-memory", also=["small-transfers"])
        self.measured(TWO, 100, 60, finding="peer-access-disabled")
        for trace, kinds in (("01", ["small-transfers", "pageable-host-memory"]), ("10", 2 * ["peer-access-disabled"])):
            self.report(f"{trace}.xft", [made_finding(kind, 10, 20, 25) for kind in kinds],
                        set_saving_s=saving(39, 35, 42))
            self.report(f"{trace}-after.xft")
        document, _ = self.advice()
        for pair in (ONE, TWO):
            entry = document["pairs"][pair]
            self.assertEqual([entry[key] for key in ("held", "right", "near", "inside")], ["set", True, True, True])

    def test_traps(self):
        self.measured(ONE, 100, 101, finding=None, bait="pageable-host-memory")
        self.measured(TWO, 100, 101, finding=None, bait="peer-access-disabled")
        self.report("01.xft", [made_finding("pageable-host-memory", 0, 0.1, 1, idle=True)])
        self.report("10.xft", [made_finding("peer-access-disabled", 20, 30, 40)])
        for trace in ("01-after", "10-after"):
            self.report(f"{trace}.xft")
        document, printed = self.advice()
        self.assertEqual(printed[2:4], ["the right finding first (goal: all): 0 of 0",
                                     "nothing above 1% of the region advised for `after` programs and traps (goal: all): "
                                     "3 of 4; not 10 before"])
        rows = [line.split(" | ") for line in (self.out / "advice.md").read_text().splitlines()
                if line.startswith(("| 01-", "| 10-"))]
        self.assertEqual([row[1:4] for row in rows], [["none (not pageable-host-memory)", "none", "yes"],
                                                      ["none (not peer-access-disabled)", "peer-access-disabled", "**no**"]])
        self.assertEqual(rows[1][-1], "peer-access-disabled 30.0%; none |")
        self.assertEqual(document["summary"]["near"]["of"], 0)

    def test_a_pair_that_saves_nothing_here_is_a_trap(self):
        self.measured(ONE, 100, 99, finding="pageable-host-memory")
        self.measured(TWO, 100, 98, finding="peer-access-disabled")
        for trace in ("01", "10", "01-after", "10-after"):
            self.report(f"{trace}.xft")
        document, printed = self.advice()
        self.assertEqual(printed[2:4], ["the right finding first (goal: all): 0 of 1; not 10",
                                     "nothing above 1% of the region advised for `after` programs and traps (goal: all): "
                                     "3 of 3"])
        self.assertIn("| none here (not pageable-host-memory) | none | yes |", (self.out / "advice.md").read_text())
        self.assertEqual(document["summary"]["near"]["of"], 1)

    def test_what_cannot_be_analysed_is_reported(self):
        self.measured(ONE, 100, None, finding="pageable-host-memory")
        self.measured(TWO, 100, 60, finding="peer-access-disabled")
        self.report("01.xft", [made_finding("pageable-host-memory", 1, 2, 3)])
        self.report("10.xft")
        self.report("10-after.xft")
        document, printed = self.advice(status=1)
        self.assertEqual(len(document["problems"]), 1)
        self.assertRegex(printed[-1], f"^{ONE}, after: exit status 1: .*No such file")
        self.assertIsNone(document["pairs"][ONE]["measured_ms"])
        self.advice("--only", "10")
        self.assertEqual(set(json.loads((self.out / "advice.json").read_text())["pairs"]), {TWO})

    def test_the_page(self):
        self.measured(ONE, 100, 60, finding="pageable-host-memory")
        self.report("01.xft")
        self.report("01-after.xft")
        page = self.out / "page.md"
        page.write_text("above\n<!-- advice: begin -->\nold\n<!-- advice: end -->\nbelow\n")
        self.advice("--page", page)
        text = (self.out / "advice.md").read_text()
        self.assertEqual(page.read_text(),
                         f"above\n<!-- advice: begin -->\n{text}<!-- advice: end -->\nbelow\n")

    def test_measured_then_advised(self):
        self.pair(ONE, [2000000] * 3, [1000000] * 3)
        self.report("01.xft")
        self.report("01-after.xft")
        profile = self.build / "machine.json"
        profile.write_text("{}")
        printed = self.run_pairs("--only", "01", "--repeat", "1", "--advice", profile).splitlines()
        self.assertEqual(printed[0].split()[0], "PAIR")
        self.assertIn("; medians of 1 runs.\n", (self.out / "advice.md").read_text())
        self.assertEqual(printed[-5], "the right finding first (goal: all): 0 of 1; not 01")
        self.assertIn(f"analyze {self.out}/01-after.xft --profile {profile} --format json --phase work",
                      self.log.read_text().splitlines())


if __name__ == "__main__":
    unittest.main()
