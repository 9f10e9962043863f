"""A tree of 50 processes, made by fork, vfork, exec, posix_spawn and as daemons, with environments
built anew: each has its trace, whole, and processes that never used CUDA have none."""
import sys
import unittest
from pathlib import Path

from illness import ILL, SIMGPU, preload_environment, processes, tries
from lab import Bench, own_lines, record, run, sanitizer_runtime

PROCESSES = 50


class Family(Bench):
    def environment(self, **extra):
        if sanitizer_runtime():
            extra["FAMILY_PRELOAD"] = sanitizer_runtime()
        return preload_environment(XFERSCOPE_OUTPUT=str(self.folder / "run.xft"), **extra)

    def check_run(self):
        document = processes(self.folder / "run.xft")
        self.assertEqual(len(document["run"]["processes"]), PROCESSES)
        self.assertEqual(len(self.traces("run.xft")), PROCESSES)
        copies = {}
        for row in document["transfers"]:
            size = row["bytes"] // row["copies"]
            copies[size] = copies.get(size, 0) + row["copies"]
        total = sum(row["copies"] for row in document["transfers"])
        self.assertEqual(total, PROCESSES * (PROCESSES + 1) // 2, copies)
        moved = sum(row["bytes"] for row in document["transfers"])
        self.assertEqual(moved, sum((n + 1) * (1000 + n) for n in range(PROCESSES)))

    def test_tree(self):
        rounds = tries(1, 10)
        for _ in range(rounds):
            result = run([ILL / "family"], cwd=self.folder, env=self.environment())
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.check_run()
            for path in self.traces("run.xft"):
                self.assertEqual(path.stat().st_mode & 0o777, 0o600)
                path.unlink()
        print(f"{rounds} tries, {PROCESSES} processes each", flush=True)

    def test_not_followed(self):
        """Only what keeps the environment by itself: children by fork."""
        env = self.environment(XFERSCOPE_FOLLOW="0")
        result = run([ILL / "family"], cwd=self.folder, env=env)
        self.assertEqual(result.returncode, 0)
        forked_only = 1 + 1  # number 0, and of its children the one made by fork
        grandchildren = sum(1 for n in range(8, 50) if n % 7 == 0 and (n - 8) // 6 + 1 == 7)
        self.assertEqual(len(self.traces("run.xft")), forked_only + grandchildren)

    def test_not_without_preload(self):
        """Only processes that were started with the library pass it on."""
        script = f"LD_PRELOAD= XFERSCOPE_OUTPUT={self.folder}/run.xft exec {ILL / 'family'} 49"
        env = self.environment(XFERSCOPE_FOLLOW="0")
        result = run(["/bin/sh", "-c", script], cwd=self.folder, env=env)
        self.assertEqual(result.returncode, 0)
        self.assertFalse((self.folder / "run.xft").exists())

    def test_refusal_in_the_new_environment(self):
        for refusal in ("XFERSCOPE_FOLLOW=0", "XFERSCOPE_ENABLE=0"):
            command = ["/usr/bin/env", "-i", refusal, "/usr/bin/env"]
            result = run(command, cwd=self.folder, env=self.environment())
            self.assertEqual(result.stdout.decode().splitlines(), [refusal])

    def test_what_the_program_sets_stays(self):
        env = self.environment(XFERSCOPE_STACK_DEPTH="9")
        others = [path for path in (sanitizer_runtime(), "libm.so.6") if path]
        given = ["XFERSCOPE_OUTPUT=/other", "X=1", f"LD_PRELOAD={':'.join(others)}"]
        if sanitizer_runtime():
            given += [f"ASAN_OPTIONS={env['ASAN_OPTIONS']}"]
        command = ["/usr/bin/env", "-i", *given, "/usr/bin/env"]
        result = run(command, cwd=self.folder, env=env)
        lines = dict(line.split("=", 1) for line in result.stdout.decode().splitlines())
        self.assertEqual(lines["XFERSCOPE_OUTPUT"], "/other")
        self.assertEqual(lines["XFERSCOPE_STACK_DEPTH"], "9")
        self.assertEqual(lines["X"], "1")
        first, *rest = lines["LD_PRELOAD"].split(":")
        self.assertEqual(Path(first).name, "libxferscope.so")
        self.assertEqual(rest, others)

    def test_large_environment(self):
        """Completed too, in threads of little stack; and a vfork's child, which never comes back, leaves no
        memory behind."""
        values = [f"V{n}={'x' * 40}" for n in range(6000)]
        env = self.environment()
        own = [f"LD_PRELOAD={sanitizer_runtime()}", f"ASAN_OPTIONS={env['ASAN_OPTIONS']}"] if sanitizer_runtime() else []
        command = ["/usr/bin/env", "-i", *own, *values, "/usr/bin/env"]
        result = run(command, cwd=self.folder, env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.decode().splitlines()
        self.assertEqual([line for line in lines if line.startswith("V")], values)
        self.assertIn(f"XFERSCOPE_OUTPUT={self.folder / 'run.xft'}", lines)

    @unittest.skipIf(sanitizer_runtime(), "frames are larger there, and the children need its runtime")
    def test_large_environment_of_many(self):
        result = run([ILL / "large_environment", "many", "60"], cwd=self.folder, env=self.environment())
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(result.stdout.decode().splitlines(), ["vfork 60 0", "spawn 60 0"])

    @unittest.skipIf(sanitizer_runtime(), "the children need its runtime")
    def test_environment_as_large_as_may_be(self):
        """What would be too large for the kernel with the settings in it is passed on without them."""
        command = [ILL / "large_environment", "limit"]
        alone = run(command, cwd=self.folder)
        self.assertGreater(int(alone.stdout), 100000)
        result = run(command, cwd=self.folder, env=self.environment())
        self.assertEqual((result.returncode, result.stdout), (0, alone.stdout), result.stderr)

    def test_another_root(self):
        """Where the library cannot be loaded from, it is not asked for."""
        hidden = self.folder / "libxferscope.so"
        hidden.symlink_to(ILL.parent.parent / "lib" / "libxferscope.so")
        env = self.environment()
        env["LD_PRELOAD"] = env["LD_PRELOAD"].replace(str(ILL.parent.parent / "lib"), str(self.folder))
        script = f"rm {hidden}; exec /usr/bin/env -i /usr/bin/env"
        result = run(["/bin/sh", "-c", script], cwd=self.folder, env=env)
        self.assertNotIn(b"XFERSCOPE_OUTPUT", result.stdout)

    def workers(self, method, busy):
        """How many files there are, and the copies and bytes of the program and its five workers."""
        env = self.environment()
        script = Path(__file__).with_name("workers.py")
        result = run([sys.executable, script, method, busy], cwd=self.folder, env=env)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(result.stdout, b"[0, 1, 2, 3, 4]\n[0, -9, 0, -9, 0]\n")
        rows = processes(self.folder / "run.xft")["transfers"]
        copies = sum(row["copies"] for row in rows), sum(row["bytes"] for row in rows)
        files = len(self.traces("run.xft"))
        for path in self.traces("run.xft"):
            path.unlink()
        return files, copies

    @unittest.skipIf(sanitizer_runtime(), "the sanitizer's allocator can stay locked after fork")
    def test_workers(self):
        busy = 10 + 1 + 2 + 3 + 4 + 5, 10 * 1000 + sum((n + 1) * (2000 + n) for n in range(5))
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method):
                self.assertEqual(self.workers(method, "idle"), (1, (10, 10000)))
                self.assertEqual(self.workers(method, "busy"), (6, busy))

    @unittest.skipIf(sanitizer_runtime(), "the sanitizer's allocator can stay locked after fork")
    def test_fork_while_threads_copy(self):
        """Whatever the recorder was doing in other threads, the child begins anew."""
        children = tries(40, 400)
        env = self.environment(LD_LIBRARY_PATH=f"{ILL / 'fake_cudart'}:{SIMGPU}")
        for buffer in ("256M", "1K"):
            result = run([ILL / "forks", children], cwd=self.folder, env={**env, "XFERSCOPE_BUFFER": buffer})
            self.assertEqual((result.returncode, result.stderr), (0, b""), result.stdout)
            own = int(result.stdout.split()[0])
            copying = [n for n in range(children) if n % 3]
            rows = processes(self.folder / "run.xft")["transfers"]
            self.assertEqual(len(self.traces("run.xft")), 1 + len(copying))
            self.assertEqual(sum(row["copies"] for row in rows), own + sum(n % 7 + 1 for n in copying))
            moved = own * 64 + sum((n % 7 + 1) * (5000 + n) for n in copying)
            self.assertEqual(sum(row["bytes"] for row in rows), moved)
            for path in self.traces("run.xft"):
                path.unlink()
        print(f"{2 * children} forks while 4 threads copied: no child waits, none lacks a copy", flush=True)

    @unittest.skipIf(sanitizer_runtime(), "the sanitizer walks through the modules itself")
    def test_fork_while_modules_are_walked(self):
        """A child never gets the lock back under which the recorder walks through the loaded modules."""
        walks = ILL / "slow_walk" / "slow_walk.so"
        env = self.environment(LD_LIBRARY_PATH=f"{ILL / 'fake_cudart'}:{SIMGPU}")
        env["LD_PRELOAD"] += f":{walks}"
        result = run([ILL / "forks", 6], cwd=self.folder, env=env)
        self.assertEqual((result.returncode, result.stderr), (0, b""), result.stdout)
        self.assertEqual(len(self.traces("run.xft")), 1 + 4)

    def test_record(self):
        result = record(
            "/usr/bin/env", "-u", "LD_PRELOAD", ILL / "family", "49",
            cwd=self.folder, options=["-o", "run"],
        )
        self.assertRegex(own_lines(result.stderr)[-1], r"1 process, \d+ events in run\.xft")


if __name__ == "__main__":
    unittest.main()
