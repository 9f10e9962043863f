"""Where there is no room for a trace, or none any more: the program does what it does alone, one line
says what is wrong, and what is not in the trace is counted."""
import os
import resource
import shutil
import subprocess
import unittest

from illness import ILL, check_log, preload_environment, log_file
from lab import Bench, own_lines, report, run, sanitizer_runtime

COPIES, THREADS = 40000, 4
SAID = f"{THREADS} threads, {COPIES} copies each\n"
QUOTA = ILL / "quota" / "quota.so"
DISK = 2 << 20


def may_mount():
    tools = shutil.which("unshare") and shutil.which("mount")
    return bool(tools) and run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/tmp"]).returncode == 0


class Places(Bench):
    def setUp(self):
        super().setUp()
        self.output = self.folder / "run.xft"

    def storm(self, *before, first=(), options=None, **settings):
        """The storm, after the commands of a shell that end in exec "$@"; what it said."""
        self.log = log_file(self.folder)
        env = preload_environment(
            first=first, XFERSCOPE_OUTPUT=str(self.output), XFERSCOPE_TIMING="host",
            XFERSCOPE_SYMBOLS="0", **settings,
        )
        command = [ILL / "storm", self.log, str(THREADS), "done", str(COPIES)]
        if before:
            command = ["/bin/sh", "-c", "; ".join(before), "sh", *command]
        result = run(command, cwd=self.folder, env=env, **(options or {}))
        self.assertEqual((result.returncode, result.stdout.decode()), (0, SAID), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), len(own_lines(result.stderr)), result.stderr)
        return own_lines(result.stderr)

    def nothing_recorded(self, lines, why):
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], f"^xferscope: cannot record in .*{why}")
        self.assertEqual(list(self.output.glob("*")) if self.output.is_dir() else [], [])

    def some_lost(self, lines, why, folder=None):
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], why)
        kept = check_log(self, folder or self.output, self.log, "lossy", why)
        self.assertLess(kept, THREADS * COPIES)
        self.assertGreater(kept, 0)
        return kept

    # ---- a file system of 2 MiB, of the process's own -------------------------------------------

    def disk(self, filled):
        """Commands that make it, run what comes, and keep what was written."""
        disk = self.folder / "disk"
        disk.mkdir(exist_ok=True)
        self.output = disk / "run.xft"
        return (
            f"mount -t tmpfs -o size={DISK} none {disk}", f"head -c {filled} /dev/zero >{disk}/fill",
            '"$@"; status=$?', f"[ ! -e {disk}/run.xft ] || cp -r {disk}/run.xft {self.folder}/kept.xft", "exit $status",
        )

    def on_disk(self, filled, **settings):
        script = "; ".join(self.disk(filled))
        return self.storm(f'exec unshare -m /bin/sh -c \'{script}\' sh "$@"', **settings)

    @unittest.skipUnless(may_mount(), "not allowed to mount a small disk")
    def test_disk_full(self):
        """There is room for the four first slabs, and for little else."""
        lines = self.on_disk(DISK - (1 << 20) - 24576)
        kept = self.some_lost(lines, "No space left on device", self.folder / "kept.xft")
        missing = THREADS * COPIES - kept
        document = report(self.folder / "kept.xft")
        (process,) = document["run"]["processes"]
        self.assertGreaterEqual(process["losses"]["events_not_stored"], missing)

    @unittest.skipUnless(may_mount(), "not allowed to mount a small disk")
    def test_disk_full_from_the_start(self):
        lines = self.on_disk(DISK)
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], "^xferscope: cannot record in .*No space left on device")
        self.assertFalse((self.folder / "kept.xft").exists(), "an empty directory would be in the way")

    @unittest.skipUnless(may_mount(), "not allowed to mount")
    def test_read_only(self):
        self.output.mkdir()
        self.nothing_recorded(
            self.storm(
                "exec unshare -m /bin/sh -c '"
                f"mount --bind {self.output} {self.output}; mount -o remount,ro,bind {self.output};"
                'exec "$@"\' sh "$@"'
            ),
            "Read-only file system",
        )

    # ---- limits -----------------------------------------------------------------------------------

    def test_file_size_limit(self):
        limit = (1 << 20) + 24576
        options = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))}
        self.some_lost(self.storm(options=options), "File too large")
        for trace in self.traces("run.xft"):
            self.assertLessEqual(trace.stat().st_size, limit)

    def test_file_size_limit_of_nothing(self):
        options = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))}
        # what it prints goes to a pipe: no file either
        self.nothing_recorded(self.storm(options=options), "File too large")

    @unittest.skipIf(sanitizer_runtime(), "the sanitizer watches these functions itself")
    def test_quota(self):
        lines = self.storm(first=[QUOTA], QUOTA_BYTES=str((1 << 20) + 24576))
        self.some_lost(lines, "Disk quota exceeded")

    @unittest.skipIf(sanitizer_runtime(), "the sanitizer watches these functions itself")
    def test_quota_used_up(self):
        self.nothing_recorded(self.storm(first=[QUOTA], QUOTA_BYTES="100"), "Disk quota exceeded")

    def test_few_descriptors(self):
        """No descriptor is left for the trace's file, or none out of the program's way."""
        for most in (5, 6, 8, 16):  # alone, it needs five
            options = {"preexec_fn": lambda n=most: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))}
            lines = self.storm(options=options)
            if not any("cannot record" in line for line in lines):
                kept = check_log(self, self.output, self.log, "lossy", f"{most} descriptors")
                self.assertEqual(kept, THREADS * COPIES)
            shutil.rmtree(self.output, ignore_errors=True)

    @unittest.skipIf(sanitizer_runtime(), "the sanitizer reserves terabytes")
    def test_little_memory(self):
        """Address space for the program and some of the recorder's buffers. The C library's arenas,
        64 MiB each when there is room for one, would make what the program needs a matter of chance."""
        for most in (96 << 20, 128 << 20, 192 << 20):
            options = {"preexec_fn": lambda n=most: resource.setrlimit(resource.RLIMIT_AS, (n, n))}
            lines = self.storm(options=options, MALLOC_ARENA_MAX="1")
            if not any("cannot record" in line for line in lines):
                check_log(self, self.output, self.log, "lossy", f"{most} bytes")
            shutil.rmtree(self.output, ignore_errors=True)

    # ---- the directory ----------------------------------------------------------------------------

    def test_directory_deleted(self):
        self.log = log_file(self.folder)
        env = preload_environment(XFERSCOPE_OUTPUT=str(self.output), XFERSCOPE_TIMING="host")
        process = subprocess.Popen(
            [ILL / "storm", self.log, str(THREADS), "done", "200000"], env=env, cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        while not any(self.log.read_bytes()[64 * 8 :]):
            self.assertIsNone(process.poll())
        shutil.rmtree(self.output)
        out, err = process.communicate()
        self.assertEqual((process.returncode, out.decode()), (0, f"{THREADS} threads, 200000 copies each\n"))
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn(b"cannot complete", err)
        self.assertFalse(self.output.exists(), "what was deleted stays deleted")

    def test_link_in_the_way(self):
        (self.folder / "elsewhere").mkdir()
        self.output.symlink_to(self.folder / "elsewhere")
        self.nothing_recorded(self.storm(), "Not a directory")
        self.assertEqual(list((self.folder / "elsewhere").iterdir()), [])

    def test_modes(self):
        """Whatever the umask: nobody else may read what was recorded."""
        self.assertEqual(self.storm('umask 0; exec "$@"'), [])
        self.assertEqual(self.output.stat().st_mode & 0o777, 0o700)
        (trace,) = self.traces("run.xft")
        self.assertEqual(trace.stat().st_mode & 0o777, 0o600)

    @unittest.skipUnless(os.geteuid() == 0, "set-user-id programs of another user need root")
    @unittest.skipIf(sanitizer_runtime(), "the sanitizer is preloaded as well")
    def test_set_user_id(self):
        """The loader leaves the library out of a program that gains rights."""
        self.folder.chmod(0o755)
        program = self.folder / "cat"
        shutil.copy("/bin/cat", program)
        for mode, loaded in ((0o755, True), (0o4755, False)):
            os.chown(program, 65534, 65534)
            program.chmod(mode)
            result = run([program, "/proc/self/maps"], env=preload_environment())
            self.assertEqual(result.returncode, 0)
            self.assertEqual(b"libxferscope.so" in result.stdout, loaded, oct(mode))


if __name__ == "__main__":
    unittest.main()
