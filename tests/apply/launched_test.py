"""apply --plan, class streams, with kernels and fills ("kernels_apart"): whether threads' loops of upload, kernel and
download gain, and whether everything stays in order. On the simulated GPU, by its clock, and where it works only when
something waits for it (XFERSCOPE_SIMGPU_LAZY): there what does not wait for what it should wait for finds other bytes.
And that a plan is carried out only once a run with --check has compared it.

launched_test.py BIN SIMGPU"""

import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

from simulated import AT_ONCE, BIN, LAZY, ORDERS, XFERSCOPE, compare_plan, default_stream_steps, run, time_ns, write_plan

STREAMED, LAUNCHED = BIN / "apply" / "streamed", BIN / "apply" / "launched"
ROUNDS = 40  # of launched


class Plans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        cls.addClassCleanup(cls.folder.cleanup)

    @classmethod
    def steps_of(cls, program, mode):
        return default_stream_steps(cls.folder.name, program, mode)

    @classmethod
    def write_plan(cls, name, step, **changes):
        return write_plan(Path(cls.folder.name) / name, step, **changes)

    @classmethod
    def make_plan(cls, program, mode, compared):
        """The plan of one mode, compared in another one."""
        (cls.step,) = cls.steps_of(program, mode)
        cls.plan = cls.write_plan("plan.json", cls.step)
        compare_plan(cls.plan, program, compared)

    def applied(self, plan, program, mode, *options, **settings):
        """Alone and with the plan: the same. The part of the time that it takes."""
        alone = run(program, mode, **{name: text for name, text in settings.items() if name in LAZY})
        self.assertNotIn("no such mode", alone.stdout)
        done = run(XFERSCOPE, "apply", "--plan", plan, *options, "--", program, mode, **settings)
        self.assertEqual((done.returncode, done.stdout), (0, alone.stdout), done.stderr)
        self.said = done.stderr
        return time_ns(done) / time_ns(alone) if "simulated:" in alone.stderr else None

    def moved(self):
        """Kernels and fills in threads' own streams, times in order again."""
        counts = re.search(r"streams: (\d+) kernels and (\d+) fills in .*, (\d+) times in order", self.said)
        return tuple(int(n) for n in counts.groups()) if counts else (0, 0, 0)


class Loops(Plans):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.make_plan(STREAMED, "loops", "together")

    def test_the_plan_says_that_kernels_may(self):
        self.assertIs(self.step["kernels_apart"], True)
        self.assertIn("kernels reach only the allocations that their arguments name", self.step["assumes"])

    def test_it_does_not_where_threads_share_memory(self):
        for step in self.steps_of(STREAMED, "shared"):
            self.assertIsNot(step.get("kernels_apart"), True)

    def test_it_gains(self):
        for mode, threads, most in (("two_loops", 2, 0.65), ("loops", 3, 0.5), ("four_loops", 4, 0.4)):
            with self.subTest(mode):
                part = self.applied(self.plan, STREAMED, mode)
                kernels, fills, _ = self.moved()
                self.assertTrue(160 * threads < min(kernels, fills) <= max(kernels, fills) <= 200 * threads, self.said)
                self.assertLess(part, most, self.said)

    def test_it_gains_what_was_predicted(self):
        part = self.applied(self.plan, STREAMED, "loops", **AT_ONCE)
        saved = (1 - part) * time_ns(run(STREAMED, "loops"))
        self.assertAlmostEqual(saved / (self.step["saving_s"]["likely"] * 1e9), 1, delta=0.15)

    def test_one_thread_is_left(self):
        self.applied(self.plan, STREAMED, "only_one", **AT_ONCE)
        self.assertEqual(self.moved(), (0, 0, 0), self.said)
        self.assertLess(self.applied(self.plan, STREAMED, "alone"), 1.02, self.said)
        self.assertLess(self.moved()[0], 110, self.said)

    def test_order(self):
        for mode in ("loops", "together", "shared", "threads_that_end", "forks", "fails", "in_a_stream",
                     "in_a_threads_own", "filled_in_a_threads_own", "copied_in_a_threads_own", "in_rows",
                     "host_function", "captured", "graph", "reset"):
            for settings in ORDERS:
                with self.subTest(mode, **settings):
                    self.applied(self.plan, STREAMED, mode, **settings)
                    self.assertGreater(self.moved()[0], 0, self.said)

    def test_without_the_grant_kernels_stay(self):
        plan = self.write_plan("copies.json", self.step, kernels_apart=False)
        self.applied(plan, STREAMED, "together", "--check")
        self.assertIn(".checked: ", self.said)
        self.applied(plan, STREAMED, "together", **AT_ONCE)
        self.assertEqual(self.moved(), (0, 0, 0), self.said)
        self.assertIn("apply: streams H2D", self.said)

    def test_a_driver_that_fails(self):
        for what in ("cuMemsetD8Async:10:2", "cuStreamCreate:1:2", "cuEventCreate:1:2"):
            with self.subTest(what):
                self.applied(self.plan, STREAMED, "together", **AT_ONCE, XFERSCOPE_SIMGPU_FAIL=what)


