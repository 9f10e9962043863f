#!/usr/bin/env python3
"""Probing a simulated machine gives back the profile it was made from, within 5 %.

usage: recover_test.py PROBE SIMGPU_FOLDER SCHEMA [MACHINE.json]

Without a machine: one of two sockets and four GPUs, remote links slower than local ones, made up
here so that every path differs from every other.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROBE, SIMGPU, SCHEMA = sys.argv[1:4]
MACHINE = sys.argv[4] if len(sys.argv) > 4 else None
TOLERANCE = 0.05
SIZES = [1 << power for power in range(6, 23)]  # 64 B to 4 MiB: bytes make the time from 256 KiB


def made_path(name, direction, src, dst, model, blocking):
    Lo, g, G = model
    points = [{"bytes": k, "median_ns": Lo + k * G, "host_ns": 1500,
               "blocking_ns": Lo + k * G + 3000 if blocking else None} for k in SIZES]
    return {"name": name, "method": "copy", "direction": direction, "src": src, "dst": dst,
            "blocking": blocking, "device_timed": True, "points": points,
            "fit": {"Lo_ns": Lo, "g_ns": g, "G_ns_per_byte": G, "max_error": 0,
                    "fit_min_bytes": 1 << 18}}


def made_machine():
    gpus = [{"name": "two-socket", "memory_bytes": 4 << 30, "numa": i // 2, "copy_engines": 2,
             "uuid": f"GPU-0000000{i}-0000-0000-0000-000000000000", "pci": f"0000:{i + 1:02x}:00.0"}
            for i in range(4)]
    paths = []
    for i in range(4):
        device = {"memory": "device", "device": i}
        for node in range(2):
            far = node != i // 2
            for slower, memory in enumerate(("pageable", "pinned", "write-combined")):
                host = {"memory": memory, "numa": node}
                model = (3000 + 900 * far + 100 * i + 4000 * (memory == "pageable"), 800 + 50 * i,
                         0.02 * (1.7 if far else 1) * (1 + 0.3 * slower))
                paths.append(made_path(f"copy/{memory}/h2d/node{node}-gpu{i}", "H2D", host, device,
                                       model, True))
                paths.append(made_path(f"copy/{memory}/d2h/node{node}-gpu{i}", "D2H", device, host,
                                       [1.2 * x for x in model], True))
        paths.append(made_path(f"copy/device/d2d/gpu{i}", "D2D", device, device,
                               (2500, 700, 0.006), False))
        for j in range(4):
            if j != i:
                model = (4000 + 300 * j, 900, 0.009 if i // 2 == j // 2 else 0.03)
                paths.append(made_path(f"copy/peer/p2p/gpu{i}-gpu{j}", "P2P", device,
                                       {"memory": "device", "device": j}, model, False))
    return {"schema": "xferscope-profile", "version": 1,
            "machine": {"simulated": True, "numa_nodes": 2, "driver_version": 13000, "gpus": gpus},
            "paths": paths}


def probed(given, sizes, selection):
    """What the probe finds on that machine."""
    with tempfile.TemporaryDirectory() as folder:
        machine = os.path.join(folder, "machine.json")
        with open(machine, "w", encoding="utf-8") as file:
            json.dump(given, file)
        output = os.path.join(folder, "probed.json")
        environment = dict(os.environ, LD_LIBRARY_PATH=SIMGPU, XFERSCOPE_SIMGPU_MACHINE=machine,
                           XFERSCOPE_SIMGPU_CLOCK="virtual")
        run = subprocess.run(
            [PROBE, "-o", output, "--sizes", sizes, "--time-limit", "400", "--no-flush",
             "--format", "csv", "--quiet", *selection],
            env=environment, capture_output=True, text=True, timeout=500)
        if run.returncode:
            raise AssertionError(f"status {run.returncode}: {run.stderr}")
        with open(output, encoding="utf-8") as file:
            return json.load(file)


@unittest.skipIf(MACHINE, "of the made machine")
class Gap(unittest.TestCase):
    """g is what lies between two copies, whatever they move: here moving takes longer."""

    def test_the_gap_is_without_the_bytes(self):
        given = made_machine()
        found = probed(given, "64K:4M", ["--filter", "^copy/pinned/h2d/node0-gpu[01]$"])
        gaps = {path["name"]: path["fit"]["g_ns"] for path in found["paths"]}
        self.assertEqual(len(gaps), 2)
        for path in given["paths"]:
            if path["name"] in gaps:
                self.assertAlmostEqual(gaps[path["name"]] / path["fit"]["g_ns"], 1, delta=TOLERANCE)


class Recovery(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if MACHINE:
            with open(MACHINE, encoding="utf-8") as file:
                cls.given = json.load(file)
        else:
            cls.given = made_machine()
        cls.found = probed(cls.given, "64:4M", cls.selection())

    @classmethod
    def selection(cls):
        """Of several GPUs only the paths: their other benchmarks have tests of their own."""
        several = len(cls.given["machine"]["gpus"]) > 1
        return ["--filter", "^(copy|mapped-read|mapped-write|demand|prefetch)/"] if several else []

    @staticmethod
    def places(path):
        """What identifies a path whatever it is called. Without peer access: not in a profile."""
        ends = [(end["memory"], end.get("device", -1)) + ((end.get("numa", -1),)
                if end["memory"] != "device" else ()) for end in (path["src"], path["dst"])]
        return path["method"], *ends, path["name"].startswith("copy/no-peer")

    def alone(self):
        return [p for p in self.found["paths"] if p.get("load", "alone") == "alone"]

    def pairs(self):
        found = {self.places(p): p for p in self.alone()}
        for path in self.given["paths"]:
            if self.places(path) in found:
                yield path, found[self.places(path)]

    def close(self, given, found, what):
        self.assertIsNotNone(found, what)
        self.assertLess(abs(found / given - 1), TOLERANCE, f"{what}: {given} became {found}")

    def test_every_path_is_found(self):
        found = {self.places(p) for p in self.alone()}
        missing = [p["name"] for p in self.given["paths"]
                   if p["direction"] != "H2H" and
                   not p["name"].startswith("copy/no-peer") and self.places(p) not in found]
        self.assertEqual(missing, [])

    def test_times(self):
        compared = 0
        for given, found in self.pairs():
            if "/no-peer/" in given["name"]:
                continue
            points = {p["bytes"]: p for p in found["points"]}
            for p in given["points"]:
                if p["bytes"] in points:
                    what = f"{given['name']}, {p['bytes']} bytes"
                    self.close(p["median_ns"], points[p["bytes"]]["median_ns"], what)
                    compared += 1
        self.assertGreaterEqual(compared, 4 * 10)

    def test_blocking_times(self):
        compared = 0
        for given, found in self.pairs():
            points = {p["bytes"]: p for p in found["points"]}
            for p in given["points"]:
                if p.get("blocking_ns") and p["bytes"] in points and found["blocking"]:
                    what = f"{given['name']}, {p['bytes']} bytes, blocking"
                    self.close(p["blocking_ns"], points[p["bytes"]]["blocking_ns"], what)
                    compared += 1
        self.assertGreater(compared, 0)

    def test_the_gap(self):
        compared = 0
        for given, found in self.pairs():
            fit = given.get("fit") or {}
            if fit.get("g_ns") and found["fit"] and "no-peer" not in given["name"] and \
               "pageable" not in given["name"]:
                self.close(fit["g_ns"], found["fit"]["g_ns"], f"g of {given['name']}")
                compared += 1
        if not MACHINE:
            self.assertEqual(compared, 4 * 2 * 4 + 4 + 12)

    def test_the_model_of_a_made_machine(self):
        if MACHINE:
            self.skipTest("a measured machine need not follow the model")
        for given, found in self.pairs():
            for key in ("Lo_ns", "G_ns_per_byte"):
                self.close(given["fit"][key], found["fit"][key], f"{key} of {given['name']}")

    def test_it_says_that_it_is_simulated(self):
        self.assertTrue(self.found["machine"]["simulated"])
        self.assertEqual([g["numa"] for g in self.found["machine"]["gpus"]],
                         [g.get("numa", -1) for g in self.given["machine"]["gpus"]])
        with open(SCHEMA, encoding="utf-8") as file:
            jsonschema.validate(self.found, json.load(file))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
