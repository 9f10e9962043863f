#!/usr/bin/env python3
"""All is passed on for a while (preload/apply/apply.h): nothing is carried out then, memory is given back whichever way it was made,
and what the trials have found stays.

usage: passed_test.py BIN SIMGPU
"""
import re
import sys
import unittest

from simulated import BIN, XFERSCOPE, run

PROGRAM = BIN / "apply" / "passed"
AT_ONCE = {"XFERSCOPE_APPLY_TRIALS": "0"}


def carried(done, word):
    return [int(count) for count in re.findall(rf"^xferscope apply: {word} .*?(\d+) calls? carried out", done.stderr, re.MULTILINE)]


class PassedTest(unittest.TestCase):
    def compare(self, *arguments, **settings):
        alone = run(PROGRAM, *arguments)
        done = run(XFERSCOPE, "apply", "--", PROGRAM, *arguments, **settings)
        self.assertEqual((done.returncode, done.stdout), (alone.returncode, alone.stdout), done.stderr)
        self.assertNotIn("different", done.stdout)
        return done

    def test_copies(self):
        self.assertEqual(carried(self.compare(**AT_ONCE), "staging"), [5, 5])  # of 9, up and down

    def test_page_locked_memory(self):
        done = self.compare("locked", **AT_ONCE)
        self.assertEqual(re.findall(r"^(first|second|passed on|last): (kept|gone)$", done.stderr, re.MULTILINE),
                         [("first", "gone"), ("second", "kept"), ("passed on", "gone"), ("last", "kept")])
        self.assertEqual(carried(done, "locking"), [4])

    def test_trials_go_on_where_they_were(self):
        """Time that goes by meanwhile is not lost behind a copy of ours."""
        for which in "01":
            done = self.compare("rounds", which)
            self.assertEqual(len(carried(done, "staging")), 2, done.stderr)
            self.assertNotIn("is left as the program asked", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
