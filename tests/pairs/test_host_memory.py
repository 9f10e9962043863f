"""Pairs of the host's memory, on a simulated GPU whose machine takes long to page-lock it, to read it
where it is write-combined, and to copy to pages that nobody has touched: the finding that pair.json names comes first, what it would save is what
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
          "host-read/pinned/host": (0, 0.08), "host-read/write-combined/host": (0, 5),
          # the same for huge pages: the simulation does not see which ones the system gives
          **{f"{what}-copy/{pages}/d2h/gpu0": (20000, rate) for what, rate in (("new", 0.7), ("kept", 0.0625))
             for pages in ("pages", "huge-pages")}}
SIZE = {"37-slow-page-locking": ["--steps", "5", "--bytes", str(8 << 20)],
        "38-write-combined-readback": ["--steps", "20", "--bytes", str(1 << 18)],
        # malloc() maps each block of more than 32 MiB anew
        "46-fresh-memory": ["--steps", "6", "--bytes", str(64 << 20)],
        "48-fresh-vector": ["--steps", "6", "--bytes", str(64 << 20)]}
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

    def record(self, pair, side):
        trace = self.folder / f"{side}.xft"
        result = run([XFERSCOPE, "record", "--force", "-o", trace, "--", *self.program(pair, side)], env=self.simulated)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return trace

    def findings(self, pair, side):
        trace = self.record(pair, side)
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

    def test_new_memory(self):
        self.check("46-fresh-memory")

    def test_memory_that_was_seen_to_be_new(self):
        """The virtual clock does not see what the program itself touches: so this is what the record says."""
        for side, new in (("before", 6), ("after", 0)):
            result = run([XFERSCOPE, "dump", self.record("48-fresh-vector", side), "--kind", "transfer", "--format", "json"])
            events = [json.loads(line) for line in result.stdout.splitlines()]
            flags = [event["flags"] for event in events if event["type"] == "event"]
            self.assertEqual((len(flags), sum("new-memory" in of for of in flags)), (7, new))


if __name__ == "__main__":
    unittest.main()