class Order(Plans):
    """What one thread gave the stream, and another one relies on."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.make_plan(LAUNCHED, "side_by_side", "loops")

    def check(self, mode, kernels, fills=0):
        for settings in ORDERS:
            with self.subTest(mode, **settings):
                self.applied(self.plan, LAUNCHED, mode, **settings)
                moved = self.moved()
                self.assertLessEqual(abs(moved[0] - kernels), 1, self.said)
                self.assertLessEqual(abs(moved[1] - fills), 2, self.said)

    def test_each_its_own(self):
        self.check("loops", 2 * ROUNDS)
        self.assertEqual(self.moved()[2], 0, self.said)

    def test_memory_of_another_thread(self):
        for mode, kernels, fills in (("used_again", 2, 0), ("copied", 1, 0), ("overwritten", 1, 0),
                                     ("launched_behind", 1, 2), ("filled_behind", 1, 1), ("given_two", 2, 0)):
            self.check(mode, kernels * ROUNDS, fills * ROUNDS)
            self.assertGreaterEqual(self.moved()[2], ROUNDS - 1, self.said)

    def test_waits(self):
        self.check("context", ROUNDS)
        self.check("event", ROUNDS)
        self.assertGreaterEqual(self.moved()[2], ROUNDS - 1, self.said)
        self.check("stream", 2 * ROUNDS)
        self.assertEqual(self.moved()[2], 0, self.said)

    def test_what_ends_it(self):
        for mode in ("asked", "in_a_stream", "in_a_threads_own", "host_function"):
            self.check(mode, 1)
            self.assertIn("in the legacy default stream, with work that it orders beside it", self.said)

    def test_captures(self):
        self.check("captured", ROUNDS)

    def test_memory_that_others_see(self):
        for mode in ("locked", "managed"):
            self.check(mode, 0)
        self.check("fetched", ROUNDS)

    def test_memory_that_is_freed(self):
        self.check("freed", 2 * ROUNDS, ROUNDS)

    def test_launches_that_fail(self):
        self.check("refused", 0)

    def test_modules_that_are_unloaded(self):
        self.check("loaded_anew", 2 * ROUNDS)


class Readers(Plans):
    """Kernels of both threads are given one table, which they only read: so their names and the plan say, and --check."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.make_plan(LAUNCHED, "tables", "table_read")
        cls.written = write_plan(Path(cls.folder.name) / "written.json", cls.step, kernels_read=[])
        compare_plan(cls.written, LAUNCHED, "table_read")

    def test_the_plan_says_who_reads(self):
        self.assertIs(self.step["kernels_apart"], True)
        self.assertEqual(self.step["kernels_read"], [{"kernel": "_Z9add_tablePhPKh", "arguments": [2]}])
        self.assertIn("; kernels only read what kernels_read says", self.step["assumes"])
        (other,) = self.steps_of(LAUNCHED, "side_by_side")
        self.assertEqual((other["kernels_apart"], other["kernels_read"]), (True, []))
        self.assertNotIn("kernels_read", other["assumes"])

    def test_loops_that_read_one_memory_gain(self):
        self.assertLess(self.applied(self.plan, LAUNCHED, "tables", **AT_ONCE), 0.8, self.said)
        self.assertEqual(self.moved()[::2], (2 * ROUNDS - 1, 0), self.said)
        part = self.applied(self.plan, LAUNCHED, "table_both", **AT_ONCE)
        self.assertEqual(self.moved()[::2], (2 * ROUNDS, 0), self.said)
        as_writers = self.applied(self.written, LAUNCHED, "table_both", **AT_ONCE)
        self.assertEqual(self.moved()[::2], (2 * ROUNDS, ROUNDS), self.said)
        self.assertLess(part, as_writers - 0.05)

    def test_order(self):
        for mode, kernels, joined in (("table_read", 2, 1), ("table_overwritten", 1, 1), ("table_itself", 2, 1)):
            for settings in ORDERS:
                with self.subTest(mode, **settings):
                    self.applied(self.plan, LAUNCHED, mode, **settings)
                    self.assertLessEqual(abs(self.moved()[0] - kernels * ROUNDS), 1, self.said)
                    self.assertGreaterEqual(self.moved()[2], joined * ROUNDS - 1, self.said)

    def test_what_a_kernel_never_changed_is_said(self):
        said = r'changed nothing by some arguments; if it only reads by them, "kernels_read" may have (\{.*\})'
        plan = self.write_plan("unsaid.json", self.step, kernels_read=[])
        self.applied(plan, LAUNCHED, "table_read", "--check")
        self.assertEqual([json.loads(text) for text in re.findall(said, self.said)], self.step["kernels_read"], self.said)
        for plan, mode in ((self.write_plan("said.json", self.step), "table_read"), (plan, "loops"), (plan, "used_again")):
            self.applied(plan, LAUNCHED, mode, "--check")
            self.assertRegex(self.said, r"[4-9] kernels looked at, 0 different")
            self.assertEqual(re.findall(said, self.said), [], self.said)

    def test_a_kernel_that_writes_what_it_is_said_to_read(self):
        """The first two launches write nothing."""
        readers = [*self.step["kernels_read"], {"kernel": "turn_table", "arguments": [2]}]
        plan = self.write_plan("turned.json", self.step, kernels_read=readers)
        compare_plan(plan, LAUNCHED, "table_read")
        self.applied(plan, LAUNCHED, "tables", **AT_ONCE)
        self.assertGreater(self.moved()[0], 0, self.said)
        self.applied(plan, LAUNCHED, "table_turned", "--check")
        self.assertIn("or that it is said to only read; kernels stay", self.said)
        self.assertRegex(self.said, r"\d+ compared, 1 different; streams will be left out")
        for mode in ("tables", "table_turned"):
            self.applied(plan, LAUNCHED, mode, **AT_ONCE)
            self.assertIn("is left out: a run with --check found a difference", self.said)
        compare_plan(self.write_plan("as_it_is.json", self.step), LAUNCHED, "table_turned")  # it may write there


