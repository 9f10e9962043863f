"""Pairs of which transfers could go, or seem to, on the simulated GPU: recorded with contents, the
finding is the one that pair.json names, what it would save is what the change saves by the virtual
clock, and programs after the change, and the traps, have none that is worth anything."""
import json
import re
import unittest
from pathlib import Path

from lab import BUILD, XFERSCOPE, Bench, environment, run

HERE = Path(__file__).resolve().parent
KINDS = {"repeated-transfer", "round-trip", "duplicate-transfer", "unused-transfer", "unused-download",
         "constant-content"}
MACHINE = "sim-2socket-4gpu"
PROFILE = BUILD / "lib" / "simgpu" / "machines" / f"{MACHINE}.json"
SIZE = ["--quick", "--steps", "20", "--bytes", str(4 << 20)]
SIMULATED = {"XFERSCOPE_SIMGPU_MACHINE": MACHINE, "XFERSCOPE_CONTENT_SHARE": "0",
             "XFERSCOPE_HOST_ACCESS_SHARE": "0"}
NEAR = 0.1      # of what the change saves; the step that warms up is in it
WORTHLESS = 0.01  # of the run


class LeftOut(Bench):
    def work_ns(self, pair, side):
        result = run([BUILD / "bin" / "pairs" / pair / side, *SIZE], env=environment(**SIMULATED))
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return int(re.search(rb"work_ns (\d+)", result.stdout)[1])

    def findings(self, pair, side):
        """Those of our kinds, and how long the run took."""
        trace = self.folder / f"{pair}-{side}.xft"
        about = json.loads((HERE / pair / "pair.json").read_text())
        how = "--host-access" if about.get("content") == "host-access" else "--content"
        result = run([XFERSCOPE, "record", how, "-o", trace, "--", BUILD / "bin" / "pairs" / pair / side,
                      *SIZE], env=environment(**SIMULATED))
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        result = run([XFERSCOPE, "analyze", trace, "-p", PROFILE, "--format", "json"])
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        report = json.loads(result.stdout)
        found = [finding for finding in report["findings"] if finding["kind"] in KINDS]
        return found, report["run"]["wall_s"]

    def check_worthless(self, pair, side):
        found, wall_s = self.findings(pair, side)
        for finding in found:
            self.assertLess(finding["saving_s"]["likely"], WORTHLESS * wall_s, finding["kind"])

    def check_found(self, pair, kind):
        found, _ = self.findings(pair, "before")
        self.assertTrue(found)
        saving = found[0]["saving_s"]
        gained = (self.work_ns(pair, "before") - self.work_ns(pair, "after")) / 1e9
        self.assertEqual(found[0]["kind"], kind)
        self.assertAlmostEqual(saving["likely"], gained, delta=NEAR * gained)
        self.assertLessEqual(saving["low"], gained)
        self.assertGreaterEqual(saving["high"], gained)

    def test_all(self):
        checked = 0
        for path in sorted(HERE.glob("[0-9][0-9]-*/pair.json")):
            about, pair = json.loads(path.read_text()), path.parent.name
            with self.subTest(pair=pair):
                if about["finding"] in KINDS:
                    self.check_found(pair, about["finding"])
                    checked += 1
                elif about.get("bait") in KINDS:
                    self.check_worthless(pair, "before")
                    self.check_worthless(pair, "after")
                    checked += 1
        self.assertEqual(checked, 8)


if __name__ == "__main__":
    unittest.main()
