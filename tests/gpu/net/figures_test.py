#!/usr/bin/env python3
"""figures.py with a profile that is made up."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
KIB, MIB = 1 << 10, 1 << 20


def point(size, whole, pieces, adaptive, direct=None):
    point = {"bytes": size, "unpipelined_ns": whole, "pipelined_ns": pieces, "adaptive_ns": adaptive, "buffers": 8, "buffer_bytes": 256 * KIB}
    return {**point, "direct_ns": direct} if direct else point


def cell(buffers, piece, ns):
    return {"bytes": 16 * MIB, "buffers": buffers, "buffer_bytes": piece, "median_ns": ns}


class FiguresTest(unittest.TestCase):
    def figures(self, points, paths=(), hybrid=0, cells=()):
        network = {"ranks": [{"gpu": 2}, {"gpu": 0}],
                   "staged": [{"name": "net/staged/rank0-rank1", "from": 0, "to": 1, "hybrid_bytes": hybrid, "points": points, "cells": list(cells)}]}
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("net.json", "machine.json")]
            files[0].write_text(json.dumps({"network": network}))
            files[1].write_text(json.dumps({"paths": [{"name": name, "points": [{"bytes": size, "median_ns": ns} for size, ns in of]}
                                                      for name, of in paths]}))
            done = subprocess.run([sys.executable, HERE / "figures.py", *files], capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.stdout

    POINTS = [point(64 * KIB, 40_000, 32_768, 65_536, 16_384), point(MIB, 400_000, 300_000, 262_144, 524_288),
              point(16 * MIB, 4_000_000, 4_194_304, 2_097_152, 4_194_304)]

    def test_by_size(self):
        peer = ("copy/peer/p2p/gpu2-gpu0", [(64 * KIB, 8192), (MIB, 131_072), (16 * MIB, 3_000_000)])
        text = self.figures(self.POINTS, [("copy/peer/p2p/gpu0-gpu2", [(MIB, 1)]), ("copy/no-peer/p2p/gpu2-gpu0", [(MIB, 1)]), peer], hybrid=MIB)
        self.assertIn("## net/staged/rank0-rank1, copy/peer/p2p/gpu2-gpu0\n", text)
        self.assertIn("| 1 MiB | 8 | 2 | 2.62 | 3.5 | 4 | 8 of 256 KiB | 8 of 256 KB |\n", text)
        self.assertIn("| 3B | 12 | 5.4 | 4 (16 MiB) | 131 | 32.8 |\n", text)
        self.assertIn("| 2A | 9 | 2.25 | 4 (16 MiB) | 136 | 16.4 |\n", text)
        self.assertIn("at 2 of 3 sizes; 0.5 to 2 times", text)
        self.assertIn("| 4B is faster than CUDA's copy from 300 KB on | from 16 MiB on |", text)
        self.assertIn("| 4B from 1 MiB on |", text)
        self.assertEqual(text.split("Figure 16")[1].count("| 64 KiB | 8.19 | 16.4 | 40 | 32.8 | 65.5 |"), 1)
        self.assertNotIn("MiB", text.split("Figure 16")[1])

    def test_without(self):
        """What was not measured is no figure."""
        text = self.figures([point(MIB, 400_000, 300_000, 262_144)])
        self.assertIn("| 1 MiB | - | - | 2.62 | 3.5 | 4 |", text)
        self.assertIn("| 4A | 13 | - | - | 72 | - |", text)
        self.assertIn("this MPI takes no device memory", text)
        self.assertNotIn("CUDA's copy from", text)

    def test_grid(self):
        text = self.figures(self.POINTS, cells=[cell(2, MIB, 8_388_608), cell(2, 4 * MIB, 4_194_304), cell(8, MIB, 2_097_152), cell(32, 64 * KIB, 16_777_216)])
        self.assertIn("| buffers | 64 KiB | 1 MiB | 4 MiB |\n|---|---|---|---|\n| 2 | - | 2 | 4 |\n| 8 | - | 8 | - |\n| 32 | 1 | - | - |", text)


if __name__ == "__main__":
    unittest.main()
