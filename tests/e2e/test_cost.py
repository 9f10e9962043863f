"""What recording itself costs, as META has it: for the kinds of calls that a program made, from as many
of them as are timed, without the program's own calls."""
import json
import subprocess
import sys
import time
import unittest
from pathlib import Path

from lab import Bench, PROGRAMS, XFERSCOPE, environment, needs, record, report, run

sys.path.append(str(Path(__file__).resolve().parents[1]))
from event_kinds import words_of

CALLS = words_of("CALL")
FIRST = (13, 30, 61, 122, 249)  # calls of a lane that are timed, then one of EVERY
EVERY = 251
PLAUSIBLE_NS = 1000000
MANY = 20
NOTED_WITHIN_S = 60  # only ends what never comes
LAUNCH = 19  # kind of event
ALLOC = 2
DEVICE, THREAD, STACK, FUNCTION = 2, 4, 16, 32  # why recording took its time


def timed(calls):
    """Of so many calls of a thread; the first has to get the lane, and is not counted."""
    calls -= 1
    return sum(calls >= at for at in FIRST) + max(0, calls - FIRST[-1]) // EVERY


ONE_QUESTION_NS = 200  # of the simulated driver


class Cost(Bench):
    def recorded(self, *command, clock="host", status=0):
        result = record(
            PROGRAMS / command[0],
            *command[1:],
            cwd=self.folder,
            options=["--force", "-o", "run"],
            env=environment(XFERSCOPE_SIMGPU_CLOCK=clock),
        )
        self.assertEqual(result.returncode, status, result.stderr)
        return [self.read(path) for path in self.traces("run.xft")]

    def overheads(self):
        """Of the run, in their order: start, end, why, behind which kind of call."""
        (path,) = self.traces("run.xft")
        lines = [json.loads(line) for line in run([XFERSCOPE, "dump", path, "-f", "json"]).stdout.splitlines()]
        found = [line for line in lines if line["type"] == "event" and line["kind"] == "overhead"]
        return sorted((line["start_ns"], line["end_ns"], line["aux"], line["count"]) for line in found)

    def read(self, path):
        """The figures of a process and its events' kinds by lane."""
        result = run([XFERSCOPE, "dump", path, "-f", "json"])
        self.assertIn(result.returncode, (0, 3), result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        costs, lanes = {}, {}
        for line in lines:
            if line["type"] == "meta" and line["key"].startswith("cost."):
                kind, figure = line["key"].removeprefix("cost.").rsplit(".", 1)
                costs.setdefault(kind, {})[figure] = int(line["value"])
            if line["type"] == "event" and line["kind"] in CALLS:
                lanes.setdefault(line["lane"], []).append(line["kind"])
        return costs, lanes

    def check(self, costs, lanes, reused=False):
        """Where a thread goes on with another's lane, that had its first calls: reused."""
        kinds = {kind for lane in lanes.values() for kind in lane}
        self.assertLessEqual(set(costs), kinds)
        for figures in costs.values():
            self.assertEqual(set(figures), {"ns", "n"})
            self.assertGreater(figures["n"], 0)
            if figures["n"] >= MANY:  # of few, most may have been interrupted
                self.assertLess(figures["ns"], PLAUSIBLE_NS)
        n = sum(figures["n"] for figures in costs.values())
        most = sum(timed(len(lane)) for lane in lanes.values())
        if reused:
            self.assertGreaterEqual(n, sum((len(lane) - 1) // EVERY for lane in lanes.values()))
            self.assertLessEqual(n, most + len(lanes))
        else:
            self.assertLessEqual(n, most)
            self.assertGreaterEqual(n, most - len(lanes))  # an unusual call's place is taken by the next one, if there is one

    @needs("endings")
    def test_one_kind(self):
        ((costs, lanes),) = self.recorded("endings", "return", "2000", status=3)
        self.check(costs, lanes)
        self.assertEqual(set(costs), {"transfer"})
        self.assertEqual(costs["transfer"]["n"], timed(4001))
        self.assertGreater(costs["transfer"]["ns"], 0)

    @needs("threads")
    def test_threads_that_come_and_go(self):
        ((costs, lanes),) = self.recorded("threads", "16", "300")
        self.assertGreater(len(lanes), 8)
        self.assertTrue(any(entry[2] & THREAD for entry in self.overheads()))
        self.check(costs, lanes, reused=True)
        costs.pop("stream", None)  # one in a hundred calls, timed or not as it happens
        self.assertEqual(set(costs), {"transfer", "sync"})
        for figures in costs.values():
            self.assertGreater(figures["ns"], 0)
            self.assertGreater(figures["n"], 20)

    @needs("threads")
    def test_the_programs_calls_are_not_in_it(self):
        """By the virtual clock recording takes no time, but where it asks the driver something."""
        ((costs, lanes),) = self.recorded("threads", "2", "500", clock="virtual")
        self.check(costs, lanes, reused=True)
        costs.pop("stream", None)  # asks the driver; which thread's calls are timed differs from run to run
        self.assertEqual(set(costs), {"transfer", "sync"})
        self.assertEqual(costs["sync"]["ns"], 0)
        # A thread's first copy asks what its memory is; the copies themselves take microseconds.
        self.assertIn(costs["transfer"]["ns"], (0, ONE_QUESTION_NS))

    @needs("work")
    def test_launches(self):
        ((costs, lanes),) = self.recorded("work", "launches", "3000")
        self.check(costs, lanes)
        self.assertGreaterEqual(costs["launch"]["n"], timed(3000))
        self.assertGreater(costs["launch"]["ns"], 0)
        self.check_report(costs, lanes)

    def check_report(self, costs, lanes):
        """The report has the same figures, and takes them times the calls."""
        recording = report(self.folder / "run.xft")["run"]["recording"]
        calls = {kind: sum(lane.count(kind) for lane in lanes.values()) for kind in costs}
        self.assertEqual(recording["kinds"], {
            kind: {"ns": figures["ns"], "samples": figures["n"], "calls": calls[kind]}
            for kind, figures in costs.items()
        })
        took = sum(figures["ns"] * calls[kind] for kind, figures in costs.items())
        self.assertAlmostEqual(recording["took_s"], took / 1e9, delta=1e-9)

    @needs("work")
    def test_what_is_not_done_at_every_call(self):
        """Kernels that take no time, and a driver that takes its time to answer the recorder: all that
        recording adds to the work's time is recorded as it happened, and taken out to the nanosecond."""
        asked_ns = 5000
        record(PROGRAMS / "work", "launches", "40", cwd=self.folder, options=["--force", "-o", "run"],
               env=environment(XFERSCOPE_SIMGPU_CLOCK="virtual", XFERSCOPE_SIMGPU_CALL_NS=str(asked_ns),
                               XFERSCOPE_SIMGPU_KERNEL_NS="0"))
        overheads = self.overheads()
        (path,) = self.traces("run.xft")
        _, lanes = self.read(path)
        self.assertEqual(sum(lane.count("launch") for lane in lanes.values()), 40)
        behind = [entry for entry in overheads if entry[3] == LAUNCH]
        self.assertEqual(len(behind), 1, overheads)  # of 40 launches of one kernel, the first
        self.assertEqual(behind[0][2] & FUNCTION, FUNCTION)
        questions, rest = divmod(behind[0][1] - behind[0][0], asked_ns)
        self.assertEqual(rest, 0)
        self.assertGreater(questions, 0)
        self.check_span(overheads)

    def check_span(self, overheads):
        whatif = report(self.folder / "run.xft")["whatif"]
        (path,) = self.traces("run.xft")
        lines = [json.loads(line) for line in run([XFERSCOPE, "dump", path, "-f", "json"]).stdout.splitlines()]
        first = min(line["start_ns"] for line in lines
                    if line["type"] == "event" and line["kind"] in ("transfer", "launch"))
        within = sum(end - start for start, end, _, _ in overheads if start >= first)
        span = whatif["span"]
        self.assertAlmostEqual(span["replayed_s"], span["recorded_s"], delta=1e-9)
        self.assertAlmostEqual(span["recorded_s"] - span["alone_s"], within / 1e9, delta=1e-9)

    @needs("endings")
    def test_stacks_that_are_new(self):
        """On the host's clock: recorded as often as there are some."""
        (_, lanes), = self.recorded("endings", "return", "2000", status=3)
        overheads = self.overheads()
        self.assertTrue(any(entry[2] & STACK for entry in overheads), overheads)
        calls = sum(len(lane) for lane in lanes.values())
        self.assertLess(len(overheads), calls / 100)  # and not behind calls that are like those before
        for start, end, _, _ in overheads:
            self.assertLessEqual(1000, end - start)

    @needs("first_calls")
    def test_managed_memory(self):
        """On the host's clock: the call that has its records switched on waits for them, and says so
        where no stack is new either. It comes when records are on, or have been waited for."""
        result = record(PROGRAMS / "first_calls", "2", "in-turn", cwd=self.folder, options=["-o", "run"],
                        env=environment(XFERSCOPE_SIMGPU_CLOCK="host", XFERSCOPE_STACKS="0"))
        self.assertEqual(result.returncode, 0, result.stderr)
        waited = [entry for entry in self.overheads() if entry[2] & DEVICE and entry[3] == ALLOC]
        self.assertEqual(len(waited), 1, self.overheads())

    @needs("forker")
    def test_each_process_has_its_own(self):
        for costs, lanes in self.recorded("forker"):
            self.check(costs, lanes)

    @needs("endings")
    def test_short_programs_have_none(self):
        ((costs, lanes),) = self.recorded("endings", "return", "3", status=3)
        self.assertEqual(costs, {})

    def wait_until_noted(self, path, least):
        until = time.monotonic() + NOTED_WITHIN_S
        while True:
            costs, _ = self.read(path)
            if costs.get("transfer", {"n": 0})["n"] >= least:
                return costs
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)

    @needs("endings")
    def test_killed(self):
        """What had been noted until then is there, at least half of it, in the file as it is left and
        in the completed one."""
        copies = 3000
        process = subprocess.Popen(
            [XFERSCOPE, "record", "-o", "run", "--", PROGRAMS / "endings", "wait", str(copies)],
            cwd=self.folder, env=environment(XFERSCOPE_SIMGPU_CLOCK="host"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self.assertIn(b"copies each way", process.stdout.readline())
        (path,) = self.traces("run.xft")
        try:
            noted = self.wait_until_noted(path, timed(2 * copies + 1) / 2)
        finally:
            subprocess.run(["kill", "-9", path.name.partition("-")[0]], check=True)
        process.communicate()
        left, _ = self.read(path)
        self.assertEqual(left, noted)
        self.assertEqual(set(left), {"transfer"})
        self.assertLessEqual(left["transfer"]["n"], timed(2 * copies + 1))
        self.assertGreater(left["transfer"]["ns"], 0)


if __name__ == "__main__":
    unittest.main()
