"""record --force: an earlier run is replaced once a new one is there, nothing else ever goes, and what
others do meanwhile, or a kill at any moment, loses nothing."""
import os
import shutil
import signal
import subprocess
import unittest

from illness import tries
from lab import XFERSCOPE, run, sanitizer_runtime
from replacing import AS_NOBODY, Replacing, STEPS, contents, wait_gone

WORK = b"years of work\n"


def may_unshare():
    return bool(shutil.which("unshare")) and run(["unshare", "--pid", "--fork", "true"]).returncode == 0


class WhatIsReplaced(Replacing):
    def test_run(self):
        self.replaced(self.earlier_run().name)

    def test_run_that_was_killed(self):
        process = self.start("copy", "touch", "begun", "wait", "never")
        program = self.kill_record(process)
        os.kill(program, signal.SIGKILL)
        wait_gone(program)
        (trace,) = self.output.iterdir()
        self.replaced(trace.name)

    def test_names_mean_nothing(self):
        """A trace by another name, and what a completion that was killed had written."""
        trace = self.earlier_run()
        whole = trace.read_bytes()
        trace.rename(self.output / "thesis.txt")
        (self.output / "1-2.trace.tmp").write_bytes(bytes(4096) + whole[4096:])
        self.replaced("thesis.txt")

    def test_empty_directory(self):
        self.output.mkdir()
        self.replaced("")

    def test_nothing_there(self):
        self.replaced("")


class WhatIsRefused(Replacing):
    def refused_beside_a_trace(self, name, make, why):
        """What it is does not depend on what lies beside it, or on its name."""
        trace = self.earlier_run()
        make(self.output / name)
        self.refused(why)
        trace.unlink()
        self.refused(why)

    def test_file_of_any_name(self):
        for name in ("thesis.txt", "x.trace", "1-2.trace.tmp"):
            with self.subTest(name):
                self.refused_beside_a_trace(name, lambda path: path.write_bytes(WORK * 1000), name)
                (self.output / name).unlink()
                self.output.rmdir()

    def test_zeros(self):
        self.refused_beside_a_trace("x.trace", lambda path: path.write_bytes(bytes(10000)), "x.trace")

    def test_empty_file(self):
        self.refused_beside_a_trace("x.trace", lambda path: path.touch(), "x.trace")

    def test_folder(self):
        def make(path):
            path.mkdir()
            (path / "thesis.txt").write_bytes(WORK)

        self.refused_beside_a_trace("x.trace", make, "a directory")

    def test_empty_folder(self):
        self.refused_beside_a_trace("x.trace", lambda path: path.mkdir(), "a directory")

    def test_link(self):
        """To a trace, even."""
        elsewhere = self.folder / "elsewhere"
        self.earlier_run().rename(elsewhere)
        self.output.rmdir()
        self.refused_beside_a_trace("x.trace", lambda path: path.symlink_to(elsewhere), "symbolic link")

    def test_pipe(self):
        """Looking at it waits for nobody."""
        self.refused_beside_a_trace("x.trace", os.mkfifo, "no regular file")

    def test_name_that_drives_a_terminal(self):
        self.earlier_run()
        (self.output / "a\x1b[2J\u202eb").write_bytes(WORK)
        self.refused("a<U+001B>[2J<U+202E>b")

    def test_no_directory(self):
        self.output.write_bytes(WORK)
        self.refused("no directory")
        self.output.unlink()
        (self.folder / "real").mkdir()
        self.output.symlink_to("real")
        self.refused("symbolic link")

    def test_place_of_the_old_run_taken(self):
        self.earlier_run()
        self.aside.mkdir()
        (self.aside / "thesis.txt").write_bytes(WORK)
        self.refused("run.xft.replaced holds thesis.txt")

    @unittest.skipIf(AS_NOBODY is None, "root may change anything")
    @unittest.skipIf(sanitizer_runtime(), "the sanitizer's runtime may be out of another user's reach")
    def test_folder_that_may_not_be_changed(self):
        trace = self.earlier_run()
        for path in (self.folder, self.output, trace) if os.geteuid() == 0 else ():
            os.chown(path, 65534, 65534)
        self.output.chmod(0o500)
        self.addCleanup(self.output.chmod, 0o700)
        result = run([*AS_NOBODY, XFERSCOPE, "record", "--force", "-o", "run", "echo"], cwd=self.folder)
        self.assertEqual((result.returncode, result.stdout), (125, b""))
        self.assertIn(b"may not be changed", result.stderr)
        self.assertEqual(list(self.output.iterdir()), [trace])


