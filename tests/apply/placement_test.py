"""apply --plan, class placement: the plan that analyze makes of a run whose page-locked memory lies on the far NUMA
node, carried out on programs whose memory may be placed and on others. On the simulated GPU, by its clock: its driver
goes by the thread's memory policy. What a kernel with several nodes does is shown by tests/numa/run.

placement_test.py BIN SIMGPU"""

import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

from simulated import BIN, SIMGPU, XFERSCOPE, run, time_ns

PROGRAM = BIN / "apply" / "placed"
MACHINE = SIMGPU / "machines" / "sim-2socket-4gpu.json"
FAR = {"XFERSCOPE_SIMGPU_MACHINE": "sim-2socket-4gpu", "XFERSCOPE_SIMGPU_NUMA": "1"}


@unittest.skipUnless(Path("/proc/self/numa_maps").exists(), "this kernel has no NUMA")
class Placement(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name) / "plan.json"

    def steps(self, mode, **settings):
        """What the plan of a recorded run says of the far node."""
        trace = Path(self.folder.name) / "run.xft"
        for command in (("record", "-q", "--force", "-o", trace, "--", PROGRAM, mode),
                        ("analyze", trace, "-p", MACHINE, "--plan", self.path)):
            done = run(XFERSCOPE, *command, **FAR, **settings)
            self.assertEqual(done.returncode, 0, done.stderr)
        plan = json.loads(self.path.read_text(encoding="utf-8"))
        return [step for step in plan["steps"] if step["finding"] == "remote-numa-node"]

    def carry_out(self, **parameters):
        """Of the plan that was made, only this; it may be advice that another one stands before."""
        plan = json.loads(self.path.read_text(encoding="utf-8"))
        plan["steps"] = [step for step in plan["steps"] if step["finding"] == "remote-numa-node"]
        for step in plan["steps"]:
            step["carry_out"] = True
            step["parameters"].update(parameters)
        self.path.write_text(json.dumps(plan), encoding="utf-8")

    def both(self, mode, *options, **settings):
        """Alone and with the plan: the same. (Calls at the planned sites, MiB of them carried out, part of the time)."""
        alone = run(PROGRAM, mode, **FAR, **settings)
        done = run(XFERSCOPE, "apply", "--plan", self.path, *options, "--", PROGRAM, mode, **FAR, **settings)
        self.assertEqual((done.returncode, done.stdout), (0, alone.stdout), done.stderr)
        self.assertIn("policy", alone.stdout, "no such mode")
        self.said = done.stderr
        calls = mib = 0
        for line in re.findall(r"apply: placement .*", done.stderr):
            part = re.search(r": ([0-9.]+) MiB of (\d+) calls carried out \(step", line)
            as_asked = re.search(r": (\d+) as the program asked", line)
            calls += int(part[2] if part else as_asked[1])
            mib += float(part[1]) if part else 0
        return calls, mib, time_ns(done) / time_ns(alone)

    # ---- what the plan says -------------------------------------------------------------------

    def test_the_plan_names_where_memory_is_taken(self):
        for mode, function, call, rounds in (("pinned", "allocate", "cudaMallocHost", 60),
                                             ("registered", "page_lock", "cudaHostRegister", 200)):
            with self.subTest(mode):
                (step,) = self.steps(mode)
                self.assertEqual((step["by"], step["parameters"]["node"]), ("placement", 0))
                (site,) = step["sites"]
                self.assertEqual((site["function"], site["call"], site["direction"], site["transfers"]),
                                 (function, call, None, rounds))
                self.assertGreater(step["saving_s"]["likely"], 0)

    def test_memory_for_both_nodes_stays(self):
        (step,) = self.steps("both")
        self.assertIsNone(step["by"])
        self.assertIn("for this node alone", step["why_not"])
        self.assertEqual(step["sites"][0]["direction"], "H2D")

    def test_moving_has_to_pay(self):
        (step,) = self.steps("registered_each_time")
        self.assertIsNone(step["by"])

    # ---- what is carried out --------------------------------------------------------------------

    def test_it_gains_what_was_predicted(self):
        for mode in ("pinned", "registered"):
            with self.subTest(mode):
                (step,) = self.steps(mode)
                self.carry_out()
                calls, mib, part = self.both(mode)
                self.assertEqual((calls, mib), (1, 4) if mode == "pinned" else (2, 4), self.said)
                self.assertRegex(self.said, r"\(step 1 of the plan, remote-numa-node: ")
                alone = time_ns(run(PROGRAM, mode, **FAR))
                self.assertAlmostEqual((1 - part) * alone / (step["saving_s"]["likely"] * 1e9), 1, delta=0.15)

    def test_allocations_of_threads(self):
        one_gpu = {"CUDA_VISIBLE_DEVICES": "0"}
        self.steps("pinned")
        self.carry_out()
        calls, mib, part = self.both("large", XFERSCOPE_APPLY_TRIALS="0", **one_gpu)
        self.assertEqual((calls, mib), (1, 64), self.said)
        self.assertIn("apply: locking allocate ", self.said)
        self.assertLess(part, 0.97)

    def test_a_policy_of_the_programs_own_counts(self):
        for mode in ("pinned", "registered"):
            self.steps(mode)
            self.carry_out()
            self.assertEqual(self.both("bound")[:2], (1, 0), self.said)

    def test_a_node_that_the_process_may_not_use(self):
        if Path("/sys/devices/system/node/online").read_text(encoding="utf-8").strip() != "0":
            self.skipTest("this machine has such a node")
        self.steps("pinned")
        self.carry_out(node=1)
        self.assertEqual(self.both("pinned")[:2], (1, 0), self.said)

    def test_errors_are_the_programs(self):
        self.steps("registered")
        self.carry_out()
        self.both("no_memory")

    def test_switched_off(self):
        self.steps("pinned")
        self.carry_out()
        self.assertEqual(self.both("pinned", "--only", "staging")[:2], (0, 0), self.said)
        self.both("pinned")
        site = re.search(r"placement allocate \(.*?\) (placed\+0x[0-9a-f]+)", self.said)
        self.assertEqual(self.both("pinned", "--off", site[1])[:2], (1, 0), self.said)

    def test_a_plan_without_a_node(self):
        self.steps("pinned")
        self.carry_out(node=None)
        done = run(XFERSCOPE, "apply", "--plan", self.path, "--", PROGRAM, "pinned", **FAR)
        self.assertEqual(done.returncode, 125)
        self.assertIn('"parameters" is to be an object with the "node"', done.stderr)


