"""Pairs on the simulated GPU, by tests/pairs/run, those named by XFERSCOPE_PAIRS (01,04; with
XFERSCOPE_LONG_TESTS=1 all, after the target `pairs`): before and after end well, with and without the
recorder, their sums agree, and the trace has the transfers that they say they made."""
import json
import os
import sys
import unittest
from pathlib import Path

from lab import BUILD, XFERSCOPE, Bench, environment, run

HERE = Path(__file__).resolve().parent
KEYS = {"finding", "also", "gpus", "what", "content", "bait"}


def transfers_at_work(trace):
    """Copies that begin between begin and end of the range "work", whichever thread makes them."""
    result = run([XFERSCOPE, "dump", trace, "--kind", "transfer,range-begin,range-end", "--format", "json"])
    events = [line for line in map(json.loads, result.stdout.splitlines()) if line["type"] == "event"]
    (begin,) = (event for event in events if event["kind"] == "range-begin" and event["name"] == "work")
    end = min(event["start_ns"] for event in events
              if event["kind"] == "range-end" and event["lane"] == begin["lane"] and event["seq"] > begin["seq"])
    return sum(event["count"] for event in events
               if event["kind"] == "transfer" and begin["start_ns"] <= event["start_ns"] < end and event["bytes"])


class Pairs(Bench):
    def test_all(self):
        pairs = sorted(path.parent.name for path in HERE.glob("[0-9][0-9]-*/program.cu"))
        if os.environ.get("XFERSCOPE_LONG_TESTS") != "1":
            pairs = [pair for pair in pairs if pair[:2] in os.environ["XFERSCOPE_PAIRS"].split(",")]
        self.assertGreater(len(pairs), 10)
        numbers = ",".join(pair.split("-")[0] for pair in pairs)
        result = run([sys.executable, HERE / "run", BUILD, self.folder, "--simulated", "--repeat", "1",
                      "--only", numbers], env=environment())
        self.assertEqual(result.returncode, 0, result.stdout.decode() + result.stderr.decode())
        measured = json.loads((self.folder / "times.json").read_text())["pairs"]
        self.assertEqual(sorted(measured), pairs)
        for pair in pairs:
            for side in ("before", "after"):
                with self.subTest(pair=pair, side=side):
                    self.check(measured[pair][side])

    def check(self, side):
        (alone,) = side["runs"]
        self.assertEqual(alone["transfers"], side["recorded"]["transfers"])
        self.assertEqual(transfers_at_work(self.folder / side["trace"]), alone["transfers"])

    def test_what_each_says_of_itself(self):
        for path in sorted(HERE.glob("[0-9][0-9]-*")):
            with self.subTest(pair=path.name):
                about = json.loads((path / "pair.json").read_text())
                self.assertEqual(set(about) - KEYS, set())
                self.assertIn(about["gpus"], (1, 2))
                self.assertTrue(about["what"])
                self.assertEqual(about["finding"] is None, "bait" in about)
                self.assertIn({program.name for program in path.glob("*.[cp]*")},
                              ({"program.cu"}, {"before.py", "after.py"}))


if __name__ == "__main__":
    unittest.main()
