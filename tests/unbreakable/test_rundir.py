"""The run directory: one record at a time, a place that can take it, and the truth at the end."""
import os
import resource
import shutil
import subprocess
import time
import unittest

from illness import LIBRARY
from lab import Bench, XFERSCOPE, environment, own_lines, preloaded, record, report, run, sanitizer_runtime
from replacing import AS_NOBODY, COPY, OWN_ERROR, Replacing, STEPS, contents, end_all, wait_gone

SAYS_SO = ("/bin/sh", "-c", "echo ran")


def may_mount():
    tools = shutil.which("unshare") and shutil.which("mount")
    return bool(tools) and run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/tmp"]).returncode == 0


class TwoAtOnce(Replacing):
    def test_many_at_the_same_moment(self):
        """One runs its program; the others say one line each, and leave nothing behind."""
        ran = self.folder / "ran"
        for options in ((), ("--force",)):
            ran.mkdir()
            program = ["/bin/sh", "-c", f"touch ran/$$; exec {STEPS} wait go copy"]
            processes = [
                subprocess.Popen([XFERSCOPE, "record", *options, "-o", "run", *program], cwd=self.folder,
                                 env=environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
                for _ in range(8)
            ]
            for process in processes:
                self.addCleanup(end_all, process)
            losers = []
            while len(losers) < 7 and len(list(ran.iterdir())) < 2:
                time.sleep(0.001)
                losers = [process for process in processes if process.poll() is not None]
            self.assertLessEqual(len(list(ran.iterdir())), 1)
            self.assertEqual([path.name for path in self.folder.iterdir()], ["ran"])
            (self.folder / "go").touch()
            for process in processes:
                said = process.communicate()[1]
                if process in losers:
                    self.assertEqual(process.returncode, OWN_ERROR)
                    self.assertEqual(len(said.splitlines()), 1, said)
                    self.assertIn(b"another xferscope record", said)
                else:
                    self.assertEqual(process.returncode, 0)
                    self.assertIn(b"1 process, ", said)
            self.assertEqual(len(list(ran.iterdir())), 1)
            shutil.rmtree(self.output)
            shutil.rmtree(ran)
            (self.folder / "go").unlink()

    def test_neighbours(self):
        """Other names in the same folder, the same name in another."""
        process = self.start("touch", "begun", "wait", "go")
        (self.folder / "below").mkdir()
        for name in ("run2", "below/run", "run.xft.xft"):
            self.assertEqual(record(*COPY, cwd=self.folder, options=["-o", name]).returncode, 0)
        self.end(process)

    def test_by_another_path(self):
        process = self.start("touch", "begun", "wait", "go", "copy")
        (self.folder / "link").symlink_to(".")
        result = record(*SAYS_SO, cwd=self.folder, options=["-o", "link/run.xft/"])
        self.assertEqual((result.returncode, result.stdout), (OWN_ERROR, b""))
        self.assertIn(b"another xferscope record", result.stderr)
        self.end(process)

    def test_the_lock_goes_with_its_holder(self):
        """Not with the program, which knows nothing of it."""
        process = self.start("touch", "begun", "wait", "go", options=["-o", "run"])
        program = self.kill_record(process)
        result = record(*COPY, cwd=self.folder, options=["-o", "run"])
        self.assertEqual(result.returncode, 0, result.stderr)
        (self.folder / "go").touch()
        wait_gone(program)  # else it may wait for a file in a folder that is gone

    def test_traces_of_others_are_not_counted(self):
        """A process that has come by the same directory in another way."""
        process = self.start("touch", "begun", "wait", "go", "copy", options=["-o", "run"])
        env = environment(XFERSCOPE_OUTPUT=str(self.output))
        env["LD_PRELOAD"] = ":".join(filter(None, [str(LIBRARY), env.get("LD_PRELOAD", "")]))
        for _ in range(3):
            self.assertEqual(run(COPY, cwd=self.folder, env=env).returncode, 0)
        said = self.end(process)
        self.assertIn("3 of the traces in run.xft are of other runs, and not counted", said)
        self.assertIn("1 process, ", said)
        self.assertEqual(len(report(self.output)["run"]["processes"]), 4)

    def test_late_process_of_a_killed_record(self):
        """It was started by a record that is gone, and its first CUDA call comes in the next one."""
        process = self.start("touch", "begun", "wait", "late", "copy", "touch", "done", options=["-o", "run"])
        self.kill_record(process)
        second = self.start("touch", "begun", "wait", "go", "copy", options=["-o", "run"])
        (self.folder / "late").touch()
        self.wait_for("done", second)
        said = self.end(second)
        self.assertIn("1 of the traces in run.xft are of other runs", said)
        self.assertIn("1 process, ", said)


class Truth(Replacing):
    """Why nothing, or not all, is there."""

    def said(self, script, status=0):
        result = self.record("/bin/sh", "-c", script, force=False)
        self.assertEqual(result.returncode, status, result.stderr)
        return own_lines(result.stderr)

    def test_no_cuda(self):
        self.assertIn("no CUDA call was seen", self.said("true")[0])

    def test_cannot_record(self):
        lines = self.said(f"ulimit -f 0; exec {STEPS} copy")
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], "^xferscope: cannot record in .*run.xft: File too large$")
        self.assertRegex(lines[1], r"^xferscope: nothing was recorded: cannot record in .*\(1 process\)$")
        self.assertEqual(self.runs(), [], "an empty directory would be in the way")

    def test_no_key_left(self):
        lines = self.said(f"exec {STEPS} keys copy")
        self.assertIn("cannot record: the program has used up the thread-specific keys", lines[0])
        self.assertIn("nothing was recorded: cannot record", lines[1])

    def test_folder_gone_before_the_first_call(self):
        (self.folder / "below").mkdir()
        result = record("/bin/sh", "-c", f"rm -r below; {STEPS} copy; {STEPS} copy", cwd=self.folder,
                        options=["-o", "below/run"])
        lines = own_lines(result.stderr)
        self.assertEqual(len(lines), 3, lines)
        self.assertRegex(lines[2], r"nothing was recorded: .*No such file or directory \(2 processes\)$")

    def test_something_in_the_way(self):
        lines = self.said(f"touch run.xft; {STEPS} copy")
        self.assertIn("Not a directory", lines[0])
        self.assertNotIn("no CUDA call", " ".join(lines))

    def test_some_could_not(self):
        lines = self.said(f"{STEPS} copy; ulimit -f 0; exec {STEPS} copy")
        self.assertRegex(lines[1], "1 process could not be recorded: cannot record in .*File too large")
        self.assertRegex(lines[2], "1 process, .* events in run.xft")

    def test_deleted(self):
        for what in ("rm -r run.xft", "mv run.xft elsewhere", "rm run.xft/*"):
            lines = self.said(f"{STEPS} copy; {STEPS} copy; {what}")
            self.assertIn("nothing is left of the 2 processes", lines[0])
            self.assertNotIn("no CUDA call", " ".join(lines))
            shutil.rmtree(self.output, ignore_errors=True)

    def test_deleted_while_recording(self):
        process = self.start("copy", "touch", "begun", "wait", "go", "copy", options=["-o", "run"])
        shutil.rmtree(self.output)
        said = self.end(process)
        self.assertIn("nothing is left of the 1 process", said)
        self.assertNotIn("no CUDA call", said)
        self.assertEqual(self.runs(), [])

    def test_some_deleted(self):
        lines = self.said(f"{STEPS} copy; rm run.xft/*; {STEPS} copy")
        self.assertIn("1 of the traces are missing in run.xft", lines[0])
        self.assertRegex(lines[1], "1 process, .* events in run.xft")

    def test_recorded_elsewhere(self):
        """By a program that has settings of its own: nobody has deleted that."""
        lines = self.said(f"XFERSCOPE_OUTPUT=$PWD/mine.xft {STEPS} copy")
        self.assertNotIn("deleted", " ".join(lines))
        self.assertEqual(len(self.traces("mine.xft")), 1)

    def test_long_path_leaves_room_for_the_reason(self):
        deep = self.folder.joinpath(*["d" * 200] * 4)
        deep.mkdir(parents=True)
        result = record("/bin/sh", "-c", f"rm -r {deep}; {STEPS} copy", cwd=self.folder, options=["-o", deep / "run"])
        self.assertRegex(own_lines(result.stderr)[0], r"cannot record in \.\.\..*: No such file or directory$")


