"""overlap_models on the simulated GPU: every implementation's results are right, and where the
simulation knows what it simulates (copies; and mapped memory, which its kernels read and write one after
the other), the predictions are within the paper's errors. Its clock is virtual: each run is the same.

usage: overlap_models_test.py BUILD
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1)).resolve()
HERE = Path(__file__).resolve().parent
PROGRAM = BUILD / "bin" / "programs" / "overlap_models_shared"
PROFILE = BUILD / "lib" / "simgpu" / "machines" / "sim-h200.json"
METHODS = ["explicit", "implicit", "streams", "hybrid"]
SIMULATED = {"LD_LIBRARY_PATH": str(BUILD / "lib" / "simgpu"), "XFERSCOPE_SIMGPU_KERNEL_NS": "1000"}
SMALL = ["--edge", "320", "--levels", "12", "--runs", "1"]


def run(*command, **more):
    return subprocess.run(command, env={**os.environ, **SIMULATED, **more}, capture_output=True, text=True,
                          timeout=300, check=False)


class OverlapModels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_predicted_and_measured(self):
        done = run(HERE / "overlap_models.sh", BUILD, PROFILE, *SMALL, OUT=str(self.folder),
                   XFERSCOPE_OVERLAP_MODELS=PROGRAM.name)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        document = json.loads((self.folder / "overlap_models.json").read_text())
        self.assertEqual((self.folder / "overlap_models.txt").read_text(), done.stdout)
        self.assertEqual([kernel["kernel"] for kernel in document["kernels"]], ["state", "buoydiff"])
        self.assertEqual(document["category"], 3)
        for kernel in document["kernels"]:
            self.assertEqual(list(kernel["methods"]), METHODS)
            for name, figures in kernel["methods"].items():
                with self.subTest(kernel["kernel"], method=name):
                    self.assertGreater(figures["predicted_ns"], 0)
                    self.assertGreater(figures["measured_ns"], 0)
                    self.assertIn(f"{figures['error_percent']:+.2f}", done.stdout)
            # the streams' figure is the fastest order's, and all are printed
            orders = kernel["order_ns"]
            self.assertEqual(len(orders), 4)
            self.assertIn(kernel["papers_order"], orders)
            self.assertEqual(kernel["methods"]["streams"]["measured_ns"], min(orders.values()))
            self.assertEqual(orders[kernel["fastest_order"]], min(orders.values()))
            for name in ("explicit", "implicit", "streams"):
                figures = kernel["methods"][name]
                self.assertLess(abs(figures["error_percent"]), figures["goal_percent"], kernel["kernel"])
            # one direction after the other, or both at once
            self.assertGreater(kernel["methods"]["explicit"]["measured_ns"],
                               1.2 * kernel["methods"]["streams"]["measured_ns"])
        reads = {kernel["kernel"]: kernel["read_times"] for kernel in document["kernels"]}
        self.assertEqual(reads["state"], 1)
        self.assertGreater(reads["buoydiff"], 2.5)  # the simulated GPU has no caches: 32 / 12 levels

    def test_wrong_usage(self):
        for words in ([], ["--edge", "0", str(PROFILE)], ["--levels"], ["--nonsense", str(PROFILE)]):
            self.assertEqual(run(PROGRAM, *words).returncode, 2, words)

    def test_no_such_profile(self):
        done = run(PROGRAM, *SMALL, self.folder / "none.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("none.json", done.stderr)


if __name__ == "__main__":
    unittest.main()
