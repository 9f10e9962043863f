#!/usr/bin/env python3
"""`xferscope analyze` by the ranks of mpirun: the report of one process, byte for byte."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PARSER = argparse.ArgumentParser()
for name in ("command", "team", "other", "dies", "make-trace", "big-trace"):
    PARSER.add_argument(f"--{name}", required=True)
PARSER.add_argument("--mpich")
PATHS, _ = PARSER.parse_known_args()

# Open MPI's ways to let a container's root start ranks; more ranks than processors.
LET = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "ASAN_OPTIONS": "detect_leaks=0"}  # of MPI, in a build with sanitizers


def environment(**more):
    """Without what a surrounding run of MPI or a user's own profile would add."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_", "XFERSCOPE_"))}
    kept.update(LET, **more)
    return kept


def run(*command, cwd=None, **more):
    return subprocess.run(command, env=environment(**more), capture_output=True, timeout=300, check=False, cwd=cwd)


def own_lines(done):
    return [line for line in done.stderr.decode().splitlines() if line.startswith("xferscope")]


class Lab(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        said = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout
        if "Open MPI" not in said:
            raise unittest.SkipTest("ranks are started here by the options of Open MPI's mpirun")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.profile = f"{cls.folder}/machine.json"
        cls.make("profile", cls.profile)
        cls.many = cls.a_run("many.xft", (24000, 24, 3, 12))
        cls.reports = {}  # of one process, by the command's options
        cls.exchange = f"{cls.folder}/exchange.xft"  # of ranks that send each other messages
        os.mkdir(cls.exchange)
        for variant in range(4):
            cls.make("exchange", f"{cls.exchange}/exchange-{variant}.trace", str(variant))

    @classmethod
    def make(cls, *what):
        subprocess.run([PATHS.make_trace, *what], check=True)

    @classmethod
    def a_run(cls, name, shape, *steps):
        path = f"{cls.folder}/{name}"
        subprocess.run([PATHS.big_trace, *map(str, shape), path, *map(str, steps)], check=True)
        return path

    def alone(self, *options, **how):
        """The same command is the same report: one that was made is not made again."""
        key = (options, tuple(how.items()))
        if key not in self.reports:
            self.reports[key] = run(PATHS.command, "analyze", *options, **how)
        return self.reports[key]

    def together(self, ranks, *options, **how):
        return run("mpirun", "-n", str(ranks), PATHS.command, "analyze", *options, **how)

    def assert_equal(self, one, other):
        """Of everything but what mpirun says of a status that is not 0."""
        self.assertEqual(one.returncode, other.returncode, other.stderr)
        self.assertEqual(own_lines(one), own_lines(other))
        self.assertTrue(one.stdout == other.stdout, "the reports differ")


class OtherMpi(Lab):
    """Ranks of MPICH's launcher, where xferscope was built with Open MPI and MPICH."""

    def setUp(self):
        if not PATHS.mpich:
            self.skipTest("built with one MPI alone")

    def together(self, ranks, *options, **how):
        return run("mpiexec.hydra", "-n", str(ranks), PATHS.command, "analyze", *options, **how)

    def test_many_processes(self):
        one = self.alone("-p", self.profile, "-f", "json", self.many)
        for count in (2, 3):
            self.assert_equal(one, self.together(count, "-p", self.profile, "-f", "json", self.many))

    def test_alone(self):
        """Without the program for it each rank is one of Open MPI's, alone."""
        folder = f"{self.folder}/one"
        os.makedirs(f"{folder}/bin")
        os.makedirs(f"{folder}/lib")
        shutil.copy(PATHS.command, f"{folder}/bin/xferscope")
        shutil.copy(PATHS.team, f"{folder}/lib/xferscope-team")
        shutil.copy(os.path.join(os.path.dirname(PATHS.team), "libxferscope.so"), f"{folder}/lib/")
        done = run("mpiexec.hydra", "-n", "2", f"{folder}/bin/xferscope", "analyze", "-p", self.profile, "-f", "json",
                   self.many)
        self.assertEqual(done.stdout.count(b'"findings": ['), 2, done.stderr)


class SameReport(Lab):
    def check(self, *options, ranks=(2, 4)):
        one = self.alone("-p", self.profile, *options)
        self.assertGreater(len(one.stdout), 100)
        for count in ranks:
            self.assert_equal(one, self.together(count, "-p", self.profile, *options))
        return one.stdout

    def test_many_processes(self):
        self.check("-f", "json", self.many)

    def test_files_that_differ(self):
        """In call sites, kinds of events, GPUs, ranks, phases, contents; nothing is of all of them."""
        path = f"{self.folder}/different.xft"
        os.makedirs(path)
        scenarios = (("findings", ""), ("phases", ""), ("managed", "threads"), ("gpus", ""), ("sites", ""),
                     ("contents", "whole"), ("rank", "1"), ("ranges", ""), ("process", "2"), ("gate", "pinned"))
        for i, (name, variant) in enumerate(scenarios):
            self.make(name, f"{path}/{i}.trace", variant)
        for options in (("-f", "json"), ("-f", "text"), ("-f", "markdown"), ("--rank", "1", "-f", "json")):
            self.check(*options, path, ranks=(2, 3, 4))

    def test_messages(self):
        """Ranks that are replayed together: each rank plays all of them in some ways."""
        self.check("-f", "json", self.exchange, ranks=(2, 3, 4))
        path = self.a_run("coupled.xft", (4000, 8, 1, 6), 20)
        report = json.loads(self.check("-f", "json", path, ranks=(2, 3, 4)))
        self.assertEqual(report["whatif"]["together"]["processes"], 8)
        self.check("-f", "text", path, ranks=(3,))

    def test_messages_in_pieces(self):
        """More calls than ranks give each other at once."""
        path = self.a_run("coupled-large.xft", (120000, 6, 1, 6), 20)
        report = json.loads(self.check("-f", "json", path, ranks=(3,)))
        self.assertEqual(report["whatif"]["together"]["processes"], 6)

    def test_messages_and_nccl(self):
        """Of three ranks and more each reads its own processes alone."""
        path = f"{self.folder}/both.xft"
        os.makedirs(path)
        for variant in range(4):
            self.make("exchange", f"{path}/exchange-{variant}.trace", f"{variant}nccl")
        for form in ("json", "text"):
            self.check("-f", form, path, ranks=(2, 3, 4))
        report = json.loads(self.alone("-p", self.profile, "-f", "json", path).stdout)
        self.assertIn("ncclAllReduce", [row["function"] for row in report["messages"]["rows"]])

    def test_messages_without_memory(self):
        """Ranks that wait for each other are replayed by themselves then."""
        path = self.a_run("coupled-without.xft", (4000, 8, 1, 6), 20)
        report = json.loads(self.check("-f", "json", "--memory", "1", path, ranks=(2, 3)))
        self.assertNotIn("together", report["whatif"])

    def test_messages_of_many(self):
        """Too many ranks to be replayed together: they are shared out, though some have messages."""
        path = self.a_run("ranks.xft", (15600, 260, 1, 4))
        for variant in range(4):
            self.make("exchange", f"{path}/exchange-{variant}.trace", str(variant))
        report = json.loads(self.check("-f", "json", path, ranks=(2, 3)))
        self.assertGreater(report["messages"]["matched"], 0)
        self.assertEqual(len(report["run"]["processes"]), 264)

    def test_messages_that_are_not_matched(self):
        """NCCL's, and MPI's to ranks that were not recorded: shared out, too."""
        path = f"{self.folder}/nccl.xft"
        shutil.copytree(self.many, path)
        self.make("exchange", f"{path}/exchange-0.trace", "0nccl")
        self.check("-f", "json", path)
        report = json.loads(self.alone("-p", self.profile, "-f", "json", path).stdout)
        self.assertEqual((report["messages"]["matched"], report["messages"]["calls"] > 0), (0, True))

    def test_text(self):
        self.check("-f", "text", self.many)

    def test_page(self):
        """Rank 0 draws all processes, also with the advice, which other ranks have found sums for."""
        one = self.alone("-p", self.profile, "-f", "html", self.many)
        if not one.stdout:
            self.skipTest("built without npm: there is no page")
        for ranks in (2, 3):
            self.assert_equal(one, self.together(ranks, "-p", self.profile, "-f", "html", self.many))

    def test_more_ranks_than_processes(self):
        path = f"{self.folder}/exchange-only.xft"
        os.makedirs(path)
        for variant in range(2):
            self.make("exchange", f"{path}/{variant}.trace", str(variant))
        self.check("-f", "json", path, ranks=(5,))

    def test_long_processes(self):
        """Of which some calls are played, as two ranks have them."""
        path = self.a_run("long.xft", (500000, 2, 2, 8))
        report = json.loads(self.check("-f", "json", path, ranks=(2,)))
        self.assertIn("sampled", report["whatif"])

    def test_no_memory_for_ops(self):
        self.check("-f", "json", "--memory", "1", self.many, ranks=(3,))

    def test_losses(self):
        """A file that is none, and a cut one: the status and the lines of one process."""
        path = f"{self.folder}/lossy.xft"
        shutil.copytree(self.many, path)
        files = sorted(os.listdir(path))
        with open(f"{path}/{files[3]}", "wb") as file:
            file.write(b"no trace")
        os.truncate(f"{path}/{files[5]}", os.path.getsize(f"{path}/{files[5]}") * 3 // 4)
        one = self.alone("-p", self.profile, "-f", "json", path)
        self.assertEqual(one.returncode, 3)
        for ranks in (2, 3):  # the latter do not read what others read
            self.assert_equal(one, self.together(ranks, "-p", self.profile, "-f", "json", path))

    def test_a_file_for_the_output(self):
        out = f"{self.folder}/report.json"
        one = self.alone("-p", self.profile, "-f", "json", self.many)
        done = self.together(2, "-p", self.profile, "-f", "json", "-o", out, self.many)
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        with open(out, "rb") as file:
            self.assertTrue(file.read() == one.stdout)

    def test_what_is_not_shared(self):
        """One process does it: said once, and the same."""
        for options in (("--per-transfer", "-n", "50"), ("--compare", self.many, self.many)):
            one = self.alone("-p", self.profile, self.many if "-n" in options else "--brief", *options)
            many = self.together(2, "-p", self.profile, self.many if "-n" in options else "--brief", *options)
            self.assert_equal(one, many)

    def test_help_and_wrong_usage(self):
        self.assertEqual(self.together(2, "--help").stdout.count(b"usage:"), 2)  # each by itself
        wrong = self.together(2, "--nonsense")
        self.assertEqual((wrong.returncode, len(own_lines(wrong))), (2, 1), wrong.stderr)


class NoTeam(Lab):
    def test_alone(self):
        """Each rank reports."""
        one = self.alone("-f", "json", "--no-profile", self.many)
        two = self.together(2, "--alone", "-f", "json", "--no-profile", self.many)
        self.assertEqual(two.stdout.count(b'"schema"'), 2 * one.stdout.count(b'"schema"'))

    def test_a_script_that_is_the_rank(self):
        """Another rank may never come: nobody waits for it."""
        one = self.alone("-f", "json", "--no-profile", self.many)
        script = 'test "$OMPI_COMM_WORLD_RANK" = 1 || "$0" "$@"'
        done = run("mpirun", "-n", "2", "sh", "-c", script, PATHS.command, "analyze", "-f", "json", "--no-profile",
                   self.many)
        self.assert_equal(one, done)
        both = run("mpirun", "-n", "2", "sh", "-c", '"$0" "$@"; exit $?', PATHS.command, "analyze", "--together", "-f",
                   "json", "--no-profile", self.many)
        self.assert_equal(one, both)

    def test_ranks_with_different_arguments(self):
        other = f"{self.folder}/other.xft"
        os.makedirs(other)
        self.make("exchange", f"{other}/0.trace", "0")
        one = self.alone("-f", "json", "--no-profile", self.many)
        single = self.alone("-f", "json", "--no-profile", other)
        both = run("mpirun", "-n", "1", PATHS.command, "analyze", "-f", "json", "--no-profile", "-o",
                   f"{self.folder}/a.json", self.many, ":", "-n", "1", PATHS.command, "analyze", "-f", "json",
                   "--no-profile", "-o", f"{self.folder}/b.json", other)
        self.assertEqual(both.returncode, 0, both.stderr)
        for name, report in (("a", one), ("b", single)):
            with open(f"{self.folder}/{name}.json", "rb") as file:
                self.assertTrue(file.read() == report.stdout, name)

    def test_ranks_that_see_another_profile(self):
        """Rank 0 reports what it sees, and says why it was alone."""
        other = f"{self.folder}/other.json"
        self.make("profile", other, "other")
        command = (PATHS.command, "analyze", "-f", "json", "-p", "/proc/self/fd/9", self.many)
        first = ("sh", "-c", 'exec 9<"$0"; exec "$@"', self.profile, *command)
        second = (*first[:3], other, *command)
        one = run(*first)
        both = run("mpirun", "-n", "1", *first, ":", "-n", "1", *second)
        self.assertEqual(both.returncode, 0, both.stderr)
        self.assertTrue(both.stdout == one.stdout)
        self.assertEqual([line for line in own_lines(both) if line not in own_lines(one)],
                         ["xferscope analyze: the ranks do not see the same files and machine profile: rank 0 "
                          "analyzes alone what it sees"])

    def test_without_the_program(self):
        """As where it was built without MPI: each rank by itself, as before."""
        os.makedirs(f"{self.folder}/bin")
        shutil.copy(PATHS.command, f"{self.folder}/bin/xferscope")
        done = run("mpirun", "-n", "2", f"{self.folder}/bin/xferscope", "analyze", "-f", "json", "--no-profile",
                   self.many)
        self.assertEqual(done.returncode, 0, done.stderr)
        one = self.alone("-f", "json", "--no-profile", self.many)
        self.assertEqual(len(done.stdout), 2 * len(one.stdout))


class OneLine(Lab):
    def refused(self, program, *words):
        rank = (self.many, "--no-profile")
        done = run("mpirun", "-n", "1", PATHS.command, "analyze", *rank, ":", "-n", "1", program, *rank)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(len(own_lines(done)), 1, done.stderr)
        for word in words:
            self.assertIn(word, own_lines(done)[0])

    def test_another_version(self):
        self.refused(PATHS.other, "rank 1 has xferscope 0.0.1", "rank 0 has xferscope 1.", "install the same")

    def test_a_rank_that_is_killed(self):
        self.refused(PATHS.dies, "another rank has ended", "there is no report")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
