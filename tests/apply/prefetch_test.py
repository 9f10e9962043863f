"""apply --plan, class prefetch: the plan that analyze makes of a run with managed memory, carried out on programs in
which it gains, in which it does not, and in which it must not be done. On the simulated GPU, by its clock.

prefetch_test.py BIN SIMGPU"""

import functools
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

from simulated import BIN, SIMGPU, XFERSCOPE, run, time_ns

PROGRAM = BIN / "apply" / "prefetched"
ROUNDS = 48


@functools.cache
def alone_once(mode, settings):
    return run(PROGRAM, mode, **dict(settings))


class Prefetch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.trace, cls.plan = Path(cls.folder.name) / "run.xft", Path(cls.folder.name) / "plan.json"
        for command in (("record", "-q", "-o", cls.trace, "--", PROGRAM, "steady"),
                        ("analyze", cls.trace, "-p", SIMGPU / "machines" / "sim-h200.json", "--plan", cls.plan)):
            done = run(XFERSCOPE, *command)
            if done.returncode != 0:
                raise AssertionError(done.stderr)
        cls.step = json.loads(cls.plan.read_text(encoding="utf-8"))["steps"][0]

    def both(self, mode, *options, **settings):
        """Alone and with the plan: the same. (launches given the memory, of these after a prefetch, the part of the
        time that it takes)."""
        alone = alone_once(mode, tuple((name, text) for name, text in settings.items() if name != "XFERSCOPE_APPLY_TRIALS"))
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertIn("\n", alone.stdout, "no such mode")
        done = run(XFERSCOPE, "apply", "--plan", self.plan, *options, "--", PROGRAM, mode, **settings)
        self.assertEqual(done.stdout, alone.stdout)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stderr
        asked = re.search(r"apply: prefetch allocate .*?: (?:(?:[0-9.]+ .iB of )?(\d+) (?:calls carried|as the))",
                          done.stderr)
        moved = re.search(r"apply: prefetch allocate .*?: ([0-9.]+) ([MG])iB of", done.stderr)
        mib = float(moved[1]) * (1024 if moved[2] == "G" else 1) if moved else 0
        return int(asked[1]) if asked else 0, round(mib / 8), time_ns(done) / time_ns(alone)

    # ---- what the plan says -------------------------------------------------------------------

    def test_the_plan_names_the_allocation(self):
        self.assertEqual((self.step["finding"], self.step["by"], self.step["carry_out"]),
                         ("managed-demand-migration", "prefetch", True))
        self.assertEqual(len(self.step["sites"]), 1)
        self.assertEqual(self.step["sites"][0]["function"], "allocate")
        self.assertGreater(self.step["saving_s"]["likely"], self.step["apply_saving_s"]["likely"])
        self.assertIn("needed next", self.step["assumes"])

    # ---- where it gains -------------------------------------------------------------------------

    def test_it_gains(self):
        for mode in ("steady", "in_a_stream", "in_streams", "forked"):
            with self.subTest(mode):
                asked, done, part = self.both(mode)
                self.assertEqual(asked, ROUNDS)
                self.assertGreater(done, 36, self.said)  # all but the trials
                self.assertLess(part, 0.7, self.said)
                self.assertRegex(self.said, r" saved \(step 1 of the plan, managed-demand-migration: ")

    def test_what_is_said_was_saved(self):
        alone = time_ns(run(PROGRAM, "steady"))
        _, _, part = self.both("steady")
        said = float(re.search(r"calls carried out, ([0-9.]+) ms of kernels' time saved", self.said)[1]) * 1e6
        self.assertAlmostEqual(said / (alone * (1 - part)), 1, delta=0.1)

    def test_it_gains_what_was_predicted(self):
        """To the GPU alone, with its trials: not what the fix saves, which has both ways."""
        alone = time_ns(run(PROGRAM, "steady"))
        _, _, part = self.both("steady")
        predicted = {end: ns / alone * 1e9 for end, ns in self.step["apply_saving_s"].items()}
        self.assertLess(predicted["low"], 1 - part)
        self.assertLess(1 - part, predicted["high"])
        self.assertAlmostEqual(predicted["likely"], 1 - part, delta=0.02)

    def test_it_is_recorded(self):
        after = Path(self.folder.name) / "after.xft"
        done = run(XFERSCOPE, "record", "-q", "--apply", self.plan, "-o", after, "--", PROGRAM, "steady")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(run(XFERSCOPE, "dump", after).stdout, r"meta apply\.1=prefetch 1 48 \d\d ")

    # ---- where it does not ----------------------------------------------------------------------

    def test_where_it_does_not_gain_only_trials_are_made(self):
        for mode, most in (("resident", 2), ("little", 2), ("ahead", 2), ("not_looked_at", 2 * 6)):
            with self.subTest(mode):
                _, done, _ = self.both(mode)
                self.assertLessEqual(done, most, self.said)
                self.assertIn("it does not gain, and is left as the program asked", self.said)

    # ---- where it must not be done ---------------------------------------------------------------

    def test_what_the_program_places_itself_is_left_to_it(self):
        self.assertEqual(self.both("advised")[:2], (2, 0))  # until it says so
        self.assertEqual(self.both("prefetched")[:2], (0, 0))
        self.assertEqual(self.both("advised", XFERSCOPE_APPLY_TRIALS="0")[1], 2)

    def test_never_what_evicts(self):
        self.assertEqual(self.both("full", XFERSCOPE_APPLY_TRIALS="0")[:2], (ROUNDS, 0))
        self.assertIn(f"; {ROUNDS} without room on the GPU", self.said)

    def test_not_while_a_graph_is_captured(self):
        self.assertEqual(self.both("captured", XFERSCOPE_APPLY_TRIALS="0")[:2], (10, 10))

    def test_not_in_the_default_stream_of_several_threads(self):
        first = ROUNDS // 2  # launches of one thread, before another has any
        self.assertEqual(self.both("two_threads", XFERSCOPE_APPLY_TRIALS="0")[:2], (first, first), self.said)

    def test_not_for_kernels_of_several_gpus(self):
        self.assertEqual(self.both("two_gpus", XFERSCOPE_APPLY_TRIALS="0",
                                   XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu")[:2], (3, 3), self.said)

    def test_launches_that_fail(self):
        self.assertLessEqual(self.both("failing", XFERSCOPE_APPLY_TRIALS="0")[0], 1, self.said)

    def test_prefetches_that_fail_are_not_the_programs(self):
        for call in (1, 20):
            with self.subTest(call):
                self.assertEqual(self.both("steady", XFERSCOPE_APPLY_TRIALS="0",
                                           XFERSCOPE_SIMGPU_FAIL=f"cuMemPrefetchAsync_v2:{call}:1")[1], call - 1)
        for name in ("cuEventCreate", "cuEventRecord", "cuEventElapsedTime", "cuMemGetInfo_v2", "cuPointerGetAttributes"):
            with self.subTest(name):
                self.assertEqual(self.both("steady", XFERSCOPE_SIMGPU_FAIL=f"{name}:1:999")[1], 0, self.said)

    def test_all_else(self):
        for mode in ("freed", "reloaded", "reset", "forked", "not_looked_at", "ahead", "steady"):
            for lazy in "01":
                with self.subTest(mode, lazy=lazy):
                    self.both(mode, XFERSCOPE_APPLY_TRIALS="0", XFERSCOPE_SIMGPU_LAZY=lazy)
                    self.both(mode, "--check", XFERSCOPE_SIMGPU_LAZY=lazy)

    # ---- switched off -----------------------------------------------------------------------------

    def test_switched_off(self):
        site = f"prefetched+{self.step['sites'][0]['offset']}"
        for options in (("--off", site), ("--only", "staging")):
            with self.subTest(options):
                asked, done, part = self.both("steady", *options)
                self.assertEqual((asked, done, part), (0, 0, 1))
        environment = run(XFERSCOPE, "apply", "--plan", self.plan, "--", "env", "XFERSCOPE_APPLY=off", PROGRAM, "steady")
        self.assertEqual(time_ns(environment), time_ns(run(PROGRAM, "steady")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