class Others(Replacing):
    """A directory that somebody else made where the run was to be."""

    NOBODY = 65534

    def put_there(self, owner, mode):
        self.output.mkdir()
        self.output.chmod(mode)
        if owner is not None:
            os.chown(self.output, owner, owner)

    def meanwhile(self, owner, mode):
        """After record has looked, before the program's first call."""
        process = self.start("touch", "begun", "wait", "go", "copy")
        self.put_there(owner, mode)
        said = " ".join(self.end(process).split())
        self.assertEqual(list(self.output.iterdir()), [])
        self.assertIn("it is another user's, or others may write to it", said)
        self.assertNotIn("1 process, ", said)

    @unittest.skipIf(os.geteuid(), "takes root")
    def test_of_another(self):
        self.meanwhile(self.NOBODY, 0o755)

    def test_open_to_others(self):
        self.meanwhile(None, 0o770)

    def named(self):
        result = preloaded(*COPY, cwd=self.folder, XFERSCOPE_OUTPUT=str(self.output))
        self.assertEqual(result.returncode, 0, result.stderr)
        there = len(list(self.output.iterdir()))
        shutil.rmtree(self.output)
        return there

    def test_named_by_the_user(self):
        self.put_there(None, 0o770)
        self.assertEqual(self.named(), 1)
        if os.geteuid() != 0:
            return
        self.put_there(self.NOBODY, 0o755)
        self.assertEqual(self.named(), 1)
        self.folder.chmod(0o1777)  # anybody may have made it
        self.put_there(self.NOBODY, 0o755)
        self.assertEqual(self.named(), 0)


