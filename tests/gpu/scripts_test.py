#!/usr/bin/env python3
"""compare_counts, check_device_times, apply_table.py and play_table.py on made-up runs: they must see what differs."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

# Stands in for the command: `record` writes what CUPTI would have counted, `dump` prints events.
XFERSCOPE = """#!/bin/sh
case $1 in
record) [ -e counts ] && cp counts "$XFERSCOPE_CUPTI_COUNT_OUT.1"; exit 0 ;;
dump) cat events ;;
esac
"""


def event(kind="transfer", correlation=1, direction="H2D", size=100, start=1000, flags=(), count=1):
    return {
        "type": "event",
        "kind": kind,
        "call": "cudaMemcpy",
        "correlation": correlation,
        "direction": direction,
        "bytes": size,
        "count": count,
        "start_ns": start,
        "flags": list(flags),
    }


def cupti(dropped=0, **directions):
    counts = {d: {"transfers": 0, "bytes": 0} for d in ("H2D", "D2H", "D2D", "P2P", "H2H", "unknown", "memset")}
    for direction, (transfers, size) in directions.items():
        counts[direction] = {"transfers": transfers, "bytes": size}
    return {"dropped": dropped, "directions": counts}


class ScriptTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.makedirs(self.path("bin"))
        os.makedirs(self.path("lib"))
        self.write("bin/xferscope", XFERSCOPE)
        os.chmod(self.path("bin/xferscope"), 0o755)
        self.write("lib/libcount_cupti.so", "")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run_script(self, script, events, *arguments):
        lines = [{"type": "file", "pid": 1}, *events]
        self.write("events", "".join(json.dumps(line) + "\n" for line in lines))
        command = [sys.executable, os.path.join(HERE, script), "--build", self.folder.name, *arguments]
        done = subprocess.run(command, cwd=self.folder.name, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def compare(self, events, counts):
        if counts is not None:
            self.write("counts", json.dumps(counts))
        return self.run_script("compare_counts", events, "--", "true")

    def check(self, *events):
        return self.run_script("check_device_times", events, "run.xft")


class CompareCounts(ScriptTest):
    def test_equal(self):
        status, text = self.compare([event(), event(direction="D2H", size=7, count=3)], cupti(H2D=(1, 100), D2H=(3, 7)))
        self.assertEqual(status, 0, text)

    def test_bytes_differ(self):
        status, text = self.compare([event(size=99)], cupti(H2D=(1, 100)))
        self.assertEqual(status, 1, text)
        self.assertIn("DIFFERENT", text)

    def test_number_differs(self):
        self.assertEqual(self.compare([event(size=50), event(size=50)], cupti(H2D=(1, 100)))[0], 1)

    def test_direction_differs(self):
        self.assertEqual(self.compare([event(direction="D2D")], cupti(P2P=(1, 100)))[0], 1)

    def test_moves_nothing(self):
        events = [event(), event(flags=["failed"]), event(flags=["captured", "async"]), event(size=0)]
        self.assertEqual(self.compare(events, cupti(H2D=(1, 100)))[0], 0)

    def test_nothing_at_all(self):
        self.assertEqual(self.compare([], cupti())[0], 1)

    def test_dropped(self):
        status, text = self.compare([event()], cupti(dropped=1, H2D=(1, 100)))
        self.assertEqual(status, 2)
        self.assertIn("dropped 1", text)

    def test_no_counts(self):
        self.assertEqual(self.compare([event()], None)[0], 2)

    def test_no_build(self):
        os.unlink(self.path("bin/xferscope"))
        status, text = self.compare([event()], cupti(H2D=(1, 100)))
        self.assertEqual(status, 2)
        self.assertEqual(len(text.splitlines()), 1, text)


class OneLine(ScriptTest):
    """With --title, and the program as a third witness."""

    def compare(self, events, counts, *options, prints=""):
        self.write("counts", json.dumps(counts))
        events = [{"src_memory": "pageable", "dst_memory": "device", **e} for e in events]
        script = f'[ "$1" = record ] && printf "{prints}"\n'
        self.write("bin/xferscope", XFERSCOPE.replace("case", script + "case", 1))
        return self.run_script("compare_counts", events, "--title", "it", *options, "--", "true")

    def test_equal(self):
        status, text = self.compare([event(), event(size=5)], cupti(H2D=(2, 105)))
        self.assertEqual((status, text.split()), (0, "it equal H2D 2 (105)".split()))

    def test_driver_level(self):
        driver = {**event(), "call": "cuMemcpyHtoD_v2"}
        self.assertIn("; 1 at driver level", self.compare([driver, event()], cupti(H2D=(2, 200)))[1])

    def test_of_no_bytes(self):
        events = [event(), event(size=0), event(size=0, count=0), event(size=0, flags=["failed"])]
        status, text = self.compare(events, cupti(H2D=(1, 100)))
        self.assertEqual(status, 0, text)
        self.assertIn("equal     H2D 1 (100); 2 of no bytes left out", text)

    def test_different(self):
        status, text = self.compare([event()], cupti(H2D=(1, 99)))
        self.assertEqual(status, 1)
        self.assertIn("DIFFERENT H2D 1 (100), CUPTI 1 (99)", text)
        self.assertIn("xferscope: 1 cudaMemcpy pageable>device H2D", text)

    def test_program_agrees(self):
        self.assertEqual(self.compare([event()], cupti(H2D=(1, 100)), "--announced", prints="H2D 1 100 x\\n")[0], 0)

    def test_program_differs(self):
        for known in ([], ["--known", "because"]):
            options = ["--announced", *known]
            status, text = self.compare([event()], cupti(H2D=(1, 100)), *options, prints="H2D 1 99 x\\n")
            self.assertEqual(status, 1)
            self.assertIn("the program 1 (99)", text)

    def test_known(self):
        options = ["--announced", "--known", "because"]
        status, text = self.compare([event()], cupti(H2D=(1, 98)), *options, prints="H2D 1 100 x\\n")
        self.assertEqual(status, 0, text)
        self.assertIn("expected  H2D 1 (100), CUPTI 1 (98)", text)
        self.assertIn("because", text)

    def test_known_needs_the_program(self):
        self.assertEqual(self.compare([event()], cupti(H2D=(1, 98)), "--known", "because")[0], 1)


class CheckDeviceTimes(ScriptTest):
    def test_complete(self):
        status, text = self.check(event(), event("device-copy", start=2000))
        self.assertEqual(status, 0, text)

    def test_several_copies_of_one_call(self):
        parts = [event("device-copy", size=60, start=2000), event("device-copy", size=40, start=3000)]
        self.assertEqual(self.check(event(), *parts)[0], 0)

    def test_missing(self):
        status, text = self.check(event(), event("device-copy", correlation=2))
        self.assertEqual(status, 1)
        self.assertIn("no device copy", text)

    def test_not_joined(self):
        self.assertEqual(self.check(event(correlation=0), event("device-copy", correlation=0))[0], 1)

    def test_bytes_differ(self):
        self.assertEqual(self.check(event(), event("device-copy", size=99, start=2000))[0], 1)

    def test_direction_differs(self):
        self.assertEqual(self.check(event(), event("device-copy", direction="D2H", start=2000))[0], 1)

    def test_before_the_call(self):
        self.assertEqual(self.check(event(start=1_000_000), event("device-copy", start=1000))[0], 1)

    def test_no_transfers(self):
        self.assertEqual(self.check()[0], 1)


class PlayTable(unittest.TestCase):
    """Runs that were played, in a table."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, document):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path

    def report(self, name, error=0.01, **more):
        played = {"known": True, "alone_s": 0.2, "recorded_s": 0.202, "advised_s": 0.15, "with_set_s": 0.147,
                  "error": error, "saving_s": {"likely": 0.052}, "whole": True, "by_time": 0, **more}
        return self.write(name, {"whatif": {"played": played}})

    def run_table(self, *arguments):
        script = os.path.join(HERE, "play_table.py")
        done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_line(self):
        medians = {side: {"median_work_ns": ns} for side, ns in (("before", 180e6), ("after", 130e6))}
        times = self.write("times.json", {"pairs": {"03-small-copies": medians}})
        status, line = self.run_table("line", self.report("03.json"), "03", times)
        self.assertEqual(status, 0)
        for text in ("alone    200.00", "played    202.00", "1.00% off", "53.00 by the model", "52.00 played",
                     "50.00 measured\n"):
            self.assertIn(text, line)
        line = self.run_table("line", self.report("x.json", whole=False, by_time=7), "03-after", times)[1]
        self.assertIn("- measured; in part; 7 by their time", line)
        nothing = self.report("n.json", advised_s=None, with_set_s=None, saving_s=None)
        self.assertIn("- by the model,        - played", self.run_table("line", nothing, "9", "none")[1])

    def test_not_played(self):
        report = self.report("03.json", known=False, why_not="no GPU")
        self.assertEqual(self.run_table("line", report, "03", "none"), (1, "03           not played: no GPU\n"))
        self.assertEqual(self.run_table("line", "none", "03", "none"), (1, "03           not played: no report\n"))

    def test_sum(self):
        reports = [self.report("1.json", 0.01), self.report("2.json", 0.03), self.report("3.json", 0.05)]
        self.assertEqual(self.run_table("sum", *reports), (0, "3 of 3 played, 2 within 3%, 3.00% off on average\n"))
        status, line = self.run_table("sum", *reports, self.report("4.json", known=False))
        self.assertEqual((status, line[:16]), (1, "3 of 4 played, 2"))
        self.assertEqual(self.run_table("sum")[0], 2)


