"""What the tests of this folder share, on top of ../e2e/lab.py."""
import json
import os
import subprocess

from lab import BUILD, LIBRARY, SIMGPU, XFERSCOPE, environment, run

ILL = BUILD / "bin" / "unbreakable"
TOLD_BYTES = (64 + 64 + 1) * 8
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


def told_file(folder):
    path = folder / "told"
    path.write_bytes(bytes(TOLD_BYTES))
    return path


def check_told(test, folder, told, how, context=""):
    """The trace of the one process holds what the program told; how many copies that were."""
    result = subprocess.run(
        [ILL / "check_told", folder, told, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
    )
    text = (result.stdout + result.stderr).decode()
    test.assertEqual(result.returncode, 0, f"{context}: {text}")
    return int(text)


def processes(folder):
    """What analyze knows of the processes of a run."""
    result = run([XFERSCOPE, "analyze", folder, "--format", "json"])
    return json.loads(result.stdout)
