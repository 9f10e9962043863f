"""Where the page-locked memory of apply itself lies: it prefers the GPU's NUMA node, where the process may have that
node's memory and has no policy of its own. On the simulated GPU, by the kernel's own account of the process.

near_test.py BIN SIMGPU"""

import sys
import unittest
from pathlib import Path

from simulated import BIN, XFERSCOPE, run


@unittest.skipUnless(Path("/proc/self/numa_maps").exists(), "this kernel has no NUMA")
class Near(unittest.TestCase):
    def preferred(self, *arguments, **settings):
        """The nodes that mappings of the program prefer, under apply; alone none does."""
        program = (BIN / "apply" / "near", *arguments)
        settings = {"XFERSCOPE_APPLY_TRIALS": "0", **settings}
        alone, done = run(*program, **settings), run(XFERSCOPE, "apply", "--", *program, **settings)
        self.assertEqual((done.returncode, done.stdout), (0, alone.stdout), done.stderr)
        self.assertIn("carried out", done.stderr)
        self.assertNotIn("mapping: ", alone.stderr)
        return [line.split(": ")[1] for line in done.stderr.splitlines() if line.startswith("mapping: ")]

    def test_the_gpus_node(self):
        self.assertEqual(self.preferred("0"), ["prefer:0"])

    def test_large_allocations(self):
        self.assertEqual(self.preferred("0", "locked"), ["prefer:0", "prefer:0"])

    def test_a_policy_of_the_programs_own_counts(self):
        self.assertEqual(self.preferred("0", "bind"), [])

    def test_a_node_that_the_process_may_not_use(self):
        if Path("/sys/devices/system/node/online").read_text(encoding="utf-8").strip() != "0":
            self.skipTest("this machine has such a node")
        self.assertEqual(self.preferred("2", XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu"), [])

    def test_a_driver_that_does_not_know(self):
        self.assertEqual(self.preferred("0", XFERSCOPE_SIMGPU_FAIL="cuDeviceGetAttribute:1:1"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
