"""Programs on the simulated GPU, for the tests of plans: SCRIPT BIN SIMGPU."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

BIN, SIMGPU = map(Path, sys.argv[1:3])
XFERSCOPE = BIN / "xferscope"
MACHINE = SIMGPU / "machines" / "sim-h200.json"
AT_ONCE = {"XFERSCOPE_APPLY_TRIALS": "0"}
LAZY = {"XFERSCOPE_SIMGPU_LAZY": "1"}
# Our code is the same in both: with sanitizers, where a process takes four times as long, the stricter one.
ORDERS = [{**AT_ONCE, **LAZY}] if os.environ.get("XFERSCOPE_ASAN_RUNTIME") else [AT_ONCE, {**AT_ONCE, **LAZY}]


def run(*command, **settings):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(SIMGPU), "LC_ALL": "C.UTF-8",
                   "XDG_CACHE_HOME": os.devnull, **settings}  # nothing is kept
    runtime = environment.pop("XFERSCOPE_ASAN_RUNTIME", "")
    if runtime:  # programs are built without sanitizers: it has to come before our library
        preloaded = ":".join(filter(None, (runtime, environment.get("LD_PRELOAD"))))
        environment.update(LD_PRELOAD=preloaded, ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, timeout=300,
                          check=False)


def time_ns(done):
    """What a program says that its work took, by the virtual clock."""
    return int(re.search(r"simulated: (\d+) ns", done.stderr)[1])


def must(*command):
    """Runs it. What it says; an error where it fails."""
    done = run(*command)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done


def default_stream_steps(folder, program, mode):
    """What the plan of a recorded run says of the default stream."""
    trace, plan = Path(folder) / "run.xft", Path(folder) / "made.json"
    must(XFERSCOPE, "record", "-q", "--force", "-o", trace, "--", program, mode)
    must(XFERSCOPE, "analyze", trace, "-p", MACHINE, "--plan", plan)
    steps = json.loads(plan.read_text(encoding="utf-8"))["steps"]
    return [step for step in steps if step["finding"] == "default-stream-serialization"]


def write_plan(path, step, **changes):
    """A plan of this step alone, which is to be carried out."""
    steps = [{**step, "carry_out": True, "why_not": None, **changes}]
    path.write_text(json.dumps({"schema": "xferscope-plan", "version": 1, "steps": steps}), encoding="utf-8")
    return path


def compare_plan(plan, program, mode):
    """Only a plan that a run with --check has compared moves work to other streams."""
    done = run(XFERSCOPE, "apply", "--check", "--plan", plan, "--", program, mode)
    if not re.search(r"\.checked: \d+ compared, 0 different\n", done.stderr):
        raise AssertionError(done.stderr)