class StillRecorded(Replacing):
    """By a record, or by a process that has outlived it."""

    def test_record_goes_on(self):
        for force in (True, False):
            process = self.start("touch", "begun", "wait", "go", "copy")
            self.refused("another xferscope record", force=force, growing=True)
            self.assertIn("1 process, ", self.end(process))
            (self.folder / "go").unlink()

    def outlives(self, *steps, program=(STEPS,)):
        """A process goes on when record has ended."""
        said = self.start(*steps, program=program).communicate()[1].decode()
        self.refused("still being recorded", growing=True)
        (self.folder / "go").touch()
        self.wait_for("done")
        return said

    def test_process_goes_on(self):
        said = self.outlives("child", "begun", "copy", "touch", "begun", "close-all", "wait", "go", "copy", "touch", "done")
        self.assertIn("still run", said)

    def test_record_was_killed(self):
        for close in ((), ("close",)):
            process = self.start("copy", *close, "touch", "begun", "wait", "go", "copy")
            program = self.kill_record(process)
            self.refused("still being recorded", growing=True)
            (self.folder / "go").touch()
            wait_gone(program)
            (trace,) = self.output.iterdir()
            self.replaced(trace.name)
            (self.folder / "go").unlink()

    @unittest.skipUnless(may_unshare(), "not allowed to make process namespaces")
    def test_process_of_another_namespace(self):
        """Its number means nothing here, and it has closed its descriptors."""
        process = self.start("copy", "close", "touch", "begun", "wait", "go", "touch", "done",
                             program=("unshare", "--pid", "--fork", "/bin/sh", "-c", f'{STEPS} "$@"; :', "sh"))
        self.kill_record(process)
        self.refused("still being recorded", growing=True)
        (self.folder / "go").touch()
        self.wait_for("done")

    def test_one_process_of_two_goes_on(self):
        """And has closed every descriptor."""
        self.outlives("child", "begun", "copy", "touch", "begun", "close-all", "wait", "go", "touch", "done",
                      program=("/bin/sh", "-c", f'{STEPS} copy; exec {STEPS} "$@"', "sh"))


class OldRunStays(Replacing):
    def stays(self, *program, status=0, said="still holds the earlier run"):
        trace = self.earlier_run() if not self.output.exists() else next(self.output.iterdir())
        before = contents(self.output)
        result = self.record(*program)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(said, result.stderr.decode())
        self.assertEqual(contents(self.output), before, trace)
        self.assertEqual(self.runs(), ["run.xft"])

    def test_program_does_not_start(self):
        self.stays("./none", status=127, said="cannot run ./none")
        (self.folder / "data").write_bytes(WORK)
        self.stays("./data", status=126, said="cannot run ./data")

    def test_no_cuda(self):
        self.stays("/bin/true", said="no CUDA call was seen")

    def test_nothing_could_be_recorded(self):
        self.stays("/bin/sh", "-c", f"ulimit -f 0; exec {STEPS} copy", said="File too large")

    def test_program_deletes_the_new_run(self):
        self.stays("/bin/sh", "-c", f"{STEPS} copy; rm -r run.xft", said="deleted or moved")

    def test_until_the_new_one_is_there(self):
        before = self.earlier_run().read_bytes()
        process = self.start("touch", "begun", "wait", "go", "copy")
        (old,) = self.aside.iterdir()
        self.assertEqual(old.read_bytes(), before)
        self.end(process)
        self.assertEqual(self.runs(), ["run.xft"])

    def test_name_taken_meanwhile(self):
        """Neither what took it nor the earlier run goes."""
        old = self.earlier_run()
        before = old.read_bytes()
        result = self.record("/bin/sh", "-c", "echo 'years of work' >run.xft")
        self.assertEqual(result.returncode, 0)
        self.assertIn("earlier run is now", result.stderr.decode())
        self.assertEqual(self.output.read_bytes(), WORK)
        self.refused("no directory")
        self.assertEqual((self.aside / old.name).read_bytes(), before)
        self.output.unlink()
        self.replaced(old.name)


class Meddling(Replacing):
    def calls(self):
        """The calls of a --force that meets an earlier run, in their order."""
        self.earlier_run()
        log = self.folder / "log"
        self.record(MEDDLE_LOG=str(log))
        return log.read_text().split()


