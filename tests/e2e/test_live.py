"""xferscope live: a run looked at while it is recorded; what it shows and serves are the figures of the
trace so far."""
import os
import pty
import re
import signal
import socket
import subprocess
import unittest

from lab import Bench, PROGRAMS, XFERSCOPE, environment, needs, report, run

MIB = 1 << 20


@needs("stepper")
class Live(Bench):
    def setUp(self):
        super().setUp()
        command = [XFERSCOPE, "record", "--no-summary", "-o", "run", "--", PROGRAMS / "stepper"]
        self.recorder = subprocess.Popen([str(word) for word in command], cwd=self.folder, env=environment(),
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end)

    def end(self):
        if self.recorder.stdin.closed:
            return
        self.recorder.stdin.close()
        self.recorder.stdout.read()
        self.assertEqual(self.recorder.wait(), 0)
        self.recorder.stdout.close()

    def step(self, times):
        self.recorder.stdin.write(b"%d\n" % times)
        self.recorder.stdin.flush()
        self.assertEqual(self.recorder.stdout.readline(), b"%d\n" % times)

    def look(self, *options, of="run.xft"):
        done = run([XFERSCOPE, "live", of, *options], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode().splitlines()

    def stepper(self):
        [pid] = subprocess.check_output(["pgrep", "-P", str(self.recorder.pid)]).split()
        return int(pid)

    def watch(self, *options):
        """live as it goes on, and its lines one by one."""
        process = subprocess.Popen([str(XFERSCOPE), "live", "run.xft", *options], cwd=self.folder,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_once(self):
        """The sums so far; the rates of the run's time; the call site while the process still works."""
        self.step(7)
        head, kind, site = self.look("--once")
        self.assertRegex(head, r" transfers/s since the start; in all 7 MiB in 7; 1 of 1 process works \(simulated GPU\)$")
        self.assertRegex(kind, r"^ +[\d.]+ GB/s +\d+/s  H2D pageable *$")
        self.assertRegex(site, r"^ +[\d.]+ GB/s +\d+/s  H2D pageable +step \(stepper\.c:\d+\), cudaMemcpy$")
        self.step(5)
        self.assertIn("in all 12 MiB in 12;", self.look("--once")[0])
        self.assertEqual(len(self.look("--once", "--top", "0")), 2)

    def test_of_a_process(self):
        """By the program's number and by its record's."""
        self.step(3)
        for pid in (self.stepper(), self.recorder.pid):
            self.assertIn("in all 3 MiB in 3;", self.look("--once", of=str(pid))[0])
        other = subprocess.Popen(["sleep", "60"])
        done = run([XFERSCOPE, "live", str(other.pid), "--once"])
        other.kill()
        other.wait()
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"records nothing (yet)", done.stderr)
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.assertEqual(run([XFERSCOPE, "live", str(gone.pid), "--once"]).returncode, 1)

    def test_goes_on_and_ends_with_the_run(self):
        self.step(4)
        process = self.watch()
        first = [process.stdout.readline() for _ in range(3)]
        self.assertIn("since the start; in all 4 MiB in 4;", first[0])
        self.step(6)
        line = process.stdout.readline()
        while "in all 10 MiB in 10;" not in line:  # a look in between saw a part of it, or nothing
            self.assertRegex(line, r"in all \d+ MiB in \d+;|GB/s")
            line = process.stdout.readline()
        self.assertIn(" now; ", line)
        rate = re.search(r": (\S+) GB/s", line)[1]  # of what moved since the look before: so of its kind and site
        for _ in range(2):
            self.assertEqual(process.stdout.readline().split()[0], rate)
        self.end()
        rest = process.stdout.read()
        self.assertEqual(process.wait(), 0)
        self.assertRegex(rest, r"0 of 1 process work")

    def test_nothing_moves(self):
        """What moved before is no rate of now."""
        self.step(4)
        process = self.watch()
        lines = []
        while len([line for line in lines if "in all" in line]) < 2:  # however long it takes
            lines.append(process.stdout.readline())
            self.assertTrue(lines[-1], lines)
        process.terminate()
        text = "".join(lines) + process.stdout.read()
        heads = [line for line in text.splitlines() if "in all" in line]
        self.assertIn(": 0 GB/s, 0 transfers/s now; in all 4 MiB in 4;", heads[1])
        self.assertEqual(text.count("stepper.c"), 1, text)

    def samples(self, text):
        self.assertTrue(text.endswith("# EOF\n"), text[-100:])
        return {name: sum(float(v) for v in re.findall(rf"^xferscope_{name}(?:{{.*}})? (\S+)$", text, re.M))
                for name in ("transfers_total", "moved_bytes_total", "processes")}

    def test_file_of_metrics(self):
        """The exporter's names, whole at each moment, and of the ended run what export says."""
        self.step(9)
        path = self.folder / "run.prom"
        process = self.watch("--quiet", "--openmetrics", str(path))
        while not path.exists():
            self.assertIsNone(process.poll())
        self.assertEqual(self.samples(path.read_text()), {"transfers_total": 9, "moved_bytes_total": 9 * MIB, "processes": 1})
        self.step(2)
        while self.samples(path.read_text())["transfers_total"] < 11:
            self.assertIsNone(process.poll())
        self.end()
        self.assertEqual((process.stdout.read(), process.wait()), ("", 0))
        exported = run([XFERSCOPE, "export", "run.xft", "-f", "openmetrics", "--no-profile"], cwd=self.folder)
        families = re.compile(r"^# (?:TYPE|UNIT|HELP) .*$", re.M)
        ours, theirs = set(families.findall(path.read_text())), set(families.findall(exported.stdout.decode()))
        self.assertLessEqual(ours, theirs)
        self.assertGreater(len(ours), 20)
        self.assertEqual(self.samples(path.read_text()), self.samples(exported.stdout.decode()))

    def ask(self, path):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            text = b""
            while chunk := client.recv(65536):
                text += chunk
        return text.decode()

    def test_socket_of_metrics(self):
        self.step(5)
        path = self.folder / "metrics"
        left = socket.socket(socket.AF_UNIX)  # of an earlier one that was killed
        left.bind(str(path))
        left.close()
        process = self.watch("--openmetrics", f"unix:{path}")
        process.stdout.readline()  # it has looked once, so it listens
        self.assertEqual(self.samples(self.ask(path))["transfers_total"], 5)
        self.assertEqual(self.samples(self.ask(path))["transfers_total"], 5)
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        self.assertEqual(process.wait(), 0)
        self.assertFalse(path.exists())
        path.write_text("mine")
        refused = run([XFERSCOPE, "live", "run.xft", "--once", "--openmetrics", f"unix:{path}"], cwd=self.folder)
        self.assertEqual((refused.returncode, path.read_text()), (4, "mine"))

    def test_on_a_terminal(self):
        """In the place of the look before, no line wider than the window."""
        self.step(1)
        keyboard, terminal = pty.openpty()
        self.addCleanup(os.close, keyboard)
        env = dict(os.environ, TERM="xterm")
        process = subprocess.Popen(["sh", "-c", f"stty cols 64; exec {XFERSCOPE} live run.xft --seconds 0.1"],
                                   cwd=self.folder, env=env, stdin=terminal, stdout=terminal)
        os.close(terminal)
        text = b""
        try:
            while chunk := os.read(keyboard, 4096):
                text += chunk
        except OSError:
            pass
        self.assertEqual(process.wait(), 0)
        self.assertTrue(text.startswith(b"\x1b[2J\x1b[H"), text)
        self.assertIn(b"since the start; in", text)
        for line in re.sub(rb"\x1b\[\d*[A-Z]", b"", text).splitlines():
            self.assertLessEqual(len(line), 64, line)

    def test_looking_leaves_the_run_as_it_is(self):
        self.step(2)
        self.look("--once")
        self.step(3)
        self.end()
        self.assertEqual(sum(row["transfers"] for row in report(self.folder / "run.xft")["transfers"]), 5)
        self.assertIn("0 of 1 process work ", self.look()[0])  # ended: one look

    def test_usage(self):
        for words in ([], ["a", "b"], ["run.xft", "--seconds", "0"], ["run.xft", "--top", "-1"], ["run.xft", "--onse"]):
            self.assertEqual(run([XFERSCOPE, "live", *words]).returncode, 2, words)
        self.assertIn(b"did you mean --once?", run([XFERSCOPE, "live", "run.xft", "--onse"]).stderr)
        self.assertEqual(run([XFERSCOPE, "live", "missing.xft"], cwd=self.folder).returncode, 1)


if __name__ == "__main__":
    unittest.main()
