"""apply --plan, class streams, copies alone (launched_test.py has kernels and fills): the plan that analyze makes of a run whose threads copy in the legacy default stream,
carried out on programs in which it gains, in which it does not, and in which it ends. On the simulated GPU, by its
clock, and where it works only when something waits for it (XFERSCOPE_SIMGPU_LAZY): there a copy that does not wait for
what it should wait for finds other bytes.

streams_test.py BIN SIMGPU"""

import re
import sys
import tempfile
import unittest
from pathlib import Path

from simulated import AT_ONCE, BIN, LAZY, ORDERS, XFERSCOPE, compare_plan, default_stream_steps, run, time_ns, write_plan

PROGRAM = BIN / "apply" / "streamed"
ROUNDS, FEW_ROUNDS = 200, 60  # of the program, where times are compared and elsewhere
ENDED = "in the legacy default stream, with work that it orders beside it"


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        cls.addClassCleanup(cls.folder.cleanup)
        (cls.step,) = cls.steps_of("both_ways")
        cls.plan = write_plan(Path(cls.folder.name) / "plan.json", cls.step, kernels_apart=False)
        compare_plan(cls.plan, PROGRAM, "both_ways")

    @classmethod
    def steps_of(cls, mode):
        return default_stream_steps(cls.folder.name, PROGRAM, mode)

    def both(self, mode, *options, **settings):
        """Alone and with the plan: the same. (Copies at the planned sites, of these in streams of ours, the part of
        the time that it takes)."""
        alone = run(PROGRAM, mode, **{name: text for name, text in settings.items() if name in LAZY})
        self.assertIn("last error", alone.stdout, "no such mode")
        done = run(XFERSCOPE, "apply", "--plan", self.plan, *options, "--", PROGRAM, mode, **settings)
        self.assertEqual((done.returncode, done.stdout), (0, alone.stdout), done.stderr)
        self.said = done.stderr
        asked = made = 0
        for line in re.findall(r"apply: streams .*", done.stderr):
            part = re.search(r": (\d+) MiB of (\d+) calls carried out", line)  # each of 1 MiB
            asked += int(part[2] if part else re.search(r": (\d+) as the program asked", line)[1])
            made += int(part[1]) if part else 0
        return asked, made, time_ns(done) / time_ns(alone)

    # ---- what the plan says -------------------------------------------------------------------

    def test_the_plan_names_copies_that_are_waited_for(self):
        for step in (self.step, *self.steps_of("loops")):
            self.assertEqual((step["by"], step["remedy"]), ("streams", "stream-per-thread"))
            self.assertEqual({(site["function"], site["call"]) for site in step["sites"]},
                             {("upload", "cudaMemcpy"), ("download", "cudaMemcpy")})
            self.assertGreater(step["saving_s"]["likely"], 0)

    def test_other_work_of_that_stream_is_no_copy(self):
        (step,) = self.steps_of("kernels")
        self.assertIsNone(step["by"])
        self.assertIn("a kernel may use", step["why_not"])
        self.assertEqual(step["sites"][0]["call"], "cuMemsetD8_v2")

    # ---- whether it gains -----------------------------------------------------------------------

    def test_it_gains(self):
        for mode, threads, most in (("both_ways", 2, 0.7), ("four", 4, 0.6)):
            with self.subTest(mode):
                asked, made, part = self.both(mode)
                self.assertGreater(asked, 0.95 * threads * ROUNDS)  # a site that another thread has is left
                self.assertGreater(made, asked - 100, self.said)  # all but the trials
                self.assertLess(part, most, self.said)
                self.assertRegex(self.said, r" saved .*\(step 1 of the plan, default-stream-serialization: ")

    def test_it_gains_what_was_predicted(self):
        _, made, part = self.both("both_ways", **AT_ONCE)
        alone = time_ns(run(PROGRAM, "both_ways"))
        self.assertEqual(made, 2 * ROUNDS)
        self.assertAlmostEqual((1 - part) * alone / (self.step["saving_s"]["likely"] * 1e9), 1, delta=0.15)

    def test_what_does_not_gain_is_left(self):
        for mode in ("one_way", "alone", "loops"):
            with self.subTest(mode):
                _, made, part = self.both(mode)
                self.assertTrue(0 < made < 150, self.said)
                self.assertLess(part, 1.02, self.said)
                self.assertIn("it does not gain, and is left as the program asked", self.said)

    # ---- the order ------------------------------------------------------------------------------

    def test_order(self):
        for mode in ("loops", "together", "threads_that_end", "forks", "fails"):
            for settings in ORDERS:
                with self.subTest(mode, **settings):
                    asked, made, _ = self.both(mode, **settings)
                    self.assertGreater(made, 0.95 * asked, self.said)
                    self.assertNotIn(ENDED, self.said)

    def test_memory_that_threads_share(self):
        for settings in ORDERS:
            asked, _, _ = self.both("shared", **settings)
            self.assertGreater(asked, 1.5 * FEW_ROUNDS)

    def test_one_thread(self):
        self.assertEqual(self.both("only_one", **AT_ONCE)[:2], (0, 0), self.said)

    # ---- what ends it ---------------------------------------------------------------------------

    def test_work_that_is_not_ordered_with_it_ends_it(self):
        for mode in ("in_a_stream", "in_a_threads_own", "filled_in_a_threads_own", "copied_in_a_threads_own",
                     "in_rows", "host_function", "captured", "reset", "graph"):
            for settings in ORDERS:
                with self.subTest(mode, **settings):
                    _, made, _ = self.both(mode, **settings)
                    self.assertTrue(0 < made < 6.1 * (FEW_ROUNDS if mode == "reset" else 31), self.said)
                    self.assertIn(ENDED, self.said)

    # ---- what the user says ---------------------------------------------------------------------

    def test_only_with_a_plan(self):
        for options in ((), ("--only", "all")):
            done = run(XFERSCOPE, "apply", *options, "--", PROGRAM, "both_ways", **AT_ONCE)
            self.assertNotIn("apply: streams", done.stderr)

    def test_switched_off(self):
        self.assertEqual(self.both("both_ways", "--only", "staging", **AT_ONCE)[:2], (0, 0), self.said)
        site = re.search(r"streams H2D upload \(.*?\) (streamed\+0x[0-9a-f]+)", self.both("both_ways") and self.said)
        asked, made, _ = self.both("both_ways", "--off", site[1], **AT_ONCE)
        self.assertEqual((asked, made), (2 * ROUNDS, ROUNDS), self.said)

    def test_check(self):
        for mode, threads in (("both_ways", 2), ("loops", 6)):
            self.both(mode, "--check")
            compared = [int(n) for n in re.findall(r"; (\d+) compared, 0 different", self.said)]
            self.assertGreater(sum(compared), 0.95 * threads * ROUNDS, self.said)

    # ---- errors ---------------------------------------------------------------------------------

    def test_a_driver_that_fails(self):
        for what in ("cuStreamCreate:1:2", "cuStreamSynchronize:1:2", "cuMemcpyHtoDAsync_v2:3:2"):
            with self.subTest(what):
                self.both("both_ways", **AT_ONCE, XFERSCOPE_SIMGPU_FAIL=what)
                self.assertIn("made again as asked, after an attempt", self.said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
