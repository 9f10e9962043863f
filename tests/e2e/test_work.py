"""What a replay of a run needs in addition to its transfers: launches, events, waits of streams, memsets,
functions of the host, questions, streams. Order and times are exact, by the simulated GPU's clock."""
import collections
import json
import unittest

from lab import Bench, PROGRAMS, SIMGPU, XFERSCOPE, environment, moved, needs, own_lines, record, report, run, sanitizer_runtime

KINDS = ("launch", "set", "record", "wait", "query", "host-function", "stream", "stream-end")
CALL_NS, SUBMIT_NS, KERNEL_NS = 200, 2000, 10000  # of the simulated GPU (docs/simgpu.md)
LEAST_LAUNCHES, MOST_LAUNCHES = 30000, 90000
BYTES_PER_LAUNCH = 4


class Printed:
    """What a line of the program says of one call."""

    def __init__(self, line):
        words = line.split()
        self.kind, self.stream, detail = words[:3]
        self.captured = detail.startswith("captured:")
        self.both = detail.startswith("both:")  # one call for two devices
        self.detail = detail.removeprefix("captured:").removeprefix("both:")
        self.before, self.after = int(words[3]), int(words[4])
        self.function = words[5] if len(words) > 5 else None


class Work(Bench):
    def dump(self, name, *kinds):
        result = run([XFERSCOPE, "dump", self.folder / name, "-f", "json", "-k", ",".join(kinds)])
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        return [line for line in lines if line["type"] == "event"]

    def recorded(self, program, *arguments, options=(), **settings):
        result = record(
            PROGRAMS / program,
            *arguments,
            cwd=self.folder,
            options=["-o", "run", *options],
            env=environment(**settings),
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode().splitlines()

    def printed(self, lines):
        steps = [Printed(line) for line in lines if line.split()[0] in KINDS]
        self.streams, self.both = {"-": "0x0"}, any(step.both for step in steps)
        self.streams.update((line.split()[1], line.split()[2]) for line in lines if line.startswith("is "))
        return steps

    def check_detail(self, event, printed):
        detail = printed.detail
        if printed.kind == "launch":
            self.assertEqual(f"{event['name']}:{int(event['dst'], 16)}", detail)
        elif printed.kind == "set":
            self.assertEqual(f"{event['bytes']}/{event['width']}", detail)
            self.assertEqual(event["dst_memory"], "device")
        elif printed.kind == "stream":
            self.assertEqual(f"{event['aux']}/{event['priority']}", detail)
        elif detail.startswith("0x"):
            self.assertEqual(event["src"], detail)

    def check_one(self, event, printed):
        self.assertEqual(event["kind"], printed.kind)
        self.assertEqual(event["stream"], self.streams[printed.stream])
        self.assertEqual("captured" in event["flags"], printed.captured)
        self.assertGreaterEqual(event["start_ns"], printed.before)
        self.assertLessEqual(event["end_ns"], printed.after)
        long = printed.kind in ("launch", "set")
        took = (SUBMIT_NS if long else CALL_NS) * (2 if printed.both else 1)
        self.assertEqual(event["end_ns"] - event["start_ns"], took)
        self.assertIn(printed.function, (None, event["call"]))
        self.check_detail(event, printed)

    def check_devices(self, events):
        """Only where the stream does not tell: the default one's, and a stream's own as it is made."""
        for event in events:
            of_event = event["kind"] == "query" and event["src"] != "0x0"
            wanted = 0 if event["stream"] == "0x0" and not of_event else -1
            if event["kind"] == "stream":
                wanted = 1 if event["stream"] == self.streams.get("b") and self.both else 0
            self.assertEqual(event["device"], wanted, event)

    def check_stacks(self, events):
        for event in events:
            quick = event["kind"] in ("launch", "record", "wait", "query")
            self.assertEqual(event["stack"] == 0, quick, event)

    def order_and_times(self, program, **settings):
        lines = self.recorded(program, **settings)
        printed, events = self.printed(lines), self.dump("run.xft", *KINDS)
        self.assertEqual([e["kind"] for e in events], [t.kind for t in printed])
        for event, one in zip(events, printed):
            self.check_one(event, one)
        self.assertGreater(sum(e["start_ns"] == t.before for e, t in zip(events, printed)), len(printed) // 2)
        self.check_devices(events)
        self.check_stacks(events)
        return events

    @needs("work")
    def test_shared_runtime(self):
        self.order_and_times("work")

    @needs("polls")
    def test_polled_waits(self):
        """The query that ends one has the others; what the processor did is read where the last one slept."""
        lines = [tuple(map(int, line.split())) for line in self.recorded("polls")]
        events = self.dump("run.xft", "query")
        asked = [e for e in events if e["src"] != "0x0" or e["stream"] != "0x0"]
        self.assertEqual(len(asked), len(lines))
        worked = []
        for event, (queries, since_first, since_last) in zip(asked, lines):
            dst = int(event["dst"], 16)
            self.assertEqual((event["count"], event["width"], dst & 0xFFFFFFFF), (queries, since_first, since_last))
            self.assertEqual(event["stack"] != 0, queries > 0, event)
            worked.append(dst >> 32)
        self.assertGreater(lines[0][0], 2)
        self.assertGreater(lines[3][0], 20)
        self.assertEqual([w > 0 for w in worked[:5]], [False, True, True, False, False])
        for i in (1, 2):  # its processor time is what the queries take, and 1
            self.assertLessEqual(worked[i], lines[i][0] * 2 * CALL_NS + 1)

    def polled(self, how):
        """(thread, queries) of each wait, as the program counted them and as they were recorded."""
        lines = [tuple(map(int, line.split())) for line in self.recorded("pollers", how)]
        found = [(event["tid"], event["count"]) for event in self.dump("run.xft", "query")]
        return lines, found

    @needs("pollers")
    def test_polled_waits_of_threads(self):
        """Each thread's are its own, whatever others ask for meanwhile."""
        lines, found = self.polled("threads")
        self.assertEqual(len({thread for thread, _ in lines}), 4)
        self.assertEqual(collections.Counter(found), collections.Counter(lines))
        self.assertGreater(sum(count for _, count in lines), 0)  # which of them waited, other threads decide

    @needs("pollers")
    def test_polled_waits_in_a_handler(self):
        """On top of another wait, which begins anew behind it."""
        lines, found = self.polled("handler")
        self.assertEqual(found, lines)
        self.assertGreater(min(count for _, count in lines), 0)

    @needs("pollers")
    @unittest.skipIf(sanitizer_runtime(), "the sanitizer's allocator can stay locked after fork")
    def test_polled_waits_around_forks(self):
        """The child has none of its parent's, and the parent all of its own."""
        lines, found = self.polled("fork")
        self.assertEqual(found, lines)

    @needs("work_simstatic")
    def test_static_runtime(self):
        self.order_and_times("work_simstatic")

    @needs("work_driver")
    def test_every_form_of_the_drivers_calls(self):
        machine = "sim-2socket-4gpu"
        events = self.order_and_times("work_driver", XFERSCOPE_SIMGPU_MACHINE=machine)
        several = [e for e in events if e["call"] == "cuLaunchCooperativeKernelMultiDevice"]
        self.assertEqual(len(several), 2)
        self.assertEqual(len({(e["start_ns"], e["correlation"]) for e in several}), 1)
        for event in events:
            per_thread = event["call"].endswith(("_ptds", "_ptsz"))
            self.assertEqual("per-thread" in event["flags"], per_thread, event)
            asynchronous = "Async" in event["call"]
            self.assertEqual("async" in event["flags"], asynchronous, event)

    @needs("work")
    def test_launches_and_their_kernels(self):
        """Joined by the number of the call; one stream of the device to each handle."""
        self.recorded("work")
        launches, kernels = self.dump("run.xft", "launch"), self.dump("run.xft", "kernel")
        ran = {kernel["correlation"]: kernel for kernel in kernels}
        self.assertEqual(len(ran), len(kernels))
        numbers = {}
        self.assertEqual(launches.pop(0)["correlation"], 0)  # before anything could move
        for launch in launches:
            if "captured" in launch["flags"]:
                self.assertNotIn(launch["correlation"], ran)
                continue
            kernel = ran.pop(launch["correlation"])
            self.assertEqual((kernel["name"], kernel["dst"]), (launch["name"], launch["dst"]))
            self.assertEqual(kernel["end_ns"] - kernel["start_ns"], KERNEL_NS)
            self.assertGreaterEqual(kernel["start_ns"], launch["start_ns"])
            self.assertEqual(numbers.setdefault(launch["stream"], kernel["aux"]), kernel["aux"])
        self.assertEqual(ran, {})  # the launches before anything could move have no record
        self.assertEqual(len(set(numbers.values())), 3)

    @needs("work")
    def test_sets_and_what_the_device_did(self):
        self.recorded("work")
        sets = [e for e in self.dump("run.xft", "set") if "captured" not in e["flags"]]
        done = {e["correlation"]: e for e in self.dump("run.xft", "memset")}
        self.assertEqual([done[e["correlation"]]["bytes"] for e in sets], [e["bytes"] for e in sets])

    @needs("work")
    def test_without_records_of_kernels(self):
        """Launches are the hooks' own."""
        self.recorded("work", options=["--no-kernels"])
        launches = self.dump("run.xft", "launch")
        self.assertEqual(len(launches), 13)
        self.assertEqual({e["correlation"] for e in launches}, {0})

    @needs("work")
    def test_two_devices(self):
        """With more than one device the driver is asked whose default stream is meant."""
        self.printed(self.recorded("work", XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu"))
        self.check_devices(self.dump("run.xft", *KINDS))

    @needs("work")
    def test_a_program_that_moves_nothing(self):
        self.recorded("work", "only", "5")
        self.assertEqual([e["kind"] for e in self.dump("run.xft", *KINDS)], ["stream", "launch"])

    @needs("work")
    def test_the_span_begins_with_the_first_launch(self):
        """Also in a run that is recorded with next to nothing, and where data moves later."""
        for options, settings in (([], {}), (["--timing", "host", "--no-kernels"], {"XFERSCOPE_STACKS": "0"})):
            lines = self.recorded("work", options=["--force", *options], **settings)
            first = next(step for step in self.printed(lines) if step.kind == "launch")
            launch, *_ = self.dump("run.xft", "launch")
            self.assertTrue(first.before <= launch["start_ns"] < launch["end_ns"] <= first.after)
            last = max(e["end_ns"] for e in self.dump("run.xft", "sync", "query"))
            span = report(self.folder / "run.xft")["whatif"]["span"]["recorded_s"]
            self.assertAlmostEqual(span * 1e9, last - launch["start_ns"], delta=1)

    @needs("work")
    def test_the_report_is_that_of_the_transfers(self):
        self.recorded("work", "launches", "100")
        document = report(self.folder / "run.xft")
        self.assertEqual(moved(document), {"H2D": (1, 64)})

    def size_of(self, launches):
        name = f"of{launches}"
        result = record(
            PROGRAMS / "work",
            "launches",
            launches,
            cwd=self.folder,
            options=["-o", name, "--no-kernels"],
            env=environment(XFERSCOPE_SIMGPU_CLOCK="host"),
        )
        self.assertEqual((result.returncode, own_lines(result.stderr)[1:]), (0, []))
        self.assertEqual(len(self.dump(f"{name}.xft", "launch")), launches)
        return sum(path.stat().st_size for path in self.traces(f"{name}.xft"))

    @needs("work")
    def test_bytes_of_a_launch(self):
        """In a completed file, of a plain loop, with the noise of a real clock."""
        few, many = self.size_of(LEAST_LAUNCHES), self.size_of(MOST_LAUNCHES)
        self.assertLessEqual((many - few) / (MOST_LAUNCHES - LEAST_LAUNCHES), BYTES_PER_LAUNCH)

    @needs("called_back")
    def test_waits_by_callbacks(self):
        """A program that waits for its copies by functions which streams call would save their time."""
        times, took = map(int, self.recorded("called_back", options=["--content"])[0].split())
        self.assertEqual(len(self.dump("run.xft", "host-function")), times)
        document = report(self.folder / "run.xft", "--profile", SIMGPU / "machines" / "sim-h200.json")
        found = [f for f in document["findings"] if f["kind"] == "repeated-transfer"]
        self.assertEqual([f["transfers"] for f in found], [times])
        self.assertAlmostEqual(found[0]["saving_s"]["likely"], times * took / 1e9, delta=0.01 * times * took / 1e9)


if __name__ == "__main__":
    unittest.main()