class Meanwhile(Meddling):
    """Others change the folder just before one of record's calls; what they do is kept."""

    def meddled(self, call, number, command):
        return {"MEDDLE_CALL": call, "MEDDLE_NUMBER": str(number), "MEDDLE": command}

    def test_file_before_the_renaming(self):
        self.earlier_run()
        self.refused("holds thesis.txt", added=["run.xft/thesis.txt"],
                     **self.meddled("renameat", 1, "echo x >run.xft/thesis.txt"))

    def test_trace_before_the_renaming(self):
        """Another process of that run has begun and ended."""
        trace = self.earlier_run()
        self.refused("being changed", added=["run.xft/1-2.trace"],
                     **self.meddled("renameat", 1, f"cp {trace} run.xft/1-2.trace"))

    def test_other_directory_in_its_place(self):
        self.earlier_run()
        before = contents(self.output)
        result = self.record(**self.meddled(
            "renameat", 1, "mv run.xft mine.xft; mkdir run.xft; echo 'years of work' >run.xft/x.trace"))
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertEqual(contents(self.folder / "mine.xft"), before)
        self.assertEqual((self.output / "x.trace").read_bytes(), WORK)

    def test_file_before_the_removal(self):
        """Every call by which the old run is removed: the file stays, and the new run is there."""
        calls = self.calls()
        for number in range(calls.index("fork") + 2, len(calls) + 1):
            with self.subTest(call=number):
                settings = {"MEDDLE_NUMBER": str(number), "MEDDLE": "echo 'years of work' >run.xft.replaced/x.trace"}
                result = self.record(**settings)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(b"1 process, ", result.stderr)
                self.assertIn("run.xft.replaced", result.stderr.decode())
                self.assertEqual((self.aside / "x.trace").read_bytes(), WORK)
                self.refused("holds x.trace")
                (self.aside / "x.trace").unlink()

    def test_file_in_place_of_a_trace(self):
        trace = self.earlier_run()
        result = self.record(**self.meddled(
            "renameat", 2, f"echo 'years of work' >mine; mv mine run.xft.replaced/{trace.name}"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.aside / trace.name).read_bytes(), WORK)

    def test_many_files_all_the_time(self):
        """By path and from within; every file that was made is somewhere, whole."""
        self.earlier_run()
        maker = (
            'n=0; while [ ! -e "$2" ]; do n=$((n+1)); '
            'echo "$1-$n" 2>/dev/null >"$3/$1-$n.trace" && echo "$1-$n" >>"$4"; sleep 0.003; done'
        )
        made = self.folder / "made"
        stop = self.folder / "stop"
        makers = [
            subprocess.Popen(["/bin/sh", "-c", maker, "sh", name, stop, place, made], cwd=cwd,
                             stderr=subprocess.DEVNULL)
            for name, place, cwd in (("path", self.output, self.folder), ("within", ".", self.output))
        ]
        for _ in range(tries(15, 200)):
            result = self.record()
            self.assertIn(result.returncode, (0, 125), result.stderr)
            self.tidy()
        stop.touch()
        for process in makers:
            self.assertEqual(process.wait(), 0)
        kept = {path.read_text().strip() for path in self.folder.rglob("*-*.trace") if path.stat().st_size < 64}
        missing = set(made.read_text().split()) - kept
        self.assertEqual(missing, set())
        self.assertGreater(len(kept), 0)

    def tidy(self):
        """As somebody who wants to go on: what is no trace goes elsewhere."""
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        for folder in (self.output, self.aside):
            for path in list(folder.glob("*.trace")) if folder.is_dir() else []:
                if path.stat().st_size < 64:
                    path.rename(elsewhere / path.name)


class Killed(Meddling):
    """SIGKILL for record: nothing is lost, and the next one tidies up."""

    def all_is_there(self, old):
        """The earlier run under one of its names, or the new one under its own."""
        (self.folder / "found").unlink(missing_ok=True)
        for folder in (self.output, self.aside):
            if folder.is_dir() and old in [path.read_bytes() for path in folder.iterdir()]:
                return "old"
        traces = list(self.output.iterdir()) if self.output.is_dir() else []
        self.assertEqual(len(traces), 1)
        self.assertEqual(traces[0].read_bytes()[:8], b"XFERSCP\n")
        return "new"

    def test_before_every_call(self):
        calls = self.calls()
        found = []
        for number in range(1, len(calls) + 1):
            with self.subTest(call=f"{number} {calls[number - 1]}"):
                (old,) = self.output.iterdir()
                text = old.read_bytes()
                result = self.record(MEDDLE_NUMBER=str(number), MEDDLE="kill -9 $VICTIM")
                self.assertEqual(result.returncode, -signal.SIGKILL)
                found.append(self.all_is_there(text))
                self.replaced(old.name)
        self.assertEqual(found, sorted(found, reverse=True), calls)
        self.assertEqual((found[0], found[-1]), ("old", "new"))

    def test_without_force_the_next_one_puts_it_back(self):
        trace = self.earlier_run()
        before = contents(self.output)
        self.record(MEDDLE_CALL="fork", MEDDLE_NUMBER="1", MEDDLE="kill -9 $VICTIM")
        self.assertEqual(self.runs(), ["run.xft.replaced"])
        result = self.record("/bin/true", force=False)
        self.assertEqual(result.returncode, 125)
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertIn("exists (again", result.stderr.decode())
        self.assertEqual(self.runs(), ["run.xft"])
        self.assertEqual(contents(self.output), before, trace)

    def test_while_the_program_runs(self):
        old = self.earlier_run().read_bytes()
        process = self.start("touch", "begun", "wait", "go", "copy")
        program = self.kill_record(process)
        self.assertEqual(self.all_is_there(old), "old")
        (self.folder / "go").touch()
        wait_gone(program)
        self.assertEqual(self.runs(), ["run.xft", "run.xft.replaced"])
        (trace,) = self.output.iterdir()
        self.replaced(trace.name)


if __name__ == "__main__":
    unittest.main()
