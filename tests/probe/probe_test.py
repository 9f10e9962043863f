#!/usr/bin/env python3
"""The probe as its users meet it: on a driver whose every figure is known, and on ones that fail.

usage: probe_test.py PROBE FAKE_DRIVER_FOLDER MODEL_HEADER SCHEMA [unittest options]
"""
import csv
import io
import json
import fcntl
import os
import pty
import re
import resource
import struct
import subprocess
import termios
import sys
import tempfile
import unittest

import jsonschema

PROBE, DRIVER, MODEL, SCHEMA = sys.argv[1:5]
# explicit copies are what the fake driver knows; a test's own --filter comes later and counts
SMALL = ["--sizes", "64:1M", "--time-limit", "20", "--filter", "^copy/"]


def probe(*options, fault="", driver=DRIVER, before=None):
    environment = dict(os.environ, LD_LIBRARY_PATH=driver, FAKE_CUDA_FAULT=fault)
    return subprocess.run([PROBE, *options], env=environment, capture_output=True, text=True,
                          timeout=120, preexec_fn=before)


def measured(*options, fault="", status=0):
    """The profile that a run prints."""
    run = probe(*options, "--format", "json", fault=fault)
    if run.returncode != status:
        raise AssertionError(f"status {run.returncode}: {run.stderr}")
    return json.loads(run.stdout), run


def read(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def models():
    """The fake driver's paths: name to (L+o, g, G)."""
    found = re.findall(r"fake_(\w+) = \{([^}]*)\}", read(MODEL))
    return {name: [float(x) for x in numbers.split(",")] for name, numbers in found}


def model_of(path):
    word = path["name"].split("/")
    Lo, g, G = models()[{"peer": "peer", "no-peer": "no_peer"}.get(word[1], word[2])]
    place = re.fullmatch(r"node(\d)-gpu(\d)", word[3])
    far = int(re.search(r"FAKE_REMOTE_NS = (\d+)", read(MODEL))[1])
    if place and place[1] != place[2]:
        Lo, g = Lo + far, g + far
    return Lo, g, G


class KnownMachine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.profile, cls.run_ = measured(*SMALL)

    def test_every_figure_is_the_drivers(self):
        for path in self.profile["paths"]:
            Lo, _, G = model_of(path)
            self.assertEqual([p["bytes"] for p in path["points"]],
                             [64 << i for i in range(15)], path["name"])
            for point in path["points"]:
                expected = Lo + G * point["bytes"]
                gated = "pageable" not in path["name"] and "no-peer" not in path["name"]
                # without the gate the copy is submitted 100 ns after the first event
                slack = 0.001 * expected + (0 if gated else 100)
                self.assertLess(abs(point["median_ns"] - expected), slack,
                                (path["name"], point["bytes"]))
                self.assertGreaterEqual(point["n"], 6)
                self.assertEqual(point["host_ns"], 100)

    def test_the_fit_finds_the_model(self):
        for path in self.profile["paths"]:
            Lo, g, G = model_of(path)
            fit = path["fit"]
            if "pageable" in path["name"] or "no-peer" in path["name"]:
                continue
            if G * (1 << 20) < Lo:  # nowhere in these sizes do bytes make the time: no fit
                self.assertIsNone(fit, path["name"])
                continue
            self.assertLess(abs(fit["Lo_ns"] / Lo - 1), 0.01, path["name"])
            self.assertLess(abs(fit["g_ns"] / g - 1), 0.02, path["name"])
            self.assertLess(abs(fit["G_ns_per_byte"] / G - 1), 0.01, path["name"])
            self.assertLess(fit["max_error"], 0.01)

    def test_blocking_times_are_a_callers(self):
        for path in self.profile["paths"]:
            self.assertEqual(path["blocking"], path["direction"] in ("H2D", "D2H"))
            for point in path["points"]:
                if path["blocking"]:
                    Lo, _, G = model_of(path)
                    expected = Lo + G * point["bytes"] + 100
                    self.assertLess(abs(point["blocking_ns"] - expected), 2)
                    self.assertLessEqual(point["blocking_ci_low_ns"], point["blocking_ns"])
                    self.assertGreaterEqual(point["blocking_ci_high_ns"], point["blocking_ns"])
                else:
                    self.assertIsNone(point["blocking_ns"])

    def test_every_pair_of_places_is_there(self):
        names = {p["name"] for p in self.profile["paths"]}
        for gpu in (0, 1):
            self.assertIn(f"copy/device/d2d/gpu{gpu}", names)
            for memory in ("pageable", "pinned", "write-combined", "registered"):
                for way in ("h2d", "d2h"):
                    for node in (0, 1):
                        self.assertIn(f"copy/{memory}/{way}/node{node}-gpu{gpu}", names)
        for access in ("peer", "no-peer"):
            for pair in ("gpu0-gpu1", "gpu1-gpu0"):
                self.assertIn(f"copy/{access}/p2p/{pair}", names)

    def test_the_profile_keeps_to_its_schema(self):
        schema = json.loads(read(SCHEMA))
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(self.profile, schema)
        broken = json.loads(json.dumps(self.profile))
        broken["paths"][0]["points"][0]["bytes"] = -1
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema)

    def test_a_simulated_machine_is_called_so(self):
        self.assertTrue(self.profile["machine"]["simulated"])
        self.assertTrue(any("simulated" in w for w in self.profile["warnings"]))

    def test_nothing_is_said_on_stderr(self):
        self.assertEqual(self.run_.stderr, "")


