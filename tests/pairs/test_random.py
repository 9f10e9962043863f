"""tests/pairs/random: what its programs show of recorder and replay, to the nanosecond of the virtual clock."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ["XFERSCOPE_BUILD"])


def loaded():
    loader = importlib.machinery.SourceFileLoader("drawn_programs", str(HERE / "random"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


drawn = loaded()
STAGE = {"steps": 24, "bytes": 102400, "down": False, "streams": 3, "kind": "n", "wait": "event", "parts": 16,
         "bound": "copy", "read_ns": 0, "kernel_ns": 1500, "host_ns": 0, "graph": False, "wastes": []}


def program(**stage):
    return {"seed": 1, "helper": False, "stages": [{**STAGE, **stage}]}


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.lab = drawn.Lab(types.SimpleNamespace(build=BUILD, gpu=False, keep=self.folder, profile=None), folder.name)

    def replayed(self, run):
        """The region, replayed without what recording cost, ns."""
        report = drawn.json.loads(self.lab.run(self.lab.xferscope, "analyze", run, "-p", self.lab.profile, "-f", "json",
                                               good=(0, 3)))
        return next(p["alone_s"] for p in report["whatif"]["phases"] if p["name"] == "work") * 1e9

    def test_events_with_content(self):
        """The virtual clock counts each call of the driver, the recorder's own, too: there is none."""
        measured, _ = self.lab.measure(program())
        self.assertEqual(measured["recorded"], measured["before"])

    def test_graphs_are_looked_into(self):
        """What the recorder asks about a graph is known to be its own time."""
        measured, run = self.lab.measure(program(graph=True))
        self.assertGreater(measured["recorded"], measured["before"] + 3 * 1800)
        self.assertLess(self.replayed(run), measured["before"] + 3 * 1000)

    def test_again(self):
        """What --keep kept is analysed again, to the same end."""
        told = self.lab.predict(*self.lab.measure(program(wastes=["device-wait"])))
        kept = drawn.json.loads((self.folder / "1.json").read_text())
        self.assertEqual(self.lab.predict(kept, self.folder / "1.xft"), told)
        done = subprocess.run([sys.executable, HERE / "random", BUILD, "--again", self.folder], capture_output=True, text=True,
                              check=False)
        self.assertIn("| device-wait | 1 |", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
