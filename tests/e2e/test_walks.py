"""The walks through (docs/walk-*.md): their commands as they stand there, from nothing to the proven fix, on
the simulated GPU; with XFERSCOPE_REAL_GPU=1 on this machine's (docs/gpu-validation.md), with its own PyTorch."""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from lab import Bench, SIMGPU, XFERSCOPE, environment

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
INCLUDE = os.environ.get("XFERSCOPE_CUDA_INCLUDE")
MOST_COMMANDS = 6
REAL = os.environ.get("XFERSCOPE_REAL_GPU") == "1"


def commands_of(page):
    return re.findall(r"^    \$ (.+)$", (ROOT / "docs" / page).read_text(), re.M)


class Walk(Bench):
    def begin(self, page, *files, **env):
        self.commands = commands_of(page)
        self.assertTrue(0 < len(self.commands) <= MOST_COMMANDS, self.commands)
        for name in files:
            shutil.copy(EXAMPLES / name, self.folder)
        if REAL:
            env["LD_LIBRARY_PATH"] = os.environ.get("LD_LIBRARY_PATH", "")
        self.env = environment(PATH=f"{XFERSCOPE.parent}:{os.environ['PATH']}", COLUMNS="80",
                               XDG_DATA_HOME=str(self.folder / "data"), **env)

    def type(self, beginning, status=0):
        """The next command of the page, which begins so."""
        command = self.commands.pop(0)
        self.assertTrue(command.startswith(beginning), command)
        if not REAL:
            command = command.replace("/usr/local/cuda/include", str(INCLUDE)).replace("/usr/local/cuda/lib64", str(SIMGPU))
            command = command.replace("--net --quick", "--net --quick --time-limit 2")
        done = subprocess.run(["/bin/sh", "-c", command], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200, text=True)
        self.assertEqual(done.returncode, status, (command, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def promise(self, text):
        [line] = [line for line in text.splitlines() if line.startswith("promised ")]
        self.assertRegex(line, r"^promised [\d.]+ [mu]?s, got [\d.]+ [mu]?s: .*\(.* -> .*\)( \(simulated GPU\))?$")
        self.assertNotEqual("simulated" in line, REAL)
        print(line)
        return line

    def ended(self):
        self.assertEqual(self.commands, [])


def form(text):
    """Without figures: those of times depend on the processor."""
    return re.sub(r"[\d.]+ (?:[mu]?s|GB/s|%)?", "N ", text)


@unittest.skipUnless(INCLUDE and shutil.which("cc"), "no CUDA headers, or no cc")
class C(Walk):
    def test_from_nothing_to_the_fix(self):
        page = (ROOT / "docs" / "walk-c.md").read_text()
        self.begin("walk-c.md", "frames.c", "frames_fixed.c")
        self.type("cc ")
        screen = self.type("xferscope run ")
        self.assertIn("pageable-host-memory", screen)
        self.assertRegex(screen, r"(?m)^   frames\.c:33    check\(cudaMemcpy\(")
        self.assertTrue((self.folder / "frames.html").exists())
        if REAL:
            print(screen)
        for line in () if REAL else screen[screen.index("SIMULATED"):screen.index("modelled")].splitlines():
            self.assertIn(form(line.strip().split("  ")[-1]), form(page), "the page's screen")
        self.type("cp ")
        self.type("cc ")
        promise = self.promise(self.type("xferscope again"))
        self.assertIn(promise.split(",")[0].split()[0], page)
        self.ended()

    def test_job(self):
        """The gate lets the good one pass, and names the line of the bad one."""
        self.begin("walk-ci.md", "frames.c", "frames_fixed.c")

        def build(name):
            shutil.copy(EXAMPLES / name, self.folder / "frames.c")
            subprocess.run(["cc", "-g", "frames.c", "-o", "frames", f"-I{INCLUDE}", "-L/usr/local/cuda/lib64" if REAL else f"-L{SIMGPU}", "-lcudart"],
                           cwd=self.folder, check=True)

        build("frames_fixed.c")
        self.type("xferscope record ")
        self.type("xferscope analyze ")
        gate = (self.folder / "frames.gate.json").read_text()
        self.assertIn("send_frame", gate)
        build("frames.c")
        self.type("xferscope record ")
        line = (EXAMPLES / "frames.c").read_text().splitlines().index(
            '    check(cudaMemcpy(on_gpu, frame, FRAME_BYTES, cudaMemcpyHostToDevice), "send");') + 1
        annotations = self.type("xferscope analyze ", status=6)
        self.assertRegex(annotations, rf"(?m)^::error file=frames\.c,line={line},")
        self.assertIn(annotations.splitlines()[0], (ROOT / "docs" / "walk-ci.md").read_text())
        build("frames_fixed.c")
        self.type("xferscope record ")
        self.type("xferscope analyze ")
        self.ended()


LET = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


PATHS = os.pathsep.join([os.environ["PATH"], str(Path(INCLUDE or "/").parent / "bin")])  # of the toolkit, too


def lacks_mpi():
    said = shutil.which("mpirun") and subprocess.run(["mpirun", "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
    return next((word for word in ("nvcc", "mpicxx", "mpirun") if not shutil.which(word, path=PATHS)), None) or (
        None if "Open MPI" in said else "Open MPI")


@unittest.skipIf(lacks_mpi(), f"no {lacks_mpi()}")
class Halo(Walk):
    def better_in_pieces(self, path):
        """What a busy processor measures may favour no way: here pieces at 50 GB/s are the best one."""
        profile = json.loads(path.read_text())
        for staged in profile["network"]["staged"]:
            staged["points"] = [dict(bytes=point["bytes"], unpipelined_ns=point["bytes"] / 5, pipelined_ns=point["bytes"] / 50,
                                     adaptive_ns=point["bytes"] / 50, buffers=2, buffer_bytes=65536) for point in staged["points"]]
            staged["hybrid_bytes"] = 0
        path.write_text(json.dumps(profile))

    def test_from_nothing_to_the_fix(self):
        """Recorded times are of how busy the processors are: what is found and matched is not."""
        page = (ROOT / "docs" / "walk-halo.md").read_text()
        self.begin("walk-halo.md", "halo.cu", "halo_fixed.cu", XFERSCOPE_SIMGPU_CLOCK="real", **LET)
        self.env["PATH"] = f"{XFERSCOPE.parent}:{PATHS}"
        self.type("nvcc ")
        self.assertIn("net/staged/rank0-rank1", self.type("mpirun -n 2 xferscope probe --net"))
        if not REAL:
            self.better_in_pieces(self.folder / "net.json")
        screen = self.type("xferscope run ")
        self.assertRegex(screen, r"40 steps in [\d.]+ ms, sum 1047283776")
        self.assertRegex(screen, r"(?m)^1  [a-z-]+ .*")
        report = self.type("xferscope analyze ")
        self.assertRegex(report, r"2\s+processes\s+together,\s+by\s+162\s+messages")
        self.assertRegex(report, r"(host-staged-mpi|unpipelined-staging)\b")
        for line in ("exchange (halo.cu:42)", "halo.cu:43"):
            self.assertIn(line, page)
        document = json.loads(subprocess.run([XFERSCOPE, "analyze", "halo.xft", "-f", "json"], cwd=self.folder, env=self.env,
                                         stdout=subprocess.PIPE, check=True).stdout)
        self.assertEqual(document["whatif"]["together"], {"processes": 2, "messages": 162, "apart": 0})
        self.assertLess(document["whatif"]["error"], 0.01)
        exchanged = {(row["to"], row["from"]): (row["calls"], row["sent"]) for row in document["messages"]["rows"] if row["function"] == "MPI_Sendrecv"}
        self.assertEqual(exchanged, {(0, 0): (80, 320 << 20), (1, 1): (80, 320 << 20)})
        self.type("nvcc ")
        again = self.type("xferscope again")
        self.assertRegex(again, r"(?m)^promised [\d.]+ [mu]?s, got ")
        self.assertRegex(again, r"40 steps in [\d.]+ ms, sum 1047283776")
        self.ended()

    @unittest.skipIf(REAL, "not every MPI takes device memory")
    def test_device_memory_given_to_mpi(self):
        """The page's other fix has the same result, and no copies between its messages."""
        self.begin("walk-halo.md", "halo_direct.cu", XFERSCOPE_SIMGPU_CLOCK="real", **LET)
        self.env["PATH"] = f"{XFERSCOPE.parent}:{PATHS}"
        self.commands = ["nvcc -g -cudart shared -ccbin mpicxx halo_direct.cu -o halo", "xferscope run -o halo.xft --no-probe -- mpirun -n 2 ./halo"]
        self.type("nvcc ")
        self.assertRegex(self.type("xferscope run "), r"40 steps in [\d.]+ ms, sum 1047283776")
        document = json.loads(subprocess.run([XFERSCOPE, "analyze", "halo.xft", "-f", "json"], cwd=self.folder, env=self.env,
                                         stdout=subprocess.PIPE, check=True).stdout)
        exchanged = [(row["calls"], row["sent"], row["device_memory"]) for row in document["messages"]["rows"] if row["function"] == "MPI_Sendrecv"]
        self.assertEqual(exchanged, [(80, 320 << 20, True)] * 2)
        self.assertFalse([row for row in document["transfers"] if row["site"]["function"] == "exchange"])
        self.assertNotIn("host-staged-mpi", {finding["kind"] for finding in document["findings"]})


class PyTorch(Walk):
    def test_from_nothing_to_the_fix(self):
        """With the stand-in for PyTorch: the copies are made as PyTorch makes them."""
        packages = self.folder / "lib" / "python3" / "site-packages" / "torch"
        packages.mkdir(parents=True)
        if not REAL:
            shutil.copy(ROOT / "tests" / "e2e" / "stand_in" / "torch.py", packages / "__init__.py")
        elif importlib.util.find_spec("torch") is None:
            self.skipTest("no PyTorch")
        path = {} if REAL else {"PYTHONPATH": str(packages.parent)}
        self.begin("walk-pytorch.md", "pytorch_train.py", "pytorch_train_fixed.py", PYTHONDONTWRITEBYTECODE="1", **path)
        if not REAL:  # the interpreter itself, not a script that stands for it
            here = self.folder / "bin"
            here.mkdir()
            (here / "python3").symlink_to(sys.executable)
            self.env["PATH"] = f"{here}:{self.env['PATH']}"
        screen = self.type("xferscope run ")
        self.assertIn("60 steps: ", screen)
        if REAL:
            print(screen)
        # Behind the repeated ones little is left, and how much depends on the processor: either of two changes gets it.
        self.assertRegex(screen, r"(pageable-host-memory|synchronous-transfer) +[\d.]+ [mu]s .*H2D, 70 copies,\s+945 MiB")
        if "pytorch_train.py:19" not in screen:
            self.assertIn("python.frames=off", subprocess.run([XFERSCOPE, "dump", "train.xft"], cwd=self.folder, text=True,
                                                              stdout=subprocess.PIPE).stdout)
            self.skipTest("the recorder does not know the stacks of this Python")
        self.assertRegex(screen, r"(?m)^   pytorch_train\.py:19    batch = images\[step % 8\]\.to\(device\)$")
        self.type("cp ")
        self.promise(self.type("xferscope again"))
        self.ended()


if __name__ == "__main__":
    unittest.main()
