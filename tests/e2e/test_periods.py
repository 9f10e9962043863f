"""Recording limited to a part of the run: by time, to NVTX ranges, to a size. Time is the simulated
GPU's virtual clock, on which only calls take time: the same calls are kept in each run."""
import json
import unittest

from lab import Bench, PROGRAMS, XFERSCOPE, environment, moved, needs, own_lines, preloaded, record, report, run

COPIES = 300


def events(trace, *kinds):
    lines = run([XFERSCOPE, "dump", trace, "-f", "json", "-k", ",".join(kinds)]).stdout.decode().splitlines()
    found = [line for line in map(json.loads, lines) if line["type"] == "event"]
    return sorted(found, key=lambda event: event["start_ns"])


class Limited(Bench):
    def record(self, *options, program=("endings", "return", str(COPIES)), **more):
        result = record(PROGRAMS / program[0], *program[1:], cwd=self.folder, options=["-o", "run", *options], **more)
        self.said = own_lines(result.stderr)
        self.result = result
        return self.folder / "run.xft"

    def periods(self, trace):
        (process,) = report(trace)["run"]["processes"]
        return process.get("periods")


@needs("endings")
class Time(Limited):
    def all_of_it(self):
        whole = record(PROGRAMS / "endings", "return", str(COPIES), cwd=self.folder, options=["-o", "whole"])
        self.assertEqual(whole.returncode, 3)
        return events(self.folder / "whole.xft", "transfer")

    def test_delay_and_duration(self):
        """The calls that begin then, of all that the program makes, with the device's times for them."""
        whole = self.all_of_it()
        start = 1000000000
        for delay, lasts in ((0.0005, None), (None, 0.0003), (0.0002, 0.0003)):
            options = [f"--delay={delay}"] if delay else []
            options += [f"--duration={lasts}"] if lasts else []
            trace = self.record("--force", *options)
            low = start + round((delay or 0) * 1e9)
            high = low + round(lasts * 1e9) if lasts else 1 << 62
            kept = events(trace, "transfer")
            wanted = [event["start_ns"] for event in whole if low <= event["start_ns"] < high]
            # What the recorder's own thread asks of the driver moves the program's calls by a call or so.
            self.assertTrue(all(low <= event["start_ns"] < high for event in kept), options)
            self.assertAlmostEqual(len(kept), len(wanted), delta=2, msg=options)
            gaps = [after["start_ns"] - before["end_ns"] for before, after in zip(kept, kept[1:])]
            self.assertLess(max(gaps), 20000, options)  # none is left out in between
            self.assertEqual({event["correlation"] for event in kept},
                             {event["correlation"] for event in events(trace, "device-copy")})
            self.assertEqual(len(events(trace, "alloc")), 1)
            document = report(trace)
            self.assertEqual(moved(document)["H2D"][0] + moved(document)["D2H"][0], len(kept))
            periods = self.periods(trace)
            self.assertEqual((periods["count"], periods["delay_s"], periods["duration_s"]), (1, delay, lasts))
            self.assertAlmostEqual(document["run"]["wall_s"], periods["recorded_s"])
            self.assertLess(periods["recorded_s"], periods["process_s"])
            if lasts:
                self.assertAlmostEqual(periods["recorded_s"], lasts, delta=2e-5)

    def test_nothing_of_it(self):
        trace = self.record("--delay", "5")
        self.assertEqual(events(trace, "transfer", "device-copy", "sync"), [])
        self.assertEqual(self.periods(trace)["count"], 0)
        text = run([XFERSCOPE, "analyze", trace]).stdout.decode()
        self.assertRegex(text, r"recorded +nothing of 3\.\d+ ms, after 5\.00 s")
        self.record("--force", "--phase", "no such range", summary=True)
        self.assertEqual(self.said[0], "xferscope: moved nothing in the part that was recorded: "
                                       "no transfer was seen there")

    def test_report_and_summary_say_so(self):
        trace = self.record("--duration", "0.0003", summary=True)
        self.assertRegex(self.said[1], r"of the recorded 3\d\d us")
        text = run([XFERSCOPE, "analyze", trace]).stdout.decode()
        self.assertRegex(text, r"recorded +3\d\d us of 3\.\d+ ms, 1 period, for 300 us; all times")

    def test_plain_preload(self):
        preloaded(PROGRAMS / "endings", "return", str(COPIES), cwd=self.folder, XFERSCOPE_DURATION="0.0003",
                  XFERSCOPE_OUTPUT=str(self.folder / "run.xft"))
        self.assertLess(len(events(self.folder / "run.xft", "transfer")), COPIES / 4)

    def test_killed(self):
        trace = self.record("--delay", "0.0005", program=("endings", "kill", str(COPIES)))
        kept = len(events(trace, "transfer"))
        self.assertGreater(kept, COPIES)
        self.assertLess(kept, 2 * COPIES)
        self.assertEqual(self.periods(trace)["count"], 1)

    def test_hashes_and_pairs(self):
        """What goes with a transfer is there with it, or not."""
        trace = self.record("--delay", "0.0005", "--content", "--timing", "event")
        calls = {event["start_ns"] for event in events(trace, "transfer")}
        self.assertLess(len(calls), 2 * COPIES)
        hashed = {event["start_ns"] for event in events(trace, "content")}
        self.assertTrue(hashed and hashed <= calls)

    def test_wrong_values(self):
        for option in ("--delay=-1", "--delay=soon", "--duration=1e3", "--duration=", "--delay=1.2.3",
                       "--duration=0", "--duration=0.000", "--max-size=999999999999999G", "--max-size=1000000G",
                       "--max-size=999999999999999M", "--max-size=18446744073709551616", "--max-size=1000K", "--max-size=10X", "--max-size=", "--phase=", "--phase=" + 256 * "x"):
            result = run([XFERSCOPE, "record", option, "true"], cwd=self.folder)
            self.assertEqual(result.returncode, 125, option)
            self.assertEqual(len(result.stderr.splitlines()), 1)


