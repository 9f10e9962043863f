#!/usr/bin/env python3
"""calls_table.py on calls made up, and played_calls on a recorded run. usage: calls_table_test.py [PLAYED_CALLS]"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import calls_table  # noqa: E402

DATA = HERE.parent / "data"
TOOL = sys.argv.pop(1) if len(sys.argv) > 1 else None


def line(what, start, end, call, back, site="f"):
    times = [start, end, call, back, "nan", "nan", "nan", "nan", 0, 0, 0]
    return "\t".join(map(str, [0, 0, what, site, *times]))


# A wait before the first work counts for nothing. The query is in one run alone.
RECORDED = [line("sync", 0, 900, 0, 900), line("launch", 1000, 7000, 1000, 5000), line("query", 7100, 7200, 5050, 5100),
            line("sync", 8000, 20000, 5500, 19500), line("launch", 30000, 37000, 27500, 31500, "g")]
LIGHT = [line("launch", 500, 4500, 500, 4500), line("sync", 5000, 19000, 5000, 19000), line("launch", 28000, 33000, 28000, 33000, "g")]


class Table(unittest.TestCase):
    def run_on(self, traces, *options):
        with tempfile.TemporaryDirectory() as build:
            tool = Path(build) / "bin" / "played_calls"
            tool.parent.mkdir()
            tool.write_text('#!/bin/sh\ncat "$1"\n')
            tool.chmod(0o755)
            files = []
            for number, calls in enumerate(traces):
                files.append(Path(build) / str(number))
                files[-1].write_text("".join(f"{call}\n" for call in calls))
            command = [sys.executable, HERE / "calls_table.py", build, "profile", *files, *options]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            return done.returncode, done.stdout.splitlines()

    def test_groups(self):
        status, lines = self.run_on((RECORDED, LIGHT))
        self.assertEqual(status, 0)
        rows = {words[-1].strip(): words for words in (one.split("|") for one in lines[1:-1])}
        self.assertEqual(set(rows), {"launch f", "sync f", "launch g"})
        sync, launch = rows["sync f"], rows["launch g"]
        self.assertEqual(sync[0].split(), ["1", "-0.000", "+0.000"])
        self.assertEqual(sync[1].split(), ["0.80", "0.40", "0.50"])
        self.assertEqual(sync[2].split(), ["12.00", "14.00", "14.00"])
        self.assertEqual(launch[1].split(), ["10.00", "8.00", "9.00"])
        self.assertEqual(launch[2].split(), ["7.00", "4.00", "5.00"])
        self.assertIn("3 calls of both, 1 of one alone; the last of both ends at 0.030 ms replayed, 0.033 light: -6.2%", lines[-1])

    def test_one_by_one(self):
        _, lines = self.run_on((RECORDED, LIGHT), "--each", "--most", "1")
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[1].split(), ["0", "0.026", "-0.002", "10.00", "8.00", "9.00", "7.00", "4.00", "5.00", "launch", "g"])

    def test_nothing_in_common(self):
        self.assertEqual(self.run_on((RECORDED, []))[0], 1)

    @unittest.skipUnless(TOOL and os.path.exists(TOOL), "needs played_calls")
    def test_recorded_run(self):
        trace, profile = str(DATA / "h200-static.xft"), str(DATA / "h200.json")
        calls = [call for of in calls_table.calls_of(TOOL, trace, profile).values() for call in of]
        self.assertGreater(len(calls), 3000)
        self.assertTrue(any(call["what"] == "copy" and "upload_gains" in call["site"] for call in calls))
        for call in calls:
            self.assertLessEqual(call["start"], call["end"])
            self.assertLessEqual(call["call"], call["back"])
        self.assertEqual(subprocess.run([TOOL, trace, "/nowhere"], stderr=subprocess.DEVNULL, check=False).returncode, 1)
        self.assertEqual(subprocess.run([TOOL], stderr=subprocess.DEVNULL, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main()