class Place(Bench):
    """What is known before the program starts is said before it starts."""

    def refused(self, *options, why, command=SAYS_SO, before=(), **more):
        there = contents(self.folder)
        result = run([*before, XFERSCOPE, "record", *options, *command], cwd=self.folder, **more)
        self.assertEqual((result.returncode, result.stdout), (OWN_ERROR, b""), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertRegex(result.stderr.decode(), why)
        self.assertEqual(contents(self.folder), there)

    def recorded(self, *options, command=COPY):
        result = record(*command, cwd=self.folder, options=options)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"1 process, ", result.stderr)
        (output,) = self.folder.glob("*.xft")
        return output

    def test_long_names(self):
        for length in (247, 251, 252, 255, 256, 300, 4000, 5000):
            self.refused("-o", "x" * length, why="too long")
            self.refused("--force", "-o", "x" * (length - 4) + ".xft", why="too long")
        output = self.recorded("-o", "x" * 242)
        self.assertEqual(len(output.name), 246)
        self.recorded("--force", "-o", "x" * 242)

    def test_long_paths(self):
        """A trace's name comes behind."""
        folder = self.folder
        while len(str(folder)) < 3800:
            folder = folder / ("d" * 200)
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            self.skipTest(f"no such long path here: {error}")
        most = 4095 - len("/2147483647-18446744073709551615.trace.tmp")
        length = most - len(str(folder)) - 1 - 4
        self.refused("-o", folder / ("x" * (length + 1)), why="path of the run is too long")
        result = record(*COPY, cwd=self.folder, options=["-o", folder / ("x" * length)])
        self.assertIn(b"1 process, ", result.stderr)

    def test_default_name_of_a_long_name(self):
        for name in ("p" * 255, "\u00e4" * 127):
            program = self.folder / name
            program.symlink_to(STEPS)
            output = self.recorded(command=(f"./{name}", "copy"))
            self.assertRegex(output.name, rf"^{name[0]}+-\d+\.xft$")
            self.assertLessEqual(len(os.fsencode(output.name)), 220)
            shutil.rmtree(output)

    def test_no_folder(self):
        (self.folder / "file").touch()
        self.refused("-o", "missing/run", why="missing: No such file or directory")
        self.refused("-o", "file/run", why="file: Not a directory")

    def test_something_there(self):
        for make in (lambda path: path.mkdir(), lambda path: path.touch(), lambda path: path.symlink_to("none")):
            path = self.folder / "run.xft"
            make(path)
            self.refused("-o", "run", why="exists; --force")
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def test_file_size_limit(self):
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))}
        self.refused("-o", "run", why="File too large", **limit)

    @unittest.skipUnless(may_mount(), "not allowed to mount")
    def test_disks(self):
        """Full, without a name to spare, read-only; with an earlier run there, it stays."""
        below = self.folder / "below"
        below.mkdir()
        kept = self.folder / "kept"
        for options, fill, why in (
            ("size=1m", "true", "No space left on device"),
            ("size=8m", "head -c 7800000 /dev/zero >below/fill", "No space left on device"),
            ("nr_inodes=2", "touch below/fill", "No space left on device"),
            ("size=8m", "mount -o remount,ro below", "Read-only file system"),
        ):
            script = (
                f"mount -t tmpfs -o {options} none below; mkdir below/run.xft; {fill}; "
                '"$@"; status=$?; ls -A below >kept; exit $status'
            )
            before = ["unshare", "-m", "/bin/sh", "-c", script, "sh"]
            if options != "nr_inodes=2":
                kept.write_text("".join(f"{name}\n" for name in (["fill"] if "head" in fill else []) + ["run.xft"]))
                self.refused("--force", "-o", "below/run", why=why, before=before)
            script = script.replace("mkdir below/run.xft; ", "")
            kept.write_text("fill\n" if "fill" in fill else "")
            self.refused("-o", "below/run", why=why, before=[*before[:4], script, "sh"])

    @unittest.skipIf(AS_NOBODY is None, "root may write anywhere")
    @unittest.skipIf(sanitizer_runtime(), "the sanitizer's runtime may be out of another user's reach")
    def test_folder_that_may_not_be_written(self):
        below = self.folder / "below"
        below.mkdir()
        self.folder.chmod(0o755)
        below.chmod(0o555)
        self.addCleanup(below.chmod, 0o700)
        self.refused("-o", "below/run", why="Permission denied", before=AS_NOBODY)


if __name__ == "__main__":
    unittest.main()
