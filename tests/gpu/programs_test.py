#!/usr/bin/env python3
"""programs.py, programs_table.py, apply_same.py and crowd.py with a stand-in for xferscope: what is left out, what is compared.

usage: programs_test.py LIBRARY    repeated.c's
"""
import json
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

import crowd
import programs_table

HERE = Path(__file__).resolve().parent
LIBRARY = Path(sys.argv.pop(1)).resolve()

# Stands in for the command: `record` writes how it recorded and runs the program; `analyze` tells the spans
# that stand in the file of that way, or nothing.
XFERSCOPE = """#!/bin/sh
case $1 in
record) echo "${XFERSCOPE_TIMING:-default}" >"$4"; while [ "$1" != -- ]; do shift; done; shift; exec "$@" ;;
apply) while [ "$1" != -- ]; do shift; done; shift; APPLIED=1 exec "$@" ;;
analyze) cat "$(dirname "$0")/$(cat "$2").json" ;;
esac
"""


def whatif(recorded, alone, **more):
    span = {"recorded_s": recorded, "replayed_s": recorded, "alone_s": alone}
    return {"whatif": {"known": True, "span": span, **more}}


class ProgramsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "xferscope").write_text(XFERSCOPE)
        (self.folder / "bin" / "xferscope").chmod(0o755)
        self.tell(whatif(0.0101, 0.0100), whatif(0.0120, 0.0104))

    def tell(self, light, default):
        for way, figures in (("host", light), ("default", default)):
            (self.folder / "bin" / f"{way}.json").write_text(json.dumps(figures))

    def script(self, name, *arguments):
        done = subprocess.run([sys.executable, str(HERE / name), str(self.folder), str(self.folder / "out"), *arguments],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def measure(self, commands, *options):
        (self.folder / "commands").write_text(commands)
        status, text = self.script("programs.py", str(self.folder / "commands"), *options)
        lines = (self.folder / "out" / "runs.tsv").read_text().splitlines() if status < 2 else []
        return status, text, [line.split("\t") for line in lines]

    def table(self):
        status, text = self.script("programs_table.py", "profile")
        entries = json.loads((self.folder / "out" / "table.json").read_text())
        return status, text, {entry["name"]: entry for entry in entries}

    def test_rounds(self):
        _, text, runs = self.measure("# ours\n\na/one: true\nb/two: env true\n", "--rounds", "2", "--bare", "^a/")
        self.assertIn("2 of 2 programs work here", text)
        self.assertEqual(sorted((run[0], run[1]) for run in runs),
                         sorted(2 * [("a/one", "bare"), ("a/one", "light"), ("a/one", "recorded"),
                                     ("b/two", "light"), ("b/two", "recorded")]))
        self.assertEqual(len({run[5] for run in runs if run[5]}), 8)

    def test_a_way_twice(self):
        runs = self.measure("a: true\n", "--rounds", "1", "--ways", "light,recorded,light")[2]
        self.assertEqual([run[1] for run in runs], ["light", "recorded", "light"])

    def test_rounds_that_differ(self):
        """None is run to begin with; what fails, or takes too long, is not run again."""
        status, text, runs = self.measure("b: true\na: false\nlong: sleep 9\n", "--screen", "0", "--limit", "0.5", "--rounds", "3",
                                          "--ways", "light,recorded/recorded,light")
        self.assertNotIn("work here", text)
        self.assertEqual([run[:2] for run in runs if run[0] == "b"],
                         [["b", way] for way in ("light", "recorded", "light", "recorded", "light", "recorded")])
        self.assertEqual([run[4] for run in runs if run[0] != "b"], ["1", "None"])
        problems = [entry["problem"] for entry in json.loads((self.folder / "out" / "programs.json").read_text())]
        self.assertEqual((status, problems), (0, [None, "exit status 1 in some runs", "takes longer than 0.5 s"]))

    def test_each_round_has_its_time(self):
        runs = self.measure("a: sleep 0.2\nb: sleep 0.2\n", "--screen", "0", "--rounds", "2", "--ways", "light", "--seconds", "0/9")[2]
        self.assertEqual([run[0] for run in runs], ["a", "b"])

    def test_cost(self):
        program = self.folder / "program"
        program.write_text('#!/bin/sh\nls "$(dirname "$0")/out" | grep -q "a.budget$1" && echo took 130 || echo took 100\n')
        program.chmod(0o755)
        status, _, runs = self.measure("a: ./program 2\n", "--rounds", "1", "--ways", "bare,budget", "--figure", r"took (\d+)")
        self.assertEqual([(run[1], run[6]) for run in runs], [("bare", "100"), ("budget", "130")])
        done = subprocess.run([sys.executable, str(HERE / "programs_cost.py"), str(self.folder / "out")],
                              capture_output=True, text=True, check=False)
        self.assertEqual((status, done.returncode), (0, 0), done.stderr)
        self.assertIn("| a | 100.0 | 0.0% | +30.0% |", done.stdout)
        self.assertIn("region, budget: 1 programs, median +30.0%, worst +30.0%, at most 2 % in 0, 5 % in 0", done.stdout)

    def same(self, commands, *options):
        (self.folder / "commands").write_text(commands)
        status, text = self.script("apply_same.py", str(self.folder / "commands"), "--times", "2", "--processes", "2", "--jobs", "2", *options)
        lines = (self.folder / "out" / "same.jsonl").read_text().splitlines()
        return status, text, {entry["name"]: entry for entry in map(json.loads, lines)}

    def test_the_same_applied(self):
        status, text, entries = self.same("a: sh -c 'echo kept 5 in $(date +%N) ns; exit 0'\nf: false\n")
        self.assertEqual(status, 0, text)
        self.assertEqual(entries["a"]["processes"], {"all, GPUs 0": 1, "all, GPUs all": 1, "alone, GPUs 0": 1, "alone, GPUs all": 2,
                                                     "check, GPUs 0": 1, "check, GPUs all": 1, "usual, GPUs 0": 1, "usual, GPUs all": 1})
        self.assertEqual([(entries[name]["whole"], entries[name]["left_out"]) for name in "af"], [(True, None), (False, "exit status 1")])
        self.assertIn("with all of their runs: 1\n", text)

    def test_another_number_word_or_status_applied(self):
        status, text, entries = self.same("n: sh -c 'echo kept ${APPLIED:-5}'\nw: sh -c 'echo ${APPLIED:+un}done'\n"
                                          "s: sh -c 'exit ${APPLIED:-0}'\ne: sh -c 'echo ${APPLIED:-5} >&2'\n", "--again", "1")
        self.assertEqual(status, 1)
        self.assertEqual({name: len(entry["differs"]) for name, entry in entries.items()}, {"n": 6, "w": 6, "s": 6, "e": 6})
        self.assertEqual({len(entry["still"]) for entry in entries.values()}, {12})
        self.assertIn("n: usual, GPUs 0: '1' instead of '5'", text)
        self.assertIn("differ still: 4\n", text)

    def test_what_differs_is_run_again_alone(self):
        counted = f"echo >>{self.folder}/ran; test $(wc -l <{self.folder}/ran) -lt 4 && echo 5 || echo $(date +%N)"
        status, text, entries = self.same(f"a: sh -c '{counted}'\n", "--jobs", "1", "--bare", "2")
        self.assertEqual((status, bool(entries["a"]["differs"]), entries["a"]["still"]), (0, True, []), text)

    def test_what_differs_is_run_again_with_the_same_gpus(self):
        """All that are there are named by no variable."""
        seen = self.folder / "seen"
        self.same(f"a: sh -c 'echo ${{CUDA_VISIBLE_DEVICES:-both}} >>{seen}; echo ${{APPLIED:-5}}'\n", "--again", "1")
        self.assertEqual(set(seen.read_text().split()), {"0", "both"})

    def test_what_the_number_of_gpus_changes(self):
        """What a program says or how it ends with one GPU is no difference from how it is with two."""
        tells = "echo ${CUDA_VISIBLE_DEVICES:-both}; test -z $CUDA_VISIBLE_DEVICES"
        status, text, entries = self.same(f"s: sh -c '{tells}'\nw: sh -c '{tells} || exit $((1${{APPLIED}}))'\n", "--bare", "2", "--again", "1")
        self.assertEqual((status, entries["s"]["whole"], entries["s"]["differs"]), (1, True, []), text)
        self.assertEqual({line.split(":")[0] for line in entries["w"]["differs"]}, {"usual, GPUs 0", "all, GPUs 0", "check, GPUs 0"})

    def test_alone_once_and_checked_by_turns(self):
        entries = self.same("".join(f"{name}: true\n" for name in "abcd"), "--bare", "1", "--check-turns")[2]
        counts = [entry["processes"] for entry in entries.values()]
        self.assertEqual({(count["alone, GPUs all"], "alone, GPUs 0" in count) for count in counts}, {(1, False)})
        self.assertEqual(sorted(next(form for form in count if "check" in form) for count in counts), ["check, GPUs 0"] * 2 + ["check, GPUs all"] * 2)
        self.assertEqual({count.get("check, GPUs 0", 0) + count.get("check, GPUs all", 0) for count in counts}, {1})

    def test_a_process_each_time(self):
        """What cannot be repeated, fewer times than the others; and what is not there."""
        (self.folder / "lib").mkdir()
        (self.folder / "lib" / LIBRARY.name).symlink_to(LIBRARY)
        entries = self.same("f: ls missing\nt: true\nn: ./missing\n", "--times", "4", "--processes", "1", "--single", "2", "--any-status")[2]
        applied = {name: sum(entries[name]["processes"].get(form + ", GPUs 0", 0) for form in ("usual", "all")) for name in "ft"}
        self.assertEqual((applied, entries["f"]["whole"], entries["t"]["whole"]), ({"f": 2, "t": 1}, False, True))
        self.assertEqual((entries["n"]["left_out"], entries["n"]["processes"]), ("is not there", {}))

    def repeating(self, commands, *options):
        (self.folder / "lib").mkdir(exist_ok=True)
        if not (self.folder / "lib" / LIBRARY.name).exists():
            (self.folder / "lib" / LIBRARY.name).symlink_to(LIBRARY)
        return self.same(commands, "--times", "4", "--processes", "1", "--bare", "2", "--any-status", "--to-the-end", *options)

    def test_rounds_are_spread_over_processes(self):
        """What is too slow for all of its rounds in one gets more processes."""
        entry = self.repeating("s: sleep 0.7\n", "--longest", "1", "--spread")[2]["s"]
        self.assertEqual((entry["left_out"], entry["rounds"], entry["whole"]), (None, 3, True))  # two behind the first one
        self.assertEqual(entry["applied"], {"0": 6, "all": 6})
        self.assertEqual(sum(count for form, count in entry["processes"].items() if form.startswith(("usual", "all"))), 4)
        self.assertEqual(self.repeating("s: sleep 2\n", "--longest", "1", "--spread", "--first", "1")[2]["s"]["left_out"], "takes too long")

    def test_what_fails_with_another_number_of_gpus_has_its_rounds(self):
        status, text, entries = self.repeating("e: printenv CUDA_VISIBLE_DEVICES\n", "--one", "", "--two", "0,1", "--check-turns", "--check-rounds", "2")
        self.assertEqual((status, entries["e"]["whole"], entries["e"]["differs"]), (0, True, []), text)
        self.assertEqual((entries["e"]["rounds"], entries["e"]["applied"]), (4, {"0,1": 4, "all": 4}))

    def test_one_number_of_gpus_alone(self):
        """All is asked of that number, and no other one is seen."""
        for own, rest, seen in (("--one", "--two", "0"), ("--two", "--one", "0,1")):
            entry = self.repeating("e: printenv CUDA_VISIBLE_DEVICES\n", own, seen, rest, "none")[2]["e"]
            self.assertEqual((entry["whole"], entry["differs"], entry["applied"]), (True, [], {seen: 4}))
            self.assertEqual((entry["processes"]["alone, GPUs " + seen], len({form.split(", ")[1] for form in entry["processes"]})), (2, 1))

    def test_fewer_rounds_with_check(self):
        entry = self.repeating("e: expr 1 + 2\n", "--check-rounds", "2")[2]["e"]
        self.assertEqual((entry["whole"], entry["differs"], entry["processes"]["check, GPUs all"]), (True, [], 1))
        other = self.repeating("e: printenv APPLIED REPEATED_ROUNDS\n", "--check-rounds", "2", "--again", "1")[2]["e"]
        self.assertTrue(any(line.startswith("check") for line in other["still"]), other)

    def test_known_to_need_a_process_each(self):
        entries = self.repeating("a: expr 1 + 2\nb: expr 1 + 3\n", "--each", "^a$", "--single", "3", "--apart", "1")[2]
        self.assertEqual([(entries[name]["rounds"], entries[name]["applied"]) for name in "ab"],
                         [(1, {"0": 3, "all": 3}), (4, {"0": 4, "all": 4})])

    def test_what_ends_its_process_needs_one_each(self):
        """exec ends what would have repeated, with status 0."""
        entry = self.repeating("x: sh -c 'exec true'\n", "--single", "2", "--apart", "1")[2]["x"]
        self.assertEqual((entry["rounds"], entry["applied"], entry["left_out"]), (1, {"0": 2, "all": 2}, None))

    def test_what_was_cut_is_compared_and_done_again(self):
        cut = self.same("a: sh -c 'test $APPLIED && { echo 7; test -z $CUDA_VISIBLE_DEVICES && sleep 60; } || echo 5'\n", "--seconds", "3", "--to-the-end")[2]["a"]
        self.assertEqual((cut["left_out"], cut["whole"], bool(cut["still"])), ("time ended", False, True))
        (self.folder / "earlier").write_text(json.dumps(cut) + "\n" + '{"name": "b", "left_out": null}\n')
        self.assertEqual(set(self.same("a: true\nb: true\n", "--done", str(self.folder / "earlier"))[2]), {"a"})

    def test_what_begins_late_or_was_done(self):
        first = self.same("a: true\nb: true\n", "--seconds", "0")
        self.assertEqual((first[0], first[2]), (0, {}))
        (self.folder / "earlier").write_text('{"name": "b"}\n')
        self.assertEqual(set(self.same("a: true\nb: true\n", "--done", str(self.folder / "earlier"))[2]), {"a"})

    def test_programs_that_fail_by_themselves(self):
        entries = self.same("f: sh -c 'exit 3'\ng: sh -c 'test $APPLIED && exit 4; exit 3'\n", "--any-status", "--again", "1")[2]
        self.assertEqual([(entries[name]["whole"], entries[name]["status"], bool(entries[name]["still"])) for name in "fg"],
                         [(True, 3, False), (True, 3, True)])

    def test_time_ends(self):
        status, text, entries = self.same("a: sh -c 'test $APPLIED && sleep 60; true'\n", "--seconds", "2")
        self.assertEqual((status, entries["a"]["left_out"]), (0, "time ended"), text)

    def test_repeated(self):
        (self.folder / "lib").mkdir()
        (self.folder / "lib" / LIBRARY.name).symlink_to(LIBRARY)
        text, entries = self.same("e: expr 1 + 2\nl: expr 10 - 3\ns: sleep 1.1\n", "--times", "3", "--processes", "1", "--longest", "1")[1:]
        self.assertEqual([(entries[name]["rounds"], entries[name]["whole"], entries[name]["left_out"]) for name in "els"],
                         [(3, True, None), (3, True, None), (3, False, "takes too long")], text)
        usual = [entries[name]["processes"].get("usual, GPUs 0", 0) for name in "el"]
        self.assertEqual(sorted(usual), [0, 1])  # by turns

    def test_applied_ways(self):
        runs = self.measure("a: sh -c 'echo took ${APPLIED:-0}'\n", "--rounds", "1", "--ways", "bare,applied", "--figure", r"took (\d+)")[2]
        self.assertEqual([(run[1], run[6]) for run in runs], [("bare", "0"), ("applied", "1")])

    def test_a_way_that_is_not(self):
        self.assertEqual(self.measure("a: true\n", "--ways", "bare,fast")[0], 2)

    def test_left_out(self):
        status, text, runs = self.measure("f: false\nm: ./missing\ns: sleep 60\n", "--limit", "3")
        self.assertEqual((status, runs), (1, []))
        self.assertIn("0 of 3", text)
        problems = {entry["name"]: entry["problem"] for entry in self.table()[2].values()}
        self.assertEqual(problems, {"f": "exit status 1", "m": "exit status 127", "s": "takes longer than 3 s"})

    def test_no_time(self):
        status, _, runs = self.measure("a: true\n", "--seconds", "0")
        self.assertEqual((status, runs), (1, []))
        self.assertEqual(self.table()[2]["a"]["problem"], "no time was left")

    def test_wrong_line(self):
        for line in ("no colon\n", "quoted: 'open\n"):
            self.assertIn(":1: not NAME: COMMAND", self.measure(line)[1])

    def test_compared(self):
        self.measure("a: true\n", "--rounds", "2")
        status, text, entries = self.table()
        self.assertEqual(status, 0, text)
        self.assertIn("| a | 10.000 | 0.0% | 12.000 | 10.400 | +4.0% | +20.0% |", text)
        self.assertIn("one unrecorded run of 2 ms and more off another: 1; median 0.0%", text)
        self.assertIn("the replay off that other one: 1; median 4.0%", text)
        self.assertIn("steady ones of these: 1; median 4.0%, mean 4.0%; within 3 % 0, within 5 % 1", text)
        self.assertAlmostEqual(entries["a"]["off"], 0.04)

    def test_short_ones_and_one_run_are_not_steady(self):
        self.measure("a: true\n", "--rounds", "1")
        self.assertIn("steady ones of these: none", self.table()[1])
        self.tell(whatif(0.0011, 0.0010), whatif(0.0012, 0.0010))
        self.measure("a: true\n", "--rounds", "2")
        self.assertIn("off, of 2 ms and more: none", self.table()[1])

    def test_steady_as_asked(self):
        runs = [{"way": "light", "alone": ms, "status": "0"} for ms in (100, 104)] + [{"way": "recorded", "alone": 101, "recorded": 110, "status": "0"}]
        entry = programs_table.entry_of({"name": "a", "command": "a", "problem": None}, runs)
        for percent, steady in ((10, "steady ones of these: 1"), (3, "steady ones of these: none")):
            self.assertIn(steady, "\n".join(programs_table.summary([entry], 2, percent)))

    def test_not_replayed(self):
        self.tell(whatif(0.0101, 0.0100), whatif(0.012, 0.01, known=False, why_not="events were lost"))
        self.measure("a: true\n", "--rounds", "1")
        status, _, entries = self.table()
        self.assertEqual((status, entries["a"]["problem"]), (1, "events were lost"))

    def test_a_run_that_fails(self):
        self.measure(f"a: sh -c 'echo >>{self.folder}/ran; test $(wc -l <{self.folder}/ran) -lt 4'\n", "--rounds", "1")
        self.assertIn("exit status 1 in some runs", self.table()[2]["a"]["problem"])


class Together:
    """Tasks, until `end`, none of which ends before `most` run at a time for the first time."""

    def __init__(self, most, end):
        self.running, self.most, self.end, self.met = 0, most, end, threading.Event()

    def next(self, _):
        if time.monotonic() >= self.end:
            return None
        self.running += 1
        if self.running == self.most:
            self.met.set()
        return "task"

    def run(self, task):
        self.met.wait()
        time.sleep(0.01)
        return task

    def ended(self, *_):
        self.running -= 1


class CrowdTest(unittest.TestCase):
    def test_how_many_at_a_time_end_most(self):
        work, limits, real = Together(3, time.monotonic() + 600), [], crowd.Crowd.set_limit

        def set_limit(self, limit):
            limits.append(limit)
            work.end = work.end if len(limits) < 3 else 0  # chosen
            real(self, limit)
        with unittest.mock.patch.object(crowd.Crowd, "set_limit", set_limit):
            said = dict(crowd.run(work, [1, 3], 3))
        self.assertEqual((limits, said["processes in a second, by how many at a time"][1]), ([1, 3, 3], 0))

    def test_a_failure_ends_it(self):
        work = Together(1, time.monotonic() + 60)
        work.run = lambda _: 1 // 0
        with self.assertRaises(ZeroDivisionError):
            crowd.run(work, [2], 1)


if __name__ == "__main__":
    unittest.main()
