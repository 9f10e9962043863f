"""What the tests of a command from outside share: a folder of their own, runs and profiles that are made
in it, and commands run there.

The first words of such a test are DRIVER, the analyzer's commands, and MAKE_TRACE, the maker of runs."""

import os
import subprocess
import sys
import tempfile
import unittest

DRIVER, MAKE = sys.argv[1:3]


class Lab(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def make(self, scenario, name, argument=""):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        subprocess.run([MAKE, scenario, self.path(name), argument], check=True)
        return name

    def drive(self, *arguments, settings=(("LC_ALL", "C.UTF-8"),), timeout=300, **options):
        """The command when it has ended; settings are those of the environment."""
        return subprocess.run([DRIVER, *arguments], capture_output=True, cwd=self.folder.name, timeout=timeout,
                              env={**os.environ, **dict(settings)}, check=False, **options)
