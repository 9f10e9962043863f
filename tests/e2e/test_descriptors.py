"""The program's descriptors are its own: it gets the numbers that it gets alone, and nobody reads or writes
what they stand for."""
import unittest

from lab import Bench, PROGRAMS, moved, needs, preloaded, record, report, run

COPIES = 20 + 60
BYTES = 64
INPUT = b"what the program reads\n"


@needs("descriptors")
class Descriptors(Bench):
    def setUp(self):
        super().setUp()
        self.command = [PROGRAMS / "descriptors", "input", "output"]

    def outcome(self, result):
        return result.returncode, result.stdout, (self.folder / "output").read_bytes()

    def check(self, start):
        (self.folder / "input").write_bytes(INPUT)
        alone = self.outcome(run(self.command, cwd=self.folder))
        self.assertEqual((alone[0], alone[2]), (0, INPUT))
        (self.folder / "output").unlink()
        self.assertEqual(self.outcome(start()), alone)
        document = report(self.folder / "run.xft")
        self.assertEqual(moved(document), {"H2D": (COPIES, COPIES * BYTES)})
        return document

    def test_recorded(self):
        """And call stacks go on above code that no module has."""
        document = self.check(lambda: record(*self.command, cwd=self.folder, options=["-o", "run"]))
        for row in document["transfers"]:
            functions = [frame["function"] for frame in row["site"]["stack"]]
            self.assertEqual((functions[0], functions[1], functions[2]), ("copy", None, "deep"))

    def test_preloaded(self):
        self.check(lambda: preloaded(*self.command, cwd=self.folder, XFERSCOPE_OUTPUT="run.xft"))


if __name__ == "__main__":
    unittest.main()
