"""xferscope record as a wrapper: what the program, its caller and the shell see of it."""
import fcntl
import os
import signal
import subprocess
import sys
import termios
import unittest
from pathlib import Path

from lab import Bench, XFERSCOPE, environment, other_lines, own_lines, record, run

SHELL = "/bin/sh"
OWN_ERROR = 125


class Status(Bench):
    def status_of(self, script):
        return record(SHELL, "-c", script, cwd=self.folder).returncode

    def test_exit_status_is_the_programs(self):
        for status in (0, 1, 7, OWN_ERROR, 255):
            self.assertEqual(self.status_of(f"exit {status}"), status)

    def test_signal_is_the_programs(self):
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGUSR1, signal.SIGABRT):
            self.assertEqual(self.status_of(f"ulimit -c 0; kill -{int(name)} $$"), -name)

    def test_program_not_found(self):
        result = record("./no-such-program", cwd=self.folder)
        self.assertEqual(result.returncode, 127)
        self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_program_not_executable(self):
        (self.folder / "data").write_text("no program")
        result = record("./data", cwd=self.folder)
        self.assertEqual(result.returncode, 126)
        self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_ignored_child_signal(self):
        env = environment()
        command = [XFERSCOPE, "record", SHELL, "-c", "exit 9"]
        # Ignored in the child alone: were it ignored here, a child that ends soon would leave no status.
        process = subprocess.Popen(command, env=env, cwd=self.folder, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        process.communicate()
        self.assertEqual(process.returncode, 9)


class Signals(Bench):
    def forwarded(self, number):
        script = f"trap 'exit 33' {int(number)}; echo ready; while :; do sleep 0.05; done"
        process = subprocess.Popen(
            [XFERSCOPE, "record", "-q", SHELL, "-c", script],
            env=environment(),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(number)
        process.stdout.close()
        return process.wait()

    def test_signals_reach_the_program(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            self.assertEqual(self.forwarded(number), 33, number)

    def test_record_survives_the_terminals_interrupt(self):
        """Ctrl-C reaches the whole group; the program decides what it means."""
        script = "trap 'echo got; exit 34' INT; echo ready; while :; do sleep 0.05; done"
        keyboard, terminal = os.openpty()
        self.addCleanup(os.close, keyboard)
        process = subprocess.Popen(
            [XFERSCOPE, "record", "-q", SHELL, "-c", script],
            env=environment(),
            cwd=self.folder,
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(terminal)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        os.write(keyboard, b"\x03")
        self.assertEqual(process.communicate()[0], b"got\n")
        self.assertEqual(process.returncode, 34)


class Surroundings(Bench):
    """What a program can see of its surroundings is the same with and without record."""

    def both_ways(self, *command, **options):
        bare = run(command, cwd=self.folder, **options)
        under = record(*command, cwd=self.folder, **options)
        self.assertEqual(under.stdout, bare.stdout)
        self.assertEqual(under.returncode, bare.returncode)
        self.assertEqual(other_lines(under.stderr), other_lines(bare.stderr))
        return bare

    def test_standard_streams(self):
        data = bytes(range(256)) * 4096
        bare = self.both_ways("/bin/cat", stdin=None, input=data)
        self.assertEqual(bare.stdout, data)
        self.both_ways(SHELL, "-c", "echo out; echo err >&2; exit 5")

    def test_closed_streams(self):
        """They stay closed for the program, and what is said goes into no file that is opened in their place."""
        tell = "for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && echo $fd open || echo $fd closed; done"
        for fd in (0, 2):
            bare = self.both_ways(SHELL, "-c", tell, preexec_fn=lambda: os.close(fd))
            self.assertIn(b"%d closed" % fd, bare.stdout)
        data = Path(__file__).parents[1] / "data" / "h200-static.xft"
        export = [XFERSCOPE, "export", "missing.trace", str(data), "-f", "csv"]
        done = run(export + ["-o", "out.csv"], cwd=self.folder, preexec_fn=lambda: os.close(2))
        self.assertEqual(done.returncode, 3)
        self.assertTrue((self.folder / "out.csv").read_text().startswith("host,"))
        done = run(export, cwd=self.folder, preexec_fn=lambda: os.close(1))
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"cannot write standard output", done.stderr)

    def test_signals_as_found(self):
        self.both_ways("/bin/grep", "-E", "^(SigBlk|SigIgn|SigCgt)", "/proc/self/status")

    def test_descriptors(self):
        self.both_ways(SHELL, "-c", "ls /proc/self/fd | wc -l")

    def test_process_group_and_session(self):
        self.both_ways(sys.executable, "-c", "import os; print(os.getpgrp(), os.getsid(0))")

    def test_threads(self):
        self.both_ways(SHELL, "-c", "grep Threads /proc/self/status")

    def test_options_become_settings(self):
        """Each the one that the recorder reads, and nothing else."""
        asked = {"--stack-depth=7": "XFERSCOPE_STACK_DEPTH=7", "--no-stacks": "XFERSCOPE_STACKS=0",
                 "--no-sources": "XFERSCOPE_SOURCES=0",
                 "--no-kernels": "XFERSCOPE_KERNELS=0", "--no-managed": "XFERSCOPE_MANAGED=0",
                 "--timing=host": "XFERSCOPE_TIMING=host", "--content=whole": "XFERSCOPE_CONTENT=whole",
                 "--delay=1": "XFERSCOPE_DELAY=1", "--duration=2.5": "XFERSCOPE_DURATION=2.5",
                 "--phase=step": "XFERSCOPE_PHASE=step", "--max-size=5M": "XFERSCOPE_MAX_SIZE=5M"}

        def settings(*options):
            variables = record("env", cwd=self.folder, options=options).stdout.decode().splitlines()
            return {line for line in variables if line.startswith("XFERSCOPE_")
                    and not line.startswith(("XFERSCOPE_OUTPUT=", "XFERSCOPE_RUN="))}

        usual = settings()
        for option, setting in asked.items():
            with self.subTest(option):
                self.assertEqual(settings(option) - usual, {setting})

    def test_other_preloads_stay(self):
        other = "/nonexistent-other.so"
        env = environment()
        env["LD_PRELOAD"] = ":".join(filter(None, [other, env.get("LD_PRELOAD", "")]))
        result = record(SHELL, "-c", "echo $LD_PRELOAD", cwd=self.folder, env=env)
        first, _, rest = result.stdout.decode().strip().partition(":")
        self.assertTrue(first.endswith("/lib/libxferscope.so"), first)
        self.assertTrue(rest.startswith(other), rest)


class Options(Bench):
    def refused(self, *arguments, status=OWN_ERROR):
        result = run([XFERSCOPE, *arguments], cwd=self.folder)
        self.assertEqual(result.returncode, status, arguments)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr.decode()

    def test_bad_options_say_one_line(self):
        self.assertIn("--wrong", self.refused("record", "--wrong", "true"))
        self.assertIn("-z", self.refused("record", "-z", "true"))
        self.assertIn("-o", self.refused("record", "-o"))
        self.assertIn("no program", self.refused("record"))
        self.assertIn("no program", self.refused("record", "-o", "x", "--"))
        for depth in ("0", "65", "-1", "many", "", "1e2"):
            self.refused("record", "--stack-depth", depth, "true")
        self.assertIn("cupti", self.refused("record", "--timing", "sundial", "true"))

    def test_unknown_command_suggests(self):
        self.assertIn("'record'", self.refused("recrod", status=2))
        self.assertIn("--help", self.refused("zzzzzzzzz", status=2))

    def test_help(self):
        for arguments in (["--help"], ["help"], ["record", "--help"], ["help", "record"],
                          ["help", "probe"], ["help", "analyze"], ["help", "dump"]):
            result = run([XFERSCOPE, *arguments], cwd=self.folder)
            self.assertEqual(result.returncode, 0, arguments)
            self.assertIn(b"usage: xferscope", result.stdout, arguments)
            self.assertEqual(result.stderr, b"")

    def test_version(self):
        result = run([XFERSCOPE, "--version"], cwd=self.folder)
        self.assertRegex(result.stdout.decode(), r"^xferscope \d+\.\d+\.\d+\n$")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run(
                [XFERSCOPE, "--help"], stdout=full, stderr=subprocess.PIPE, env=environment()
            )
        self.assertNotEqual(result.returncode, 0)

    def test_options_after_the_program_are_its_own(self):
        result = record("/bin/echo", "-o", "--force", cwd=self.folder, options=["-q"])
        self.assertEqual(result.stdout, b"-o --force\n")

    def test_run_directory_in_the_way(self):
        (self.folder / "old.xft").mkdir()
        self.assertIn("--force", self.refused("record", "-o", "old", "true"))
        self.assertIn("--force", self.refused("record", "-o", "old.xft/", "true"))
        self.assertEqual(self.runs_left(), ["old.xft"])

    def test_force_removes_only_runs(self):
        precious = self.folder / "old.xft" / "thesis.txt"
        precious.parent.mkdir()
        precious.write_text("years of work")
        self.assertIn("thesis.txt", self.refused("record", "--force", "-o", "old", "true"))
        self.assertEqual(precious.read_text(), "years of work")
        (self.folder / "file.xft").write_text("a file")
        self.refused("record", "--force", "-o", "file", "true")
        (self.folder / "link.xft").symlink_to(self.folder)
        self.refused("record", "--force", "-o", "link", "true")

    def test_names_that_want_to_get_at_the_terminal(self):
        evil = "\x1b[2J\n\u202e\u2066\u200b"
        shown = "<U+001B>[2J<U+000A><U+202E><U+2066><U+200B>"
        (self.folder / f"old{evil}.xft").mkdir()
        (self.folder / f"old{evil}.xft" / f"my{evil}").write_text("years of work")
        text = self.refused("record", "--force", "-o", f"old{evil}", "true")
        for name in (f"old{shown}.xft", f"my{shown}"):
            self.assertIn(name, text)
        self.assertIn(f"'{shown}'", self.refused("record", f"--content={evil}", "true"))
        for arguments in (["record", "-o", "new", "--", f"./{evil}"], [evil], ["doctor", evil]):
            text = run([XFERSCOPE, *arguments], cwd=self.folder).stderr.decode()
            self.assertEqual(text.count("\n"), 1, text)
            self.assertIn(shown, text)
            self.assertEqual([c for c in text[:-1] if not c.isprintable()], [])

    def test_no_place_for_the_run(self):
        self.assertIn("missing", self.refused("record", "-o", "missing/run", "true"))


class NoCuda(Bench):
    def test_nothing_is_left(self):
        result = record(SHELL, "-c", "ls; date >&2", cwd=self.folder)
        self.assertEqual(result.stdout, b"")
        self.assertIn("no CUDA call", own_lines(result.stderr)[0])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_switched_off(self):
        env = environment(XFERSCOPE_ENABLE="0")
        result = record("/bin/true", cwd=self.folder, env=env)
        self.assertIn("XFERSCOPE_ENABLE", own_lines(result.stderr)[0])


if __name__ == "__main__":
    unittest.main()