@unittest.skipUnless(Path("/proc/self/numa_maps").exists(), "this kernel has no NUMA")
class Pageable(unittest.TestCase):
    """Memory of the program that nobody page-locks. For the program's run this kernel seems to have two nodes (two_nodes.c)."""
    TWO = {"LD_PRELOAD": str(BIN.parent / "lib" / "libapply_two_nodes.so"), "XFERSCOPE_SIMGPU_MACHINE": str(MACHINE),
           "LD_LIBRARY_PATH": f"{SIMGPU.parent / 'simgpu-host-nodes'}:{SIMGPU}"}
    ALONE = ("--only", "placement")  # the driver's copies, which are slower from the far node

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(self.folder.cleanup)
        self.path, self.trace = Path(self.folder.name) / "plan.json", Path(self.folder.name) / "run.xft"

    def steps(self, mode, **settings):
        for command in (("record", "-q", "--force", "-o", self.trace, "--", PROGRAM, mode),
                        ("analyze", self.trace, "-p", MACHINE, "--plan", self.path)):
            done = run(XFERSCOPE, *command, **{**FAR, **settings})
            self.assertEqual(done.returncode, 0, done.stderr)
        return [step for step in json.loads(self.path.read_text(encoding="utf-8"))["steps"] if step["by"] == "placement"]

    def both(self, mode, *options, **settings):
        """Alone and with the plan: the same. (Copies after which the memory was moved, MiB moved, part of the time)."""
        alone = run(PROGRAM, mode, **self.TWO, **settings)
        done = run(XFERSCOPE, "apply", "--plan", self.path, *options, "--", PROGRAM, mode, **self.TWO, **settings)
        self.assertEqual((done.returncode, done.stdout), (0, alone.stdout), done.stderr)
        self.assertIn("policy", alone.stdout, "no such mode")
        self.said = done.stderr
        self.pages = [int(n) for n in re.findall(r"pages: (\d+) asked, (\d+) moved", done.stderr)[0]] if "pages: " in done.stderr else [0, 0]
        copies = sum(float(mib) / 4 for mib in re.findall(r"apply: placement .*: ([0-9.]+) MiB of", done.stderr))
        moved = sum(float(mib) for mib in re.findall(r"; ([0-9.]+) MiB moved to its node", done.stderr))
        return round(copies), moved, time_ns(done) / time_ns(alone)

    def test_the_plan_names_the_copies(self):
        (step,) = self.steps("pageable")
        self.assertEqual((step["finding"], step["carry_out"], step["parameters"]), ("remote-numa-node", True, {"node": 0}))
        self.assertEqual([(site["function"], site["direction"], site["transfers"]) for site in step["sites"]],
                         [("upload", "H2D", 200), ("download", "D2H", 200)])
        self.assertIsNone(step["saving_s"]["likely"])
        self.assertGreater(step["saving_s"]["high"], 0.05)
        self.assertIn("buffers", step["assumes"])

    def test_the_plan_does_not(self):
        """Where memory is near, where GPUs of both nodes copy it, where hardly any is copied again, or the record does not
        know the node."""
        self.assertEqual(self.steps("pageable", XFERSCOPE_SIMGPU_NUMA="0"), [])
        self.assertEqual(self.steps("pageable_both"), [])
        self.assertEqual(self.steps("pageable_new"), [])

    def test_it_gains_at_most_what_was_predicted(self):
        (step,) = self.steps("pageable")
        copies, moved, part = self.both("pageable", *self.ALONE)
        self.assertEqual((copies, moved, self.pages), (2 * 195, 8, [2048, 2048]), self.said)
        self.assertIn("node: 0\n", self.said)
        saved = (1 - part) * time_ns(run(PROGRAM, "pageable", **self.TWO))
        self.assertAlmostEqual(saved / (step["saving_s"]["high"] * 1e9), 195 / 200, delta=0.02)
        said = sum(float(ms) for ms in re.findall(r"calls carried out, ([0-9.]+) ms saved", self.said))
        self.assertAlmostEqual(said * 1e6 / saved, 1, delta=0.02)

    def test_what_moving_took_counts(self):
        self.steps("pageable")
        self.both("pageable", *self.ALONE, XFERSCOPE_TEST_MOVE="10000")  # 10 ms each way
        said = sum(float(ms) for ms in re.findall(r"calls carried out, ([0-9.]+) ms saved", self.said))
        self.assertAlmostEqual(said, 72.7 - 20.5, delta=1, msg=self.said)

    def test_it_stops_where_it_does_not_gain(self):
        """Threads of ours copy from either node alike, here."""
        self.steps("pageable_several")
        _, moved, _ = self.both("pageable_several")
        self.assertEqual((moved, self.pages), (4, [1024, 1024]), self.said)
        self.assertIn("it does not gain, and is left as the program asked; 4 MiB moved to its node", self.said)

    def test_further_memory_is_moved_as_far_as_it_was_gained(self):
        self.steps("pageable_several")
        self.assertEqual(self.both("pageable_several", *self.ALONE)[1], 16, self.said)
        self.assertEqual(self.both("pageable_several", *self.ALONE, XFERSCOPE_TEST_MOVE="50000")[1], 4, self.said)

    def test_before_it_is_tried_nothing_is_moved(self):
        self.steps("pageable_several")
        copies, _, _ = self.both("pageable_several", *self.ALONE)
        self.assertLess(copies, 200 - 5)
        self.assertGreater(self.both("pageable_several", *self.ALONE, XFERSCOPE_APPLY_TRIALS="0")[0], 199, self.said)

    def test_whole_pages(self):
        self.steps("pageable")
        self.both("pageable_part", *self.ALONE, XFERSCOPE_APPLY_TRIALS="0")
        self.assertEqual(self.pages, [2 * 1023, 2 * 1023], self.said)

    def test_what_cannot_be_moved_is_tried_once(self):
        self.steps("pageable")
        self.assertEqual(self.both("pageable", *self.ALONE, XFERSCOPE_TEST_STUCK="1")[:2], (0, 0), self.said)
        self.assertEqual(self.pages, [2048, 0])

    def test_what_the_kernel_moves_back_stays(self):
        self.steps("pageable")
        copies, moved, _ = self.both("pageable", *self.ALONE, XFERSCOPE_TEST_BACK=str(2 * 1024 + 400))
        self.assertEqual((moved, self.pages), (8, [2048, 2048]), self.said)
        self.assertTrue(50 < copies < 350, self.said)
        self.assertIn("node: 1\n", self.said)

    def test_a_policy_of_the_programs_own_counts(self):
        self.steps("pageable")
        self.both("pageable_bound", *self.ALONE)
        self.assertEqual(self.pages, [0, 0], self.said)

    def test_page_locked_memory_is_none_of_these(self):
        self.steps("pageable")
        self.both("locked", *self.ALONE, XFERSCOPE_APPLY_TRIALS="0")
        self.assertEqual(self.pages, [0, 0], self.said)

    def test_checked(self):
        self.steps("pageable")
        self.both("pageable", "--check")
        self.assertNotRegex(self.said, r"[1-9]\d* different")

    def test_it_is_recorded(self):
        self.steps("pageable")
        after = Path(self.folder.name) / "after.xft"
        done = run(XFERSCOPE, "record", "-q", "--apply", self.path, "-o", after, "--", PROGRAM, "pageable", **self.TWO)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(run(XFERSCOPE, "dump", after).stdout, r"meta apply\.\d+=placement \d+ 200 ")

    def test_switched_off(self):
        self.steps("pageable")
        self.both("pageable", "--only", "staging")
        self.assertEqual(self.pages, [0, 0], self.said)
        self.both("pageable", *self.ALONE)
        site = re.search(r"placement H2D upload \(.*?\) (placed\+0x[0-9a-f]+)", self.said)
        self.both("pageable", *self.ALONE, "--off", site[1])
        self.assertEqual(self.pages, [1024, 1024], self.said)
        done = run(XFERSCOPE, "apply", "--plan", self.path, "--", "env", "XFERSCOPE_APPLY=off", PROGRAM, "pageable", **self.TWO)
        self.assertNotIn("pages: ", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
