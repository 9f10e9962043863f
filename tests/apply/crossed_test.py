"""Work that uses memory of two GPUs with access that only apply enabled: what frees memory of one, or waits for it, waits for that
work too, as it would without access. crossed_test.py BIN SIMGPU"""

import re
import sys
import unittest

from simulated import BIN, XFERSCOPE, run

FOUR = {"XFERSCOPE_SIMGPU_MACHINE": "sim-2socket-4gpu", "XFERSCOPE_APPLY_TRIALS": "0"}
WORKS = ("peer", "rows", "layers", "boxes", "batch", "graph", "up", "down", "set", "away", "again", "taken", "node")
ENDS = ("free", "host", "wait", "reset", "array")


class TestCrossed(unittest.TestCase):
    def crossed(self, what, how, *options, **settings):
        """Whether all was over behind it, and bytes that went by peer access."""
        done = run(XFERSCOPE, "apply", "--only", "peers", *options, "--", BIN / "apply" / "crossed", what, how, **FOUR, **settings)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "done"), done.stderr)
        return "behind it: cudaSuccess" in done.stdout, len(re.findall(r"P2P .* carried out", done.stderr))

    def test_work_of_every_shape(self):
        for what in WORKS:
            for lazy in ({}, {"XFERSCOPE_SIMGPU_LAZY": "1"}):
                with self.subTest(what, **lazy):
                    over, carried = self.crossed(what, "free", **lazy)
                    self.assertTrue(over and carried)

    def test_every_end(self):
        for how in ENDS:
            with self.subTest(how):
                self.assertTrue(self.crossed("peer", how)[0])

    def test_access_that_the_program_takes_over(self):
        """What was begun before it did is waited for, though access is not given back then."""
        self.assertTrue(self.crossed("taken", "reset")[0])

    def test_a_gpu_that_has_nothing_to_do_with_it(self):
        """Nothing waits where access is not ours."""
        done = run(BIN / "apply" / "crossed", "peer", "free", **FOUR)
        self.assertIn("behind it: cudaErrorNotReady", done.stdout)

    def test_a_graph_made_before(self):
        """It keeps access from being enabled, for good: it is not known how the driver has its copies made."""
        for how in ENDS:
            for what in ("early", "early-node"):
                with self.subTest(what, how=how):
                    self.assertEqual(self.crossed(what, how)[1], 0)

    def test_two_threads(self):
        """One frees memory that the other one's GPU copies to, and waits; the other one resets that GPU."""
        for _ in range(5):
            self.crossed("peer", "both")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
