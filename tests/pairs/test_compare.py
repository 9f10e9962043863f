"""Pairs recorded on the simulated GPU and compared with each other by analyze --compare: whether the advice
paid is known, for its clock is virtual and the pair's own time says what the change saved."""
import json
import shutil
import tempfile
import unittest
from pathlib import Path

from lab import BUILD, XFERSCOPE, Bench, record, run

PAIRS = BUILD / "bin" / "pairs"
SIZES = ("--steps", "20", "--bytes", str(4 << 20))


class Compare(Bench):
    @classmethod
    def setUpClass(cls):
        folder = Path(tempfile.mkdtemp(prefix="xferscope-e2e-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.profile = folder / "machine.json"
        probed = run([XFERSCOPE, "probe", "--quick", "--filter", "^copy/(pinned|pageable)/", "--time-limit", "250",
                      "-o", cls.profile])
        if probed.returncode != 0:
            raise AssertionError(probed.stderr)

    def recorded(self, pair, side, name):
        """What the program says its steps took."""
        done = record(PAIRS / pair / side, *SIZES, cwd=self.folder, options=["-o", name])
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout.split()[1])

    def compare(self, *arguments, status=0):
        done = run([XFERSCOPE, "analyze", "--compare", *arguments, "-p", self.profile, "-f", "json"], cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def test_advice_that_was_followed(self):
        pair = "01-pageable-upload"
        before = [self.recorded(pair, "before", f"before{i}") for i in range(4)]
        after = [self.recorded(pair, "after", f"after{i}") for i in range(4)]
        document = self.compare(*(f"before{i}.xft" for i in range(4)), "--to", *(f"after{i}.xft" for i in range(4)))
        self.assertTrue(document["noise"]["known"])
        (phase,) = document["phases"]
        self.assertEqual(phase["name"], "work")
        self.assertAlmostEqual(phase["time"]["shift_s"], (after[0] - before[0]) / 1e9, delta=1e-5)
        self.assertEqual(phase["time"]["verdict"], "faster")
        (upload,) = [row for row in document["transfers"] if row["direction"] == "H2D"]
        self.assertEqual((upload["before"]["src_memory"], upload["after"]["src_memory"]), ("pageable", "pinned"))
        self.assertEqual(upload["differs"], ["memory"])
        self.assertEqual(upload["time"]["verdict"], "faster")
        gone = [finding["kind"] for finding in document["findings"] if finding["stands"] == "gone"]
        self.assertEqual(gone, ["pageable-host-memory"])
        # The set overlaps what is page-locked, too, which saves more; the program was only page-locked.
        self.assertEqual(document["advice"]["predicted"], "one")
        self.assertEqual({payoff["paid"] for payoff in document["advice"]["payoffs"]}, {"within"})

    def test_the_way_back_fails(self):
        pair = "01-pageable-upload"
        self.recorded(pair, "before", "before")
        self.recorded(pair, "after", "after")
        document = self.compare("after.xft", "before.xft", "--fail-on", "5", status=5)
        self.assertTrue(document["fail_on"]["failed"])
        self.assertEqual(document["run"]["span"]["verdict"], "slower")
        self.assertIn("pageable-host-memory", [f["kind"] for f in document["findings"] if f["stands"] == "new"])
        self.assertFalse(self.compare("after.xft", "before.xft", "--fail-on", "500")["fail_on"]["failed"])
        self.assertFalse(self.compare("before.xft", "after.xft", "--fail-on", "5")["fail_on"]["failed"])

    def test_a_change_that_saves_nothing(self):
        pair = "11-trap-readback"
        self.recorded(pair, "before", "before")
        self.recorded(pair, "after", "after")
        document = self.compare("before.xft", "after.xft", "--fail-on", "5")
        self.assertEqual(document["run"]["span"]["verdict"], "within-noise")


if __name__ == "__main__":
    unittest.main()
