#!/usr/bin/env python3
"""Copies of several GPUs at once, on the simulated machine of two sockets and four GPUs: its
engines and links are independent, so that nothing slows anything down.

usage: concurrent_test.py PROBE SIMGPU_FOLDER SCHEMA
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROBE, SIMGPU, SCHEMA = sys.argv[1:4]
BYTES = 4 << 20


class Concurrent(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        environment = dict(os.environ, LD_LIBRARY_PATH=SIMGPU, XFERSCOPE_SIMGPU_CLOCK="virtual",
                           XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu")
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "m.json")
            run = subprocess.run([PROBE, "-o", output, "--quiet", "--sizes", f"{BYTES}:{BYTES}",
                                  "--filter", "^concurrent/|^copy/(pinned|peer|no-peer)/",
                                  "--time-limit", "200"], env=environment, capture_output=True,
                                 text=True, timeout=300)
            if run.returncode:
                raise AssertionError(f"status {run.returncode}: {run.stderr}")
            with open(output, encoding="utf-8") as file:
                cls.profile = json.load(file)
        cls.groups = {c["name"]: c for c in cls.profile["concurrent"]}
        cls.alone = {p["name"]: p["points"][0]["median_ns"] for p in cls.profile["paths"]}

    def test_the_profile_keeps_to_its_schema(self):
        with open(SCHEMA, encoding="utf-8") as file:
            jsonschema.validate(self.profile, json.load(file))

    def test_every_pair_and_all_of_them(self):
        pairs = [f"gpu{a}-gpu{b}" for a, b in itertools.combinations(range(4), 2)]
        expected = {f"concurrent/no-peer/both/{pair}" for pair in pairs}
        expected |= {f"concurrent/peer/both/{pair}" for pair in ("gpu0-gpu1", "gpu2-gpu3")}
        expected |= {f"concurrent/pinned/{way}/{place}" for way in ("h2d", "d2h")
                     for place in pairs + ["all"]}
        self.assertEqual(set(self.groups), expected)

    def test_flows(self):
        flows = self.groups["concurrent/pinned/h2d/all"]["flows"]
        self.assertEqual([(f["src"]["numa"], f["dst"]["device"]) for f in flows],
                         [(0, 0), (0, 1), (1, 2), (1, 3)])
        flows = self.groups["concurrent/peer/both/gpu2-gpu3"]["flows"]
        self.assertEqual([(f["src"]["device"], f["dst"]["device"]) for f in flows],
                         [(2, 3), (3, 2)])

    def time(self, name):
        points = [p for p in self.groups[name]["points"] if p["bytes"] == BYTES]
        self.assertEqual(len(points), 1, name)
        return points[0]["median_ns"]

    def test_independent_links_take_the_longest_flows_time(self):
        for name in self.groups:
            if "no-peer" in name:
                continue
            flows = self.groups[name]["flows"]
            longest = max(self.alone[self.path(f)] for f in flows)
            self.assertLess(abs(self.time(name) / longest - 1), 0.03, name)

    def test_without_peer_access_it_is_slower(self):
        for pair in ("gpu0-gpu1", "gpu2-gpu3"):
            self.assertGreater(self.time(f"concurrent/no-peer/both/{pair}"),
                               2 * self.time(f"concurrent/peer/both/{pair}"))

    @staticmethod
    def path(flow):
        src, dst = flow["src"], flow["dst"]
        if flow["direction"] == "P2P":
            return f"copy/peer/p2p/gpu{src['device']}-gpu{dst['device']}"
        host, device = (src, dst) if flow["direction"] == "H2D" else (dst, src)
        return f"copy/pinned/{flow['direction'].lower()}/node{host['numa']}-gpu{device['device']}"


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
