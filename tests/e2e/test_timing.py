"""What the device and the waits of the host are recorded as, on the simulated GPU."""
import collections
import json
import os
import re
import unittest

from lab import Bench, PROGRAMS, SIMGPU, XFERSCOPE, environment, needs, record, report, run

WHAT = {1: "event", 2: "stream", 3: "context"}  # enum xft_sync


class Timing(Bench):
    def recorded(self, name, *arguments, options=(), **environment):
        """Records a program; returns its output and the run's events."""
        result = record(PROGRAMS / name, *arguments, cwd=self.folder, options=["-o", "run", *options])
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode(), self.events()

    def events(self, *kinds):
        options = ["--kind", ",".join(kinds)] if kinds else []
        dump = run([XFERSCOPE, "dump", self.folder / "run.xft", "--format", "json", *options])
        self.assertIn(dump.returncode, (0, 3), dump.stderr)  # 3: something was lost, and said
        items = [json.loads(line) for line in dump.stdout.splitlines()]
        return [item for item in items if item["type"] == "event"]


class Waits(Timing):
    def waits(self, program, functions):
        printed, events = self.recorded(program)
        said = {name: int(n) for name, n in re.findall(r"^(event|stream|context) (\d+)$", printed, re.M)}
        waits = [event for event in events if event["kind"] == "sync"]
        self.assertEqual(collections.Counter(WHAT[event["aux"]] for event in waits), said)
        self.assertEqual({event["call"] for event in waits}, functions)
        stream = int(re.search(r"^stream (0x\w+)$", printed, re.M)[1], 16)
        on_stream = [event for event in waits if WHAT[event["aux"]] == "stream"]
        self.assertEqual(
            sorted(int(str(event["stream"]), 0) for event in on_stream), [0, stream, stream]
        )
        for event in waits:
            self.assertLessEqual(event["start_ns"], event["end_ns"])
            self.assertEqual(event["status"], 0)
        return waits

    @needs("waits")
    def test_runtime(self):
        self.waits("waits", {"cudaEventSynchronize", "cudaStreamSynchronize", "cudaDeviceSynchronize"})

    @needs("waits_simstatic")
    def test_static_runtime(self):
        """Seen at the driver's level, each once."""
        self.waits(
            "waits_simstatic", {"cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize"}
        )


