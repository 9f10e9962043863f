"""Programs that deal with descriptors by their numbers find none of the recorder's, and the recorder
finds none of theirs; where the recorder cannot have a table of its own, both survive, and the trace says so.
And threads that go on while the process ends take nothing from its record."""
import errno
import unittest

from illness import ILL, preload_environment
from lab import Bench, XFERSCOPE, moved, own_lines, report, run

COPIES = 60000  # more than the buffer holds: the file is written to all the time
FEW = 100


def refuse(**calls):
    return [str(part) for call, error in calls.items() for part in ("refuse", call, error)]


OLD_KERNEL = refuse(close_range=errno.ENOSYS)
FORBIDDEN = refuse(close_range=errno.EPERM, unshare=errno.EPERM)


class Descriptors(Bench):
    def both(self, *command, **settings):
        """The same alone and recorded; what it says, and the report."""
        alone = run([ILL / "descriptors", *command], cwd=self.folder)
        self.before_recorded()
        env = preload_environment(XFERSCOPE_OUTPUT=str(self.folder / "run.xft"), **settings)
        recorded = run([ILL / "descriptors", *command], cwd=self.folder, env=env)
        self.assertEqual(alone.stderr, b"")
        self.assertEqual((recorded.returncode, recorded.stdout), (alone.returncode, alone.stdout), recorded.stderr)
        return recorded, report(self.folder / "run.xft")

    def before_recorded(self):
        pass

    def check_whole(self, document, copies):
        process, = document["run"]["processes"]
        self.assertTrue(process["finished"])
        self.assertIsNone(process["losses"]["line"])
        self.assertEqual(moved(document)["H2D"], (copies, copies * 64))

    def shares(self):
        dump = run([XFERSCOPE, "dump", self.folder / "run.xft"]).stdout.decode()
        return "meta descriptors=shared" in dump.splitlines()

    def storm(self):
        own = self.folder / "own.dat"
        self.before_recorded = lambda: (self.assertEqual(own.read_bytes(), b"ABCDEFGH"), own.unlink())
        recorded, document = self.both("storm", own, COPIES, XFERSCOPE_BUFFER="1M", XFERSCOPE_STACKS="0")
        self.assertEqual(own.read_bytes(), b"ABCDEFGH")
        self.assertEqual(own_lines(recorded.stderr), [])
        self.check_whole(document, COPIES + 1)

    def test_numbers_taken_by_others(self):
        for _ in range(3):
            self.storm()
            for trace in self.traces("run.xft"):
                trace.unlink()
            (self.folder / "run.xft").rmdir()

    def list(self, *filters):
        recorded, document = self.both(*filters, "list", FEW, XFERSCOPE_STACKS="0")
        self.check_whole(document, FEW)
        return recorded

    def test_none_of_ours(self):
        self.assertIn(b"the pipe ends\n", self.list().stdout)
        self.assertFalse(self.shares())

    def test_old_kernel(self):
        self.assertIn(b"the pipe ends\n", self.list(*OLD_KERNEL).stdout)
        self.assertFalse(self.shares())

    def test_forbidden(self):
        """The list has one more then: the trace's."""
        command = [ILL / "descriptors", *FORBIDDEN, "list", FEW]
        env = preload_environment(XFERSCOPE_OUTPUT=str(self.folder / "run.xft"))
        recorded = run(command, env=env)
        self.assertEqual((recorded.returncode, recorded.stderr), (0, b""))
        self.assertIn(b"the pipe ends\n", recorded.stdout)
        self.check_whole(report(self.folder / "run.xft"), FEW)
        self.assertTrue(self.shares())

    def said_of_full(self, *filters):
        """What the recorder's thread says reaches the program's stderr, from whichever table."""
        limit = f"ulimit -f 1040; exec {ILL / 'descriptors'} {' '.join(filters)} list {COPIES}"
        env = preload_environment(
            XFERSCOPE_OUTPUT=str(self.folder / "run.xft"), XFERSCOPE_BUFFER="64M", XFERSCOPE_STACKS="0"
        )
        recorded = run(["bash", "-c", limit], env=env)
        self.assertEqual(recorded.returncode, 0)
        return own_lines(recorded.stderr)

    def test_what_its_thread_says(self):
        said = self.said_of_full()
        self.assertEqual(len([line for line in said if "cannot write" in line]), 1, said)

    def test_what_its_thread_says_later(self):
        said = self.said_of_full(*refuse(pidfd_getfd=errno.EPERM))
        self.assertEqual(len([line for line in said if "cannot write" in line]), 1, said)


class Exits(Bench):
    def test_threads_that_go_on(self):
        for copies in (1, 1000, 20000):
            name = f"run{copies}.xft"
            env = preload_environment(XFERSCOPE_OUTPUT=str(self.folder / name))
            ended = run([ILL / "descriptors", "exit", copies], env=env)
            self.assertEqual((ended.returncode, own_lines(ended.stderr)), (7, []))
            document = report(self.folder / name)
            process, = document["run"]["processes"]
            self.assertIsNone(process["losses"]["line"])
            self.assertGreaterEqual(moved(document)["H2D"][0], int(ended.stdout))
            text = run([XFERSCOPE, "analyze", "--no-profile", self.folder / name]).stdout.decode()
            after = process.get("calls_after_end", 0)
            self.assertEqual("began while their process ended" in " ".join(text.split()), after > 0)


if __name__ == "__main__":
    unittest.main()