class Checked(Plans):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.step,) = cls.steps_of(LAUNCHED, "side_by_side")

    def left_out(self, plan, why):
        self.applied(plan, LAUNCHED, "loops", **AT_ONCE)
        self.assertIn(f"{plan}: step 1, streams, is left out: {why}", self.said)
        self.assertNotIn("apply: streams", self.said)

    def test_only_a_plan_that_was_compared(self):
        plan = self.write_plan("plan.json", self.step)
        self.left_out(plan, "no run with --check has compared it")
        self.applied(plan, LAUNCHED, "loops", "--check", "-q")
        self.assertRegex(self.said, r"plan.json.checked: \d+ compared, 0 different\n")
        self.applied(plan, LAUNCHED, "loops", **AT_ONCE)
        self.assertNotIn("left out", self.said)
        self.assertGreater(self.moved()[0], 0)
        self.write_plan("plan.json", self.step, fix="another")
        self.left_out(plan, "the plan is not as it was when a run with --check compared it")

    def test_record_asks_too(self):
        plan, trace = self.write_plan("record.json", self.step), Path(self.folder.name) / "recorded.xft"
        done = run(XFERSCOPE, "record", "--force", "-o", trace, "--apply", plan, "--", LAUNCHED, "loops")
        self.assertIn("is left out: no run with --check has compared it", done.stderr)

    def test_a_run_that_compares_nothing(self):
        plan = self.write_plan("nothing.json", self.step)
        self.applied(plan, STREAMED, "only_one", "--check")
        self.assertIn("nothing was compared", self.said)
        self.left_out(plan, "no run with --check has compared it")

    def test_a_file_that_is_no_verdict(self):
        plan = self.write_plan("broken.json", self.step)
        for text in ("", "[]", '{"schema": "xferscope-plan-check", "version": 1}', '{"compared": 5, "different": 0}'):
            Path(f"{plan}.checked").write_text(text, encoding="utf-8")
            self.left_out(plan, "no run with --check has compared it")

    def test_kernels_that_change_what_they_were_not_given(self):
        plan = self.write_plan("different.json", self.step)
        self.applied(plan, LAUNCHED, "counted", "--check")
        self.assertIn("a kernel changes memory that its parameters do not name", self.said)
        self.assertRegex(self.said, r"\d+ compared, 1 different; streams will be left out")
        self.left_out(plan, "a run with --check found a difference")
        self.applied(plan, LAUNCHED, "loops", "--check")  # it stays so
        self.left_out(plan, "a run with --check found a difference")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
