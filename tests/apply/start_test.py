"""What a process takes more for apply's start, in instructions (valgrind), on the simulated GPU: the command
with a profile that it has read before, the library in a program with nothing to gain, and the names of the
lines at the end."""

import tempfile
import unittest
from pathlib import Path

from simulated import BIN, XFERSCOPE, run

PROFILE = Path(__file__).resolve().parents[1] / "data" / "h200.json"
LIBRARY = BIN.parent / "lib" / "libxferscope.so"


class Start(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def instructions(self, *command, **settings):
        """Of this process alone."""
        out = self.folder / "out"
        done = run("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "-q", *command,
                   XDG_CACHE_HOME=str(self.folder), XFERSCOPE_SIMGPU_CLOCK="virtual", **settings)
        self.assertEqual(done.returncode, 0, done.stderr)
        line = next(line for line in out.read_text().splitlines() if line.startswith(("totals:", "summary:")))
        return int(line.split()[1])

    def test_command(self):
        command = (XFERSCOPE, "apply", "-q")
        none = self.instructions(*command, "--no-profile", "/bin/true")
        first = self.instructions(*command, "--profile", PROFILE, "/bin/true")
        again = self.instructions(*command, "--profile", PROFILE, "/bin/true")
        self.assertGreater(first, none + 10_000_000)  # else this shows nothing: it reads all of it
        self.assertLess(again, none + 1_000_000)

    def test_library(self):
        program = BIN / "apply" / "resources"
        alone = self.instructions(program, "none")
        off = self.instructions(program, "none", LD_PRELOAD=str(LIBRARY), XFERSCOPE_ENABLE="0")
        on = self.instructions(program, "none", LD_PRELOAD=str(LIBRARY), XFERSCOPE_ENABLE="0", XFERSCOPE_APPLY="on")
        self.assertLess(off, alone + 2_000_000)  # its symbols, bound by the loader, and the driver's functions
        self.assertLess(on, off + 600_000)

    def test_end(self):
        """Of libraries no names are looked for."""
        program = BIN / "apply" / "staged"
        quiet = self.instructions(XFERSCOPE, "apply", "-q", "--no-profile", program)
        said = self.instructions(XFERSCOPE, "apply", "--no-profile", program)
        self.assertLess(said, quiet + 5_000_000)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=2)
