#!/usr/bin/env python3
"""`xferscope analyze --jobs N`: the report of one process, byte for byte, whatever becomes of those that help.

usage: jobs_test.py FAULTS MAKE_TRACE BIG_TRACE
"""
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FAULTS, MAKE_TRACE, BIG_TRACE = sys.argv[1:4]


def analyze(*options, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XFERSCOPE_")}
    return subprocess.run([FAULTS, "analyze", *options], env={**kept, **environment}, capture_output=True, timeout=300, check=False)


def lines(done):
    return [line for line in done.stderr.decode().splitlines() if line != "forked"]


def forked(done):
    return done.stderr.decode().splitlines().count("forked")


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.profile = f"{cls.folder}/machine.json"
        subprocess.run([MAKE_TRACE, "profile", cls.profile], check=True)
        cls.many = f"{cls.folder}/many.xft"
        subprocess.run([BIG_TRACE, "30000", "8", "3", "12", cls.many], check=True)
        cls.one = cls.of_one("-f", "json", cls.many)

    @classmethod
    def of_one(cls, *options):
        return analyze("-j", "1", "-p", cls.profile, *options)

    def check(self, jobs, *options, one=None, **environment):
        """The same; how many processes were forked, and what was said beside that of one process."""
        one = one or self.of_one(*options)
        self.assertGreater(len(one.stdout), 100)
        self.assertEqual(forked(one), 0)
        done = analyze("-j", str(jobs), "-p", self.profile, *options, **environment)
        self.assertEqual(done.returncode, one.returncode, done.stderr)
        self.assertTrue(done.stdout == one.stdout, "the reports differ")
        return forked(done), list((collections.Counter(lines(done)) - collections.Counter(lines(one))).elements())

    def test_the_same(self):
        for jobs in (2, 3, 8, 11):
            self.assertEqual(self.check(jobs, "-f", "json", self.many, one=self.one), (jobs - 1, []))
        for options in (("-f", "text"), ("-f", "markdown", "--memory", "1M"), ("--rank", "1", "-f", "json")):
            self.assertEqual(self.check(3, *options, self.many), (2, []))

    def test_ranks_that_wait_for_each_other(self):
        path = f"{self.folder}/coupled.xft"
        subprocess.run([BIG_TRACE, "4000", "8", "1", "6", path, "20"], check=True)
        self.assertEqual(self.check(4, "-f", "json", path), (3, []))

    def test_losses(self):
        path = f"{self.folder}/lossy.xft"
        shutil.copytree(self.many, path)
        files = sorted(os.listdir(path))
        with open(f"{path}/{files[3]}", "wb") as file:
            file.write(b"no trace")
        os.truncate(f"{path}/{files[5]}", os.path.getsize(f"{path}/{files[5]}") * 3 // 4)
        self.assertEqual(self.of_one("-f", "json", path).returncode, 3)
        self.assertEqual(self.check(3, "-f", "json", path), (2, []))

    def test_one_that_is_killed(self):
        """Nothing is lost: the report of one process, and a line."""
        for options, environment in ((("-f", "json"), {}), (("-f", "json", "-o", "/dev/stdout"), {})):
            done, said = self.check(4, *options, self.many, one=self.one, XFERSCOPE_TEST_DIES="1", **environment)
            self.assertEqual((done, said), (3, ["xferscope analyze: a process that helped was ended by signal 9: going on "
                                                "with one process alone"]))

    def test_none_can_be_made(self):
        for most in ("0", "2"):
            self.assertEqual(self.check(4, "-f", "json", self.many, one=self.one, XFERSCOPE_TEST_FORKS=most), (int(most), []))

    def test_by_itself(self):
        """A small run by one process; so is what is not shared out, whatever was asked for."""
        done = analyze("-p", self.profile, "-f", "json", self.many)
        self.assertEqual((forked(done), done.stdout == self.one.stdout), (0, True))
        self.assertEqual(forked(analyze("-j", "4", "--alone", "-p", self.profile, "-f", "json", self.many)), 0)
        self.assertEqual(forked(analyze("-j", "4", "-p", self.profile, "--per-transfer", "-n", "5", self.many)), 0)

    def test_wrong_usage(self):
        for word in ("0", "257", "x", ""):
            done = analyze("-j", word, self.many)
            self.assertEqual((done.returncode, len(lines(done))), (2, 1), word)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
