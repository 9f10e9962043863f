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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