@needs("nvtx_phases")
class Phase(Limited):
    PROGRAM = ("nvtx_phases",)

    def copies_in(self, name, *options):
        trace = self.record("--force", "--phase", name, *options, program=self.PROGRAM)
        return trace, [event["bytes"] for event in events(trace, "transfer")]

    def test_of_the_thread(self):
        step = [65536, 65536, 1024, 65536]
        trace, copies = self.copies_in("step")
        self.assertEqual(copies, 3 * step)
        self.assertEqual(self.periods(trace)["count"], 3)
        self.assertEqual(self.periods(trace)["phase"], "step")

    def test_of_a_domain(self):
        for name in ("solve", "solver:solve"):
            self.assertEqual(self.copies_in(name)[1], 3 * [65536])
        self.assertEqual(self.copies_in("solver:step")[1], [])

    def test_wide_name(self):
        self.assertEqual(self.copies_in("läden")[1], 6 * [65536])

    def test_of_the_process_and_all_threads(self):
        """Begun before the first CUDA call; the copies of another thread belong to it."""
        step = [65536, 65536, 1024, 65536]
        trace, copies = self.copies_in("whole run")
        self.assertEqual(copies, 3 * step + [4096, 512])
        self.assertEqual(self.copies_in("worker")[1], [4096])
        self.assertEqual(self.copies_in("train")[1][-1], 128)

    def test_with_a_delay(self):
        self.assertEqual(self.copies_in("step", "--delay", "0.00006")[1], [1024, 65536] + [65536, 65536, 1024, 65536])

    def test_times_without_the_rest(self):
        """The run is as long as its phases; what lies between takes none of it."""
        trace, _ = self.copies_in("solve")
        document = report(trace)
        inside = sum(event["end_ns"] - event["start_ns"] for event in events(trace, "transfer"))
        self.assertAlmostEqual(document["run"]["wall_s"] * 1e9, inside, delta=3)


@needs("endings")
class Size(Limited):
    """Times by the host's clock, which do not compress to nothing."""

    MOST = 1 << 20
    COUNT = 150000
    CLOCK = {"XFERSCOPE_SIMGPU_CLOCK": "host"}

    def check(self, trace):
        """The files' size, and a run that is said to have ended when they had it."""
        self.assertLessEqual(sum(path.stat().st_size for path in trace.iterdir()), self.MOST)
        self.assertEqual([event["aux"] for event in events(trace, "period")], [1, 2])
        document = report(trace)
        (process,) = document["run"]["processes"]
        self.assertEqual(process["losses"]["events_not_stored"], 0)
        self.assertGreater(process["periods"]["full_s"], 0)
        self.assertLess(moved(document)["H2D"][0], self.COUNT)
        self.assertGreater(moved(document)["H2D"][0], 1000)

    def test_stops(self):
        """More calls than fit; the program's own end is the same."""
        trace = self.record("--max-size", "1M", "--no-stacks", program=("endings", "return", str(self.COUNT)),
                            env=environment(**self.CLOCK))
        self.assertEqual(self.result.returncode, 3)
        self.assertIn(b"cudaSuccess", self.result.stdout)
        self.check(trace)
        text = run([XFERSCOPE, "analyze", trace]).stdout.decode()
        self.assertRegex(text, r"nothing was kept from [\d.]+ m?s on: the files had reached their limit")

    def test_while_it_runs(self):
        """Killed at the end: the files as the program left them."""
        preloaded(PROGRAMS / "endings", "kill", str(self.COUNT), cwd=self.folder, XFERSCOPE_MAX_SIZE="1M",
                  XFERSCOPE_OUTPUT=str(self.folder / "run.xft"), XFERSCOPE_STACKS="0", **self.CLOCK)
        self.check(self.folder / "run.xft")

    @needs("nvtx_phases")
    def test_ranges(self):
        """Neither they nor their names go on when the files have their size."""
        ranges = 400000
        trace = self.record("--max-size", "4M", program=("nvtx_phases", str(ranges), "names"),
                            env=environment(**self.CLOCK))
        self.assertEqual((self.result.returncode, self.result.stdout), (0, b"pushed -2 popped -2\n"))
        self.assertLessEqual(sum(path.stat().st_size for path in trace.iterdir()), 4 * self.MOST)
        begins, full = events(trace, "period")
        self.assertEqual((begins["aux"], full["aux"]), (1, 2))
        kept = events(trace, "range-begin", "range-end")
        self.assertTrue(1000 < len(kept) < 2 * ranges)
        late = [event for event in kept if event["start_ns"] > full["start_ns"]]
        self.assertLess(len(late), 10)  # that were under way
        (process,) = report(trace)["run"]["processes"]
        self.assertEqual(process["losses"]["events_not_stored"], 0)

    def test_of_all_processes(self):
        """The second process finds the size used up, and runs as it does alone."""
        script = f"{PROGRAMS}/endings kill {self.COUNT}; {PROGRAMS}/endings return 10"
        result = record("/bin/sh", "-c", script, cwd=self.folder, env=environment(**self.CLOCK),
                        options=["-o", "run", "--max-size", "1M", "--no-stacks"])
        self.assertEqual(result.returncode, 3)
        self.assertEqual(len(self.traces("run.xft")), 1)
        self.assertRegex(" ".join(own_lines(result.stderr)), "1 process could not be recorded: the run has the size")


if __name__ == "__main__":
    unittest.main()
