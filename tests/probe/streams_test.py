#!/usr/bin/env python3
"""Several streams and the categories of GPUs, on simulated machines whose figures are known.

usage: streams_test.py PROBE SIMGPU_FOLDER SCHEMA MACHINES_FOLDER
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROBE, SIMGPU, SCHEMA, MACHINES = sys.argv[1:5]


def load(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def probe(machine, *options):
    """The profile of a simulated machine, given as a profile."""
    with tempfile.TemporaryDirectory() as folder:
        given, output = os.path.join(folder, "given.json"), os.path.join(folder, "m.json")
        with open(given, "w", encoding="utf-8") as file:
            json.dump(machine, file)
        environment = dict(os.environ, LD_LIBRARY_PATH=SIMGPU, XFERSCOPE_SIMGPU_CLOCK="virtual",
                           XFERSCOPE_SIMGPU_MACHINE=given)
        run = subprocess.run([PROBE, "-o", output, "--quiet", "--time-limit", "200", *options],
                             env=environment, capture_output=True, text=True, timeout=300)
        if run.returncode:
            raise AssertionError(f"status {run.returncode}: {run.stderr}")
        jsonschema.validate(load(output), load(SCHEMA))
        return load(output)


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = load(os.path.join(MACHINES, "sim-h200.json"))
        cls.profile = probe(cls.machine, "--sizes", "64:16M", "--filter", "^streams/")

    def test_both_directions_all_sizes_all_numbers(self):
        self.assertEqual([s["name"] for s in self.profile["streams"]],
                         ["streams/pinned/h2d/gpu0", "streams/pinned/d2h/gpu0"])
        for streams in self.profile["streams"]:
            self.assertEqual([(p["bytes"], p["streams"]) for p in streams["points"]],
                             [(bytes_, 1 << i) for bytes_ in (16 << 20,)
                              for i in range(9)])

    def test_the_parameters_are_the_machines(self):
        for streams in self.profile["streams"]:
            given = next(p["fit"] for p in self.machine["paths"]
                         if p["name"] == "copy/" + streams["name"].split("/", 1)[1])
            for key in ("Lo_ns", "g_ns", "G_ns_per_byte"):
                self.assertLess(abs(streams["fit"][key] / given[key] - 1), 0.01, key)

    def test_the_error_is_that_of_the_points(self):
        for streams in self.profile["streams"]:
            fit = streams["fit"]
            worst = max(abs((fit["Lo_ns"] + p["bytes"] * fit["G_ns_per_byte"] +
                             (p["streams"] - 1) * fit["g_ns"]) / p["median_ns"] - 1)
                        for p in streams["points"])
            self.assertLess(abs(worst - fit["max_error"]), 1e-6)
            self.assertLess(worst, 0.01)

    def test_every_point_has_its_statistics(self):
        for streams in self.profile["streams"]:
            for p in streams["points"]:
                self.assertGreaterEqual(p["n"], 6)
                order = [p[key] for key in ("min_ns", "ci_low_ns", "median_ns", "ci_high_ns",
                                            "max_ns")]
                self.assertEqual(order, sorted(order), p)

    def test_small_sizes_have_no_such_benchmark(self):
        environment = dict(os.environ, LD_LIBRARY_PATH=SIMGPU)
        run = subprocess.run([PROBE, "--list", "--sizes", "64:8M"], env=environment,
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("streams/", run.stdout)


class Categories(unittest.TestCase):
    def category(self, engines):
        machine = load(os.path.join(MACHINES, "sim-h200.json"))
        machine["machine"]["gpus"][0]["copy_engines"] = engines
        return probe(machine, "--sizes", "64:4M", "--filter", "^overlap/")["overlap"][0]

    def test_two_engines(self):
        found = self.category(2)
        self.assertEqual((found["copy_engines"], found["implicit_sync"], found["category"]),
                         (2, False, 3))
        for way in ("h2d", "d2h", "both"):
            self.assertGreaterEqual(found[way]["n"], 6)
            order = [found[way]["min_ns"], found[way]["ci_low_ns"], found[f"{way}_ns"],
                     found[way]["ci_high_ns"], found[way]["max_ns"]]
            self.assertEqual(order, sorted(order), way)
        self.assertLess(found["both_ns"], 1.05 * max(found["h2d_ns"], found["d2h_ns"]))

    def test_one_engine(self):
        found = self.category(1)
        self.assertEqual((found["copy_engines"], found["implicit_sync"], found["category"]),
                         (1, False, 2))
        self.assertGreater(found["both_ns"], 0.95 * (found["h2d_ns"] + found["d2h_ns"]))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
