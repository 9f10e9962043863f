"""However a process ends, every copy it made is in the trace, and its caller sees the same end."""
import re
import shutil
import signal
import subprocess
import unittest

from lab import (
    BUILD,
    Bench,
    LIBRARY,
    PROGRAMS,
    XFERSCOPE,
    environment,
    moved,
    needs,
    own_lines,
    preloaded,
    record,
    report,
    run,
)

COPIES = 100
BYTES = 1024


@needs("endings")
class Endings(Bench):
    def ends(self, how, status, rounds=1, program="endings"):
        """Under record and under LD_PRELOAD alone; both traces hold every copy."""
        expected = (COPIES * rounds, COPIES * rounds * BYTES)
        command = [PROGRAMS / program, how, str(COPIES)]
        bare = run(command, cwd=self.folder)
        self.assertEqual(bare.returncode, status)
        under = record(*command, cwd=self.folder, options=["--force", "-o", "run"])
        shutil.rmtree(self.folder / "alone.xft", ignore_errors=True)
        alone = preloaded(*command, cwd=self.folder, XFERSCOPE_OUTPUT=str(self.folder / "alone.xft"))
        for result, name in ((under, "run.xft"), (alone, "alone.xft")):
            self.assertEqual(result.returncode, status)
            self.assertEqual(result.stdout, bare.stdout)
            sums = moved(report(self.folder / name))
            self.assertEqual(sums, {"H2D": expected, "D2H": expected}, name)
        return report(self.folder / "run.xft")["run"]["processes"]

    def test_return(self):
        self.ends("return", 3)

    def test_exit(self):
        self.ends("exit", 4)

    def test_quick_exit(self):
        self.ends("_exit", 5)

    def test_abort(self):
        self.ends("abort", -signal.SIGABRT)

    def test_segmentation_fault(self):
        self.ends("segv", -signal.SIGSEGV)

    def test_kill(self):
        processes = self.ends("kill", -signal.SIGKILL)
        self.assertEqual(len(processes), 1)
        self.assertTrue(processes[0]["finished"], "record completes what a killed process left")

    @needs("endings_simstatic")
    def test_static_runtime(self):
        self.ends("return", 3, program="endings_simstatic")
        self.ends("thread", 7, rounds=2, program="endings_simstatic")
        self.ends("kill", -signal.SIGKILL, program="endings_simstatic")

    def test_exec(self):
        self.ends("exec", 6)

    def test_another_thread_ends_it(self):
        self.ends("thread", 7, rounds=2)

    def test_descriptors_closed_and_reused(self):
        self.ends("closed", 8, rounds=2)

    def test_still_running(self):
        """A trace can be read while its process goes on, and record's end does not disturb it."""
        script = f'"{PROGRAMS}/endings" wait {COPIES} & while ! ls run.xft/*.trace; do sleep 0.05; done'
        script += " >/dev/null 2>&1; read line; echo $!"
        process = subprocess.Popen(
            [XFERSCOPE, "record", "-o", "run", "/bin/sh", "-c", script],
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.assertIn(b"copies each way", process.stdout.readline())
        process.stdin.write(b"\n")
        process.stdin.close()
        waiting = int(process.stdout.readline())
        lines = []
        for line in process.stderr:
            lines.append(line)
            if b"events in" in line:
                break
        try:
            self.assertTrue(any(b"still run" in line for line in lines), lines)
            self.assertEqual(moved(report(self.folder / "run.xft"))["H2D"], (COPIES, COPIES * BYTES))
        finally:
            subprocess.run(["kill", "-9", str(waiting)], check=True)
            process.stdout.close()
            process.stderr.close()
            process.wait()


@needs("endings")
class RunDirectory(Bench):
    def test_contents(self):
        result = record(PROGRAMS / "endings", "return", cwd=self.folder, options=["-o", "run"])
        names = [path.name for path in (self.folder / "run.xft").iterdir()]
        self.assertEqual(len(names), 1)
        self.assertRegex(names[0], r"^\d+-\d+\.trace$")
        self.assertEqual((self.folder / "run.xft").stat().st_mode & 0o777, 0o700)
        last = own_lines(result.stderr)[-1]
        self.assertRegex(
            last, rf"^xferscope: 1 process, \d+ events in run.xft; next: {re.escape(str(XFERSCOPE))} analyze run.xft$"
        )
        self.assertGreaterEqual(int(re.search(r"(\d+) events", last)[1]), 2 * COPIES)

    def test_default_name(self):
        record(PROGRAMS / "endings", "return", cwd=self.folder)
        self.assertEqual(len(self.runs_left()), 1)
        self.assertRegex(self.runs_left()[0], r"^endings-\d+\.xft$")

    def test_quiet(self):
        result = record(PROGRAMS / "endings", "return", cwd=self.folder, options=["-q"])
        self.assertEqual(result.stderr, b"")

    def test_force_replaces(self):
        for copies in ("3", "5"):
            record(
                PROGRAMS / "endings", "return", copies,
                cwd=self.folder, options=["--force", "-o", "run"],
            )
        self.assertEqual(moved(report(self.folder / "run.xft"))["H2D"], (5, 5 * BYTES))

    def test_no_stacks(self):
        options = ["--no-stacks", "-o", "run"]
        record(PROGRAMS / "endings", "return", cwd=self.folder, options=options)
        rows = report(self.folder / "run.xft")["transfers"]
        self.assertTrue(all(row["site"]["stack"] == [] for row in rows), rows)

    def test_call_sites_have_names(self):
        record(PROGRAMS / "endings", "kill", cwd=self.folder, options=["-o", "run"])
        for row in report(self.folder / "run.xft")["transfers"]:
            self.assertEqual(row["site"]["function"], "copy")
            self.assertTrue(row["site"]["file"].endswith("endings.c"), row["site"])
            self.assertGreater(row["site"]["line"], 0)

    def test_stack_depth(self):
        options = ["--stack-depth", "1", "-o", "run"]
        record(PROGRAMS / "endings", "return", cwd=self.folder, options=options)
        rows = report(self.folder / "run.xft")["transfers"]
        addresses = {len(row["site"]["stack"]) for row in rows}
        self.assertLessEqual(max(addresses), 2, rows)  # one address, perhaps with an inlined caller


@needs("endings")
class PreloadAlone(Bench):
    def test_default_name(self):
        result = preloaded(PROGRAMS / "endings", "return", cwd=self.folder)
        self.assertEqual(result.returncode, 3)
        self.assertEqual(len(self.runs_left()), 1)
        self.assertRegex(self.runs_left()[0], r"^endings-\d+\.xft$")
        row = report(self.folder / self.runs_left()[0])["transfers"][0]
        self.assertEqual(row["site"]["function"], "copy")

    def test_no_cuda_leaves_nothing(self):
        result = preloaded("/bin/sh", "-c", "ls; grep Threads /proc/self/status", cwd=self.folder)
        self.assertEqual(result.stdout, b"Threads:\t1\n")
        self.assertEqual(result.stderr, b"")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_killed_from_outside(self):
        env = environment(XFERSCOPE_OUTPUT=str(self.folder / "run.xft"))
        env["LD_PRELOAD"] = ":".join(filter(None, [str(LIBRARY), env.get("LD_PRELOAD", "")]))
        process = subprocess.Popen(
            [PROGRAMS / "endings", "wait", str(COPIES)],
            cwd=self.folder, env=env, stdout=subprocess.PIPE,
        )
        process.stdout.readline()
        process.kill()
        process.communicate()
        document = report(self.folder / "run.xft")
        expected = (COPIES, COPIES * BYTES)
        self.assertEqual(moved(document), {"H2D": expected, "D2H": expected})
        self.assertFalse(document["run"]["processes"][0]["finished"])

    def test_no_place_for_the_run(self):
        (self.folder / "file").write_text("in the way")
        for output in ("file/run.xft", "/dev/null", "/proc/run.xft"):
            result = preloaded(
                PROGRAMS / "endings", "return", cwd=self.folder, XFERSCOPE_OUTPUT=output
            )
            self.assertEqual(result.returncode, 3)
            self.assertIn(b"100 copies each way: cudaSuccess", result.stdout)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)


SUBJECT = BUILD / "bin" / "record_subject"


@unittest.skipUnless(SUBJECT.exists(), "not built: record_subject")
class Checks(Bench):
    def test_a_check_of_ours_that_fails_is_reported(self):
        done = run([SUBJECT, "fails-a-check"], cwd=self.folder,
                   env=environment(XFERSCOPE_OUTPUT="run.xft", XFERSCOPE_CHECKS="say"))
        self.assertEqual(done.returncode, 0, done.stderr)
        (process,) = report(self.folder / "run.xft")["run"]["processes"]
        self.assertEqual(process["checks_failed"], "3: what was said not to hold does not")
        text = run([XFERSCOPE, "analyze", self.folder / "run.xft"]).stdout.decode()
        self.assertIn("checks of the recorder's own code failed (3: what was said not to hold does not)",
                      " ".join(text.split()))


if __name__ == "__main__":
    unittest.main()
