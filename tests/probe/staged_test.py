#!/usr/bin/env python3
"""Staged copies on the simulated machine of two sockets and four GPUs: what must hold of them.

usage: staged_test.py PROBE SIMGPU_FOLDER SCHEMA
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROBE, SIMGPU, SCHEMA = sys.argv[1:4]


def probe(*options):
    environment = dict(os.environ, LD_LIBRARY_PATH=SIMGPU, XFERSCOPE_SIMGPU_CLOCK="virtual",
                       XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu")
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "m.json")
        run = subprocess.run([PROBE, "-o", output, "--quiet", "--time-limit", "100", *options],
                             env=environment, capture_output=True, text=True, timeout=300)
        if run.returncode:
            raise AssertionError(f"status {run.returncode}: {run.stderr}")
        with open(output, encoding="utf-8") as file:
            return json.load(file)


class Staged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.profile = probe("--sizes", "4K:4M", "--filter", "^staged/p2p/gpu0-gpu[12]$")
        links = probe("--sizes", "4M:4M", "--filter", "^copy/pinned/.*/node0-gpu[012]$")
        cls.link = {(p["direction"], max(p["src"]["device"], p["dst"]["device"])):
                    p["points"][0]["median_ns"] for p in links["paths"]}

    def test_the_profile_keeps_to_its_schema(self):
        with open(SCHEMA, encoding="utf-8") as file:
            jsonschema.validate(self.profile, json.load(file))
        self.assertEqual([s["name"] for s in self.profile["staged"]],
                         ["staged/p2p/gpu0-gpu1", "staged/p2p/gpu0-gpu2"])

    def test_every_size_has_every_version(self):
        for staged in self.profile["staged"]:
            self.assertEqual([p["bytes"] for p in staged["points"]],
                             [4096 << i for i in range(11)])
            self.assertEqual({c["bytes"] for c in staged["cells"]},
                             {p["bytes"] for p in staged["points"]})

    def test_4b_is_the_best_of_its_grid(self):
        for staged in self.profile["staged"]:
            for p in staged["points"]:
                cells = [c for c in staged["cells"] if c["bytes"] == p["bytes"]]
                best = min(c["median_ns"] for c in cells)
                self.assertLessEqual(p["adaptive_ns"], best)
                self.assertIn((p["buffers"], p["buffer_bytes"]),
                              [(c["buffers"], c["buffer_bytes"]) for c in cells
                               if c["median_ns"] == best])

    def spread(self, spread, median, what):
        self.assertGreaterEqual(spread["n"], 6, what)
        self.assertLessEqual(spread["min_ns"], spread["ci_low_ns"], what)
        self.assertLessEqual(spread["ci_low_ns"], median, what)
        self.assertLessEqual(median, spread["ci_high_ns"], what)
        self.assertLessEqual(spread["ci_high_ns"], spread["max_ns"], what)

    def test_every_time_has_its_statistics(self):
        for staged in self.profile["staged"]:
            for p in staged["points"]:
                for way in ("peer", "unpipelined", "pipelined", "adaptive"):
                    self.spread(p[way], p[f"{way}_ns"], f"{staged['name']} {p['bytes']} {way}")
            for c in staged["cells"]:
                self.spread(c, c["median_ns"], f"{staged['name']} {c}")

    def test_the_grid_is_the_papers(self):
        for staged in self.profile["staged"]:
            largest = [c for c in staged["cells"] if c["bytes"] == 4 << 20]
            self.assertEqual({c["buffer_bytes"] for c in largest},
                             {65536 << i for i in range(6)})  # of 4 MiB and more: none is needed
            self.assertEqual({c["buffers"] for c in largest if c["buffer_bytes"] == 65536},
                             {2, 4, 8, 16, 32, 64})
            self.assertEqual({c["buffers"] for c in largest if c["buffer_bytes"] == 2 << 20}, {2})

    def test_no_version_beats_the_links(self):
        """2B takes both links one after the other, a pipeline at least the slower one."""
        for staged in self.profile["staged"]:
            out, back = self.link["D2H", 0], self.link["H2D", staged["dst_device"]]
            p = staged["points"][-1]
            self.assertLess(abs(p["unpipelined_ns"] / (out + back) - 1), 0.05, staged["name"])
            self.assertGreater(p["adaptive_ns"], max(out, back))
            self.assertLess(p["adaptive_ns"], 0.85 * (out + back))

    def test_the_hybrid_rule_follows_from_the_points(self):
        for staged in self.profile["staged"]:
            rule = staged["hybrid_bytes"]
            slower = [p["bytes"] for p in staged["points"] if p["adaptive_ns"] >= p["peer_ns"]]
            self.assertTrue(all(p["adaptive_ns"] < p["peer_ns"] for p in staged["points"]
                                if rule and p["bytes"] >= rule))
            if rule:
                self.assertTrue(not slower or max(slower) < rule)
            else:
                self.assertIn(staged["points"][-1]["bytes"], slower)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