class Options(unittest.TestCase):
    def test_usage_errors_are_one_line_and_2(self):
        for options in (["--sizes", "4"], ["--sizes", "8:4"], ["--sizes", "0:4"],
                        ["--sizes", "4:8X"], ["--sizes", "1:99999999G"], ["--format", "xml"],
                        ["--device", "x"], ["--device", "-1"], ["--time-limit", "nan"],
                        ["--time-limit", "-3"], ["--sizes", "100:120"],
                        ["--quick", "--sizes", "128:128"], ["--bogus"], ["extra"], ["-o", ""],
                        ["--filter", "["], ["--filter", "("], ["--filter", ""], ["--list", "--filter", "a{1"],
                        ["--compare", "a.json", "b.json", "--filter", "["], ["--compare", "a.json", ""],
                        ["--device", ""], ["--device", " 1"], ["--sizes", ""], ["--sizes", "-4:8"],
                        ["--time-limit", ""], ["--time-limit", "0"], ["--format", ""]):
            run = probe(*options)
            self.assertEqual(run.returncode, 2, options)
            self.assertEqual(run.stderr.count("\n"), 1, (options, run.stderr))

    def test_requests_nothing_can_answer(self):
        for options, says in ((["--filter", "nosuch"], "no benchmark matches"),
                              (["--device", "7"], "2 GPU(s)")):
            run = probe(*options)
            self.assertEqual(run.returncode, 1, options)
            self.assertIn(says, run.stderr)

    def test_list_names_what_filter_selects(self):
        everything = probe("--list").stdout.splitlines()
        some = probe("--list", "--filter", "^copy/pinned/", "--device", "1").stdout.splitlines()
        self.assertGreater(len(everything), len(some))
        self.assertTrue(some)
        for line in some:
            self.assertRegex(line, r"^copy/pinned/\w+/\S*gpu1 +\w")
        profile, _ = measured("--sizes", "64:128", "--filter", "^copy/pinned/", "--device", "1")
        self.assertEqual([p["name"] for p in profile["paths"]], [s.split()[0] for s in some])

    def test_what_does_not_apply_is_one_line_each(self):
        """This driver knows neither managed memory nor batches."""
        run = probe("--list")
        self.assertEqual(run.returncode, 0)
        said = [re.fullmatch(r"xferscope probe: (\S+) does not apply: (it needs \w.*|no size .*)", line)
                for line in run.stderr.splitlines()]
        self.assertTrue(all(said), run.stderr)
        absent = {match[1] for match in said}
        self.assertLessEqual({"demand", "prefetch", "demand-both", "fault", "shape"}, absent)
        self.assertFalse(absent & {"host-device", "peer-copy", "alloc", "concurrent"})
        for options in (["--quiet"], ["--filter", "copy"], ["--device", "0"]):
            self.assertEqual(probe("--list", *options).stderr, "", options)

    def test_a_file_that_cannot_be_is_said_before_measuring(self):
        run = probe("-o", "/nonexistent/m.json", "--sizes", "64:1M")
        self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (1, "", 1))

    @unittest.skipIf(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") > 3 << 36,
                     "this machine has memory for the largest size that can be asked for")
    def test_sizes_beyond_the_memory_are_refused(self):
        run = probe("--sizes", "64:64G", "--filter", "d2d/gpu0", "--format", "csv")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("not enough memory", run.stderr)

    def test_quick_takes_every_second_size(self):
        profile, _ = measured("--quick", "--sizes", "64:4K", "--filter", "d2d/gpu0")
        self.assertEqual([p["bytes"] for p in profile["paths"][0]["points"]],
                         [64, 256, 1024, 4096])

    def test_csv_has_a_row_per_point(self):
        run = probe("--sizes", "64:128", "--filter", "^copy/pinned/.*gpu0", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(run.stdout)))
        self.assertEqual(len(rows), 12)  # two ways, two nodes and none, two sizes
        for row in rows:
            expected = int(row["bytes"]) / float(row["median_ns"])
            self.assertLess(abs(float(row["gbps"]) / expected - 1), 1e-4)

    def test_text_names_the_paths_and_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "m.json")
            run = probe("--sizes", "64:1M", "--filter", "copy/pinned/h2d", "-o", name)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("copy/pinned/h2d", run.stdout)
            self.assertIn("SIMULATED", run.stdout)
            self.assertIn(name, run.stdout)
            self.assertEqual(json.loads(read(name))["schema"],
                             "xferscope-profile")
            self.assertEqual(os.listdir(folder), ["m.json"])

    def test_progress_is_for_terminals(self):
        """What, how far, how long still: on stderr, when that is one."""
        ours, theirs = pty.openpty()
        environment = dict(os.environ, LD_LIBRARY_PATH=DRIVER, FAKE_CUDA_FAULT="")
        with subprocess.Popen([PROBE, "--sizes", "64:1K", "--filter", "^copy/pinned/.*gpu0",
                               "--format", "csv"], env=environment, stdout=subprocess.DEVNULL,
                              stderr=theirs) as run:
            os.close(theirs)
            said = b""
            try:
                while more := os.read(ours, 65536):
                    said += more
            except OSError:
                pass  # the other end is closed
        os.close(ours)
        self.assertEqual(run.returncode, 0)
        self.assertRegex(said.decode(), r"6 of 6: copy/pinned/d2h/gpu0 1 KiB, about \d+ s left")
        self.assertEqual(probe("--sizes", "64:1K", "--filter", "^copy/pinned/.*gpu0", "--format",
                               "csv").stderr, "")

    def shown(self, columns):
        """The report on a terminal of so many columns."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = dict(os.environ, LD_LIBRARY_PATH=os.path.abspath(DRIVER), FAKE_CUDA_FAULT="")
        with tempfile.TemporaryDirectory() as folder:
            with subprocess.Popen([os.path.abspath(PROBE), "--sizes", "64:1K", "--filter", "^copy/pinned/.*gpu0"],
                                  env=environment, cwd=folder, stdout=theirs, stderr=subprocess.DEVNULL) as run:
                os.close(theirs)
                said = b""
                try:
                    while more := os.read(ours, 65536):
                        said += more
                except OSError:
                    pass  # the other end is closed
        os.close(ours)
        self.assertEqual(run.returncode, 0)
        return said.decode().replace("\r", "").splitlines()

    def test_is_as_wide_as_the_terminal(self):
        """Columns are left out, and it is said; names and bandwidth stay."""
        for columns, left_out in ((60, 6), (80, 4), (200, 0)):
            lines = self.shown(columns)
            head = next(line for line in lines if line.startswith("benchmark"))
            body = lines[lines.index(head):]
            notes = [line for line in body if "left out" in line]
            self.assertEqual(len(notes), left_out > 0, lines)
            if notes:
                self.assertIn(f"({left_out} columns left out", notes[0])
            self.assertIn("best GB/s", head)
            table = [head, *(line for line in body if line.startswith("copy/"))]
            self.assertEqual(len(table), 7)
            legend = lines[next(i for i, line in enumerate(lines) if line.startswith("Times are")):lines.index(head)]
            self.assertLessEqual(max(map(len, [*table, *legend])), columns)

    def test_says_how_long_it_will_take(self):
        ours, theirs = pty.openpty()
        environment = dict(os.environ, LD_LIBRARY_PATH=DRIVER, FAKE_CUDA_FAULT="")
        with subprocess.Popen([PROBE, "--sizes", "64:1K", "--filter", "^copy/pinned/.*gpu0", "--format", "csv"],
                              env=environment, stdout=subprocess.DEVNULL, stderr=theirs) as run:
            said = os.read(ours, 65536)
            os.close(theirs)
            try:
                while os.read(ours, 65536):
                    pass
            except OSError:
                pass
        os.close(ours)
        self.assertEqual(run.returncode, 0)
        self.assertRegex(said.decode(), r"^xferscope probe: 6 benchmarks of the simulated GPU: as long as")

    def test_quiet_is_quiet(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "m.json")
            run = probe("--sizes", "64:64", "--filter", "d2d/gpu0", "--quiet", "-o", name)
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
            self.assertTrue(os.path.exists(name))

    def test_a_profile_that_cannot_be_written_is_a_failure(self):
        for name in ("/nonexistent/m.json", "/dev/full", "/"):
            run = probe("--sizes", "64:64", "--filter", "d2d/gpu0", "-o", name)
            self.assertEqual(run.returncode, 1, name)
            self.assertIn(name, run.stderr)


class Faults(unittest.TestCase):
    def fails(self, fault, says, status=1, options=(), before=None):
        run = probe(*SMALL, "--format", "json", *options, fault=fault, before=before)
        self.assertEqual(run.returncode, status, (fault, run.stderr))
        self.assertIn(says, run.stderr)
        return run

    def test_no_driver(self):
        with tempfile.TemporaryDirectory() as folder:
            # what is none hides the driver that this machine may have
            with open(os.path.join(folder, "libcuda.so.1"), "w") as file:
                file.write("no library")
            run = probe(driver=folder)
        self.assertIn("no driver", run.stderr)
        self.assertEqual((run.returncode, run.stderr.count("\n")), (1, 1))

    def test_no_gpu(self):
        self.assertEqual(self.fails("no-device", "no GPU").stderr.count("\n"), 1)

    def test_a_busy_gpu_is_said_once(self):
        run = self.fails("busy", "busy: another process", options=["--filter", "^copy/pinned.*gpu0"])
        self.assertEqual(run.stderr.count("busy"), 1)

    def test_memory_that_cannot_be_pinned(self):
        run = self.fails("no-pin", "cannot pin", status=3,
                         options=["--sizes", "64:4M", "--filter", "^copy/pinned/h2d.*gpu0"])
        points = json.loads(run.stdout)["paths"][0]["points"]
        self.assertEqual(points[-1]["bytes"], 1 << 20)

    def test_a_limit_on_locked_memory_is_named(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, 64 << 10))
        options = ["--sizes", "64:4M", "--filter", "^copy/pinned/h2d.*gpu0"]
        run = self.fails("no-pin", "ulimit -l", status=3, options=options, before=limit)
        self.assertEqual(run.stderr.count("\n"), 1)
        # what works in spite of it is no matter: CUDA's pinned memory does not count against it
        run = probe(*SMALL, *options, "--format", "json", before=limit)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_a_small_gpu_is_measured_as_far_as_it_goes(self):
        run = self.fails("small", "measured up to 1048576 bytes only: cannot allocate", status=3,
                         options=["--sizes", "64:4M", "--filter", "^copy/(pinned|device)/.*gpu0"])
        self.assertEqual(run.stderr.count("\n"), 1)
        for path in json.loads(run.stdout)["paths"]:
            self.assertEqual(path["points"][-1]["bytes"], 1 << 20)

    def test_a_gpu_that_others_fill_is_a_warning(self):
        profile, run = measured(*SMALL, "--filter", "^copy/pinned.*gpu[01]$", fault="crowded")
        said = [w for w in profile["warnings"] if "64 of 1024 MiB of its memory are free" in w]
        self.assertEqual(sorted(w[:5] for w in said), ["GPU 0", "GPU 1"])
        self.assertEqual(run.stderr, "")

    def test_a_gpu_lost_on_the_way_keeps_what_was_measured(self):
        run = self.fails("lost", "FAKE_ERROR", status=3)
        self.assertLess(run.stderr.count("\n"), 6)  # one line for a failure, not one a benchmark
        profile = json.loads(run.stdout)
        self.assertGreaterEqual(len(profile["paths"]), 1)
        jsonschema.validate(profile, json.loads(read(SCHEMA)))

    def test_a_wrong_byte_is_an_error_and_no_number(self):
        run = self.fails("corrupt", "wrong data after a copy of 4096 bytes: byte 4095", status=3)
        for path in json.loads(run.stdout)["paths"]:
            self.assertEqual([p["bytes"] for p in path["points"]], [64 << i for i in range(6)])
        self.assertEqual(probe(*SMALL, "--quiet", "--format", "json", "--no-verify",
                               fault="corrupt").returncode, 0)

    def test_without_kernels_g_is_not_known(self):
        profile, _ = measured(*SMALL, "--filter", "^copy/pinned", fault="no-kernels")
        for path in profile["paths"]:
            self.assertIsNone(path["fit"]["g_ns"])
        self.assertTrue(any("g is not known" in w for w in profile["warnings"]))

    def test_a_gate_that_gives_up_is_not_measured_with(self):
        profile, _ = measured(*SMALL, "--filter", "^copy/pinned/.*gpu0", fault="late-gate")
        self.assertTrue(any("without the gate" in w for w in profile["warnings"]))
        for path in profile["paths"]:
            self.assertIsNone(path["fit"]["g_ns"])
            Lo, _, G = model_of(path)
            for p in path["points"]:
                self.assertLess(abs(p["median_ns"] - Lo - G * p["bytes"]), 100 + 0.001 * Lo)

    def test_interrupting_keeps_what_was_measured(self):
        run = self.fails("interrupt", "", status=3)
        profile = json.loads(run.stdout)
        self.assertGreaterEqual(len(profile["paths"]), 1)
        self.assertTrue(any("interrupted" in w for w in profile["warnings"]))
        jsonschema.validate(profile, json.loads(read(SCHEMA)))

    def test_a_clock_too_coarse_gives_no_figures(self):
        self.fails("host-only-events", "too short", options=["--filter", "^copy/"])

    def test_the_time_limit_ends_the_run(self):
        run = self.fails("", "time limit is over", status=3,
                         options=["--time-limit", "0.000001", "--filter", "^copy/(pinned|device)"])
        self.assertEqual(run.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