class FirstCalls(Timing):
    """CUPTI is subscribed to before any context is made: the simulated one aborts otherwise."""

    def at_once(self, program, threads):
        environ = environment(XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu", XFERSCOPE_SIMGPU_CONTEXT_MS="20")
        result = record(PROGRAMS / program, str(threads), cwd=self.folder, env=environ,
                        options=["-o", "run", "--force"])
        self.assertEqual(result.returncode, 0, result.stderr)
        events = collections.Counter(event["kind"] for event in self.events())
        self.assertEqual(int(result.stdout), 10 * threads)
        self.assertEqual(events["transfer"], 20 * threads)
        document = report(self.folder / "run.xft")
        (process,) = document["run"]["processes"]
        self.assertEqual((process["timing"], process["timing_why"]), ("cupti", None))
        return events["device-copy"]

    @needs("first_calls", "first_calls_simstatic")
    def test_at_once_on_all_gpus(self):
        for program in ("first_calls", "first_calls_simstatic"):
            for threads in (2, 8, 64):
                with self.subTest(program, threads=threads):
                    self.assertEqual(self.at_once(program, threads), 20 * threads)

    @needs("other_profiler")
    def test_a_late_one_is_found_out(self):
        alone = run([PROGRAMS / "other_profiler", "link"], cwd=self.folder)
        self.assertEqual(alone.returncode, -6)
        self.assertIn(b"not seen being made", alone.stderr)


class Contexts(Timing):
    """Those that are made behind the process's first work have events; spans are without them."""

    MADE_NS = 5000000

    def recorded_on(self, name, *arguments, options=()):
        environ = environment(XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu", XFERSCOPE_SIMGPU_CONTEXT_NS=str(self.MADE_NS))
        result = record(PROGRAMS / name, *arguments, cwd=self.folder, env=environ, options=["-o", "run", "--force", *options])
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def check(self, events):
        for event in events:
            self.assertEqual((event["device"], event["status"], event["stack"]), (1, 0, 0))
            self.assertGreaterEqual(event["end_ns"] - event["start_ns"], self.MADE_NS)

    @needs("second_contexts")
    def test_by_every_call(self):
        printed = self.recorded_on("second_contexts")
        events = self.events("context")
        self.assertEqual(len(events), int(printed))
        self.assertEqual(collections.Counter(event["call"] for event in events),
                         {"cuDevicePrimaryCtxRetain": 2, "cuCtxCreate_v2": 1, "cuCtxCreate_v3": 1, "cuCtxCreate_v4": 1})
        self.check(events)
        self.assertEqual(len({event["start_ns"] for event in events}), len(events))

    @needs("second_contexts")
    def test_outside_of_periods(self):
        """Nothing of a part that is not recorded."""
        self.recorded_on("second_contexts", options=["--phase", "none"])
        self.assertEqual(self.events("context"), [])

    @needs("second_gpu", "second_gpu_simstatic")
    def test_the_span_is_without(self):
        for program in ("second_gpu", "second_gpu_simstatic"):
            spans = {}
            for when in ("before", "within"):
                self.recorded_on(program, when)
                events = self.events("context")
                self.assertEqual([event["call"] for event in events], ["cuDevicePrimaryCtxRetain"] * (when == "within"))
                self.check(events)
                made_s = sum(event["end_ns"] - event["start_ns"] for event in events) / 1e9
                spans[when] = self.span_of(made_s)
            for key in ("recorded_s", "replayed_s", "alone_s"):
                self.assertAlmostEqual(spans["before"][key], spans["within"][key], delta=2e-6)

    def span_of(self, made_s):
        whatif = report(self.folder / "run.xft")["whatif"]
        span = whatif["span"]
        self.assertTrue(whatif["known"])
        self.assertAlmostEqual(whatif["replayed_s"], whatif["recorded_s"], delta=1e-6)
        text = run([XFERSCOPE, "analyze", self.folder / "run.xft"]).stdout.decode()
        line = re.search(r"GPU1's context is made behind the first work for a GPU: 5\.00 ms", text)
        if made_s:
            self.assertAlmostEqual(span["contexts_s"], made_s, delta=1e-9)
            self.assertEqual(span["contexts_gpus"], [1])
            self.assertTrue(line, text)
        else:
            self.assertNotIn("contexts_s", span)
            self.assertFalse(line, text)
        return span


class Search(Timing):
    @needs("waits")
    def test_a_pipe_of_its_name(self):
        """Where CUPTI should be there is a FIFO: the program does not wait for its writer."""
        folder = self.folder / "cuda"
        folder.mkdir()
        for library in SIMGPU.iterdir():
            if not library.name.startswith("libcupti"):
                (folder / library.name).symlink_to(library)
        os.mkfifo(folder / "libcupti.so.13")
        (folder / "libcupti.so.12").symlink_to(SIMGPU / "libcupti.so.13")
        environ = environment(LD_LIBRARY_PATH=str(folder))
        result = record(PROGRAMS / "waits", cwd=self.folder, env=environ, options=["-o", "run"])
        self.assertEqual(result.returncode, 0, result.stderr)
        (process,) = report(self.folder / "run.xft")["run"]["processes"]
        self.assertEqual(process["timing"], "cupti")


class OtherProfiler(Timing):
    """One that subscribes to CUPTI after the recorder is served as if it were alone."""

    def beside(self, how, *options):
        environ = environment(XFERSCOPE_SIMGPU_CUPTI_LATE="1")
        alone = run([PROGRAMS / "other_profiler", how], cwd=self.folder, env=environ)
        self.assertEqual(alone.stdout, b"the program's own profiler saw 5 copies\n")
        result = record(PROGRAMS / "other_profiler", how, cwd=self.folder, env=environ,
                        options=["-o", "run", "--force", *options])
        events = collections.Counter(event["kind"] for event in self.events())
        self.assertEqual(events["transfer"], 5 + 3 + 2 if result.returncode == 0 else 3)
        (process,) = report(self.folder / "run.xft")["run"]["processes"]
        return result, events, process

    @needs("other_profiler")
    def test_it_gets_cupti(self):
        for how in ("link", "dlsym"):
            with self.subTest(how):
                result, events, process = self.beside(how)
                self.assertEqual(result.stdout, b"the program's own profiler saw 5 copies\n")
                self.assertEqual(events["device-copy"], 3)
                self.assertEqual(process["timing"], "cupti")
                self.assertIn("another profiler took CUPTI over", process["timing_why"])

    @needs("other_profiler")
    def test_not_when_cupti_was_asked_for(self):
        result, events, process = self.beside("link", "--timing", "cupti")
        self.assertEqual(result.stdout, b"cuptiSubscribe: 39\n")
        self.assertEqual(events["device-copy"], 3)
        self.assertIsNone(process["timing_why"])

    @needs("other_profiler")
    def test_host_timing_leaves_it_alone(self):
        result, events, process = self.beside("link", "--timing", "host")
        self.assertEqual(result.stdout, b"the program's own profiler saw 5 copies\n")
        self.assertEqual((events["device-copy"], process["timing"]), (0, "host"))


class ByEvents(Timing):
    """--timing event: CUDA events around each asynchronous copy, where there is no budget."""

    def timed(self, program, *arguments):
        result = record(PROGRAMS / program, *arguments, cwd=self.folder,
                        options=["-o", "run", "--force", "--timing", "event", "--budget", "0"])
        document = report(self.folder / "run.xft")
        self.assertEqual({p["timing"] for p in document["run"]["processes"]}, {"event"})
        return result, self.events(), document

    @needs("waits")
    def test_as_long_as_cupti_says(self):
        _, events = self.recorded("waits")
        (by_cupti,) = (event for event in events if event["kind"] == "device-copy")
        _, events, _ = self.timed("waits")
        (call,) = (event for event in events if event["kind"] == "transfer")
        (copy,) = (event for event in events if event["kind"] == "device-copy")
        self.assertEqual(copy["end_ns"] - copy["start_ns"], by_cupti["end_ns"] - by_cupti["start_ns"])
        self.assertGreaterEqual(copy["start_ns"], call["start_ns"])
        for key in ("bytes", "direction", "src_memory", "dst_memory", "correlation"):
            self.assertEqual(copy[key], call[key])

    @needs("places")
    def test_where_cupti_says(self):
        """Each copy on its own GPU."""
        def copies(timing):
            result = record(PROGRAMS / "places", "each", 4, cwd=self.folder,
                            options=["-o", "run", "--force", "--timing", timing, "--budget", "0"],
                            env=environment(XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu"))
            self.assertEqual(result.returncode, 0, result.stderr)
            return [tuple(copy[key] for key in ("device", "direction", "bytes"))
                    for copy in self.events("device-copy")]

        by_cupti = copies("cupti")
        self.assertEqual({device for device, *_ in by_cupti}, {0, 1, 2, 3})
        self.assertEqual(copies("event"), by_cupti)

    @needs("threads", "threads_simstatic")
    def test_every_asynchronous_copy(self):
        for program in ("threads", "threads_simstatic"):
            with self.subTest(program):
                _, events, document = self.timed(program, "16", "40")
                calls = [event["correlation"] for event in events if event["kind"] == "transfer"]
                copies = [event["correlation"] for event in events if event["kind"] == "device-copy"]
                self.assertEqual(sorted(copies), sorted(calls))
                self.assertEqual(len(set(calls)), len(calls))
                self.assertEqual(document["run"]["not_counted"]["device_only"], 0)
                (process,) = document["run"]["processes"]
                self.assertEqual(process["losses"]["device_times_dropped"], 0)

    @needs("broken_captures")
    def test_captures_that_fail(self):
        """They are over all the same; only what is copied beside one goes without a time, and is counted."""
        bare = run([PROGRAMS / "broken_captures"], cwd=self.folder)
        result, events, document = self.timed("broken_captures")
        self.assertEqual((result.returncode, result.stdout), (0, bare.stdout))
        beside, apart = map(int, re.search(rb"(\d+) beside, (\d+) apart", result.stdout).groups())
        self.assertGreater(apart, 0)
        calls = {event["correlation"]: event for event in events if event["kind"] == "transfer"}
        copies = [event["correlation"] for event in events if event["kind"] == "device-copy"]
        self.assertEqual((len(copies), set(copies) <= set(calls)), (apart, True))
        (process,) = document["run"]["processes"]
        self.assertEqual(process["losses"]["device_times_dropped"], beside)

    @needs("resets")
    def test_contexts_that_end(self):
        """Their events go with them: what was not collected by then is counted."""
        result, events, document = self.timed("resets")
        self.assertEqual(result.stdout, b"15 copies\n")
        copies = [event for event in events if event["kind"] == "device-copy"]
        (process,) = document["run"]["processes"]
        self.assertGreaterEqual(len(copies), 10)  # those that were waited for
        self.assertEqual(len(copies) + process["losses"]["device_times_dropped"], 15)

    def test_the_program_sees_the_same(self):
        """Copies of every kind, failing calls and captures into graphs among them."""
        for program in ("copies_all_shared", "copies_all_ptds_shared", "failing", "unoptimised_shared"):
            if not (PROGRAMS / program).exists():
                continue
            with self.subTest(program):
                arguments = ["4"] if program == "unoptimised_shared" else []
                bare = run([PROGRAMS / program, *arguments], cwd=self.folder)
                result, events, document = self.timed(program, *arguments)
                self.assertEqual(result.stdout, bare.stdout)
                self.assertEqual(result.returncode, bare.returncode)
                calls = {event["correlation"]: event for event in events if event["kind"] == "transfer"}
                copies = [event for event in events if event["kind"] == "device-copy"]
                timed = [
                    call for call in calls.values()
                    if "async" in call["flags"] and not {"failed", "captured"} & set(call["flags"])
                ]
                self.assertEqual(len(copies), len(timed))
                for copy in copies:
                    call = calls[copy["correlation"]]
                    self.assertEqual((copy["bytes"], copy["count"]), (call["bytes"], call["count"]))
                    self.assertIn("async", call["flags"])
                    self.assertNotIn("captured", call["flags"])


class Device(Timing):
    SIZE = 8 << 20

    @needs("managed_shared")
    def test_managed(self):
        """Each move of managed memory, why it was made and at which line the host touched it."""
        printed, events = self.recorded("managed_shared", "8")
        self.assertIn("right", printed)
        moves = [event for event in events if event["kind"] == "migration"]
        self.assertEqual(
            [(event["direction"], event["bytes"], event["aux"]) for event in moves],
            [("H2D", self.SIZE, 2), ("D2H", self.SIZE, 2), ("H2D", self.SIZE, 1), ("D2H", self.SIZE, 1)],
        )
        on_device, on_host = (event for event in events if event["kind"] == "fault")
        self.assertEqual((on_device["device"], on_device["count"], on_device["aux"]), (0, 4, 2))
        self.assertEqual((on_host["device"], on_host["count"], on_host["aux"]), (-2, 1, 1))
        stacks = run([XFERSCOPE, "dump", self.folder / "run.xft"]).stdout.decode()
        place = stacks.split(f"stack {on_host['stack']} depth=1\n")[1].splitlines()[0]
        self.assertRegex(place, r"(tell|read_by_host) \(managed\.cu:\d+\)$")
        allocated = [event["dst"] for event in events if event["kind"] == "alloc"]
        self.assertEqual([event["src"] for event in moves], [allocated[0]] * 2 + [allocated[1]] * 2)

    @needs("prefetches")
    def test_prefetches(self):
        """Of a batch each range where it lies; its time, and what the hook costs, counts once."""
        printed, events = self.recorded("prefetches")
        expected = [line.split() for line in printed.splitlines()]
        events = [event for event in events if event["kind"] == "prefetch"]
        self.assertEqual([[event["src"], str(event["bytes"]), "host" if event["dst_place"] == -2 else "device"]
                          for event in events], expected)
        self.assertEqual([event["count"] for event in events], [3, 0, 0, 1, 2, 0])
        first, *others, alone, _, _ = events
        self.assertEqual({(event["start_ns"], event["end_ns"]) for event in others}, {(first["end_ns"],) * 2})
        self.assertEqual({event["stack"] for event in others}, {first["stack"]})
        self.assertEqual({event["src_memory"] for event in events}, {"managed"})
        self.assertGreaterEqual(alone["start_ns"], first["end_ns"])

    @needs("advices")
    def test_advices(self):
        """Advice stands among the other calls: by time, thread and the place that it names."""
        printed, events = self.recorded("advices")
        events = sorted((e for e in events if e["kind"] in ("advise", "prefetch")), key=lambda e: e["start_ns"])
        threads = list(dict.fromkeys(e["tid"] for e in events))
        self.assertEqual([[str(threads.index(e["tid"])), str(e["aux"]) if e["kind"] == "advise" else "prefetch", str(e["bytes"]),
                           "host" if e["dst_place"] == -2 else "device"] for e in events],
                         [line.split() for line in printed.splitlines()])
        for before, after in zip(events, events[1:]):
            self.assertLessEqual(before["end_ns"], after["start_ns"])
            if before["lane"] == after["lane"]:
                self.assertLess(before["seq"], after["seq"])

    @needs("attributes")
    def test_copies_with_attributes(self):
        printed, events = self.recorded("attributes")
        copies = [event for event in events if event["kind"] == "transfer"]
        self.assertEqual([[event["direction"], str(event["bytes"])] for event in copies],
                         [line.split() for line in printed.splitlines()])
        self.assertEqual([event["call"] for event in copies],
                         ["cuMemcpyWithAttributesAsync", "cuMemcpy3DWithAttributesAsync"])
        self.assertEqual([event["width"] for event in copies], [196608, 4096])

    @needs("managed_shared")
    def test_managed_report(self):
        """By the place that allocated; the kernel and the line that touched it where it was not."""
        self.recorded("managed_shared", "8")
        managed = report(self.folder / "run.xft")["managed"]
        self.assertEqual(managed["recorded"], "yes")
        sites = {site["site"]["function"]: site for site in managed["sites"]}
        self.assertEqual(set(sites), {"by_demand", "by_prefetch"})
        demand, prefetch = sites["by_demand"], sites["by_prefetch"]
        for site in (demand, prefetch):
            self.assertEqual((site["allocations"], site["allocated_bytes"]), (1, self.SIZE))
            self.assertEqual(site["moved_bytes"], {"H2D": self.SIZE, "D2H": self.SIZE})
            self.assertGreater(site["migration_s"], 0)
        self.assertEqual(demand["moved_why_bytes"], {"fault": 2 * self.SIZE})
        self.assertEqual(prefetch["moved_why_bytes"], {"prefetch": 2 * self.SIZE})
        self.assertEqual((prefetch["host_faults"], prefetch["device_faults"]), (0, 0))
        self.assertEqual((prefetch["kernels"], prefetch["lines"]), ([], []))
        (kernel,) = demand["kernels"]
        self.assertEqual(kernel["name"], "add_one(unsigned int*, unsigned long)")
        self.assertEqual((kernel["fault_groups"], kernel["faults"]), (1, 4))
        (line,) = demand["lines"]
        self.assertEqual(line["faults"], 1)
        self.assertIn(line["at"]["function"], ("read_by_host", "tell"))
        self.assertEqual(line["after"]["function"], "cudaDeviceSynchronize")
        self.assertEqual(line["before"]["function"], "cudaFree")
        self.assertGreater(line["thread"], 0)
        text = run([XFERSCOPE, "analyze", self.folder / "run.xft"]).stdout.decode()
        self.assertIn("in add_one(unsigned int*, unsigned long): 4 in 1 group,", text)

    @needs("managed_shared")
    def test_no_managed(self):
        _, events = self.recorded("managed_shared", options=["--no-managed"])
        self.assertEqual({event["kind"] for event in events} & {"migration", "fault"}, set())
        self.assertIn("kernel", {event["kind"] for event in events})
        text = run([XFERSCOPE, "analyze", self.folder / "run.xft"]).stdout.decode()
        self.assertIn("migrations and faults were not recorded", text)

    @needs("kernel_only_shared")
    def test_kernels(self):
        _, events = self.recorded("kernel_only_shared", "empty", "7", "copy")
        kernels = [event for event in events if event["kind"] == "kernel"]
        self.assertEqual({event["name"] for event in kernels}, {"_Z12empty_kernelv"})
        self.assertEqual(len(kernels), 1000 + 7)
        self.assertTrue(all(event["dst"] == "0x20" for event in kernels))  # threads
        self.assertTrue(all(a["end_ns"] <= b["start_ns"] for a, b in zip(kernels, kernels[1:])))
        self.assertEqual(len({event["correlation"] for event in kernels}), len(kernels))

    @needs("kernel_only_shared")
    def test_no_kernels(self):
        _, events = self.recorded("kernel_only_shared", "empty", "7", "copy", options=["--no-kernels"])
        kinds = {event["kind"] for event in events}
        self.assertIn("device-copy", kinds)
        self.assertNotIn("kernel", kinds)

    @needs("kernel_only_shared")
    def test_nothing_moves(self):
        """A program that transfers nothing is left alone by CUPTI, and the report says so."""
        _, events = self.recorded("kernel_only_shared", "empty", "7")
        self.assertEqual([event for event in events if event["kind"] == "kernel"], [])
        (process,) = report(self.folder / "run.xft")["run"]["processes"]
        self.assertEqual((process["timing"], process["timing_why"]), ("none", "nothing was transferred"))

    @needs("kernel_only_shared")
    def test_memory_again_and_again(self):
        """One that frees and allocates memory again and again wastes by that: its work is recorded after some times."""
        _, events = self.recorded("kernel_only_shared", "empty", "40", "memory")
        launches = [event for event in events if event["kind"] == "launch"]
        kernels = [event for event in events if event["kind"] == "kernel"]
        self.assertEqual(len(launches), 1 + 31 + 1000 + 40)  # the first one, and all behind the eighth time
        self.assertEqual(len(kernels), len(launches) - 1)
        self.assertEqual(report(self.folder / "run.xft")["findings"][0]["kind"], "repeated-allocation")
        _, events = self.recorded("kernel_only_shared", "empty", "8", "memory", options=["--force"])
        self.assertEqual([event["kind"] for event in events if event["kind"] in ("kernel", "launch")], ["launch"])

    @needs("waits", "waits_simstatic")
    def test_first_copy_is_timed(self):
        """Device timing comes just before the first copy, in time for it."""
        for program in ("waits", "waits_simstatic"):
            with self.subTest(program):
                _, events = self.recorded(program, options=["--force"])
                (call,) = (event for event in events if event["kind"] == "transfer")
                (copy,) = (event for event in events if event["kind"] == "device-copy")
                self.assertEqual((copy["correlation"], copy["bytes"]), (call["correlation"], call["bytes"]))
                self.assertNotEqual(call["correlation"], 0)


if __name__ == "__main__":
    unittest.main()