class ApplyTable(unittest.TestCase):
    """The tables of apply.sh, of made-up outputs."""

    def tables(self, **outputs):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in outputs.items():
                with open(os.path.join(folder, name.replace("__", ".")), "w") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, os.path.join(HERE, "apply_table.py"), folder], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

    def test_medians(self):
        said = self.tables(copies__bare__1="H2D sync warm 64 24 6.0 6.0 ok\n", copies__bare__2="H2D sync warm 64 24 6.0 8.0 ok\n",
                           copies__bare__3="H2D sync warm 64 24 6.0 99 ok\n",
                           copies__applied__1="H2D sync warm 64 24 6.0 40.0 ok\n")
        self.assertIn("| H2D | sync | warm | 64 MiB | 8.0 | 40.0 | 5.00 |", said)
        self.assertNotIn("Results differ", said)

    def test_different_data(self):
        said = self.tables(copies__bare__1="H2D sync warm 64 24 6.0 6.0 ok\n",
                           copies__applied__1="H2D sync warm 64 24 6.0 40.0 DIFFERENT\n")
        self.assertIn("| nan | nan |", said)
        said = self.tables(**{"pair-1__bare__1": "work_ns 2000000 sum 5 transfers 1", "pair-1__applied__1": "work_ns 1000000 sum 6"})
        self.assertIn("| 1 | 2 | 1 | 2.00 |", said)
        self.assertIn("Results differ: pair-1", said)


if __name__ == "__main__":
    unittest.main()
