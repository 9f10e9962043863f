"""The summary at the end of record: five lines, once, whatever becomes of it."""
import os
import re
import signal
import subprocess
import unittest

from lab import Bench, PROGRAMS, XFERSCOPE, environment, needs, own_lines, record, report, run

LINES = (
    r"^xferscope: moved 200 KiB in 200 transfers: H2D 100 KiB, D2H 100 KiB$",
    r"^xferscope: cost [\d.]+ [mu]s, \d+ % of the run's [\d.]+ [mu]s; .*exposed.* \(simulated GPU\)$",
    r"^xferscope: worst: ",
    r"^xferscope: 1 process, \d+ events in run\.xft$",
    rf"^xferscope: next: {re.escape(str(XFERSCOPE))} analyze run\.xft",
)


def recorded(*command, **more):
    return record(*command, summary=True, **more)


@needs("endings")
class Summary(Bench):
    def end(self, *options, how="return", **more):
        result = recorded(PROGRAMS / "endings", how, cwd=self.folder, options=["-o", "run", *options],
                        **more)
        self.result = result
        return own_lines(result.stderr)

    def probe(self, *options):
        result = run([XFERSCOPE, "probe", "--quick", "--filter", "^(copy/p|submit|record|sync)", *options],
                     cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_five_lines(self):
        lines = self.end()
        self.assertEqual(len(lines), len(LINES), lines)
        for line, wanted in zip(lines, LINES):
            self.assertRegex(line, wanted)
        self.assertRegex(lines[2], r"is not known without a machine profile: `xferscope probe` makes one \(.*-simulated\.json\)$")

    def test_with_a_profile(self):
        """Where probe puts it it is found; the command that is named gives the same finding first."""
        self.probe()
        name = next(self.folder.glob("*-simulated.json")).name
        lines = self.end()
        self.assertRegex(lines[2], r"; [\d.]+ [mu]s -> [\d.]+ [mu]s with .*change.* \([\d.]+ % less; ")
        self.assertEqual(lines[4], f"xferscope: next: {XFERSCOPE} analyze run.xft --profile {name}")
        worst = report(self.folder / "run.xft", "--profile", self.folder / name)["findings"][0]
        self.assertIn(f"worst: {worst['kind']} at ", lines[2])

    def test_profile_by_name(self):
        self.probe("-o", "it's one.json")
        named = self.end("--profile", "it's one.json")
        self.assertIn(" % less; ", named[2])
        self.assertTrue(named[4].endswith(r" --profile 'it'\''s one.json'"), named[4])
        by_variable = self.end("--force", env=environment(XFERSCOPE_PROFILE="it's one.json"))
        self.assertEqual(by_variable[4], named[4])
        refused = run([XFERSCOPE, "record", "-p", "missing.json", "true"], cwd=self.folder)
        self.assertEqual(refused.returncode, 125)
        self.assertIn(b"missing.json", refused.stderr)

    def test_profile_that_is_none(self):
        (self.folder / "bad.json").write_text("{")
        lines = self.end("-p", "bad.json")
        self.assertEqual(len(lines), 5, lines)
        self.assertIn("is not known without a machine profile", lines[2])

    def test_one_line(self):
        self.assertRegex(" ".join(self.end("--no-summary")),
                         r"^xferscope: 1 process, \d+ events in run.xft; next: \S+/xferscope analyze run.xft$")

    def test_none(self):
        self.assertEqual(self.end("-q"), [])

    def test_nothing_moved(self):
        result = recorded(PROGRAMS / "endings", "return", "0", cwd=self.folder, options=["-o", "run"])
        self.assertEqual(own_lines(result.stderr)[:1], ["xferscope: moved nothing: no transfer was seen"])

    def test_of_a_killed_program(self):
        lines = self.end(how="kill")
        self.assertEqual(self.result.returncode, -signal.SIGKILL)
        self.assertEqual(len(lines), 5, lines)
        self.assertRegex(lines[0], LINES[0])

    def test_of_several_processes(self):
        command = f"{PROGRAMS}/endings return; {PROGRAMS}/endings return"
        result = recorded("/bin/sh", "-c", command, cwd=self.folder, options=["-o", "run"])
        lines = own_lines(result.stderr)
        self.assertRegex(lines[0], r"moved 400 KiB in 400 transfers")
        self.assertRegex(lines[3], r"2 processes, \d+ events")

    def test_name_for_the_shell(self):
        """What is suggested opens the run, whatever its name, typed as it stands there."""
        for name in ("a 'b' $(c)", "two\nlines'", "-\t\x1b[31m\\", "w\u202eide", b"no \xff utf-8"):
            with self.subTest(name=name):
                result = recorded(PROGRAMS / "endings", "return", cwd=self.folder, options=["-o", name])
                command = own_lines(result.stderr)[-1].split("next: ", 1)[1]
                done = subprocess.run(["/bin/bash", "-c", command], cwd=self.folder, env=environment(),
                                      stdout=subprocess.PIPE, check=False)
                self.assertEqual(done.returncode, 0, command)
                self.assertIn(b"H2D", done.stdout)

    def test_command_as_it_was_called(self):
        """By its path, or found by the shell."""
        path = f"{XFERSCOPE.parent}:{os.environ['PATH']}"
        link = self.folder / "my tools"
        link.symlink_to(XFERSCOPE.parent)
        for called, named in (("xferscope", "xferscope"), ("'my tools/xferscope'", "'my tools/xferscope'")):
            with self.subTest(called):
                script = f"{called} record --force --no-summary -o run {PROGRAMS}/endings return; true"
                result = run(["/bin/sh", "-c", script], cwd=self.folder, env=environment(PATH=path))
                self.assertTrue(own_lines(result.stderr)[-1].endswith(f"; next: {named} analyze run.xft"),
                                result.stderr)

    def test_rank_0_alone(self):
        for rank, count in (("0", 5), ("1", 0)):
            env = environment(OMPI_COMM_WORLD_RANK=rank, OMPI_COMM_WORLD_SIZE="2")
            result = recorded(PROGRAMS / "endings", "return", cwd=self.folder, options=["-o", f"r{rank}"], env=env)
            self.assertEqual(len(own_lines(result.stderr)), count, result.stderr)

    def test_the_programs_own_output(self):
        bare = run([PROGRAMS / "endings", "return"], cwd=self.folder)
        self.end()
        self.assertEqual(self.result.stdout, bare.stdout)
        self.assertFalse(re.search(rb"xferscope", self.result.stdout))


if __name__ == "__main__":
    unittest.main()
