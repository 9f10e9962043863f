"""What the tests of this folder share, on top of ../e2e/lab.py."""
import json
import os
import subprocess

from lab import BUILD, LIBRARY, SIMGPU, XFERSCOPE, environment, run

ILL = BUILD / "bin" / "unbreakable"
LOG_BYTES = (64 + 64 + 1) * 8
LONG = os.environ.get("XFERSCOPE_LONG_TESTS") == "1"


def tries(short, long):
    """How often: a few times in the check, as often as it takes by hand."""
    return long if LONG else short


def preload_environment(libraries=(), first=(), **extra):
    env = environment(**extra)
    before = [str(library) for library in first]
    after = [str(library) for library in libraries]
    env["LD_PRELOAD"] = ":".join(
        part for part in [*before, str(LIBRARY), *after, env.get("LD_PRELOAD", "")] if part
    )
    return env


def log_file(folder):
    path = folder / "calls.log"
    path.write_bytes(bytes(LOG_BYTES))
    return path


def check_log(test, folder, log, how, context=""):
    """Asserts that the trace of the one process agrees with the program's log. Returns how many copies it holds."""
    result = subprocess.run(
        [ILL / "check_log", folder, log, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
    )
    text = (result.stdout + result.stderr).decode()
    test.assertEqual(result.returncode, 0, f"{context}: {text}")
    return int(text)


def processes(folder):
    """What analyze knows of the processes of a run."""
    result = run([XFERSCOPE, "analyze", folder, "--format", "json"])
    return json.loads(result.stdout)
