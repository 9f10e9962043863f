#!/usr/bin/env python3
"""apply_within.py: rounds with and without apply are compared by pairs, and what cannot be decided is not; with a stand-in for xferscope.

usage: apply_within_test.py LIBRARY    repeated.c's
"""
import json
import math
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import apply_within

HERE = Path(__file__).resolve().parent
LIBRARY = Path(sys.argv.pop(1)).resolve()
# `record` counts the rounds that it is asked for; `analyze` tells what would be saved of them.
XFERSCOPE = """#!/bin/sh
case $1 in
record) while [ "$1" != -o ]; do shift; done; echo $REPEATED_ROUNDS >"$2"; while [ "$1" != -- ]; do shift; done; shift; exec "$@" ;;
apply) while [ "$1" != -- ]; do shift; done; shift; "$@"; status=$?
    echo "xferscope apply: staging H2D up (a b.c:4) p+0x1: 1.5 GiB of 9 calls carried out, 1 s saved (30 GB/s instead of 10)" >&2; exit $status ;;
analyze) echo '{"whatif": {"known": true, "apply_saving_s": {"low": 0, "likely": 0.1, "high": 100}}}' ;;
esac
"""


def entry(ratio, count=20, noise=0.0, saved=None, recorded_rounds=10):
    """Rounds of 10 ms without; with, so many times as long."""
    drawn, seconds, without = random.Random(5), [0.5], [False]
    for pair in range(count):
        both = [(0.01 * drawn.uniform(1 - noise, 1 + noise), True), (0.01 * ratio * drawn.uniform(1 - noise, 1 + noise), False)]
        for took, way in both if pair % 2 else reversed(both):
            seconds.append(took)
            without.append(way)
    return {"name": "a/b", "seconds": seconds, "without": without, "said": "", "predicted": saved, "recorded_rounds": recorded_rounds}


class JudgedTest(unittest.TestCase):
    def judged(self, *arguments, **named):
        return apply_within.judged(entry(*arguments, **named), 0.02)

    def test_verdicts(self):
        found = [self.judged(*case)["verdict"] for case in ((1.05, 20, 0.01), (1.0, 20, 0.01), (0.5, 20, 0.2), (1.02, 20, 0.3), (1.5, 5))]
        self.assertEqual(found, ["slower", "not slower", "not slower", "not decided", "not decided"])
        self.assertEqual([self.judged(ratio, 20, 0.01)["faster"] for ratio in (0.5, 0.99)], [True, False])

    def test_predicted(self):
        """Of ten rounds, 5 ms saved of each."""
        cases = [(0.04, 0.045, 0.06), (0.06, 0.07, 0.08), (0.01, 0.02, 0.03), None]
        self.assertEqual([self.judged(0.5, 20, 0.01, saved)["inside"] for saved in cases], [True, False, False, False])
        self.assertEqual([self.judged(ratio, 20, 0.001)["inside"] for ratio in (1.0, 0.97)], [True, False])

    def test_pairs(self):
        self.assertEqual(apply_within.differences([9, 1, 2, 3, 4, 5], [0, 1, 0, 0, 1, 1]), [(1, 2), (4, 3)])
        self.assertIsNone(self.judged(1.0, 1))

    def test_interval_of_a_median(self):
        self.assertEqual(apply_within.median_interval([1, 2, 3, 4, 5]), (-math.inf, math.inf))
        self.assertEqual(apply_within.median_interval([6, 2, 3, 4, 5, 1]), (1, 6))
        self.assertEqual(apply_within.median_interval(range(1, 21)), (6, 15))
        drawn, inside = random.Random(7), 0
        for _ in range(400):
            low, high = apply_within.median_interval([drawn.random() for _ in range(15)])
            inside += low <= 0.5 <= high
        self.assertGreater(inside, 0.93 * 400)

    def test_bandwidths(self):
        said = ("xferscope apply: staging H2D main (program.cu:33) before+0x3630: 2.00 GiB of 54 calls carried out, 3.95 s saved (30 GB/s instead of 10)\n"
                "xferscope apply: staging D2H down (a.c:6) p+0x1: 1.00 GiB of 5 calls carried out, 2.1 ms lost (10 GB/s instead of 20); it does not gain\n"
                "xferscope apply: locking main (program.cu:29) before+0x3517: 128 MiB of 9 calls carried out, 71.8 ms lost\n")
        found = apply_within.bandwidths(said)
        self.assertEqual(set(found), {"staging"})
        self.assertEqual([round(value, 3) for value in found["staging"][1:]], [18.0, 12.0])


class ScriptTest(unittest.TestCase):
    def test_measured(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for part in ("bin", "lib"):
                (folder / part).mkdir()
            (folder / "bin" / "xferscope").write_text(XFERSCOPE)
            (folder / "bin" / "xferscope").chmod(0o755)
            (folder / "lib" / LIBRARY.name).symlink_to(LIBRARY)
            (folder / "commands").write_text("c/expr: expr 1 + 2\nc/fails: ls missing\np/steps: python3 -c 'import repeated_steps as r; r.rounds(int)'\n")
            done = subprocess.run([sys.executable, HERE / "apply_within.py", folder, folder / "out", folder / "commands", "--repeat", "17", "--longest", "9",
                                   "--whole", "1", "--traces", folder / "traces"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            entries = {line["name"]: line for line in map(json.loads, (folder / "out" / "within.jsonl").read_text().splitlines())}
            self.assertEqual([(len(entries[name]["seconds"]), entries[name]["recorded_rounds"]) for name in ("c/expr", "p/steps")], [(17, 9)] * 2)
            self.assertEqual((folder / "traces" / "c-expr.xft").read_text(), "9\n")
            self.assertEqual(entries["c/fails"]["problem"], "exit status 2")
            self.assertIn("| c/expr | 8 |", done.stdout)
            self.assertIn("all: 2 programs, carried out in 2;", done.stdout)
            self.assertIn("staged copies at 2x and more 2 of 2; inside 2 of 2 predictions", done.stdout)
            wholes = {(line["name"], line["applied"]) for line in map(json.loads, (folder / "out" / "whole.jsonl").read_text().splitlines())}
            self.assertIn(("c/expr", True), wholes)
            again = subprocess.run([sys.executable, HERE / "apply_within.py", folder, folder / "out", folder / "commands", "--table"],
                                   capture_output=True, text=True, check=False)
            self.assertEqual(again.stdout, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
