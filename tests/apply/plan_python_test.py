"""apply --plan on a Python program: its sites are lines, found again by their file as long as that is what it was. On
the simulated GPU.

plan_python_test.py BIN SIMGPU"""

import json
import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import simulated
from simulated import BIN

XFERSCOPE, SOURCE = BIN / "xferscope", Path(__file__).parent / "python" / "planned.py"
ROUNDS = 24


def run(*command, **settings):
    return simulated.run(*command, **{"XFERSCOPE_CONTENT_SHARE": "0", "XFERSCOPE_APPLY_TRIALS": "0", **settings})


class Python(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program, self.path = self.folder / "planned.py", self.folder / "plan.json"
        shutil.copyfile(SOURCE, self.program)
        os.utime(self.program, (1, 1))
        self.command = (sys.executable, self.program, ROUNDS)
        self.alone = self.must("record", "-q", "--content", "-o", self.folder / "run.xft", "--", *self.command).stdout
        self.plan = self.analyzed()

    def must(self, *command):
        done = run(XFERSCOPE, *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def analyzed(self):
        self.must("analyze", self.folder / "run.xft", "--no-profile", "--plan", self.path)
        return json.loads(self.path.read_text(encoding="utf-8"))

    def keep(self):
        return next(step for step in self.plan["steps"] if step["by"] == "leave-out")

    def left_out(self, *options, more=()):
        """How many of the uploads were left out; the output is what it is alone."""
        self.path.write_text(json.dumps(self.plan), encoding="utf-8")
        done = self.must("apply", "--plan", self.path, *options, "--", *self.command, *more)
        self.assertEqual(done.stdout, self.alone)
        self.said = done.stderr
        found = re.search(r"apply: leave-out H2D planned\.py:\d+: (\d+) MiB of 72 calls", done.stderr)
        return int(found[1]) if found else 0

    def test_lines_are_found_again(self):
        site = self.keep()["sites"][0]
        self.assertTrue(site["python"] and self.keep()["carry_out"] and site["caller"]["file_hash"], self.keep())
        self.assertEqual((site["function"], site["caller"]["function"], site["build_id"]), ("copy", "Model.step", None))
        self.assertEqual(self.left_out(), 2 * (ROUNDS - 1), self.said)
        self.assertEqual(self.left_out(more=["thread"]), 2 * (ROUNDS - 1), self.said)

    def test_other_lines_and_callers_are_not(self):
        site = self.keep()["sites"][0]
        for change in ({"line": site["line"] - 1}, {"caller": {**site["caller"], "function": "Model.show"}},
                       {"caller": {**site["caller"], "function": "copy"}}):
            with self.subTest(change):
                self.keep()["sites"][0] = {**site, **change}
                self.assertEqual(self.left_out(), 0)
                self.assertIn("no call came from its sites", self.said)
        self.keep()["sites"][0] = {**site, "caller": None}
        self.assertEqual(self.left_out(), 2 * (ROUNDS - 1), self.said)

    def test_switched_off_by_its_line(self):
        self.assertEqual(self.left_out("--off", f"planned.py:{self.keep()['sites'][0]['line']}"), 0)
        self.assertIn("as the program asked", self.said)

    def test_a_file_that_changed_since_the_plan(self):
        with self.program.open("a", encoding="utf-8") as file:
            file.write("# another one\n")
        self.assertEqual(self.left_out(), 0)
        self.assertIn("planned.py is not as it was when the plan was made", self.said)

    def test_a_file_that_is_a_pipe_now(self):
        self.program.rename(self.folder / "elsewhere.py")
        os.mkfifo(self.program)
        self.command = (sys.executable, self.folder / "elsewhere.py", ROUNDS)
        self.assertEqual(self.left_out(), 0)
        self.assertIn("planned.py is not as it was", self.said)

    def test_a_file_that_changed_since_the_run(self):
        os.utime(self.program)
        self.plan = self.analyzed()
        self.assertEqual((self.keep()["sites"][0]["file_hash"], self.keep()["carry_out"]), (None, False))
        self.assertIn("as they were", self.keep()["why_not"])
        self.keep()["carry_out"] = True
        self.assertEqual(self.left_out(), 0)
        self.assertIn("nothing says where its sites are", self.said)

    def test_plans_that_make_no_sense(self):
        self.keep()["sites"][0]["line"] = None
        self.path.write_text(json.dumps(self.plan), encoding="utf-8")
        done = run(XFERSCOPE, "apply", "--plan", self.path, "--", *self.command)
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("file_hash", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
