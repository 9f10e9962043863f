"""xferscope run and again: the program unharmed, a profile found or made, the screen, the page, and
what was promised compared with what came of it."""
import os
import pty
import re
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from lab import Bench, PROGRAMS, XFERSCOPE, environment, needs, own_lines, run

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
ENDINGS = PROGRAMS / "endings"
MADE = "xferscope: no profile of this machine yet: measuring a quick one, once"


class Runs(Bench):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"

    def env(self, **extra):
        return environment(XDG_DATA_HOME=str(self.data), **extra)

    def call(self, command, *words, env=None, cwd=None):
        result = run([XFERSCOPE, command, *words], cwd=cwd or self.folder, env=env or self.env())
        self.said = result.stderr.decode()
        return result

    def profiles(self):
        return sorted(self.data.rglob("*.json")) if self.data.exists() else []

    measured = []  # (name, bytes) of the profile, once there is one

    def small_profile(self):
        """Where run looks for it: what the tests need of one, measured once, in less than a quick one's time."""
        if not self.measured:
            made = run([XFERSCOPE, "probe", "--quiet", "--quick", "--filter", "^(copy/p|submit|record|sync)"],
                       cwd=self.folder, env=self.env())
            self.assertEqual(made.returncode, 0, made.stderr)
            [path] = self.folder.glob("*-simulated.json")
            self.measured.append((path.name, path.read_bytes()))
        name, content = self.measured[0]
        (self.folder / name).write_bytes(content)
        return self.folder / name


