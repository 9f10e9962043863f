"""Pairs of page-locked memory, on a simulated GPU whose machine takes long to allocate it and to read
it where it is write-combined: the finding that pair.json names comes first, what it would save is what
the change saves by the virtual clock, and the changed programs have nothing left."""
import json
import re
import unittest
from pathlib import Path

from lab import BUILD, XFERSCOPE, Bench, environment, run

HERE = Path(__file__).resolve().parent
MACHINE = BUILD / "lib" / "simgpu" / "machines" / "sim-h200.json"
SIZES = [1 << power for power in range(12, 27, 2)]
CALL_NS = 200
# ns of a call, and for each byte. A program that page-locks by itself pays for registering alone here.
TABLES = {"alloc/pinned/gpu0": (2000, 0.45), "free/pinned/gpu0": (2000, 0.1),
          "lock/threads1/gpu0": (CALL_NS, 1 / 26), "unlock/threads1/gpu0": (CALL_NS, 1 / 67),
          "host-read/pinned/host": (0, 0.08), "host-read/write-combined/host": (0, 5)}
SIZE = {"37-slow-page-locking": ["--steps", "5", "--bytes", str(8 << 20)],
        "38-write-combined-readback": ["--steps", "20", "--bytes", str(1 << 18)]}
NEAR = 0.1  # of what the change saves; the step that warms up is in it


class HostMemory(Bench):
    def setUp(self):
        super().setUp()
        machine = json.loads(MACHINE.read_text())
        machine["tables"] = [{"name": name, "by": "bytes", "unit": "ns",
                              "rows": [{"at": size, "median": call + rate * size} for size in SIZES]}
                             for name, (call, rate) in TABLES.items()]
        self.machine = self.folder / "machine.json"
        self.machine.write_text(json.dumps(machine))
        self.simulated = environment(XFERSCOPE_SIMGPU_MACHINE=str(self.machine))

    def program(self, pair, side):
        return [BUILD / "bin" / "pairs" / pair / side, "--quick", *SIZE[pair]]

    def work_ns(self, pair, side):
        result = run(self.program(pair, side), env=self.simulated)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return int(re.search(rb"work_ns (\d+)", result.stdout)[1])

    def findings(self, pair, side):
        trace = self.folder / f"{side}.xft"
        result = run([XFERSCOPE, "record", "--force", "-o", trace, "--", *self.program(pair, side)], env=self.simulated)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        result = run([XFERSCOPE, "analyze", trace, "-p", self.machine, "--format", "json"])
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return json.loads(result.stdout)["findings"]

    def check(self, pair):
        kind = json.loads((HERE / pair / "pair.json").read_text())["finding"]
        gained = (self.work_ns(pair, "before") - self.work_ns(pair, "after")) / 1e9
        saving = self.findings(pair, "before")[0]
        self.assertEqual(saving["kind"], kind)
        self.assertAlmostEqual(saving["saving_s"]["likely"], gained, delta=NEAR * gained)
        self.assertGreaterEqual(saving["saving_s"]["high"], gained)
        self.assertLessEqual(saving["saving_s"]["low"], gained)
        self.assertNotIn(kind, [finding["kind"] for finding in self.findings(pair, "after")])

    def test_page_locking(self):
        self.check("37-slow-page-locking")

    def test_write_combined(self):
        self.check("38-write-combined-readback")


if __name__ == "__main__":
    unittest.main()
