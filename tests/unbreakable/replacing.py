"""What the tests of run directories share."""
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from illness import ILL
from lab import Bench, XFERSCOPE, environment, record

STEPS = ILL / "steps"
MEDDLE = ILL / "meddle" / "meddle.so"
OWN_ERROR = 125
COPY = (STEPS, "copy")
# How to run something without root's rights; None when there is no way.
AS_NOBODY = [] if os.geteuid() else None
if AS_NOBODY is None and shutil.which("setpriv"):
    AS_NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def contents(folder, growing=False):
    """Every path below a folder, with what it is and holds; of traces that are being recorded, which
    grow by themselves, only that they are the same file."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_file() and growing and path.suffix == ".trace":
            found[name] = ("trace", path.stat().st_ino, path.read_bytes()[:8])
        elif path.is_file():
            found[name] = ("file", path.read_bytes())
        else:
            found[name] = ("directory" if path.is_dir() else "special",)
    return found


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_gone(pid):
    """Until a process that is nobody's child here has ended."""
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            if state == "Z" and len(os.listdir(f"/proc/{pid}/task")) == 1:
                return
        except OSError:
            return
        time.sleep(0.001)


def end_all(process):
    """For a test that has failed: a record and its program."""
    for pid in children(process.pid) if process.poll() is None else []:
        os.kill(pid, signal.SIGKILL)
    process.kill()
    process.wait()


class Replacing(Bench):
    def setUp(self):
        super().setUp()
        self.output = self.folder / "run.xft"
        self.aside = self.folder / "run.xft.replaced"

    def runs(self):
        return sorted(path.name for path in self.folder.glob("*.xft*"))

    def earlier_run(self):
        result = record(*COPY, cwd=self.folder, options=["-q", "-o", "run"])
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        (trace,) = self.output.iterdir()
        return trace

    def record(self, *program, force=True, **settings):
        """record -o run, with --force; the settings are those of meddle.c."""
        env = environment(**settings)
        if settings:
            env["LD_PRELOAD"] = ":".join(filter(None, [env.get("LD_PRELOAD", ""), str(MEDDLE)]))
        options = ["--force"] if force else []
        return record(*(program or COPY), cwd=self.folder, env=env, options=[*options, "-o", "run"])

    def refused(self, why, force=True, added=(), growing=False, **settings):
        """One line, the program did not run, and nothing has gone or changed."""
        before = contents(self.folder, growing)
        result = self.record("/bin/sh", "-c", "echo ran", force=force, **settings)
        self.assertEqual((result.returncode, result.stdout), (OWN_ERROR, b""), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(why, result.stderr.decode())
        after = contents(self.folder, growing)
        self.assertEqual(sorted(set(after) - set(before)), sorted(added))
        self.assertEqual({name: after.get(name) for name in before}, before)

    def replaced(self, old, *program, **settings):
        """The new run, and nothing of the old one."""
        result = self.record(*program, **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"1 process, ", result.stderr)
        self.assertEqual(self.runs(), ["run.xft"])
        (trace,) = self.output.iterdir()
        self.assertNotEqual(trace.name, old)
        return result

    def start(self, *steps, options=("--force", "-o", "run"), program=(STEPS,)):
        """A record whose program does these steps (steps.c), up to where it has made `begun`."""
        (self.folder / "begun").unlink(missing_ok=True)
        process = subprocess.Popen(
            [XFERSCOPE, "record", *options, *program, *steps], cwd=self.folder, env=environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        )
        self.addCleanup(end_all, process)
        self.wait_for("begun", process)
        return process

    def wait_for(self, name, process=None):
        while not (self.folder / name).exists():
            time.sleep(0.001)
            if process is not None and process.poll() is not None:
                self.assertTrue((self.folder / name).exists(), process.communicate())

    def end(self, process, name="go"):
        """Lets a program that waits for a file go on; what record said."""
        (self.folder / name).touch()
        output, said = process.communicate()
        self.assertEqual((process.returncode, output), (0, b""), said)
        return said.decode()

    def kill_record(self, process):
        """SIGKILL for record alone; the program goes on."""
        (program,) = children(process.pid)
        process.kill()
        process.wait()
        process.stdout.close() # the program has these too
        process.stderr.close()
        return program
