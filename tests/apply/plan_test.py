"""apply --plan: what a plan says is done at its sites and nowhere else, the program computes the same, and says so
at the end. On the simulated GPU.

plan_test.py BIN SIMGPU"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from simulated import BIN, XFERSCOPE, run

PROGRAM = BIN / "apply" / "planned"
SITES = {"upload": "leave-out", "upload_async": "leave-out", "allocate": "pool"}


def build_id(path):
    notes = subprocess.run(["readelf", "-n", str(path)], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


def places():
    """The return addresses of the calls in the functions of SITES, by function."""
    found, function = {}, None
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(PROGRAM)], capture_output=True, text=True,
                          check=True).stdout
    called = False
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <([^>]+)>:", line)
        if head:
            function, called = head[1], False
            continue
        at = re.match(r"\s+([0-9a-f]+):", line)
        if at and called:
            found.setdefault(function, []).append(int(at[1], 16))
        called = bool(re.search(r"call.*<cuda(Memcpy|MemcpyAsync|Malloc)@plt>", line))
    return {name: found[name] for name in SITES}


class Planned(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.places = places()
        cls.build_id = build_id(PROGRAM)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(self.folder.cleanup)

    def plan(self, *functions, keep=True, **changes):
        """The path of a plan for these functions."""
        steps = [{"finding": "test", "remedy": "test", "by": SITES[name], "carry_out": True,
                  "saving_s": {"low": 0, "likely": 0.001, "high": 0.002},
                  "sites": [{"site": name, "build_id": self.build_id, "offset": hex(at),
                             **({"kernels_keep": keep} if SITES[name] == "leave-out" else {}), **changes}
                            for at in self.places[name]]} for name in functions]
        path = Path(self.folder.name) / "plan.json"
        path.write_text(json.dumps({"schema": "xferscope-plan", "version": 1, "steps": steps}), encoding="utf-8")
        return path

    def both(self, mode, plan, *options, **settings):
        """Alone and with the plan: the same. What apply said of the planned sites: (class, calls, carried out)."""
        settings = {"XFERSCOPE_APPLY_TRIALS": "0", **settings}
        alone = run(PROGRAM, mode, **settings)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertIn("\n", alone.stdout, "no such mode")
        done = run(XFERSCOPE, "apply", "--plan", plan, *options, "--", PROGRAM, mode, **settings)
        self.assertEqual(done.stdout, alone.stdout)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stderr
        return [line for line in done.stderr.splitlines() if "of the plan" in line]

    def left_out(self, mode, *options, keep=True, **settings):
        """How many bytes of the planned uploads were left out, in calls of 1 MiB."""
        self.both(mode, self.plan("upload", "upload_async", keep=keep), *options, **settings)
        sums = [float(number) * {"MiB": 1, "KiB": 1 / 1024, "GiB": 1024}[unit] for number, unit in
                re.findall(r"apply: leave-out H2D .*?: ([0-9.]+) (.iB) of", self.said)]
        return round(sum(sums))

    # ---- leaving out ------------------------------------------------------------------------

    def test_the_same_again(self):
        for mode in ("same", "set_elsewhere"):
            with self.subTest(mode):
                self.assertGreaterEqual(self.left_out(mode), 15, self.said)
                self.assertRegex(self.said, r"\(step 1 of the plan, test: 1\.00 ms\)")
                self.assertNotIn("different", self.said.replace(" 0 different", ""))

    def test_async_waits_where_the_driver_does(self):
        self.assertGreaterEqual(self.left_out("async_at_once"), 2 * 15, self.said)
        self.assertEqual(self.left_out("async_that_waits"), 0, self.said)

    def test_one_in_64_is_copied_to_time_it(self):
        left = self.left_out("long_same")
        self.assertEqual(left, 192 - 1 - 2 * 2, self.said)

    def test_finding_out_costs_little(self):
        self.assertEqual(self.left_out("same", XFERSCOPE_APPLY_TRIALS="1"), 0)  # too short a run to begin
        self.assertIn(": 24 as the program asked", self.said)
        self.assertNotIn("compared", self.said)

    def test_what_gains_begins_once_it_may_cost_something(self):
        self.assertGreater(self.left_out("longer_same", XFERSCOPE_APPLY_TRIALS="1"), 24 * 80 / 2, self.said)
        self.assertIn(" saved", self.said)

    def test_what_was_written_is_sent(self):
        for mode in ("changed", "last_byte", "set", "set_rows", "copied_there", "rows_there", "elsewhere_uploaded",
                     "freed", "shorter", "two_streams", "in_the_order_of_a_stream",
                     "in_the_order_of_the_default_stream", "reused", "failing", "two_threads"):
            with self.subTest(mode):
                self.left_out(mode, XFERSCOPE_SIMGPU_LAZY="1")

    def test_nothing_is_left_out_where_it_must_not(self):
        for mode in ("set", "copied_there", "elsewhere_uploaded", "rows_there", "set_rows",
                     "in_the_order_of_a_stream", "in_the_order_of_the_default_stream", "pinned_same"):
            with self.subTest(mode):
                self.assertEqual(self.left_out(mode), 0, self.said)

    def test_fills_in_every_form_are_known(self):
        for settings in ({}, {"XFERSCOPE_SIMGPU_LAZY": "1"}):
            self.assertEqual(self.left_out("set_forms", **settings), 24, self.said)
            self.assertRegex(self.said, "compared, 0 different")

    def test_what_nobody_sees_is_found_by_verifying(self):
        self.assertEqual(self.left_out("unseen"), 0)
        self.assertIn("1 compared, 1 different", self.said)
        self.assertIn("nothing is left out there any more", self.said)

    def test_all_are_compared_with_check(self):
        left = self.left_out("unseen_late", "--check")
        self.assertGreater(left, 3)
        self.assertRegex(self.said, rf"{left + 1} compared, 1 different")

    def test_without_the_grant(self):
        self.assertGreaterEqual(self.left_out("same", keep=False), 15)  # no kernel ran at all

    def test_switched_off(self):
        plan = self.plan("upload")
        self.assertEqual(self.both("same", plan, "--only", "staging"),
                         ["xferscope apply: step 1 of the plan, test: no call came from its sites, or only uploads below 512 KiB (another "
                          "build of the program?)"])
        site = f"planned+{hex(self.places['upload'][0])}"
        self.both("same", plan, "--off", site)
        self.assertRegex(self.said, "leave-out H2D upload .*: 0 as the program asked")

    # ---- the pool ---------------------------------------------------------------------------

    def test_memory_again(self):
        self.both("pool", self.plan("allocate"))
        again = [float(size) for size in re.findall(r"pool allocate .*?: ([0-9.]+) MiB of 48 calls", self.said)]
        self.assertAlmostEqual(sum(again), 40, delta=1, msg=self.said)

    def test_the_pool_keeps_what_is_promised(self):
        for mode in ("pool_waits", "pool_full", "pool_twice", "pool_reset"):
            with self.subTest(mode):
                self.both(mode, self.plan("allocate"), XFERSCOPE_SIMGPU_LAZY="1")

    # ---- from the record to what was measured -----------------------------------------------

    def test_predicted_applied_measured(self):
        folder, settings = Path(self.folder.name), {"XFERSCOPE_CONTENT_SHARE": "0", "XFERSCOPE_APPLY_TRIALS": "0"}
        before, after, plan = folder / "before.xft", folder / "after.xft", folder / "plan.json"

        def must(*command):
            done = run(XFERSCOPE, *command, **settings)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        alone = must("record", "-q", "--content", "-o", before, "--", PROGRAM, "same")
        must("analyze", before, "--no-profile", "--plan", plan)
        steps = json.loads(plan.read_text(encoding="utf-8"))["steps"]
        number, step = next((i + 1, step) for i, step in enumerate(steps) if step["carry_out"])
        self.assertEqual((step["by"], step["sites"][0]["function"]), ("leave-out", "upload"))
        self.assertEqual(step["sites"][0]["build_id"], self.build_id)
        self.assertEqual(int(step["sites"][0]["offset"], 16), self.places["upload"][0])
        self.assertEqual(must("record", "-q", "--apply", plan, "-o", after, "--", PROGRAM, "same"), alone)
        self.assertRegex(must("dump", after), rf"meta apply\.\d+=leave-out {number} 24 23 ")
        compared = json.loads(must("analyze", "--compare", before, after, "--no-profile", "--plan", plan, "-f", "json"))
        one = next(one for one in compared["plan"] if one["step"] == number)
        self.assertEqual((one["asked"], one["done"], one["different"]), (24, 23, 0))
        for end in ("low", "likely", "high"):
            self.assertAlmostEqual(one["predicted_s"][end], step["apply_saving_s"][end], places=8)
        self.assertLess(one["after_s"], 0.8 * one["before_s"])
        text = must("analyze", "--compare", before, after, "--no-profile", "--plan", plan)
        self.assertIn("The plan: predicted, applied, measured", text)
        self.assertIn("applied      23 of 24 calls", text)
        without = must("analyze", "--compare", before, after, "--no-profile", "-f", "json")
        self.assertNotIn("plan", json.loads(without))

    def test_record_refuses_what_is_no_plan(self):
        path = Path(self.folder.name) / "plan.json"
        path.write_text("[]", encoding="utf-8")
        done = run(XFERSCOPE, "record", "-o", Path(self.folder.name) / "r.xft", "--apply", path, "--", PROGRAM, "same")
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("not a plan", done.stderr)
        self.assertFalse((Path(self.folder.name) / "r.xft").exists())

    # ---- plans and programs -----------------------------------------------------------------

    def test_another_build(self):
        lines = self.both("same", self.plan("upload", build_id="00" * 20))
        self.assertEqual(lines, ["xferscope apply: step 1 of the plan, test: no call came from its sites, or only uploads below "
                                 "512 KiB (another build of the program?)"])

    def test_other_sites_are_left_alone(self):
        self.both("same", self.plan("upload_async"))
        self.assertIn("no call came from its sites", self.said)

    def test_callers(self):
        here = {"build_id": self.build_id, "offset": hex(self.places["upload"][0])}
        self.both("same", self.plan("upload", caller=here))  # the site itself is not further up
        self.assertIn("no call came from its sites", self.said)

    def test_bad_plans(self):
        path = Path(self.folder.name) / "plan.json"
        for text, wanted in (("{", "line 1"), ('{"schema": "xferscope-gate"}', "not a plan"),
                             (None, "No such file")):
            if text is None:
                path.unlink()
            else:
                path.write_text(text, encoding="utf-8")
            done = run(XFERSCOPE, "apply", "--plan", path, "--", PROGRAM, "same")
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(f"xferscope apply: {path}: ", done.stderr)
            self.assertIn(wanted, done.stderr)
        path.write_text('{"schema": "xferscope-plan", "version": 1, "steps": []}', encoding="utf-8")
        done = run(XFERSCOPE, "apply", "--plan", path, "--", PROGRAM, "same")
        self.assertEqual(done.returncode, 0)
        self.assertIn("no step of the plan is to be carried out", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
