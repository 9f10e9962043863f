"""Programs and libraries that do what the recorder does, or do it otherwise: the program goes on as
it would alone, and what can be recorded is."""
import unittest
from pathlib import Path

from illness import ILL, SIMGPU, check_log, preload_environment, log_file
from lab import Bench, environment, moved, own_lines, report, run, sanitizer_runtime

SYSTEM = Path("/usr/lib/x86_64-linux-gnu")
ALLOCATORS = ("libjemalloc.so.2", "libtcmalloc_minimal.so.4")


class Strangers(Bench):
    def storm(self, threads=4, copies=2000, **options):
        """Runs storm under the recorder and compares its trace with its log."""
        log = log_file(self.folder)
        libraries = options.pop("libraries", ())
        first = options.pop("first", ())
        env = preload_environment(
            libraries, first, XFERSCOPE_OUTPUT=str(self.folder / "run.xft"), **options
        )
        result = run([ILL / "storm", log, str(threads), "done", str(copies)], env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.decode(), f"{threads} threads, {copies} copies each\n")
        self.assertEqual(check_log(self, self.folder / "run.xft", log, "exact"), threads * copies)
        return result

    @unittest.skipIf(sanitizer_runtime(), "the sanitizer is an allocator itself")
    def test_allocators(self):
        for name in ALLOCATORS:
            for place in ("libraries", "first"):
                with self.subTest(allocator=name, place=place):
                    if not (SYSTEM / name).exists():
                        self.skipTest(f"{name} is not installed")
                    result = self.storm(**{place: [SYSTEM / name]})
                    self.assertEqual(result.stderr, b"")
                    for trace in self.traces("run.xft"):
                        trace.unlink()

    def test_other_zstd(self):
        path = f"{ILL / 'fake_zstd'}:{SIMGPU}"
        result = self.storm(LD_LIBRARY_PATH=path)
        lines = own_lines(result.stderr)
        self.assertEqual(len(lines), 1)
        self.assertIn("libzstd.so.1 does not work", lines[0])

    def both_ways(self, *command):
        """The program alone and under the recorder; the copies each way that were recorded."""
        bare = run(command, cwd=self.folder, env=environment())
        env = preload_environment(XFERSCOPE_OUTPUT=str(self.folder / "run.xft"))
        under = run(command, cwd=self.folder, env=env)
        self.assertEqual(bare.returncode, 0, bare.stdout)
        self.assertEqual(
            (under.returncode, under.stdout, under.stderr), (0, bare.stdout, bare.stderr)
        )
        if not (self.folder / "run.xft").exists():
            return None
        return moved(report(self.folder / "run.xft"))

    def plugin(self, how):
        return self.both_ways(ILL / "loader", ILL / "plugin" / "plugin.so", how)

    def test_plugin(self):
        self.assertEqual(self.plugin("local"), {"H2D": (25, 25 * 512)})

    # In the next three the recorder may have no say in what names are bound to
    # (docs/interception.md, what is not caught); sanitizers do not support the first two at all.
    @unittest.skipIf(sanitizer_runtime(), "the sanitizer refuses RTLD_DEEPBIND")
    def test_deepbind(self):
        self.assertIn(self.plugin("deepbind"), (None, {"H2D": (25, 25 * 512)}))

    @unittest.skipIf(sanitizer_runtime(), "the sanitizer cannot be loaded twice")
    def test_another_namespace(self):
        self.assertIn(self.plugin("newlm"), (None, {"H2D": (25, 25 * 512)}))

    def test_own_dlsym(self):
        for how in ("dlsym", "address2"):
            with self.subTest(how=how):
                sums = self.both_ways(ILL / "own_dlsym", how)
                if sums is not None:
                    self.assertEqual(sums["H2D"][0], 4)


if __name__ == "__main__":
    unittest.main()
