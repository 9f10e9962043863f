"""tests/pairs/run, with scripts in place of the recorder and of the programs."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parent / "run"
ONE, TWO, TABLE = "01-pageable-upload", "10-peer-disabled", "13-repeated-transfer"

# Appends to the log beside it what it is; the nth call prints the nth line that it was given.
PROGRAM = """#!/bin/sh
echo {name} "$@" >>{log}
echo x >>{calls}
sed -n "$(wc -l <{calls})p" {lines}
exit {status}
"""
RECORDER = """#!/bin/sh
echo "$@" >>{log}
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


def printed(work_ns, total=5, transfers=3):
    return f"work_ns {work_ns} sum {total} transfers {transfers}"


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xferscope-pairs-")
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name) / "build"
        self.out, self.log = Path(folder.name) / "out", Path(folder.name) / "log"
        self.script(self.build / "bin" / "xferscope", RECORDER.format(log=self.log))

    def script(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def program(self, pair, side, lines, status=0):
        path = self.build / "bin" / "pairs" / pair / side
        names = {"name": f"{pair[:2]}-{side}", "log": self.log, "calls": f"{path}.calls", "lines": f"{path}.lines"}
        self.script(path, PROGRAM.format(status=status, **names))
        Path(names["lines"]).write_text("\n".join(lines) + "\n")

    def pair(self, pair, before, after):
        self.program(pair, "before", [printed(ns) for ns in before])
        self.program(pair, "after", [printed(ns) for ns in after])

    def run_pairs(self, *options, status=0):
        done = subprocess.run([sys.executable, RUN, self.build, self.out, "--gpus", "1", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def times(self):
        return json.loads((self.out / "times.json").read_text())["pairs"]

    def test_recorded_once_then_in_turn(self):
        self.pair(ONE, [9000000, 1000000, 4000000, 2000000], [8000000, 500000, 510000, 490000])
        table = self.run_pairs("--only", "01", "--repeat", "3")
        log = self.log.read_text().splitlines()
        self.assertEqual([line.split(" -- ")[0] for line in log if " -- " in line],
                         [f"record --quiet --force -o {self.out}/01.xft",
                          f"record --quiet --force -o {self.out}/01-after.xft"])
        self.assertEqual([line for line in log if " -- " not in line], 4 * ["01-before", "01-after"])
        self.assertEqual(table.splitlines()[1].split(), [ONE, "2.000", "0.500", "1.500", "150.0%"])
        written = self.times()[ONE]
        self.assertEqual([run["work_ns"] for run in written["before"]["runs"]], [1000000, 4000000, 2000000])
        self.assertEqual([written[side]["recorded"]["work_ns"] for side in ("before", "after")], [9000000, 8000000])
        self.assertEqual((written["after"]["median_work_ns"], written["after"]["trace"]), (500000, "01-after.xft"))
        for run in written["before"]["runs"]:
            self.assertEqual((run["sum"], run["transfers"]), ("5", 3))
            self.assertGreater(run["wall_ns"], 0)

    def test_content_is_hashed_where_the_pair_says_so(self):
        self.pair(TABLE, [2, 2], [1, 1])
        self.run_pairs("--only", "13", "--repeat", "1")
        recorded = [line.split(" -- ")[0] for line in self.log.read_text().splitlines() if " -- " in line]
        self.assertEqual([line.split()[-1] for line in recorded], ["--content", "--content"])

    def test_others_go_on_when_one_fails(self):
        self.program(ONE, "before", [], status=7)
        self.program(ONE, "after", [printed(1)] * 4)
        self.pair(TABLE, [2000000] * 4, [1000000] * 4)
        table = self.run_pairs("--only", "01,13", "--repeat", "3", status=1).splitlines()
        self.assertEqual(self.times()[ONE]["problems"],
                         ["before, recorded: exit status 7: said nothing", "before: exit status 7: said nothing"])
        self.assertIn("before: exit status 7", table[1])
        self.assertEqual(table[2].split(), [TABLE, "2.000", "1.000", "1.000", "0.0%"])
        self.assertEqual(self.log.read_text().splitlines().count("01-before"), 2)  # not again and again

    def test_a_program_that_prints_no_times_has_failed(self):
        self.program(ONE, "before", ["done"] * 2)
        self.program(ONE, "after", [printed(1)] * 2)
        self.run_pairs("--only", "01", "--repeat", "1", status=1)
        self.assertIsNone(self.times()[ONE]["before"]["median_work_ns"])

    def test_sums_that_differ(self):
        self.program(ONE, "before", [printed(2)] * 2)
        self.program(ONE, "after", [printed(1), printed(1, total=6)])
        self.run_pairs("--only", "01", "--repeat", "1", status=1)
        self.assertEqual(self.times()[ONE]["problems"], ["sums differ: before: 5; after: 5 6"])

    def test_a_program_that_hangs_is_ended_with_those_it_started(self):
        self.program(ONE, "before", [printed(1)] * 2)
        hanging = self.build / "bin" / "pairs" / ONE / "after"
        self.script(hanging, "#!/bin/sh\nsleep 1000 &\nwait\n")
        self.run_pairs("--only", "01", "--repeat", "1", "--limit", "1", status=1)
        self.assertEqual(self.times()[ONE]["problems"],
                         ["after, recorded: took more than 1 s", "after: took more than 1 s"])

    def test_gpus_and_earlier_results(self):
        self.pair(ONE, [2, 2], [1, 1])
        self.pair(TWO, [2, 2], [1, 1])
        table = self.run_pairs("--only", "01,10", "--repeat", "1")
        self.assertEqual(table.splitlines()[-1], f"too few GPUs for: {TWO}")
        self.assertEqual(set(self.times()), {ONE})
        self.run_pairs("--only", "10", "--repeat", "1", "--gpus", "2")
        self.assertEqual(set(self.times()), {ONE, TWO})

    def test_wrong_usage(self):
        self.run_pairs("--only", "99", status=2)
        self.run_pairs("--repeat", "0", status=2)


if __name__ == "__main__":
    unittest.main()
