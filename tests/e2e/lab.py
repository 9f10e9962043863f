"""What the end-to-end tests share: running programs on the simulated GPU, with and without the
recorder, and reading what was recorded. XFERSCOPE_BUILD names the build folder."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["XFERSCOPE_BUILD"]).resolve()
XFERSCOPE = BUILD / "bin" / "xferscope"
LIBRARY = BUILD / "lib" / "libxferscope.so"
PROGRAMS = BUILD / "bin" / "programs"
SIMGPU = BUILD / "lib" / "simgpu"
LIMIT_S = 300  # only ends what hangs


def sanitizer_runtime():
    """Programs are built without sanitizers; their runtime has to come before our libraries."""
    return os.environ.get("XFERSCOPE_ASAN_RUNTIME", "")


def environment(**extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith("XFERSCOPE_") or k == "XFERSCOPE_CHECKS"}
    env["LD_LIBRARY_PATH"] = str(SIMGPU)
    env["XDG_CACHE_HOME"] = os.devnull  # nothing is kept
    env.pop("LD_PRELOAD", None)
    env.pop("CUDA_VISIBLE_DEVICES", None)  # the simulated GPU obeys it, too
    if sanitizer_runtime():
        env["LD_PRELOAD"] = sanitizer_runtime()
        env["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0:handle_segv=0:handle_abort=0"
    env.update(extra)
    return env


# What the names of targets begin with, by the folder that their programs are built into.
TARGETS = {"programs": "program_", "hostile": "hostile_", "unbreakable": "unbreakable_"}


def demand_built(command):
    """What is to be run and was not built is no mistake of the product: this says what to do. A shell's
    command line is left to the shell."""
    for path in (Path(part) for part in command if part.startswith(f"{BUILD}{os.sep}bin{os.sep}")):
        if path.exists() or any(letter.isspace() for letter in str(path)):
            continue
        target = TARGETS.get(path.parent.name, "") + path.name
        if path == XFERSCOPE:
            target = "xferscope_command"
        elif path.name.endswith(("_static", "_shared")):
            target = "cuda_subjects"  # nvcc's
        elif "pairs" in path.parts:
            target = "pairs"
        raise AssertionError(f"not built: {path}: cmake --build {BUILD} --target {target}")


def run(command, cwd=None, env=None, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    command = [str(part) for part in command]
    demand_built(command)
    return subprocess.run(
        command,
        cwd=cwd,
        env=env if env is not None else environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=LIMIT_S,
        **options,
    )


def record(*command, cwd, options=(), summary=False, **more):
    """Without the summary, which takes a report's time."""
    quiet = [] if summary else ["--no-summary"]
    return run([XFERSCOPE, "record", *quiet, *options, "--", *command], cwd=cwd, **more)


def preloaded(*command, cwd, **extra):
    """Runs a program under plain LD_PRELOAD."""
    env = environment(**extra)
    env["LD_PRELOAD"] = ":".join(filter(None, [str(LIBRARY), env.get("LD_PRELOAD", "")]))
    return run(command, cwd=cwd, env=env)


def own_lines(stderr):
    return [line for line in stderr.decode().splitlines() if line.startswith("xferscope")]


def other_lines(stderr):
    return [line for line in stderr.decode().splitlines() if not line.startswith("xferscope")]


def report(trace, *options):
    """The JSON report of a run; 3 means that the report tells of losses."""
    result = run([XFERSCOPE, "analyze", trace, "--format", "json", *options])
    if result.returncode not in (0, 3):
        raise AssertionError(f"analyze: {result.returncode}: {result.stderr.decode()}")
    return json.loads(result.stdout)


def moved(document):
    """Transfers and bytes per direction, copies of a batch counted singly."""
    sums = {}
    for row in document["transfers"]:
        copies, size = sums.get(row["direction"], (0, 0))
        sums[row["direction"]] = (copies + row["copies"], size + row["bytes"])
    return sums


def needs(*programs):
    missing = [name for name in programs if not (PROGRAMS / name).exists()]
    return unittest.skipIf(missing, f"not built: {' '.join(missing)}")


class Bench(unittest.TestCase):
    """A test with a folder of its own."""

    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="xferscope-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def runs_left(self):
        return sorted(path.name for path in self.folder.glob("*.xft"))

    def traces(self, name):
        return sorted((self.folder / name).glob("*.trace"))
