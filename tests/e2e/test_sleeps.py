"""Threads that sleep between their calls, and what their PROCESSOR events say of it."""
import contextlib
import json
import sqlite3
import unittest

from lab import Bench, PROGRAMS, XFERSCOPE, environment, needs, record, report, run

UNTIL_CALL, UNTIL_RETURN, OF_OTHERS = 1, 2, 3
LEAST_NS = 50000


def slept_ns(event):
    return event["end_ns"] - event["start_ns"] - event["aux"]


class Sleeps(Bench):
    def recorded(self, *arguments, clock, options=()):
        result = record(PROGRAMS / "sleepers", *arguments, cwd=self.folder, options=["-o", "run", *options],
                        env=environment(XFERSCOPE_SIMGPU_CLOCK=clock))
        self.assertEqual(result.returncode, 0, result.stderr)
        dump = run([XFERSCOPE, "dump", self.folder / "run.xft", "--format", "json"])
        self.assertEqual(dump.returncode, 0, dump.stderr)
        items = [json.loads(line) for line in dump.stdout.splitlines()]
        events = [item for item in items if item["type"] == "event"]
        return [int(word) for word in result.stdout.split()], events

    def check(self, event):
        self.assertIn(int(event["src"], 16), (UNTIL_CALL, UNTIL_RETURN))
        self.assertGreaterEqual(event["end_ns"] - event["start_ns"], LEAST_NS)
        self.assertIsNone(event["call"])

    @needs("sleepers")
    def test_one_waits_for_another(self):
        """In the time of the kernel. The thread that works has no events, nor has the one without calls.
        How long who has a processor is the machine's business: only what must be is asked for."""
        (times, work_ns, slept, worked), events = self.recorded(clock="real")
        processor = [event for event in events if event["kind"] == "processor" and int(event["src"], 16) != OF_OTHERS]
        self.assertEqual({event["tid"] for event in processor}, {slept})
        for event in events:  # which of the two makes a sample, if any does in this time, is chance
            if event["kind"] == "processor" and int(event["src"], 16) == OF_OTHERS:
                self.assertIn(event["tid"], (slept, worked))
                self.assertEqual(event["count"], 1)
                self.assertLessEqual(event["aux"], event["end_ns"] - event["start_ns"])
                self.assertGreater(event["width"], event["aux"])
        self.assertEqual({event["tid"] for event in events if event["kind"] == "transfer"}, {slept, worked})
        for event in processor:
            self.check(event)
        waits = [event for event in processor if int(event["src"], 16) == UNTIL_CALL]  # each has a whole one in it
        self.assertGreaterEqual(len([event for event in waits if slept_ns(event) >= LEAST_NS]), times // 2)
        self.assertEqual(processor[0]["width"], 0)  # of what was before its first sleep nothing is known
        known = [event for event in waits if event["width"] > 0]
        if len(known) >= times // 2:  # what others took, the kernel says up to a tick late: less here, more in the next one
            self.assertGreater(max(event["width"] for event in known), work_ns)
            self.assertGreater(sum(event["width"] for event in known), len(known) * work_ns // 2)
        document = report(self.folder / "run.xft")
        self.assertEqual(sum(row["copies"] for row in document["transfers"]), 2 * times)

    @needs("sleepers")
    def test_by_a_clock_of_its_own(self):
        (times, work_ns), events = self.recorded("own", clock="virtual")
        processor = [event for event in events if event["kind"] == "processor"]
        for event in processor:
            self.check(event)
        # No other thread has a clock there: none works.
        self.assertEqual([event["width"] for event in processor], [0] + [1] * (len(processor) - 1))
        until_call = [event for event in processor if int(event["src"], 16) == UNTIL_CALL]
        # The first reading by this clock is behind the first time that it slept.
        self.assertEqual([slept_ns(event) for event in until_call], [work_ns, 0] * (times // 2 - 1))

    @needs("sleepers")
    def test_exports(self):
        """They are no calls, and would lie across those that are. Nor is what the recorder does beside calls."""
        _, events = self.recorded("own", clock="virtual")
        self.assertIn("processor", {event["kind"] for event in events})
        calls = [event for event in events if event["call"]]
        for name in ("chrome", "sqlite", "jsonl"):
            result = run([XFERSCOPE, "export", "run.xft", "--no-profile", "-f", name, "-o", name], cwd=self.folder)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn('"processor"', (self.folder / "chrome").read_text())
        self.assertIn('"type":"processor"', (self.folder / "jsonl").read_text())
        with contextlib.closing(sqlite3.connect(self.folder / "sqlite")) as database:
            (rows,) = database.execute("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()
        self.assertIn("overhead", {event["kind"] for event in events})
        self.assertEqual(rows, len(calls))

    @needs("sleepers")
    def test_outside_of_periods(self):
        """Nothing is recorded, but for what describes state."""
        _, events = self.recorded("own", clock="virtual", options=["--phase", "none of this name"])
        kinds = {event["kind"] for event in events}
        self.assertNotIn("processor", kinds)
        self.assertNotIn("transfer", kinds)
        self.assertIn("alloc", kinds)


if __name__ == "__main__":
    unittest.main()
