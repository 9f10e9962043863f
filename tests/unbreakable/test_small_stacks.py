"""Threads and signal handlers with little stack: the recorder takes next to nothing of it.

The same on a machine with a GPU, with NVIDIA's driver instead of the simulated one:
XFERSCOPE_BUILD=BUILD XFERSCOPE_REAL_GPU=1 PYTHONPATH=tests/e2e python3 tests/unbreakable/test_small_stacks.py"""
import os
import unittest

from illness import ILL, LIBRARY, preload_environment
from lab import Bench, environment, moved, own_lines, report, run, sanitizer_runtime

REAL = os.environ.get("XFERSCOPE_REAL_GPU") == "1"
MOST = 2048  # bytes of the caller's stack, beyond what the driver takes alone
SETTINGS = (
    {},
    {"XFERSCOPE_STACKS": "0"},
    {"XFERSCOPE_TIMING": "host"},
    {"XFERSCOPE_TIMING": "event"},
    {"XFERSCOPE_CONTENT": "whole"},
    {"XFERSCOPE_BUFFER": "1M"},
)
THREAD_COPIES = 2000
HANDLER_COPIES = 2000


def with_driver(env):
    """The driver that is meant."""
    if REAL:
        env.pop("LD_LIBRARY_PATH", None)
        env["XFERSCOPE_SYMBOLS"] = "0"  # its libraries may be missing there, which is said
    return env


class SmallStacks(Bench):
    def bare(self, *arguments, **settings):
        return run([ILL / "small_stack", *arguments], env=with_driver(environment(**settings)))

    def recorded(self, *arguments, **settings):
        env = preload_environment(XFERSCOPE_OUTPUT=str(self.folder / "run.xft"), **settings)
        result = run([ILL / "small_stack", *arguments], env=with_driver(env))
        self.assertEqual((result.returncode, own_lines(result.stderr)), (0, []), result.stderr)
        return result

    def used(self, result):
        return {name: int(taken) for name, taken in (line.split() for line in result.stdout.decode().splitlines())}

    @unittest.skipIf(sanitizer_runtime(), "frames are larger there")
    def test_no_more_than_bare(self):
        other = "libm.so.6"  # that NVTX looks into just the same
        alone = self.used(self.bare("measure", NVTX_INJECTION64_PATH=other))
        self.assertGreater(alone["copy"], 0)
        for settings in SETTINGS:
            with self.subTest(settings=settings):
                used = self.used(self.recorded("measure", NVTX_INJECTION64_PATH=str(LIBRARY), **settings))
                self.assertEqual(list(used), list(alone))
                more = {name: used[name] - alone[name] for name in used if used[name] > alone[name] + MOST}
                if REAL and "XFERSCOPE_TIMING" not in settings:
                    more.pop("stream", None)  # what CUPTI itself does as a stream is made: 13 KB
                self.assertEqual(more, {})
                for trace in self.traces("run.xft"):
                    trace.unlink()

    def copies(self, expected, *arguments, stacks_lost=0):
        """Every copy is recorded; the stacks that are not are counted."""
        if self.bare(*arguments).returncode != 0:
            self.skipTest("not enough for the driver alone")
        for settings in SETTINGS:
            with self.subTest(settings=settings):
                self.recorded(*arguments, **settings)
                document = report(self.folder / "run.xft")
                losses = document["run"]["processes"][0]["losses"]
                self.assertEqual((moved(document)["H2D"][0], losses["events_not_stored"]), (expected, 0))
                lost = 0 if settings.get("XFERSCOPE_STACKS") == "0" else stacks_lost
                self.assertEqual(losses["stacks_not_stored"], lost)
                for trace in self.traces("run.xft"):
                    trace.unlink()

    @unittest.skipIf(sanitizer_runtime(), "frames are larger there")
    def test_threads(self):
        for size in (16 << 10, 20 << 10, 32 << 10):
            with self.subTest(size=size):
                self.copies(4 * THREAD_COPIES, "threads", str(size), str(THREAD_COPIES))

    @unittest.skipIf(sanitizer_runtime(), "frames are larger there")
    def test_handler(self):
        """On an alternate stack: without call stacks, since the work may not leave it."""
        self.copies(HANDLER_COPIES, "handler", str(HANDLER_COPIES), stacks_lost=HANDLER_COPIES)


if __name__ == "__main__":
    unittest.main()
