"""tests/pairs/random: what its programs show of recorder and replay, to the nanosecond of the virtual clock."""
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
from pathlib import Path

from scripts import loaded

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ["XFERSCOPE_BUILD"])


drawn = loaded("random")
STAGE = {"steps": 24, "bytes": 102400, "down": False, "streams": 3, "kind": "n", "wait": "event", "parts": 16,
         "bound": "copy", "read_ns": 0, "kernel_ns": 1500, "host_ns": 0, "graph": False, "varies": False, "thread": 0,
         "rows": False, "wastes": []}


def program(**stage):
    return {"seed": 1, "helper": False, "stages": [{**STAGE, **stage}]}


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.lab = drawn.Lab(types.SimpleNamespace(build=BUILD, gpu=False, keep=self.folder, profile=None), folder.name)

    def replayed(self, run):
        """The region, replayed without what recording cost, ns."""
        report = drawn.json.loads(self.lab.run(self.lab.xferscope, "analyze", run, "-p", self.lab.profile, "-f", "json",
                                               good=(0, 3)))
        return next(p["alone_s"] for p in report["whatif"]["phases"] if p["name"] == "work") * 1e9

    def test_events_with_content(self):
        """The virtual clock counts each call of the driver, the recorder's own, too: there is none. Nor has it hashes, and
        nothing is taken out for them."""
        measured, run = self.lab.measure(program(bytes=1 << 20))
        self.assertEqual(measured["recorded"], measured["before"])
        self.assertLess(abs(self.replayed(run) - measured["before"]), 0.002 * measured["before"])

    def test_graphs_are_looked_into(self):
        """What the recorder asks about a graph is known to be its own time. Graphs are captured before the region."""
        measured, _ = self.lab.measure(program(graph=True))
        self.assertEqual(measured["recorded"], measured["before"])
        path, run = self.folder / "within.txt", self.folder / "within.xft"
        path.write_text(drawn.schedule.lower(program(graph=True), []).replace("\nI\n", "\nT 0\n"))
        command = self.lab.player((program(), [path]))
        record = [self.lab.xferscope, "record", "--quiet", "--no-summary", "-o", run, "--", *command]
        before, recorded = (int(drawn.PRINTED.search(self.lab.run(*words))[1]) for words in (command, record))
        self.assertGreater(recorded, before + 3 * 1800)
        self.assertLess(self.replayed(run), before + 3 * 1000)

    def test_threads(self):
        """Each has a clock of its own: they take as long as one of them where the host works, each time."""
        one = program(host_ns=40000)
        both = {**one, "stages": [*one["stages"], {**one["stages"][0], "thread": 1}]}
        took = [self.lab.play(form, []) for form in (one, both, both)]
        self.assertEqual(took[1], took[2])
        self.assertLess(took[1], 1.1 * took[0])
        self.assertGreater(self.lab.play({**both, "stages": 2 * one["stages"]}, []), 1.9 * took[0])

    def test_programs_of_one_process(self):
        """Programs that one process plays take what each takes in one of its own, helper functions or not."""
        self.lab.gpu = True
        patched = unittest.mock.patch.object(drawn, "TIMES_GPU", 2)
        patched.start()
        self.addCleanup(patched.stop)
        one, other = program(steps=4), {**program(steps=9, down=True, bound="host", host_ns=30000), "helper": 2}
        forms = [(each, [(each, []), (drawn.schedule.changed(each, lambda stage: {"streams": 4}), [])]) for each in (one, other)]
        apart = [self.lab.play_in_turns([each])[0] for each in forms]
        self.assertEqual(self.lab.play_in_turns(forms), apart)
        self.assertEqual([len(times) for times in apart], [2, 2])
        self.assertNotEqual(*apart)

    def test_a_recorded_region_lasts(self):
        """On a GPU it has as many rounds as it needs for that; its time is that of the usual number."""
        self.lab.gpu = True
        for name, value in (("TIMES_GPU", 2), ("LEAST_GPU", 3)):
            patched = unittest.mock.patch.object(drawn, name, value)
            patched.start()
            self.addCleanup(patched.stop)
        measured = next(self.lab.measure_all([program(wastes=["blocking"])]))[0]
        self.assertGreater(measured["rounds"] * measured["recorded"], 2.9e6 * drawn.TIMES_GPU * 0.9)
        self.assertGreater(measured["rounds"], drawn.TIMES_GPU)
        self.assertAlmostEqual(measured["recorded"], measured["before"], delta=0.05 * measured["before"])
        run = self.folder / f"{program()['seed']}.xft"
        judged = self.lab.predict(measured, run)
        self.assertTrue(judged["replay"], judged)
        self.assertAlmostEqual(judged["predicted"][1], judged["saved"], delta=0.1 * measured["before"])

    def test_only_what_is_played_is_there(self):
        """Two schedules in turns find the GPU's memory as each would alone: together they need more than it has."""
        path = self.folder / "large.txt"
        path.write_text("B d 107374182400\nS n\nH 0 1000 0\nW 8 0\n")
        out = self.lab.run(BUILD / "bin" / "pairs" / "player", "--times", "5", path, path)
        (rounds, times), = drawn.IN_TURNS.findall(out)
        one, other = map(int, times.split())
        self.assertEqual(one, other)
        self.assertGreaterEqual(one, int(rounds) * 1000)

    def test_turns_of_a_long_program(self):
        """A turn has as many rounds as --most leaves, two at least; the time of a round is the same."""
        path = self.folder / "long.txt"
        path.write_text("S n\nH 0 10000000 0\nW 8 0\n")
        took = {}
        for most in (25, 45, 1000):
            out = self.lab.run(BUILD / "bin" / "pairs" / "player", "--times", "30", "--most", most, path, path)
            (rounds, times), = drawn.IN_TURNS.findall(out)
            took[int(rounds)] = int(times.split()[0]) / int(rounds)
        self.assertEqual(list(took), [6, 12, 30])
        self.assertAlmostEqual(max(took.values()), min(took.values()), delta=1000)

    def test_managed_memory_is_read_whole(self):
        """What the host reads of managed memory it reads a word of each page of: also on a GPU all of it has to move."""
        path = self.folder / "managed.txt"
        path.write_text("B u 4194304\nS n\nH 0 0 1\nR 1 0 1\nW 8 0\n")
        out = self.lab.run(BUILD / "bin" / "pairs" / "player", path)
        self.assertGreater(int(re.search(r" sum (\d+) ", out)[1]), 255)

    def assert_right(self, drawn_program):
        """Nothing that is asked is missed."""
        self.judged = judged = self.lab.judge(drawn_program)
        self.assertEqual(drawn.failed(judged), [], judged)

    def test_a_thread_that_works_first(self):
        """It began with the others, whatever they do until its first call: nothing is to gain (shrunk from seed 3270517608)."""
        works = {**STAGE, "steps": 15, "bytes": 1048576, "streams": 2, "wait": "stream", "bound": "host", "kernel_ns": 14171,
                 "host_ns": 100484, "thread": 1}
        copies = {**STAGE, "steps": 10, "bytes": 512000, "streams": 2, "wait": "stream", "kernel_ns": 3767}
        self.assert_right({**program(), "stages": [works, copies]})

    def test_stages_of_one_line(self):
        """The end of a stage is waited for before the next, though both copy in the same line (shrunk from seed 3270517748)."""
        first = {**STAGE, "steps": 10, "bytes": 1048576, "streams": 2, "wait": "stream", "kernel_ns": 5998, "wastes": ["serial"]}
        second = {**STAGE, "steps": 9, "bytes": 512000, "streams": 2, "wait": "stream", "bound": "host", "kernel_ns": 8450,
                  "host_ns": 49025}
        self.assert_right({**program(), "stages": [first, second]})

    def test_graphs_that_queue(self):
        """A graph that finds the engine free has not queued (seed 3270517536)."""
        self.assert_right(program(steps=46, streams=2, wait="stream", kernel_ns=1940, graph=True))

    def test_mapped_memory_and_the_link(self):
        """Kernels that read it share the link with each other and with copies (seeds 2739892543 and 2739892748)."""
        self.assert_right(program(steps=46, bytes=512000, streams=4, kind="b", kernel_ns=3527, wastes=["mapped"]))
        self.assert_right(program(steps=48, bytes=512000, streams=4, wait="stream", kernel_ns=4152,
                                  wastes=["mapped", "repeated"]))

    def test_rows_and_changing_sizes(self):
        """A step's rows take as long as in one piece, a smaller step less."""
        whole = self.lab.play(program(), [])
        self.assertEqual(self.lab.play(program(rows=True), []), whole)
        self.assertLess(self.lab.play(program(varies=True), []), whole)

    def test_managed(self):
        """What prefetching saves is what the record of demand says, of one stream."""
        def steps(*work):
            return "\n".join(["B u 16777216", "S n", *8 * ["H 11 0 1", *work, "W 8 0", "R 9 0 1"]]) + "\n"
        demand, prefetched = steps("K 3 0 200000 1 0 0"), steps("P 0 0 1 0", "K 3 0 200000 1 0 0", "P 1 0 0 0")
        took = {}
        for name, text in (("demand", demand), ("prefetched", prefetched)):
            (self.folder / name).write_text(text)
            took[name] = int(drawn.PRINTED.search(self.lab.run(BUILD / "bin" / "pairs" / "player", self.folder / name))[1])
        run = self.folder / "managed.xft"
        self.lab.run(self.lab.xferscope, "record", "--quiet", "--no-summary", "-o", run, "--", BUILD / "bin" / "pairs" / "player",
                     self.folder / "demand")
        report = drawn.json.loads(self.lab.run(self.lab.xferscope, "analyze", run, "-p", self.lab.profile, "-f", "json",
                                               good=(0, 3)))
        predicted = next(p["with_set_s"] for p in report["whatif"]["phases"] if p["name"] == "work") * 1e9
        self.assertEqual(report["findings"][0]["kind"], "managed-demand-migration")
        self.assertLess(3 * took["prefetched"], took["demand"])
        self.assertLess(abs(predicted - took["prefetched"]), 0.02 * took["demand"])

    def test_waits_itself(self):
        """Few steps whose results the program waits for anyway: the first ones are not charged for that either."""
        judged = self.lab.judge(program(bytes=1 << 20, down=True, steps=20, kernel_ns=11000, host_ns=72000, read_ns=2000,
                                      bound="host", wastes=["blocking"]))
        self.assertLess(abs(judged["predicted"][1] - judged["saved"]), 0.018 * judged["before"])

    def test_managed_stages(self):
        """Prefetched in two streams, the replay is as long as the run; found by faults, what prefetching saves is predicted."""
        managed = {"managed": True, "bytes": 2 << 20, "steps": 8, "streams": 2, "down": True, "kernel_ns": 90000}
        measured, run = self.lab.measure(program(**managed))
        self.assertLess(abs(self.replayed(run) - measured["before"]), 0.01 * measured["before"])
        judged = self.lab.judge(program(**managed, wastes=["demand"]))
        self.assertEqual((judged["kinds"], judged["near"]), (["managed-demand-migration"], True))
        self.assertGreater(judged["saved"], 0.3 * judged["before"])

    def took(self, *lines):
        """How long these statements take, ns."""
        (self.folder / "lines").write_text("\n".join(lines) + "\n")
        return int(drawn.PRINTED.search(self.lab.run(BUILD / "bin" / "pairs" / "player", self.folder / "lines"))[1])

    def test_the_driver_moves_managed_memory(self):
        """On the simulated GPU prefetches of a direction wait for each other, and their pages for copies."""
        def took(*work):
            return self.took("B u 8388608", "B u 8388608", "B p 67108864", "B d 67108864", "S n", "S n", *work, "D 1")
        copies = {kind: f"C 0 {to} 0 {source} 0 67108864 1 {kind} 0" for kind, to, source in ((1, 3, 2), (2, 2, 3))}
        one, copy, pages = took("P 0 0 1 0"), took(copies[1]), took(copies[1].replace("67108864", "8388608"))
        self.assertGreater(took("P 0 0 1 0", "P 0 1 1 1"), 1.9 * one)
        self.assertGreater(copy, 2 * one)
        self.assertGreater(took(copies[1], "P 0 0 1 0"), copy + 0.9 * pages)
        self.assertLess(took(copies[2], "P 0 0 1 0"), copy + 0.1 * pages)
        self.assertLess(took("P 0 0 1 0", "C 0 3 0 2 0 8388608 1 1 0"), one + 0.1 * pages)

    def test_faults_leave_the_link(self):
        """While a kernel's faults are served copies of other streams have the link; another kernel waits for them."""
        head = ["B u 2097152", "B u 2097152", "B p 65536", "B d 65536", "S n", "S n"]
        copy, works = ["C 0 3 0 2 0 65536 1 1 0", "W 8 1"], "H 9 2000000 0"
        one, other = "K 3 0 1000 1 0 0", "K 3 1 1000 2 0 0"
        kernel, alone = self.took(*head, one), self.took(*head, *copy, works)
        self.assertGreater(kernel, 500000)
        self.assertLess(self.took(*head, one, *copy, works), alone + 5000)  # the kernel's end is waited for by then
        self.assertGreater(self.took(*head, one, other), 1.9 * kernel)

    def test_managed_memory_in_threads(self):
        """One faults, others copy: what prefetching saves is predicted, and so is all that both do."""
        managed = {**STAGE, "managed": True, "bytes": 2 << 20, "steps": 8, "streams": 2, "down": True, "kernel_ns": 90000,
                   "wastes": ["demand"]}
        copies = {**STAGE, "steps": 40, "bytes": 1 << 20, "streams": 2, "thread": 1}
        self.assert_right({**program(), "stages": [managed, copies]})
        self.assert_right({**program(), "stages": [{**managed, "wastes": []}, copies]})

    def test_advice(self):
        """Memory that is to stay is reached over the link, a table that is mostly read has a copy on each side: neither is
        found by faults, and there is nothing to gain."""
        for advice in ("stays", "table"):
            stage = {"managed": True, "bytes": 2 << 20, "steps": 8, "streams": 2, "kernel_ns": 40000, "host_ns": 900000}
            advised = program(**stage, advice=advice)
            self.assert_right(advised)
            lines = drawn.schedule.lower(advised, []).splitlines()
            left = [line for line in lines if line[0] != "v"]
            self.assertLess(len(left), len(lines))
            self.assertLess(1.1 * self.took(*lines), self.took(*left))

    def test_page_locking_takes_its_time(self):
        """Where a program does it in the region: what the machine has for it. It is found, and saves what it costs."""
        mib, slots = 4, 3
        locks = program(arena=mib << 20, wastes=["locking"])
        ns = {"alloc/pinned": 1670, "free/pinned": 1450, "register/pageable": 39590, "unregister/pageable": 25960}
        per_mib = {"alloc/pinned": 346900, "free/pinned": 82400, "register/pageable": 27300, "unregister/pageable": 13800}
        call = {name: ns[name] + mib * per_mib[name] for name in ns}
        touched = 10000 + (mib << 20) / 10
        costs = slots * (call["alloc/pinned"] + call["free/pinned"] - call["register/pageable"] - call["unregister/pageable"] - touched)
        took = [self.lab.play(locks, left) for left in (["locking"], [])]
        self.assertAlmostEqual(took[0] - took[1], costs, delta=0.01 * costs)
        self.assert_right(locks)

    def test_functions_of_the_host(self):
        """The driver's way to one is no time of its one thread, by which it calls them; what one works a thread of the program's own
        does as well, beside the stream (shrunk from seeds 661100375, 770000347, 770000375, 770000286)."""
        calls = {"kind": "n", "wastes": ["function"], "pays": True}
        for stage in ({"steps": 33, "bytes": 65536, "down": True, "bound": "host", "host_ns": 19878, "kernel_ns": 2637,
                       "function_ns": 68000, "ahead": False},
                      {"steps": 48, "bytes": 512000, "streams": 2, "kernel_ns": 3256, "function_ns": 24000, "ahead": True},
                      {"steps": 38, "bytes": 65536, "down": True, "kind": "b", "bound": "host", "host_ns": 14719,
                       "kernel_ns": 1852, "read_ns": 2000, "function_ns": 277000, "ahead": False, "wastes": ["device-wait", "function"]},
                      {"steps": 28, "bytes": 1048576, "down": True, "kind": "b", "bound": "host", "host_ns": 61570, "streams": 2,
                       "function_ns": 104000, "ahead": False, "wastes": ["serial", "mapped", "function"]}):
            with self.subTest(**stage):
                self.assert_right(program(**{**calls, **stage}))
        given = {**calls, "wastes": [], "steps": 33, "function_ns": 68000, "ahead": True}
        self.assert_right(program(**given))

    def test_jobs_of_functions(self):
        """A function gives a thread something to do, and the program's waits for that: it goes on as before, whatever else takes less;
        one behind which memory is freed, or that nobody had to wait for, takes its time (seeds 1234500330, 1234500309,
        1234500292, 1234500509)."""
        calls = {"kind": "n", "pays": True, "streams": 2}
        for stage in ({"steps": 33, "bytes": 262144, "down": True, "bound": "host", "host_ns": 34456, "kernel_ns": 4800, "streams": 3,
                       "function_ns": 287000, "ahead": False, "wastes": ["serial"]},
                      {"steps": 47, "bytes": 262144, "down": True, "bound": "host", "host_ns": 34800, "kernel_ns": 3600, "streams": 1,
                       "tail_ns": 27430, "function_ns": 250000, "ahead": False, "wastes": ["beyond", "function"]},
                      {"steps": 20, "bytes": 512000, "kernel_ns": 5300, "function_ns": 106000, "ahead": False,
                       "wastes": ["allocation", "function"]},
                      {"steps": 19, "bytes": 262144, "kernel_ns": 2200, "streams": 3, "wait": "stream", "parts": 64, "function_ns": 222000,
                       "ahead": False, "wastes": ["small", "function"]}):
            with self.subTest(**stage):
                self.assert_right(program(**{**calls, **stage}))

    def test_jobs_behind_waits_for_the_device(self):
        """Such a wait is behind all functions; the job that is needed is the slot's own, of the step before the last (seed 1795947534)."""
        self.assert_right(program(steps=46, bytes=1048576, streams=2, kind="b", kernel_ns=8103, graph=True, tail_ns=10230, wide=True,
                                  function_ns=124000, ahead=True, wastes=["allocation", "beyond"], pays=True))

    def test_blocking_rows(self):
        """Copies in rows that make the host wait need not (seed 1234500203)."""
        self.assert_right(program(steps=21, bytes=1 << 20, streams=2, kind="b", wait="stream", bound="host", kernel_ns=8700, host_ns=84800,
                                  rows=True, row=1024, wastes=["blocking"], pays=True))

    def test_buffers_that_cost(self):
        """They join a set in the place of parts of copies, though they cost more than they save by themselves (seed 1234500587)."""
        self.assert_right(program(steps=23, bytes=1 << 20, bound="host", kernel_ns=13576, host_ns=70113, read_ns=2000,
                                  wastes=["serial", "allocation"], pays=True))

    def test_a_thread_joined_behind_a_function(self):
        """Another one waits for it to end, whose last wait is for a function (shrunk from seed 661100282)."""
        calls = {**STAGE, "steps": 31, "kind": "t", "bound": "host", "host_ns": 23319, "kernel_ns": 3999, "wastes": ["function"],
                 "function_ns": 123000, "ahead": True, "thread": 1, "pays": True}
        ends = {**STAGE, "steps": 24, "bytes": 262144, "kind": "b", "bound": "host", "host_ns": 32744, "kernel_ns": 7746, "pays": True}
        self.assert_right({**program(), "stages": [ends, calls]})

    def test_waits_beyond_a_result_and_functions(self):
        """A wait in place of another one is for the program's thread, too (shrunk from seed 990000286)."""
        calls = {**STAGE, "steps": 35, "bytes": 1048576, "streams": 4, "wait": "stream", "kernel_ns": 10255, "varies": True,
                 "wastes": ["function"], "function_ns": 177000, "ahead": True, "pays": True}
        managed = {**STAGE, "managed": True, "bytes": 2 << 20, "steps": 8, "streams": 2, "down": True, "kernel_ns": 90000}
        self.assert_right({**program(), "stages": [calls, managed]})

    def test_waits_beyond_a_result(self):
        """The host waits for what goes on behind its result, in its stream or in others; it is no part of its own
        (shrunk from seed 770000299)."""
        waits = {"steps": 30, "bytes": 262144, "down": True, "kind": "n", "bound": "host", "host_ns": 60000, "kernel_ns": 5000,
                 "tail_ns": 50000, "pays": True, "wastes": ["beyond"]}
        for stage in ({"streams": 1}, {"streams": 2}, {"streams": 2, "wide": True}, {"streams": 2, "wastes": ["serial", "beyond"]},
                      {"streams": 2, "wastes": ["serial"], "bytes": 1048576, "host_ns": 50000, "tail_ns": 40000},
                      {"streams": 3, "wastes": ["serial", "beyond"], "host_ns": 30000, "tail_ns": 20000, "bytes": 512000},
                      {"streams": 2, "graph": True}, {"streams": 2, "wastes": []}):
            with self.subTest(**stage):
                self.assert_right(program(**{**waits, **stage}))
        form = program(**{**waits, "streams": 1})
        self.assertGreater(self.lab.play(form, ["beyond"]), 1.3 * self.lab.play(form, []))

    def test_threads_that_hold_a_lock(self):
        """They take turns, each time the same; what their own work beside each other saves lies within the answered question. Of one
        that hardly ever waits for the lock nothing is asked."""
        holds = {**STAGE, "steps": 30, "streams": 1, "kernel_ns": 90000, "host_ns": 40000, "down": True, "bound": "host",
                 "wastes": ["lock"]}
        both = {**program(), "stages": [holds, {**holds, "thread": 1, "steps": 26, "kernel_ns": 70000}]}
        took = [self.lab.play(both, wastes) for wastes in (["lock"], ["lock"], [])]
        self.assertEqual(took[0], took[1])
        self.assertGreater(took[0], 1.3 * took[2])
        judged = self.lab.judge(both)
        self.assertEqual(drawn.failed(judged), [], judged)
        self.assertTrue(judged["found"] and judged["predicted"][1] > 0.1 * judged["before"])
        self.assertNotIn("near", judged)
        rarely = {**both, "stages": [{**stage, "host_ns": 900000} for stage in both["stages"]]}
        judged = self.lab.judge(rarely)
        self.assertEqual((judged["predicted"][1], judged["inside"], "found" in judged), (0, True, False), judged)

    def saves(self, form, waste, least):
        """This waste alone costs so much of the program, and is found; without it another form has the same statements of it no more."""
        took = [self.lab.play(form, wastes) for wastes in ([waste], [])]
        self.assertGreater(took[0], (1 + least) * took[1])
        self.assert_right(form)
        self.assertIn(waste, self.judged["wastes"])

    def test_solvers(self):
        """Copies of two and of three states are found; states that take turns, and one that is saved to be compared, are left alone. The
        last state is the same with the copies and without."""
        solver = {"solver": True, "streams": 1, "steps": 48, "bytes": 4 << 20, "states": 3, "saves": False, "kernel_ns": 30000, "every": 16,
                  "check_bytes": 4096, "pays": True}
        for states in (2, 3):
            with self.subTest(states=states):
                self.saves(program(**{**solver, "states": states}, wastes=["swap"]), "swap", 0.1)
                self.assertEqual(self.judged["kinds"], ["copy-instead-of-swap"])
                form = program(**{**solver, "states": states, "steps": 7, "bytes": 65536}, wastes=["swap"])
                sums = []
                for number, wastes in enumerate((["swap"], [])):
                    path = self.folder / f"solver{number}"
                    path.write_text(drawn.schedule.lower(form, wastes))
                    sums.append(re.search(r" sum (\d+) ", self.lab.run(BUILD / "bin" / "pairs" / "player", "--sums", path))[1])
                self.assertEqual(*sums)
                self.assertNotEqual(sums[0], "0")
        for more in ({}, {"saves": True, "states": 2}):
            with self.subTest(**more):
                self.assert_right(program(**{**solver, **more}))
                self.assertEqual((self.judged["wastes"], self.judged["quiet"]), ([], True))
        looks = program(**{**solver, "every": 1, "saves": True, "states": 2, "kernel_ns": 12000, "check_bytes": 65536})
        self.assert_right(looks)  # it could look at the state before meanwhile
        self.assertEqual(self.judged["wastes"], ["few"])

    def test_new_memory(self):
        """Page faults of memory that is new each time, and the copy's pageable memory, are one after the other what to mend; memory
        that is kept has none, also behind several small copies."""
        fetches = {"bytes": 1 << 20, "down": True, "bound": "host", "host_ns": 80000, "kernel_ns": 9000, "streams": 2, "steps": 40, "pays": True}
        self.saves(program(**fetches, wastes=["fetched", "fresh"]), "fresh", -1)
        self.assertLessEqual({"fresh-memory", "pageable-host-memory"}, set(self.judged["kinds"]))
        self.assertGreater(self.judged["saved"], 0.7 * self.judged["before"])
        judged = self.lab.judge(program(**{**fetches, "parts": 8}, wastes=["fetched", "fresh", "small"]))
        self.assertIn("fresh-memory", judged["kinds"])
        self.assert_right(program(**fetches, wastes=["fetched"]))
        self.assertNotIn("fresh-memory", self.judged["kinds"])

    def test_polls(self):
        """Sleep between queries is found; queries one after the other, and work between them, are not."""
        polls = {"bytes": 65536, "streams": 1, "kernel_ns": 130000, "poll_ns": 90000, "pays": True}
        for wait in ("event", "stream"):
            self.saves(program(**{**polls, "wait": wait}, wastes=["poll"]), "poll", 0.1)
        for more in ({"poll_ns": 0}, {"poll_ns": 8000, "side_ns": 100000}):
            with self.subTest(**more):
                self.assert_right(program(**{**polls, **more}))
                self.assertEqual((self.judged["wastes"], self.judged["quiet"]), ([], True))
        fetches = {**polls, "down": True, "streams": 2, "bound": "host", "host_ns": 166265, "wait": "stream"}
        self.saves(program(**fetches, wastes=["fetched", "poll"]), "fetched", 0.3)  # pageable copies wait, not the queries (seed 276129735)
        shared = program(**{**polls, "kind": "t", "streams": 2}, wastes=["poll"])
        self.assertEqual({form["stages"][0]["kind"] for form, _ in drawn.schedule.fixed_forms(shared)}, {"t"})
        alone = self.lab.play(program(**{**polls, "poll_ns": 0}), [])
        self.assertLess(self.lab.play(program(**{**polls, "poll_ns": 8000, "side_ns": 100000}), []), alone + 24 * 10000)

    def test_graphs_captured_anew(self):
        """Instantiated in each step is found; updated is not."""
        anew = {"graph": True, "anew": True, "bound": "host", "host_ns": 50000, "kernel_ns": 4000, "pays": True}
        self.saves(program(**anew, wastes=["again"]), "again", 0.1)
        self.assertEqual(self.judged["kinds"][:1], ["graph-instantiated-again"])
        self.assert_right(program(**anew))
        self.assertNotIn("graph-instantiated-again", self.judged["kinds"])

    def test_waits_beyond_an_upload(self):
        """What an event behind the upload saves; it is tried of clean programs, too."""
        late = {"bytes": 512000, "streams": 2, "kernel_ns": 9000, "host_ns": 9000, "pays": True, "wait": "stream"}
        self.saves(program(**late, wastes=["late"]), "late", 0.1)
        self.saves(program(**{**late, "wait": "event"}, wastes=["late"]), "late", 0.1)
        forms = drawn.schedule.fixed_forms(program(**late))
        self.assertTrue(any(form["stages"][0].get("soon") for form, _ in forms))
        self.assertFalse(any(form["stages"][0].get("soon") for form, _ in drawn.schedule.fixed_forms(program(**{**late, "down": True}))))

    def test_two_gpus(self):
        """Borders by way of the host are found, and GPUs that one thread serves, with results that come back as a question; without these nothing is
        advised. What is computed is the same."""
        two = {"streams": 1, "steps": 32, "wait": "stream"}
        borders = {**two, "two": "exchange", "bytes": 131072, "state_bytes": 1 << 20, "kernel_ns": 60000, "every": 16, "waits": True}
        serves = {**two, "two": "turns", "bytes": 65536, "kernel_ns": 30000, "host_ns": 60000}
        for stage, waste in ((borders, "staged"), ({**borders, "waits": False}, "staged"), (serves, "turns"), ({**serves, "down": True}, "turns-asked")):
            with self.subTest(waste=waste, **stage):
                self.saves(program(**stage, wastes=[waste]), waste, 0.1)
                if waste not in drawn.schedule.QUESTIONS:
                    self.assertIn(self.judged["kinds"][0], drawn.schedule.WASTES[waste])
                self.assert_right(program(**{**stage, "streams": 2}))
                self.assertEqual((self.judged["wastes"], self.judged["quiet"]), ([], True))
                sums, machine = [], self.lab.machine(program(**stage))
                for number, wastes in enumerate(([waste], [])):
                    path = self.folder / f"two{number}"
                    path.write_text(drawn.schedule.lower(program(**stage, wastes=[waste]), wastes))
                    played = self.lab.run(BUILD / "bin" / "pairs" / "player", "--sums", path, more=machine)
                    sums.append(re.search(r" sum (\d+) ", played)[1])
                self.assertEqual(*sums)

    def test_draw(self):
        """What is drawn of a seed is the same each time; all wastes are, on the simulated GPU; on one the newest are not measured yet."""
        programs = [drawn.schedule.draw(seed) for seed in range(400)]
        self.assertEqual(programs[7], drawn.schedule.draw(7))
        found = {waste for each in programs for waste in drawn.schedule.wastes_of(each)}
        self.assertEqual(found, set(drawn.schedule.WASTES) - {"few", "held"})
        found |= {waste for seed in range(200) for waste in drawn.schedule.wastes_of(drawn.schedule.draw(seed, sleeping=True))}
        self.assertEqual(found, set(drawn.schedule.WASTES) - {"few"})
        on_gpu = {waste for seed in range(400) for waste in drawn.schedule.wastes_of(drawn.schedule.draw(seed, locking=False))}
        self.assertFalse(on_gpu & {"swap", "fetched", "fresh", "poll", "again", "late", "staged", "turns", "turns-asked"})

    def test_further_buffers(self):
        """Page-locked memory of more steps in flight is paid for, by the fixed program and by what is predicted: a copy's,
        a graph's, and of a program that has some already."""
        long = {"bytes": 512000, "steps": 30, "streams": 2, "kernel_ns": 9000, "pays": True, "wait": "stream"}
        for stage in ({"wastes": ["serial"]}, {"wastes": ["serial"], "graph": True}, {"wastes": ["serial", "pageable"]},
                      {"wastes": ["serial"], "down": True, "bound": "host", "host_ns": 30000}):
            with self.subTest(**stage):
                self.assert_right(program(**long, **stage))
        form = drawn.schedule.changed(program(**long), lambda stage: drawn.schedule.with_streams(stage, 4))
        price = self.lab.play(form, []) - self.lab.play({**form, "stages": [{**form["stages"][0], "pays": False}]}, [])
        self.assertAlmostEqual(price, 2 * 85618, delta=2500)

    def test_a_thread_that_begins_with_locking(self):
        """It begins with the others, though they page-lock memory of theirs first (seed 880696252)."""
        legacy = {**STAGE, "steps": 19, "bytes": 512000, "streams": 2, "bound": "host", "pays": True, "wait": "stream",
                  "wastes": ["legacy"]}
        self.assert_right({**program(), "stages": [{**legacy, "kernel_ns": 3870, "host_ns": 46761},
                                                   {**legacy, "kernel_ns": 10359, "host_ns": 63858, "thread": 1}]})
        copies = {**legacy, "bound": "copy", "streams": 4}  # (seed 773874174)
        self.assert_right({**program(), "stages": [{**copies, "steps": 22, "kind": "b", "kernel_ns": 5882},
                                                   {**copies, "steps": 38, "bytes": 102400, "kernel_ns": 1570, "varies": True,
                                                    "thread": 1}]})

    def test_threads_of_a_short_program(self):
        """The host goes on when the last thread has ended, whichever is that then (seed 82609452); copies in each thread's own stream may save
        more than parts in two (seed 213667720)."""
        legacy = {**STAGE, "bytes": 102400, "pays": True, "wait": "stream", "wastes": ["legacy"]}
        self.assert_right({**program(), "stages": [{**legacy, "steps": 24, "kind": "b", "kernel_ns": 1070},
                                                   {**legacy, "steps": 31, "kernel_ns": 1337, "thread": 1}]})
        legacy["bytes"] = 262144
        self.assert_right({**program(), "stages": [{**legacy, "steps": 45, "streams": 4, "kernel_ns": 1961},
                                                   {**legacy, "steps": 41, "streams": 2, "kind": "b", "wait": "event", "kernel_ns": 2307,
                                                    "thread": 1}]})

    def test_an_event_behind_the_upload_is_enough(self):
        """Of a stage whose copies and kernels take turns, where its host works for longer; beside a copy that is left out, too (seeds
        1843448581 and 1843448501)."""
        serial = {"streams": 2, "kind": "b", "bound": "host", "pays": True}
        self.assert_right(program(**serial, steps=40, bytes=65536, kernel_ns=1435, host_ns=15405, wastes=["serial"]))
        self.assert_right(program(**serial, steps=44, bytes=102400, kernel_ns=1779, host_ns=21824, wastes=["serial", "unused"]))

    def test_locked_once(self):
        """Played in rounds, memory is page-locked once, as a program would; played once, that is in its time."""
        def took(kind, times, *around):
            copy, wait = "C 0 1 0 0 0 1048576 0 1 0", "D 1"
            lines = [*around[:1], copy, wait, *around[1:]] if around else [copy, wait]
            (self.folder / "locked").write_text("\n".join([f"B {kind} 1048576", "B d 1048576", "S n", *lines]) + "\n")
            return int(drawn.PRINTED.search(self.lab.run(BUILD / "bin" / "pairs" / "player", "--times", str(times), self.folder / "locked"))[1])
        pinned = took("p", 4)
        for kind, around in (("g", ("N 2 0", "U 3 0")), ("h", ("A 2 0", "F 3 0"))):
            self.assertEqual(took(kind, 4, *around), pinned)
            self.assertGreater(took(kind, 1, *around), took("p", 1))

    def asked(self, changed, *options):
        """What is reported of a table that is sent in each step, and of which a kernel changes so many bytes."""
        steps = 12 * ["C 0 1 0 0 0 1048576 0 1 0", f"Q 1 1 {changed} 50000 0", "W 2 0"]
        (self.folder / "table").write_text("\n".join(["B p 1048576", "B d 1048576", "S n", *steps]) + "\n")
        run = self.folder / "table.xft"
        self.lab.run(self.lab.xferscope, "record", "--quiet", "--no-summary", "--force", "--content=whole", *options, "-o", run,
                     "--", BUILD / "bin" / "pairs" / "player", self.folder / "table")
        return drawn.json.loads(self.lab.run(self.lab.xferscope, "analyze", run, "-p", self.lab.profile, "-f", "json",
                                             good=(0, 3)))

    def test_verify(self):
        """Whether the kernel changes the table decides whether it need be sent again: asked, or found out."""
        def repeated(report):
            return [(f["question"] is not None, f["saving_s"]["low"] > 0) for f in report["findings"]
                    if f["kind"] == "repeated-transfer"]
        self.assertEqual([repeated(self.asked(n)) for n in (0, 4096)], 2 * [[(True, False)]])
        kept, changed = self.asked(0, "--verify"), self.asked(4096, "--verify")
        self.assertEqual((repeated(kept), repeated(changed)), ([(False, True)], []))
        for report, left in ((kept, 12), (changed, 0)):
            self.assertEqual([report["run"]["verify"][key] for key in ("launches", "kept", "not_told")], [18, left, 0])

    def kinds(self, run, *options):
        report = drawn.json.loads(self.lab.run(self.lab.xferscope, "analyze", run, "-p", self.lab.profile, "-f", "json", *options))
        return {f["kind"] for f in report["findings"] if not f["saving_s"]["idle"]}

    def test_calls_of_the_phase(self):
        """With --phase what is found of calls that are no transfers stays where its remedy saves something in the phase."""
        kind = "repeated-allocation"
        self.lab.record(program(wastes=["allocation"]), 0)
        run = self.folder / "run0.xft"
        self.assertIn(kind, self.kinds(run))
        self.assertIn(kind, self.kinds(run, "--phase", "work"))
        with unittest.mock.patch.object(self.lab, "machine", lambda _: {"XFERSCOPE_SIMGPU_MACHINE": "sim-h200-locking"}):
            self.lab.record(program(bytes=1 << 20, steps=60, wastes=["allocation"]), 1)
        run, self.lab.profile = self.folder / "run1.xft", self.lab.probed(machine={"XFERSCOPE_SIMGPU_MACHINE": "sim-h200-locking"})
        self.assertLessEqual({kind, "slow-page-locking"}, self.kinds(run))
        self.assertEqual({kind, "slow-page-locking"} & self.kinds(run, "--phase", "work"), {kind})

    def test_what_processes_do_not_decide(self):
        """Where one of them saved what is predicted and another one did not, inside is not decided; else it is."""
        saving = {"low": 1e-3, "likely": 2e-3, "high": 3e-3}
        report = {"findings": [{"kind": "unused-transfer", "saving_s": {**saving, "idle": False}, "sites": [{"in_set": 1}]}],
                  "whatif": {"set_saving_s": saving, "phases": [], "why_not": None}}
        def decided(*saved):
            shares = [1 - ns / 1e7 for ns in saved]
            measured = {"program": program(wastes=["unused"]), "recorded": 1e7, "gpu": True,
                        **drawn.fixed_of([[1e7] * len(saved), [share * 1e7 for share in shares]])}
            judged = drawn.compare(measured, report)
            return judged.get("inside"), judged.get("undecided", False)
        self.assertEqual(decided(1.5e6, 2e6, 2.5e6), (True, False))
        self.assertEqual(decided(2.5e6, 3.5e6, 4e6), (None, True))
        self.assertEqual(decided(3.2e6, 3.5e6, 4e6), (False, False))
        self.assertEqual(decided(-1e6, 0.5e6, 1.2e6), (None, True))
        self.assertEqual(decided(-1e6, 0.5e6, 0.9e6), (False, False))

    def test_close(self):
        """On a GPU a second measure: within 10 % of what was saved or 1 % of the run, and how near processes come to each other by it."""
        def close(likely, *saved):
            saving = {"low": 0, "likely": likely / 1e9, "high": 1}
            report = {"findings": [], "whatif": {"set_saving_s": saving, "phases": [], "why_not": None}}
            shares = [1 - ns / 1e7 for ns in saved]
            measured = {"program": program(wastes=["unused"]), "recorded": 1e7, "gpu": True,
                        **drawn.fixed_of([[1e7] * len(saved), [share * 1e7 for share in shares]])}
            return drawn.compare(measured, report)
        judged = close(2.15e6, 2e6, 2e6, 2.5e6)
        self.assertEqual((judged["near"], judged["close"], judged["measured_close"]), (True, True, [False, False, False]))
        judged = close(2.25e6, 2e6, 2e6, 2.1e6)
        self.assertEqual((judged["near"], judged["close"], judged["measured_close"]), (True, False, [True] * 3))
        self.assertEqual((close(0.95e5, 0, 0, 0)["close"], close(1.05e5, 0, 0, 0)["close"]), (True, False))
        self.assertEqual(drawn.closeness([judged, {"quiet": True}]),
                         ["within 10 % of what was saved, or 1 % of the run: predicted 0 of 1; one process beside the median of the others 3 of 3"])
        self.assertEqual(drawn.closeness([{"near": True}]), [])

    def test_clean_or_not(self):
        """More streams make a program without wastes faster by all processes: it has one; by some: that is not decided."""
        saving = {"low": 1e-3, "likely": 2e-3, "high": 3e-3}
        report = {"findings": [], "whatif": {"set_saving_s": saving, "phases": [], "why_not": None}}
        def decided(*saved):
            shares = [1 - ns / 1e8 for ns in saved]
            measured = {"program": program(), "recorded": 1e8, "gpu": True,
                        **drawn.fixed_of([[1e8] * len(saved), [share * 1e8 for share in shares]])}
            judged = drawn.compare(measured, report)
            return judged["wastes"], judged.get("quiet"), judged.get("undecided", False)
        self.assertEqual(decided(2e6, 4e6, 3e6), (["few"], None, False))
        self.assertEqual(decided(0, 4e6, 3e6), ([], None, True))
        self.assertEqual(decided(0, 0.9e6, -1e6), ([], False, False))

    def test_clean(self):
        """A program without wastes is measured only where something is advised for it; else it is not said how well it was replayed."""
        judged = self.lab.predict(*self.lab.measure_clean(program()))
        self.assertEqual((judged.get("quiet"), "replay" in judged), (True, False))
        self.assertTrue(drawn.json.loads((self.folder / "1.json").read_text())["unmeasured"])
        with unittest.mock.patch.object(self.lab, "predict", lambda *_: {"quiet": False}):
            measured, _ = self.lab.measure_clean(program())
        self.assertNotIn("unmeasured", measured)
        self.assertEqual(len(measured["times"]), 1 + len(drawn.schedule.fixed_forms(program(), drawn.STREAMS)))

    def test_again(self):
        """What --keep kept is analysed again, to the same end."""
        predicted = self.lab.predict(*self.lab.measure(program(wastes=["device-wait"])))
        kept = drawn.json.loads((self.folder / "1.json").read_text())
        self.assertEqual(self.lab.predict(kept, self.folder / "1.xft"), predicted)
        done = subprocess.run([sys.executable, HERE / "random", BUILD, "--again", self.folder], capture_output=True, text=True,
                              check=False)
        self.assertIn("| device-wait | 1 |", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
