"""Every program in /usr/bin that answers --version says the same, with the same status, when the
recorder is preloaded into it. Programs whose answer changes from run to run are left out.

usage: test_versions.py [--all]        default: a sample of 100, drawn by XFERSCOPE_SEED"""
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from illness import preload_environment
from lab import environment, sanitizer_runtime

SAMPLE = 100
MOST_S = 2  # of a program alone: what takes longer is not tried
LIMIT_S = 120  # only ends what hangs
LOOKS = 10
FOLDER = Path("/usr/bin")


def answer(program, env, cwd, most_s=LIMIT_S):
    """What it says and how it ends; None when it takes too long or cannot be run."""
    try:
        process = subprocess.Popen(
            [program, "--version"], cwd=cwd, env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )
    except OSError:
        return None
    try:
        out, err = process.communicate(timeout=most_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    # Programs that start others (groff) do not say in which order these answer.
    return process.returncode, sorted(out.splitlines()), sorted(err.splitlines())


def is_the_same(program, folder):
    """None when there is nothing to compare."""
    bare = answer(program, environment(HOME=folder), folder, MOST_S)
    if bare is None or bare[0] != 0 or answer(program, environment(HOME=folder), folder) != bare:
        return None
    under = answer(program, preload_environment(HOME=folder), folder)
    if under == bare:
        return True
    for _ in range(LOOKS):  # what changes rarely (memory in use, in Chromium's) does so alone, too
        if answer(program, environment(HOME=folder), folder) != bare:
            return None
    print(f"{program}: alone {bare}, with the recorder {under}")
    return False


def candidates():
    """One path for each program: the many names of one file count once."""
    found = {path.resolve() for path in FOLDER.iterdir() if os.access(path, os.X_OK)}
    programs = sorted(path for path in found if path.is_file())
    if "--all" not in sys.argv:
        random.Random(int(os.environ.get("XFERSCOPE_SEED", "4"))).shuffle(programs)
    return programs


def main():
    if sanitizer_runtime():
        print("not with sanitizers: their runtime changes what programs do")
        return 0
    wanted = 10**6 if "--all" in sys.argv else SAMPLE
    same = other = silent = 0
    with tempfile.TemporaryDirectory(prefix="xferscope-versions-") as folder:
        for program in candidates():
            verdict = is_the_same(program, folder)
            same += verdict is True
            other += verdict is False
            silent += verdict is None
            if same + other >= wanted:
                break
    print(f"{same + other} programs, {same} the same, {other} not; {silent} gave no steady answer")
    return 1 if other or same == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
