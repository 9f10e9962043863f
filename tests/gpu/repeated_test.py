#!/usr/bin/env python3
"""repeated.c: main() runs as often as asked, what it says is kept apart by round, a round that fails is the last.

usage: repeated_test.py LIBRARY
"""
import sys
import unittest
from pathlib import Path

import repeated

HERE = Path(__file__).resolve().parent
LIBRARY = Path(sys.argv.pop(1))


class RepeatedTest(unittest.TestCase):
    def run_it(self, command, rounds, repeater=LIBRARY):
        return repeated.run(command, HERE, 60, rounds=rounds, repeater=repeater)

    def test_as_often_as_asked(self):
        run = self.run_it("expr 1 + 2", 3)
        self.assertEqual((run.status, run.out, run.err[:3], len(run.seconds)), (0, ["3\n"] * 3 + [""], [""] * 3, 3))

    def test_options_are_read_anew(self):
        run = self.run_it("sort -r -t : -k 2 /dev/null --debug", 2)
        self.assertEqual((run.status, len(run.seconds), run.err[0] == run.err[1]), (0, 2, True))

    def test_exit_ends_a_round(self):
        run = self.run_it("ls --version", 2)
        self.assertEqual((run.status, len(run.seconds), run.out[0] == run.out[1]), (0, 2, True))

    def test_a_round_that_fails_is_the_last(self):
        run = self.run_it("ls /is/not/there", 3)
        self.assertEqual((run.status, len(run.seconds), repeated.rounds_for(run, 10, 20)), (2, 1, 1))

    def test_rounds_go_on_behind_one_that_fails_where_that_is_asked_for(self):
        run = repeated.run("ls /is/not/there", HERE, 60, rounds=3, repeater=LIBRARY, env={"REPEATED_GO_ON": "1"})
        self.assertEqual((run.status, run.statuses), (2, [2, 2, 2]))

    def test_only_the_program_is_repeated(self):
        run = repeated.run("expr 1 + 2", HERE, 60, ["env"], rounds=2, repeater=LIBRARY)
        self.assertEqual((run.status, run.out, len(run.seconds)), (0, ["3\n"] * 2 + [""], 2))

    def test_children_are_not_repeated(self):
        run = self.run_it("timeout 60 timeout 60 expr 1 + 2", 2)
        self.assertEqual((run.status, run.out, len(run.seconds)), (0, ["3\n"] * 2 + [""], 2))
        run = self.run_it("perl -e '$| = 1; if ($p = fork) { waitpid $p, 0; print 1 } else { print 2 }'", 1)
        self.assertEqual((run.status, run.out, len(run.seconds)), (0, ["21", ""], 1))

    def test_by_turns(self):
        """Each pair behind the first round has both ways, scripts of Python in the same order."""
        found = {}
        for seed in ("1", "2", "3"):
            env = {"REPEATED_TURNS": seed, "REPEATED_LONGEST": "0", "REPEATED_LEAST": "13"}
            runs = [repeated.run("expr 1 + 2", HERE, 60, (), env, 40, LIBRARY),
                    repeated.run("python3 -c 'import repeated_steps; repeated_steps.rounds(int)'", HERE, 60, (),
                                 {**env, "PYTHONPATH": str(HERE)}, 40, LIBRARY)]
            self.assertEqual([len(run.seconds) for run in runs], [13, 13], runs[1].err)
            found[seed] = runs[0].without
            self.assertEqual(runs[1].without, found[seed])
            self.assertEqual([sum(found[seed][at:at + 2]) for at in range(1, 13, 2)], [1] * 6)
            self.assertTrue(all(found[seed][at] == found[seed][at + 3] for at in (1, 5, 9)))
        self.assertGreater(len(set(map(tuple, found.values()))), 1)

    def test_without_it(self):
        run = self.run_it("expr 1 + 2", 3, None)
        self.assertEqual((run.status, run.out, run.seconds), (0, ["3\n"], []))

    def test_a_folder_of_its_own(self):
        run = self.run_it("sh -c 'ls repeated.c written; touch written'", 1)
        self.assertEqual((run.status, run.out[0]), (0, "repeated.c\n"))
        self.assertFalse((HERE / "written").exists())
        self.assertEqual(self.run_it("ls written", 1).status, 2)

    def test_rounds_that_fit(self):
        run = self.run_it("expr 1 + 2", 2)
        run.seconds = [3.0, 0.5]
        self.assertEqual([repeated.rounds_for(run, 3, 20), repeated.rounds_for(run, 3, 4), repeated.rounds_for(run, 0.1, 4)], [6, 4, 2])


if __name__ == "__main__":
    unittest.main()
