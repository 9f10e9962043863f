"""Threads under a seccomp filter that kills: the recorder makes no system call in them that the
program does not make, and loses nothing.

The same on a machine with a GPU, with NVIDIA's driver instead of the simulated one, which has to be
allowed what it needs (XFERSCOPE_ALLOW): XFERSCOPE_BUILD=BUILD XFERSCOPE_REAL_GPU=1
XFERSCOPE_ALLOW="ioctl futex sched_yield" PYTHONPATH=tests/e2e python3 tests/unbreakable/test_sandboxes.py"""
import os
import unittest

from illness import ILL, preload_environment
from lab import Bench, environment, moved, own_lines, report, run, sanitizer_runtime

REAL = os.environ.get("XFERSCOPE_REAL_GPU") == "1"
ALLOW = os.environ.get("XFERSCOPE_ALLOW", "").split()
COPIES, FEWER = 100000, 20000  # each of them from a new place
BEFORE = 10


def with_driver(env):
    if REAL:
        env.pop("LD_LIBRARY_PATH", None)
    return env


@unittest.skipIf(sanitizer_runtime(), "sanitizers call the kernel themselves")
class Sandboxes(Bench):
    def check(self, how, where, copies=COPIES, **settings):
        command = [ILL / "sandbox", how, where, copies, *(ALLOW if how != "strict" else [])]
        alone = run(command, env=with_driver(environment()))
        if REAL and alone.returncode != 0:
            self.skipTest("the driver needs more")
        self.assertEqual((alone.returncode, alone.stdout), (0, b"done\n"), alone.stderr)
        env = preload_environment(
            XFERSCOPE_OUTPUT=str(self.folder / "run.xft"), XFERSCOPE_TIMING="host", XFERSCOPE_SYMBOLS="0", **settings
        )
        result = run(command, env=with_driver(env))
        self.assertEqual((result.returncode, result.stdout), (0, b"done\n"), result.stderr)
        self.assertEqual(own_lines(result.stderr), [])
        document = report(self.folder / "run.xft")
        losses = document["run"]["processes"][0]["losses"]
        expected = copies + BEFORE * (2 if where == "same" else 1)
        self.assertEqual(moved(document)["H2D"][0], expected)
        self.assertEqual((losses["events_not_stored"], losses["stacks_not_stored"]), (0, 0))

    def test_filter(self):
        self.check("kill", "same")

    def test_filter_before_the_first_copy(self):
        self.check("kill", "new", FEWER)

    def test_filter_until_the_end(self):
        self.check("kill", "main")

    def test_filter_without_stacks(self):
        self.check("kill", "same", FEWER, XFERSCOPE_STACKS="0")

    def test_strict(self):
        self.check("strict", "same")

    def test_strict_before_the_first_copy(self):
        self.check("strict", "new", FEWER)


if __name__ == "__main__":
    unittest.main()