@needs("endings")
class Run(Runs):
    def test_from_nothing(self):
        """Without a profile: one is made, kept, and found the next time."""
        first = self.call("run", "-o", "first", "--", ENDINGS, "return")
        self.assertEqual(first.stdout, run([ENDINGS, "return"]).stdout)
        self.assertIn(MADE, own_lines(first.stderr))
        self.assertNotIn("does not apply", self.said)  # of two GPUs, which this machine has not
        self.assertEqual([path.name.endswith("-simulated.json") for path in self.profiles()], [True])
        self.assertIn("1  element-by-element", self.said)
        self.assertIn("xferscope: page: first.html", own_lines(first.stderr))
        self.assertIn(b"<!doctype html>", (self.folder / "first.html").read_bytes()[:200].lower())
        self.assertTrue(self.said.endswith("again first.xft\n"), self.said)
        self.call("run", "-o", "second", "--", ENDINGS, "return")
        self.assertNotIn(MADE, self.said)
        self.assertIn("1  element-by-element", self.said)
        self.assertEqual(len(self.profiles()), 1)
        self.assertEqual(list(self.data.rglob("*.quick*")), [])

    @unittest.skipIf(os.environ.get("XFERSCOPE_ASAN_RUNTIME"), "measures as test_from_nothing does; only the file is elsewhere")
    def test_where_the_variable_says(self):
        wanted = self.folder / "kept.json"
        self.call("run", "--no-page", "-o", "run", "--", ENDINGS, "return", env=self.env(XFERSCOPE_PROFILE=str(wanted)))
        self.assertTrue(wanted.exists(), self.said)
        self.assertEqual(self.profiles(), [])

    def test_status_is_the_programs(self):
        for how, status in (("return", 3), ("exit", 4), ("segv", -signal.SIGSEGV), ("kill", -signal.SIGKILL)):
            result = self.call("run", "--no-probe", "--no-page", "-o", how, "--", "/bin/sh", "-c",
                               f"ulimit -c 0; exec {ENDINGS} {how}")
            self.assertEqual(result.returncode, status, how)
        self.assertEqual(self.call("run", "./missing").returncode, 127)
        self.assertEqual(self.call("run", "--no-such").returncode, 125)

    def test_nothing_was_recorded(self):
        """No CUDA: no profile is measured, no page written."""
        result = self.call("run", "-o", "run", "--", "/bin/sh", "-c", "exit 7")
        self.assertEqual(result.returncode, 7)
        self.assertIn("no CUDA call was seen", self.said)
        self.assertNotIn(MADE, self.said)
        self.assertEqual(sorted(self.folder.iterdir()), [])

    def test_without_profile(self):
        self.call("run", "--no-probe", "-o", "run", "--", ENDINGS, "return")
        self.assertIn("not made now: --no-probe", self.said)
        self.assertEqual(self.profiles(), [])
        self.assertTrue((self.folder / "run.html").exists())

    def test_not_while_the_program_works(self):
        """A process that goes on, and a rank whose neighbours may: no profile is measured."""
        script = f"{ENDINGS} wait > out 2> err & while [ ! -s out ]; do sleep 0.05; done; echo $! > pid"
        self.call("run", "--no-page", "-o", "run", "--", "/bin/sh", "-c", script)
        os.kill(int((self.folder / "pid").read_text()), signal.SIGTERM)
        self.assertIn("not made now: a process of the run still works", self.said)
        self.call("run", "--no-page", "-o", "ranks", "--", ENDINGS, "return",
                  env=self.env(OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2"))
        self.assertIn("not made now: other ranks may still work", self.said)
        self.assertEqual(self.profiles(), [])

    def test_page_of_others_stays(self):
        (self.folder / "run.html").write_text("mine")
        self.call("run", "--no-probe", "-o", "run", "--", ENDINGS, "return")
        self.assertEqual((self.folder / "run.html").read_text(), "mine")
        self.assertIn("run.html exists, no page was written", self.said)
        self.call("run", "--no-probe", "--force", "-o", "run", "--", ENDINGS, "return")
        self.assertNotEqual((self.folder / "run.html").read_text(), "mine")

    def test_quiet(self):
        profile = self.small_profile()
        self.call("run", "-q", "-p", profile, "-o", "run", "--", ENDINGS, "return")
        self.assertEqual(self.said, "")
        self.assertTrue((self.folder / "run.html").exists())

    def test_interrupted_probe(self):
        """Ctrl-C while the profile is measured: none is kept, and the status is still the program's."""
        keyboard, terminal = pty.openpty()
        self.addCleanup(os.close, keyboard)
        command = [str(XFERSCOPE), "run", "--no-page", "-o", "run", "--", str(ENDINGS), "return"]
        process = subprocess.Popen(command, cwd=self.folder, env=self.env(), stdin=terminal, stdout=terminal,
                                   stderr=terminal, start_new_session=True,
                                   preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.close(terminal)
        text = b""
        try:
            while not re.search(rb"K[4-9] of \d+: ", text):  # then something is measured, which could be kept
                text += os.read(keyboard, 4096)
            os.write(keyboard, b"\x03")
            while True:
                text += os.read(keyboard, 4096)
        except OSError:  # the terminal's last user has gone
            pass
        self.assertEqual(process.wait(), 3, text)
        self.assertIn(b"no profile was made (interrupted)", text)
        self.assertEqual([path for path in self.data.rglob("*") if path.is_file()], [])


@unittest.skipUnless(os.environ.get("XFERSCOPE_CUDA_INCLUDE") and shutil.which("cc"), "no CUDA headers or no cc")
class Again(Runs):
    """With the program of docs/walk-c.md."""

    def build(self, name, cwd=None):
        done = run(["cc", "-g", EXAMPLES / name, "-o", (cwd or self.folder) / "frames",
                    f"-I{os.environ['XFERSCOPE_CUDA_INCLUDE']}", f"-L{environment()['LD_LIBRARY_PATH']}", "-lcudart"])
        self.assertEqual(done.returncode, 0, done.stderr)

    def promise(self):
        [line] = [line for line in self.said.splitlines() if " -> " in line and "simulated GPU" in line]
        return line

    def begin(self):
        self.build("frames.c")
        self.profile = self.small_profile()
        self.call("record", "--no-summary", "--stack-depth", "7", "-o", "frames.xft", "--", "./frames")

    def test_promised_and_got(self):
        self.begin()
        self.build("frames_fixed.c")
        result = self.call("again")
        self.assertEqual((result.returncode, result.stdout), (0, b"40 frames, sum 820\n"))
        self.assertRegex(self.promise(), r"^promised [\d.]+ ms, got [\d.]+ ms: \D*[\d.]+ ms to [\d.]+ ms "
                                         r"\([\d.]+ ms -> [\d.]+ ms\) \(simulated GPU\)$")
        self.assertEqual(self.runs_left(), ["frames.2.xft", "frames.xft"])
        self.assertTrue((self.folder / "frames.2.html").exists())
        compared = run([XFERSCOPE, "analyze", "--compare", "--brief", "frames.xft", "frames.2.xft"], cwd=self.folder)
        self.assertEqual(compared.stdout.decode(), self.promise() + "\n")

    def test_as_it_was_recorded(self):
        """From anywhere, the last run or a named one, with the options and the directory of then."""
        self.begin()
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.call("again", "-q", self.folder / "frames.xft", cwd=elsewhere)
        self.assertRegex(self.said, "^nothing of the advice was followed; [^\n]*\n$")
        self.call("again", "--no-page")  # of frames.2.xft, which is the last
        self.assertEqual(self.runs_left(), ["frames.2.xft", "frames.3.xft", "frames.xft"])
        self.call("record", "--no-summary", "-o", "a.xft", "--", "/bin/sh", "-c", "./frames > /dev/null; echo the last")
        self.assertEqual(self.call("again", "--no-page").stdout, b"the last\n")
        self.assertIn("xferscope: again: /bin/sh -c './frames > /dev/null; echo the last' (in", self.said)
        started = run([XFERSCOPE, "dump", "frames.3.xft"], cwd=self.folder).stdout.decode()
        self.assertIn("--stack-depth", next(line for line in started.splitlines() if "started=" in line))

    def test_slower(self):
        self.build("frames_fixed.c")
        self.profile = self.small_profile()
        self.call("record", "--no-summary", "-o", "frames.xft", "--", "./frames")
        self.build("frames.c")
        self.call("again")
        self.assertRegex(self.promise(), "nothing|SLOWER|slower")

    def test_what_cannot_be_repeated(self):
        result = self.call("again")
        self.assertEqual((result.returncode, self.said), (125, "xferscope again: there is no run in this directory; which one?\n"))
        bare = environment(LD_PRELOAD=str(XFERSCOPE.parents[1] / "lib" / "libxferscope.so"),
                           XFERSCOPE_OUTPUT=str(self.folder / "bare.xft"))
        self.build("frames.c")
        run(["./frames"], cwd=self.folder, env=bare)
        result = self.call("again", "bare.xft")
        self.assertEqual(result.returncode, 125)
        self.assertIn("does not tell how it was recorded", self.said)

    def test_arguments_as_they_were(self):
        """Spaces, quotes, empty words and dashes; separators of META are refused, not mixed up."""
        self.build("frames.c")
        program = f"{self.folder}/frames >/dev/null; printf '<%s>' \"$@\""
        words = ["a b", "", "--output=x", "it's", "-"]
        self.call("record", "--no-summary", "-o", "words", "--", "/bin/sh", "-c", program, "sh", *words)
        result = self.call("again", "--no-probe", "--no-page", "words.xft")
        self.assertEqual(result.stdout.decode(), "".join(f"<{word}>" for word in words))
        self.call("record", "--no-summary", "-o", "bad", "--", "/bin/sh", "-c", program, "sh", "a\x1fb")
        self.assertEqual(self.call("again", "bad.xft").returncode, 125)


if __name__ == "__main__":
    unittest.main()
