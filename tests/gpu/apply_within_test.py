#!/usr/bin/env python3
"""apply_within.py: rounds with and without apply are compared by pairs, and what cannot be decided is not. apply_planned.py: the steps of
a plan that are asked for are carried out. With stand-ins for xferscope.

usage: apply_within_test.py LIBRARY    repeated.c's
"""
import json
import math
import os
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

    def test_interval_of_the_middle(self):
        """Exact: with six values the lowest and the highest mean of two are its bounds, as Wilcoxon's tables have it."""
        self.assertEqual(apply_within.middle([1, 2, 3, 4, 5]), (3, -math.inf, math.inf))
        self.assertEqual(apply_within.middle([6, 2, 3, 4, 5, 1]), (3.5, 1, 6))
        self.assertEqual([apply_within.signed_rank_cut(count, 0.95) for count in (6, 10, 20, 25)], [1, 9, 53, 90])
        exact, near = apply_within.signed_rank_cut(60, 0.95), apply_within.signed_rank_cut(61, 0.95)
        self.assertTrue(exact < near < exact + 25)
        drawn, inside = random.Random(7), 0
        for _ in range(400):
            low, high = apply_within.middle([drawn.random() - drawn.random() for _ in range(15)])[1:]
            inside += low <= 0 <= high
        self.assertGreater(inside, 0.93 * 400)

    def test_slow_rounds_do_not_move_it(self):
        values = [0.01, -0.01, 0.02, -0.02, 0.0, 0.015, -0.015, 0.005, -0.005, 0.01]
        self.assertLess(abs(apply_within.middle([*values, 9.0])[0]), 0.01)

    def test_counted(self):
        """Calls of ten rounds of 10 ms."""
        def judged(calls, said="", ratio=1.02):
            return apply_within.judged({**entry(ratio, 20, 0.3), "calls": calls, "said": said}, 0.02, {"copy": 50, "launch": 20})
        self.assertAlmostEqual(judged({"copy": 1000, "launch": 500})["counted"], 6e-6 / 0.01, places=4)
        self.assertAlmostEqual(judged({"set": 1000})["counted"], 5e-6 / 0.01, places=4)
        self.assertEqual([(one["verdict"], one["by_count"]) for one in (judged({"copy": 1000}), judged({"copy": 100000}),
                         judged({"copy": 1000}, "2 calls carried out, 1 ms saved"), judged(None))],
                         [("not slower", True)] + [("not decided", False)] * 3)
        self.assertEqual(judged({"copy": 1}, ratio=1.5)["verdict"], "slower")

    def test_own_count(self):
        said = "a: 5 calls carried out, 8 ms saved (3 GB/s instead of 2)\nb: 1 call carried out, 500 us lost; it does not gain\n"
        self.assertAlmostEqual(apply_within.own_count({"said": said, "without": [False, True, True, False, False]}), 0.0025)

    def test_once_a_process(self):
        def step(likely, why, *transfers):
            return {"why_not": why, "saving_s": {"likely": likely}, "sites": [{"transfers": count} for count in transfers]}
        plan = {"steps": [step(3, "apply does so without a plan", 2, 1), step(1, "apply copies pageable memory faster without a plan", 30),
                          step(9, "the program itself has to be changed for it", 1)]}
        self.assertEqual([apply_within.once_share(plan, rounds) for rounds in (20, 2, 40)], [0.75, 0, 1])
        self.assertEqual(apply_within.once_share({}, 9), 0)
        unknown = {"steps": [*plan["steps"], step(None, "apply does so without a plan", 1)]}
        self.assertEqual([apply_within.once_share(unknown, 20), apply_within.once_share({"steps": unknown["steps"][3:]}, 20)], [0.75, 0])
        one = apply_within.judged({**entry(1.0, 20, 0.01), "predicted": [0.1, 0.2, 0.3], "once": 1.0}, 0.02)
        self.assertEqual((one["predicted"], one["once"], one["inside"]), (None, [0.1, 0.2, 0.3], True))
        half = apply_within.judged({**entry(1.0, 20, 0.01), "predicted": [0.1, 0.2, 0.3], "once": 0.5}, 0.02)
        self.assertEqual([round(value, 6) for value in half["predicted"]], [0.005, 0.01, 0.015])

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


PLANNING = """#!/bin/sh
case $1 in
record) while [ "$1" != -- ]; do shift; done; shift; exec "$@" ;;
analyze) while [ "$1" != --plan ]; do shift; done; cp "$(dirname "$0")/plan.json" "$2" ;;
apply) cp "$5" "$(dirname "$0")/given.json"; echo "$3" >"$(dirname "$0")/only"; case "$*" in *--check*) echo "p.checked: 7 compared, ${DIFFERENT:-0} different" >&2 ;; esac
    while [ "$1" != -- ]; do shift; done; shift; APPLIED=2.5 exec "$@" ;;
esac
"""


class PlannedTest(unittest.TestCase):
    def measure(self, steps, *options, program="sh -c 'echo loop ${APPLIED:-4.0} 0'", **env):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "bin").mkdir()
            (folder / "bin" / "xferscope").write_text(PLANNING)
            (folder / "bin" / "xferscope").chmod(0o755)
            (folder / "bin" / "plan.json").write_text(json.dumps({"steps": steps}))
            (folder / "commands").write_text(f"p: {program}\n")
            done = subprocess.run([sys.executable, HERE / "apply_planned.py", folder, folder / "out", folder / "commands", "--turns", "2", *options],
                                  capture_output=True, text=True, check=False, env={**os.environ, **env})
            given = folder / "bin" / "given.json"
            return done.returncode, done.stdout, json.loads(given.read_text())["steps"] if given.exists() else []

    @staticmethod
    def step(by, likely, **more):
        saving = {"low": likely - 0.001, "likely": likely, "high": likely + 0.001}
        return {"by": by, "why_not": None, "carry_out": True, "apply_saving_s": saving, "saving_s": saving, "sites": [{"kernels_keep": False}], **more}

    def test_steps_that_are_asked_for(self):
        steps = [self.step("leave-out", 0.0015), self.step("pool", 0.5), self.step("leave-out", 9, why_not="a reason"),
                 self.step("leave-out", 0.0, why_not="a question decides", carry_out=False)]
        status, text, given = self.measure(steps, "--grant")
        self.assertEqual((status, [step["carry_out"] for step in given]), (0, [True, False, False, True]), text)
        self.assertEqual([step["sites"][0]["kernels_keep"] for step in given], [True, False, False, True])
        self.assertIn("| p | leave-out | 7 compared, 0 different | 4, 2.5 | 1.5 (1.5 to 1.5) | 1.5 (-0.5 to 3.5) | inside |", text)

    def test_of_the_fix(self):
        status, text, given = self.measure([self.step("streams", 0.004, apply_saving_s=None)])
        self.assertEqual((status, given[0]["sites"][0]["kernels_keep"]), (0, False), text)
        self.assertIn("| 4 (3 to 5), of the fix | outside |", text)

    def test_what_differs_or_fails(self):
        self.assertEqual(self.measure([self.step("streams", 0)], DIFFERENT="1")[0], 1)
        status, text, _ = self.measure([self.step("streams", 0)], program="false")
        self.assertEqual((status, "status 1" in text), (1, True))
        self.assertEqual(self.measure([self.step("pool", 0)])[0], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
