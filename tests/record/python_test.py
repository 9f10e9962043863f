"""Python frames in stacks, compared with what the interpreter says of itself.

usage: python_test.py PYTHON HARNESS XFERSCOPE FINISH
PYTHON is the interpreter that runs the recorded program; FINISH completes a dead process's file.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SUBJECT = os.path.join(HERE, "python_subject.py")
LIMIT_S = 300  # only ends what hangs


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.run_folder = os.path.join(self.folder, "run.xft")
        self.expected = os.path.join(self.folder, "expected")

    def subject(self, mode, status=0, **settings):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("XFERSCOPE_") or k == "XFERSCOPE_CHECKS"}
        environment.update(XFERSCOPE_OUTPUT=self.run_folder, PYTHONDONTWRITEBYTECODE="1",
                           PYTHONWARNINGS="ignore", **settings)
        runtime = os.environ.get("XFERSCOPE_ASAN_RUNTIME")
        if runtime:
            environment["LD_PRELOAD"] = runtime
            environment["ASAN_OPTIONS"] = "detect_leaks=0:verify_asan_link_order=0"
            environment["PYTHONMALLOC"] = "malloc"
        done = subprocess.run(
            [PYTHON, SUBJECT, HARNESS, self.expected, mode],
            env=environment, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=LIMIT_S)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.assertEqual(done.stderr.decode(), "")

    def traces(self):
        return sorted(glob.glob(os.path.join(self.run_folder, "*.trace")))

    def dump(self, trace, statuses=(0,)):
        """META, frames by call number, of one file."""
        command = [XFERSCOPE, "dump", trace, "--format", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT_S)
        self.assertIn(done.returncode, statuses, done.stderr.decode())
        meta, stacks, calls = {}, {}, {}
        for line in done.stdout.decode("utf-8").splitlines():
            item = json.loads(line)
            if item["type"] == "meta":
                meta[item["key"]] = item["value"]
            elif item["type"] == "stack":
                stacks[item["id"]] = item["frames"]
            elif item["type"] == "event":
                calls[item["bytes"]] = stacks.get(item["stack"])
        return meta, calls

    def check_calls(self, calls, expected):
        """Every call's Python frames are those that the program saw; native ones come before, none
        of the interpreter's own."""
        self.assertGreater(len(expected), 10)
        self.assertEqual(len(calls), len(expected))
        for number, wanted in expected.items():
            frames = calls[int(number)]
            python = [f for f in frames if f["module"] == "python"]
            native = frames[: len(frames) - len(python)]
            seen = [[f["function"], f["file"], f["line"]] for f in python]
            self.assertEqual(seen, [self.shown(frame) for frame in wanted], f"call {number}")
            self.assertEqual(frames[len(native):], python, "Python frames are not the last ones")
            self.assertTrue(any("_ctypes" in (f["module"] or "") for f in native))
            for frame in native:
                name = os.path.basename(frame["module"] or "")
                self.assertFalse(name.startswith(("python3", "libpython")), name)

    @staticmethod
    def shown(frame):
        """As the recorder keeps it, its end; bytes that are no UTF-8 are U+FFFD to both."""
        function, file, line = frame
        return [function, file[-1024:], line]

    def expectation(self, suffix=""):
        with open(self.expected + suffix, encoding="utf-8") as file:
            return json.load(file)

    def check_one(self, trace, suffix=""):
        meta, calls = self.dump(trace)
        self.assertEqual(meta["python.frames"], "on")
        self.check_calls(calls, self.expectation(suffix))

    # ---- the tests -----------------------------------------------------------------------------

    def test_places(self):
        self.subject("places")
        (trace,) = self.traces()
        self.check_one(trace)

    def test_killed(self):
        """Names are in the file while it is written, and stay when it is completed."""
        self.subject("kill", status=-9)
        (trace,) = self.traces()
        self.check_one(trace)
        before = self.dump(trace)[1]
        subprocess.run([FINISH, trace], check=True, timeout=LIMIT_S)
        self.assertEqual(self.dump(trace)[1], before)
        size = os.path.getsize(trace)
        subprocess.run([FINISH, trace], check=True, timeout=LIMIT_S)
        self.assertEqual(os.path.getsize(trace), size)

    def test_named_later(self):
        """The recorder named only the Python frames."""
        self.subject("kill", status=-9, XFERSCOPE_SYMBOLS="0")
        (trace,) = self.traces()
        subprocess.run([FINISH, trace], check=True, timeout=LIMIT_S)
        self.check_one(trace)
        for frames in self.dump(trace)[1].values():  # completion the others
            self.assertTrue(any(frame["function"] for frame in frames if frame["module"] != "python"))

    @unittest.skipIf(os.environ.get("XFERSCOPE_ASAN_RUNTIME"),
                     "the address sanitizer's allocator may be locked for ever in a forked child")
    def test_fork(self):
        self.subject("fork")
        traces = self.traces()
        self.assertEqual(len(traces), 2)
        for trace in traces:
            calls = self.dump(trace)[1]
            suffix = "" if 1 in calls else ".child"
            self.check_one(trace, suffix)

    def test_daemons(self):
        """Threads that make calls while the interpreter goes away."""
        for _ in range(10):
            self.subject("daemons")
            for trace in self.traces():
                self.dump(trace, statuses=(0, 3))  # 3: made before the unwinder was loaded
                os.unlink(trace)

    def test_short_stacks(self):
        self.subject("kill", status=-9, XFERSCOPE_STACK_DEPTH="2")
        (trace,) = self.traces()
        _, calls = self.dump(trace)
        expected = self.expectation()
        self.assertEqual(len(calls), len(expected))
        for number, frames in calls.items():
            python = [[f["function"], f["file"], f["line"]] for f in frames
                      if f["module"] == "python"]
            self.assertEqual(python, expected[str(number)][:2])
            self.assertLessEqual(len({f["address"] for f in frames}), 4)

    def test_stacks_off(self):
        self.subject("kill", status=-9, XFERSCOPE_STACKS="0")
        (trace,) = self.traces()
        meta, calls = self.dump(trace)
        self.assertNotIn("python.frames", meta)
        self.assertFalse(any(calls.values()))


if __name__ == "__main__":
    PYTHON, HARNESS, XFERSCOPE, FINISH = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1])
