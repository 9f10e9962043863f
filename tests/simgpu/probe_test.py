"""Probing a simulated machine gives back the profile it is timed by, within 5 %."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND, LIBRARIES, MACHINE = sys.argv[1:4]
LIMIT = 0.05


def paths_of(text):
    return {path["name"]: path for path in json.loads(text)["paths"]}


class RoundTrip(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.given = paths_of(Path(MACHINE).read_text())
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "probed.json"
            env = dict(os.environ, LD_LIBRARY_PATH=LIBRARIES, XFERSCOPE_SIMGPU_MACHINE=MACHINE)
            subprocess.run([COMMAND, "probe", "--quick", "--time-limit", "250", "-o", out], env=env,
                           check=True, capture_output=True)
            cls.text = out.read_text()
        probed = paths_of(cls.text)
        # the probe knows more ways to move data than the simulation is given figures for
        cls.probed = {name: path for name, path in probed.items() if name in cls.given}

    def test_it_says_that_it_is_simulated(self):
        self.assertTrue(json.loads(self.text)["machine"]["simulated"])

    def test_every_copy_was_probed(self):
        copies = {name for name, path in self.given.items() if path["method"] == "copy"}
        self.assertEqual(copies - set(self.probed), set())

    def test_points(self):
        compared = 0
        for name, path in self.probed.items():
            given = {point["bytes"]: point for point in self.given[name]["points"]}
            for point in path["points"]:
                for key in ("median_ns", "host_ns", "blocking_ns"):
                    ours, theirs = point.get(key), given[point["bytes"]].get(key)
                    if ours and theirs:
                        self.assertLess(abs(ours - theirs) / theirs, LIMIT, (name, point, key))
                        compared += 1
        self.assertGreater(compared, 200)

    def test_model(self):
        compared = 0
        for name, path in self.probed.items():
            given = self.given[name]["fit"]
            for key in ("Lo_ns", "g_ns", "G_ns_per_byte") if given else ():
                if given[key]:
                    difference = abs(path["fit"][key] - given[key]) / given[key]
                    self.assertLess(difference, LIMIT, (name, key))
                    compared += 1
        self.assertGreater(compared, 15)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
