"""`xferscope export` as a command: wrong usage, where the output goes, and how it ends."""

import os
import pty
import re
import resource
import signal
import subprocess
import threading
import unittest
from pathlib import Path

from lab import DRIVER, Lab, ROOT


def formats():
    usage = subprocess.run([DRIVER, "export", "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
    return re.findall(r"^  ([a-z-]+) ", usage[usage.index("\nFormats:\n"):], re.M)


FORMATS = formats()
TEXT = [name for name in FORMATS if name not in ("perfetto", "sqlite")]


def small_files():
    """As a disk that is full: what is written beyond 4 KiB fails."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def drain(terminal):
    """Reads what is shown, until nobody has it open."""
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        os.close(terminal)


class Command(Lab):
    def wrong(self, *arguments):
        done = self.run_command("export", *arguments)
        self.assertEqual((done.returncode, done.stdout), (2, b""), arguments)
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        return lines[0]

    def test_usage(self):
        trace = self.make("mixed")
        for line in (self.wrong(trace, "-f", "nonsense", "-o", "x"), self.wrong(trace, "-o", "x")):
            self.assertIn(", ".join(FORMATS), line)
        for arguments in ((), ("-f", "csv"), ("", "-f", "csv"), (trace, "-f"), (trace, "-f", "csv", "--weight", "x"),
                          (trace, "-f", "csv", "--weight", "time"), (trace, "-f", "csv", "-o", ""),
                          (trace, "-f", "csv", "-p", ""), (trace, "-f", "csv", "--nonsense")):
            self.wrong(*arguments)
        self.assertEqual(os.listdir(self.folder.name), ["mixed.trace"])

    def test_formats_are_on_the_page(self):
        page = (ROOT / "docs" / "export.md").read_text()
        for name in FORMATS:
            self.assertIn(f"| [`{name}`](#", page)

    def test_standard_output(self):
        trace = self.make("mixed")
        for name in TEXT:
            whole = self.export(trace, "-f", name)
            for more in ((), ("-o", "-")):
                done = self.run_command("export", trace, "-f", name, *more)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, whole, b""), name)
        for name in set(FORMATS) - set(TEXT):
            self.wrong(trace, "-f", name)

    def test_a_terminal_is_asked_for(self):
        trace = self.make("mixed")
        for more, status in (((), 2), (("-o", "-"), 0)):
            outer, inner = pty.openpty()
            reader = threading.Thread(target=drain, args=(outer,))
            reader.start()
            done = self.run_command("export", trace, "-f", "csv", *more, stdout=inner)
            os.close(inner)
            reader.join()
            self.assertEqual(done.returncode, status, done.stderr)

    def test_an_old_file_stays(self):
        old = Path(self.path("old"))
        trace = self.make("many", "3000")
        for name in FORMATS:
            old.write_text("old")
            done = self.run_command("export", "missing.trace", "-f", name, "-o", "old")
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), name)
            self.assertEqual(old.read_text(), "old")
            if name in STREAMED:
                done = self.run_command("export", trace, "-f", name, "-o", "old", preexec_fn=small_files)
                self.assertEqual(done.returncode, 4, (name, done.stderr))
                self.assertEqual(done.stderr, b"xferscope: cannot write old: File too large\n")
                self.assertEqual(old.read_text(), "old")
            self.assertEqual(self.run_command("export", trace, "-f", name, "-o", "old").returncode, 0)
            self.assertNotEqual(old.read_bytes()[:3], b"old")
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["many.trace", "old"])

    def test_a_full_disk(self):
        trace = self.make("many", "3000")
        for name in set(FORMATS) - {"sqlite"}:
            done = self.run_command("export", trace, "-f", name, "-o", "/dev/full")
            self.assertEqual((done.returncode, done.stderr),
                             (4, b"xferscope: cannot write /dev/full: No space left on device\n"), name)

    def test_a_reader_that_goes(self):
        trace = self.make("many", "100000")
        process = subprocess.Popen([DRIVER, "export", trace, self.path("missing.trace"), "-f", "jsonl"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(), said), (4, b"xferscope: cannot write standard output: Broken pipe\n"))

    def test_losses(self):
        self.make("mixed")
        self.make("lossy", "events")
        for name in FORMATS:
            whole = self.export("mixed.trace", "-f", name)
            for arguments in (("missing.trace", "mixed.trace"), ("mixed.trace", "-p", "missing.json"),
                              ("mixed.trace", "missing.trace")):
                some = self.export(*arguments, "-f", name, status=3)
                if name in ("csv", "jsonl"):
                    self.assertEqual(some, whole)
            self.export("lossy.trace", "-f", name, status=3)

    def test_a_file_given_twice_is_read_once(self):
        trace = self.make("mixed")
        done = self.run_command("export", trace, trace, "-f", "csv")
        self.assertEqual((done.returncode, done.stdout), (0, self.export(trace, "-f", "csv")))

    def test_memory_does_not_grow_with_the_run(self):
        """Within 64 MiB of address space, of runs whose texts would not fit."""
        if os.environ.get("XFERSCOPE_SANITIZED") == "1":
            self.skipTest("the sanitizer takes terabytes of address space")
        trace = self.make("many", "300000")
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))
        for name in FORMATS:
            done = self.run_command("export", trace, "-f", name, "-o", "out", preexec_fn=limit)
            self.assertEqual((done.returncode, done.stderr), (0, b""), name)


STREAMED = [name for name in FORMATS if name in ("csv", "jsonl", "chrome", "perfetto", "sqlite")]

if __name__ == "__main__":
    unittest.main()
